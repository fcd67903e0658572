"""`hobbes trace`: a run, a turn, or one agent's turn as a card."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from hobbes.engine.board import Board
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.memory import EMPTY_MEMORY, Memory
from hobbes.engine.names import did_you_mean
from hobbes.engine.telling import counted
from hobbes.engine.turn import question_of
from hobbes.engine.world import OBSERVER
from hobbes.errors import HobbesError, MissingError
from hobbes.nodes.journal import Call, ReasoningSource, sent_only_view
from hobbes.nodes.reading import deciding
from hobbes.prove.word_diff import CHANGE, whole_word_diff
from hobbes.show.terminal import cell_of_json, json_lines, percent, tokens_text
from hobbes.store.calls import Decision
from hobbes.store.checked_rows import damage_error
from hobbes.store.history import memories_before, played_turn, reports, state_before, stored_turn
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.turns import LoggedTurn

MAX_SHOWN = 20_000
"""How many characters of an answer or of a reasoning a card shows to people."""

FAILED, REJECTED, CORRECTED = "failed call", "rejection", "correction"
"""What goes wrong in every world: events besides those that its readers look for."""

Card = dict[str, Any]

NOTHING: Card = {
    **{part: [] for part in ("agents", "events", "draws")},
    **{part: {} for part in ("ledgers", "arithmetic", "reports")},
    **dict.fromkeys(("observer", "digest")),
}
"""What is known of a turn that has not ended."""


def overview(store: Store, run: Run) -> list[Card]:
    """Return one line per turn: outcomes of calls, rejections, corrections and events, each counted.

    The last line may be of a turn that has calls and has not ended: it has no digest. Raise DamagedError at a
    damaged turn.
    """
    decided = defaultdict[int, list[Decision]](list)
    for decision in store.calls.decisions(run.id):
        decided[decision.turn].append(decision)
    ended = [_line(turn.turn, decided.pop(turn.turn, []), turn) for turn in store.turns.of(run)]
    return [*ended, *(_line(number, decided[number]) for number in sorted(decided))]


class Headline(NamedTuple):
    """What is said of a run before all else: how far it is, its tokens, and what went wrong."""

    state: str
    """Its status, its turns and, if it has finished, how the game ended."""
    tokens: str
    """Empty if none are known; programs use none."""
    failures: Mapping[str, Any]
    """As `Calls.failures` returns them."""
    went_wrong: Sequence[tuple[str, int, str]]
    """The event of what went wrong, how often, and that in words; corrections only if there are any."""


def headline(store: Store, run: Run) -> Headline:
    """Return what is said of a run before all else."""
    failures, row, tokens = store.calls.failures(run.id), store.runs.row(run.id), store.figures.tokens(run)
    parts = row if run.status == "finished" else store.turns.counts(run.id)
    numbers = {FAILED: failures["total"], REJECTED: parts["rejected"], CORRECTED: parts["corrected"]}
    share = f" ({percent(failures['share'])})"
    went_wrong = [
        (event, n, f"{counted(n, event)}{share * (event == FAILED)}" if n else f"no {event}s")
        for event, n in numbers.items()
        if n or event != CORRECTED
    ]
    ended = f": {row['ending']}" if row["ending"] else ""
    state = f"{run.status}, {counted(run.turns, 'turn')}{ended}"
    return Headline(state, tokens_text(tokens) if tokens["in"] or tokens["out"] else "", failures, went_wrong)


def check_names(run: Run, names: Collection[str], agents: Iterable[str]) -> None:
    """Raise MissingError if one of these agents is not among the names of a run."""
    for agent in agents:
        if agent not in names:
            near = did_you_mean(agent, names, f"choose from: {', '.join(sorted(names))}")
            raise MissingError(f"nobody in run {run.label} is called {agent!r}{near}")


def named_in(event: Mapping[str, Any], names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the others whom an event, or its facts alone, names: the field, and the name in it."""
    for role, other in event.items():
        if isinstance(other, str) and other in names and role not in {"type", "agent"}:
            yield role, other


def details(event: Mapping[str, Any], names: Collection[str]) -> str:
    """Return what an event says besides its type and agent, in one line; all but names is JSON."""
    facts = {key: value for key, value in event.items() if key not in {"type", "agent"}}
    named = {key for key, _ in named_in(event, names)}
    words = {key: facts[key] if key in named else json.dumps(facts[key], ensure_ascii=False) for key in facts}
    return ", ".join(f"{key} {told}" for key, told in words.items())


def counts(numbers: Mapping[str, int]) -> str:
    """Return counts in one line."""
    return ", ".join(f"{name} {number}" for name, number in numbers.items())


