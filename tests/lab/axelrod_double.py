"""A stand-in for the Axelrod library, which is large and slow to import: as much of it as hobbes uses."""

from collections.abc import Iterator
from enum import Enum
from types import SimpleNamespace
from typing import Any, ClassVar


class Action(Enum):
    """What a player does."""

    C = "C"
    D = "D"

    @classmethod
    def from_char(cls, letter: str) -> "Action":
        return cls(letter)


class Player:
    """A player that remembers what both did."""

    classifier: ClassVar[dict[str, bool]] = dict.fromkeys(
        ("inspects_source", "manipulates_source", "manipulates_state", "long_run_time"), False
    )

    def __init__(self) -> None:
        self.history: list[Action] = []
        self.told: dict[str, Any] = {}

    def set_match_attributes(self, **told: Any) -> None:
        self.told = told

    def set_seed(self, seed: int) -> None:
        self.seed = seed

    def update_history(self, play: Action, _: Action) -> None:
        self.history.append(play)


class TitForTat(Player):
    def strategy(self, other: Player) -> Action:
        return other.history[-1] if other.history else Action.C


class Alternator(Player):
    """Counts its own calls, so it goes wrong if a history is not played again."""

    def strategy(self, _: Player) -> Action:
        self.calls = getattr(self, "calls", -1) + 1
        return Action.D if self.calls % 2 else Action.C


class Seeded(Player):
    def strategy(self, _: Player) -> Action:
        return Action.D if self.seed >> len(self.history) & 1 else Action.C


class MindReader(TitForTat):
    classifier: ClassVar[dict[str, bool]] = {**Player.classifier, "inspects_source": True}


class Extortioner(TitForTat):
    def set_match_attributes(self, **told: Any) -> None:
        raise ValueError(f"{told['game']} will not do")


def library(*others: str) -> Any:
    """Return the library, with further strategies of these names, which play tit for tat."""
    strategies = [TitForTat, Alternator, Seeded, MindReader, Extortioner, *_more(others)]
    return SimpleNamespace(Action=Action, Cooperator=Player, Game=dict, strategies=strategies)


def _more(names: tuple[str, ...]) -> Iterator[type[Player]]:
    yield from (type(name, (TitForTat,), {}) for name in names if name != "TitForTat")
