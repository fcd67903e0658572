"""What a probe says: how often each act occurs in each cell, what differs between columns, what they cost."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from statistics import fmean
from typing import Any, NamedTuple

from hobbes.engine.answer import DECISIONS
from hobbes.engine.names import did_you_mean
from hobbes.engine.record import Drop
from hobbes.engine.turn import answer_fields
from hobbes.engine.world import AnyWorld
from hobbes.errors import MissingError
from hobbes.experiment.statistics import ALPHA, holm
from hobbes.nodes.caps import Spent
from hobbes.nodes.journal import Call
from hobbes.nodes.reading import deciding, read
from hobbes.probe.column_comparison import Interval, Pair, answers_needed, interval, may_differ, p_value
from hobbes.probe.probe_plan import Column, Place, columns_kept, place, tokens_of
from hobbes.probe.situations import Situation, with_run_name
from hobbes.store.history import intents_of, stored_turn
from hobbes.store.home import Store
from hobbes.store.prices import usd
from hobbes.store.probe_tables import KeptAnswer, answers_of, probe_named
from hobbes.worlds import world_named

PARTS = ("prompts", "lang", "model", "settings", "paraphrase", "about")
"""What JSON tells of a column."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a probe, read and validated by today's code. Its acts are None if the call failed."""

    number: int
    call: Call
    """The call that counts."""
    acts: tuple[str, ...] | None
    drops: tuple[Drop, ...]
    intent: Any
    """What the rules accept of it; for a failed call, the default action."""

    @property
    def why(self) -> str:
        """Its reasoning: what the answer says of it, or else what came with the call."""
        return str(self.intent.reflection.reasoning or self.call.reply.reasoning)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain JSON."""
        reply = self.call.reply
        return {
            "number": self.number,
            "outcome": self.call.outcome,
            "acts": None if self.acts is None else list(self.acts),
            "answer": reply.text,
            "reasoning": reply.reasoning,
            "rejections": [drop.to_json() for drop in self.drops],
            "error": reply.error,
        }


@dataclass(frozen=True, slots=True)
class CellAnswers:
    """The answers of a cell."""

    answers: tuple[Answer, ...] = ()

    @property
    def decisions(self) -> int:
        """How many of the answers are decisions."""
        return sum(one.acts is not None for one in self.answers)

    def having(self, act: str) -> int:
        """Return how many of the answers have an act."""
        return sum(act in one.acts for one in self.answers if one.acts is not None)

    def shares(self, acts: Iterable[str]) -> dict[str, float]:
        """Return the share of the decisions with each act; empty if there is no decision."""
        return {act: self.having(act) / self.decisions for act in acts if self.decisions}


class ColumnResult(NamedTuple):
    """What a column cost, and what became of its calls."""

    column: Column
    answers: int
    failures: Mapping[str, int]
    """Failed answers by outcome."""
    rejections: Mapping[str, int]
    """Rejections by code."""
    spent: Spent


class Difference(NamedTuple):
    """How much more often an act occurs in a column than in the one it is compared with."""

    column: str
    against: str
    act: str
    situations: int
    """How many situations have decisions in both columns."""
    before: float
    now: float
    """The means over the situations of the share of answers with the act."""
    difference: Interval
    p: float
    p_holm: float

    @property
    def is_found(self) -> bool:
        """Whether the corrected p is below the level."""
        return self.p_holm < ALPHA


@dataclass(frozen=True)
class ProbeResult:
    """What a probe says."""

    name: str
    world: AnyWorld
    times: int
    situations: tuple[Situation, ...]
    recorded: tuple[tuple[str, ...] | None, ...]
    """The acts of the recorded decision in each situation; None if the turn was not played."""
    columns: tuple[ColumnResult, ...]
    cells: Mapping[tuple[int, str], CellAnswers]
    places: tuple[Place, ...] = field(compare=False, repr=False)
    """Where each situation is asked in the first column."""

    @property
    def has_decisions(self) -> bool:
        """Whether any of its answers is a decision."""
        return any(cell.decisions for cell in self.cells.values())

    @property
    def failed(self) -> tuple[Answer, ...]:
        """The answers that are failed calls."""
        return tuple(one for cell in self.cells.values() for one in cell.answers if one.acts is None)

    @cached_property
    def acts(self) -> tuple[str, ...]:
        """The acts that occur. One with its object is left out if the same answers have the act alone."""
        there: dict[str, set[tuple[int, str, int]]] = {}
        for (situation, column), cell in self.cells.items():
            for one in cell.answers:
                for act in one.acts or ():
                    there.setdefault(act, set()).add((situation, column, one.number))
        return tuple(
            act
            for act, places in there.items()
            if not any(act.startswith(f"{other} ") and places == there[other] for other in there)
        )

    def changes(self, situation: int) -> dict[str, dict[str, float]]:
        """Return how much the share of each act changes in each column that is compared with another one."""
        found = {}
        for column in (result.column for result in self.columns):
            if against := self.against(column):
                before, now = (
                    self.cell(situation, name).shares(self.acts) for name in (against, column.name)
                )
                found[column.name] = {act: now[act] - before[act] for act in now if before}
        return found

    def most_changed(self, situation: int) -> tuple[float, str]:
        """Return how much the share of an act changes at most in a situation, and in which column."""
        sizes = [
            (max(map(abs, of.values()), default=0.0), name) for name, of in self.changes(situation).items()
        ]
        return max(sizes, key=itemgetter(0), default=(0.0, self.columns[0].column.name))

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """The differences of each column by each act that may differ."""
        found = [one for result in self.columns for one in self._differences(result.column)]
        corrected = holm([one.p for one in found])
        return tuple(
            one._replace(p_holm=one.p if p is None else p) for one, p in zip(found, corrected, strict=True)
        )

    def _differences(self, column: Column) -> Iterator[Difference]:
        """Yield the differences of a column from the one it is compared with, not corrected yet."""
        reference = self.against(column)
        if reference is None:
            return
        for act in self.acts:
            pairs = self._pairs(act, reference, column.name)
            if may_differ(pairs):
                before = fmean(one.before / one.of_before for one in pairs)
                now = fmean(one.now / one.of_now for one in pairs)
                sides = (column.name, reference, act, len(pairs), before, now)
                p = p_value(pairs)
                yield Difference(*sides, interval(pairs), p, p)

    def _pairs(self, act: str, reference: str, column: str) -> list[Pair]:
        """Return how often an act occurs in two columns, in each situation with decisions in both."""
        numbers = range(1, len(self.situations) + 1)
        cells = [(self.cell(n, reference), self.cell(n, column)) for n in numbers]
        return [
            Pair(before.having(act), before.decisions, now.having(act), now.decisions)
            for before, now in cells
            if before.decisions and now.decisions
        ]

    def answers_needed(self, column: Column, reference: str) -> int:
        """Return how many answers each cell needs before a difference can be found, 0 if it has them.

        Its p has to be below ALPHA after Holm's correction for all differences.
        """
        sizes = [(one.of_before, one.of_now) for one in self._pairs("", reference, column.name)]
        return answers_needed(sizes, len(self.situations), ALPHA / max(1, len(self.differences)))

    def against(self, column: Column) -> str | None:
        """Return the column that another one is compared with.

        It is the recorded one of the same model, and for that of a further model the first one.
        """
        first, *_ = (result.column for result in self.columns)
        if column.name == first.name:
            return None
        if column.is_recorded:
            return first.name
        return next(
            result.column.name
            for result in self.columns
            if result.column.is_recorded
            and (result.column.model, result.column.model_settings) == (column.model, column.model_settings)
        )

    def number(self, situation: int | str) -> int:
        """Return the number of a situation; raise MissingError for a number that no situation has."""
        last = len(self.situations)
        if not re.fullmatch("[0-9]{1,5}", str(situation)) or not 1 <= int(situation) <= last:
            raise MissingError(
                f"probe {self.name} has no situation {situation}; its situations are 1 to {last}"
            )
        return int(situation)

    def column(self, name: str) -> Column:
        """Return the column with this name or short name. Raise MissingError, which lists the short names."""
        columns = {result.column.name: result.column for result in self.columns}
        columns |= {short: columns[full] for full, short in self.short_names.items()}
        if name not in columns:
            hint = did_you_mean(name, columns, f"its columns: {', '.join(self.short_names.values())}")
            raise MissingError(f"probe {self.name} has no column {name!r}{hint}")
        return columns[name]

    @cached_property
    def short_names(self) -> dict[str, str]:
        """The short name of each column: that without the folders of its path, unless two would have it."""
        names = [one.column.name for one in self.columns]
        short = {name: re.sub(r"""^[^\s="]*/(?=\S)""", "", name) for name in names}
        having = Counter(short.values())
        return {full: name if having[name] == 1 else full for full, name in short.items()}

    def with_short_names(self) -> "ProbeResult":
        """Return what people are shown, in which each column has its short name."""
        short = self.short_names
        columns = [
            one._replace(column=replace(one.column, name=short[one.column.name])) for one in self.columns
        ]
        cells = {(situation, short[column]): cell for (situation, column), cell in self.cells.items()}
        return replace(self, columns=tuple(columns), cells=cells)

    def cell(self, situation: int, column: str) -> CellAnswers:
        """Return a cell; raise MissingError for an unknown situation or column."""
        return self.cells.get((self.number(situation), self.column(column).name), CellAnswers())

    def to_json(self) -> dict[str, Any]:
        """Return the probe as plain JSON."""
        return {
            "probe": self.name,
            "world": self.world.name,
            "times": self.times,
            "situations": [
                {"situation": n, **one.model_dump(), "recorded": None if acts is None else list(acts)}
                for n, (one, acts) in enumerate(zip(self.situations, self.recorded, strict=True), start=1)
            ],
            "columns": [
                {
                    "column": result.column.name,
                    **{part: getattr(result.column, part) for part in PARTS},
                    "answers": result.answers,
                    "failures": dict(result.failures),
                    "rejections": dict(result.rejections),
                    "calls": result.spent.calls,
                    "tokens": result.spent.tokens,
                    "usd": result.spent.usd,
                }
                for result in self.columns
            ],
            "acts": list(self.acts),
            "cells": [
                {
                    "situation": situation,
                    "column": column,
                    "answers": len(cell.answers),
                    "decisions": cell.decisions,
                    "acts": {act: cell.having(act) for act in self.acts},
                }
                for (situation, column), cell in self.cells.items()
            ],
            "differences": [
                {**one._asdict(), "difference": one.difference._asdict()} for one in self.differences
            ],
        }


