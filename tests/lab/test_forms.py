"""The form of an answer: whatever shape a world's model has, its fields are found, read and checked."""

import json
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from hobbes.lab.errors import UsageError
from hobbes.lab.play.answering import answer_from_form, answer_from_options, as_json, columns_and_rows, usage
from hobbes.lab.play.forms import Form, Kind, answer_with, complete_answer, form_of, hint, read, text_of_value
from hobbes.lab.show.templating import control


class Gear(Enum):
    NETS = "nets"
    LINES = "lines"


class Quota(BaseModel):
    """A ruling of two fields, neither of which has a default."""

    model_config = ConfigDict(extra="forbid", strict=True)

    quota: int = Field(ge=0, le=120, description="tonnes that all may land")
    why: str = Field(max_length=20)


class Berth(BaseModel):
    """One ship's place."""

    pier: int = Field(3, gt=0, lt=9)
    depth: float = Field(2.5, ge=0.5)


class Crates(BaseModel):
    """What a ship carries."""

    model_config = ConfigDict(extra="forbid", strict=True)

    fish: int = 0
    salt: int = Field(0, ge=0)


class Harbour(BaseModel):
    """A ruling of all kinds."""

    model_config = ConfigDict(extra="forbid", strict=True)

    boats: int = Field(10, ge=0, le=100, multiple_of=5, title="how many boats")
    share: float = Field(0.5, gt=0, lt=1)
    motto: str = "fair winds"
    open: bool = True
    night: bool | None = None
    gear: Gear = Gear.NETS
    season: Literal["spring", 2] = "spring"
    limit: Annotated[int, Field(ge=1)] | None = None
    names: list[str] = Field(["Ann", "Bo"], max_length=3)
    notes: dict[str, Any] = {}
    either: int | str = "as usual"
    fees: dict[Literal["north", "south"], int] = {"north": 7}
    cargo: dict[str, Crates] = {}
    signal: str | dict[str, str] = ""
    main: Berth = Field(Berth(pier=4), description="where the ferry lies")
    spare: Berth = Field(default_factory=Berth)
    guest: Berth | None = None


def fields(form: Form) -> dict[str, Any]:
    """Return the fields of a form by the path that one sees."""
    return {".".join(field.path): field for field in form.fields}


HARBOUR = form_of(Harbour)


@pytest.mark.parametrize(
    ("path", "kind", "default", "told"),
    [
        ("boats", Kind.WHOLE, "10", "a whole number from 0 to 100, a multiple of 5"),
        ("share", Kind.NUMBER, "0.5", "a number, more than 0, less than 1"),
        ("motto", Kind.TEXT, "fair winds", "text on one line"),
        ("open", Kind.YES_NO, "yes", "yes or no"),
        ("night", Kind.YES_NO, "", "yes or no, or nothing"),
        ("gear", Kind.CHOICE, "nets", "one of nets, lines"),
        ("season", Kind.CHOICE, "spring", "one of spring, 2"),
        ("limit", Kind.WHOLE, "", "a whole number, at least 1, or nothing"),
        ("names", Kind.TEXTS, "Ann, Bo", "texts separated by commas, at most 3 of them"),
        ("notes", Kind.JSON, "{}", "JSON"),
        ("either", Kind.JSON, '"as usual"', "JSON"),
        ("fees.north", Kind.WHOLE, "7", "a whole number"),
        ("cargo", Kind.PAIRS, "", "NAME=VALUE, one per line, such as NAME=1 2 (fish, salt)"),
        ("signal", Kind.TEXT_OR_PAIRS, "", "one text, or NAME=VALUE, one per line"),
        ("main.pier", Kind.WHOLE, "4", "a whole number from 1 to 8"),
        ("main.depth", Kind.NUMBER, "2.5", "a number, at least 0.5"),
        ("spare.pier", Kind.WHOLE, "3", "a whole number from 1 to 8"),
        ("guest", Kind.JSON, "", "JSON, or nothing"),
    ],
)
def test_each_shape_has_its_kind_its_default_and_its_limits(
    path: str, kind: Kind, default: str, told: str
) -> None:
    field = fields(HARBOUR)[path]
    assert (field.kind, text_of_value(field, field.default), hint(field)) == (kind, default, told)
    assert field.defaulted
    assert read(field, default) == field.default, "a default that is confirmed stays what it is"


