"""The facet `Picture` of a world: its state as rows of words, and what happened in a turn as a board."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeAlias, TypeVar

from hobbes.engine.board import Board, Place, numbers
from hobbes.engine.measures import PlayedTurn

S = TypeVar("S")
I = TypeVar("I")  # noqa: E741  a world's intent, next to its state S

Rows: TypeAlias = Sequence[Sequence[str]]
"""A state for people: rows of short words."""


def rows_of(state: Any) -> Rows:  # noqa: ANN401  a world's own state
    """Return what the fields of a state hold: a row for each agent, after a row for each other field."""
    agents = state.setting.agents
    values = {field.name: getattr(state, field.name) for field in fields(state) if field.name != "setting"}
    by_agent = {
        name: value
        for name, value in values.items()
        if isinstance(value, Mapping) and value.keys() == {*agents}
    }
    others = [[name, str(value)] for name, value in values.items() if name not in by_agent]
    of_agents = [[agent, *(str(value[agent]) for value in by_agent.values())] for agent in agents]
    return [*others, ["agent", *by_agent], *of_agents]


@dataclass(frozen=True, slots=True)
class Picture(Generic[S, I]):
    """How the state of a world is shown to people. A world without a board is shown by its rows.

    rows(state)         the state as rows of short words, by default what its fields hold
    in_picture(agents)  the word by which the rows show an agent, where it is not its name
    board(played)       what happened in a turn, as shapes to draw (`engine.board`)
    """

    rows: Callable[[S], Rows] = rows_of
    in_picture: Callable[[tuple[str, ...]], Mapping[str, str]] = lambda _: {}
    board: Callable[[PlayedTurn[S, I]], Board] | None = None

    def board_of(self, played: PlayedTurn[S, I]) -> Board:
        """Return the board of a turn: the world's own, or else one that is made from its rows."""
        if self.board is not None:
            return self.board(played)
        before: Any = played.before
        agents = before.setting.agents
        return of_picture(f"turn {before.turn}", agents, self.rows(played.after), self.in_picture(agents))


MAX_WORD_LENGTH = 24
"""How many letters of a word of a picture have room on a board."""


def of_picture(
    title: str,
    agents: tuple[str, ...],
    picture: Rows,
    in_picture: Mapping[str, str],
    *,
    numbered: bool = False,
) -> Board:
    """Return the board of a world that has none of its own: its picture after the turn, word by word.

    `in_picture` has the word by which the picture shows an agent, where it is not its name. A `numbered`
    board has the numbers of its columns above it and those of its rows on its left; its rows are higher, so
    that they have room for their words.
    """
    shown = {in_picture.get(agent, agent): agent for agent in agents}
    columns = max(map(len, picture), default=0)
    wide = min(max((len(word) for row in picture for word in row), default=1), MAX_WORD_LENGTH) / 3 + 1
    left, top, tall = (wide, 1.6, 1.6) if numbered else (0.0, 0.0, 1.0)

    def place(r: int, c: int, word: str, words: str, owner: str | None = None) -> Place:
        x, y = left + (c + 0.5) * wide, top + (r + 0.5) * tall
        return Place(f"{r},{c}", x, y, wide, tall, words=words, owner=owner, shape="bare", text=word)

    places = [
        place(r, c, word, f"row {r}, column {c}: {word}" if numbered else word, shown.get(word))
        for r, row in enumerate(picture)
        for c, word in enumerate(row)
    ]
    if numbered:
        places += numbers(len(picture), columns, (left, top), (wide, tall))
    return Board(
        title, agents, max(left + columns * wide, 1), max(top + len(picture) * tall, 1), tuple(places)
    )
