"""trust: from an answer to an intent.

An action that cannot be read or is not allowed becomes `do_nothing`, with a rejection that says why. The
intent records that nobody chose this.

Source: docs/rules/trust.md#rejected-actions, docs/rules/trust.md#default-action.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from hobbes.engine.record import Findings, Json, JsonObject
from hobbes.engine.reflection import Reflection, bounded_reflection, fields_of, reflect
from hobbes.engine.said import TEXT_LIMIT, clean_text, whole
from hobbes.engine.schemas import by_name, number_of, object_of, text_of
from hobbes.engine.trust import alliances, messages
from hobbes.engine.trust.actions import (
    KINDS,
    MAX_SATS,
    NEEDS,
    NOT_GIVEN,
    WORDS,
    Kind,
    Word,
    action_model,
    spelled,
)
from hobbes.engine.trust.state import ALL, Ruling, State, TrustConfig
from hobbes.engine.world import Codec, Setting, Validated

REASON_LIMIT = 300
"""The most characters of a reason, a unit's or the observer's. Source: docs/rules/trust.md#reasons."""

FIELDS = ("target", "amount", "reason")
"""The fields that some actions need."""

SAID = ("action", *FIELDS)
"""The fields that say an action."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What a unit wants to do this round; `chosen` is false if its answer was lost or rejected."""

    action: Kind = "do_nothing"
    target: str | None = None
    amount: int = 0
    reason: str = ""
    chosen: bool = True
    ruling: Ruling | None = None
    """The observer's answer, once there is one."""
    messages: Mapping[str, str] = field(default_factory=dict)
    """Words by addressee: a unit, or all."""
    alliances: Mapping[str, Word] = field(default_factory=dict)
    """What the unit says about an alliance with each of these agents."""
    reflection: Reflection = field(default_factory=Reflection)


CODEC = Codec(Intent)

NO_DECISION = Intent(chosen=False)
"""The default action of a unit whose answer was lost.

Source: docs/rules/trust.md#default-action, docs/rules/trust.md#settings-of-every-world.
"""


def acts(intent: Intent) -> tuple[str, ...]:
    """Return the action that a unit chose, and that action with its target; none if it chose nothing."""
    if not intent.chosen:
        return ()
    return (intent.action, f"{intent.action} {intent.target}") if intent.target else (intent.action,)


def action_of(setting: Setting[TrustConfig]) -> type[BaseModel]:
    """Return the model of an answer in a setting: without what it makes no use of.

    Source: docs/rules/trust.md#schema-of-an-answer.
    """
    config = setting.config
    optional = {"messages": config.messages != "off", "alliances": config.alliances == "declared"}
    return action_model(kinds_of(config), frozenset(name for name, used in optional.items() if used))


def kinds_of(config: TrustConfig) -> tuple[Kind, ...]:
    """Return the actions that there are in a setting.

    Source: docs/rules/trust.md#schema-of-an-answer, docs/rules/trust.md#send,
    docs/rules/trust.md#without-replication.
    """
    unused = {
        "send": not config.alliances and config.gifts == "allies",
        "replicate": not config.replication,
    }
    return tuple(kind for kind in KINDS if not unused.get(kind))


def bounds(setting: Setting[TrustConfig]) -> JsonObject:
    """Return the JSON schema of an answer with the bounds of a setting.

    Where units are born, their names cannot be known before.
    """
    config = setting.config
    units = None if config.replication and config.victory == "team" else setting.agents
    fields = {
        "action": {"type": "string", "enum": [*kinds_of(config)]},
        "target": text_of(TEXT_LIMIT) if units is None else {"type": "string", "enum": [*units]},
        "amount": number_of(1, MAX_SATS),
        "reason": text_of(REASON_LIMIT),
        "alliances": by_name(units, {"type": "string", "enum": [*WORDS]}),
        "messages": by_name(units and (*units, ALL), text_of(config.message_limit)),
        **bounded_reflection(units),
    }
    return object_of(fields)