def test_titles_and_descriptions_are_the_models() -> None:
    assert fields(HARBOUR)["boats"].title == "how many boats"
    assert fields(form_of(Quota))["quota"].description == "tonnes that all may land"
    told = {group.key: group.description for group in HARBOUR.groups}
    assert told["main"] == "where the ferry lies"
    assert list(told) == ["", "fees", "main", "spare"]


def test_a_field_of_a_mapping_without_a_default_is_left_out() -> None:
    south = fields(HARBOUR)["fees.south"]
    assert (south.required, south.defaulted, south.left_out) == (False, False, True)
    assert json.loads(answer_with(HARBOUR, {("fees", "north"): 1}))["fees"] == {"north": 1}
    assert json.loads(answer_with(HARBOUR, {("fees", "south"): 1}))["fees"] == {"north": 7, "south": 1}


def test_what_is_not_said_has_the_default_of_the_whole_object() -> None:
    """`main` is pier 4 by default, although a berth by itself is pier 3."""
    assert json.loads(answer_with(HARBOUR, {}))["main"] == {"pier": 4, "depth": 2.5}
    assert json.loads(answer_with(HARBOUR, {("main", "depth"): 9.0}))["main"] == {"pier": 4, "depth": 9.0}
    assert json.loads(answer_with(HARBOUR, {("spare", "depth"): 9.0}))["spare"] == {"pier": 3, "depth": 9.0}


@pytest.mark.parametrize(
    ("path", "written", "value"),
    [
        ("boats", "15", 15),
        ("share", "1e-2", 0.01),
        ("open", "No", False),
        ("night", "true", True),
        ("gear", "lines", "lines"),
        ("season", "2", 2),
        ("limit", "", None),
        ("names", "Ann , , Cy", ["Ann", "Cy"]),
        ("notes", '{"a": [1]}', {"a": [1]}),
        ("cargo", "Ann=3 0\nBo=1, 2", {"Ann": {"fish": 3, "salt": 0}, "Bo": {"fish": 1, "salt": 2}}),
        ("cargo", '{"Ann": {"fish": 3}}', {"Ann": {"fish": 3}}),
        ("signal", "all well", "all well"),
        ("signal", "Ann=come\nBo=go", {"Ann": "come", "Bo": "go"}),
        ("signal", '{"Ann": "a=b"}', {"Ann": "a=b"}),
        ("signal", '"a=b"', "a=b"),
    ],
)
def test_what_fits_is_read(path: str, written: str, value: Any) -> None:
    assert read(fields(HARBOUR)[path], written) == value


@pytest.mark.parametrize(
    ("path", "written"),
    [
        *(("boats", text) for text in ("", "x", "1.5", "-5", "105", "12", "9" * 5000, "٣", "1_0", " 5")),
        *(("share", text) for text in ("", "0", "1", "nan", "inf", "half")),
        *(("motto", text) for text in ("a\nb", "a\rb", "a\udcffb")),
        *(("open", text) for text in ("", "1", "perhaps")),
        *(("gear", text) for text in ("", "Nets", "nets, lines")),
        *(("names", text) for text in ("a,b,c,d", "a\nb")),
        *(("main.pier", text) for text in ("0", "9")),
        ("main.depth", "inf"),
        *(("notes", text) for text in ("", "{", "[" * 100_000)),
        *(("cargo", text) for text in ("Ann", "Ann=3", "Ann=1 2 3", "Ann=a b", "Ann=1 2; 3 4", "Ann=")),
        *(("signal", text) for text in ("a\nb", "Ann=come\ngo", '"a', "{")),
    ],
)
def test_what_does_not_fit_is_refused_with_what_may_be_written(path: str, written: str) -> None:
    field = fields(HARBOUR)[path]
    with pytest.raises(ValueError, match=r"^write ") as said:
        read(field, written)
    assert str(said.value) == f"write {hint(field)}"


