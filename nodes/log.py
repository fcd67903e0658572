"""log: what is remembered, the turn's record, and its link in the chain of digests."""

from collections import Counter
from typing import Any

from nodes.journal import Journal, TurnRecord, link
from nodes.state import EMPTY_MIND, PASSING, TurnState, Update

LASTING = ("memory", "history_summary", "keeps_word_report", "aggressor_report")
"""Parts of a mind that stay until they are given anew: a lost answer erases nothing."""


def remember(mind: dict[str, Any], reflection: dict[str, Any]) -> dict[str, Any]:
    """Give the mind after a turn. The last summary is of that turn only: not given, it is empty."""
    kept = {part: reflection[part] or mind[part] for part in LASTING}
    return {**kept, "last_summary": reflection["summary_last_turn"]}


def log(journal: Journal, state: TurnState) -> Update:
    """Close the turn: minds, record, digest; the channels that live inside a turn are emptied."""
    resolved = state["resolved"]
    minds = dict(state["minds"])
    for agent, intent in state["intents"].items():
        minds[agent] = remember(minds.get(agent, EMPTY_MIND), intent["reflection"])
    record = {
        "state": resolved["state"],
        "intents": state["intents"],
        "drops": state["drops"],
        "mends": state["mends"],
        "events": resolved["events"],
        "draws": resolved["draws"],
        "minds": minds,
    }
    digest = link(state["digest"], record)
    journal.turn(TurnRecord(state["turn"], record, digest, resolved["ledgers"]))
    ended = Counter(answer["outcome"] for answer in state["answers"].values())
    return {
        **PASSING,
        "turn": state["turn"] + 1,
        "world": resolved["state"],
        "minds": minds,
        "digest": digest,
        "outcomes": dict(Counter(state["outcomes"]) + ended),
        "over": resolved["over"],
    }
