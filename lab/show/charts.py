"""Charts of reports, drawn with matplotlib and embedded in pages."""

import base64
import io
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from lab.show.looks import PALETTE

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
