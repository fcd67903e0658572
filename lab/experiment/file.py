"""Experiment files: arms or factors, seeds and what to compare, in TOML."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from engine.world import LARGEST_SEED
from lab.errors import UsageError
from lab.files import read_toml

NULL = "null"
"""The name of the null arm: the baseline, played a second time with answers of its own."""

MOST_SEEDS = 100_000
"""More seeds than this are a slip of the keyboard."""

MOST_ARMS = 1_000
"""More arms than this, made of factors, are a slip of the keyboard, too."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def _name(given: object) -> object:
    """Refuse names that could not be a part of a run's name."""
    if isinstance(given, str) and _NAME.fullmatch(given) is None:
        raise ValueError(f"{given!r} is not a name; use letters, digits, hyphens and underscores")
    return given


def _seeds(given: object) -> tuple[int, ...]:
    """Return the seeds: as many as a number says, from 1 on, or those of a list."""
    if type(given) is int and given > MOST_SEEDS:
        raise ValueError(f"{given} are too many seeds; write at most {MOST_SEEDS}")
    if type(given) is int and given > 0:
        return tuple(range(1, given + 1))
    if isinstance(given, list) and given and all(type(s) is int and abs(s) <= LARGEST_SEED for s in given):
        if len(set(given)) == len(given):
            return tuple(given)
        raise ValueError("a seed is listed twice")
    raise ValueError("write the number of seeds, at least 1, or a list of whole numbers")


def _text(given: object) -> object:
    """Refuse an empty text."""
    if given == "":
        raise ValueError("is empty; give it a value, or leave it out")
    return given


