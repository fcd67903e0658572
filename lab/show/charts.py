"""Charts of reports, drawn with matplotlib and embedded in pages."""

import io
import math
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from hobbes.lab.show.palette import COLOURS
from hobbes.lab.show.panels import Line, Pairs, Panel, rows_of_points

INK = "#010203"
"""Stands for the colour of texts and axes, which is that of the page: dark on light, or light on dark."""

STYLE = "svg{color:#1b1b1b}@media(prefers-color-scheme:dark){svg{color:#e6e6e6}}"

mpl.rcParams |= {
    "svg.hashsalt": "hobbes",  # the same run gives the same bytes
    "svg.fonttype": "none",  # text stays text
    "pdf.fonttype": 42,  # here as well
    "text.parse_math": False,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}


POINTS_ON_A_LINE = 100
"""How many points stand side by side on the width of a chart of differences."""


def differences(title: str, axis: str, arms: Sequence[Pairs]) -> Figure:
    """Return a chart of the differences of arms from the baseline by one measure.

    Each arm has a row of its colour: its pairs as dots, of which equal ones stand above each other, and below
    them their mean with its interval.
    """
    figure = Figure(figsize=(9, 1.2 + 0.6 * len(arms)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=0.8, linestyle=":")
    shown = [0.0, *(value for one in arms for value in one.values)]
    width = (max(shown) - min(shown)) / POINTS_ON_A_LINE or 1.0
    for place, one in enumerate(arms):
        colour = INK if one.look is None else _colour(one.look)
        rows = rows_of_points(one.values, width)
        step = min(0.1, 0.32 / max(1, *map(abs, rows)))
        heights = [place - 0.15 - step * row for row in rows]
        axes.plot(one.values, heights, "o", color=colour, alpha=0.75, markersize=4)
        axes.plot([one.mean], [place + 0.3], "D", color=colour, markersize=6)
        if one.low is not None and one.high is not None:
            axes.plot([one.low, one.high], [place + 0.3] * 2, "-", color=colour, linewidth=2)
    axes.set_yticks(range(len(arms)), [one.name for one in arms])
    axes.set_ylim(len(arms) - 0.4, -0.6)
    axes.set_title(textwrap.fill(title, 90), fontsize=10)
    axes.set_xlabel(axis, fontsize=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


MARKERS = "os^Dv*XP"
DASHES: Sequence[Any] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))

LETTERS = 17
"""How many letters of a legend stand on an inch."""

WIDE = 2
"""How many panels stand side by side; a sheet of paper has room for as many."""


def curves(panels: Sequence[Panel]) -> Figure:
    """Return panels side by side. A line looks the same in all panels that have its name."""
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    wide = min(WIDE, len(panels))
    high = -(-len(panels) // wide)
    width = max(3.6 * wide, 5.4)
    columns = max(1, int(width * LETTERS / (max(map(len, names), default=0) + 6)))  # of the legend
    figure = Figure(
        figsize=(width, 2.7 * high + 0.4 + 0.18 * len(names) / columns),
        layout=ConstrainedLayoutEngine(h_pad=0.1),
    )
    grid = figure.subplots(high, wide, squeeze=False).ravel()
    handles: dict[str, Any] = {}
    for axes, panel in zip(grid, panels, strict=False):
        if panel.null:
            handles["null arm"] = axes.axhspan(*panel.null, color="#999999", alpha=0.25, linewidth=0)
        for line in filter(lambda line: line.points, panel.lines):
            handles[line.name] = _draw(axes, line, panel.steps)
        axes.set_title(panel.title, fontsize=9)
        axes.set_xlabel(panel.x, fontsize=8)
        axes.set_ylabel(textwrap.fill(panel.y, 36), fontsize=8)
        axes.tick_params(labelsize=7)
        if all(float(x).is_integer() for line in panel.lines for x, *_ in line.points):
            axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    if len(handles) > 1 or names != [""]:
        figure.legend(
            list(handles.values()),
            [name or "mean" for name in handles],
            loc="outside lower center",
            ncols=columns,
            fontsize=7,
            frameon=False,
        )
    return figure


def _draw(axes: Any, line: Line, steps: bool) -> Any:  # noqa: ANN401, FBT001  matplotlib's own
    """Draw a line with its band; return the line."""
    look, colour = line.look % len(COLOURS), _colour(line.look)
    step = "post" if steps else None
    x, y, lows, highs = zip(*line.points, strict=True)
    (drawn,) = axes.plot(
        x,
        y,
        color=colour,
        linestyle=DASHES[look],
        marker=MARKERS[look],
        markersize=3.5,
        markevery=max(1, len(x) // 8),
        linewidth=1.2,
        drawstyle="steps-post" if steps else "default",
    )
    low, high = ([math.nan if end is None else end for end in ends] for ends in (lows, highs))
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0, step=step)
    return drawn


def _colour(look: int) -> str:
    """Return the colour of an arm or a line."""
    colour = COLOURS[look % len(COLOURS)]
    return INK if colour == "currentColor" else colour


def svg(figure: Figure) -> str:
    """Return a figure as an SVG image, with texts and axes in the colour of the page."""
    figure.dpi = 72  # that of SVG images
    canvas = FigureCanvasSVG(figure)
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine("none")
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    drawn = io.BytesIO()
    # `savefig` would draw all of it twice.
    canvas.print_svg(drawn, metadata={"Date": None})  # type: ignore[no-untyped-call]
    return (
        drawn.getvalue()
        .decode()
        .replace(INK, "currentColor")
        .replace("<defs>", f"<style>{STYLE}</style><defs>", 1)
    )
