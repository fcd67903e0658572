"""Improvement files: a goal, what must be kept, a budget, situations and fresh seeds, in TOML."""

import re
from collections.abc import Collection
from itertools import count, islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from hobbes.engine.world import in_one_line
from hobbes.lab.errors import UsageError
from hobbes.lab.experiment.file import MAX_SEEDS, Name, Options, Text
from hobbes.lab.files import read_toml
from hobbes.lab.store.probes import MAX_TIMES

GOAL = re.compile(r"(?P<verb>minimise|maximise) (?P<measure>\S+)")
"""How a goal is written."""

GUARD = re.compile(r"(?P<measure>\S+) (?P<relation>>=|<=) (?P<share>[0-9]*\.?[0-9]+) baseline")
"""How it is written what must be kept."""

BUDGET = ("max_calls", "max_usd")
"""The keys of a file that may change while an improvement goes on."""


class Goal(NamedTuple):
    """A measure, and whether it should become lower or higher."""

    measure: str
    direction: Literal["lower", "higher"]

    @property
    def sign(self) -> int:
        """By which a value is multiplied so that more is better."""
        return 1 if self.direction == "higher" else -1


class Guard(NamedTuple):
    """What must be kept: a measure stays above (or below) a share of that of the baseline."""

    measure: str
    relation: str
    share: float

    @property
    def direction(self) -> Literal["lower", "higher"]:
        """On which side of the share of the baseline the measure has to be."""
        return "higher" if self.relation == ">=" else "lower"

    def __str__(self) -> str:
        """Return the guard as the file has it."""
        return f"{self.measure} {self.relation} {self.share:g} baseline"


class Screen(BaseModel):
    """The situations on which candidates are screened, and how often each is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    runs: list[Text] = []
    turns: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = None
    agents: list[Text] = []
    where: Text | None = None
    """An act: only situations whose recorded decision has it."""
    situations: Text | None = None
    """The path of a file of situations."""
    times: int = Field(5, ge=1, le=MAX_TIMES)


class ImproveFile(Options):
    """An improvement file. What it has of `Options` is about the games; `prompts` are what is improved."""

    name: Name
    world: str
    rounds: int | None = Field(None, ge=1)
    seeds: (
        Annotated[int, Field(ge=1, le=MAX_SEEDS)]
        | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    )
    """The seeds of the games that decide: a number of fresh ones, or a list."""
    goal: str
    keep: tuple[str, ...] = Field((), strict=False)
    proposer: Text
    """The chat model that proposes new advice."""
    max_calls: int | None = Field(None, ge=1)
    max_usd: float | None = Field(None, gt=0, allow_inf_nan=False)
    screen: Screen

    @field_validator("goal")
    @classmethod
    def _is_a_goal(cls, said: str) -> str:
        if GOAL.fullmatch(said) is None:
            raise ValueError("write minimise MEASURE or maximise MEASURE")
        return said

    @field_validator("keep")
    @classmethod
    def _are_guards(cls, said: tuple[str, ...]) -> tuple[str, ...]:
        for one in said:
            found = GUARD.fullmatch(one)
            if found is None or not float(found["share"]):
                raise ValueError(f"{one!r}: write MEASURE >= 0.95 baseline, or <= 1.05")
        return said

    @property
    def aim(self) -> Goal:
        """The goal."""
        verb, measure = self.goal.split(" ")
        return Goal(measure, "lower" if verb == "minimise" else "higher")

    @property
    def guards(self) -> tuple[Guard, ...]:
        """What must be kept."""
        return tuple(_guard(one) for one in self.keep)


def _guard(said: str) -> Guard:
    measure, relation, share, _ = said.split(" ")
    return Guard(measure, relation, float(share))


def read_improve_file(path: Path) -> tuple[ImproveFile, dict[str, Any]]:
    """Return an improvement file, and its content as plain JSON. Raise UsageError, in one line."""
    content = read_toml(path)
    try:
        return ImproveFile.model_validate(content), content
    except ValidationError as error:
        raise UsageError(
            f"{path}: {in_one_line(error, depth=3)}; docs/improve.md shows such a file"
        ) from error


def fresh_seeds(asked: int | list[int], seen: Collection[int]) -> list[int]:
    """Return the seeds of the games that decide, none of which a candidate has seen.

    Raise UsageError for a list with a seed that was seen, or with one twice.
    """
    if isinstance(asked, int):
        return [*islice((seed for seed in count(1) if seed not in seen), asked)]
    if old := sorted({*asked} & {*seen}):
        raise UsageError(
            f"seeds: the runs of [screen] have the seed {old[0]}, so candidates have seen it; take others"
        )
    if len({*asked}) < len(asked):
        raise UsageError("seeds: a seed is listed twice")
    return asked
