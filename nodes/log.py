"""log: write the turn's record down and add it to the chain of digests."""

from hobbes.engine.digest import link
from hobbes.nodes.journal import Journal, Logged
from hobbes.nodes.turn_cache import TurnCache
from hobbes.nodes.turn_state import TurnState, between_turns


def log(cache: TurnCache, journal: Journal, state: TurnState) -> TurnState:
    """Close the turn: write its record, move on to the next state, and empty the channels of the turn."""
    resolved, record = state["resolved"], cache.record.of(state["resolved"]["record"])
    digest = link(state["digest"], record)
    journal.turn(Logged(state["turn"], record, digest, resolved["ledgers"]))
    return between_turns(
        {
            "turn": state["turn"] + 1,
            "world": resolved["record"]["state"],
            "memories": resolved["record"]["memories"],
            "digest": digest,
            "over": resolved["over"],
        }
    )
