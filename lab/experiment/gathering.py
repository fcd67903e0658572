"""What reports need of the runs of an experiment, gathered as Parquet files in the home.

`gathered/EXPERIMENT/TABLE/arm=ARM/part.parquet` is one table of the runs of one arm. pandas, DuckDB and other
tools read all arms of a table as one data set. A run is gathered once, usually when it has ended. A report
gathers what is missing, so the files may be deleted, and a damaged one is made again.
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from filelock import FileLock

from engine.answer import DECISIONS
from engine.record import canonical, sha256
from engine.world import AnyWorld
from lab.store.database import HOBBES, Run, Store
from lab.store.experiments import PlayedCell
from lab.store.history import StoredHistory
from lab.store.prices import prices_of
from lab.store.timelines import measures_by_turn

FORMAT = 1
"""Grows when the tables change. Files of another format, or of another version of hobbes, are made again."""

FOLDER = "gathered"

LONGEST_NAME = 200
"""Characters of an arm's name in the name of its folder; the file system takes 255."""

SCOPES = ("run", "first-half", "second-half")
"""The scopes of the table `measures`; single turns are in `turns`."""

COLUMNS: Mapping[str, Mapping[str, type]] = {
    "runs": {
        "seed": int,
        "run": str,
        "name": str,
        "digest": str,
        "tainted": bool,
        "turns": int,
        "hobbes": str,
        "record_version": int,
        "rules_version": int,
        "prompts": str,
        "prompts_hash": str,
        "lang": str,
        "models": str,
        "calls": int,
        "failed": int,
        "tokens_in": int,
        "tokens_out": int,
        "usd": float,
    },
    "measures": {"seed": int, "scope": str, "name": str, "value": float},
    "turns": {"seed": int, "turn": int},
    "scores": {"seed": int, "agent": str, "player": str, "score": int},
    "spells": {"seed": int, "turns": int, "ended": bool, "count": int},
    "ratings": {"seed": int, "kind": str, "rating": int, "count": int, "truth": float},
}
"""The columns of each table. `turns` has a further one for each measure that its world draws over time."""

Rows: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]
"""The rows of each table."""

Tables: TypeAlias = Mapping[str, Any]
"""The tables of an arm by name, as pyarrow holds them, sorted by seed."""


def gathered(store: Store, experiment: str, world: AnyWorld, arm: str, cells: Iterable[PlayedCell]) -> Tables:
    """Return the tables of these runs of an arm; gather and keep what is missing.

    What is damaged is noted and left out. Then nothing is kept, so that it is noted the next time as well.
    """
    wanted = {_key(cell.seed, cell.id, cell.digest, cell.tainted): cell for cell in cells}
    path = store.home / FOLDER / experiment
    kept = _read(path, world, arm) if wanted else None
    if kept is None or not wanted.keys() <= _keys(kept):
        if wanted and os.access(store.home, os.W_OK):
            with FileLock(store.home / "locks" / f"{FOLDER}-{sha256(experiment + arm)[:16]}.lock"):
                kept = _gather(store, world, wanted, _read(path, world, arm), partial(_write, path, arm))
        else:
            kept = _gather(store, world, wanted, kept, lambda _: None)
    return of_seeds(kept, {cell.seed for cell in wanted.values()})


_Key: TypeAlias = tuple[int, str, str, bool]
"""Seed, run, digest and taint: a run with another key has to be gathered again."""


def _key(seed: int, run: str, digest: str, tainted: bool) -> _Key:  # noqa: FBT001  the columns of a key
    return seed, run, digest, tainted


def _keys(tables: Tables) -> set[_Key]:
    runs = tables["runs"].to_pydict()
    return set(map(_key, runs["seed"], runs["run"], runs["digest"], runs["tainted"]))


