"""The form of an answer: the fields that a person fills in, read from the JSON schema of a pydantic model.

The model is the world's own. The options of `hobbes answer`, its questions in the terminal and the form of
the page are made from these fields, so that no command and no page knows what a world asks.
"""

import json
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError

from hobbes.engine.record import Json
from hobbes.engine.world import in_one_line

Path: TypeAlias = tuple[str, ...]
"""The names that lead to a value in an answer."""

Schema: TypeAlias = Mapping[str, Any]


def read_setting(text: str) -> tuple[str, Any]:
    """Return key and value of `key=value`, where the value is JSON or else text.

    Raise ValueError for anything else.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"{text!r}: write key=value")
    try:
        return key.strip(), json.loads(value)
    except ValueError:
        return key.strip(), value.strip()
    except RecursionError as error:
        raise ValueError(f"{key}: the value is nested too deep") from error


class Kind(StrEnum):
    """What is written for a field, in words."""

    WHOLE = "a whole number"
    NUMBER = "a number"
    TEXT = "text on one line"
    YES_NO = "yes or no"
    CHOICE = "one of"
    TEXTS = "texts separated by commas"
    PAIRS = "NAME=VALUE, one per line"
    TEXT_OR_PAIRS = "one text, or NAME=VALUE, one per line"
    AMOUNTS = "whole numbers"
    NUMBERS = "whole numbers, one entry per line"
    JSON = "JSON"


SIMPLE = {"integer": Kind.WHOLE, "number": Kind.NUMBER, "string": Kind.TEXT, "boolean": Kind.YES_NO}
"""The kinds of simple types of JSON schema."""

PAIRED = {Kind.WHOLE, Kind.TEXT, Kind.TEXTS, Kind.CHOICE, Kind.AMOUNTS}
"""The kinds of values that may stand behind the names of pairs."""

NAMED = {Kind.PAIRS, Kind.TEXT_OR_PAIRS, Kind.AMOUNTS}
"""The kinds of fields whose value holds values under names."""

LIMITS: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "minimum": ("at least {}", operator.ge),
    "exclusiveMinimum": ("more than {}", operator.gt),
    "maximum": ("at most {}", operator.le),
    "exclusiveMaximum": ("less than {}", operator.lt),
    # Fractions have no exact multiples; pydantic has the last word on them.
    "multipleOf": ("a multiple of {}", lambda value, n: isinstance(value, float) or value % n == 0),
    "minLength": ("at least {} characters", lambda value, n: len(value) >= n),
    "maxLength": ("at most {} characters", lambda value, n: len(value) <= n),
    "minItems": ("at least {} of them", lambda value, n: len(value) >= n),
    "maxItems": ("at most {} of them", lambda value, n: len(value) <= n),
}
"""The limits of JSON schema that are checked here: in words, and as a test of a value."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A part of an entry that is written in whole numbers: so many of them, for a key if it has one."""

    key: str
    count: int
    alone: bool
    """Whether the part is a number itself, and no list."""


@dataclass(frozen=True, slots=True)
class Field:
    """One value of an answer, and what may be written for it.

    A field that is neither `required` nor `defaulted` may be left out; the model then fills it in. A
    `nullable` one may be left empty. `slots` are what an entry of whole numbers holds; `values` is the kind
    of what stands behind the names of pairs, and `choices` and `slots` are then those of each value.
    """

    path: Path
    kind: Kind
    title: str
    description: str = ""
    required: bool = False
    defaulted: bool = False
    default: Json = None
    nullable: bool = False
    choices: tuple[Json, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    slots: tuple[Slot, ...] = ()
    values: Kind = Kind.TEXT

    @property
    def name(self) -> str:
        """The path as one word that no other path has: a JSON pointer (RFC 6901)."""
        return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in self.path)

    @property
    def left_out(self) -> bool:
        """Whether nothing has to be written and nothing is known to stand there instead."""
        return not self.required and not self.defaulted

    @property
    def is_box(self) -> bool:
        """Whether it is a box to tick: a yes-or-no field that may not be left empty."""
        return self.kind is Kind.YES_NO and not self.nullable and not self.left_out


@dataclass(frozen=True, slots=True)
class Group:
    """The fields of one object in an answer; `key` is its shortest name that no other group has."""

    path: Path
    key: str
    title: str
    description: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of an answer, in groups, and the model that has the last word.

    Of a `terse` form only those values are part of the answer that are not the defaults.
    """

    model: type[BaseModel]
    groups: tuple[Group, ...]
    terse: bool = False

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields in their order."""
        return tuple(one for group in self.groups for one in group.fields)


