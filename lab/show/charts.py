"""Charts of a run, drawn with matplotlib and embedded in pages."""

import base64
import io
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lab.show.looks import PALETTE, Looks

MARKERS = "os^Dv*<>"
"""matplotlib's names of the shapes of MARKS, of which the second half is not filled."""

DASHES = ("-", "--", ":", "-.")
"""Line styles, which distinguish lines when colours repeat or are missing, as in print."""

MARKED = 12
"""About how often the mark of an agent stands on its line."""

INK = "#010203"
"""Stands for the colour of texts and axes, which is that of the page: dark on light, or light on dark."""

STYLE = "svg{color:#1b1b1b}@media(prefers-color-scheme:dark){svg{color:#e6e6e6}}"

mpl.rcParams |= {
    "svg.hashsalt": "hobbes",  # the same run gives the same bytes
    "svg.fonttype": "none",  # text stays text
    "text.parse_math": False,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}


def scores_and_failures(
    scores: Mapping[int, Mapping[str, int]], failures: Sequence[int], looks: Looks
) -> str:
    """Return a chart of each agent's score after some turns, with the failed calls of every turn below.

    It is an SVG image as a data URL. It has no background, and its texts and axes are dark or light as the
    reader prefers.
    """
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=(4, 1))
    for agent in sorted(
        {agent for now in scores.values() for agent in now}, key=lambda agent: looks[agent].place
    ):
        look = looks[agent]
        filled = look.shape < len(MARKERS)
        above.plot(
            list(scores),
            [now.get(agent) for now in scores.values()],
            label=agent,
            color=PALETTE[look.colour],
            linestyle=DASHES[look.place // len(PALETTE) % len(DASHES)],
            marker=MARKERS[look.shape % len(MARKERS)],
            markerfacecolor=PALETTE[look.colour] if filled else "none",
            markevery=max(1, len(scores) // MARKED),
            markersize=5,
        )
    below.stairs(failures, [turn - 0.5 for turn in range(len(failures) + 1)], fill=True, color=INK)
    above.set_ylabel("score")
    below.set_ylabel("failed")
    below.set_xlabel("turn")
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.yaxis.set_major_locator(MaxNLocator(2, integer=True))
    below.set_ylim(bottom=0, top=max(1, *failures))
    figure.legend(loc="outside right upper", frameon=False, ncols=1 + len(above.lines) // 16)
    return _data_url(figure)


def differences(title: str, rows: Sequence[tuple[str, Sequence[float], float | None, float | None]]) -> str:
    """Return a chart of the differences of arms from the baseline, as an SVG image in a data URL.

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
    axes.set_xlabel(title)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return _data_url(figure)


def _data_url(figure: Figure) -> str:
    """Return a figure as an SVG image in a data URL, with texts and axes in the colour of the page."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None}, transparent=True)
    svg = (
        drawn.getvalue()
        .decode()
        .replace(INK, "currentColor")
        .replace("<defs>", f"<style>{STYLE}</style><defs>", 1)
    )
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
