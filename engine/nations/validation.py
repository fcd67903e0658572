"""Phase 0: from an answer to an intent.

A field whose JSON does not match its schema becomes its default as a whole. A well-typed entry that names
something it may not is rejected alone.

Source: docs/rules/nations.md#wrong-shape.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from hobbes.engine.nations.actions import EVERYBODY, RESOURCES, action_model
from hobbes.engine.nations.shapes import Shape, as_amounts, as_count, as_counts, as_lists, as_messages
from hobbes.engine.nations.state import NationsConfig, State, starting_territories
from hobbes.engine.record import Findings, Json, JsonObject
from hobbes.engine.reflection import Reflection, bounded_reflection, fields_of, reflect
from hobbes.engine.said import clean_text
from hobbes.engine.schemas import by_name, list_of, object_of, text_of
from hobbes.engine.world import Codec, Setting, Validated

ALIASES = {"summary": "summary_last_turn"}
"""Other names of a field in the seed. Source: docs/rules/nations.md#summary-alias."""

EMPTY: Sequence[Json] = (None, "", [], {})
"""What stands for a field that is left out. Source: docs/rules/nations.md#empty-values."""

REASONING_WORDS = 50
"""Words of a reasoning that are kept. Source: docs/rules/nations.md#reasoning."""

WORD_LENGTH = 8
"""The characters of a word and its space, of which a schema grants so many for each word of a reasoning."""

MAX_NUMBER = 10**12
"""Larger numbers are cut to this, so that records stay small. No board has more of anything.

Source: docs/rules/nations.md#large-numbers.
"""

CODES: Mapping[str, str] = {
    "nations/unknown-field": "the field is undeclared, or an alias beside its field",
    "nations/bad-shape": "the field does not match its shape, and has its default",
    "nations/unknown-agent": "the entry names an unknown agent",
    "nations/self-target": "the order is against or for the agent itself",
    "nations/not-yours": "the territory belongs to somebody else",
    "nations/already-ceded": "the territory is already ceded in this answer",
    "nations/capital": "under a map, the territory is a capital",
    "nations/not-touching": "under a map, the territory does not touch the receiver's land",
    "nations/no-messages": "messages are off",
    "nations/alias": "the value was taken under the field's name",
    "nations/message/unsafe-characters": "control and invisible characters were removed from a message",
    "nations/message/too-long": "a message was cut to the most characters that one may have",
    "nations/too-large": "a number was cut to 10^12",
}
"""What the codes of this phase mean. Source: docs/rules/nations.md#nothing-is-lost-silently."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Intent:
    """What an agent orders this turn, and its reflection. Grants are pairs, because their order counts."""

    purchase_mils: int = 0
    attacks: Mapping[str, int] = field(default_factory=dict)
    cede_territories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    money_grants: tuple[tuple[str, int], ...] = ()
    messages: Mapping[str, str] = field(default_factory=dict)
    disband_mils: int = 0
    resource_grants: tuple[tuple[str, str, int], ...] = ()
    reflection: Reflection = field(default_factory=Reflection)


CODEC = Codec(Intent)

IDLE = Intent()
"""The intent of an agent that said nothing: every field has its default.

