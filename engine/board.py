"""A board: what happened in one turn of a world, as shapes to look at.

The shapes know no world. A world says what there is to see: places on a plane, arrows between them, bars, and
what each sign means. How they are drawn is decided elsewhere. All that is drawn is also said in words, for
those who cannot see it and for output as text.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, cos, pi, sin, sqrt
from typing import Literal, TypeAlias

Sign: TypeAlias = Literal[
    "harm", "help", "meet",
    "bound", "joined", "parted",
    "new", "taken", "guarded", "safe", "worth", "gain", "chief", "slip", "gone",
]  # fmt: skip
"""What a kind of arrow, line or badge is about, which decides how it is drawn.

Of arrows: `harm` is against another, `help` gives something, `meet` is offered and may be returned. Of lines:
`bound` holds, `joined` began in this turn, `parted` ended in it. Of badges: `new` began in this turn, `taken`
changed its owner, `guarded` was defended, `safe` cannot be harmed, `worth` is worth more than others, `gain`
brought something, `chief` is the first of its owner's, `slip` went otherwise than meant, `gone` ended in this
turn.
"""

DARKEST = 3
"""The darkest shade of a place; 0 is the lightest."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of arrow, line or badge: its name, its sign, and its meaning for the legend."""

    name: str
    sign: Sign
    meaning: str


@dataclass(frozen=True, slots=True)
class Badge:
    """A small sign at a place; `text` is at most a few characters."""

    kind: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A square or a disc. `x` and `y` are the middle of its room, in units of the board from its top left.

    `owner` is an agent of the run, and `was` the one that owned the place before this turn, if another
    did. `text` stands inside the place; below a disc stand `label` and `note`. `size` says how much of its
    room a disc fills, in percent. A place that is `bare` has no outline unless it has an owner.
    """

    name: str
    x: float
    y: float
    width: float
    height: float
    words: str
    owner: str | None = None
    was: str | None = None
    shape: Literal["square", "disc", "bare"] = "square"
    size: int = 100
    text: str = ""
    label: str = ""
    note: str = ""
    shade: int = DARKEST
    badges: tuple[Badge, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrow:
    """What `owner` did from one place to another. Without a `source` it comes from nowhere on the board."""

    kind: str
    owner: str
    source: str | None
    target: str
    words: str
    label: str = ""
    succeeded: bool = True


@dataclass(frozen=True, slots=True)
class Line:
    """What joins two places: one of a kind is told by its words, one without a kind is a border of both."""

    one: str
    other: str
    kind: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of the figures: its value after the turn, its change in the turn, and a note."""

    owner: str
    label: str
    figure: int
    change: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """One turn of a world.

    `agents` are all agents of the run, by which colours are chosen. `measure` is what
    the bars show, and `goal` the figure that they try to reach, if there is one. `shading` and
    `sizes` say what the shades of places and the sizes of discs mean, if they mean anything.
    """

    title: str
    agents: tuple[str, ...]
    width: float
    height: float
    places: tuple[Place, ...]
    arrows: tuple[Arrow, ...] = ()
    lines: tuple[Line, ...] = ()
    bars: tuple[Bar, ...] = ()
    measure: str = ""
    goal: int | None = None
    kinds: tuple[Kind, ...] = ()
    shading: str = ""
    sizes: str = ""


SIDE = 100
"""The width of a board on which places are spread."""

ROOMIEST = 34.0
"""The most room that a place has there."""

MAX_IN_RING = 24
"""How many places lie in a ring; more lie in rows."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Where places lie that have no position of their own: the middle and the room of each."""

    height: float
    room: float
    middles: tuple[tuple[float, float], ...]


def disc_size(value: int, most: int, smallest: int) -> int:
    """Return how much of its room a disc fills, in percent, from `smallest` on: its area shows its value."""
    return smallest + int((100 - smallest) * sqrt(max(value, 0) / max(most, 1)))


def spread(n: int) -> Spread:
    """Return positions for n places on a board that is SIDE wide: a ring from the top on, or rows if many."""
    if n <= 2:  # noqa: PLR2004  one in the middle, or two side by side
        return Spread(
            ROOMIEST, ROOMIEST, tuple((SIDE * (2 * k + 1) / (2 * n), ROOMIEST / 2) for k in range(n))
        )
    if n > MAX_IN_RING:
        columns = ceil(sqrt(n))
        room = SIDE / columns
        rows = ceil(n / columns)
        middles = [((k % columns + 0.5) * room, (k // columns + 0.5) * room) for k in range(n)]
        return Spread(rows * room, room, tuple(middles))
    apart = 0.8 * sin(pi / n)  # a fifth of the way to the next place is left free
    room = min(ROOMIEST, round(SIDE * apart / (1 + apart), 2))
    radius = (SIDE - room) / 2
    angles = [2 * pi * k / n for k in range(n)]
    ring = [(round(SIDE / 2 + radius * sin(a), 2), round(SIDE / 2 - radius * cos(a), 2)) for a in angles]
    return Spread(max(y for _, y in ring) + room / 2, room, tuple(ring))  # an odd ring ends above its circle


MAX_NUMBERS = 25
"""How many rows or columns are all numbered; of more, every second or third one is."""


def numbers(
    rows: int, columns: int, corner: tuple[float, float], room: tuple[float, float]
) -> Iterator[Place]:
    """Yield the numbers of the columns above a grid, and those of its rows on its left.

    The grid begins at `corner`; `room` is how wide and high one of its places is.
    """
    (left, top), (wide, tall) = corner, room
    step = ceil(columns / MAX_NUMBERS)
    for c in range(0, columns, step):
        x = left + (c + 0.5) * wide
        yield Place(f"-1,{c}", x, top / 2, step * wide, top, f"column {c}", shape="bare", text=str(c))
    for r in range(0, rows, ceil(rows / MAX_NUMBERS)):
        y = top + (r + 0.5) * tall
        yield Place(f"{r},-1", left / 2, y, left, min(tall, top), f"row {r}", shape="bare", text=str(r))


def title_of(turn: int, happened: Iterable[tuple[int, str]]) -> str:
    """Return the title of a turn: its number, and how often each thing happened that did.

    `[(1, "raid"), (0, "claim")]` gives `turn 3: 1 raid`.
    """
    told = [f"{n} {thing}{'s' * (n != 1)}" for n, thing in happened if n]
    return f"turn {turn}: {', '.join(told) or 'quiet'}"


def join_names(names: Sequence[str]) -> str:
    """Return names as words: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
