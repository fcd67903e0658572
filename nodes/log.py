"""log: the turn's record is written down, and becomes a link in the chain of digests."""

from engine.turn import link
from nodes.journal import Journal
from nodes.present import Present
from nodes.state import PASSING, TurnState, Update


def log(present: Present, journal: Journal, state: TurnState) -> Update:
    """Close the turn: write its record, and empty the channels that live inside a turn."""
    resolved, record = state["resolved"], present.record(state)
    digest = link(state["digest"], record)
    journal.turn(state["turn"], record, digest, resolved["ledgers"])
    return {
        **PASSING,
        "turn": state["turn"] + 1,
        "world": resolved["record"]["state"],
        "memories": resolved["record"]["memories"],
        "digest": digest,
        "over": resolved["over"],
    }
