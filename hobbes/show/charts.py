"""Charts of reports as small SVG images: curves with their bands, and differences as dots with an interval.

Lengths are pixels. Texts and axes have the colour of the page: dark on light, or light on dark.
"""

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TypeAlias

from hobbes.experiment.statistics import Mean
from hobbes.show.palette import COLOURS, MARKS

WIDTH = 640
"""How wide a chart is."""

LETTER = 7
"""How wide a letter is."""

LINE = 15
"""How high a line of text is."""

STYLE_ELEMENT = (
    "<style>svg{color:#1b1b1b;color-scheme:light dark}"
    "@media screen and (prefers-color-scheme:dark){svg{color:#e6e6e6}}</style>"
)
"""The style sheet of an image that stands in a file of its own; a page has colours."""

AXIS = 'fill="none" stroke="currentColor"'

Point: TypeAlias = tuple[float, float, float | None, float | None]
"""A point of a line: x, y, and the ends of its band, None where it has none."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line by its points. Its `look` is that of its arm: it is the same in all pictures of a report."""

    name: str
    points: Sequence[Point]
    look: int = 0


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over the same axes."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The differences of an arm from the baseline by seed, and their mean with its interval."""

    name: str
    values: Mapping[int, float]
    mean: Mean
    look: int


@dataclass(frozen=True, slots=True)
class Scale:
    """Where values stand between two places: those from `low` to `high`, between `start` and `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> str:
        """Return the place of a value."""
        share = (value - self.low) / ((self.high - self.low) or 1)
        return f"{self.start + share * (self.end - self.start):.1f}"

    def ticks(self, *, whole: bool = False) -> Iterator[tuple[str, str]]:
        """Yield about five round values as they are written, each with its place."""
        reach = (self.high - self.low) or 1
        size = 10.0 ** math.floor(math.log10(reach / 5))
        step = next(size * by for by in (1, 2, 5, 10) if reach / (size * by) <= 5)  # noqa: PLR2004
        step = max(1.0, step) if whole else step
        for n in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1):
            yield f"{n * step:.6g}", self(n * step)


def _colour(look: int) -> str:
    return COLOURS[look % len(COLOURS)]


def _text(words: str, x: object, y: object, anchor: str = "start", short: int = 0) -> str:
    """Return a text with its start, middle or end at x. One that is cut is whole as its title."""
    cut = words if not short or len(words) <= short else f"{words[: short - 1]}…"
    whole = f"<title>{escape(words)}</title>" if cut != words else ""
    return f'<text text-anchor="{anchor}" x="{x}" y="{y}">{whole}{escape(cut)}</text>'


def _image(parts: Iterable[str], width: int, height: float) -> str:
    size = f'width="{width}" height="{height:g}" viewBox="0 0 {width} {height:g}"'
    font = 'fill="currentColor" font-family="system-ui,sans-serif" font-size="12"'
    inside = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>{STYLE_ELEMENT}\n{inside}\n</svg>\n'


DOT, ROW = 4, 44
"""The radius of a point, and the height of an arm."""

SPREAD = 24
"""How high a pile of points may be."""

MAX_NAME = 30
"""How many letters of an arm's name are shown."""


