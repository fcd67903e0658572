"""What happens now in runs that are being played: whose answers are awaited, and which have arrived.

It is read from the run database, in which whoever plays a run stores each answer as it arrives.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool

from hobbes.nodes.reading import deciding
from hobbes.show.palette import Looks, looks_now
from hobbes.store.history import state_before
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

SECONDS = 0.4
"""How often it is looked whether an answer has arrived."""


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

    run: Run
    looks: Looks
    thinking: Sequence[str]
    arrived: Sequence[Arrived]


def now_in(store: Store, run: Run) -> Now:
    """Return what happens now in a run. Raise DamagedError if its last turn is damaged."""
    state = state_before(store, run, run.turns)
    calls = store.calls.attempts(run.id, run.turns)
    counting = {agent: call for agent, attempts in calls.items() if (call := deciding(attempts))}
    arrived = [
        Arrived(
            agent, call.outcome, call.reply.milliseconds / 1000, call.reply.reasoning or call.reply.text or ""
        )
        for agent, call in counting.items()
    ]
    thinking = [agent for agent in run.world.actors(state) if agent not in counting]
    return Now(run, looks_now(run, state), thinking, arrived)


Shown = tuple[str, object]
"""The page's part that tells of the runs that are played, empty if none is, and what differs at each turn."""


async def events(show: Callable[[], Shown]) -> AsyncIterator[str]:
    """Yield what a page tells as server-sent events: whenever it differs, after a turn, and at the end."""
    shown: Shown | None = None
    while True:
        now = await run_in_threadpool(show)
        if shown is not None and now[1] != shown[1]:
            yield "event: turn\ndata:\n\n"
        if not now[0]:
            yield "event: over\ndata:\n\n"
            return
        if now != shown:
            yield "".join(f"data: {line}\n" for line in now[0].splitlines()) + "\n"
        shown = now
        await asyncio.sleep(SECONDS)
