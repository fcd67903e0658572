"""The arms of an experiment: what one may have different from the others, and those that factors make."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement, product
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from hobbes.experiment.file_values import Several, Text

MAX_ARMS = 1_000
"""More arms than this, made of factors, are a slip of the keyboard, too."""

_IN_BRACES = re.compile(r"\{([\w-]+)\}")
"""A name in `model` that a factor or a parameter replaces."""


Parameters: TypeAlias = Mapping[str, int | float | str]
"""What names in braces stand for in `model`, in arms that have no factor of this name."""


class Table(BaseModel):
    """A table of a file, which has no other keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Options(Table):
    """What an arm may have different from the others."""

    model: Text | None = None
    prompts: Text | None = None
    paraphrases: Several | None = None
    """Prompts that say the same in other words: a claim about the arm is one about wordings like these."""
    lang: Text | None = None
    agents: int | None = Field(None, ge=1)
    settings: dict[str, JsonValue] = Field(default={}, alias="set")

    @model_validator(mode="after")
    def _one_or_several(self) -> "Options":
        if self.prompts and self.paraphrases:
            raise ValueError("write either prompts or paraphrases")
        return self


def _levels(given: object) -> object:
    """Refuse what is neither a list nor a table, and what is empty."""
    if isinstance(given, list | dict) and given:
        return given
    raise ValueError("write a list of values, or a table of values with their names")


class Factors(BaseModel):
    """Factors, each with its levels: a list of values, or a table of values by their names.

    A factor is a setting, `model`, `prompts`, `lang`, `agents`, a field of a setting such as
    `constants.c_trade_factor`, or a name that `model` mentions in braces.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)
    __pydantic_extra__: dict[str, Annotated[list[JsonValue] | dict[str, JsonValue], BeforeValidator(_levels)]]

    design: Literal["crossed", "one-at-a-time", "pairs"] = "crossed"

    def combinations(self) -> Iterator[dict[str, JsonValue]]:
        """Yield the levels of each arm, by factor; in the baseline of `one-at-a-time` no factor has one.

        A level is a value, or the name of one.
        """
        levels = self.__pydantic_extra__
        if self.design == "one-at-a-time":
            yield {}
            yield from ({factor: level} for factor, of_factor in levels.items() for level in of_factor)
        elif self.design == "pairs":
            first = next(iter(levels.values()))
            pairs = combinations_with_replacement(first, 2)
            yield from (dict(zip(levels, pair, strict=True)) for pair in pairs)
        else:
            yield from (dict(zip(levels, one, strict=True)) for one in product(*levels.values()))

    def value(self, factor: str, level: JsonValue) -> JsonValue:
        """Return the value of a level of a factor."""
        levels = self.__pydantic_extra__[factor]
        return levels[str(level)] if isinstance(levels, dict) else level

    def count(self) -> int:
        """Return the number of arms."""
        lengths = [len(levels) for levels in self.__pydantic_extra__.values()]
        if self.design == "pairs":
            return math.comb(lengths[0] + 1, 2)
        return math.prod(lengths) if self.design == "crossed" else 1 + sum(lengths)

    @model_validator(mode="after")
    def _pairs_are_of_one_list(self) -> "Factors":
        levels = [*self.__pydantic_extra__.values()]
        if self.design == "pairs" and (len(levels) != 2 or levels[0] != levels[1]):  # noqa: PLR2004
            raise ValueError("the design pairs needs two factors with the same values")
        return self


def check_parameters(factors: Factors, model: str | None, parameters: Parameters) -> None:
    """Raise ValueError, in one line, for a parameter that nothing uses."""
    levels = (factors.model_extra or {}).get("model", {})
    models = [model, *(levels.values() if isinstance(levels, dict) else levels)]
    in_models = {name for model in models for name in _IN_BRACES.findall(str(model))}
    for name in parameters:
        if name not in in_models:
            raise ValueError(
                f"[parameters] {name}: nothing uses it; write {{{name}}} in model, or leave it out"
            )
        if name in next(factors.combinations()):
            raise ValueError(f"[parameters] {name}: the factor {name} replaces it; leave one of them out")


def arms_of_factors(factors: Factors, shared: Options, parameters: Parameters) -> dict[str, Options]:
    """Return the arms of factors by their names, from what all arms have.

    Raise ValueError, in one line, for too many arms or two of one name, ValidationError for a wrong value.
    """
    if factors.count() > MAX_ARMS:
        raise ValueError(f"[factors]: {factors.count():,} are too many arms; make at most {MAX_ARMS:,}")
    arms: dict[str, Options] = {}
    for levels in factors.combinations():
        name = ",".join(f"{factor}={name_of_level(level)}" for factor, level in levels.items()) or "baseline"
        if name in arms:
            raise ValueError(f"[factors]: two arms would have the name {name!r}; change one of their values")
        values = {factor: factors.value(factor, level) for factor, level in levels.items()}
        arms[name] = Options.model_validate(_options(shared, parameters, values))
    return arms


def _options(shared: Options, parameters: Parameters, values: Mapping[str, JsonValue]) -> dict[str, Any]:
    options: dict[str, Any] = {"model": shared.model}
    options |= {factor: value for factor, value in values.items() if factor in Options.model_fields}
    settings: dict[str, JsonValue] = {}
    named = {**parameters, **values}
    in_model = set(_IN_BRACES.findall(str(options["model"]))) & named.keys()
    if isinstance(options["model"], str):
        options["model"] = _IN_BRACES.sub(lambda found: str(named.get(found[1], found[0])), options["model"])
    for factor in [name for name in values if name not in options and name not in in_model]:
        setting, _, part = factor.partition(".")
        whole = settings.get(setting, shared.settings.get(setting))
        parts = whole if isinstance(whole, dict) else {}
        settings[setting] = {**parts, part: values[factor]} if part else values[factor]
    return {**options, "set": settings}


def name_of_level(value: JsonValue) -> str:
    """Return a value as a part of an arm's name, with hyphens in place of what a shell might not take."""
    if isinstance(value, int | float):
        return json.dumps(value)
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[^\w.]+", "-", text).strip("-")
