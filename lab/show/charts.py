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

from hobbes.lab.show.palette import PALETTE
from hobbes.lab.show.panels import Line, Panel

INK = "#010203"
"""Stands for the colour of texts and axes, which is that of the page: dark on light, or light on dark."""

STYLE = "svg{color:#1b1b1b}@media(prefers-color-scheme:dark){svg{color:#e6e6e6}}"

mpl.rcParams |= {
    "svg.hashsalt": "hobbes",  # the same run gives the same bytes
    "svg.fonttype": "none",  # text stays text
    "text.parse_math": False,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}


def differences(title: str, rows: Sequence[tuple[str, Sequence[float], float | None, float | None]]) -> str:
    """Return a chart of the differences of arms from the baseline, as an SVG image.

    Each row has the name of an arm, the difference of each pair as a dot, and the ends of the interval of
    their mean, None where there is none.
    """
    figure = Figure(figsize=(9, 1.2 + 0.6 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=0.8, linestyle=":")
    for place, (_, pairs, low, high) in enumerate(rows):
        colour = PALETTE[place % len(PALETTE)]
        axes.plot(pairs, [place - 0.2] * len(pairs), "o", color=colour, alpha=0.4, markersize=4)
        axes.plot([sum(pairs) / len(pairs)], [place + 0.1], "D", color=colour, markersize=6)
        if low is not None and high is not None:
            axes.plot([low, high], [place + 0.1] * 2, "-", color=colour, linewidth=2)
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    figure.supxlabel(textwrap.fill(title, 90), fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return _svg(figure)


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", INK)
"""The colours of lines: those of PALETTE that are dark enough on white paper."""

MARKERS = "os^Dv*XP"
DASHES: Sequence[Any] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))

LETTERS = 17
"""How many letters of a legend stand on an inch."""

WIDE = 2
"""How many panels stand side by side; a sheet of paper has room for as many."""


def curves(panels: Sequence[Panel]) -> str:
    """Return panels side by side as an SVG image. A line looks the same in all panels that have its name."""
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
            handles[line.name] = _draw(axes, line, names.index(line.name), panel.steps)
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
    return _svg(figure)


def _draw(axes: Any, line: Line, place: int, steps: bool) -> Any:  # noqa: ANN401, FBT001  matplotlib's own
    """Draw a line with its band; return the line."""
    look = place % len(COLOURS)
    step = "post" if steps else None
    x, y, lows, highs = zip(*line.points, strict=True)
    (drawn,) = axes.plot(
        x,
        y,
        color=COLOURS[look],
        linestyle=DASHES[look],
        marker=MARKERS[look],
        markersize=3.5,
        markevery=max(1, len(x) // 8),
        linewidth=1.2,
        drawstyle="steps-post" if steps else "default",
    )
    low, high = ([math.nan if end is None else end for end in ends] for ends in (lows, highs))
    axes.fill_between(x, low, high, color=COLOURS[look], alpha=0.15, linewidth=0, step=step)
    return drawn


def _svg(figure: Figure) -> str:
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
