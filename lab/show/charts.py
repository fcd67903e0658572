"""Charts of a run, drawn with matplotlib and embedded in pages."""

import base64
import io
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lab.show.terminal import PALETTE

DASHES = ("-", "--", ":", "-.")
"""Line styles, which distinguish lines when colours repeat or are missing, as in print."""

mpl.rcParams |= {
    "svg.hashsalt": "hobbes",  # the same run gives the same bytes
    "svg.fonttype": "none",  # text stays text
    "text.parse_math": False,
}


def scores_and_failures(scores: Sequence[Mapping[str, int]], failures: Sequence[int]) -> str:
    """Return a chart of each agent's score after each turn, with the failed calls of each turn below.

    It is an SVG image as a data URL.
    """
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=(4, 1))
    turns = range(len(scores))
    for k, agent in enumerate(sorted({agent for now in scores for agent in now})):
        above.plot(
            turns,
            [now.get(agent) for now in scores],
            label=agent,
            color=PALETTE[k % len(PALETTE)],
            linestyle=DASHES[k // len(PALETTE) % len(DASHES)],
            marker="." if len(scores) == 1 else None,
        )
    below.stairs(failures, [turn - 0.5 for turn in range(len(failures) + 1)], fill=True, color=PALETTE[5])
    above.set_ylabel("score")
    below.set_ylabel("failed")
    below.set_xlabel("turn")
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.yaxis.set_major_locator(MaxNLocator(2, integer=True))
    below.set_ylim(bottom=0, top=max(1, *failures))
    figure.legend(loc="outside right upper", frameon=False, ncols=1 + len(above.lines) // 16)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.getvalue()).decode()}"