def _gather(
    store: Store,
    world: AnyWorld,
    wanted: Mapping[_Key, PlayedCell],
    kept: Tables | None,
    write: Callable[[Tables], None],
) -> Tables:
    """Return what is kept together with what is missing, after writing it."""
    import pyarrow as pa  # noqa: PLC0415  slow to import

    there = _keys(kept) if kept else set()
    noted, store.damage = store.damage, {}
    found = [_rows(store, world, cell) for key, cell in wanted.items() if key not in there]
    merged = {}
    for name, schema in _schemas(world).items():
        rows = [row for of_run in found for row in of_run[name]]
        parts = [pa.Table.from_pylist(rows, schema)]
        if kept:
            made_again = {key[0] for key in wanted.keys() - there}
            parts.append(_without(kept[name], made_again))
        merged[name] = pa.concat_tables(parts).sort_by("seed")
    if not store.damage:
        write(merged)
    store.damage = noted | store.damage
    return merged


def _rows(store: Store, world: AnyWorld, cell: PlayedCell) -> Rows:
    """Return the rows of a run in all tables."""
    seed = {"seed": cell.seed}
    row = store.stored_row("runs", store.db.table("runs").get(cell.id), store.leave_out)
    run = store.if_readable(partial(store.find, cell.id), None) if row["turns"] else None
    outcomes, players = row["outcomes"] or {}, row["models"] or {}
    models, tokens_in, tokens_out = _told(store, cell.id)
    of_run = {column: row[column] for column in COLUMNS["runs"] if column in _STORED}
    return {
        "runs": [
            {
                **of_run,
                **seed,
                "run": cell.id,
                "name": cell.run,
                "tainted": cell.tainted,
                "models": json.dumps(models, ensure_ascii=False),
                "calls": sum(outcomes.values()),
                "failed": sum(n for outcome, n in outcomes.items() if outcome not in DECISIONS),
                "tokens_in": tokens_in,
                "tokens_out": tokens_out,
                "usd": store.spent(run, prices_of(store.home)).usd if run else None,
            }
        ],
        "measures": [
            {**seed, "scope": values["scope"], "name": measure["name"], "value": measure["value"]}
            for values in store.db.query(
                f"select run, scope, name, value from measures where run = ? and scope in {SCOPES}"  # noqa: S608  our own
                " order by scope, name",
                [cell.id],
            )
            for measure in [store.stored_row("measures", values, store.leave_out)]
        ],
        "turns": [seed | of_turn for of_turn in _turns(store, world, run)] if run else [],
        "scores": [
            {**seed, "agent": agent, "player": players.get(agent, ""), "score": score}
            for agent, score in sorted((row["scores"] or {}).items())
        ],
        "spells": [seed | spell for spell in _spells(store, world, run)] if run else [],
        "ratings": [seed | rating for rating in _ratings(store, world, run)] if run else [],
    }


_STORED = {
    "digest",
    "turns",
    "hobbes",
    "record_version",
    "rules_version",
    "prompts",
    "prompts_hash",
    "lang",
}
"""The columns of the table that are columns of the run database, too."""


def _told(store: Store, run: str) -> tuple[list[str], int | None, int | None]:
    """Return the names of the models as they were told, and the sums of the tokens."""
    sql = "select model, sum(tokens_in), sum(tokens_out) from calls where run = ? group by model order by 1"
    rows = store.db.conn.execute(sql, [run]).fetchall()
    sums = ([n for n in column if n is not None] for column in ([r[1] for r in rows], [r[2] for r in rows]))
    tokens_in, tokens_out = (sum(known) if known else None for known in sums)
    return [str(model) for model, *_ in rows], tokens_in, tokens_out


def _turns(store: Store, world: AnyWorld, run: Run) -> list[dict[str, Any]]:
    """Return the measures of each turn that are drawn over time."""
    found = measures_by_turn(store, run, drawn(world))
    turns: dict[int, dict[str, Any]] = defaultdict(dict)
    for name, by_turn in found.items():
        for turn, value in by_turn.items():
            turns[turn][name] = value
    return [{"turn": turn, **turns[turn]} for turn in sorted(turns)]


def _spells(store: Store, world: AnyWorld, run: Run) -> list[dict[str, Any]]:
    """Return how often each spell occurred."""
    if world.spells is None:
        return []
    found = store.if_readable(partial(world.spells, StoredHistory(store, run)), {})
    in_order = sorted(found.items(), key=lambda one: (one[0].turns, one[0].ended))
    return [{"turns": spell.turns, "ended": spell.ended, "count": count} for spell, count in in_order]


