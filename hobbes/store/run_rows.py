"""The runs of a home as lists show them, which of them somebody asks for, and in which order."""

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from hobbes.engine.measures import meaning_of
from hobbes.engine.names import MOST, alike
from hobbes.engine.record import canonical
from hobbes.errors import UsageError
from hobbes.store.experiment_tables import cells_of_runs, experiment_file
from hobbes.store.home import Store
from hobbes.store.notes import Note
from hobbes.worlds import WORLDS, world_named

Row: TypeAlias = dict[str, Any]
"""A run: what `Figures.of_all_runs` and `listed` say of it."""

FACTS: Mapping[str, Callable[[Row], Any]] = {
    "name": lambda run: run["name"] or run["id"],
    "score": lambda run: max((run["scores"] or {}).values(), default=None),
    "failed": lambda run: run["failures"]["share"],
    "agents": lambda run: len(run["agents"] or ()),
    **{
        fact: operator.itemgetter(fact)
        for fact in (
            *("world", "status", "turns", "seed", "prompts", "lang", "experiment", "arm"),
            *("ending", "rejected", "corrected", "parent", "tainted", "seconds", "started", "digest"),
            *("stars", "notes"),
        )
    },
}
"""What a run can be chosen and sorted by, besides its settings and its measures. `score` is its highest."""

COSTS = ("tokens", "usd")
"""Facts that are added up only if somebody asks for them: what a run has cost. None if it is not known."""


def _contains(found: object, written: object) -> bool:
    """Return whether a text contains another one, in capitals or not."""
    return isinstance(found, str) and str(written).casefold() in found.casefold()


COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "!=": operator.ne,
    "=": operator.eq,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "~": _contains,
}
"""The signs of conditions, the longer ones of those that begin alike first."""

SIGN = "|".join(COMPARED)
"""Matches one of them."""

CONDITION = re.compile(rf"\s*([\w/-]+?)\s*({SIGN})\s*(.*?)\s*", re.DOTALL)
"""Matches a condition: a name, a sign and a value."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which runs are asked for, and in which order; what is empty asks for nothing."""

    world: str = ""
    model: str = ""
    """A part of the spec of a player."""
    where: Sequence[str] = ()
    """Conditions, such as `immunity=0` or `raid_rate>0.2`, all of which hold."""
    experiment: str = ""
    tag: str = ""
    """A tag of a note about the run, or about anything in it."""
    sort: str = ""
    """A fact, a setting or a measure; with `-` in front, the largest comes first."""


@dataclass(frozen=True, slots=True)
class Folded:
    """The runs of an experiment that are asked for, in one row."""

    experiment: str
    runs: Sequence[Row]


def listed(store: Store, asked: Asked) -> list[Row]:
    """Return the runs that are asked for, the newest first unless they are sorted otherwise.

    `asked` of a run has what it is chosen and sorted by: the value of each fact, setting or measure.
    Raise UsageError for a name that nothing has, or a condition that cannot be read.
    """
    if asked.world:
        try:
            world_named(asked.world)
        except ValueError as error:
            raise UsageError(str(error)) from error
    if asked.experiment:
        experiment_file(store, asked.experiment)
    cells = cells_of_runs(store)
    noted: dict[str, list[Note]] = {}
    for note in store.notes.of():
        noted.setdefault(note.run, []).append(note)
    runs = []
    for run in store.figures.of_all_runs():
        experiment, arm = cells.get(run["id"], (None, None))
        notes = noted.get(run["id"], [])
        told = {
            "changed": _changed(run),
            "experiment": experiment,
            "arm": arm,
            "tags": sorted({tag for note in notes for tag in note.tags}),
            "stars": sum(note.star for note in notes),
            "notes": len(notes),
            "asked": {},
        }
        runs.append({**run, **told})
    chosen = [
        run
        for run in runs
        if asked.world in {"", run["world"]}
        and asked.experiment in {"", run["experiment"]}
        and (not asked.tag or asked.tag in run["tags"])
        and (not asked.model or any(asked.model in spec for spec in (run["models"] or {}).values()))
    ]
    for condition in asked.where:
        chosen = _where(store, condition, chosen)
    return _sorted(store, asked.sort, chosen) if asked.sort else chosen


def folded(runs: Iterable[Row], asked: Asked) -> list[Row | Folded]:
    """Return runs with those of each experiment in one row, where the first of them would stand.

    If one experiment is asked for, or values of runs, all runs stand by themselves.
    """
    if asked.experiment or asked.where or asked.sort:
        return list(runs)
    of: dict[str, list[Row]] = {}
    rows: list[Row | Folded] = []
    for run in runs:
        name = run["experiment"]
        if name is None:
            rows.append(run)
        elif name in of:
            of[name].append(run)
        else:
            of[name] = [run]
            rows.append(Folded(name, of[name]))
    return rows


