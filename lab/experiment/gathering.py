"""What reports need of the runs of an experiment, gathered as Parquet files in the home.

`gathered/EXPERIMENT/TABLE/arm=ARM/part.parquet` is one table of the runs of one arm. pandas, DuckDB and other
tools read all arms of a table as one data set. A run is gathered once, usually when it has ended, into a file
of its own: `gathered/EXPERIMENT/runs-to-add/RUN.json`. When the experiment ends or stops, these files become
the tables of their arms. A report gathers what is missing, so the files may be deleted, and a damaged one is
made again.
"""

import errno
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from filelock import FileLock

from hobbes.engine.answer import DECISIONS
from hobbes.engine.record import canonical, sha256
from hobbes.engine.world import LONGEST_NAME, AnyWorld, won
from hobbes.lab.errors import DamagedError
from hobbes.lab.play.playing import chats_of
from hobbes.lab.store.experiments import PlayedCell, experiment_of, played_cells
from hobbes.lab.store.history import StoredHistory, state_before
from hobbes.lab.store.home import UNWRITABLE, Store
from hobbes.lab.store.prices import prices_of
from hobbes.lab.store.run import HOBBES, Run
from hobbes.lab.store.runs import value_of
from hobbes.lab.store.timelines import measures_by_turn
from hobbes.lab.store.traces import with_traces
from hobbes.nodes.caps import Spent
from hobbes.nodes.files import FileError, content_of, text_of

FORMAT = 3
"""Grows when the tables change. Files of another format, or of another version of hobbes, are made again."""

FOLDER = "gathered"

TO_ADD = "runs-to-add"
"""The folder of the runs that are not in the tables of their arm yet."""

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
        "model_settings": str,
        "left_out": str,
        "calls": int,
        "failed": int,
        "tokens_in": int,
        "tokens_out": int,
        "usd": float,
    },
    "measures": {"seed": int, "scope": str, "name": str, "value": float},
    "turns": {"seed": int, "turn": int},
    "scores": {"seed": int, "agent": str, "player": str, "score": int, "won": bool},
    "spells": {"seed": int, "turns": int, "ended": bool, "count": int},
    "ratings": {"seed": int, "kind": str, "rating": int, "count": int, "truth": float},
}
"""The columns of each table. `turns` has a further one for each measure that its world draws over time."""

Rows: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]
"""The rows of each table."""

Tables: TypeAlias = Mapping[str, Any]
"""The tables of an arm by name, as pyarrow holds them, sorted by seed."""


def gathered(  # noqa: PLR0913, PLR0917  which runs, and what is left out of them
    store: Store,
    experiment: str,
    world: AnyWorld,
    arm: str,
    cells: Iterable[PlayedCell],
    left_out: list[str],
) -> Tables:
    """Return the tables of these runs of an arm; gather and keep what is missing.

    What is damaged is added to `left_out`. Then nothing is kept, so that it is the next time as well. Nothing
    is kept either where no file can be written, such as on a full disk.
    """
    wanted = {_key(cell): cell for cell in cells}
    path = store.home / FOLDER / experiment
    kept = _read(path, world, arm) if wanted else None
    if kept is None or not wanted.keys() <= _keys(kept):
        if wanted and os.access(store.home, os.W_OK):
            with FileLock(store.home / "locks" / f"{FOLDER}-{sha256(experiment + arm)[:16]}.lock"):
                known, write = _read(path, world, arm), partial(_write, path, arm)
                kept = _gather(store, path, world, wanted, known, write, left_out)
        else:
            kept = _gather(store, path, world, wanted, kept, lambda _: False, left_out)
    return of_seeds(kept, {cell.seed for cell in wanted.values()})


def gather(store: Store, run: str) -> bool:
    """Gather a run of an experiment that has finished, to be added to the tables of its arm later.

    Return whether its figures are on the disk now. They are not if some are damaged, or if nothing can be
    written there.
    """
    experiment = experiment_of(store, run)
    (cell,) = played_cells(store, experiment, run)
    damage: list[str] = []
    try:
        rows = _rows(store, store.runs.find(run).world, cell, damage)
    except DamagedError:
        return False
    return not damage and _keep_rows(store.home / FOLDER / experiment, _key(cell), rows)


def gathered_runs(
    store: Store, experiment: str, world: AnyWorld, arm: str, cells: Sequence[PlayedCell]
) -> set[str]:
    """Return which of these runs of an arm are in its tables, by their ids; gather what is missing."""
    gathered(store, experiment, world, arm, cells, [])
    kept = _read(store.home / FOLDER / experiment, world, arm)
    there = _keys(kept) if kept else set()
    return {cell.id for cell in cells if _key(cell) in there}


def add_runs(store: Store, experiment: str, world: AnyWorld) -> None:
    """Add all runs that have been gathered one by one to the tables of their arms."""
    waiting = {path.stem for path in (store.home / FOLDER / experiment / TO_ADD).glob("*.json")}
    by_arm: dict[str, list[PlayedCell]] = defaultdict(list)
    for cell in played_cells(store, experiment):
        by_arm[cell.arm].append(cell)
    for arm, cells in by_arm.items():
        if waiting & {cell.id for cell in cells}:
            gathered(store, experiment, world, arm, cells, [])


