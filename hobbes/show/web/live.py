"""What happens now in a run that is being played: whose answers are awaited, and which have arrived.

It is read from the run database, in which whoever plays a run stores each answer as it arrives.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hobbes.nodes.reading import deciding
from hobbes.store.history import state_before
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run


@dataclass(frozen=True, slots=True)
class Arrived:
    """An answer of the turn that is being played; `words` are its reasoning, or else the raw answer."""

    agent: str
    outcome: str
    seconds: float
    words: str


@dataclass(frozen=True, slots=True)
class Now:
    """The turn of a run that is being played: who is still thinking, and the answers so far."""

    thinking: Sequence[str]
    arrived: Sequence[Arrived]


def now_in(store: Store, run: Run) -> Now:
    """Return what happens now in a run. Raise DamagedError if its last turn is damaged."""
    calls = store.calls.attempts(run.id, run.turns)
    counting = {agent: call for agent, attempts in calls.items() if (call := deciding(attempts))}
    arrived = [
        Arrived(
            agent, call.outcome, call.reply.milliseconds / 1000, call.reply.reasoning or call.reply.text or ""
        )
        for agent, call in counting.items()
    ]
    actors = run.world.actors(state_before(store, run, run.turns))
    return Now([agent for agent in actors if agent not in counting], arrived)