def form_of(model: type[BaseModel], *, terse: bool = False) -> Form:
    """Return the form of a model's JSON."""
    schema = model.model_json_schema()
    groups = [group for group in _groups(schema, schema.get("$defs", {}), ()) if group.fields]
    last_names = Counter(group.path[-1] for group in groups if group.path)
    keyed = (
        replace(group, key=group.path[-1] if last_names[group.path[-1]] == 1 else ".".join(group.path))
        if group.path
        else group
        for group in groups
    )
    return Form(model, tuple(replace(group, title=group.title or group.key) for group in keyed), terse)


def _groups(  # noqa: PLR0913  what is known on the way down
    schema: Schema,
    defs: Mapping[str, Schema],
    path: Path,
    *,
    title: str = "",
    inherited: Mapping[str, Json] | None = None,
    above: frozenset[str] = frozenset(),
) -> Iterator[Group]:
    """Yield the group of an object, then those of the objects in it.

    `inherited` is the default of the whole object; `above` are the models that it is nested in.
    """
    above |= {schema.get("$ref", "")}
    whole = resolve_reference(schema, defs)
    fields, nested = [], []
    for name, member in _members(whole, defs).items():
        default = _default(name, member, inherited)
        within = resolve_reference(member, defs)
        if _members(within, defs) and member.get("$ref") not in above:
            objects = default[0] if default and isinstance(default[0], Mapping) else None
            nested.append((name, member, objects))
        else:
            required = name in whole.get("required", ()) and not default
            fields.append(_field((*path, name), member, defs, default, required=required))
    yield Group(path, "", title, whole.get("description", "") if path else "", tuple(fields))
    for name, member, objects in nested:
        yield from _groups(
            member, defs, (*path, name), title=member.get("title", ""), inherited=objects, above=above
        )