def spent_by(store: Store, experiment: str, world: AnyWorld, runs: Collection[str]) -> Iterator[Spent]:
    """Yield what each of these runs has cost, from what was gathered."""
    cells = [cell for cell in played_cells(store, experiment) if cell.id in runs]
    for arm in dict.fromkeys(cell.arm for cell in cells):
        of_arm = [cell for cell in cells if cell.arm == arm]
        tables = gathered(store, experiment, world, arm, of_arm, [])
        for row in tables["runs"].to_pylist():
            known = None not in {row["tokens_in"], row["tokens_out"]}
            yield Spent(row["calls"], row["tokens_in"] + row["tokens_out"] if known else None, row["usd"])


_Key: TypeAlias = tuple[int, str, str, bool]
"""Seed, run, digest and taint: a run with another key has to be gathered again."""


def _key(cell: PlayedCell) -> _Key:
    return cell.seed, cell.id, cell.digest, cell.tainted


def _keys(tables: Tables) -> set[_Key]:
    runs = tables["runs"].to_pydict()
    return {*zip(runs["seed"], runs["run"], runs["digest"], runs["tainted"], strict=True)}


def _gather(  # noqa: PLR0913, PLR0917  what is missing, what is there, and where it goes
    store: Store,
    path: Path,
    world: AnyWorld,
    wanted: Mapping[_Key, PlayedCell],
    kept: Tables | None,
    write: Callable[[Tables], bool],
    left_out: list[str],
) -> Tables:
    """Return what is kept together with what is missing, after writing it."""
    import pyarrow as pa  # noqa: PLC0415  slow to import

    there = _keys(kept) if kept else set()
    of_runs, damage = list[Rows](), list[str]()
    for key in wanted.keys() - there:
        try:
            of_runs.append(_kept_rows(path, key) or _rows(store, world, wanted[key], damage))
        except DamagedError as error:
            damage.append(str(error))
    merged = {}
    for name, schema in _schemas(world).items():
        rows = [row for of_run in of_runs for row in of_run[name]]
        parts = [pa.Table.from_pylist(rows, schema)]
        if kept:
            made_again = {key[0] for key in wanted.keys() - there}
            parts.append(_without(kept[name], made_again))
        merged[name] = pa.concat_tables(parts).sort_by("seed")
    if not damage and write(merged):
        for _, run, *_ in wanted:
            _file_to_add(path, run).unlink(missing_ok=True)
    left_out += sorted(damage)
    return merged