def validate(state: State, agent: str, answer: JsonObject | None) -> Validated[Intent]:
    """Return the intent of an answer, and what was rejected or corrected.

    An action that is not allowed becomes `do_nothing`; the notes and ratings beside it still count. No answer
    (None) is a failed call, which is recorded elsewhere, so it has no rejection here.

    Source: docs/rules/trust.md#rejected-actions, docs/rules/trust.md#notes-and-ratings.
    """
    if answer is None:
        return Validated(NO_DECISION)
    findings = Findings(agent)
    acting = _read_action(state, findings, answer) or NO_DECISION
    declared = fields_of(action_of(state.setting))
    for name, value in answer.items():
        if name not in declared:
            findings.drop("schema", "trust/unknown-field", {name: value})
    reflection = reflect(findings, answer, state.units_by_id, declared)
    intent = replace(
        acting,
        messages=messages.words(state, findings, answer.get("messages")),
        alliances=alliances.allowed_words(state, findings, answer.get("alliances")),
        reflection=reflection,
    )
    return Validated(intent, tuple(findings.drops), tuple(findings.mends))


def _read_action(state: State, findings: Findings, answer: JsonObject) -> Intent | None:
    """Read the action and the fields that it needs; None, with a rejection, if it is not allowed.

    Source: docs/rules/trust.md#fields-that-are-not-used.
    """
    kind = _kind(findings, answer.get("action"))
    if kind is None:
        findings.drop("schema", "trust/no-action", _said(answer), ", ".join(kinds_of(state.config)))
        return None
    for name in FIELDS:
        if name not in NEEDS[kind] and name in answer and answer[name] not in NOT_GIVEN:
            findings.drop("rule", "trust/not-needed", {name: answer[name]})
    intent = _read_fields(state, findings, kind, answer)
    if intent is None:
        return None
    for check in CHECKS[kind]:
        refusal = check(state, findings.agent, intent)
        if refusal is not None:
            findings.drop("rule", refusal, _said(answer))
            return None
    return intent


def _said(answer: JsonObject) -> dict[str, Json]:
    return {name: answer[name] for name in SAID if name in answer}


def _kind(findings: Findings, said: Json) -> Kind | None:
    """Return the action of this name, or None if there is none; another spelling is a correction.

    Source: docs/rules/trust.md#spellings-of-actions.
    """
    kind = spelled(said, KINDS)
    if kind is not None and kind != said:
        findings.mend("schema", "trust/action/spelling", {"action": said}, {"action": kind})
    return kind


def _read_fields(state: State, findings: Findings, kind: Kind, answer: JsonObject) -> Intent | None:
    """Read the fields that an action needs; None, with a rejection, for a target of the wrong type.

    Amounts and reasons of the wrong type are left empty here, so that the checks reject them.
    """
    target: str | None = None
    amount, reason = 0, ""
    if "target" in NEEDS[kind]:
        said = answer.get("target")
        if said not in NOT_GIVEN and not isinstance(said, str):
            findings.drop("schema", "trust/bad-target", {"action": kind, "target": said})
            return None
        target = said if isinstance(said, str) and said else _only_opponent(state, findings.agent)
    if "amount" in NEEDS[kind]:
        amount = whole(answer.get("amount")) or 0
    if "reason" in NEEDS[kind] and isinstance(given := answer.get("reason"), str):
        reason = clean_text(findings, "trust/reason", given, REASON_LIMIT).strip()
    return Intent(kind, target, amount, reason)


def _only_opponent(state: State, agent: str) -> str | None:
    """Return the target of a unit that named none: its opponent, if it has exactly one."""
    opponents = state.opponents(agent)
    return opponents[0] if len(opponents) == 1 else None


