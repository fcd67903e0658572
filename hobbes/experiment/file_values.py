"""Values of experiment files that have a form of their own: names, texts, seeds, turns, several prompts."""

import re
from collections.abc import Collection
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from hobbes.engine.names import did_you_mean
from hobbes.engine.world import MAX_NAME, MAX_SEED

MAX_SEEDS = 100_000
"""More seeds than this are a slip of the keyboard."""


def _seeds(given: object) -> tuple[int, ...]:
    """Return the seeds: as many as a number says from 1 on, from one to another, or those of a list."""
    if isinstance(given, str) and (ends := re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})", given)):
        first, last = int(ends[1]), int(ends[2])
        if not first <= last <= MAX_SEED or last - first >= MAX_SEEDS:
            raise ValueError(f"{given!r}: write the smaller seed first, and at most {MAX_SEEDS} seeds")
        return tuple(range(first, last + 1))
    if type(given) is int and given > MAX_SEEDS:
        raise ValueError(f"{given} are too many seeds; write at most {MAX_SEEDS}")
    if type(given) is int and given > 0:
        return tuple(range(1, given + 1))
    if isinstance(given, list) and given and all(type(s) is int and abs(s) <= MAX_SEED for s in given):
        if len(set(given)) == len(given):
            return tuple(given)
        raise ValueError("a seed is listed twice")
    raise ValueError(
        "write the number of seeds, at least 1, the first and the last one such as '101-120', or a list"
    )


def _turn(given: object) -> object:
    """Refuse what is neither a turn nor the first of an event."""
    if (type(given) is int and given >= 0) or (isinstance(given, str) and re.fullmatch(r"first \S.*", given)):
        return given
    raise ValueError('write a turn, such as 12, or the first of an event, such as "first raid"')


def _several(given: object) -> object:
    """Refuse what is not a list of at least two values, and one that is listed twice."""
    if not isinstance(given, list | tuple) or len(given) < 2:  # noqa: PLR2004  one is no sample
        raise ValueError("list at least two; without it, there is one")
    if len({*map(str, given)}) < len(given):
        raise ValueError("one is listed twice")
    return tuple(given)


PROBLEMS = {
    "missing": "is missing",
    "int_type": "write a whole number",
    "string_type": "write a text in quotation marks",
    "list_type": "write a list of values",
    "dict_type": "write a table here",
    "model_type": "write a table here",
    "string_too_short": "is empty; give it a value, or leave it out",
    "string_pattern_mismatch": "write letters, digits, - and _, with a letter or a digit first",
}
"""What pydantic finds wrong in a file, in words."""


def unknown_key(key: str, model: type[BaseModel], hidden: Collection[str] = ()) -> str:
    """Return what is wrong with a key that a table does not have, with those that it has but for some."""
    fields = model.model_fields.items()
    keys = sorted(field.alias or name for name, field in fields if name not in hidden)
    there = did_you_mean(key, keys, f"the keys are {', '.join(keys)}")
    return f"unknown key {key!r}{there}"


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=MAX_NAME)]
"""What may be a part of a run's name."""

Text = Annotated[str, Field(min_length=1)]
Seeds = Annotated[tuple[int, ...], BeforeValidator(_seeds)]
Several = Annotated[tuple[Text, ...], BeforeValidator(_several)]
Turn = Annotated[int | str, BeforeValidator(_turn)]