Source: docs/rules/nations.md#missing-answers, docs/rules/nations.md#failed-calls.
"""


def acts(intent: Intent) -> tuple[str, ...]:
    """Return whether a decision attacks, grants, cedes, and how it changes the army."""
    grants = any(amount for _, amount in intent.money_grants) or any(n for *_, n in intent.resource_grants)
    done = {
        "attack": any(intent.attacks.values()),
        **{f"attack {other}": mils > 0 for other, mils in intent.attacks.items()},
        "grant": grants,
        "cede": any(intent.cede_territories.values()),
        "buy army": intent.purchase_mils > 0,
        "disband army": intent.disband_mils > 0,
    }
    return tuple(act for act, is_done in done.items() if is_done)


def action_of(setting: Setting[NationsConfig]) -> type[BaseModel]:
    """Return the model of an answer in a setting.

    Source: docs/rules/nations.md#action-fields.
    """
    return action_model(messages=setting.config.messages, resources=setting.config.resources)


def bounds(setting: Setting[NationsConfig]) -> JsonObject:
    """Return the JSON schema of an answer with the bounds of a setting."""
    agents = setting.agents
    count: JsonObject = {"type": "integer", "minimum": 0}
    land = [territory for held in starting_territories(setting).values() for territory in held]
    ceded = list_of(text_of(max(map(len, land), default=0)), len(land))
    resources = object_of(dict.fromkeys(RESOURCES, count))
    orders: JsonObject = {
        "purchase_mils": count,
        "attacks": by_name(agents, count),
        "cede_territories": by_name(agents, ceded),
        "money_grants": by_name(agents, count),
        "resource_grants": by_name(agents, resources),
        "disband_mils": count,
    }
    fields: JsonObject = {
        **orders,
        "messages": by_name((*agents, EVERYBODY), text_of(setting.config.message_limit)),
        **bounded_reflection(agents),
        "reasoning": text_of(REASONING_WORDS * WORD_LENGTH),
    }
    return object_of(fields, required=orders)


def validate(state: State, agent: str, answer: JsonObject | None) -> Validated[Intent]:
    """Return what is left of an answer: a rejection for each removal, a correction for each change.

    Nothing that an answer contains raises.

    Source: docs/rules/nations.md#missing-answers, docs/rules/nations.md#reports,
    docs/rules/nations.md#summaries, docs/rules/nations.md#invalid-answers,
    docs/rules/nations.md#nothing-is-lost-silently.
    """
    if answer is None:
        return Validated(IDLE)
    findings = Findings(agent)
    # Messages have a code of their own where they are off.
    fields = fields_of(action_of(state.setting))
    said = _known_fields(findings, answer, fields | {"messages"})
    intent = Intent(
        purchase_mils=_count(findings, said, "purchase_mils"),
        attacks=_toward_others(state, findings, said, "attacks"),
        cede_territories=_cessions(state, findings, said),
        money_grants=tuple(_toward_others(state, findings, said, "money_grants").items()),
        messages=_messages(state, findings, said),
        disband_mils=_count(findings, said, "disband_mils"),
        resource_grants=_resource_grants(state, findings, said),
        reflection=reflect(findings, said, state.setting.agents, fields, REASONING_WORDS),
    )
    return Validated(intent, tuple(findings.drops), tuple(findings.mends))


def _known_fields(findings: Findings, answer: JsonObject, fields: Collection[str]) -> dict[str, Json]:
    """Keep the declared fields that are not empty, an alias under its field's name.

    If a field and its alias are given, reject the alias.

    Source: docs/rules/nations.md#undeclared-fields, docs/rules/nations.md#summary-alias,
    docs/rules/nations.md#empty-values.
    """
    said: dict[str, Json] = {}
    for key, value in answer.items():
        name = ALIASES.get(key, key)
        if name not in fields or (name != key and name in answer):
            findings.drop("schema", "nations/unknown-field", {key: value})
            continue
        if value in EMPTY:
            continue
        if name != key:
            findings.mend("schema", "nations/alias", {key: value}, {name: value})
        said[name] = value
    return said


def _read_field(findings: Findings, said: JsonObject, name: str, shape: Shape[T]) -> T | None:
    """Return a field that has its shape; else reject it and return None, which stands for its default."""
    if name not in said:
        return None
    value = shape(said[name])
    if value is None:
        findings.drop("schema", "nations/bad-shape", {name: said[name]})
    return value


def _count(findings: Findings, said: JsonObject, name: str) -> int:
    return _cut_to_maximum(findings, name, _read_field(findings, said, name, as_count) or 0)


def _cut_to_maximum(findings: Findings, name: str, number: int) -> int:
    """Cut a number to `MAX_NUMBER`, with a correction."""
    if number > MAX_NUMBER:
        findings.mend("rule", "nations/too-large", {name: number}, {name: MAX_NUMBER})
    return min(number, MAX_NUMBER)


def _toward_others(state: State, findings: Findings, said: JsonObject, name: str) -> dict[str, int]:
    """Return the numbers that stand under the names of other agents, in the order of the answer."""
    numbers = _read_field(findings, said, name, as_counts) or {}
    return {
        other: _cut_to_maximum(findings, name, number)
        for other, number in numbers.items()
        if _is_other(state, findings, name, other, number)
    }


def _is_other(state: State, findings: Findings, name: str, other: str, said: Json) -> bool:
    """Return whether an entry names another agent; reject the entry if it does not.

    Source: docs/rules/nations.md#unknown-agents, docs/rules/nations.md#orders-to-oneself.
    """
    if other not in state.territories:
        findings.drop("rule", "nations/unknown-agent", {name: {other: said}})
        return False
    if other == findings.agent:
        findings.drop("rule", "nations/self-target", {name: {other: said}})
        return False
    return True


def _cessions(state: State, findings: Findings, said: JsonObject) -> dict[str, tuple[str, ...]]:
    """Return the territories to cede: the agent's own, each to the first receiver that is named for it."""
    name = "cede_territories"
    ceded: set[str] = set()
    kept: dict[str, tuple[str, ...]] = {}
    for receiver, territories in (_read_field(findings, said, name, as_lists) or {}).items():
        if not _is_other(state, findings, name, receiver, territories):
            continue
        allowed = []
        for territory in territories:
            refusal = _refusal(state, findings.agent, receiver, territory, ceded)
            if refusal is None:
                allowed.append(territory)
                ceded.add(territory)
            else:
                findings.drop("rule", refusal, {name: {receiver: [territory]}})
        kept[receiver] = tuple(allowed)
    return kept


