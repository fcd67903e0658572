"""`hobbes trace`: a run, a turn, or one agent's turn as a card."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from engine.memory import EMPTY_MEMORY
from engine.record import MESSAGE, Event, JsonObject
from engine.turn import question_of
from engine.world import OBSERVER
from lab.errors import LabError, MissingError
from lab.store.database import Decision, LoggedTurn, Run, Store
from lab.store.history import logged, memories_before, played_turn, reports, state_before
from nodes.journal import Call
from nodes.reading import deciding

Card = dict[str, Any]

NOTHING: Card = {
    **{part: [] for part in ("agents", "events", "draws")},
    **{part: {} for part in ("ledgers", "arithmetic", "reports")},
    **dict.fromkeys(("observer", "digest")),
}
"""What is known of a turn that has not ended."""

Arithmetic = Mapping[str, Mapping[str, str]]
"""Each agent's figures, each written as a sum."""


def overview(
    store: Store, run: Run, agents: Collection[str] = (), *, first: int = 0, most: int | None = None
) -> list[Card]:
    """Return one line per turn: outcomes of calls, rejections, corrections, events, and who did what to whom.

    The lines are those of `most` turns from the first; without them, of all. With agents, only their calls,
    and only the events that name one of them, are counted. The last line may be of a turn that has calls and
    has not ended: it has no digest.
    """
    names = names_in(store, run)
    return [_line(*each, names) for each in islice(turns_so_far(store, run, agents, first), most)]


def names_in(store: Store, run: Run) -> set[str]:
    """Return the names of all agents of a run, and of everybody else who was asked."""
    return {*run.setting.agents, *(decision.agent for decision in store.decisions(run.id))}


def turns_so_far(
    store: Store, run: Run, agents: Collection[str] = (), first: int = 0
) -> Iterator[tuple[int, LoggedTurn | None, list[Decision]]]:
    """Yield each turn's number from the first, its record (None before its end), and the calls that count.

    With agents, they are their calls, and the record holds only what is their own or names one of them.
    """
    decided: dict[int, list[Decision]] = {}
    for decision in store.decisions(run.id):
        if decision.turn >= first and (not agents or decision.agent in agents):
            decided.setdefault(decision.turn, []).append(decision)
    last = first - 1
    for turn in store.turns(run.id, first):
        last = turn.turn
        yield last, _of(turn, agents) if agents else turn, decided.get(last, [])
    yield from ((number, None, decided[number]) for number in sorted(decided) if number > last)


def _of(turn: LoggedTurn, agents: Collection[str]) -> LoggedTurn:
    """Return a turn with only those rejections, corrections and events that are of agents or name one."""
    record = turn.record
    only = replace(
        record,
        drops=tuple(drop for drop in record.drops if drop.agent in agents),
        mends=tuple(mend for mend in record.mends if mend.agent in agents),
        events=tuple(
            event for event in record.events if any(agent in event.to_json().values() for agent in agents)
        ),
    )
    return replace(turn, record=only)


class Deed(NamedTuple):
    """What one agent did to another."""

    type: str
    """The type of the event."""
    agent: str
    other: str
    role: str
    """The field of the event that names the other one, such as `target`."""
    result: str
    """What the event says in single words, such as `captured` or `blocked`."""


def deeds(events: Iterable[Event], names: Collection[str]) -> Counter[Deed]:
    """Return who did what to whom, and how often. Messages are not counted."""
    return Counter(
        Deed(event.type, event.agent, other, role, _words(event, names))
        for event in events
        if event.type != MESSAGE
        for role, other in event.facts.items()
        if isinstance(other, str) and other in names
    )


def _words(event: Event, names: Collection[str]) -> str:
    """Return what an event says in single words: the result of a raid, or that an attack was blocked."""
    told = event.facts.items()
    words = [value for _, value in told if isinstance(value, str) and value.isalpha() and value not in names]
    return " ".join([*words, *(key for key, value in told if value is True)])


def _line(number: int, turn: LoggedTurn | None, decided: list[Decision], names: Collection[str]) -> Card:
    """Return the line of a turn, or of one that has not ended."""
    record = turn.record if turn else None
    done = deeds(record.events, names) if record else {}
    return {
        "turn": number,
        "outcomes": dict(Counter(decision.outcome for decision in decided)),
        "failures": sum(decision.failed for decision in decided),
        "drops": dict(Counter(drop.code for drop in record.drops)) if record else {},
        "mends": dict(Counter(mend.code for mend in record.mends)) if record else {},
        "events": dict(Counter(event.type for event in record.events)) if record else {},
        "deeds": [{**deed._asdict(), "times": times} for deed, times in done.items()],
        "digest": turn.digest if turn else None,
    }


def turn_card(store: Store, run: Run, number: int) -> Card:
    """Return a turn: each agent's card, then what happened to all. Before its end, its calls only."""
    if number == run.turns and (begun := _all_ended(store, run, number)):
        return {"run": run.id, "turn": number, **NOTHING, "calls": begun}
    turn = logged(store, run, number)
    arithmetic, told = _arithmetic(store, run, turn), turn.record.to_json()
    return {
        "run": run.id,
        "turn": number,
        "agents": [_agent_card(store, run, turn, agent, arithmetic) for agent in turn.record.intents],
        "calls": _all_ended(store, run, number),
        "observer": observer_card(store, run, number),
        "events": told["events"],
        "draws": told["draws"],
        "ledgers": turn.ledgers,
        "arithmetic": arithmetic,
        "reports": reports(turn),
        "digest": turn.digest,
    }