def test_a_form_of_another_shape_is_answered_by_options_in_json_and_in_the_page() -> None:
    """A regulator who sets one quota: no group, no key."""
    form, answer = form_of(Quota), {"quota": 40, "why": "few fish"}
    assert json.loads(answer_from_options(form, [("quota", "40"), ("why", "few fish")])) == answer
    assert json.loads(as_json(form, json.dumps(answer))) == answer
    assert json.loads(answer_from_form(form, [("/quota", "40"), ("/why", "few fish")])) == answer
    assert usage(form) == "write --quota VALUE, --why VALUE, or --answer JSON"
    with pytest.raises(UsageError, match=r"^why: Field required; write --quota VALUE, --why VALUE"):
        answer_from_options(form, [("quota", "40")])
    with pytest.raises(UsageError, match=r"^--quota '121': write a whole number from 0 to 120$"):
        answer_from_options(form, [("quota", "121")])
    with pytest.raises(UsageError, match=r"^--answer: quota: Input should be a valid integer"):
        as_json(form, '{"quota": "40", "why": ""}')


def test_pairs_and_their_amounts_are_posted_one_by_one_and_a_text_stands_in_place_of_pairs() -> None:
    posted = [("/cargo/Ann/fish", "3"), ("/cargo/Ann/salt", ""), ("/cargo/Bo/salt", "2"), ("/signal", "")]
    answer = json.loads(answer_from_form(HARBOUR, [*posted, ("/signal/Ann", "come"), ("/signal/Bo", "")]))
    assert answer["cargo"] == {"Ann": {"fish": 3, "salt": 0}, "Bo": {"fish": 0, "salt": 2}}
    assert answer["signal"] == {"Ann": "come"}
    with pytest.raises(UsageError, match=r"^signal: write it as a whole or one by one$"):
        answer_from_form(HARBOUR, [("/signal", "come"), ("/signal/Ann", "come")])
    with pytest.raises(UsageError, match=r"^/cargo/Ann/fish: write a whole number$"):
        answer_from_form(HARBOUR, [("/cargo/Ann/fish", "many")])
    with pytest.raises(UsageError, match=r"^cargo\.Ann: Extra inputs are not permitted"):
        answer_from_form(HARBOUR, [("/cargo/Ann/gold", "1")])
    with pytest.raises(UsageError, match=r"^the form has no field '/boats/Ann'"):
        answer_from_form(HARBOUR, [("/boats/Ann", "1")])


def test_the_model_has_the_last_word() -> None:
    class Pair(BaseModel):
        low: int = 0
        high: int = 0

        @model_validator(mode="after")
        def ordered(self) -> "Pair":
            if self.low > self.high:
                raise ValueError("low is above high")
            return self

    form = form_of(Pair)
    assert json.loads(answer_from_options(form, [("high", "3")])) == {"low": 0, "high": 3}
    with pytest.raises(UsageError, match=r"^low is above high; write --low VALUE, --high VALUE"):
        answer_from_options(form, [("low", "3")])
    with pytest.raises(UsageError, match=r"^low is above high"):
        answer_from_form(form, [("/low", "3")])


def test_names_of_options_are_written_with_dashes_and_those_of_the_command_are_left_to_it() -> None:
    form = form_of(create_model("Catch", max_catch=(int, 1), home=(str, "here"), answer=(str, "there")))
    assert json.loads(answer_from_options(form, [("max-catch", "2")]))["max_catch"] == 2
    with pytest.raises(UsageError, match="there is no --home; write --max-catch VALUE, or --answer JSON"):
        answer_from_options(form, [("home", "away")])