def resolve_reference(schema: Schema, defs: Mapping[str, Schema]) -> Schema:
    """Return a schema with its reference replaced by what is meant; what stands beside it has precedence."""
    while "$ref" in schema:
        meant = defs[schema["$ref"].rpartition("/")[2]]
        schema = {**meant, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _members(schema: Schema, defs: Mapping[str, Schema]) -> Mapping[str, Schema]:
    """Return the members of an object by name; a mapping has some if its keys are known."""
    names = resolve_reference(schema.get("propertyNames", {}), defs)
    keys = names.get("enum", [names["const"]] if "const" in names else [])
    each = schema.get("additionalProperties")
    known = {str(key): each for key in keys} if isinstance(each, Mapping) else {}
    return {**known, **schema.get("properties", {})}


def _default(name: str, member: Schema, inherited: Mapping[str, Json] | None) -> tuple[Json, ...]:
    """Return the default of a member, or nothing; a default of the whole object comes first."""
    if inherited is not None and name in inherited:
        return (inherited[name],)
    return (member["default"],) if "default" in member else ()


def _field(
    path: Path, member: Schema, defs: Mapping[str, Schema], default: tuple[Json, ...], *, required: bool
) -> Field:
    """Return the field of a member that is not a group."""
    schema = resolve_reference(member, defs)
    others = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    nullable = "anyOf" in schema and len(others) < len(schema["anyOf"])
    if len(others) == 1:
        schema = {**resolve_reference(others[0], defs), **schema}
    kind = _kind(schema, defs)
    each = _value_of_pairs(schema, defs) if kind in {Kind.PAIRS, Kind.TEXT_OR_PAIRS} else schema
    values = Kind.TEXT if each is schema else _kind_in_pairs(each, defs)
    return Field(
        path,
        kind,
        member.get("title") or path[-1].replace("_", " "),
        schema.get("description", ""),
        required,
        bool(default),
        default[0] if default else None,
        nullable,
        tuple(each.get("enum", ())) or ((each["const"],) if "const" in each else ()),
        _limits(schema, kind),
        _slots(schema if kind is Kind.NUMBERS else {"items": each}, defs),
        values,
    )


def _value_of_pairs(schema: Schema, defs: Mapping[str, Schema]) -> Schema:
    """Return the schema of the values of pairs, which may stand beside a text."""
    holders = (schema, *schema.get("anyOf", ()))
    each = next(one["additionalProperties"] for one in holders if "additionalProperties" in one)
    return resolve_reference(each, defs)


def pair_field(of: Field, name: str) -> Field:
    """Return the field of one value of pairs, or of one amount, which may be left out."""
    values = Kind.WHOLE if of.kind is Kind.AMOUNTS else of.values
    return Field((*of.path, name), values, name, choices=of.choices, slots=of.slots)


def _limits(schema: Schema, kind: Kind) -> dict[str, Any]:
    """Return the limits of a value; of a whole number the least and the greatest that fit."""
    limits = {limit: schema[limit] for limit in LIMITS if limit in schema} if kind is not Kind.JSON else {}
    if kind is Kind.WHOLE:
        if "exclusiveMinimum" in limits:
            limits["minimum"] = limits.pop("exclusiveMinimum") + 1
        if "exclusiveMaximum" in limits:
            limits["maximum"] = limits.pop("exclusiveMaximum") - 1
    return limits


def _kind(schema: Schema, defs: Mapping[str, Schema]) -> Kind:
    """Return what is written for a value; what has no simpler kind is written as JSON."""
    if "enum" in schema or "const" in schema:
        return Kind.CHOICE
    if (
        schema.get("type") == "array"
        and resolve_reference(schema.get("items", {}), defs).get("type") == "string"
    ):
        return Kind.TEXTS
    if schema.get("type") == "array" and _slots(schema, defs):
        return Kind.NUMBERS
    each = schema.get("additionalProperties")
    if isinstance(each, Mapping) and _kind_in_pairs(resolve_reference(each, defs), defs) in PAIRED:
        return Kind.PAIRS
    if [_kind(one, defs) for one in schema.get("anyOf", ())] == [Kind.TEXT, Kind.PAIRS]:
        return Kind.TEXT_OR_PAIRS
    return SIMPLE.get(schema.get("type", ""), Kind.JSON)


def _kind_in_pairs(schema: Schema, defs: Mapping[str, Schema]) -> Kind:
    """Return what is written for a value of pairs; an object of whole numbers is written as these."""
    slots = _slots({"items": schema}, defs) if schema.get("type") == "object" else ()
    return Kind.AMOUNTS if slots and all(slot.alone for slot in slots) else _kind(schema, defs)


def _slots(schema: Schema, defs: Mapping[str, Schema]) -> tuple[Slot, ...]:
    """Return what the entries of a list hold if each is written in a known number of whole numbers."""
    entry = resolve_reference(schema.get("items", {}), defs)
    if entry.get("type") == "array":
        parts = {"": entry}
    else:
        parts = {name: resolve_reference(one, defs) for name, one in _members(entry, defs).items()}
    slots = []
    for name, part in parts.items():
        least, most = part.get("minItems"), part.get("maxItems")
        if part.get("type") == "integer":
            slots.append(Slot(name, 1, alone=True))
        elif (
            least == most and most and resolve_reference(part.get("items", {}), defs).get("type") == "integer"
        ):
            slots.append(Slot(name, most, alone=False))
        else:
            return ()
    return tuple(slots)


def hint(of: Field) -> str:
    """Return what may be written for a field, in words."""
    words = of.kind.value
    if of.kind is Kind.CHOICE:
        words += " " + ", ".join(text_of_value(of, choice) for choice in of.choices)
    if of.kind is Kind.NUMBERS:
        words += f", such as {_example(of)}"
    if of.values is Kind.AMOUNTS:
        words += f", such as NAME={_example(of)}"
    limits = dict(of.limits)
    if {"minimum", "maximum"} <= set(limits):
        words += f" from {limits.pop('minimum')} to {limits.pop('maximum')}"
    words = ", ".join([words, *(LIMITS[limit][0].format(bound) for limit, bound in limits.items())])
    return f"{words}, or nothing" if of.nullable else words


def _example(of: Field) -> str:
    """Return one entry of whole numbers as it is written."""
    count = sum(slot.count for slot in of.slots)
    named = [f"{slot.count} for {slot.key}" if slot.count > 1 else slot.key for slot in of.slots if slot.key]
    return " ".join(map(str, range(1, count + 1))) + (f" ({', '.join(named)})" if named else "")


def text_of_value(of: Field, value: Json) -> str:
    """Return a value as it is written for a field."""
    if value is None:
        return ""
    if of.kind is Kind.TEXTS and isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if of.kind is Kind.YES_NO and isinstance(value, bool):
        return "yes" if value else "no"
    if of.kind in {Kind.PAIRS, Kind.NUMBERS} and not value:
        return ""
    if of.kind in {Kind.TEXT, Kind.TEXT_OR_PAIRS, Kind.CHOICE} and isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def read(of: Field, text: str) -> Json:
    """Return the value that a text spells; ValueError says what may be written."""
    if of.nullable and not text:
        return None
    try:
        value = _value(of, of.kind, text)
        fits = all(LIMITS[limit][1](value, bound) for limit, bound in of.limits.items())
    except (ValueError, LookupError, RecursionError):  # JSON can be nested too deeply to be read
        fits = False
    if not fits:
        raise ValueError(f"write {hint(of)}")
    return value


def _value(of: Field, kind: Kind, text: str) -> Json:  # noqa: PLR0911  one for each kind
    """Return the value of a kind that a text spells. Raise ValueError or LookupError if it spells none."""
    match kind:
        case Kind.WHOLE if re.fullmatch("[+-]?[0-9]{1,18}", text):  # with more digits it is refused
            return int(text)
        case Kind.NUMBER if math.isfinite(number := float(text)):
            return number
        case Kind.TEXT if not re.search("[\r\n\ud800-\udfff]", text):  # no file can hold half a character
            return text
        case Kind.TEXTS:
            return [_value(of, Kind.TEXT, one.strip()) for one in text.split(",") if one.strip()]
        case Kind.YES_NO:
            return {"yes": True, "true": True, "no": False, "false": False}[text.lower()]
        case Kind.CHOICE:
            return {text_of_value(of, choice): choice for choice in of.choices}[text]
        case Kind.PAIRS | Kind.TEXT_OR_PAIRS if not text.lstrip().startswith(("{", '"')):
            return _pairs(of, text) if kind is Kind.PAIRS or "=" in text else _value(of, Kind.TEXT, text)
        case Kind.NUMBERS | Kind.AMOUNTS if not text.lstrip().startswith("["):
            return _numbers(of, text)
        case Kind.PAIRS | Kind.TEXT_OR_PAIRS | Kind.NUMBERS | Kind.JSON:
            value: Json = json.loads(text)
            return value
    raise ValueError(text)


def _entries(text: str) -> list[str]:
    """Return the entries of a text: its lines, or what stands between semicolons."""
    return [one.strip() for one in text.replace(";", "\n").splitlines() if one.strip()]


def _pairs(of: Field, text: str) -> Json:
    """Read pairs of a name and a value. Pairs of numbers may stand between commas or semicolons, too."""
    pairs: dict[str, Json] = {}
    for entry in _entries(text.replace(",", "\n")) if of.values is Kind.WHOLE else re.split("[\r\n]", text):
        if not entry.strip():
            continue
        name, equals, value = entry.partition("=")
        if not equals or not name.strip() or name.strip() in pairs:
            raise ValueError(text)
        key = str(_value(of, Kind.TEXT, name.strip()))
        pairs[key] = _value(pair_field(of, key), of.values, value.strip())
    return pairs


def _numbers(of: Field, text: str) -> Json:
    """Read entries of whole numbers; of amounts there is only one."""
    entries: list[Json] = []
    for entry in _entries(text):
        numbers = [_value(of, Kind.WHOLE, one) for one in re.split(r"[\s,]+", entry)]
        if len(numbers) != sum(slot.count for slot in of.slots):
            raise ValueError(text)
        left = iter(numbers)
        parts = {slot.key: next(left) if slot.alone else list(islice(left, slot.count)) for slot in of.slots}
        entries.append(parts.get("", parts))
    if of.kind is Kind.AMOUNTS:
        (amounts,) = entries
        return amounts
    return entries


def answer_with(form: Form, values: Mapping[Path, Json]) -> str:
    """Return the answer that has these values, as JSON; the other fields have their defaults.

    ValueError says in one line what the model refuses.
    """
    if form.terse:
        defaults = {one.path: one.default for one in form.fields if one.defaulted}
        values = {path: value for path, value in values.items() if value != defaults.get(path, ...)}
    answer: dict[str, Any] = {}
    begun = {path[0] for path in values}
    for one in form.fields:
        if one.path in values or (one.defaulted and one.path[0] in begun and not form.terse):
            place = answer
            for name in one.path[:-1]:
                place = place.setdefault(name, {})
            place[one.path[-1]] = values.get(one.path, one.default)
    return complete_answer(form, json.dumps(answer, ensure_ascii=not form.terse))


def complete_answer(form: Form, answer: str) -> str:
    """Return an answer in JSON as the model has it, with every default in it unless the form is terse.

    ValueError says in one line what the model refuses.
    """
    try:
        valid = form.model.model_validate_json(answer)
    except ValidationError as error:
        depths = (len(one.path) + (one.kind is Kind.PAIRS) for one in form.fields)
        raise ValueError(in_one_line(error, max(depths, default=1))) from error
    return answer if form.terse else valid.model_dump_json(by_alias=True)