def _refusal(state: State, agent: str, receiver: str, territory: str, ceded: Collection[str]) -> str | None:
    """Return the code for why a territory may not be ceded, or None if it may.

    Source: docs/rules/nations.md#ceding-own-land, docs/rules/nations.md#ceding-twice,
    docs/rules/nations.md#ceding-under-a-map, docs/rules/nations.md#capitals.
    """
    if territory not in state.territories[agent]:
        return "nations/not-yours"
    if territory in ceded:
        return "nations/already-ceded"
    if state.config.map == "none" or territory in state.may_cede[agent].get(receiver, ()):
        return None
    return "nations/capital" if territory in state.land.capitals.values() else "nations/not-touching"


def _messages(state: State, findings: Findings, said: JsonObject) -> dict[str, str]:
    """Return the messages, clean and bounded. Writing to oneself is allowed; messages may be switched off.

    Source: docs/rules/nations.md#unknown-agents, docs/rules/nations.md#orders-to-oneself,
    docs/rules/nations.md#messages-to-all, docs/rules/nations.md#message-length,
    docs/rules/nations.md#no-messages, docs/rules/nations.md#unsafe-characters.
    """
    kept: dict[str, str] = {}
    for addressee, text in (_read_field(findings, said, "messages", as_messages) or {}).items():
        if not state.config.messages:
            findings.drop("rule", "nations/no-messages", {"messages": {addressee: text}})
        elif addressee != EVERYBODY and addressee not in state.territories:
            findings.drop("rule", "nations/unknown-agent", {"messages": {addressee: text}})
        else:
            kept[addressee] = clean_text(findings, "nations/message", text, state.config.message_limit)
    return kept


def _resource_grants(state: State, findings: Findings, said: JsonObject) -> tuple[tuple[str, str, int], ...]:
    """Return the grants of resources, in the order of the answer.

    Source: docs/rules/nations.md#resource-grants-in-an-answer.
    """
    name = "resource_grants"
    return tuple(
        (receiver, resource, _cut_to_maximum(findings, name, amounts[resource]))
        for receiver, amounts in (_read_field(findings, said, name, as_amounts) or {}).items()
        if _is_other(state, findings, name, receiver, amounts)
        for resource in RESOURCES
        if resource in amounts
    )
