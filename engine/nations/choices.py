"""nations: what a person may choose for each other agent, from its view.

Source: docs/rules/nations.md#action-fields.
"""

from collections.abc import Mapping
from typing import Any

from hobbes.engine.choices import Budget, Choice, Choices
from hobbes.engine.nations.actions import EVERYBODY
from hobbes.engine.nations.state import NationsConfig
from hobbes.engine.record import JsonObject


def choices(config: NationsConfig, view: JsonObject) -> Choices:
    """Return whom each field may name, and what the army and the money of this turn pay for.

    Source: docs/rules/nations.md#action-fields, docs/rules/nations.md#allocation,
    docs/rules/nations.md#income, docs/rules/nations.md#upkeep, docs/rules/nations.md#purchases,
    docs/rules/nations.md#resource-grants.
    """
    shown: dict[str, Any] = {**view}
    agent, constants = shown["self"], shown["constants"]
    everyone = tuple(shown["agents"])
    others = Choice(tuple(other for other in everyone if other != agent))
    army = shown["army"][agent]
    income = len(shown["territories"][agent]) * constants["c_money_per_territory"]
    supply = shown["resources"]["supply"][agent] if config.resources else {}
    missing = " and missing resources" if supply else ""
    upkeep = army * constants["c_mil_upkeep_price"]
    return Choices(
        {
            **dict.fromkeys(("attacks", "money_grants", "resource_grants"), others),
            "cede_territories": Choice(tuple(_may_cede(shown)), values=_may_cede(shown)),
            "messages": Choice((*others.options, EVERYBODY)),
            **dict.fromkeys(("keeps_word_report", "aggressor_report"), Choice(everyone)),
        },
        (
            Budget("army", army, {"attacks": 1}, "in mils; what does not attack defends"),
            Budget(
                "money",
                max(income - upkeep, 0),
                {"purchase_mils": constants["c_mil_purchase_price"], "money_grants": 1},
                f"income {income} less upkeep {upkeep}; attacks on you{missing} leave less",
            ),
            *(Budget(name, amount, {"resource_grants": 1}) for name, amount in supply.items()),
        ),
    )


def _may_cede(shown: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the territories that an agent may cede to each other one, as far as its view tells.

    Source: docs/rules/nations.md#cessions, docs/rules/nations.md#ceding-under-a-map.
    """
    agent, land = shown["self"], shown.get("map", {})
    own = shown["territories"][agent]
    free = tuple(held for held in own if held != land.get("capitals", {}).get(agent))
    told = land.get("may_cede", dict.fromkeys(shown["agents"], free))
    return {other: tuple(held) for other, held in told.items() if held and other != agent}