def test_groups_of_one_name_are_told_apart_by_their_paths() -> None:
    inner = create_model("Inner", pay=(int, 0))
    outer = create_model("Outer", boat=(inner, inner()))
    form = form_of(create_model("Whole", east=(outer, outer()), west=(outer, outer()), pay=(int, 0)))
    assert [group.key for group in form.groups] == ["", "east.boat", "west.boat"]
    assert json.loads(answer_from_options(form, [("pay", "1"), ("pay", "west.boat=2")])) == {
        "pay": 1,
        "east": {"boat": {"pay": 1}},
        "west": {"boat": {"pay": 2}},
    }


def test_no_two_fields_have_one_name_in_the_page() -> None:
    inner = create_model("Inner", **{"b/c": (int, 0), "c": (int, 0)})  # type: ignore[call-overload]
    form = form_of(create_model("Whole", **{"a": (inner, inner()), "a/b": (inner, inner())}))  # type: ignore[call-overload]
    assert sorted(field.name for field in form.fields) == ["/a/b~1c", "/a/c", "/a~1b/b~1c", "/a~1b/c"]


class Tree(BaseModel):
    """A model that holds itself."""

    height: int = 1
    left: "Tree | None" = None
    by_side: "dict[Literal['left', 'right'], Tree]" = {}


def test_a_model_that_holds_itself_ends_in_json() -> None:
    form = form_of(Tree)
    assert {field.kind for field in form.fields} == {Kind.WHOLE, Kind.JSON}
    assert len(form.fields) < 20
    told = json.loads(answer_from_options(form, [("left", '{"height": 2}')]))
    assert told["left"]["height"] == 2


# --- as the page has it


@pytest.mark.parametrize(
    ("path", "attributes", "chosen", "choices"),
    [
        ("boats", {"type": "number", "min": 0, "max": 100, "step": 5, "required": "required"}, "10", ()),
        ("share", {"type": "number", "step": "any", "required": "required"}, "0.5", ()),
        ("motto", {"type": "text"}, "fair winds", ()),
        ("open", {"type": "checkbox", "value": "yes", "checked": "checked"}, "yes", ()),
        ("night", {}, "", ("", "yes", "no")),
        ("gear", {}, "nets", ("nets", "lines")),
        ("limit", {"type": "number", "min": 1, "step": 1}, "", ()),
        ("main.pier", {"type": "number", "min": 1, "max": 8, "step": 1, "required": "required"}, "4", ()),
    ],
)
def test_each_kind_has_its_control(
    path: str, attributes: dict[str, Any], chosen: str, choices: tuple[str, ...]
) -> None:
    field = fields(HARBOUR)[path]
    found, default, offered = control(field)
    shown = {} if choices else {"value": chosen}
    assert found == {"name": field.name, **shown, **attributes}
    assert (default, offered) == (chosen, choices)


@pytest.mark.parametrize(("posted", "ticked"), [(None, True), ("yes", True), ("", False)])
def test_a_box_comes_back_as_it_was_posted(posted: str | None, ticked: bool) -> None:  # noqa: FBT001
    """By default it is ticked; one that is not ticked is not posted, and so has no text."""
    attributes, *_ = control(fields(HARBOUR)["open"], posted)
    assert ("checked" in attributes) is ticked


def test_a_field_that_must_be_written_is_empty_and_required() -> None:
    wanted = fields(form_of(Quota))
    assert control(wanted["why"])[0] == {
        "name": "/why",
        "type": "text",
        "value": "",
        "maxlength": 20,
        "required": "required",
    }
    assert control(wanted["quota"])[0]["required"] == "required"


def test_a_box_that_is_not_ticked_is_a_no_and_each_field_is_posted_once() -> None:
    assert json.loads(answer_from_form(HARBOUR, []))["open"] is False
    assert json.loads(answer_from_form(HARBOUR, [("/open", "yes")]))["open"] is True
    assert json.loads(answer_from_form(HARBOUR, [("/fees/south", "")]))["fees"] == {"north": 7}
    with pytest.raises(UsageError, match=r"^/open: write each only once"):
        answer_from_form(HARBOUR, [("/open", "yes"), ("/open", "yes")])
    with pytest.raises(UsageError, match=r"^the form has no field 'boats'; it has: /boats, /share"):
        answer_from_form(HARBOUR, [("boats", "5")])