def _rows(store: Store, world: AnyWorld, cell: PlayedCell, damage: list[str]) -> Rows:
    """Return the rows of a run in all tables; without its turns, which is added to `damage`, those of some.

    Raise DamagedError if the run is damaged.
    """
    seed = {"seed": cell.seed}
    row = store.runs.row(cell.id)
    run = store.runs.find(cell.id) if with_traces(store, [cell.id]) else None
    if run is None and row["turns"]:
        damage.append(
            f"run {cell.id}: what was gathered of it is lost or damaged, and its turns were not kept; its "
            "curves are left out; play it again in another experiment"
        )
    outcomes, players = value_of(row, "outcomes") or {}, value_of(row, "models")
    spent = store.figures.spent(run, prices_of(store.home)) if run else Spent(0, None, None)
    tokens = store.figures.tokens(run) if run else {}
    counted = {} if spent.tokens is None else tokens
    winning = won(world, state_before(store, run, run.turns)) if run else {}
    of_run = {column: row[column] for column in COLUMNS["runs"] if column in _STORED}
    return {
        "runs": [
            {
                **of_run,
                **seed,
                "run": cell.id,
                "name": cell.run,
                "tainted": cell.tainted,
                "models": json.dumps(_told(store, cell.id), ensure_ascii=False),
                "model_settings": canonical(_settings_of_chats(run)) if run else "{}",
                "left_out": canonical({**store.figures.left_out(cell.id)}),
                "calls": spent.calls,
                "failed": sum(n for outcome, n in outcomes.items() if outcome not in DECISIONS),
                "tokens_in": counted.get("in"),
                "tokens_out": counted.get("out"),
                "usd": spent.usd,
            }
        ],
        "measures": [
            {**seed, "scope": scope, "name": name, "value": value}
            for scope, name, value in store.db.conn.execute(
                f"select scope, name, value from measures where run = ? and scope in {SCOPES}"  # noqa: S608  our own
                " order by scope, name",
                [cell.id],
            )
        ],
        "turns": [seed | of_turn for of_turn in _turns(store, world, run)] if run else [],
        "scores": [
            {
                **seed,
                "agent": agent,
                "player": players.get(agent, ""),
                "score": score,
                "won": winning.get(agent),
            }
            for agent, score in sorted((value_of(row, "scores") or {}).items())
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


def _settings_of_chats(run: Run) -> dict[str, Any]:
    """Return the parameters with which each chat model of a run was asked, by its spec."""
    return {
        spec: {
            "model": one.model,
            "api": one.api,
            **one.parameters(""),
            "response_format": one.response_format,
        }
        for spec, one in chats_of(run).items()
    }


def _told(store: Store, run: str) -> list[str]:
    """Return the names of the models as they were told."""
    rows = store.db.conn.execute("select distinct model from calls where run = ? order by 1", [run])
    return [str(model) for (model,) in rows]


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
    found = world.spells(StoredHistory(store, run))
    in_order = sorted(found.items(), key=lambda one: (one[0].turns, one[0].ended))
    return [{"turns": spell.turns, "ended": spell.ended, "count": count} for spell, count in in_order]


def _ratings(store: Store, world: AnyWorld, run: Run) -> list[dict[str, Any]]:
    """Return how often each rating was given, and the mean of the truth about those whom it was given."""
    if world.ratings is None:
        return []
    truths: dict[tuple[str, int], list[float]] = defaultdict(list)
    for one in world.ratings(StoredHistory(store, run)):
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


def _stamp(runs: Any) -> str:  # noqa: ANN401  a pyarrow table
    """Return a hash of the table `runs`, and of what makes the tables."""
    return sha256(canonical([FORMAT, HOBBES, runs.to_pylist()]))


def _read(path: Path, world: AnyWorld, arm: str) -> Tables | None:
    """Return the tables of an arm, None if one is missing or damaged, or was not written with the others."""
    import pyarrow as pa  # noqa: PLC0415  slow to import

    schemas = _schemas(world)
    try:
        contents = {name: content_of(_file(path, name, arm)) for name in schemas}
        runs = _table(contents["runs"])
        known = json.loads(runs.schema.metadata[b"hobbes"])
        if known != {"runs": _stamp(runs), **_hashes(contents)}:
            return None
        found = {name: _table(content) for name, content in contents.items()}
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError):  # it is made again
        return None
    return found if all(found[name].schema.equals(schema) for name, schema in schemas.items()) else None


def _hashes(contents: Mapping[str, bytes]) -> dict[str, str]:
    """Return the hash of each file but that of the table `runs`, which has the hashes of the others."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items() if name != "runs"}


def _write(path: Path, arm: str, tables: Tables) -> bool:
    """Write the tables of an arm. Return whether the disk lets it.

    Each file appears only when it is complete, and `runs` is the last one.
    """
    contents = {name: _parquet(table) for name, table in tables.items() if name != "runs"}
    known = json.dumps({"runs": _stamp(tables["runs"]), **_hashes(contents)}).encode()
    contents["runs"] = _parquet(tables["runs"].replace_schema_metadata({b"hobbes": known}))
    return _write_files({_file(path, name, arm): content for name, content in contents.items()})


def _write_files(contents: Mapping[Path, bytes]) -> bool:
    """Write files, in their order. Return whether the disk lets it."""
    try:
        for file, content in contents.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            new = file.with_suffix(".new")
            with new.open("wb") as to:
                to.write(content)
                to.flush()
                os.fsync(to.fileno())  # `--keep summary` deletes what this was gathered from
            new.replace(file)
    except OSError as error:
        if error.errno not in UNWRITABLE | {errno.EEXIST, errno.ENOTDIR}:  # something is in the way
            raise
        return False
    return True


def _file_to_add(path: Path, run: str) -> Path:
    """Return the file of a run that is not in the tables of its arm yet."""
    return path / TO_ADD / f"{run}.json"


def _keep_rows(path: Path, key: _Key, rows: Rows) -> bool:
    """Write the rows of a run to a file of its own. Return whether the disk lets it."""
    text = json.dumps([_made_by(key), rows])
    return _write_files({_file_to_add(path, key[1]): f"{sha256(text)}\n{text}".encode()})


def _kept_rows(path: Path, key: _Key) -> Rows | None:
    """Return the rows of a run from the file of its own, None if it is missing, damaged or of another key."""
    try:
        seal, _, text = text_of(_file_to_add(path, key[1])).partition("\n")
    except FileError:
        return None
    if seal != sha256(text):
        return None
    made_by, rows = json.loads(text)
    return rows if made_by == _made_by(key) else None


def _made_by(key: _Key) -> list[Any]:
    """Return what makes the rows of a run what they are, as JSON."""
    return [FORMAT, HOBBES, *key]


def _parquet(table: Any) -> bytes:  # noqa: ANN401  a pyarrow table
    """Return a table as the content of a Parquet file."""
    import pyarrow as pa  # noqa: PLC0415  slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    content = pa.BufferOutputStream()
    pq.write_table(table, content, compression="zstd")
    return bytes(content.getvalue())


def _table(content: bytes) -> Any:  # noqa: ANN401  a pyarrow table
    """Return the table in a Parquet file. Threads and data sets take longer than files this small."""
    import pyarrow as pa  # noqa: PLC0415  slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    with pq.ParquetFile(pa.BufferReader(content)) as file:
        return file.read(use_threads=False)


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