def _all_ended(store: Store, run: Run, number: int) -> dict[str, list[Card]]:
    """Return how each call of a turn ended, by agent."""
    found = store.attempts(run.id, number).items()
    return {agent: [_ended(call) for call in calls] for agent, calls in found}


def agent_card(store: Store, run: Run, number: int, agent: str) -> Card:
    """Return all that is known of one agent's turn, or of the observer's; before its end, the calls only."""
    if number == run.turns and (begun := _call_card(store, run, number, agent)):
        return {**begun, "drops": [], "mends": []}
    if agent == OBSERVER and (ruled := observer_card(store, run, number)):
        return ruled
    turn = logged(store, run, number)
    return _agent_card(store, run, turn, agent, _arithmetic(store, run, turn))


def _call_card(store: Store, run: Run, number: int, agent: str) -> Card | None:
    """Return the call that counts for one agent, or for the observer, with all attempts; None without one."""
    attempts = store.attempts(run.id, number, agent).get(agent, [])
    call = deciding(attempts)
    if call is None:
        return None
    address = {"run": run.id, "turn": number, "agent": agent}
    return {**address, **_told(call), "attempts": [_ended(attempt) for attempt in attempts]}


def _agent_card(store: Store, run: Run, turn: LoggedTurn, agent: str, arithmetic: Arithmetic) -> Card:
    """Return an agent's card of a turn."""
    number, record = turn.turn, turn.record
    if agent not in record.intents:
        raise MissingError(f"{agent!r} did not act in turn {number}; these did: {', '.join(record.intents)}")
    called = _call_card(store, run, number, agent)
    if called is None:
        raise LabError(f"run {run.id} has no answer of {agent} in turn {number}: its record is damaged")
    return {
        **called,
        "view": run.world.observe(state_before(store, run, number), agent),
        "intent": record.intents[agent],
        **_found(turn, agent),
        "events": list(_about([event.to_json() for event in record.events], agent)),
        "draws": [draw.to_json() for draw in record.draws if agent in draw.participants],
        "arithmetic": arithmetic.get(agent, {}),
        "memory_before": memories_before(store, run, number).get(agent, EMPTY_MEMORY).to_json(),
        "memory_after": record.memories[agent].to_json(),
    }


def observer_card(store: Store, run: Run, number: int) -> Card | None:
    """Return what an observer was asked in a turn and ruled; None if it was asked nothing."""
    turn = logged(store, run, number)
    called = _call_card(store, run, number, OBSERVER)
    if called is None or run.world.observer is None:
        return None
    intents = {agent: run.world.intent.from_json(intent) for agent, intent in turn.record.intents.items()}
    return {
        **called,
        "view": question_of(run.world, state_before(store, run, number), intents),
        **_found(turn, OBSERVER),
        "rulings": run.world.observer.ruled(intents),
    }


def _found(turn: LoggedTurn, agent: str) -> Card:
    """Return the rejections and corrections of one agent's answer."""
    return {
        "drops": [drop.to_json() for drop in turn.record.drops if drop.agent == agent],
        "mends": [mend.to_json() for mend in turn.record.mends if mend.agent == agent],
    }


def reasoning_of(card: Mapping[str, Any]) -> str:
    """Return the reasoning that came with a call, or else the reasoning in its answer."""
    reasoning: str = card["reasoning"] or card.get("intent", {}).get("reflection", {}).get("reasoning", "")
    return reasoning


def changed_in_memory(card: Card) -> Card:
    """Return what changed in the memory of an agent's card."""
    return {key: now for key, now in card["memory_after"].items() if now != card["memory_before"][key]}


def all_calls(card: Card) -> list[Card]:
    """Return the calls of a turn's card in one list, each with its agent."""
    return [{"agent": agent, **call} for agent, calls in card["calls"].items() for call in calls]


def _arithmetic(store: Store, run: Run, turn: LoggedTurn) -> Arithmetic:
    """Return each agent's figures after a turn, each as a sum to check by hand."""
    return run.world.arithmetic(played_turn(run, state_before(store, run, turn.turn), turn))


def _told(call: Call) -> Card:
    """Return what is known of a call."""
    reply = call.reply
    return {
        "attempt": call.address.attempt,
        "outcome": call.outcome,
        "found_as": call.found_as,
        "model": reply.model,
        "system": call.prompt.system,
        "prompt": call.prompt.turn,
        "answer": reply.text,
        "reasoning": reply.reasoning,
        "error": reply.error,
        "tokens": {"in": reply.tokens_in, "out": reply.tokens_out},
        "milliseconds": reply.milliseconds,
    }


def _ended(call: Call) -> Card:
    """Return how one attempt ended, whether it counted or not."""
    return {
        "attempt": call.address.attempt,
        "question": call.question,
        "tries": call.reply.tries,
        "outcome": call.outcome,
        "model": call.reply.model,
        "milliseconds": call.reply.milliseconds,
        "error": call.reply.error,
    }


def _about(events: list[JsonObject], agent: str) -> Iterator[JsonObject]:
    """Yield the events that name an agent in any of their fields."""
    return (event for event in events if agent in event.values())