def _there(state: State, agent: str, intent: Intent) -> str | None:
    """A target must be a living unit other than the author. Source: docs/rules/trust.md#target."""
    if intent.target is None:
        return "trust/no-target"
    if intent.target not in state.units_by_id:
        return "trust/unknown-target"
    if intent.target == agent:
        return "trust/self-target"
    return None if state.units_by_id[intent.target].alive else "trust/dead-target"


def _no_ally(state: State, agent: str, intent: Intent) -> str | None:
    """Allies cannot choose to attack one another. Source: docs/rules/trust.md#alliances."""
    return "trust/ally" if state.allied(agent, intent.target or agent) else None


def _ally(state: State, agent: str, intent: Intent) -> str | None:
    """Sats can be sent to allies only, unless gifts go to all. Source: docs/rules/trust.md#send."""
    allowed = state.config.gifts == "all" or state.allied(agent, intent.target or agent)
    return None if allowed else "trust/not-an-ally"


def _amount(_: State, __: str, intent: Intent) -> str | None:
    """An amount is a whole number of sats, at least one. Source: docs/rules/trust.md#amounts."""
    return None if 1 <= intent.amount <= MAX_SATS else "trust/bad-amount"


def _affordable(state: State, agent: str, intent: Intent) -> str | None:
    """A unit cannot send more sats than it has. Source: docs/rules/trust.md#send."""
    return None if intent.amount <= state.units_by_id[agent].sats else "trust/not-enough-sats"


def _reason(_: State, __: str, intent: Intent) -> str | None:
    """A unit that begs must give a reason. Source: docs/rules/trust.md#reasons."""
    return None if intent.reason else "trust/no-reason"


def _replicable(state: State, _: str, __: Intent) -> str | None:
    """Where nobody can replicate, nobody may try. Source: docs/rules/trust.md#without-replication."""
    return None if state.config.replication else "trust/no-replication"


def _at_threshold(state: State, agent: str, _: Intent) -> str | None:
    """A unit may replicate only from the threshold on. Source: docs/rules/trust.md#replicate."""
    return None if state.units_by_id[agent].sats >= state.config.threshold else "trust/below-threshold"


CODES: Mapping[str, str] = {
    "trust/no-action": "the answer names none of the actions that there are",
    "trust/bad-target": "the target of the action is not text",
    "trust/no-target": "the action names no target, and there is not exactly one opponent",
    "trust/unknown-target": "no unit has the name of the target",
    "trust/self-target": "a unit cannot choose itself",
    "trust/dead-target": "the target is dead",
    "trust/ally": "an attack on an ally",
    "trust/not-an-ally": "sats sent to a unit that is not an ally",
    "trust/bad-amount": f"the amount is not a whole number from 1 to {MAX_SATS:,}",
    "trust/not-enough-sats": "sats sent that the unit does not have",
    "trust/no-reason": "a request without a reason",
    "trust/below-threshold": "replicating with too few sats",
    "trust/no-replication": "replicating where nobody can",
    "trust/action/spelling": "an action was spelled in another way",
    **messages.CODES,
    **alliances.CODES,
    "trust/not-needed": "a field that the action does not need; the action stands",
    "trust/unknown-field": "a field that the schema does not have; the action stands",
    "trust/reason/too-long": f"the reason of a request was cut to {REASON_LIMIT} characters",
    "trust/reason/unsafe-characters": "control and invisible characters were removed from a reason",
}
"""What the codes of a unit's answer mean. Source: docs/rules/trust.md#rejected-actions."""

CHECKS: Mapping[Kind, tuple[Callable[[State, str, Intent], str | None], ...]] = {
    "high_five": (_there,),
    "attack": (_there, _no_ally),
    "block": (),
    "do_nothing": (),
    "beg": (_amount, _reason),
    "replicate": (_replicable, _at_threshold),
    "send": (_there, _ally, _amount, _affordable),
}
"""The checks of each action, in order: each returns the code of a rejection, or None if the action passes.

Source: docs/rules/trust.md#rejected-actions.
"""
