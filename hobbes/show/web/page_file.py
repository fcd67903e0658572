"""A run as one page in a file: its own page, and a sheet for each turn and for each card.

An address in the file shows one sheet, also without the script. What stands on several is held once.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import ClassVar
from urllib.parse import quote

from markupsafe import Markup

from hobbes.engine.telling import counted
from hobbes.show.moving_board import Shapes
from hobbes.show.web.run_pages import RunPages

LONG = 800
"""How many characters a text, a table or a map has at least that is held once."""

_PIECE = re.compile(rf"<(pre|table|figure)(?=[ >])(?:(?!</\1>).){{{LONG},}}</\1>", re.DOTALL)


def address(_run: str = "", *place: object, **_query: object) -> str:
    """Return where a turn or a card is in the file; the page of the run has no name there."""
    return f"#{_name(*place)}" if place else ""


def _name(*place: object) -> str:
    """Return the name of a place; agents' names are quoted."""
    return "-".join(quote(str(part), safe="") for part in place)


class _Once:
    """What a page holds once: what it has already is a link to it, or a reference if it is a shape."""

    def __init__(self) -> None:
        self._shapes = Shapes()
        self._links: dict[str, str] = {}

    def __call__(self, html: str, place: str, where: str) -> str:
        """Return the sheet of a place; `where` says to readers which it is."""

        def piece(found: re.Match[str]) -> str:
            if found[0] in self._links:
                return self._links[found[0]]
            name = f"t{len(self._links)}"
            link = f'<a href="#{place}" data-same="{name}">the same as in {escape(where)}</a>'
            self._links[found[0]] = f"<p>{link}</p>"
            return found[0].replace(f"<{found[1]}", f'<{found[1]} id="{name}"', 1)

        return self._shapes.once(_PIECE.sub(piece, html))


@dataclass(frozen=True)
class PageFile(RunPages):
    """The pages of a run as one page, with these turns and their cards; the last may not have ended."""

    turns: Sequence[int]
    link: ClassVar[Callable[..., str]] = staticmethod(address)
    live: ClassVar[bool] = False

    @cached_property
    def _once(self) -> _Once:
        return _Once()

    @cached_property
    def _turns(self) -> Mapping[str, list[int]]:
        there = super()._turns
        return {agent: [turn for turn in turns if turn in self.turns] for agent, turns in there.items()}

    def _fill(self, name: str, *words: object, **values: object) -> str:
        """Return a page about the run, which says how much of it the file has, unless it has all."""
        more = {"has_turn": self.turns.__contains__, "left_out": () if self._has_all else (self._part,)}
        return super()._fill(name, *words, **more, **values)

    @property
    def _has_all(self) -> bool:
        return len(self.turns) >= self.run.turns

    @property
    def _part(self) -> str:
        """Say which part of the run the file has."""
        first, last = self.turns[0], self.turns[-1]
        turns = f"{len(self.turns)} of {counted(self.run.turns, 'turn')}, from turn {first} to turn {last}"
        return f"This file has {turns}. The story, the graph and the figures are of the whole run."

    def sheets(self, turn: int) -> Iterator[str]:
        """Yield the sheet of a turn that has ended, and those of its cards."""
        if turn < self.run.turns:
            moment = Markup(self.moment(turn))  # noqa: S704  a template's
            drawn = self._fill("turn.html", number=turn, turns=self.turns, moment=moment)
            yield self._sheet(drawn, f"turn {turn}", turn)
        for agent in self._asked_in(turn):
            yield self._sheet(self.card(turn, agent), f"the card of {agent} in turn {turn}", turn, agent)

    def _sheet(self, inside: str, where: str, *place: object) -> str:
        """Return a turn or a card as what is shown while the address names its place."""
        name = _name(*place)
        return f'<section class="sheet" id="{name}">\n{self._once(inside, name, where)}</section>\n'

    def whole(self, sheets: Sequence[str]) -> str:
        """Return the page: that of the run, at the first of the turns if it has not all, and the sheets."""
        return self.at_a_turn(None if self._has_all else self.turns[0], sheets)
