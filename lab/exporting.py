"""`hobbes export`: a run as tables for other tools, or as pages for people.

The tables are those of the run database, with the texts that they point to put in, and with what is worth
counting beside it: which call decided, and which decision was nobody's.
"""

import csv
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from rich.progress import track

from lab.errors import LabError, UsageError
from lab.history import scores
from lab.records import Records, Run, by_turn
from lab.show import ERR

Row: TypeAlias = dict[str, Any]

QUERIES = {
    "turns": "select run, turn, digest, ended, state, ledgers from turns where run = ? order by turn",
    "calls": (
        "select run, turn, agent, attempt, question, tries, outcome, stage, model, told.text as system,"
        " asked.text as prompt, answer, reasoning, error, tokens_in, tokens_out, milliseconds, arrived"
        " from calls join texts as told on told.hash = calls.system"
        " join texts as asked on asked.hash = calls.prompt where run = ? order by turn, agent, attempt"
    ),
    **{
        table: f"select * from {table} where run = ? order by turn, rowid"  # noqa: S608  names are ours
        for table in ("intents", "drops", "mends", "events", "draws", "reports", "messages", "minds")
    },
    "measures": "select * from measures where run = ? order by rowid",
}

JSON_COLUMNS = {
    ("turns", "state"), ("turns", "ledgers"), ("intents", "intent"), ("minds", "mind"), ("events", "event"),
    ("drops", "said"), ("mends", "said"), ("mends", "kept"), ("draws", "subject"), ("draws", "participants"),
}  # fmt: skip
"""What holds JSON: values in jsonl, their text elsewhere."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows, and their columns with the type of each: str, int, float or bool."""

    name: str
    columns: Mapping[str, type]
    rows: list[Row]


def export(records: Records, run: Run, form: str, to: Path) -> dict[str, int]:
    """Write a run into a new folder, whole or not at all; give the files with the rows of each.

    UsageError: something is there already. LabError: the folder cannot be written.
    """
    if to.exists():
        raise UsageError(f"{to} is there already; name another folder with --to")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=to.parent, prefix=".hobbes-") as made:
            folder = Path(made) / "export"
            folder.mkdir()
            written = _write(records, run, form, folder)
            shutil.move(folder, to)
    except OSError as error:
        raise LabError(f"cannot write {to}: {error.strerror}; name another folder with --to") from error
    return written


def _write(records: Records, run: Run, form: str, folder: Path) -> dict[str, int]:
    """Write a run's files into a folder."""
    if form == "html":
        return _write_pages(records, run, folder)
    about = {**records.about(run.id), **records.result(run)}
    (folder / "run.json").write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    written = {"run.json": 1}
    for table in track(list(tables(records, run)), "exporting", console=ERR, transient=True):
        path = folder / f"{table.name}.{form}"
        WRITERS[form](path, table)
        written[path.name] = len(table.rows)
    return written


def tables(records: Records, run: Run) -> Iterator[Table]:
    """Give all tables of a run: those of the database, the scores by turn, and the failures."""
    decisions = records.decisions(run.id)
    counts = {(d.turn, d.agent, d.attempt): d for d in decisions}
    decided, failed = by_turn(decisions)
    for name, query in QUERIES.items():
        table = _queried(records, run, name, query)
        if name == "turns":
            more = [{"decisions": decided[r["turn"]], "failures": failed[r["turn"]]} for r in table.rows]
            table = _wider(table, {"decisions": int, "failures": int}, more)
        if name == "calls":
            found = [counts.get((r["turn"], r["agent"], r["attempt"])) for r in table.rows]
            more = [{"decides": d is not None, "nobodys": d is not None and d.nobodys} for d in found]
            table = _wider(table, {"decides": bool, "nobodys": bool}, more)
        yield table
    address = {"run": str, "turn": int, "agent": str}
    yield Table(
        "failures",
        {**address, "attempt": int, "cause": str},
        [
            {"run": run.id, "turn": d.turn, "agent": d.agent, "attempt": d.attempt, "cause": d.outcome}
            for d in decisions
            if d.nobodys
        ],
    )
    yield Table(
        "scores",
        {**address, "score": int},
        [
            {"run": run.id, "turn": turn, "agent": agent, "score": score}
            for turn, now in scores(records, run)
            for agent, score in now.items()
        ],
    )


def _queried(records: Records, run: Run, name: str, query: str) -> Table:
    """Give a table of the database."""
    cursor = records.db.conn.execute(query, [run.id])
    types = records.db.table(name).columns_dict
    columns = {column: types[column] for column, *_ in cursor.description}
    return Table(name, columns, [dict(zip(columns, row, strict=True)) for row in cursor])


def _wider(table: Table, columns: Mapping[str, type], more: list[Row]) -> Table:
    """Give a table with further columns."""
    rows = [{**row, **added} for row, added in zip(table.rows, more, strict=True)]
    return Table(table.name, {**table.columns, **columns}, rows)


def _write_jsonl(path: Path, table: Table) -> None:
    """Write an object a line; what is JSON stands as what it is."""
    with path.open("w", encoding="utf-8") as file:
        for row in table.rows:
            told = {
                column: json.loads(value)
                if value is not None and (table.name, column) in JSON_COLUMNS
                else value
                for column, value in row.items()
            }
            file.write(json.dumps(told, ensure_ascii=False) + "\n")


def _write_csv(path: Path, table: Table) -> None:
    """Write a header and a line a row; what is unknown is empty."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, table.columns)
        writer.writeheader()
        writer.writerows(table.rows)


def _write_parquet(path: Path, table: Table) -> None:
    """Write typed columns."""
    import pyarrow as pa  # noqa: PLC0415  slow to import, and two forms need none of it
    import pyarrow.parquet  # noqa: PLC0415

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(column, types[kind]) for column, kind in table.columns.items()])
    pyarrow.parquet.write_table(pa.Table.from_pylist(table.rows, schema), path)


WRITERS: dict[str, Callable[[Path, Table], None]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


def _write_pages(records: Records, run: Run, folder: Path) -> dict[str, int]:
    """Write the pages of a run as files that link to each other: its own, its turns', its agents'."""
    from lab.pages import Pages  # noqa: PLC0415  slow to import, for its plots

    decisions = records.decisions(run.id)
    turns = sorted({*range(run.turns), *(d.turn for d in decisions)})  # the last may not have ended
    addresses: list[tuple[Any, ...]] = [(), *((turn,) for turn in turns)]
    addresses += [(decision.turn, decision.agent) for decision in decisions]
    for address in track(addresses, "exporting", console=ERR, transient=True):
        up = "../" * len(address)
        pages = Pages(records, lambda _, *to, up=up: quote(f"{up}{_file(to)}"), live=False)
        show = (pages.run, pages.turn, pages.agent)[len(address)]
        path = folder / _file(address)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(show(run, *address), encoding="utf-8")
    return {"index.html": 1, "*/index.html": len(turns), "*/*/index.html": len(decisions)}


def _file(address: tuple[Any, ...]) -> str:
    """Name the file of the page with this address; no name of an agent leads out of its folder."""
    return "/".join([*(quote(str(part), safe="") for part in address), "index.html"])
