"""Strategies of the Axelrod library as players of trust: `policy:axelrod/NAME`.

The library is the extra `axelrod`, and slow to import. A strategy knows the iterated prisoner's dilemma only:
two players who cooperate or defect. What becomes of it in trust stands in docs/rules/trust.md#axelrod.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from hobbes.engine.chance import RngStream
from hobbes.engine.policy import LIBRARIES, Policy
from hobbes.engine.record import JsonObject
from hobbes.engine.world import AnyWorld, Setting
from hobbes.lab.errors import UsageError

if TYPE_CHECKING:
    from hobbes.engine.trust.policies import Sight

LIBRARY = "axelrod"

CHEATS = ("inspects_source", "manipulates_source", "manipulates_state", "long_run_time")
"""Marks of strategies that read or change the other player's program, or need very long."""

NOTES = re.compile("([0-9]+) ([CD]*) ([CD]*)")

GAME = {"r": 3, "s": -6, "t": 4, "p": 0}
"""The payoffs of trust that a strategy is told of. Source: docs/rules/trust.md#axelrod."""


def strategy(name: str) -> Policy:
    """Return the policy of a strategy. The library is looked for when it is first asked.

    Source: docs/rules/trust.md#axelrod.
    """

    def policy(view: JsonObject, rng: RngStream) -> JsonObject:
        from hobbes.engine.trust.policies import Sight, attack, high_five  # noqa: PLC0415  a run imports its own world

        sight = Sight(view)
        if sight.may_replicate:
            return {"action": "replicate", "reasoning": "I can replicate, so I do."}
        seed, mine, theirs = _recalled(sight, rng)
        if _cooperates(kind_of(name), seed, mine, theirs):
            move = high_five(sight, f"{name} cooperates.")
        else:
            move = attack(sight, sight.partner, f"{name} defects.")
        return {**move, "notes": f"{seed} {mine} {theirs}"}

    policy.__doc__ = f"Play {name} of the Axelrod library."
    return policy


@cache
def kind_of(name: str) -> Any:  # noqa: ANN401  the library carries no types
    """Return the class of a strategy. Raise UsageError if there is none, or no library."""
    library = _library()
    known = {one.__name__: one for one in library.strategies if not any(one.classifier[c] for c in CHEATS)}
    if name not in known:
        near = get_close_matches(name, known, 3)
        hint = f"near it: {', '.join(near)}" if near else "axelrod.readthedocs.io lists all"
        raise UsageError(f"the Axelrod library has no strategy {name!r} that can play trust; {hint}")
    try:
        _player(known[name], 0)
    except ValueError as error:
        raise UsageError(
            f"the strategy {name!r} is not defined for the payoffs of trust; choose another one"
        ) from error
    return known[name]


def _player(kind: Any, seed: int) -> Any:  # noqa: ANN401
    """Return a player at the start of a game. Raise ValueError if the strategy does not know such payoffs."""
    player = kind()
    player.set_match_attributes(length=float("inf"), game=_library().Game(**GAME), noise=0)
    player.set_seed(seed)
    return player


def _library() -> Any:  # noqa: ANN401
    """Return the library. Raise UsageError if it is not installed."""
    try:
        import axelrod  # noqa: PLC0415  optional, and slow
    except ImportError as error:
        raise UsageError(
            f"policy:{LIBRARY}/NAME needs the Axelrod library; install it in the checkout: "
            "pip install -e '.[axelrod]'"
        ) from error
    return axelrod


def _recalled(sight: "Sight", rng: RngStream) -> tuple[int, str, str]:
    """Return the seed of a strategy and what both have done so far, as letters C and D, round by round.

    A unit counts its own deeds as it meant them. Only what it sees as an attack is a D of the other one.
    Older rounds stand in its notes.

    Source: docs/rules/trust.md#axelrod.
    """
    noted = NOTES.fullmatch(str(sight.memory.get("notes", "")))  # a fork may have the notes of another player
    seed, mine, theirs = noted.groups() if noted else ("", "", "")
    seen = {past["turn"]: past for past in sight.view["history"]}
    for turn in range(len(mine), sight.view["turn"]):
        past = seen.get(turn, {"you": None, "others": {}})
        own = past["you"][0] if past["you"] else ""
        mine += "D" if own.startswith("attack") else "C"
        theirs += "D" if any(did == "attack" for did, *_ in past["others"].values()) else "C"
    return int(seed) if seed else rng.below(2**31, LIBRARY), mine, theirs


def _cooperates(kind: Any, seed: int, mine: str, theirs: str) -> bool:  # noqa: ANN401
    """Return whether a strategy that has played a history cooperates next.

    It plays the history again to get there, because a policy remembers nothing but its notes.

    Source: docs/rules/trust.md#axelrod.
    """
    library = _library()
    player, other = _player(kind, seed), library.Cooperator()
    for own, of_other in zip(mine, theirs, strict=True):
        player.strategy(other)
        done, seen = (library.Action.from_char(letter) for letter in (own, of_other))
        player.update_history(done, seen)
        other.update_history(seen, done)
    return bool(player.strategy(other) == library.Action.C)


def check(world: AnyWorld, setting: Setting[Any], models: Mapping[str, str]) -> None:
    """Raise UsageError for a strategy that there is not, or a game that is not one of two units."""
    asked = [spec for spec in models.values() if spec.startswith(f"policy:{LIBRARY}/")]
    if asked and world.name != "trust":
        raise UsageError(f"{asked[0]} plays only trust")
    for spec in asked:
        kind_of(spec.partition("?")[0].partition("/")[2])
    if asked and (len(setting.agents) != 2 or setting.config.victory == "team"):  # noqa: PLR2004  a game of two
        raise UsageError(f"{asked[0]} plays only races of two; use 2 agents and victory=race")


LIBRARIES[LIBRARY] = strategy
