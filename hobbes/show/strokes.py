"""The strokes of an SVG: texts, signs and arrows, with the style sheet that they share.

Lengths are pixels. All texts are foreign: `escape_foreign` and `fit_text` make them harmless, and `word`
takes only such texts.
"""

import re
from dataclasses import dataclass
from html import escape
from math import hypot
from typing import TypeAlias
from unicodedata import east_asian_width

from hobbes.engine.board import Sign
from hobbes.show.palette import PALETTE
from hobbes.show.terminal import escape_invisible

WIDTH = 400
MARGIN = 6

TILE = "#f6f5f0"
"""What an agent's colour is mixed with, in the dark, too: all shades carry black text."""

SHARES = (0.25, 0.45, 0.65, 0.85)
"""How much of the agent's colour there is in each shade."""

LETTER = 0.58
"""How wide a letter is, as a share of its size: a guess, since readers have different fonts."""

WIDE_LETTER = 1.75
"""How many letters an East Asian one is as wide as."""

Point: TypeAlias = tuple[float, float]


def _mix(colour: str, share: float) -> str:
    """Return a colour mixed with that of the tile."""
    pairs = [(int(colour[k : k + 2], 16), int(TILE[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


STYLE = """
.board{--i:#1b1b1b;--p:#fdfdfb;--q:#666;--l:#8888;max-width:36rem;width:100%;height:auto;display:block}
.board{font:10px system-ui,sans-serif;fill:var(--i);color-scheme:light dark}
@media screen and (prefers-color-scheme:dark){.board{--i:#e6e6e6;--p:#161616;--q:#a0a0a0}}
.board .m{text-anchor:middle}.board .e{text-anchor:end}.board .q{fill:var(--q)}.board .d{fill:#111}
.board .h{font-size:13px;font-weight:600}.board .w{font-weight:700}
.board .a{stroke:var(--p);stroke-width:2.5;paint-order:stroke;stroke-linejoin:round}
[pointer-events] .d{stroke:#f6f5f0a0;stroke-width:2;paint-order:stroke;stroke-linejoin:round}
.board .b{stroke:#111;stroke-width:.9}.board .c{stroke:#111;stroke-width:.3}
.board .g{fill:var(--p);stroke:var(--i);stroke-width:1}
.board .l{fill:none;stroke:var(--l);stroke-width:3}.board .f{fill:none;stroke:var(--l);stroke-width:8}
.board .u{stroke:var(--i);stroke-width:1.5}.board .v{stroke-dasharray:9 7}
.board .n{fill:none;stroke:var(--l);stroke-dasharray:2 2}
.board .s{fill:none;stroke:#111;stroke-width:1.4;stroke-dasharray:1.5 2.5}
.board .t{stroke:#111;stroke-width:2.2}.board .o{fill:none}
.board .z{visibility:hidden}.board :hover>.z,.board :focus-visible .z{visibility:visible}
.board .j:hover g:not(:hover),.board .j:has(:focus-visible) a:not(:focus-visible){opacity:.25}
.board .x{fill:none;stroke:var(--i);stroke-width:2}.board .y{fill:none;stroke:var(--p);stroke-width:5}
""" + "".join(
    f".board .k{k}{shade}{{fill:{_mix(colour, share)}}}\n"
    for k, colour in enumerate(PALETTE)
    for shade, share in enumerate(SHARES)
)
"""The style sheet of a board: k and two digits are an agent's colour and its shade. It needs no escaping."""

STYLE_ELEMENT = f"<style>{STYLE}</style>"
"""The style sheet as a board has it; a page has it once."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape_foreign(text: str) -> str:
    """Return a foreign text escaped, with what nobody sees, or XML cannot hold, spelled out."""
    return escape(_NOT_XML.sub(lambda found: f"\\x{ord(found.group()):02x}", escape_invisible(text)))


def fit_text(text: str, room: float, size: float = 10, *, end: bool = False) -> str:
    """Return a foreign text that fits into the room at a size, escaped, with an ellipsis if it was cut.

    Its beginning is kept, or its end, by which names often differ.
    """
    shown, left = escape_invisible(text), room / (size * LETTER)
    for k, letter in enumerate(reversed(shown) if end else shown):
        left -= WIDE_LETTER if east_asian_width(letter) in "WF" else 1
        if left < 0:
            kept = max(k - 1, 0)
            cut = f"…{shown[len(shown) - kept :]}" if end else f"{shown[:kept].rstrip()}…"
            return escape_foreign(cut)
    return escape_foreign(shown)


def number(value: float) -> str:
    """Return a number with at most one decimal."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")  # + 0.0 makes 0 of -0


def five_digits(figure: int) -> str:
    """Return a figure in at most five digits: 12345 as it is, 1234567 as 1235k, larger ones as M, G or T."""
    for unit in ("", "k", "M", "G"):
        if abs(figure) < 100_000:  # noqa: PLR2004  six digits would be too wide
            return f"{figure}{unit}"
        figure = round(figure / 1000)
    return f"{figure}T"


def word(text: str, at: Point, ink: str = "", size: float | None = None) -> str:
    """Return a text that is escaped already, with its classes and its size; nothing if it is empty."""
    if not text:
        return ""
    css = f' class="{ink}"' if ink else ""
    font = f' font-size="{number(size)}"' if size else ""
    return f'<text{css} x="{number(at[0])}" y="{number(at[1])}"{font}>{text}</text>'


def rectangle(ink: str, corner: Point, wide: float, high: float) -> str:
    """Return a rectangle from its upper left corner."""
    x, y = map(number, corner)
    return f'<rect class="{ink}" x="{x}" y="{y}" width="{number(wide)}" height="{number(high)}"/>'


def circle(ink: str, at: Point, radius: float) -> str:
    """Return a circle around a point."""
    return f'<circle class="{ink}" cx="{number(at[0])}" cy="{number(at[1])}" r="{number(radius)}"/>'


def path(ink: str, at: Point, steps: str, *lengths: float) -> str:
    """Return a path from a point on. Each `#` in its steps stands for the next of the lengths."""
    rest = steps
    for length in lengths:
        rest = rest.replace("#", f"{number(length)} ", 1)
    return f'<path class="{ink}" d="M{number(at[0])} {number(at[1])}{rest}"/>'


def fold(ink: str, corner: Point, size: float) -> str:
    """Return a folded corner at the upper left of a square."""
    return path(ink, corner, "h#l##z", size, -size, size)


def shield(at: Point, r: float) -> str:
    """Return a shield."""
    steps = "h#v#q0 ###q####z"
    lengths = (2 * r, r, r, -r, 1.4 * r, -r, -0.4 * r, -r, -1.4 * r)
    return path("g", (at[0] - r, at[1] - r), steps, *lengths)


def crown(at: Point, r: float) -> str:
    """Return a crown."""
    up, half = 0.8 * r, r / 2
    lengths = (-1.6 * r, half, up, half, -up, half, up, half, -up, 1.6 * r)
    return path("g", (at[0] - r, at[1] + up), "v#l##l##l##l##v#z", *lengths)


def cross(at: Point, r: float) -> str:
    """Return a cross with an edge in the colour of the paper."""
    corner, steps, lengths = (at[0] - r, at[1] - r), "l##m0 #l##", (2 * r, 2 * r, -2 * r, -2 * r, 2 * r)
    return path("y", corner, steps, *lengths) + path("x", corner, steps, *lengths)


def sign(which: Sign, at: Point) -> str:
    """Return a sign that stands by itself."""
    match which:
        case "guarded":
            return shield(at, 5.5)
        case "chief":
            return crown(at, 5.5)
        case "slip":
            return path("g", (at[0] + 1, at[1] - 7), "l-5 8h4l-2 6 6-9h-4z")
        case "gone":
            return cross(at, 5)
        case _:
            return circle("g", at, 5.5) + path("x", (at[0] - 3, at[1]), "h6m-3-3v6")


MAX_SWING = 70.0
"""How far an arrow swings at most."""

MIN_LENGTH = 12.0
"""How long an arrow of size 1 is at least, where there is room."""


@dataclass(frozen=True, slots=True)
class Shaft:
    """A bent arrow from one point to another: its outline, its tip, its points, and where it bends to.

    It begins `before` pixels from the start and stops `after` pixels from the end, less if they are too near
    to one another. `bend` is how far it swings to its left, as a share of its length.
    """

    start: Point
    end: Point
    before: float
    after: float
    size: float
    sign: Sign
    bend: float = 0.0

    @property
    def long(self) -> float:
        """The distance of its points, which is never 0."""
        return hypot(self.end[0] - self.start[0], self.end[1] - self.start[1]) or 1.0

    @property
    def _along(self) -> Point:
        return (self.end[0] - self.start[0]) / self.long, (self.end[1] - self.start[1]) / self.long

    @property
    def _swing(self) -> Point:
        """How far it swings, as a vector."""
        (ux, uy), off = self._along, max(-MAX_SWING, min(self.long * self.bend, MAX_SWING))
        return uy * off, -ux * off

    @property
    def _kept(self) -> float:
        """The share of the distances to its points that is kept."""
        free = self.long - MIN_LENGTH * self.size
        spared = self.before + self.after
        return 1.0 if spared <= free else max(0.0, free / spared)

    @property
    def foot(self) -> Point:
        """Where it begins."""
        (ux, uy), (sx, sy), gap = self._along, self._swing, self.before * self._kept
        return self.start[0] + ux * gap + 0.3 * sx, self.start[1] + uy * gap + 0.3 * sy

    @property
    def tip(self) -> Point:
        """Where it stops."""
        (ux, uy), (sx, sy), gap = self._along, self._swing, self.after * self._kept
        return self.end[0] - ux * gap + 0.3 * sx, self.end[1] - uy * gap + 0.3 * sy

    @property
    def _control(self) -> Point:
        """The point to which both halves of it lead."""
        (x0, y0), (x1, y1), (sx, sy) = self.foot, self.tip, self._swing
        return min(max((x0 + x1) / 2 + sx, MARGIN), WIDTH - MARGIN), max((y0 + y1) / 2 + sy, MARGIN)

    def point(self, share: float) -> Point:
        """Return the point on it after a share of its way."""
        (x0, y0), (x1, y1), (cx, cy) = self.foot, self.tip, self._control
        first, second, third = (1 - share) ** 2, 2 * share * (1 - share), share**2
        return first * x0 + second * cx + third * x1, first * y0 + second * cy + third * y1

    def meets(self, at: Point, radius: float) -> bool:
        """Return whether the straight line between its points comes within three pixels of a circle."""
        (ux, uy), dx, dy = self._along, at[0] - self.start[0], at[1] - self.start[1]
        return 0 < dx * ux + dy * uy < self.long and abs(dx * uy - dy * ux) < radius + 3

    @property
    def side(self) -> Point:
        """The direction to which it bends."""
        (ux, uy), to = self._along, 1 if self.bend >= 0 else -1
        return uy * to, -ux * to

    def draw(self, ink: str) -> str:
        """Return it as one closed path: along its left, around its head, back along its right.

        One that gives something carries a coin, one that is offered ends in a round hand.
        """
        (x0, y0), (x1, y1), (cx, cy), (ux, uy) = self.foot, self.tip, self._control, self._along
        last = hypot(x1 - cx, y1 - cy) or 1.0
        tx, ty = (x1 - cx) / last, (y1 - cy) / last
        head, wing = (4 * self.size, 0.0) if self.sign == "meet" else (9 * self.size, 5.5 * self.size)
        thick = (2.4 if self.sign == "harm" else 1.4) * self.size
        bx, by = x1 - tx * head, y1 - ty * head
        left = [(x0 + uy * thick, y0 - ux * thick), (cx + uy * thick, cy - ux * thick)]
        right = [(cx - uy * thick, cy + ux * thick), (x0 - uy * thick, y0 + ux * thick)]
        necks = [(bx + ty * w, by - tx * w) for w in (thick, wing, -wing, -thick)]
        corners = [*left, *necks[:2], (x1, y1), *necks[2:], *right]
        steps = "Q####L##L##L##L##Q####Z"
        drawn = path(ink, corners[0], steps, *(length for corner in corners[1:] for length in corner))
        if self.sign == "help":
            drawn += circle(ink, self.point(0.5), 3.6 * self.size)
        if self.sign == "meet":
            drawn += circle(ink, self.tip, 5 * self.size)
        return drawn
