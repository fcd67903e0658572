"""The schema that agents receive is made from the action model and agrees with the seed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hobbes.engine.nations.actions import NationsAction
from hobbes.engine.nations.shapes import as_count, as_counts, as_lists, as_messages
from hobbes.engine.nations.world import NATIONS
from tests.engine.nations.stage import board

COUNT = {"type": "integer", "minimum": 0}
RATING = {"type": "integer", "minimum": 1, "maximum": 10}


def object_of(element: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": element}


SEED = {
    "reasoning": {"type": "string"},
    "purchase_mils": COUNT,
    "attacks": object_of(COUNT),
    "cede_territories": object_of({"type": "array", "items": {"type": "string"}}),
    "money_grants": object_of(COUNT),
    "messages": object_of({"type": "string"}),
    "summary_last_turn": {"type": "string"},
    "history_summary": {"type": "string"},
    "disband_mils": COUNT,
    "keeps_word_report": object_of(RATING),
    "aggressor_report": object_of(RATING),
}
"""The seed's fields with their types and bounds, in its order but for the reasoning, which comes first."""


def test_the_schema_has_the_seeds_fields_types_and_bounds_and_no_others() -> None:
    schema = NATIONS.action(board().setting).model_json_schema()
    said = {
        name: {key: value for key, value in field.items() if key not in {"title", "description", "default"}}
        for name, field in schema["properties"].items()
    }
    assert said == SEED
    assert list(said) == list(SEED)
    assert schema["additionalProperties"] is False
    assert schema["type"] == "object"


def test_every_field_may_be_left_out_and_is_described() -> None:
    schema = NATIONS.action(board().setting).model_json_schema()
    assert "required" not in schema
    assert all(field["description"] for field in schema["properties"].values())


def test_only_where_there_are_resources_the_schema_has_a_field_to_grant_them() -> None:
    fields = list(NATIONS.action(board(resources=True).setting).model_fields)
    assert fields == [*SEED, "resource_grants"]


def test_where_agents_do_not_talk_the_schema_has_no_messages_and_no_report_on_who_keeps_its_word() -> None:
    fields = list(NATIONS.action(board(messages=False).setting).model_fields)
    assert fields == [name for name in SEED if name not in {"messages", "keeps_word_report"}]


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
"""Any JSON. The test leaves out integral floats, which the schema refuses and the code accepts."""


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("purchase_mils", as_count),
        ("attacks", as_counts),
        ("cede_territories", as_lists),
        ("money_grants", as_counts),
        ("messages", as_messages),
        ("disband_mils", as_count),
    ],
)
@given(value=ANY_JSON.filter(lambda value: ".0" not in repr(value) and "e+" not in repr(value)))
def test_a_field_is_taken_exactly_where_it_matches_the_schema(name: str, shape: Any, value: Any) -> None:
    try:
        NationsAction.model_validate({name: value})
        matches = True
    except ValidationError:
        matches = False
    assert (shape(value) is not None) == matches