def _line(number: int, decisions: Sequence[Decision], turn: LoggedTurn | None = None) -> Card:
    drops, mends, events = (
        (turn.record.drops, turn.record.mends, turn.record.events) if turn else ((), (), ())
    )
    return {
        "turn": number,
        "outcomes": dict(Counter(decision.outcome for decision in decisions)),
        "failures": sum(decision.failed for decision in decisions),
        "drops": dict(Counter(drop.code for drop in drops)),
        "mends": dict(Counter(mend.code for mend in mends)),
        "events": dict(Counter(event.type for event in events)),
        "digest": turn.digest if turn else None,
    }


@dataclass(frozen=True, slots=True)
class FullTurn:
    """A completed turn with what is known from the turn before it, and each agent's figures after it."""

    turn: LoggedTurn
    played: PlayedTurn[Any, Any]
    memories: Mapping[str, Memory]
    arithmetic: Mapping[str, Mapping[str, str]]
    """Each agent's figures, each written as a sum."""


def full_turn(store: Store, run: Run, number: int) -> FullTurn | None:
    """Return a completed turn; None if it has not ended, but has calls.

    Raise MissingError if there is no such turn, DamagedError if it is damaged.
    """
    if number == run.turns and store.calls.attempts(run.id, number):
        return None
    turn = stored_turn(store, run, number)
    played = played_turn(run, state_before(store, run, number), turn)
    return FullTurn(turn, played, memories_before(store, run, number), run.world.measures.arithmetic(played))


def board_in(run: Run, full: FullTurn | None) -> Board | None:
    """Return the board of a completed turn; None if the turn has not ended."""
    return None if full is None else run.world.picture.board_of(full.played)


def turn_card(store: Store, run: Run, number: int, full: FullTurn | None) -> Card:
    """Return a turn: each agent's card, then what happened to all. Before its end, its calls only.

    `full` is what `full_turn` returns of it.
    """
    attempts = store.calls.attempts(run.id, number).items()
    calls = {agent: [_attempt_json(call) for call in of_agent] for agent, of_agent in attempts}
    if full is None:
        return {"run": run.id, "turn": number, **NOTHING, "calls": calls}
    record = full.turn.record.to_json()
    return {
        "run": run.id,
        "turn": number,
        "agents": [agent_card(store, run, number, agent, full) for agent in full.turn.record.intents],
        "calls": calls,
        "observer": agent_card(store, run, number, OBSERVER, full) if OBSERVER in calls else None,
        "events": record["events"],
        "draws": record["draws"],
        "ledgers": full.turn.ledgers,
        "arithmetic": full.arithmetic,
        "reports": reports(full.turn),
        "digest": full.turn.digest,
    }


def agent_card(store: Store, run: Run, number: int, agent: str, full: FullTurn | None) -> Card:
    """Return all that is known of one agent's turn, or of the observer's; without a record, its calls.

    `full` is what `full_turn` returns of the turn.
    """
    attempts = store.calls.attempts(run.id, number, agent).get(agent, [])
    call = deciding(attempts)
    if call is None or (full and agent not in {*full.turn.record.intents, OBSERVER}):
        raise _no_card(run, number, agent, full)
    called = _call_json(run, call, attempts)
    if full is None:
        return {**called, "drops": [], "mends": []}
    record = full.turn.record
    refused = {
        "drops": [drop.to_json() for drop in record.drops if drop.agent == agent],
        "mends": [mend.to_json() for mend in record.mends if mend.agent == agent],
    }
    if agent == OBSERVER and run.world.observer:
        asked = question_of(run.world, full.played.before, full.played.intents)
        rulings = run.world.observer.ruled(full.played.intents)
        return {**called, "view": asked, **refused, "rulings": rulings}
    return {
        **called,
        "view": run.world.observe(full.played.before, agent),
        "intent": record.intents[agent],
        **refused,
        "events": [fields for event in record.events if agent in (fields := event.to_json()).values()],
        "draws": [draw.to_json() for draw in record.draws if agent in draw.participants],
        "arithmetic": full.arithmetic.get(agent, {}),
        "memory_before": full.memories.get(agent, EMPTY_MEMORY).to_json(),
        "memory_after": record.memories[agent].to_json(),
    }


def _no_card(run: Run, number: int, agent: str, full: FullTurn | None) -> HobbesError:
    """Return the error for an agent that has no card in a turn."""
    if full is None:
        return MissingError(f"there is no call of {agent!r} in turn {number} of run {run.label}")
    acted = full.turn.record.intents
    if agent not in acted:
        there = did_you_mean(agent, acted, f"these did: {', '.join(acted)}")
        return MissingError(f"{agent!r} did not act in turn {number}{there}")
    return damage_error(run.id, f", turn {number}, {agent}", "the table calls has no call that counts")