def draw_differences(
    title: str,
    axis: str,
    arms: Sequence[Pairs],
    smallest: float | None = None,
    link: Callable[[str, int], str] = lambda *_: "",
) -> str:
    """Return a chart of the differences of arms from the baseline by one measure, below its title.

    Each arm has a row: its pairs as dots, of which equal ones are piled up, and below them their
    mean with its interval. Dotted lines are the smallest difference that matters. With `link`, from an arm
    and a seed to an address, a dot leads to its pair.
    """
    lines = textwrap.wrap(title, WIDTH // LETTER - 2)
    words = [_text(line, 4, LINE * (place + 1)) for place, line in enumerate(lines)]
    matters = [] if smallest is None else [-smallest, smallest]
    figures = [
        *matters,
        *(v for one in arms for v in (*one.values.values(), one.mean.low, one.mean.high) if v is not None),
    ]
    left = 12 + LETTER * min(MAX_NAME, max(len(one.name) for one in arms))
    scale = Scale(min(0.0, *figures), max(0.0, *figures), left + 2 * DOT, WIDTH - 2 * DOT - 8)
    above, bottom = LINE * len(lines) + 8, ROW * len(arms)
    drawn = [f'<path {AXIS} d="M{scale(0)} 0V{bottom}"/>']
    drawn += (f'<path {AXIS} stroke-dasharray="2 3" d="M{scale(v)} 0V{bottom}"/>' for v in matters)
    for place, one in enumerate(arms):
        drawn += _row(one, ROW * (place + 0.5), left, scale, link)
    drawn.append(f'<path {AXIS} d="M{left} {bottom}H{WIDTH - 8}"/>')
    drawn += (_text(words, x, bottom + LINE, "middle") for words, x in scale.ticks())
    drawn.append(_text(axis, (left + WIDTH) / 2, bottom + 2 * LINE + 2, "middle"))
    inside = [*words, f'<g transform="translate(0 {above})">', *drawn, "</g>"]
    return _image(inside, WIDTH, above + bottom + 2 * LINE + 10)


def _row(
    one: Pairs, middle: float, left: float, scale: Scale, link: Callable[[str, int], str]
) -> Iterator[str]:
    """Yield the dots of an arm, and its mean with its interval."""
    ink, of_mean = _colour(one.look), middle + ROW * 0.4
    yield _text(one.name, left, middle + 4, "end", MAX_NAME)
    columns = [round(float(scale(value)) / (2 * DOT)) for value in one.values.values()]
    step = min(2 * DOT, SPREAD / max(Counter(columns).values()))
    piles = Counter[int]()
    for (seed, value), column in zip(one.values.items(), columns, strict=True):
        up = step * piles[column]
        piles[column] += 1
        words = f"seed {seed}: {value:.3g}"
        dot = (
            f'<circle cx="{scale(value)}" cy="{middle + 6 - up:.1f}" r="{DOT}" fill="{ink}" '
            f'fill-opacity=".6" stroke="currentColor" stroke-width=".7"><title>{words}</title></circle>'
        )
        address = link(one.name, seed)
        yield f'<a href="{escape(address)}" aria-label="{words}">{dot}</a>' if address else dot
    if one.mean.low is not None and one.mean.high is not None:
        ends = f"M{scale(one.mean.low)} {of_mean:.1f}H{scale(one.mean.high)}"
        yield f'<path stroke="{ink}" stroke-width="3" d="{ends}"/>'
    yield _text("◆", scale(one.mean.mean or 0.0), f"{of_mean + 4:.1f}", "middle")


SIDE = 7
"""How many characters an estimate has on each side of 0: few, so that a table fits into 80 columns."""

BAR, BAR_HIGH = 240, 24
"""The width and the height of the picture of an estimate."""


def type_estimate(mean: Mean, margins: Sequence[float], reach: float) -> str:
    """Return a mean in characters: a dot, and its interval from ├ to ┤, on an axis with 0 and the margins.

    The axis reaches so far to both sides of 0.
    """

    def at(value: float) -> int:
        return SIDE + round(SIDE * value / (reach or 1))

    drawn = ["·"] * (2 * SIDE + 1)
    for value in margins:
        drawn[at(value)] = "┊"
    drawn[SIDE] = "│"
    if mean.low is not None and mean.high is not None:
        first, last = at(mean.low), at(mean.high)
        drawn[first : last + 1] = ["─" if mark == "·" else "┼" for mark in drawn[first : last + 1]]
        drawn[first], drawn[last] = "├", "┤"
    drawn[at(mean.mean or 0.0)] = "●"
    return "".join(drawn)


def draw_estimate(mean: Mean, margins: Sequence[float], reach: float, ink: str) -> str:
    """Return the same as a small picture."""
    at, middle = Scale(-(reach or 1), reach or 1, DOT + 2, BAR - DOT - 2), BAR_HIGH / 2
    drawn = [f'<path {AXIS} d="M{at(0)} 0V{BAR_HIGH}"/>']
    dashed = f'{AXIS} stroke-dasharray="2 3"'
    drawn += (f'<path {dashed} d="M{at(value)} 0V{BAR_HIGH}"/>' for value in margins)
    if mean.low is not None and mean.high is not None:
        ends = f"M{at(mean.low)} {middle}H{at(mean.high)}"
        drawn.append(f'<path stroke="{ink}" stroke-width="3" d="{ends}"/>')
    drawn.append(f'<circle cx="{at(mean.mean or 0.0)}" cy="{middle}" r="{DOT + 1}" fill="{ink}"/>')
    return _image(drawn, BAR, BAR_HIGH)


def type_share(share: float, change: float) -> str:
    """Return a share in characters, as a bar; if it has changed, a line is where it ended before."""
    drawn = [*("█" * round(6 * share)).ljust(6, "·")]
    if change:
        drawn[min(5, round(6 * (share - change)))] = "│"
    return "".join(drawn)


def draw_share(share: float, change: float, ink: str) -> str:
    """Return the same as a small picture."""
    before = min(max(BAR * (share - change), DOT), BAR - DOT)
    drawn = [f'<path fill="{ink}" d="M0 0H{BAR * share:g}V{BAR_HIGH}H0z"/>']
    drawn.append(f'<path fill="none" stroke="{ink}" stroke-width="4" d="M0 0H{BAR}V{BAR_HIGH}H0z"/>')
    drawn += [f'<path {AXIS} stroke-width="{2 * DOT}" d="M{before:g} 0V{BAR_HIGH}"/>'] * bool(change)
    return _image(drawn, BAR, BAR_HIGH)


PANEL, HIGH = 320, 220
"""The width and the height of a panel; two stand side by side."""

LEFT, RIGHT, TOP, BOTTOM = 52, 12, 42, 38
"""The margins of a panel, for its texts."""


def draw_curves(panels: Sequence[Panel]) -> str:
    """Return panels side by side, above the names of their lines. A line looks the same in all of them."""
    drawn = []
    for place, panel in enumerate(panels):
        inside = "\n".join(_panel(panel))
        drawn.append(f'<g transform="translate({place % 2 * PANEL} {place // 2 * HIGH})">{inside}</g>')
    lines = {line.name: line.look for panel in panels for line in panel.lines if line.points}
    names = [(f"{MARKS[look % len(MARKS)]} {name or 'mean'}", _colour(look)) for name, look in lines.items()]
    width = PANEL * min(2, len(panels))
    x, y = 8, HIGH * math.ceil(len(panels) / 2) + LINE
    for words, ink in names if names and [*lines] != [""] else ():
        wide = LETTER * (len(words) + 4)
        if x > 8 and x + wide > width:  # noqa: PLR2004  the margin
            x, y = 8, y + LINE
        drawn.append(
            f'<text x="{x}" y="{y}"><tspan fill="{ink}">{words[0]}</tspan>{escape(words[1:])}</text>'
        )
        x += wide
    return _image(drawn, width, y + 8)


def _panel(panel: Panel) -> Iterator[str]:
    """Yield the parts of a panel: its texts, its axes and its lines."""
    points = [point for line in panel.lines for point in line.points]
    xs = [x for x, *_ in points] or [0.0]
    ys = [y for _, *of in points for y in of if y is not None] or [0.0]
    across = Scale(min(xs), max(xs), LEFT, PANEL - RIGHT)
    up = Scale(min(ys), max(ys), HIGH - BOTTOM, TOP)
    yield _text(panel.title, PANEL / 2, LINE, "middle", PANEL // LETTER - 2)
    if panel.y != panel.title:
        yield _text(panel.y, 4, 2 * LINE + 2, "start", PANEL // LETTER - 2)
    yield _text(panel.x, (LEFT + PANEL) / 2, HIGH - 6, "middle", PANEL // LETTER - 8)
    yield f'<path {AXIS} d="M{LEFT} {TOP}V{HIGH - BOTTOM}H{PANEL - RIGHT}"/>'
    for words, x in across.ticks(whole=all(float(x).is_integer() for x in xs)):
        yield _text(words, x, HIGH - BOTTOM + 14, "middle")
    for words, y in up.ticks():
        yield _text(words, LEFT - 4, f"{float(y) + 4:.1f}", "end")
    for line in panel.lines:
        if line.points:
            yield from _line(line, across, up)


def _line(line: Line, across: Scale, up: Scale) -> Iterator[str]:
    """Yield a line with its band, and its mark on some of its points."""
    ink, points = _colour(line.look), line.points
    for known, part in groupby(points, key=lambda point: None not in point):
        if known:
            of_band = list(part)
            lows = [f"{across(x)},{up(low or 0)}" for x, _, low, _ in of_band]
            highs = [f"{across(x)},{up(high or 0)}" for x, _, _, high in of_band]
            band = f'fill="{ink}" stroke="{ink}" opacity=".2"'  # of one point, it is its interval
            yield f'<polygon {band} points="{" ".join((*lows, *highs[::-1]))}"/>'
    along = " ".join(f"{across(x)},{up(y)}" for x, y, *_ in points)
    yield f'<polyline fill="none" stroke="{ink}" stroke-width="1.5" points="{along}"/>'
    look, mark = f'font-size="8" text-anchor="middle" fill="{ink}"', MARKS[line.look % len(MARKS)]
    for x, y, *_ in line.points[:: max(1, len(line.points) // 8)]:
        yield f'<text {look} x="{across(x)}" y="{float(up(y)) + 3:.1f}">{mark}</text>'
