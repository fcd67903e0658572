"""A stored run as the values of its world, which measures and pages read."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hobbes.engine.measures import PlayedTurn
from hobbes.engine.memory import Memory
from hobbes.engine.record import JsonObject
from hobbes.engine.reflection import REPORTS
from hobbes.engine.turn import answer_fields
from hobbes.errors import DamagedError, MissingError
from hobbes.nodes.reading import read
from hobbes.store.checked_rows import damage_error
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.turns import LoggedTurn


class TurnStart(NamedTuple):
    """What a turn starts with."""

    state: Any
    """The world's state."""
    memories: Mapping[str, Memory]


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """The turns of a run as the values of its world. Each is read from the database when it is asked for."""

    store: Store
    run: Run

    def __len__(self) -> int:
        """The number of the turns."""
        return self.run.turns

    def __iter__(self) -> Iterator[PlayedTurn[Any, Any]]:
        """Yield the turns; raise DamagedError at a damaged one."""
        before = first_of(self.run)
        for turn in self.store.turns.of(self.run):
            played = played_turn(self.run, before, turn)
            yield played
            before, following = played.after, turn.turn + 1
            if any(one.until == following for one in self.run.earlier):  # a fork goes on in its own way
                before = load_state(self.run, turn.turn, turn.record.state, following)


def played_turn(run: Run, before: Any, turn: LoggedTurn) -> PlayedTurn[Any, Any]:  # noqa: ANN401  a world's own state
    """Return a stored turn as the values of its world; `before` is the state at its start."""
    record = turn.record
    after = load_state(run, turn.turn, record.state)
    return PlayedTurn(before, intents_of(run, turn), after, record.events, record.draws)


def load_state(run: Run, turn: int, state: JsonObject, at: int | None = None) -> Any:  # noqa: ANN401  a world's own state
    """Return the state after a turn from its JSON, under the setting of that turn or `at` the next one.

    Raise DamagedError if it cannot be read.
    """
    try:
        return run.world.state.load(run.at(turn if at is None else at).setting, state)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _damage(run, turn, "state", error) from error


def intents_of(run: Run, turn: LoggedTurn) -> dict[str, Any]:
    """Return the intents of a stored turn; raise DamagedError if they cannot be read."""
    try:
        return {agent: run.world.intent.from_json(told) for agent, told in turn.record.intents.items()}
    except ValueError as error:
        raise _damage(run, turn.turn, "intents", error) from error


def _damage(run: Run, turn: int, part: str, error: Exception) -> DamagedError:
    where = f", turn {turn}"
    return damage_error(run.id, where, f"the {part} in the column turns.record is damaged: {error}")


def stored_turn(store: Store, run: Run, number: int) -> LoggedTurn:
    """Return a stored turn; raise MissingError, with the turns that there are, if there is no such turn."""
    if not 0 <= number < run.turns:
        raise missing_turn(run, number)
    (turn,) = store.turns.of(run, number, number)
    return turn


def missing_turn(run: Run, number: int) -> MissingError:
    """Return the error for a turn that a run does not have, with the turns that it has."""
    there = f"it has turns 0 to {run.turns - 1}" if run.turns else "it has none yet"
    return MissingError(f"run {run.label} has no turn {number}; {there}")


def first_of(run: Run) -> Any:  # noqa: ANN401  a world's own state
    """Return the world's state before the first turn."""
    setting = run.at(0).setting
    return run.world.setup(setting.config, setting.agents, setting.seed)


def state_before(store: Store, run: Run, number: int) -> Any:  # noqa: ANN401  a world's own state
    """Return the world's state at the start of a turn."""
    if number == 0:
        return first_of(run)
    before = stored_turn(store, run, number - 1)
    return load_state(run, before.turn, before.record.state, number)


def memories_before(store: Store, run: Run, number: int) -> Mapping[str, Memory]:
    """Return each agent's memory at the start of a turn, without agents that have none yet."""
    return stored_turn(store, run, number - 1).record.memories if number else {}


def past_turns(
    store: Store, run: str, agent: str, before: int
) -> Iterator[tuple[JsonObject, JsonObject | None]]:
    """Yield what an agent was shown in each turn before one, and its answer as it was read.

    The answer is None if the call failed.
    """
    stored_run = store.runs.find(run)
    for turn in range(before):
        fields = answer_fields(stored_run.world, stored_run.at(turn).setting, agent)
        for call in store.calls.of_turn(run, turn, agent):
            yield json.loads(store.calls.views_sent(run, turn)[agent]), read(agent, call.reply, fields).said


def reports(turn: LoggedTurn) -> dict[str, dict[str, Mapping[str, int]]]:
    """Return the current reports after a turn: kind to rater to ratee to a rating from 1 to 10."""
    memories = turn.record.memories.items()
    return {
        kind: {rater: given for rater, memory in memories if (given := getattr(memory, kind))}
        for kind in REPORTS
    }
