"""mining: each agent's gold after a round as a sum that can be checked by hand."""

from collections.abc import Iterator

from hobbes.engine.arithmetic import Line, as_sum
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.mining.state import State
from hobbes.engine.mining.validation import Intent


def arithmetic(played: PlayedTurn[State, Intent]) -> dict[str, dict[str, str]]:
    """Return each agent's gold as a sum: what it had, what each plot gave, what taxes took and paid.

    Source: docs/rules/mining.md#arithmetic-of-gold.
    """
    return {
        agent: {"gold": as_sum((("before", gold), *_gold_changes(played, agent)))}
        for agent, gold in played.before.gold.items()
    }


def _gold_changes(played: PlayedTurn[State, Intent], agent: str) -> Iterator[Line]:
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
