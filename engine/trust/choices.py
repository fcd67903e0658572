"""trust: what a person may choose for each field of an answer, from the view of its unit.

Source: docs/rules/trust.md#target.
"""

from collections.abc import Mapping
from typing import Any

from hobbes.engine.choices import Choice, Choices
from hobbes.engine.record import JsonObject
from hobbes.engine.trust.actions import Word
from hobbes.engine.trust.state import ALL, TrustConfig


def choices(config: TrustConfig, view: JsonObject) -> Choices:
    """Return which units an action, a message and a report may name.

    Source: docs/rules/trust.md#target, docs/rules/trust.md#messages.
    """
    shown: dict[str, Any] = {**view}
    opponents, allies = tuple(shown["opponents"]), tuple(shown.get("allies", ()))
    others = Choice(tuple(dict.fromkeys((*opponents, *allies))))
    everyone = Choice(tuple(shown["units"]))
    return Choices(
        {
            "target": others,
            "messages": Choice((*others.options, *([ALL] if config.messages == "all" else []))),
            "alliances": Choice(opponents, values={unit: _words(shown, unit) for unit in opponents}),
            "keeps_word_report": everyone,
            "aggressor_report": everyone,
        }
    )


def _words(shown: Mapping[str, Any], unit: str) -> tuple[Word, ...]:
    """Return what may be said to a unit about an alliance.

    Source: docs/rules/trust.md#declared-alliances.
    """
    if unit in shown.get("allies", ()):
        return ("leave",)
    teams = shown.get("teams", {})
    own, other = teams.get(shown["you"], shown["you"]), teams.get(unit, unit)
    proposals = shown.get("alliances", {}).get("proposed", ())
    proposed = any((teams.get(proposer, proposer), to) == (other, own) for proposer, to in proposals)
    return ("propose", "accept") if proposed else ("propose",)