def _ratings(store: Store, world: AnyWorld, run: Run) -> list[dict[str, Any]]:
    """Return how often each rating was given, and the mean of the truth about those whom it was given."""
    if world.ratings is None:
        return []
    ratings = world.ratings
    truths: dict[tuple[str, int], list[float]] = defaultdict(list)
    for one in store.if_readable(lambda: list(ratings(StoredHistory(store, run))), []):
        truths[one.kind, one.rating].append(one.truth)
    return [
        {"kind": kind, "rating": rating, "count": len(of_rating), "truth": sum(of_rating) / len(of_rating)}
        for (kind, rating), of_rating in sorted(truths.items())
    ]


def drawn(world: AnyWorld) -> tuple[str, ...]:
    """Return the measures of single turns that reports draw over time."""
    return (*world.shares, *world.inequality)


def _schemas(world: AnyWorld) -> dict[str, Any]:
    """Return the schema of each table."""
    import pyarrow as pa  # noqa: PLC0415  slow to import

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    more = {"turns": dict.fromkeys(drawn(world), float)}
    return {
        name: pa.schema([(column, types[kind]) for column, kind in {**columns, **more.get(name, {})}.items()])
        for name, columns in COLUMNS.items()
    }


def _file(path: Path, table: str, arm: str) -> Path:
    """Return the file of a table of an arm."""
    name = quote(arm, safe="")
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}-{sha256(arm)[:12]}"
    return path / table / f"arm={name}" / "part.parquet"


def _stamp(tables: Tables) -> bytes:
    """Return what all files of an arm have in common if they were written together."""
    return canonical([FORMAT, HOBBES, sha256(canonical(sorted(_keys(tables))))]).encode()


def _read(path: Path, world: AnyWorld, arm: str) -> Tables | None:
    """Return the tables of an arm, None if one is missing or damaged, or was not written with the others."""
    import pyarrow as pa  # noqa: PLC0415  slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    schemas = _schemas(world)
    try:
        found = {
            name: pq.read_table(_file(path, name, arm), partitioning=None, page_checksum_verification=True)
            for name in schemas
        }
    except (OSError, pa.ArrowException):  # it is made again
        return None
    if any(not found[name].schema.equals(schema) for name, schema in schemas.items()):
        return None
    stamp = _stamp(found)
    if any((table.schema.metadata or {}).get(b"hobbes") != stamp for table in found.values()):
        return None
    return found


def _write(path: Path, arm: str, tables: Tables) -> None:
    """Write the tables of an arm. Each file appears only when it is complete."""
    import pyarrow.parquet as pq  # noqa: PLC0415  slow to import

    stamp = _stamp(tables)
    for name, table in tables.items():
        file = _file(path, name, arm)
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        pq.write_table(
            table.replace_schema_metadata({b"hobbes": stamp}),
            new,
            compression="zstd",
            write_page_checksum=True,
        )
        new.replace(file)


def of_seeds(tables: Tables, seeds: set[int]) -> Tables:
    """Return the rows of some seeds in each table."""
    if {*tables["runs"]["seed"].to_pylist()} == seeds:
        return tables
    return {name: table.filter(_are_in(table, seeds)) for name, table in tables.items()}


def _without(table: Any, seeds: set[int]) -> Any:  # noqa: ANN401  a pyarrow table
    """Return the rows of the other seeds."""
    import pyarrow.compute as pc  # noqa: PLC0415  slow to import

    return table.filter(pc.invert(_are_in(table, seeds))).replace_schema_metadata(None)


def _are_in(table: Any, seeds: set[int]) -> Any:  # noqa: ANN401  a pyarrow table and mask
    """Return for each row of a table whether it is of one of these seeds."""
    import pyarrow as pa  # noqa: PLC0415  slow to import
    import pyarrow.compute as pc  # noqa: PLC0415

    return pc.is_in(table["seed"], value_set=pa.array(sorted(seeds), pa.int64()))
