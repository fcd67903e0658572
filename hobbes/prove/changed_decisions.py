"""`hobbes replay --reread`: what today's reading and rules make of each recorded answer.

Each turn starts from its recorded state, so a change of one turn is not reported again in all later ones.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hobbes.engine.record import canonical
from hobbes.engine.turn import TurnRecord, play_turn
from hobbes.engine.world import OBSERVER
from hobbes.errors import HobbesError
from hobbes.prove.recorded_calls import counted_answer
from hobbes.store.history import memories_before, state_before
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.turns import LoggedTurn


class Changed(NamedTuple):
    """A decision that today's reading and rules change: both of its forms, as `decision` gives them."""

    turn: int
    agent: str
    then: dict[str, Any]
    now: dict[str, Any]

    @property
    def parts(self) -> list[str]:
        """What of it changes: `outcome`, `intent`, `drops`, `mends`."""
        return [part for part in self.then if canonical(self.then[part]) != canonical(self.now[part])]


class Reread(NamedTuple):
    """What today's code makes of the recorded answers of a run."""

    decisions: list[Changed]
    effects: list[int]
    """The turns in which no decision changes, but what the decisions lead to."""


def reread(store: Store, run: Run) -> Reread:
    """Read, validate and resolve all recorded answers with today's code.

    Raise HobbesError where that is impossible: the state of an earlier version cannot be read, or an answer
    is missing.
    """
    decisions: list[Changed] = []
    effects: list[int] = []
    for turn in store.turns.of(run):
        try:
            now = _record_now(store, run, turn)
        except (ValueError, LookupError) as error:
            raise HobbesError(
                f"run {run.label}, turn {turn.turn} cannot be read by the current code: "
                f"{type(error).__name__} {error}"
            ) from error
        agents = sorted({*turn.record.intents, *now.intents, OBSERVER})
        forms = ((agent, decision(turn.record, agent), decision(now, agent)) for agent in agents)
        changed = [one for form in forms if (one := Changed(turn.turn, *form)).parts]
        decisions += changed
        then, today = turn.record.to_json(), now.to_json()
        if not changed and any(
            canonical(then[part]) != canonical(today[part]) for part in ("state", "events", "draws")
        ):
            effects.append(turn.turn)
    return Reread(decisions, effects)


def _record_now(store: Store, run: Run, turn: LoggedTurn) -> TurnRecord:
    """Return the record that the answers of a turn have with today's code."""
    world, number = run.world, turn.turn
    state, memories = state_before(store, run, number), memories_before(store, run, number)
    attempts = store.calls.attempts(run.id, number).items()
    parsed = {agent: counted_answer(world, state, agent, calls) for agent, calls in attempts}
    answers = {agent: parsed[agent] for agent in world.actors(state)}
    return play_turn(world, state, memories, answers, parsed.get(OBSERVER)).record


def decision(record: TurnRecord, agent: str) -> dict[str, Any]:
    """Return the decision of an agent in a turn, as plain JSON."""
    fields: Mapping[str, Any] = record.to_json()
    of_agent = {part: [one for one in fields[part] if one["agent"] == agent] for part in ("drops", "mends")}
    return {"outcome": fields["outcomes"].get(agent), "intent": fields["intents"].get(agent), **of_agent}
