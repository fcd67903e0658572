"""mining: each agent's gold after a round as a sum that a hand can check."""

from collections.abc import Iterator

from engine.mining.state import State
from engine.mining.validation import Intent
from engine.sums import Line, arithmetic
from engine.world import Played


def sums(played: Played[State, Intent]) -> dict[str, dict[str, str]]:
    """Write how each agent's gold came about: what it had, what each plot gave, what it paid and was paid."""
    return {
        agent: {"gold": arithmetic((("before", gold), *_booked(played, agent)))}
        for agent, gold in played.before.gold.items()
    }


def _booked(played: Played[State, Intent], agent: str) -> Iterator[Line]:
    """Give what was booked for an agent."""
    for event in played.events:
        amount, plot = event.facts.get("gold"), event.facts.get("plot")
        if not isinstance(amount, int):
            continue
        if event.type == "mine" and event.agent == agent:
            yield f"plot {plot}", amount
        elif event.type == "tax":
            if event.agent == agent:
                yield f"tax to {event.facts['to']}", -amount
            if event.facts["to"] == agent:
                yield f"tax from {event.agent}", amount
