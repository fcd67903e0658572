"""Luck by name.

Every draw is named by (seed, turn, subject, event) and by nothing else: adding or removing one draw moves
no other, and two runs with the same seed share all their luck (mining seed, `rng_and_reproducibility`).
"""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256, shake_256
from struct import unpack
from typing import TypeVar

from engine.record import Draw, Json

T = TypeVar("T")

_text = json.JSONEncoder(separators=(",", ":")).encode


def chance(seed: int, turn: int, subject: Json, event: str) -> str:
    """Give the digest (64 hexadecimal digits) that decides what has this name."""
    return sha256(_text([seed, turn, subject, event]).encode()).hexdigest()


def draw(seed: int, turn: int, subject: Json, event: str, participants: Iterable[str]) -> Draw:
    """Pick one of the participants, by index among them sorted by name."""
    names = tuple(sorted(participants))
    digest = chance(seed, turn, subject, event)
    return Draw(event, subject, names, digest, names[int(digest, 16) % len(names)])


def happens(seed: int, turn: int, subject: Json, event: str, percent: int) -> Draw:
    """Draw whether something happens: the winner is `yes` with a probability of `percent` in a hundred."""
    digest = chance(seed, turn, subject, event)
    return Draw(event, subject, ("no", "yes"), digest, "yes" if int(digest, 16) % 100 < percent else "no")


class Luck:
    """One agent's own luck in one turn: the draws whose subject is the agent, each named by its event."""

    def __init__(self, seed: int, turn: int, agent: str) -> None:
        self.agent = agent
        # The canonical text of a name up to its event, written once.
        self._stem = _text([seed, turn, agent])[:-1] + ","

    def _name(self, event: str) -> bytes:
        return f"{self._stem}{_text(event)}]".encode()

    def below(self, bound: int, event: str) -> int:
        """Give a whole number from 0 to bound - 1: the digest of this name, as `chance` gives it, modulo."""
        return int(sha256(self._name(event)).hexdigest(), 16) % bound

    def happens(self, share: float, event: str) -> bool:
        """Tell whether something with this probability happens."""
        return self.below(1_000_000, event) < share * 1_000_000

    def pick(self, options: Sequence[T], event: str) -> T:
        """Pick one of the options."""
        return options[self.below(len(options), event)]

    def shuffled(self, items: Sequence[T], event: str) -> list[T]:
        """Give the items in an order of their own: one digest, as long as needed, gives each its place."""
        digest = shake_256(self._name(event)).digest(8 * len(items))
        places = unpack(f">{len(items)}Q", digest)
        return [items[i] for i in sorted(range(len(items)), key=places.__getitem__)]