def test_what_a_form_shows_and_nobody_changed_is_the_default_answer() -> None:
    shown = [(control(field)[0]["name"], control(field)[1]) for field in HARBOUR.fields]
    assert answer_from_form(HARBOUR, [(str(name), text) for name, text in shown]) == complete_answer(
        HARBOUR, "{}"
    )


def test_requests_are_a_table_whatever_their_keys_are() -> None:
    columns, rows = columns_and_rows(
        [{"boat": "Ann", "wants": 4}, {"boat": "Bo", "gear": ["nets"], "new": True}]
    )
    assert columns == ["boat", "wants", "gear", "new"]
    assert rows == [["Ann", 4, None, None], ["Bo", None, '["nets"]', "true"]]


class Move(BaseModel):
    """A ship's move."""

    to: Annotated[list[int], Field(min_length=2, max_length=2)]
    n: int = 1


class Fleet(BaseModel):
    """An answer of an agent: entries of numbers, and names with values."""

    model_config = ConfigDict(extra="forbid", strict=True)

    places: list[Annotated[list[int], Field(min_length=2, max_length=2)]] = Field(default_factory=list)
    ships: list[Berth] = []
    moves: list[Move] = []
    marks: dict[str, Annotated[int, Field(ge=1, le=10)]] = Field(default_factory=dict)
    words: dict[str, str] = Field(default_factory=dict)
    crews: dict[str, list[str]] = Field(default_factory=dict)


FLEET = form_of(Fleet, terse=True)


@pytest.mark.parametrize(
    ("path", "written", "value"),
    [
        ("places", "1 2\n\n 3,4 ;5 , 6", [[1, 2], [3, 4], [5, 6]]),
        ("places", " [[1, 2]]", [[1, 2]]),
        ("moves", "1 2 3", [{"to": [1, 2], "n": 3}]),
        ("marks", "Ann=3, Bo = 4\nCy=5", {"Ann": 3, "Bo": 4, "Cy": 5}),
        ("marks", '{"Ann": 3}', {"Ann": 3}),
        ("words", "Ann=yes, or no = maybe\nall=a; b", {"Ann": "yes, or no = maybe", "all": "a; b"}),
        ("crews", "Ann=Bo, Cy", {"Ann": ["Bo", "Cy"]}),
    ],
)
def test_entries_and_names_with_values_are_read(path: str, written: str, value: Any) -> None:
    assert read(fields(FLEET)[path], written) == value
    assert json.loads(answer_with(FLEET, {(path,): value})) == {path: value}


@pytest.mark.parametrize(
    ("path", "written"),
    [
        *(("places", text) for text in ("1", "1 2 3", "1 x", "1.5 2", "[1", "1 2; 3")),
        *(("marks", text) for text in ("Ann", "Ann=x", "=3", "Ann=1, Ann=2", "{")),
        *(("words", text) for text in ("Ann", "Ann=\udcff")),
    ],
)
def test_other_entries_are_refused_with_what_may_be_written(path: str, written: str) -> None:
    with pytest.raises(ValueError, match=r"^write (whole numbers, one entry|NAME=VALUE, one) per line"):
        read(fields(FLEET)[path], written)


def test_what_no_short_form_fits_is_json() -> None:
    assert fields(FLEET)["ships"].kind is Kind.JSON
    assert hint(fields(FLEET)["moves"]) == "whole numbers, one entry per line, such as 1 2 3 (2 for to, n)"


def test_a_terse_form_says_only_what_differs_from_the_defaults() -> None:
    assert answer_with(FLEET, {("moves",): [], ("words",): {"Ann": "né"}}) == '{"words": {"Ann": "né"}}'
    assert answer_with(FLEET, {}) == "{}"
    with pytest.raises(ValueError, match=r"marks.Ann: .* less than or equal to 10"):
        answer_with(FLEET, {("marks",): {"Ann": 11}})
