"""mining: what a person may choose on the map of its view.

Source: docs/rules/mining.md#what-an-agent-may-say.
"""

from typing import Any, cast

from hobbes.engine.choices import Budget, Choice, Choices
from hobbes.engine.mining.actions import KINDS
from hobbes.engine.mining.state import MiningConfig
from hobbes.engine.mining.view import UNOWNED
from hobbes.engine.record import JsonObject


def choices(config: MiningConfig, view: JsonObject) -> Choices:
    """Return which plots each kind of action may name, and what the stamina pays for.

    Source: docs/rules/mining.md#ownership, docs/rules/mining.md#immune-and-unowned-targets,
    docs/rules/mining.md#repeats, docs/rules/mining.md#costs.
    """
    shown: dict[str, Any] = {**view}
    rows = cast("list[str]", shown["map"])
    owners = {f"{r} {c}": owner for r, row in enumerate(rows) for c, owner in enumerate(row.split())}
    own = tuple(f"{r} {c}" for r, c, _ in shown["your_plots"])
    free = tuple(plot for plot, owner in owners.items() if owner == UNOWNED)
    protected = {f"{r} {c}" for r, c, _ in shown.get("protected", ())}
    others = tuple(plot for plot in owners if plot not in {*own, *free, *protected})
    everyone = tuple(shown["plots_held"])
    addressed = {"message"} if config.private_messages else set()
    return Choices(
        {
            "claim": Choice(free, 1),
            "raid": Choice(others if config.immunity else (*others, *free), 1),
            "defend": Choice(own, None if config.defense == "per_point" else 1),
            "mine": Choice(own, config.mine_cap),
            **dict.fromkeys(addressed, Choice(tuple(agent for agent in everyone if agent != shown["you"]))),
            "keeps_word_report": Choice(everyone),
            "aggressor_report": Choice(everyone),
        },
        (Budget("stamina", shown["stamina"], dict.fromkeys(KINDS, 1)),),
    )
