"""nations, phase 0: from an answer to an intent.

Source: seed, "(0.b)", "Validation policy"; decisions page, "Validation". A field whose JSON does not match
its schema becomes its default, the whole field; a well-typed entry that names what it may not is dropped
alone.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from engine.nations.actions import EVERYBODY, RESOURCES, NationsAction, ResourcesAction
from engine.nations.shapes import Shape, as_amounts, as_count, as_counts, as_lists, as_messages
from engine.nations.state import NationsConfig, State
from engine.record import Findings, Json, JsonObject
from engine.reflection import Reflection, reflect
from engine.said import clean_text
from engine.world import Codec, Validated

ALIASES = {"summary": "summary_last_turn"}
"""Names under which the seed speaks of a field elsewhere."""

TEXTS = ("reasoning", "summary_last_turn", "history_summary")
REASONING_WORDS = 50

MOST = 10**12
"""More of anything than there can be on a board; larger numbers are cut to it, so that records stay small."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Intent:
    """What an agent orders this turn, and its reflection; grants are pairs, since their order counts."""

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
"""What an agent intends that said nothing: every field has its default."""


def action_model(config: NationsConfig) -> type[NationsAction]:
    """Give the schema of an answer: the seed's, and one field more where there are resources."""
    return ResourcesAction if config.resources else NationsAction


def validate(state: State, agent: str, answer: JsonObject | None) -> Validated[Intent]:
    """Give what is left of an answer; each removal is a drop, each change a mend."""
    if answer is None:
        return Validated(IDLE)
    findings = Findings(agent)
    said = _declared(findings, answer, action_model(state.config).model_fields)
    intent = Intent(
        purchase_mils=_count(findings, said, "purchase_mils"),
        attacks=_toward_others(state, findings, said, "attacks"),
        cede_territories=_cessions(state, findings, said),
        money_grants=tuple(_toward_others(state, findings, said, "money_grants").items()),
        messages=_messages(state, findings, said),
        disband_mils=_count(findings, said, "disband_mils"),
        resource_grants=_resource_grants(state, findings, said),
        reflection=reflect(findings, said, state.setting.agents, TEXTS, REASONING_WORDS),
    )
    return Validated(intent, tuple(findings.drops), tuple(findings.mends))


def _declared(findings: Findings, answer: JsonObject, fields: Collection[str]) -> dict[str, Json]:
    """Keep the declared fields, an alias under its field's name; where both are given, the field stands."""
    said: dict[str, Json] = {}
    for key, value in answer.items():
        name = ALIASES.get(key, key)
        if name not in fields or (name != key and name in answer):
            findings.drop("schema", "nations/unknown-field", {key: value})
            continue
        if name != key:
            findings.mend("schema", "nations/alias", {key: value}, {name: value})
        said[name] = value
    return said


def _read(findings: Findings, said: JsonObject, name: str, shape: Shape[T]) -> T | None:
    """Give a field that has its shape; else None, which stands for its default, and a drop of the field."""
    if name not in said:
        return None
    value = shape(said[name])
    if value is None:
        findings.drop("schema", "nations/bad-shape", {name: said[name]})
    return value


def _count(findings: Findings, said: JsonObject, name: str) -> int:
    """Give a number of mils."""
    return _bounded(findings, name, _read(findings, said, name, as_count) or 0)


def _bounded(findings: Findings, name: str, number: int) -> int:
    """Cut a number to what can be on a board."""
    if number > MOST:
        findings.mend("rule", "nations/too-large", {name: number}, {name: MOST})
    return min(number, MOST)


def _toward_others(state: State, findings: Findings, said: JsonObject, name: str) -> dict[str, int]:
    """Give the numbers set against the names of other agents, in the order of the answer."""
    numbers = _read(findings, said, name, as_counts) or {}
    return {
        other: _bounded(findings, name, number)
        for other, number in numbers.items()
        if _is_other(state, findings, name, other, number)
    }


def _is_other(state: State, findings: Findings, name: str, other: str, said: Json) -> bool:
    """Tell whether an entry names another agent; a stranger's or one's own is dropped."""
    if other not in state.territories:
        findings.drop("rule", "nations/unknown-agent", {name: {other: said}})
        return False
    if other == findings.agent:
        findings.drop("rule", "nations/self-target", {name: {other: said}})
        return False
    return True


def _cessions(state: State, findings: Findings, said: JsonObject) -> dict[str, tuple[str, ...]]:
    """Give the territories to cede: own ones, each to the first who is named for it."""
    name = "cede_territories"
    ceded: set[str] = set()
    kept: dict[str, tuple[str, ...]] = {}
    for receiver, territories in (_read(findings, said, name, as_lists) or {}).items():
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
    """Say why a territory may not be ceded, or None."""
    if territory not in state.territories[agent]:
        return "nations/not-yours"
    if territory in ceded:
        return "nations/already-ceded"
    if state.config.map == "none":
        return None
    if territory in state.land.capitals.values():
        return "nations/capital"
    return None if state.land.touches(territory, state.territories[receiver]) else "nations/not-touching"


def _messages(state: State, findings: Findings, said: JsonObject) -> dict[str, str]:
    """Give the messages, clean and bounded; to oneself is allowed; none where agents do not talk."""
    kept: dict[str, str] = {}
    for addressee, text in (_read(findings, said, "messages", as_messages) or {}).items():
        if not state.config.messages:
            findings.drop("rule", "nations/no-messages", {"messages": {addressee: text}})
        elif addressee != EVERYBODY and addressee not in state.territories:
            findings.drop("rule", "nations/unknown-agent", {"messages": {addressee: text}})
        else:
            kept[addressee] = clean_text(findings, "nations/message", text, state.config.message_limit)
    return kept


def _resource_grants(state: State, findings: Findings, said: JsonObject) -> tuple[tuple[str, str, int], ...]:
    """Give the grants of resources, in the order of the answer."""
    name = "resource_grants"
    return tuple(
        (receiver, resource, _bounded(findings, name, amounts[resource]))
        for receiver, amounts in (_read(findings, said, name, as_amounts) or {}).items()
        if _is_other(state, findings, name, receiver, amounts)
        for resource in RESOURCES
        if resource in amounts
    )
