"""`hobbes trace`: a run, a turn, or one agent's turn as a card."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from engine.reflection import REPORTS
from engine.world import OBSERVER
from lab.errors import LabError, UsageError
from lab.history import played_turn
from lab.records import Decision, Records, Run, Turn
from nodes.journal import Call
from nodes.reading import deciding
from nodes.state import EMPTY_MIND

Card = dict[str, Any]

NOTHING: Card = {
    **{part: [] for part in ("agents", "events", "draws")},
    **{part: {} for part in ("ledgers", "sums", "reports")},
    **dict.fromkeys(("observer", "digest")),
}
"""What there is of a turn that has not ended."""

Sums = Mapping[str, Mapping[str, str]]
"""Each agent's figures, each as a sum."""


def overview(records: Records, run: Run) -> list[Card]:
    """Give a line a turn: how its calls ended, what was refused or changed, what happened.

    The last may be a turn that has calls and has not ended: it has no digest.
    """
    decided: dict[int, list[Decision]] = {}
    for decision in records.decisions(run.id):
        decided.setdefault(decision.turn, []).append(decision)
    turns = {turn.turn: turn for turn in records.turns(run.id)}
    return [
        _line(number, turns.get(number), decided.get(number, [])) for number in sorted({*turns, *decided})
    ]


def _line(number: int, turn: Turn | None, decided: list[Decision]) -> Card:
    """Give the line of a turn, or of one that has not ended."""
    record = turn.record if turn else {"drops": [], "mends": [], "events": []}
    return {
        "turn": number,
        "outcomes": dict(Counter(decision.outcome for decision in decided)),
        "failures": sum(decision.nobodys for decision in decided),
        "drops": dict(Counter(drop["code"] for drop in record["drops"])),
        "mends": dict(Counter(mend["code"] for mend in record["mends"])),
        "events": dict(Counter(event["type"] for event in record["events"])),
        "digest": turn.digest if turn else None,
    }


def turn_card(records: Records, run: Run, number: int) -> Card:
    """Give a turn: each agent's card, then what happened to all; while it has not ended, its calls alone."""
    if number == run.turns and (begun := _all_ended(records, run, number)):
        return {"run": run.id, "turn": number, **NOTHING, "calls": begun}
    turn = logged(records, run, number)
    sums = _sums(records, run, turn)
    return {
        "run": run.id,
        "turn": number,
        "agents": [_agent_card(records, run, turn, agent, sums) for agent in turn.record["intents"]],
        "calls": _all_ended(records, run, number),
        "observer": observer_card(records, run, number),
        "events": turn.record["events"],
        "draws": turn.record["draws"],
        "ledgers": turn.ledgers,
        "sums": sums,
        "reports": reports(turn),
        "digest": turn.digest,
    }


def _all_ended(records: Records, run: Run, number: int) -> dict[str, list[Card]]:
    """Give how each call of a turn ended, by whose it was."""
    found = records.attempts(run.id, number).items()
    return {who: [_ended(call) for call in calls] for who, calls in found}


def agent_card(records: Records, run: Run, number: int, agent: str) -> Card:
    """Give all that is known of one agent's turn, or of the observer's; while it has not ended, its calls."""
    if number == run.turns and (begun := _call_card(records, run, number, agent)):
        return {**begun, "drops": [], "mends": []}
    if agent == OBSERVER and (ruled := observer_card(records, run, number)):
        return ruled
    turn = logged(records, run, number)
    return _agent_card(records, run, turn, agent, _sums(records, run, turn))


def _call_card(records: Records, run: Run, number: int, agent: str) -> Card | None:
    """Give the call that counts for one agent, or for the observer, with all attempts; None: nobody asked."""
    attempts = records.attempts(run.id, number, agent).get(agent, [])
    call = deciding(attempts)
    if call is None:
        return None
    address = {"run": run.id, "turn": number, "agent": agent}
    return {**address, **_told(call), "attempts": [_ended(attempt) for attempt in attempts]}


