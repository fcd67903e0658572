"""Luck by name.

Every draw is named by (seed, turn, subject, event) and by nothing else: adding or removing one draw moves
no other, and two runs with the same seed share all their luck (mining seed, `rng_and_reproducibility`).
"""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TypeVar

from engine.record import Draw, Json

T = TypeVar("T")


def chance(seed: int, turn: int, subject: Json, event: str) -> str:
    """Give the digest (64 hexadecimal digits) that decides what has this name."""
    return sha256(json.dumps([seed, turn, subject, event], separators=(",", ":")).encode()).hexdigest()


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
    """One agent's own luck in one turn, for policies: each use names what it decides."""

    def __init__(self, seed: int, turn: int, agent: str) -> None:
        self._prefix = f"{seed}/{turn}/{agent}/"

    def below(self, bound: int, event: str) -> int:
        """Give a whole number from 0 to bound - 1."""
        return int.from_bytes(sha256((self._prefix + event).encode()).digest()[:8], "big") % bound

    def happens(self, share: float, event: str) -> bool:
        """Tell whether something with this probability happens."""
        return self.below(1_000_000, event) < share * 1_000_000

    def pick(self, options: Sequence[T], event: str) -> T:
        """Pick one of the options."""
        return options[self.below(len(options), event)]

    def shuffled(self, items: Sequence[T], event: str) -> list[T]:
        """Give the items in an order of their own."""
        return [items[i] for i in sorted(range(len(items)), key=lambda i: self.below(2**62, f"{event}/{i}"))]