def read_probe(store: Store, name: str) -> ProbeResult:
    """Return what a probe says; raise MissingError if there is none of this name."""
    probe = probe_named(store, name)
    situations = tuple(with_run_name(store, Situation(**row)) for row in probe.situations)
    columns = columns_kept(probe)
    calls: dict[tuple[int, str], list[KeptAnswer]] = {}
    for one in answers_of(store, probe):
        calls.setdefault((one.situation, one.column), []).append(one)
    places = {
        (n, column.name): place(store, situation, column)
        for n, situation in enumerate(situations, start=1)
        for column in columns.values()
    }
    cells = {
        key: CellAnswers(tuple(_answers(at, situations[key[0] - 1].agent, calls.get(key, ()))))
        for key, at in places.items()
    }
    return ProbeResult(
        name,
        world_named(probe.world),
        probe.times,
        situations,
        tuple(_recorded_acts(store, one) for one in situations),
        tuple(_column(column, cells, places, calls) for column in columns.values()),
        cells,
        tuple(places[n, next(iter(columns))] for n in range(1, len(situations) + 1)),
    )


def _answers(at: Place, agent: str, kept: Collection[KeptAnswer]) -> Iterator[Answer]:
    """Yield the answers of a cell: of the calls for one number, the one that counts."""
    fields = answer_fields(at.way.world, at.setting, agent)
    for number, of_number in groupby(kept, key=lambda one: one.number):
        call = deciding(one.call for one in of_number)
        if call is None:
            continue  # the follow-up question alone was kept: its question is asked again
        parsed = read(agent, call.reply, fields)
        judged = at.way.world.validate(at.state, agent, parsed.said)
        decided = parsed.outcome in DECISIONS
        acts = at.way.world.telling.acts(judged.intent) if decided else None
        yield Answer(number, call, acts, (*parsed.drops, *judged.drops) if decided else (), judged.intent)


def _recorded_acts(store: Store, situation: Situation) -> tuple[str, ...] | None:
    run = store.runs.find(situation.run)
    if situation.turn >= run.turns:
        return None
    intent = intents_of(run, stored_turn(store, run, situation.turn)).get(situation.agent)
    return None if intent is None else run.world.telling.acts(intent)


def _column(
    column: Column,
    cells: Mapping[tuple[int, str], CellAnswers],
    places: Mapping[tuple[int, str], Place],
    calls: Mapping[tuple[int, str], Sequence[KeptAnswer]],
) -> ColumnResult:
    spent = Spent()
    for key, of_cell in calls.items():
        for one in of_cell if key[1] == column.name else ():
            reply = one.call.reply
            spent.calls += 1
            spent.add(tokens_of(reply), usd(reply, places[key].model))
    answers = [one for key, cell in cells.items() if key[1] == column.name for one in cell.answers]
    failures = Counter(str(one.call.outcome) for one in answers if one.acts is None)
    rejections = Counter(drop.code for one in answers for drop in one.drops)
    return ColumnResult(column, len(answers), failures, rejections, spent)
