"""How a board is drawn: one SVG that needs nothing else, or lines of text.

The SVG has its own style sheet, no script and no attribute `style`, so that it can stand in a page, alone, or
in a README. It is dark or light as its reader prefers, and made to be read at a width of 400 pixels. An agent
has its colour and its mark (`hobbes.show.palette`). What does not fit is cut, or left out and counted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from textwrap import wrap
from typing import TypeAlias

from markupsafe import Markup

from hobbes.engine.board import DARKEST, Arrow, Badge, Bar, Board, Kind, Place, Sign
from hobbes.show.palette import PALETTE, Look, looks_of
from hobbes.show.strokes import (
    LETTER,
    MARGIN,
    STYLE,
    WIDTH,
    Point,
    Shaft,
    circle,
    cross,
    crown,
    escape_foreign,
    fit_text,
    fold,
    number,
    path,
    rectangle,
    shield,
    short,
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

MAX_ARROWS = 40
"""How many arrows are drawn at most: more could not be told apart. The rest are counted at their targets."""

COUNTED: Mapping[Sign, str] = {"harm": "!", "help": "+", "meet": "~"}
"""What stands before the number of arrows that lead to a place and are not drawn."""

MAX_BARS = 40
"""How many rows of figures are drawn."""

MAX_PLACES_WITH_HINTS = 600
"""How many places a board has at most that have words of their own."""

MAX_LINES = 12
"""How many arrows the text form lists."""

BOLD = 1.2
"""How much wider a bold letter is."""

READABLE = 7.5
"""The smallest size of a word in a square; where it has no room, only the mark of the owner stands."""

NOBODY = Look(len(PALETTE) - 1)
"""The look of an owner who is not an agent of the run; a state from outside may name one."""

BARS, AMOUNTS, NOTES = 94, 192, 228
"""Where in a row of figures the bars begin, the amounts end, and the notes begin."""

MAX_BAR_LENGTH = 62

LABEL_PLACES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
"""Where beside an arrow its label may stand, as shares of its way, first on the side to which it bends; the
first that is free is taken."""

Cards: TypeAlias = tuple[tuple[str, str], ...]
"""Agents, each with the address of its card."""

Box: TypeAlias = tuple[float, float, float, float]
"""The left, upper, right and lower edge of a text."""


@lru_cache(maxsize=8)  # several agents see the same map in a turn
def svg(board: Board, cards: Cards = ()) -> str:
    """Return a board as an SVG document. The same board gives the same bytes.

    What belongs to an agent with a card is a link to it.
    """
    return _Drawing(board, dict(cards)).svg()


def board_svg(board: Board | None, cards: Cards = ()) -> Markup:
    """Return a board as an SVG to stand in a page, or nothing if there is none."""
    return Markup(svg(board, cards) if board else "")  # noqa: S704  it escapes all texts


def text(board: Board) -> list[str]:
    """Return a board in words: its title, and what was done to whom."""
    return [board.title, *(f"  {words}" for words in _few_words(board.arrows))]


def _few_words(arrows: Sequence[Arrow]) -> list[str]:
    """Return the words of the first arrows, and how many more there are."""
    rest = len(arrows) - MAX_LINES
    return [*(arrow.words for arrow in arrows[:MAX_LINES]), *([f"and {rest} more"] if rest > 0 else [])]


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
    """One board as it is drawn, from the top down: title, places with arrows, figures, legend."""

    def __init__(self, board: Board, cards: Mapping[str, str]) -> None:
        self.board = board
        self.cards = cards
        self.looks = looks_of(board.agents)
        self.kinds = {kind.name: kind for kind in board.kinds}
        self.titles = wrap(board.title, 48)[:3]
        self.top = 8 + 16 * len(self.titles)
        self.scale = min((WIDTH - 2 * MARGIN) / board.width, MAX_HEIGHT / board.height)
        squares = [max(place.width, place.height) for place in board.places if place.shape == "square"]
        if squares:
            self.scale = min(self.scale, MAX_SQUARE / min(squares))
        self.left = (WIDTH - board.width * self.scale) / 2
        self.middle = WIDTH / 2, self.top + board.height * self.scale / 2
        self.spots = {place.name: self._spot(place) for place in board.places}
        self.under_discs = {(place.x, place.y) for place in board.places if place.shape == "disc"}
        self.is_told = len(board.places) <= MAX_PLACES_WITH_HINTS
        self.arrows, self.counted = self._split_arrows()
        self.is_full = bool(self.counted)

    def svg(self) -> str:
        """Return the whole document."""
        parts = [word(escape_foreign(line), (MARGIN, 16 + 16 * k), "h") for k, line in enumerate(self.titles)]
        parts += [*self._lines(), *self._places(), *self._arrows(), *self._names(), *self._counts()]
        figures, end = self._figures(self.top + self.board.height * self.scale + 12)
        legend, end = self._legend(end + 4)
        high = number(end + 4)
        size = f'viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" height="{high}"'
        name = f'role="group" aria-label="{escape_foreign(self.board.title)}"'
        begins = f'<svg xmlns="http://www.w3.org/2000/svg" class="board" {name} {size}>'
        drawn = filter(None, [*parts, *figures, *legend])
        return "\n".join([begins, f"<style>{STYLE}</style>", *drawn, "</svg>", ""])

    def _spot(self, place: Place) -> _Spot:
        """Return where a place lies in the drawing."""
        x, y = self.left + place.x * self.scale, self.top + place.y * self.scale
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
        """Yield the lines between places that touch, as one path."""
        ends = [(self.spots[one].at, self.spots[other].at) for one, other in self.board.lines]
        if ends:
            steps = "".join(f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for (a, b), (c, d) in ends)
            yield f'<path class="l" d="{steps}"/>'

    def _places(self) -> Iterator[str]:
        """Yield the squares, and over them the discs."""
        for is_disc, draw in ((False, self._square), (True, self._disc)):
            spots = [spot for spot in self.spots.values() if spot.is_disc == is_disc]
            yield from self._linked(
                (
                    self._whose(spot.place.name, spot.place.owner),
                    _told(spot.place.words, drawn) if self.is_told else drawn,
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
                name = escape_foreign(agent)
                yield f'<a href="{escape(self.cards[agent])}" aria-label="card of {name}">'
                yield from shapes
                yield "</a>"
            else:
                yield from shapes

    def _square(self, spot: _Spot) -> Iterator[str]:
        """Yield a square or bare place: its colour, its owner's mark and word, its badges."""
        place, (x, y) = spot.place, spot.at
        box = (x - spot.wide / 2 + 1, y - spot.high / 2 + 1), spot.wide - 2, spot.high - 2
        if place.owner is not None:
            yield rectangle(self._ink(place.owner, place.shade), *box)
        elif place.shape != "bare" and self.is_told:
            yield rectangle("n", *box)
        is_marked = place.owner is not None and (place.x, place.y) not in self.under_discs
        mark = self._look(place.owner or "").mark if is_marked else ""
        size = min(13.0, spot.high * 0.34)
        text = fit_text(mark + place.text, spot.wide - 2, size)
        if size < READABLE and place.owner is None:
            text, size = fit_text(place.text, spot.wide, READABLE), READABLE
        elif size < READABLE:
            text, size = self._in_small_square(mark, place.text, spot)
        yield word(text, (x, y + size * 0.36), "m d" if place.owner else "m", size)
        if spot.half >= READABLE:
            for badge in place.badges:
                yield from self._on_square(spot, badge)

    def _in_small_square(self, mark: str, text: str, spot: _Spot) -> tuple[str, float]:
        """Return what stands in an owned square, and its size: its word if that can be read, or the mark."""
        if text and spot.high >= 2 * READABLE:
            for words in (mark + text, text):
                if len(words) * READABLE * LETTER <= spot.wide - 2:
                    return escape_foreign(words), READABLE
        return mark, min(13.0, spot.high * 0.6)

    def _on_square(self, spot: _Spot, badge: Badge) -> Iterator[str]:
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
                yield rectangle("t o", spot.corner, 2 * half, 2 * half)
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

    def _split_arrows(self) -> tuple[list[Arrow], list[Arrow]]:
        """Return the arrows that are drawn, and those that are counted: if there are many, what failed."""
        there = [one for one in self.board.arrows if one.target in self.spots and one.source != one.target]
        if len(there) <= MAX_ARROWS:
            return there, []
        succeeded = [arrow for arrow in there if arrow.succeeded]
        if len(succeeded) > MAX_ARROWS:
            return [], there
        return succeeded, [arrow for arrow in there if not arrow.succeeded]

    def _arrows(self) -> Iterator[str]:
        """Yield the arrows, and over them their labels. Those of the same two places lie side by side."""
        ways = {(arrow.source, arrow.target) for arrow in self.arrows}
        before: Counter[tuple[str | None, str]] = Counter()
        arrows: list[tuple[str, str]] = []
        labels = []
        taken = [self._box(spot, k) for spot in self.spots.values() for k in range(len(spot.below))]
        for arrow in self.arrows:
            is_mutual = (arrow.target, arrow.source) in ways
            shaft = self._shaft(arrow, before[arrow.source, arrow.target], is_mutual=is_mutual)
            before[arrow.source, arrow.target] += 1
            drawn = _told(arrow.words, "".join(self._arrow(arrow, shaft)))
            arrows.append((self._whose(arrow.source, arrow.owner), drawn))
            labels.append(self._label(arrow, shaft, taken))
        yield from self._linked(arrows)
        if not self.is_full:
            yield "".join(labels)

    def _counts(self) -> Iterator[str]:
        """Yield the numbers of arrows that are not drawn: at the lower edge of a square, beside a disc."""
        by_target: dict[str, dict[Sign, list[Arrow]]] = {}
        for arrow in self.counted:
            by_target.setdefault(arrow.target, {}).setdefault(self.kinds[arrow.kind].sign, []).append(arrow)
        for target, by_sign in by_target.items():
            spot = self.spots[target]
            counts = " ".join(f"{COUNTED[sign]}{len(arrows)}" for sign, arrows in by_sign.items())
            arrows = [arrow for of_sign in by_sign.values() for arrow in of_sign]
            size = 10.0 if spot.is_disc else max(6.0, min(10.0, spot.half * 0.4))
            x, y = spot.at
            at = (x - spot.half * 0.8, y - spot.half * 0.6) if spot.is_disc else (x, y + spot.half * 0.66)
            yield _told("; ".join(_few_words(arrows)), word(counts, at, "m a w", size))

    def _shaft(self, arrow: Arrow, before: int, *, is_mutual: bool) -> Shaft:
        """Return where an arrow runs; `before` counts the arrows that run the same way already.

        It bends around discs in its way, and towards the middle of the board unless another one comes back.
        """
        to = self.spots[arrow.target]
        at = self.spots.get(arrow.source or "")
        start = (to.at[0] - to.half - 8, to.at[1] - to.half - 8) if at is None else at.at
        first = 0.0 if at is None else at.half + 1 if at.is_disc else at.half * 0.62
        last = to.half + 2 if to.is_disc else to.half * 0.5
        if abs(start[1] - to.at[1]) > abs(start[0] - to.at[0]):  # what stands below a disc stays readable
            first += 0 if at is None or start[1] > to.at[1] else LINE * len(at.below)
        size = max(0.45, min(1.2, min(to.wide, to.high) / 44)) * (0.6 if self.is_full else 1)
        bend = max(0.14 if to.is_disc else 0.07, self._around(arrow, start, to.at)) + 0.13 * before
        (x0, y0), (x1, y1), (x, y) = start, to.at, self.middle
        is_outwards = (2 * x - x0 - x1) * (y1 - y0) < (2 * y - y0 - y1) * (x1 - x0)
        bend = -bend if is_outwards and not is_mutual else bend
        kind, texts = self.kinds[arrow.kind].sign, [self._box(to, k) for k in range(len(to.below))]
        while True:
            shaft = Shaft(start, to.at, first, last, size, kind, bend)
            if last >= shaft.long / 2 or not any(_overlap((*shaft.tip, *shaft.tip), box) for box in texts):
                return shaft
            last += LINE / 2

    def _around(self, arrow: Arrow, start: Point, end: Point) -> float:
        """Return how far an arrow is to be bent at least so that it passes the discs in its way."""
        shaft = Shaft(start, end, 0, 0, 1, "harm")
        ends = {arrow.source, arrow.target}
        discs = (spot for spot in self.spots.values() if spot.is_disc and spot.place.name not in ends)
        return max(
            (1.25 * (spot.half + 6) / shaft.long for spot in discs if shaft.meets(spot.at, spot.half)),
            default=0,
        )

    def _arrow(self, arrow: Arrow, shaft: Shaft) -> Iterator[str]:
        """Yield an arrow: pale and crossed out if it failed, with a coin if it gives something."""
        ink = self._ink(arrow.owner, DARKEST if arrow.succeeded else 0) + (" c" if self.is_full else " b")
        yield shaft.draw(ink)
        if shaft.sign == "help":
            yield circle(ink, shaft.middle, 3.6 * shaft.size)
        if shaft.sign == "meet":
            yield circle(ink, shaft.tip, 5 * shaft.size)
        if not arrow.succeeded:
            yield cross(shaft.tip, 4 * shaft.size)
        if arrow.source not in self.spots:
            yield word(self._look(arrow.owner).mark, (shaft.start[0], shaft.start[1] + 3), "m a", 9)

    def _label(self, arrow: Arrow, shaft: Shaft, taken: list[Box]) -> str:
        """Return what stands beside an arrow, where nothing is written yet; nothing if there is no room."""
        text = fit_text(arrow.label, 130)
        half = _long(text) / 2
        places = [(away * shaft.size, share) for away in (9, -9) for share in LABEL_PLACES]
        for away, share in places if text else ():
            (x, y), (sx, sy) = shaft.point(share), shaft.side
            x, y = min(max(x + away * sx, half), WIDTH - half), y + away * sy + 3
            box = x - half, y - LINE + 2, x + half, y + 2
            if box[1] > self.top and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                return word(text, (x, y), "m a w")
        return ""

    def _box(self, spot: _Spot, k: int) -> Box:
        """Return the box of a line of text below a disc."""
        half = min(_long(spot.below[k]), spot.wide) / 2
        base = spot.at[1] + spot.half + 10 + LINE * k
        return spot.at[0] - half, base - LINE + 2, spot.at[0] + half, base + 2

    def _figures(self, top: float) -> tuple[list[str], float]:
        """Return the rows of figures, and where they end."""
        bars, goal = self.board.bars[:MAX_BARS], self.board.goal
        if not bars:
            return [], top
        most = max([1, goal or 0, *(bar.figure for bar in bars)])
        parts = [word(fit_text(self.board.measure, 90), (AMOUNTS, top + 8), "e q")]
        end = top + 12 + ROW * len(bars)
        if goal is not None:
            x = BARS + MAX_BAR_LENGTH * goal / most
            parts += [word(f"goal {short(goal)}", (x, top + 8), "e q"), path("n", (x, top + LINE), "V#", end)]
        parts += self._linked(
            (self._whose(bar.label, bar.owner), self._bar(bar, top + 12 + ROW * k, most))
            for k, bar in enumerate(bars)
        )
        if rest := len(self.board.bars) - len(bars):
            parts.append(word(f"and {rest} more", (MARGIN, end + 10), "q"))
            end += ROW
        return parts, end

    def _bar(self, bar: Bar, top: float, most: int) -> str:
        """Return one row of figures."""
        base, long = top + 11, MAX_BAR_LENGTH * max(bar.figure, 0) / most
        change = f"{'+' * (bar.change > 0)}{short(bar.change)}" if bar.change else ""
        cells = [
            rectangle(self._ink(bar.owner, 2), (MARGIN, top + 1), 13, 13),
            word(self._look(bar.owner).mark, (MARGIN + 6.5, base), "m d"),
            word(fit_text(bar.label, BARS - MARGIN - 19), (MARGIN + 17, base)),
            rectangle(f"{self._ink(bar.owner, DARKEST)} b", (BARS, top + 3), long, 9),
            word(short(bar.figure), (AMOUNTS, base), "e w"),
            word(change, (AMOUNTS + 4, base), "q"),
            word(fit_text(bar.note, WIDTH - MARGIN - NOTES), (NOTES, base)),
        ]
        words = f"{bar.label}: {bar.figure} {self.board.measure} ({bar.change:+})"
        return _told(f"{words}, {bar.note}" if bar.note else words, "".join(cells))

    def _legend(self, top: float) -> tuple[list[str], float]:
        """Return what each sign that occurs means, and where the legend ends."""
        badges = {badge.kind for spot in self.spots.values() for badge in spot.place.badges}
        on_discs = {b.kind for spot in self.spots.values() if spot.is_disc for b in spot.place.badges}
        there = badges | {arrow.kind for arrow in self.arrows}
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
        for sign_ in dict.fromkeys(self.kinds[arrow.kind].sign for arrow in self.counted):
            of_sign = {arrow.kind for arrow in self.counted if self.kinds[arrow.kind].sign == sign_}
            meanings = "; ".join(kind.meaning for kind in self.board.kinds if kind.name in of_sign)
            which = "that failed, not drawn" if self.arrows else "not drawn"
            rows.append((word(f"{COUNTED[sign_]}3", (14, 3), "m w"), f"three of these, {which}: {meanings}"))
        if not all(arrow.succeeded for arrow in self.arrows):
            rows.append((cross((14, 0), 4), "pale and crossed out: it failed"))
        parts = []
        for key, meaning in rows:
            lines = wrap(meaning, 66)
            parts.append(f'<g transform="translate(0 {number(top + 8)})">{key}</g>')
            parts += [
                word(escape_foreign(line), (30, top + LINE + 12 * k), "q") for k, line in enumerate(lines)
            ]
            top += ROW + 12 * (len(lines) - 1)
        return parts, top


def _long(text: str) -> float:
    """Return about how long a text of a board is, if it is bold."""
    return len(text) * 10 * LETTER * BOLD


def _overlap(one: Box, other: Box) -> bool:
    """Return whether two boxes overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _told(words: str, drawn: str) -> str:
    """Return what is drawn with its words, for those who cannot see it."""
    return f'<g role="img"><title>{escape_foreign(words)}</title>{drawn}</g>'


def _key(kind: Kind, *, is_on_disc: bool) -> str:  # noqa: PLR0911  one for each sign
    """Return the sign of a kind as it stands in the legend, around a height of 0."""
    corner: Point = (8, -6)
    match kind.sign:
        case "harm" | "help" | "meet":
            shaft = Shaft((4, 0), (27, 0), 0, 2, 0.8, kind.sign)
            at = {"help": shaft.middle, "meet": shaft.tip}.get(kind.sign)
            return shaft.draw("g") + (circle("g", at, 3.4) if at else "")
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
