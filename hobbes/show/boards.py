"""How a board is drawn: one SVG that needs nothing else, or its parts for a page.

An SVG has its own style sheet, no script and no attribute `style`, so that it can stand in a page, alone, or
in a README. It is dark or light as its reader prefers, and made to be read at a width of 400 pixels. An agent
has its colour and its mark (`hobbes.show.palette`). What does not fit is cut, shows on hover and focus, or is
left out and counted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from markupsafe import Markup

from hobbes.engine.board import DARKEST, Arrow, Badge, Bar, Board, Kind, Place, Sign
from hobbes.show.palette import PALETTE, Look, looks_of
from hobbes.show.strokes import (
    LETTER,
    MARGIN,
    STYLE_ELEMENT,
    WIDTH,
    Point,
    Shaft,
    circle,
    cross,
    crown,
    escape_foreign,
    fit_text,
    five_digits,
    fold,
    number,
    path,
    rectangle,
    shield,
    sign,
    word,
)

MAX_HEIGHT = 480
"""How high the plane of the places may be."""

MAX_SQUARE = 84
"""How wide and high a square may be: a board of few squares leaves room for its figures on the screen."""

LINE = 11
"""How high a line of text below a disc is."""

ROW = 15
"""How high a row of the figures and of the legend is."""

MAX_WIDE_ARROWS = 40
"""How many arrows are wide, with labels beside them. If there are more, or more than squares where all places
are squares, they are thin, pass over discs, and show their labels on hover."""

MAX_BARS = 40
"""How many rows of figures are drawn."""

MAX_PLACES_WITH_HINTS = 600
"""How many places a board has at most that have words of their own."""

BOLD = 1.2
"""How much wider a bold letter is."""

READABLE = 7.5
"""The smallest size of a word in a square; where it has no room, only the mark of the owner stands."""

NOBODY = Look(len(PALETTE) - 1)
"""The look of an owner who is not an agent of the run; a state from outside may name one."""

FIGURES, BARS, AMOUNTS, NOTES = 368, 92, 170, 208
"""How wide a row of figures is, and where in it the bars begin, the amounts end, and the notes begin."""

MAX_BAR_LENGTH = 44

BANDS: Mapping[Sign, tuple[str, ...]] = {"bound": ("f",), "joined": ("f", "f u"), "parted": ("f v",)}
"""The strokes of a band, one over the other: a line along one that is new, pieces of one that ended."""

LABEL_PLACES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
"""Where beside an arrow its label may stand, as shares of its way, first on the side to which it bends; the
first that is free is taken."""

SAMPLES = tuple(k / 24 for k in range(1, 25))
"""Where on an arrow no label may stand, as shares of its way."""

Cards: TypeAlias = tuple[tuple[str, str], ...]
"""Agents, each with the address of its card."""

Box: TypeAlias = tuple[float, float, float, float]
"""The left, upper, right and lower edge of a text."""

Part: TypeAlias = tuple[list[str], float]
"""A part of a board: what is drawn from the top down, and how high it is."""


class Parts(NamedTuple):
    """The parts of a board for a page, each an SVG; one without anything in it is empty."""

    plane: Markup
    """It has the style sheet of all parts."""
    figures: Markup
    legend: Markup


@lru_cache(maxsize=8)  # several agents see the same map in a turn
def svg(board: Board, cards: Cards = ()) -> str:
    """Return a board as an SVG document. The same board gives the same bytes.

    What belongs to an agent with a card is a link to it.
    """
    drawn, high = whole(board, cards)
    return _document(board.title, [STYLE_ELEMENT, *drawn], WIDTH, high)


def whole(board: Board, cards: Cards = ()) -> Part:
    """Return all parts of a board, below its title."""
    drawing, titles = _Drawing(board, dict(cards)), wrap(board.title, 48)[:3]
    drawn = [word(escape_foreign(line), (MARGIN, 16 + 16 * k), "h") for k, line in enumerate(titles)]
    top = 8.0 + 16 * len(titles)
    for inside, high in (drawing.plane(), drawing.figures(), drawing.legend()):
        drawn += [f'<svg y="{number(top)}" width="{WIDTH}" height="{number(high)}">', *inside, "</svg>"]
        top += high + 8
    return drawn, top + 4


def parts(board: Board, cards: Cards = ()) -> Parts:
    """Return the parts of a board, in which all texts are escaped. Its title is not drawn: a page has it."""
    drawing = _Drawing(board, dict(cards))
    plane, high = drawing.plane()
    of_page = (
        (board.title, WIDTH, ([STYLE_ELEMENT, *plane], high)),
        (board.measure, FIGURES, drawing.figures()),
        ("what the signs mean", WIDTH, drawing.legend()),
    )
    drawn = (_document(title, inside, wide, high) for title, wide, (inside, high) in of_page)
    return Parts(*map(Markup, drawn))


def _document(title: str, drawn: Sequence[str], wide: float, high: float) -> str:
    """Return an SVG; nothing if nothing is drawn."""
    if not drawn:
        return ""
    size = f'viewBox="0 0 {wide} {number(high)}" width="{wide}" height="{number(high)}"'
    name = f'role="group" aria-label="{escape_foreign(title)}"'
    begins = f'<svg xmlns="http://www.w3.org/2000/svg" class="board" {name} {size}>'
    return "\n".join([begins, *filter(None, drawn), "</svg>", ""])


@dataclass(frozen=True, slots=True)
class _Spot:
    """A place in the drawing: its middle, its room, and half its side or its radius."""

    place: Place
    at: Point
    wide: float
    high: float
    half: float
    below: tuple[str, ...] = ()
    """The lines of text below a disc that have room."""

    @property
    def is_disc(self) -> bool:
        return self.place.shape == "disc"

    @property
    def corner(self) -> Point:
        """The upper left corner of a square in its room."""
        return self.at[0] - self.half, self.at[1] - self.half


class _Drawing:
    """One board as it is drawn, in parts: the plane of places and arrows, the figures, the legend."""

    def __init__(self, board: Board, cards: Mapping[str, str]) -> None:
        self.board = board
        self.cards = cards
        self.looks = looks_of(board.agents)
        self.kinds = {kind.name: kind for kind in board.kinds}
        self.scale = min((WIDTH - 2 * MARGIN) / board.width, MAX_HEIGHT / board.height)
        squares = [max(place.width, place.height) for place in board.places if place.shape == "square"]
        if squares:
            self.scale = min(self.scale, MAX_SQUARE / min(squares))
        self.left = (WIDTH - board.width * self.scale) / 2
        self.high = board.height * self.scale
        self.middle = WIDTH / 2, self.high / 2
        self.spots = {place.name: self._spot(place) for place in board.places}
        self.under_discs = {(place.x, place.y) for place in board.places if place.shape == "disc"}
        self.is_told = len(board.places) <= MAX_PLACES_WITH_HINTS
        self.arrows = [
            arrow for arrow in board.arrows if arrow.target in self.spots and arrow.source != arrow.target
        ]
        room = len(squares) if squares and not self.under_discs else MAX_WIDE_ARROWS
        self.is_full = len(self.arrows) > min(MAX_WIDE_ARROWS, room)

    def plane(self) -> Part:
        """Return the places with what joins them, the arrows over them, and over all the words and signs."""
        drawn = [*self._lines(), *self._places(), *self._arrows(), *self._signs(), *self._names()]
        return drawn, self.high

    def _spot(self, place: Place) -> _Spot:
        """Return where a place lies in the drawing."""
        x, y = self.left + place.x * self.scale, place.y * self.scale
        wide, high = place.width * self.scale, place.height * self.scale
        if place.shape != "disc":
            return _Spot(place, (x, y), wide, high, max(min(wide, high) / 2 - 1, 0.5))
        lines = [line for line in (place.label, place.note) if line]
        below = tuple(lines[: min(2, int(wide // 20))])
        most = max(min(wide, high - LINE * len(below)) / 2 - 1, 4.0)
        radius = min(most, max(most * place.size / 100, 9.0))
        return _Spot(place, (x, y - LINE * len(below) / 2), wide, high, radius, below)

    def _look(self, agent: str) -> Look:
        """Return the look of an owner."""
        return self.looks.get(agent, NOBODY)

    def _ink(self, agent: str, shade: int) -> str:
        """Return the class of a shade of an owner's colour."""
        return f"k{self._look(agent).colour}{shade}"

    def _lines(self) -> Iterator[str]:
        """Yield what joins places, below all else: thin lines, and bands in all their strokes."""
        for line in self.board.lines:
            start, end = self.spots[line.one].at, self.spots[line.other].at
            inks = BANDS[self.kinds[line.kind].sign] if line.kind else ("l",)
            drawn = "".join(path(ink, start, "L##", *end) for ink in inks)
            yield _titled(line.words, drawn) if line.words else drawn

    def _places(self) -> Iterator[str]:
        """Yield the squares, and over them the discs."""
        for is_disc, draw in ((False, self._square), (True, self._disc)):
            spots = [spot for spot in self.spots.values() if spot.is_disc == is_disc]
            yield from self._linked(
                (
                    self._whose(spot.place.name, spot.place.owner),
                    _titled(spot.place.words, drawn) if self.is_told else drawn,
                )
                for spot in spots
                for drawn in ["".join(draw(spot))]
            )

    def _whose(self, *names: str | None) -> str:
        """Return the first of these who has a card: a place or a source may be one by its name."""
        return next((name for name in names if name and name in self.cards), "")

    def _linked(self, drawn: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Yield what is drawn; what belongs to one agent is one link to its card: Tab stops there once."""
        by_agent: dict[str, list[str]] = {}
        for agent, shape in drawn:
            by_agent.setdefault(agent, []).append(shape)
        for agent, shapes in by_agent.items():
            if agent:
                name = f'aria-label="card of {escape_foreign(agent)}" data-look="{self._look(agent).key}"'
                yield f'<a href="{escape(self.cards[agent])}" {name}>'
                yield from shapes
                yield "</a>"
            else:
                yield from shapes

    def _square(self, spot: _Spot) -> Iterator[str]:
        """Yield a square or bare place: its colour, and an edge if it was taken."""
        place, (x, y) = spot.place, spot.at
        box = (x - spot.wide / 2 + 1, y - spot.high / 2 + 1), spot.wide - 2, spot.high - 2
        if place.owner is not None:
            yield rectangle(self._ink(place.owner, place.shade), *box)
        elif place.shape != "bare" and self.is_told:
            yield rectangle("n", *box)
        if any(self.kinds[badge.kind].sign == "taken" for badge in place.badges):
            yield rectangle("t o", spot.corner, 2 * spot.half, 2 * spot.half)

    def _signs(self) -> Iterator[str]:
        """Yield what stands in the squares: arrows pass below it, and so does the pointer."""
        for spot in self.spots.values():
            if not spot.is_disc and (drawn := "".join(self._on_square(spot))):
                yield f'<g pointer-events="none">{drawn}</g>'

    def _on_square(self, spot: _Spot) -> Iterator[str]:
        """Yield the mark of a square's owner, its word and its badges."""
        place, (x, y) = spot.place, spot.at
        is_marked = place.owner is not None and (place.x, place.y) not in self.under_discs
        mark = self._look(place.owner or "").mark if is_marked else ""
        size = min(13.0, spot.high * 0.34)
        text = fit_text(mark + place.text, spot.wide - 2, size)
        if size < READABLE and place.owner is None:
            text, size = fit_text(place.text, spot.wide, READABLE), READABLE
        elif size < READABLE:
            text, size = mark, min(13.0, spot.high * 0.6)
        yield word(text, (x, y + size * 0.36), "m d" if place.owner else "m", size)
        if spot.half >= READABLE:
            for badge in place.badges:
                yield from self._badge(spot, badge)

    def _badge(self, spot: _Spot, badge: Badge) -> Iterator[str]:
        """Yield a badge in its corner of a square."""
        half, (left, top) = spot.half, spot.corner
        right, bottom, size = left + 2 * half, top + 2 * half, max(6.5, min(10, half * 0.5))
        text = escape_foreign(badge.text)
        match self.kinds[badge.kind].sign:
            case "new":
                folded = min(11.0, half * 0.62)
                yield fold("g", spot.corner, folded)
                yield word(text, (left + folded + 1, top + size * 0.9), "d", size)
            case "taken":
                if spot.place.was is not None:
                    folded = min(17.0, half)
                    mark = self._look(spot.place.was).mark
                    yield fold(f"{self._ink(spot.place.was, DARKEST)} t", spot.corner, folded)
                    yield word(mark, (left + folded * 0.32, top + folded * 0.5), "m d", folded * 0.48)
            case "guarded":
                yield shield((left + size * 0.6, bottom - size * 0.75), size * 0.5)
                yield word(text, (left + size * 1.3, bottom - 2), "d", size)
            case "safe":
                yield rectangle("s", (left + 2, top + 2), 2 * half - 4, 2 * half - 4)
            case "worth":
                ink = "e w d" if spot.place.owner else "e w"
                yield word(text, (right - 1, top + size * 0.95), ink, size)
            case "gain":
                yield word(text, (right - 1, bottom - 2), "e d", size)
            case "chief":
                yield crown((right - size * 0.8, top + size * 0.75), size * 0.6)
            case _:
                yield self._icon(badge, (right - size, top + size))

    def _disc(self, spot: _Spot) -> Iterator[str]:
        """Yield a disc: its colour, what stands in it, its badges."""
        place, (x, y), radius = spot.place, spot.at, spot.half
        yield circle(
            "g" if place.owner is None else f"{self._ink(place.owner, place.shade)} b", spot.at, radius
        )
        mark = "" if place.owner is None else self._look(place.owner).mark
        size = max(6.0, min(15, radius * 0.62))
        if len(mark + place.text) * size * LETTER < 1.9 * radius < 34:  # noqa: PLR2004  a small disc has one line
            yield word(escape_foreign(mark + place.text), (x, y + size * 0.36), "m d", size)
        else:
            yield word(mark, (x, y - size * 0.2), "m d", size * 0.8)
            yield word(fit_text(place.text, 2 * radius, size), (x, y + size * 0.8), "m d", size)
        for k, badge in enumerate(place.badges):
            if self.kinds[badge.kind].sign == "gone":
                yield cross(spot.at, radius * 0.7)
            else:
                yield self._icon(badge, (x + radius * 0.75 + LINE * k, y - radius * 0.75))

    def _icon(self, badge: Badge, at: Point) -> str:
        """Return a badge as a sign of its own."""
        return sign(self.kinds[badge.kind].sign, at) + word(
            escape_foreign(badge.text), (at[0] + 7, at[1] + 3), "a"
        )

    def _names(self) -> Iterator[str]:
        """Yield what stands below the discs, over the arrows. Of a name that is too long, the end is kept."""
        for spot in self.spots.values():
            for k, line in enumerate(spot.below):
                is_name = line == spot.place.label
                at = spot.at[0], spot.at[1] + spot.half + 10 + LINE * k
                yield word(fit_text(line, spot.wide - 2, end=is_name), at, "m a w" if is_name else "m a")

    def _arrows(self) -> Iterator[str]:
        """Yield the arrows with their labels, in one group: while one is pointed at, the others are pale."""
        before, alike = Counter[frozenset[str | None]](), Counter[tuple[str | None, str]]()
        outwards: dict[frozenset[str | None] | str, bool] = {}
        shafts: list[tuple[Arrow, Shaft, int]] = []
        for arrow in self.arrows:
            ends = frozenset((arrow.source, arrow.target))
            side = not outwards.get(ends, outwards.get(arrow.target, True))
            outwards |= {ends: side, arrow.target: side}
            way = arrow.source, arrow.target
            shafts.append((arrow, self._shaft(arrow, before[ends] // 2, outwards=side), alike[way]))
            before[ends] += 1
            alike[way] += 1
        taken = [self._box(spot, k) for spot in self.spots.values() for k in range(len(spot.below))]
        taken += [_centred(spot.at, spot.half) for spot in self.spots.values()]
        if not self.is_full:
            taken += [_centred(shaft.point(share), 3) for _, shaft, _ in shafts for share in SAMPLES]
        if shafts:
            yield '<g class="j">'
            yield from self._linked(
                (self._whose(arrow.source, arrow.owner), _titled(arrow.words, "".join(drawn)))
                for arrow, shaft, others in shafts
                for drawn in [[*self._arrow(arrow, shaft, others), self._label(arrow, shaft, taken)]]
            )
            yield "</g>"

    def _shaft(self, arrow: Arrow, before: int, *, outwards: bool) -> Shaft:
        """Return where an arrow runs; `before` counts the pairs of arrows that join the same places already.

        It bends around discs in its way, inwards or outwards, the further the more run there.
        """
        to = self.spots[arrow.target]
        at = self.spots.get(arrow.source or "")
        start = (to.at[0] - to.half - 8, to.at[1] - to.half - 8) if at is None else at.at
        first, last = 0.0 if at is None else _reach(at, to.at), _reach(to, start)
        size = max(0.45, min(1.2, min(to.wide, to.high) / 44)) * (0.6 if self.is_full else 1)
        least = 0 if self.is_full else self._around(arrow, start, to.at)
        bend = max(0.14 if to.is_disc else 0.07, least) + 0.13 * before
        (x0, y0), (x1, y1), (x, y) = start, to.at, self.middle
        off = round((2 * x - x0 - x1) * (y1 - y0) - (2 * y - y0 - y1) * (x1 - x0), 3)
        is_outwards = (off, start) < (0, to.at)  # through the middle, the way back is on the other side, too
        bend = bend if is_outwards == outwards else -bend
        return Shaft(start, to.at, first, last, size, self.kinds[arrow.kind].sign, bend)

    def _around(self, arrow: Arrow, start: Point, end: Point) -> float:
        """Return how far an arrow is to be bent at least so that it passes the discs in its way."""
        shaft = Shaft(start, end, 0, 0, 1, "harm")
        ends = {arrow.source, arrow.target}
        discs = (spot for spot in self.spots.values() if spot.is_disc and spot.place.name not in ends)
        return max(
            (1.25 * (spot.half + 6) / shaft.long for spot in discs if shaft.meets(spot.at, spot.half)),
            default=0,
        )

    def _arrow(self, arrow: Arrow, shaft: Shaft, others: int) -> Iterator[str]:
        """Yield an arrow, pale and crossed out if it failed.

        `others` lead the same way: its cross stands a little before theirs.
        """
        ink = self._ink(arrow.owner, DARKEST if arrow.succeeded else 0) + (" c" if self.is_full else " b")
        yield shaft.draw(ink)
        if not arrow.succeeded:
            yield cross(shaft.point(1 - 0.15 * min(others, 5)), 4 * shaft.size)
        if arrow.source not in self.spots:
            yield word(self._look(arrow.owner).mark, (shaft.start[0], shaft.start[1] + 3), "m a", 9)

    def _label(self, arrow: Arrow, shaft: Shaft, taken: list[Box]) -> str:
        """Return what stands beside an arrow where nothing else is; without such a room, it shows on hover.

        `taken` are the boxes of all else; that of the label is added.
        """
        text = fit_text(arrow.label, 130)
        half = _long(text) / 2
        sx, sy = shaft.side
        away = abs(sx) * half + abs(sy) * LINE / 2 + 5 * shaft.size
        places = [(way * away, share) for way in (1, -1) for share in LABEL_PLACES]
        for off, share in places if text and not self.is_full else ():
            x, y = shaft.point(share)
            x, y = min(max(x + off * sx, half), WIDTH - half), y + off * sy + 3
            box = x - half, y - LINE + 2, x + half, y + 2
            is_within = box[1] > 0 and box[3] < self.high
            if is_within and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                return word(text, (x, y), "m a w")
        x, y = shaft.point(0.5)
        return word(text, (min(max(x, half), WIDTH - half), y), "m a w z")

    def _box(self, spot: _Spot, k: int) -> Box:
        """Return the box of a line of text below a disc."""
        half = min(_long(spot.below[k]), spot.wide) / 2
        base = spot.at[1] + spot.half + 10 + LINE * k
        return spot.at[0] - half, base - LINE + 2, spot.at[0] + half, base + 2

    def figures(self) -> Part:
        """Return the rows of figures."""
        bars, goal = self.board.bars[:MAX_BARS], self.board.goal
        if not bars:
            return [], 0.0
        most = max([1, goal or 0, *(bar.figure for bar in bars)])
        parts = [word(fit_text(self.board.measure, 78), (AMOUNTS, 8), "e q")]
        end = 12 + ROW * len(bars)
        if goal is not None:
            x = BARS + MAX_BAR_LENGTH * goal / most
            parts += [word(f"goal {five_digits(goal)}", (x, 8), "e q"), path("n", (x, LINE), "V#", end)]
        parts += self._linked(
            (self._whose(bar.label, bar.owner), self._bar(bar, 12 + ROW * k, most))
            for k, bar in enumerate(bars)
        )
        if rest := len(self.board.bars) - len(bars):
            parts.append(word(f"and {rest} more", (MARGIN, end + 10), "q"))
            end += ROW
        return parts, end

    def _bar(self, bar: Bar, top: float, most: int) -> str:
        """Return one row of figures."""
        base, long = top + 11, MAX_BAR_LENGTH * max(bar.figure, 0) / most
        change = f"{'+' * (bar.change > 0)}{five_digits(bar.change)}" if bar.change else ""
        cells = [
            rectangle(self._ink(bar.owner, 2), (MARGIN, top + 1), 13, 13),
            word(self._look(bar.owner).mark, (MARGIN + 6.5, base), "m d"),
            word(fit_text(bar.label, BARS - MARGIN - 19), (MARGIN + 17, base)),
            rectangle(f"{self._ink(bar.owner, DARKEST)} b", (BARS, top + 3), long, 9),
            word(five_digits(bar.figure), (AMOUNTS, base), "e w"),
            word(change, (AMOUNTS + 4, base), "q"),
            word(fit_text(bar.note, FIGURES - NOTES), (NOTES, base)),
        ]
        words = f"{bar.label}: {bar.figure} {self.board.measure} ({bar.change:+})"
        return _titled(f"{words}, {bar.note}" if bar.note else words, "".join(cells))

    def legend(self) -> Part:
        """Return what each sign that occurs means."""
        badges = {badge.kind for spot in self.spots.values() for badge in spot.place.badges}
        on_discs = {b.kind for spot in self.spots.values() if spot.is_disc for b in spot.place.badges}
        there = badges | {arrow.kind for arrow in self.arrows} | {line.kind for line in self.board.lines}
        rows: list[tuple[str, str]] = [
            (_key(kind, is_on_disc=kind.name in on_discs), kind.meaning)
            for kind in self.board.kinds
            if kind.name in there
        ]
        owner = next((place.owner for place in self.board.places if place.owner), None)
        if self.board.shading and owner:
            shades = range(DARKEST + 1)
            swatches = (rectangle(self._ink(owner, k), (2 + 6 * k, -5.5), 6, 11) for k in shades)
            rows.append(("".join(swatches), self.board.shading))
        if self.board.sizes:
            rows.append((circle("g", (14, 0), 6) + word("9", (14, 3), "m", 8), self.board.sizes))
        if not all(arrow.succeeded for arrow in self.arrows):
            rows.append((cross((14, 0), 4), "pale and crossed out: it failed"))
        parts, top = [], 4.0
        for key, meaning in rows:
            lines = wrap(meaning, 66)
            parts.append(f'<g transform="translate(0 {number(top + 8)})">{key}</g>')
            parts += [
                word(escape_foreign(line), (34, top + LINE + 12 * k), "q") for k, line in enumerate(lines)
            ]
            top += ROW + 12 * (len(lines) - 1)
        return parts, top


def _long(text: str) -> float:
    """Return about how long a text of a board is, if it is bold."""
    return len(text) * 10 * LETTER * BOLD


def _reach(spot: _Spot, towards: Point) -> float:
    """Return how far from the middle of a place an arrow begins or ends: what stands below stays readable."""
    if not spot.is_disc:
        return spot.half * 0.55
    is_from_below = towards[1] - spot.at[1] > abs(towards[0] - spot.at[0]) / 2
    return spot.half + 2 + (LINE * len(spot.below) + 4 if is_from_below else 0)


def _centred(at: Point, half: float) -> Box:
    """Return the box around a point."""
    return at[0] - half, at[1] - half, at[0] + half, at[1] + half


def _overlap(one: Box, other: Box) -> bool:
    """Return whether two boxes overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _titled(words: str, drawn: str) -> str:
    """Return what is drawn with its words, for those who cannot see it."""
    return f'<g role="img"><title>{escape_foreign(words)}</title>{drawn}</g>'


def _key(kind: Kind, *, is_on_disc: bool) -> str:  # noqa: PLR0911  one for each sign
    """Return the sign of a kind as it stands in the legend, around a height of 0."""
    corner: Point = (8, -6)
    match kind.sign:
        case "harm" | "help" | "meet":
            return Shaft((4, 0), (27, 0), 0, 2, 0.8, kind.sign).draw("g")
        case "bound" | "joined" | "parted":
            return "".join(path(ink, (4, 0), "h#", 22) for ink in BANDS[kind.sign])
        case "new" if not is_on_disc:
            return rectangle("n", corner, 12, 12) + fold("g", corner, 8)
        case "taken":
            return rectangle("x", corner, 12, 12) + fold("b", corner, 8)
        case "safe":
            return rectangle("n x", corner, 12, 12)
        case "worth":
            return word("x5", (14, 3), "m w")
        case "gain":
            return word("+3", (14, 3), "m")
        case _:
            return sign(kind.sign, (14, 0))
