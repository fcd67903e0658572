"""The runs of a home as lists show them, which of them somebody asks for, and in which order."""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from hobbes.engine.names import did_you_mean
from hobbes.engine.record import canonical
from hobbes.errors import UsageError
from hobbes.nodes.journal import PlayerKind
from hobbes.store.experiment_tables import cells_of_runs
from hobbes.store.home import Store
from hobbes.store.notes import Note
from hobbes.worlds import WORLDS

Row: TypeAlias = dict[str, Any]
"""A run: what `Figures.of_all_runs` and `listed` say of it."""

FACTS: Mapping[str, Callable[[Row], Any]] = {
    "name": lambda run: run["name"] or run["id"],
    "players": lambda run: ", ".join(players_with_counts(run)),
    "score": lambda run: max((run["scores"] or {}).values(), default=None),
    "failed": lambda run: run["failures"]["share"],
    "agents": lambda run: len(run["agents"] or ()),
    "tags": lambda run: " ".join(run["tags"]),
    **{
        fact: operator.itemgetter(fact)
        for fact in (
            *("world", "status", "turns", "seed", "prompts", "lang", "experiment", "arm"),
            *("ending", "rejected", "corrected", "parent", "tainted", "seconds", "started", "digest"),
            "notes",
        )
    },
}
"""What a run can be chosen and sorted by, besides its settings and its measures. `score` is its highest."""


def _contains(found: object, written: object) -> bool:
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
class Selection:
    """Which runs are listed, and in which order."""

    where: tuple[str, ...] = ()
    """Conditions, such as `immunity=0` or `raid_rate>0.2`, all of which hold."""
    sort: str = ""
    """A fact, a setting or a measure; with `-` in front, the largest comes first. Empty: the newest first."""


def listed(store: Store, selection: Selection) -> list[Row]:
    """Return the runs of a selection.

    `asked` of a run has what it is chosen and sorted by: the value of each fact, setting or measure.
    Raise UsageError for a name that nothing has, or a condition that cannot be read.
    """
    cells = cells_of_runs(store)
    noted: dict[str, list[Note]] = {}
    for note in store.notes.of():
        noted.setdefault(note.run, []).append(note)
    runs = []
    for run in store.figures.of_all_runs():
        experiment, arm = cells.get(run["id"], (None, None))
        notes = noted.get(run["id"], [])
        more = {
            "changed": _changed(run),
            "experiment": experiment,
            "arm": arm,
            "tags": sorted({tag for note in notes for tag in note.tags}),
            "notes": len(notes),
            "asked": {},
        }
        runs.append({**run, **more})
    for condition in selection.where:
        runs = _where(store, condition, runs)
    return _sorted(store, selection.sort, runs) if selection.sort else runs


def shown(runs: Sequence[Row], selection: Selection) -> list[Row]:
    """Return the runs that a list shows: those of experiments only where conditions or an order are given."""
    return [run for run in runs if selection != Selection() or run["experiment"] is None]


def tree(rows: Sequence[Row]) -> Iterator[tuple[Row, int]]:
    """Yield each run with its depth in the tree of forks: a fork follows its parent, if that has a row."""
    there = {row["id"] for row in rows}
    forks: dict[str | None, list[Row]] = {}
    for row in rows:
        forks.setdefault(row["parent"] if row["parent"] in there else None, []).append(row)
    left = [(row, 0) for row in reversed(forks.pop(None, []))]
    while left:
        row, depth = left.pop()
        yield row, depth
        left += [(fork, depth + 1) for fork in reversed(forks.pop(row["id"], []))]


def players_with_counts(run: Row) -> list[str]:
    """Return each player of a run with the number of its agents; a policy goes without its kind."""
    models, counts = run["models"] or {}, dict[str, int]()
    for agent in run["agents"] or ():
        player = models.get(agent, "").removeprefix(f"{PlayerKind.POLICY}:")
        counts[player] = counts.get(player, 0) + 1
    return [f"{player}*{n}" if n > 1 else player for player, n in counts.items()]


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
    if name not in (known := names()) and f"{name.partition('/')[0]}/AGENT" not in known:
        facts = f"facts: {', '.join(FACTS)}; `hobbes worlds WORLD` describes settings and measures"
        raise UsageError(f"{option}: runs have no {name!r}{did_you_mean(name, known, facts)}")
    settings = {run["id"]: run["config"][name] for run in runs if name in (run["config"] or {})}
    return settings or store.figures.of_measure(name)


def names() -> list[str]:
    """Return what runs can be chosen and sorted by: facts, and the settings and measures of all worlds."""
    settings = [name for world in WORLDS.values() for name in world.config.model_fields]
    measures = [name for world in WORLDS.values() for name in world.measures.formulas]
    return [*dict.fromkeys((*FACTS, *settings, *measures))]