def _agent_card(records: Records, run: Run, turn: Turn, agent: str, sums: Sums) -> Card:
    """Give an agent's card of a turn whose sums are known."""
    number = turn.turn
    if agent not in turn.record["intents"]:
        raise UsageError(
            f"{agent!r} did not act in turn {number}; these did: {', '.join(turn.record['intents'])}"
        )
    called = _call_card(records, run, number, agent)
    if called is None:
        raise LabError(f"run {run.id} has no answer of {agent} in turn {number}: its record is damaged")
    before = _minds_before(records, run, number).get(agent, EMPTY_MIND)
    return {
        **called,
        "saw": _view(records, run, turn, agent),
        "intent": turn.record["intents"][agent],
        **{part: [e for e in turn.record[part] if e["agent"] == agent] for part in ("drops", "mends")},
        "events": list(_about(turn.record["events"], agent)),
        "draws": [draw for draw in turn.record["draws"] if agent in draw["participants"]],
        "sums": sums.get(agent, {}),
        "mind_before": before,
        "mind_after": turn.record["minds"][agent],
    }


def observer_card(records: Records, run: Run, number: int) -> Card | None:
    """Give what an observer who is asked was asked and said in a turn; None where nobody was."""
    turn = logged(records, run, number)
    called = _call_card(records, run, number, OBSERVER)
    if called is None:
        return None
    return {
        **called,
        "saw": json.loads(called["prompt"]),
        **{part: [e for e in turn.record[part] if e["agent"] == OBSERVER] for part in ("drops", "mends")},
        "rulings": {
            unit: intent["ruling"] for unit, intent in turn.record["intents"].items() if intent["ruling"]
        },
    }


def changed_in_mind(card: Card) -> Card:
    """Give of an agent's card what changed in its mind."""
    return {key: now for key, now in card["mind_after"].items() if now != card["mind_before"][key]}


def all_calls(card: Card) -> list[Card]:
    """Give of a turn's card the calls in one list, each with whose it was."""
    return [{"who": who, **call} for who, calls in card["calls"].items() for call in calls]


def _sums(records: Records, run: Run, turn: Turn) -> Sums:
    """Give each agent's figures after a turn, each as a sum that a hand can check."""
    return run.world.sums(played_turn(run, state_before(records, run, turn.turn), turn))


def reports(turn: Turn) -> Mapping[str, Mapping[str, Mapping[str, int]]]:
    """Give the reports that stand after a turn: kind, rater, ratee, 1 to 10."""
    return {
        kind: {rater: mind[kind] for rater, mind in turn.record["minds"].items() if mind[kind]}
        for kind in REPORTS
    }


def logged(records: Records, run: Run, number: int) -> Turn:
    """Give a logged turn; UsageError says which there are."""
    turn = next(records.turns(run.id, number), None) if 0 <= number < run.turns else None
    if turn is None or turn.turn != number:
        there = f"it has turns 0 to {run.turns - 1}" if run.turns else "it has none yet"
        raise UsageError(f"run {run.id} has no turn {number}; {there}")
    return turn


def _told(call: Call) -> Card:
    """Give what is known of a call."""
    reply = call.reply
    return {
        "attempt": call.address.attempt,
        "outcome": call.outcome,
        "stage": call.stage,
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
    """Give how one attempt ended, whether it counted or not."""
    return {
        "attempt": call.address.attempt,
        "question": call.question,
        "tries": call.reply.tries,
        "outcome": call.outcome,
        "model": call.reply.model,
        "milliseconds": call.reply.milliseconds,
        "error": call.reply.error,
    }


def state_before(records: Records, run: Run, number: int) -> Any:  # noqa: ANN401  a world's own state
    """Give the world's state at the start of a turn."""
    if number == 0:
        return run.world.setup(run.setting.config, run.setting.agents, run.setting.seed)
    return run.world.load(run.setting, logged(records, run, number - 1).record["state"])


def _view(records: Records, run: Run, turn: Turn, agent: str) -> Mapping[str, Any]:
    """Give what an agent saw; worked out again, since a view is a function of the state."""
    return run.world.observe(state_before(records, run, turn.turn), agent)


def _minds_before(records: Records, run: Run, number: int) -> Mapping[str, Any]:
    """Give everyone's mind at the start of a turn."""
    minds: Mapping[str, Any] = logged(records, run, number - 1).record["minds"] if number else {}
    return minds


def _about(events: list[dict[str, Any]], agent: str) -> Iterator[dict[str, Any]]:
    """Pick the events that name an agent in any of their fields."""
    return (event for event in events if agent in event.values())
