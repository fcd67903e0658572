"""A stored run as the values of its world, which measures and pages read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.memory import Memory
from engine.reflection import REPORTS
from engine.world import Played
from lab.errors import MissingError
from lab.store.database import LoggedTurn, Run, Store


def history(store: Store, run: Run) -> list[Played[Any, Any]]:
    """Return the turns of a run as the values of its world."""
    played = []
    before = first_of(run)
    for turn in store.turns(run.id):
        played.append(played_turn(run, before, turn))
        before = _carried(run, turn.turn, played[-1].after)
    return played


def _carried(run: Run, turn: int, after: Any) -> Any:  # noqa: ANN401  a world's own state
    """Return the state after a turn as the next turn begins with it, under the setting of that turn."""
    if not any(one.until == turn + 1 for one in run.earlier):
        return after
    return run.world.load(run.at(turn + 1).setting, run.world.state.to_json(after))


def played_turn(run: Run, before: Any, turn: LoggedTurn) -> Played[Any, Any]:  # noqa: ANN401  a world's own state
    """Return a stored turn as the values of its world; `before` is the state at its start."""
    world, record = run.world, turn.record
    return Played(
        before,
        intents={agent: world.intent.from_json(intent) for agent, intent in record.intents.items()},
        after=world.load(run.at(turn.turn).setting, record.state),
        events=record.events,
        draws=record.draws,
    )


def scores(
    store: Store, run: Run, turns: Iterable[int] | None = None
) -> Iterator[tuple[int, Mapping[str, int]]]:
    """Yield each stored turn's number with the scores after it; of all turns, or of those that are named."""
    found = store.turns(run.id) if turns is None else (logged(store, run, number) for number in turns)
    for turn in found:
        yield turn.turn, run.world.scores(run.world.load(run.at(turn.turn).setting, turn.record.state))


def logged(store: Store, run: Run, number: int) -> LoggedTurn:
    """Return a stored turn; raise MissingError, with the turns that there are, if there is no such turn."""
    turn = next(store.turns(run.id, number), None) if 0 <= number < run.turns else None
    if turn is None or turn.turn != number:
        there = f"it has turns 0 to {run.turns - 1}" if run.turns else "it has none yet"
        raise MissingError(f"run {run.id} has no turn {number}; {there}")
    return turn


def first_of(run: Run) -> Any:  # noqa: ANN401  a world's own state
    """Return the world's state before the first turn."""
    setting = run.at(0).setting
    return run.world.setup(setting.config, setting.agents, setting.seed)


def state_before(store: Store, run: Run, number: int) -> Any:  # noqa: ANN401  a world's own state
    """Return the world's state at the start of a turn."""
    if number == 0:
        return first_of(run)
    return run.world.load(run.at(number).setting, logged(store, run, number - 1).record.state)


def memories_before(store: Store, run: Run, number: int) -> Mapping[str, Memory]:
    """Return each agent's memory at the start of a turn, without agents that have none yet."""
    return logged(store, run, number - 1).record.memories if number else {}


def reports(turn: LoggedTurn) -> dict[str, dict[str, Mapping[str, int]]]:
    """Return the current reports after a turn: kind to rater to ratee to a rating from 1 to 10."""
    memories = turn.record.memories.items()
    return {
        kind: {rater: given for rater, memory in memories if (given := getattr(memory, kind))}
        for kind in REPORTS
    }
