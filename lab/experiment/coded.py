"""Codes as measures: in which share of the decisions of a run a coder found a code.

`code:fear` is the share in all decisions, `code:fear|raid` that in the decisions with the act raid, and
`code:fear|not raid` that in all others. A decision without a value is missing: it counts nowhere. A failed
call is no decision.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, NamedTuple, TypeAlias

from hobbes.engine.measuring import parts, ratio
from hobbes.lab.store.codings import shares_of_code
from hobbes.lab.store.history import intents_of, stored_turn
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run

PREFIX, IF, NOT = "code:", "|", "not "


class CodeMeasure(NamedTuple):
    """The share of decisions with a code: of all, or of those with an act or without it."""

    code: str
    act: str = ""
    has_act: bool = True

    def __str__(self) -> str:
        condition = f"{IF}{'' if self.has_act else NOT}{self.act}" if self.act else ""
        return f"{PREFIX}{self.code}{condition}"

    def in_words(self) -> str:
        """Return what the measure is, in a sentence."""
        condition = f" {'with' if self.has_act else 'without'} the act {self.act}" if self.act else ""
        return f"Decisions{condition} in which the code {self.code} was found / all that were coded."


def code_measure(name: str) -> CodeMeasure | None:
    """Return the measure of a code that a name stands for, None for any other name."""
    if not name.startswith(PREFIX):
        return None
    code, _, act = name.removeprefix(PREFIX).partition(IF)
    return CodeMeasure(code, act.removeprefix(NOT), not act.startswith(NOT))


@dataclass(frozen=True, slots=True)
class CodedRun:
    """The decisions of a run, and what a coder found in them."""

    turns: int
    acts: Mapping[tuple[int, str], tuple[str, ...]]
    """The acts of each decision, by turn and agent."""
    shares: Mapping[str, Mapping[tuple[int, str], float]]
    """How often each code was found in a decision, from 0 to 1; decisions without a value are left out."""

    def found(self, of: CodeMeasure, turns: Iterable[int] | None = None) -> list[float]:
        """Return how often a code was found in each of the decisions that a measure is about."""
        within = range(self.turns) if turns is None else {*turns}
        return [
            share
            for (turn, agent), share in self.shares.get(of.code, {}).items()
            if turn in within
            and (turn, agent) in self.acts
            and (not of.act or (of.act in self.acts[turn, agent]) == of.has_act)
        ]

    def values(self, measures: Sequence[CodeMeasure]) -> dict[tuple[str, str], float | None]:
        """Return each measure of the run and of its halves, by scope and name; None if nothing is coded."""
        return {
            (scope, str(one)): ratio(fsum(found := self.found(one, turns)), len(found))
            for one in measures
            for scope, turns in parts(range(self.turns))
        }


def coded_runs(
    store: Store, runs: Iterable[str], coder: str, codes: Iterable[str], codebook: str | None = None
) -> Iterator[CodedRun]:
    """Yield the runs with these ids, each with what a coder found by a codebook, by default by the newest.

    Raise DamagedError at a damaged run.
    """
    shares = {code: shares_of_code(store, coder, code, codebook) for code in codes}
    for reference in runs:
        run = store.runs.find(reference)
        of_run = {code: of_code.get(run.id, {}) for code, of_code in shares.items()}
        yield CodedRun(run.turns, acts_of(store, run), of_run)


def acts_of(store: Store, run: Run) -> dict[tuple[int, str], tuple[str, ...]]:
    """Return the acts of each decision of a run, by turn and agent."""
    decided = {(one.turn, one.agent) for one in store.calls.decisions(run.id) if not one.failed}
    return {
        (turn, agent): run.world.acts(intent)
        for turn in range(run.turns)
        for agent, intent in intents_of(run, stored_turn(store, run, turn)).items()
        if (turn, agent) in decided
    }


Place: TypeAlias = tuple[str, int]
"""The arm and the seed of a run of an experiment."""


class Coded(NamedTuple):
    """The measures of codes of an experiment."""

    coder: str
    values: Mapping[Place, Mapping[tuple[str, str], float | None]]
    decisions: int
    coded: Mapping[str, int]
    """How many of the decisions have a value, by code."""

    def to_json(self) -> dict[str, Any]:
        """Return who coded, and how many decisions, as plain JSON."""
        return {"coder": self.coder, "decisions": self.decisions, "coded": dict(self.coded)}


def measures_of_codes(
    store: Store, places: Mapping[Place, str], measures: Iterable[str], coder: str | None
) -> Coded | None:
    """Return the measures of codes of runs, given by id; None if no measure is one of a code."""
    asked = [one for name in measures if (one := code_measure(name))]
    if not asked or coder is None:
        return None
    codes = list(dict.fromkeys(one.code for one in asked))
    runs = dict(zip(places, coded_runs(store, places.values(), coder, codes), strict=True))
    return Coded(
        coder,
        {place: of_run.values(asked) for place, of_run in runs.items()},
        sum(len(of_run.acts) for of_run in runs.values()),
        {code: sum(len(of_run.found(CodeMeasure(code))) for of_run in runs.values()) for code in codes},
    )
