"""What followed an agent's turn: what the others in it had thought, and what came next."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from hobbes.engine.record import MESSAGE, Event
from hobbes.engine.telling import quoted
from hobbes.engine.turn import TurnRecord
from hobbes.show.diary import others_in, thought_of
from hobbes.show.narrative import EVERYBODY, by
from hobbes.show.trace import FullTurn, beginning
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

MAX_TURNS = 3
"""How many turns after an agent's are told."""

MAX_QUOTED = 200
"""How many characters of a message are quoted."""


class Aftermath(NamedTuple):
    """What followed an agent's turn; empty if it did nothing to others, nor they to it."""

    thoughts: Sequence[tuple[str, str]] = ()
    """The name and the thought of each agent on whom this one acted in the turn, or who acted on it."""
    turns: Sequence[tuple[int, str]] = ()
    """The next turns, each with what this agent and those others did and wrote to each other."""


def aftermath(store: Store, run: Run, full: FullTurn | None, agent: str) -> Aftermath:
    """Return what followed an agent's turn. Raise DamagedError at a damaged turn."""
    if full is None or not (others := had_to_do_with(run, full.turn.record, agent)):
        return Aftermath()
    turn, record = full.turn.turn, full.turn.record
    thoughts = [(other, thought_of(store, run, turn, record, other)[0]) for other in others]
    following = store.turns.of(run, turn + 1, turn + MAX_TURNS)
    return Aftermath(
        [(other, beginning(thought)) for other, thought in thoughts if thought],
        [
            (logged.turn, " · ".join(_between(run, logged.record, agent, others)) or "nothing between them")
            for logged in following
        ],
    )


def had_to_do_with(run: Run, record: TurnRecord, agent: str) -> list[str]:
    """Return the others on whom an agent acted in a turn, or who acted on it; to write is not to act."""
    deeds = [(one.agent, others_in(run, record, one)) for one in record.events if one.type != MESSAGE]
    acted_on = [other for one, others in deeds if one == agent for other in others]
    acted = [one for one, others in deeds if agent in others]
    return [other for other in dict.fromkeys([*acted_on, *acted]) if other != agent]


def _between(run: Run, record: TurnRecord, agent: str, others: Sequence[str]) -> list[str]:
    """Return what others did to an agent in a turn and the agent to them, then what they wrote each other."""
    did, wrote = list[str](), list[str]()
    for one, to in [*((other, [agent]) for other in others), (agent, others)]:
        events = [event for event in by(record.events, one) if _concerns(run, record, event, to)]
        if deeds := run.world.telling.deeds_told(events, record.events):
            did.append(f"{one} {'; '.join(deed.words for deed in deeds)}")
        wrote += [_wrote(event) for event in events if event.type == MESSAGE]
    return [*did, *wrote]


def _concerns(run: Run, record: TurnRecord, event: Event, others: Collection[str]) -> bool:
    """Return whether an event was done or written to one of these, or is a landmark that names nobody."""
    if event.type == MESSAGE:
        return event.facts.get("to", EVERYBODY) in {EVERYBODY, *others}
    if named := others_in(run, record, event):
        return any(other in others for other in named)
    return any(mark.is_at(event.to_json()) for mark in run.world.telling.landmarks)


def _wrote(message: Event) -> str:
    text = str(message.facts["text"])
    said = text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED].rstrip(' .…')}…"
    return f"{message.agent} wrote to {message.facts.get('to', EVERYBODY)}: {quoted(said)}"
