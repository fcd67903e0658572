"""Plots of a run, as pictures that a page can hold; matplotlib draws them."""

import base64
import io
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lab.show.terminal import PALETTE

DASHES = ("-", "--", ":", "-.")
"""What tells lines apart where the colours begin again, and on paper without colours."""

mpl.rcParams |= {
    "svg.hashsalt": "hobbes",  # the same run gives the same bytes
    "svg.fonttype": "none",  # letters stay letters
    "text.parse_math": False,
}


def scores_and_failures(scores: Sequence[Mapping[str, int]], failures: Sequence[int]) -> str:
    """Draw each agent's score after each turn, and below it the decisions of each turn that were nobody's.

    Give the address of a picture that holds it all: a data URL of an SVG.
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
    below.set_ylabel("nobody's")
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