Name = Annotated[str, BeforeValidator(_name)]
Text = Annotated[str, BeforeValidator(_text)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Options(_Table):
    """What an arm may have different from the others."""

    model: Text | None = None
    prompts: Text | None = None
    lang: Text | None = None
    agents: int | None = Field(None, ge=1)
    settings: dict[str, JsonValue] = Field(default={}, alias="set")


class Factors(BaseModel):
    """Factors, each with its values: settings, or `model`, `prompts`, `lang` and `agents`."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)
    __pydantic_extra__: dict[str, Annotated[list[JsonValue], Field(min_length=1)]]

    design: Literal["crossed", "one-at-a-time"] = "crossed"

    def combinations(self) -> Iterator[dict[str, JsonValue]]:
        """Yield the values of each arm, by factor; in the baseline of `one-at-a-time` no factor has one."""
        values = self.__pydantic_extra__
        if self.design == "crossed":
            yield from (dict(zip(values, one, strict=True)) for one in product(*values.values()))
        else:
            yield {}
            yield from ({factor: value} for factor, of_factor in values.items() for value in of_factor)

    def count(self) -> int:
        """Return the number of arms."""
        lengths = [len(values) for values in self.__pydantic_extra__.values()]
        return math.prod(lengths) if self.design == "crossed" else 1 + sum(lengths)


class Compare(_Table):
    """What is compared: each arm with the baseline, by these measures."""

    baseline: str | None = None
    """The first arm if none is named."""
    measures: list[str] | None = None
    """The headline measures of the world if none are named."""
    null: bool = True
    """Whether the null arm is played."""


class Hypothesis(_Table):
    """What somebody expects of an experiment."""

    text: Text
    measure: str
    arm: str
    direction: Literal["higher", "lower"]
    test: Literal["baseline", "halves"] = "baseline"
    """Whether the arm is compared with the baseline, or the second half of its runs with the first."""


class ExperimentFile(Options):
    """An experiment file."""

    name: Name
    world: str
    rounds: int | None = Field(None, ge=1)
    seeds: Annotated[tuple[int, ...], BeforeValidator(_seeds)]
    """`seeds = 20` stands for the seeds 1 to 20."""
    arms: dict[Name, Options] = {}
    """Those of the factors if the file has factors."""
    factors: Factors | None = None
    compare: Compare = Compare()
    hypotheses: list[Hypothesis] = Field([], alias="hypothesis")

    @property
    def baseline(self) -> str:
        """The arm that the others are compared with."""
        return self.compare.baseline or next(iter(self.arms))

    def place(self, arm: str) -> str:
        """Return the words for where an arm stands in the file."""
        return f"[factors] {arm}" if self.factors else f"[arms.{arm}]"


def read_experiment_file(path: Path) -> tuple[ExperimentFile, dict[str, Any]]:
    """Return an experiment file, and its content as plain JSON. Raise UsageError, in one line."""
    content = read_toml(path)
    try:
        return parse(content), content
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error


def parse(content: Mapping[str, Any]) -> ExperimentFile:
    """Return the experiment of a file's content. Raise ValueError, in one line, if it is wrong."""
    try:
        file = ExperimentFile.model_validate(content)
    except ValidationError as error:
        problem = error.errors()[0]
        raise ValueError(_in_words(problem["type"], problem["msg"], problem["loc"])) from error
    if bool(file.arms) == bool(file.factors) or (file.factors and not file.factors.model_extra):
        raise ValueError("write either [arms] or [factors], with at least one entry")
    if file.factors:
        file = file.model_copy(update={"arms": _arms(file.factors)})
    if NULL in file.arms:
        raise ValueError(f"[arms.{NULL}]: this name stands for the null arm; choose another one")
    if file.baseline not in file.arms:
        raise ValueError(
            f"[compare] baseline: there is no arm {file.baseline!r}; arms: {', '.join(file.arms)}"
        )
    if file.rounds is not None and "rounds" in file.settings:
        raise ValueError("rounds is set twice, by itself and in [set]; set it once")
    if len(file.arms) == 1 and not file.compare.null:
        table = "[factors]" if file.factors else "[arms]"
        raise ValueError(f"{table}: there is one arm and no null arm, so nothing can be compared")
    if file.compare.measures is not None and not file.compare.measures:
        raise ValueError("[compare] measures: name at least one, or leave it out")
    _check_hypotheses(file)
    return file


def _check_hypotheses(file: ExperimentFile) -> None:
    """Raise ValueError, in one line, for a hypothesis about an arm that it cannot be about."""
    for number, one in enumerate(file.hypotheses, start=1):
        if one.arm not in file.arms:
            raise ValueError(
                f"[[hypothesis]] {number} arm: there is no arm {one.arm!r}; arms: {', '.join(file.arms)}"
            )
        if one.test == "baseline" and one.arm == file.baseline:
            raise ValueError(
                f"[[hypothesis]] {number} arm: {one.arm!r} is the baseline itself; name another arm"
            )


def _arms(factors: Factors) -> dict[str, Options]:
    """Return the arms of factors by their names. Raise ValueError, in one line, for a wrong value."""
    if factors.count() > MOST_ARMS:
        raise ValueError(f"[factors]: {factors.count():,} are too many arms; make at most {MOST_ARMS:,}")
    arms: dict[str, Options] = {}
    for values in factors.combinations():
        name = ",".join(f"{factor}={_level(value)}" for factor, value in values.items()) or "baseline"
        if name in arms:
            raise ValueError(f"[factors]: two arms would have the name {name!r}; change one of their values")
        own = {key: value for key, value in values.items() if key in Options.model_fields}
        settings = {key: value for key, value in values.items() if key not in own}
        try:
            arms[name] = Options.model_validate({**own, "set": settings})
        except ValidationError as error:
            problem = error.errors()[0]
            raise ValueError(
                _in_words(problem["type"], problem["msg"], ("factors", *problem["loc"]))
            ) from error
    return arms


def _level(value: JsonValue) -> str:
    """Return a value as a part of an arm's name, with hyphens in place of what a shell might not take."""
    if isinstance(value, int | float):
        return json.dumps(value)
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[^\w.]+", "-", text).strip("-")


def _in_words(kind: str, message: str, place: tuple[int | str, ...]) -> str:
    """Return what pydantic finds wrong, with table and key."""
    names = [str(name) for name in place if name != "[key]"]
    table = {"arms": 2, "compare": 1, "factors": 1, "hypothesis": 2, "set": 1}.get(names[0], 0)
    where = f"[{'.'.join(names[:table])}]" if table else ""
    if names[0] == "hypothesis":
        where = " ".join(["[[hypothesis]]", *(str(int(number) + 1) for number in place[1:2])])
    key = ".".join(names[table:])
    message = message.removeprefix("Value error, ")
    if kind == "extra_forbidden":
        tables: dict[str, type[BaseModel]] = {"arms": Options, "compare": Compare, "hypothesis": Hypothesis}
        fields = tables.get(names[0], ExperimentFile).model_fields
        keys = sorted(field.alias or name for name, field in fields.items())
        message, key = f"unknown key {key!r}; the keys are {', '.join(keys)}", ""
    elif kind == "missing":
        message = "is missing"
    elif kind in {"dict_type", "model_type"}:
        message = "write a table here"
    elif kind == "list_type":
        message = "write a list of values"
    at = " ".join(part for part in (where, key) if part)
    return f"{at}: {message}" if at else message