def _call_json(run: Run, call: Call, attempts: Sequence[Call]) -> Card:
    """Return what is known of a call that counts, and how each attempt ended."""
    reply, details = call.reply, call.reply.details
    return {
        "run": run.id,
        "turn": call.address.turn,
        "agent": call.address.agent,
        "attempt": call.address.attempt,
        "outcome": call.outcome,
        "found_as": call.found_as,
        "model": reply.model,
        "system": call.prompt.system,
        "prompt": call.prompt.turn,
        "answer": reply.text,
        "reasoning": reply.reasoning,
        "reasoning_source": reply.reasoning_source,
        "error": reply.error,
        "tokens": {
            "in": reply.tokens_in,
            "out": reply.tokens_out,
            "cached": details.tokens_cached,
            "cache_written": details.tokens_cache_written,
            "reasoning": details.tokens_reasoning,
        },
        "provider": {
            "finish_reason": details.finish_reason,
            "service_tier": details.service_tier,
            "fingerprint": details.fingerprint,
            "id": details.provider_id,
            "usd": details.provider_usd,
            "usage": None if details.usage is None else json.loads(details.usage),
        },
        "milliseconds": reply.milliseconds,
        "attempts": [_attempt_json(attempt) for attempt in attempts],
    }


REFUSED = ("kind", "stage", "code", "said", "kept", "detail")
"""The columns of what was rejected and corrected in one answer."""


def refused_rows(card: Card) -> list[tuple[object, ...]]:
    """Return what was rejected and corrected in the answer of a card as the rows of a table."""
    kinds = [*((REJECTED, one) for one in card["drops"]), *((CORRECTED, one) for one in card["mends"])]
    return [(kind, *(cell_of_json(one.get(column)) for column in REFUSED[1:])) for kind, one in kinds]


REASONING_SOURCES: Mapping[str, str] = {
    ReasoningSource.NONE: "",
    ReasoningSource.TRACE: "the model's own reasoning",
    ReasoningSource.SUMMARY: "the provider's summary of the model's reasoning",
    ReasoningSource.ANSWER: "from the answer",
}
"""What people are told of where a reasoning comes from."""


def beginning(text: str) -> str:
    """Return a text for people: all of it, or its first characters and how many more there are."""
    more = len(text) - MAX_SHOWN
    return text if more <= 0 else f"{text[:MAX_SHOWN]}\n… and {more:,} more characters; --json prints all"


def for_people(card: Card) -> Card:
    """Return the card of a call with as much of its answer and its reasoning as is shown to people."""
    return {**card, "answer": beginning(card["answer"]), "reasoning": beginning(card["reasoning"])}


def by_field(turn: str) -> str:
    """Return the text of a turn with its view, which is a line of JSON, in lines of one field each."""
    return "\n".join(map(_fields, turn.split("\n")))


def _fields(line: str) -> str:
    try:
        value = json.loads(line)
    except ValueError:
        return line
    return json_lines(value) if isinstance(value, Mapping) else line


Pieces: TypeAlias = list[tuple[CHANGE, str]]
"""A word diff."""


def new_words(was: str | None, now: str) -> Pieces:
    """Return the text of a turn by field, as a word diff from an earlier one without what is gone."""
    if was is None:
        return [(" ", by_field(now))]
    return [piece for piece in whole_word_diff(by_field(was), by_field(now)) if piece[0] != "-"]


def sent_to(card: Mapping[str, Any]) -> str:
    """Say of the card of a program that it was sent only its view; empty if a prompt was sent."""
    return "" if card["system"] else sent_only_view(card["model"])


def usage_line(card: Mapping[str, Any]) -> str:
    """Return the tokens of a call and what else its provider says about it, in one line."""
    tokens, provider = card["tokens"], card["provider"]
    cached = f" ({tokens['cached']} cached, {tokens['cache_written']} written to the cache)"
    has_cache = (tokens["cached"], tokens["cache_written"]) != (None, None)
    thought = "" if tokens["reasoning"] is None else f" ({tokens['reasoning']} reasoning)"
    counts = [f"{tokens['in']} tokens in{cached * has_cache}", f"{tokens['out']} tokens out{thought}"]
    said = [
        f"{name.replace('_', ' ')} {provider[name]}"
        for name in ("finish_reason", "service_tier", "fingerprint", "id")
        if provider[name]
    ]
    cost = [] if provider["usd"] is None else [f"${provider['usd']:.6g} by its provider's account"]
    return ", ".join(counts + said + cost)


def all_calls(card: Card) -> list[Card]:
    """Return the calls of a turn's card in one list, each with its agent."""
    return [{"agent": agent, **call} for agent, calls in card["calls"].items() for call in calls]


def _attempt_json(call: Call) -> Card:
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