def tree(rows: Sequence[Row | Folded]) -> Iterator[tuple[Row | Folded, int]]:
    """Yield each row with its depth in the tree of forks: a fork follows its parent, if that has a row."""
    there = {row["id"] for row in rows if not isinstance(row, Folded)}
    forks: dict[str | None, list[Row | Folded]] = {}
    for row in rows:
        parent = None if isinstance(row, Folded) else row["parent"]
        forks.setdefault(parent if parent in there else None, []).append(row)
    left = [(row, 0) for row in reversed(forks.pop(None, []))]
    while left:
        row, depth = left.pop()
        yield row, depth
        if not isinstance(row, Folded):
            left += [(fork, depth + 1) for fork in reversed(forks.pop(row["id"], []))]


def _changed(run: Row) -> dict[str, Any]:
    """Return the settings of a run that differ from the defaults of its world."""
    if run["world"] not in WORLDS or run["config"] is None:
        return {}
    usual = _defaults(run["world"])
    return {name: value for name, value in run["config"].items() if value != usual.get(name)}


@cache
def _defaults(world: str) -> Mapping[str, Any]:
    defaults: Mapping[str, Any] = json.loads(WORLDS[world].config().model_dump_json())
    return defaults


def _where(store: Store, condition: str, runs: Sequence[Row]) -> list[Row]:
    """Return the runs of which a condition holds, each with the value that it has."""
    read = CONDITION.fullmatch(condition)
    if read is None:
        raise UsageError(f"--where {condition[:60]!r}: write NAME=VALUE, or one of {' '.join(COMPARED)}")
    name, sign, written = read.groups()
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        value = written
    compared = COMPARED[sign]

    def holds(found: Any) -> bool:  # noqa: ANN401  any JSON
        if sign == "~":
            return compared(found, written)
        if sign in {"=", "!="}:
            return compared(found, value) or (sign == "=" and found == written)
        try:
            return found is not None and compared(found, value)
        except TypeError:  # a text and a number
            return False

    values = _values(store, "--where", name, runs)
    there = [run for run in runs if run["id"] in values and holds(values[run["id"]])]
    return _with(there, name, values)


def _sorted(store: Store, by: str, runs: Sequence[Row]) -> list[Row]:
    """Return runs in the order of a value, each with this value; those without it come last."""
    name = by.removeprefix("-")
    values = _values(store, "--sort", name, runs)
    there = [run for run in runs if values.get(run["id"]) is not None]
    there.sort(key=lambda run: _rank(values[run["id"]]), reverse=by.startswith("-"))
    return _with([*there, *(run for run in runs if values.get(run["id"]) is None)], name, values)


def _with(runs: Sequence[Row], name: str, values: Mapping[str, Any]) -> list[Row]:
    """Return runs with a value that somebody asks for."""
    return [{**run, "asked": {**run["asked"], name: values.get(run["id"])}} for run in runs]


def _rank(value: Any) -> tuple[int, float, str]:  # noqa: ANN401  any JSON
    """Return what a value is sorted by: numbers come before texts, and these before all else."""
    if isinstance(value, int | float):
        return 0, value, ""
    return (1, 0, value.casefold()) if isinstance(value, str) else (2, 0, canonical(value))


def _values(store: Store, option: str, name: str, runs: Sequence[Row]) -> Mapping[str, Any]:
    """Return a fact, a setting or a measure of each run that has it, by id. Raise UsageError for another."""
    if fact := FACTS.get(name):
        return {run["id"]: fact(run) for run in runs}
    if name in COSTS:
        costs = store.figures.costs(run["id"] for run in runs if not run["damage"])
        return {run: getattr(cost, name) for run, cost in costs.items()}
    if name not in (known := names()) and f"{name.partition('/')[0]}/AGENT" not in known:
        raise UsageError(f"{option}: runs have no {name!r}{_instead(name, known)}")
    settings = {run["id"]: run["config"][name] for run in runs if name in (run["config"] or {})}
    return settings or store.figures.of_measure(name)


def names() -> list[str]:
    """Return what runs can be chosen and sorted by: facts, and the settings and measures of all worlds."""
    settings = [name for world in WORLDS.values() for name in world.config.model_fields]
    measures = [name for world in WORLDS.values() for name in world.measures.formulas]
    return [*dict.fromkeys((*FACTS, *COSTS, *settings, *measures))]


def _instead(name: str, known: Sequence[str]) -> str:
    """Return how the error for an unknown name ends: measures whose meaning has the word, and names like it.

    If there is neither, all facts are named.
    """
    words = name.replace("_", " ").casefold()
    formulas = [one for world in WORLDS.values() for one in world.measures.formulas.items()]
    meanings = {measure: meaning_of(formula) for measure, formula in formulas}
    about = [f"{one} ({told})" for one, told in meanings.items() if words in told.casefold()][:MOST]
    more = f"; measures with this word: {'; '.join(about)}" if about else ""
    facts = f"facts: {', '.join((*FACTS, *COSTS))}; `hobbes worlds WORLD` describes settings and measures"
    like = [f"the {_kind(one)} {one!r}" for one in alike(name, known)]
    hint = f"did you mean {' or '.join(like)}?" if like else "" if about else facts
    return f"{more}; {hint}" if hint else more


def _kind(name: str) -> str:
    """Return what runs are chosen by with a name: a fact, a setting or a measure."""
    if name in FACTS or name in COSTS:
        return "fact"
    return "setting" if any(name in world.config.model_fields for world in WORLDS.values()) else "measure"
