"""Random draws, keyed by seed, turn, subject and event.

A draw depends on its key and on nothing else. So adding or removing one draw changes no other, and two runs
with the same seed share all their draws (docs/rules/mining.md#independence-of-draws). There is no generator
whose state would have to be stored: a draw is a hash of its key.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from hashlib import sha256, shake_256
from struct import unpack
from typing import TypeVar

import orjson

from hobbes.engine.record import Draw, Json

T = TypeVar("T")

_as_python = json.JSONEncoder(separators=(",", ":")).encode


def _text(key: Json) -> bytes:
    """Return the text of a key, which is hashed: JSON in ASCII, as Python's json module writes it.

    orjson writes the same, several times as fast, unless a character is not plain. A key has no fractions.
    """
    try:
        quick = orjson.dumps(key)
    except orjson.JSONEncodeError:  # numbers of more than 64 bits, half characters
        return _as_python(key).encode()
    plain = quick.isascii() and b"\x7f" not in quick
    return quick if plain else _as_python(key).encode()


def chance(seed: int, turn: int, subject: Json, event: str) -> str:
    """Return the digest that decides the draw with this key: SHA-256 as 64 hexadecimal digits."""
    return sha256(_text([seed, turn, subject, event])).hexdigest()


def draw(seed: int, turn: int, subject: Json, event: str, participants: Iterable[str]) -> Draw:
    """Return a draw that picks one of the participants.

    The digest, modulo their number, is an index among them sorted by name (docs/rules/mining.md#draws).
    """
    names = tuple(sorted(participants))
    digest = chance(seed, turn, subject, event)
    return Draw(event, subject, names, digest, names[int(digest, 16) % len(names)])


def happens(seed: int, turn: int, subject: Json, event: str, percent: int) -> Draw:
    """Return a draw whose winner is `yes` with a probability of `percent` in a hundred, otherwise `no`."""
    digest = chance(seed, turn, subject, event)
    return Draw(event, subject, ("no", "yes"), digest, "yes" if int(digest, 16) % 100 < percent else "no")


@lru_cache(maxsize=4096)
def _end_of_key(event: str) -> bytes:
    """Return the canonical text of an event, which ends a key. Policies draw the same few each turn."""
    return _text(event) + b"]"


class RngStream:
    """The draws of one agent in one turn: the subject is the agent, and each has its own event.

    Scripted policies draw with it. Their draws are not recorded, since only the engine's draws decide a turn.
    With a `name`, the draws are independent of those without one and of those with another name.
    """

    def __init__(self, seed: int, turn: int, agent: str, name: str = "") -> None:
        self.agent = agent
        self._begins: list[Json] = [seed, turn, agent, name] if name else [seed, turn, agent]

    @cached_property
    def _stem(self) -> bytes:
        """The canonical text of a key up to its event, written once, and only if anything is drawn."""
        return _text(self._begins)[:-1] + b","

    def _key(self, event: str) -> bytes:
        return self._stem + _end_of_key(event)

    def below(self, bound: int, event: str) -> int:
        """Return a whole number from 0 to bound - 1: the digest of this key, modulo the bound."""
        return int.from_bytes(sha256(self._key(event)).digest(), "big") % bound

    def happens(self, share: float, event: str) -> bool:
        """Return whether an event with this probability (0 to 1) happens."""
        return self.below(1_000_000, event) < share * 1_000_000

    def pick(self, options: Sequence[T], event: str) -> T:
        """Return one of the options, all equally likely."""
        return options[self.below(len(options), event)]

    def shuffled(self, items: Sequence[T], event: str) -> list[T]:
        """Return the items in random order: one digest with 8 bytes per item, by which they are sorted."""
        digest = shake_256(self._key(event)).digest(8 * len(items))
        places = unpack(f">{len(items)}Q", digest)
        return [items[i] for i in sorted(range(len(items)), key=places.__getitem__)]
