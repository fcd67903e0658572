"""Games written as plays: each unit's sats, what the units say, and what follows.

`said("attack b")` is an answer that attacks b, and `said("beg 5 for bread")` one that begs for 5 sats.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hobbes.engine.chance import happens
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.record import JsonObject
from hobbes.engine.trust.state import State
from hobbes.engine.trust.validation import Intent
from hobbes.engine.trust.world import TRUST
from hobbes.engine.world import Resolved, Validated, make_setting
from tests import turns


def game(seed: int = 1, turn: int = 0, *, sats: Mapping[str, int] | None = None, **config: Any) -> State:
    """Set up a game of the units in `sats`, without misses unless the config has some."""
    held = {"a": 50, "b": 50} if sats is None else sats
    settled = make_setting(TRUST, list(held), seed, {"miss": 0, **config})
    state = TRUST.setup(settled.config, settled.agents, settled.seed)
    units = tuple(replace(u, sats=held[u.id], alive=held[u.id] > 0) for u in state.units)
    return replace(state, units=units, turn=turn)


def said(line: str) -> JsonObject:
    """Return the answer that a line stands for."""
    action, _, rest = line.partition(" ")
    if action == "beg":
        amount, _, reason = rest.partition(" for ")
        return {"action": "beg", "amount": int(amount), "reason": reason}
    if action == "send":
        amount, _, target = rest.partition(" to ")
        return {"action": "send", "amount": int(amount), "target": target}
    return {"action": action, "target": rest} if rest else {"action": action}


@dataclass(frozen=True)
class Round:
    """One round: the state before it, the validated answers, and the resolved turn."""

    before: State
    validated: Mapping[str, Validated[Intent]]
    resolved: Resolved[State]

    @property
    def after(self) -> State:
        return self.resolved.state

    @property
    def sats(self) -> dict[str, int]:
        return {unit.id: unit.sats for unit in self.after.units}

    @property
    def codes(self) -> list[str]:
        return [drop.code for found in self.validated.values() for drop in found.drops]

    def events(self, *types: str) -> list[JsonObject]:
        return [event.to_json() for event in self.resolved.events if event.type in types]

    @property
    def played(self) -> PlayedTurn[State, Intent]:
        intents = {unit: found.intent for unit, found in self.validated.items()}
        return PlayedTurn(self.before, intents, self.after, self.resolved.events, self.resolved.draws)


def play(state: State, **lines: str | JsonObject | None) -> Round:
    """Play one round. A unit that is not named gives no answer. The argument `a_2` is the unit a-2."""
    answers = {
        name.replace("_", "-"): said(line) if isinstance(line, str) else line for name, line in lines.items()
    }
    turn = turns.play(TRUST, state, answers)
    return Round(state, turns.validated(turn), turn.resolved)


def play_on(state: State, *rounds: Mapping[str, Any]) -> list[Round]:
    played: list[Round] = []
    for lines in rounds:
        played.append(play(state, **lines))
        state = played[-1].after
    return played


def match(one: str, other: str, seed: int, **config: Any) -> list[State]:
    """Play a game of two policies; return the state after each round."""
    setting = make_setting(TRUST, TRUST.names(2), seed, config)
    start = TRUST.setup(setting.config, setting.agents, setting.seed)
    return [played.resolved.state for played in turns.play_policies(TRUST, start, (one, other))]


def seed_where(percent: int, event: str, turn: int = 0, **decided: bool) -> int:
    """Return a seed with which an event happens to the units marked True and not to the others."""
    return next(
        seed
        for seed in range(10_000)
        if all(
            (happens(seed, turn, unit, event, percent).winner == "yes") == wanted
            for unit, wanted in decided.items()
        )
    )
