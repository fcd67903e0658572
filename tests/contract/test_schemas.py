"""The schemas that language models are held to: reasons come first, then acts, and everything has an end."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hobbes.engine.mining.world import MINING
from hobbes.engine.reflection import REPORTS, TEXTS
from hobbes.engine.schemas import MAX_NAMED
from hobbes.engine.trust.world import TRUST
from hobbes.engine.world import make_setting
from hobbes.nodes.prompting import answer_schema
from hobbes.worlds import WORLDS
from tests.contract.games import CASES, Case, start

Schema = dict[str, Any]

OURS = [case for case in CASES if case.world.name in WORLDS]


def schema_of(case: Case) -> Schema:
    schema: Schema = json.loads(answer_schema(case.world, case.setting))
    return schema


def parts(schema: Any) -> Iterator[Schema]:
    """Yield a schema and the schemas within it."""
    if isinstance(schema, dict):
        if {"type", "anyOf"} & schema.keys():
            yield schema
        for part in schema.values():
            yield from parts(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from parts(part)


def answer_to(schema: Schema, *, full: bool) -> Any:
    """Return an answer that a schema allows: the shortest one, or the longest."""
    if "anyOf" in schema:
        return answer_to(schema["anyOf"][-1], full=full)
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "string":
            return "x " * (schema["maxLength"] // 2) if full else "x" * schema.get("minLength", 0)
        case "integer":
            return schema["minimum"]
        case "array":
            element = answer_to(schema["items"], full=full)
            return [element] * (schema["maxItems"] if full else schema.get("minItems", 0))
    fields = schema.get("properties", {})
    named = fields if full else schema.get("required", ())
    return {name: answer_to(fields[name], full=full) for name in named}


@pytest.mark.parametrize("full", [False, True], ids=["shortest", "longest"])
@pytest.mark.parametrize("case", OURS, ids=str)
def test_an_answer_that_is_held_to_the_schema_has_its_reasons_and_the_shape_of_the_rules(
    case: Case,
    *,
    full: bool,
) -> None:
    answer = answer_to(schema_of(case), full=full)
    read = case.world.validate(start(case.world, case.setting), case.setting.agents[0], answer)
    assert read.intent.reflection.reasoning
    assert {drop.code for drop in read.drops if drop.stage == "schema"} <= {"trust/not-needed"}
    assert [mend.code for mend in read.mends if mend.code.endswith("too-long")] == []


@pytest.mark.parametrize("case", OURS, ids=str)
def test_reasons_come_first_and_the_rest_of_the_reflection_last_so_a_cut_answer_keeps_its_acts(
    case: Case,
) -> None:
    schema = schema_of(case)
    names = [*schema["properties"]]
    last = [name for name in (*TEXTS[1:], *REPORTS) if name in names]
    assert (names[0], names[-len(last) :]) == ("reasoning", last)
    assert schema["required"][0] == "reasoning"
    assert {*names} == {*case.world.action(case.setting).model_fields}
    assert not {"message", "messages"} & {*names[: -len(last) - 1]}


@pytest.mark.parametrize("case", OURS, ids=str)
def test_acts_must_be_named_and_may_be_empty_and_no_words_must_be(case: Case) -> None:
    shortest = answer_to(schema_of(case), full=False)
    words = {*TEXTS[1:], *REPORTS, "message", "messages"}
    acts = [name for name in schema_of(case)["properties"] if name not in {"reasoning", *words}]
    either_or = {"plan", "target", "amount", "reason", "alliances"}  # ways to say an act, or parts of one
    assert [*shortest] == ["reasoning", *(name for name in acts if name not in either_or)]
    assert not any(shortest[name] for name in acts if name in shortest and name != "action")


@pytest.mark.parametrize("case", OURS, ids=str)
def test_texts_lists_and_names_are_bounded_by_what_all_servers_obey(case: Case) -> None:
    for part in parts(schema_of(case)):
        assert not part.keys() & {"pattern", "maxProperties", "propertyNames", "patternProperties", "default"}
        match part.get("type"):
            case "string":
                assert {"maxLength", "enum"} & part.keys(), part
            case "array":
                assert "maxItems" in part, part
            case "object":
                born = case.values.get("victory") == "team" and case.setting.config.replication
                assert (part["additionalProperties"] is not False) <= born, part
            case None:
                assert len(part["anyOf"]) == 2


def test_a_schema_lists_no_more_names_than_are_worth_sending_with_each_call() -> None:
    few, many = (
        json.loads(answer_schema(MINING, make_setting(MINING, MINING.names(n), 1, {})))["properties"]
        for n in (MAX_NAMED, MAX_NAMED + 1)
    )
    assert [*few["aggressor_report"]["properties"]] == [*MINING.names(MAX_NAMED)]
    assert many["aggressor_report"]["additionalProperties"]["maximum"] == 10


def test_where_units_are_born_a_schema_takes_names_that_nobody_knows_yet() -> None:
    setting = make_setting(TRUST, TRUST.names(2), 1, {"victory": "team"})
    fields = json.loads(answer_schema(TRUST, setting))["properties"]
    assert "enum" not in fields["target"]
    assert fields["aggressor_report"]["additionalProperties"]["maximum"] == 10


def test_the_schema_does_not_tell_how_many_rounds_there_are() -> None:
    one, other = (
        answer_schema(MINING, make_setting(MINING, "ab", 1, {"rounds": rounds, "stamina_rise": 2}))
        for rounds in (3, 30)
    )
    assert one == other
