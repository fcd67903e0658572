"""`hobbes export`: a run as tables or a log for other tools, or as pages for people.

The tables are those of `hobbes.store.run_tables`.
"""

import csv
import json
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from rich.progress import track

from hobbes.errors import HobbesError, UsageError
from hobbes.files import check_path
from hobbes.show.terminal import ERR
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.run_tables import RunTable, table_of, tables_of

LOG = ".eval"
"""How the name of an inspect log ends. inspect opens no others."""

BATCH = 500
"""How many rows of a Parquet file are written, and later read, at a time."""


def export(store: Store, run: Run, form: str, to: Path) -> dict[str, int]:
    """Write a run into a new folder, or into a new file as `inspect`, and return the size of each file.

    The size is the number of rows, pages or samples. The folder or the file appears only when it is complete.
    Raise UsageError if it exists, HobbesError if it cannot be written.
    """
    what = "file" if form == "inspect" else "folder"
    if check_path(to, "--to").exists():
        raise UsageError(f"{to} already exists; choose another {what} with --to")
    if form == "inspect" and to.suffix != LOG:
        raise UsageError(f"inspect opens only files that end in {LOG}: --to {to}{LOG}")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=to.parent, prefix=".hobbes-") as made:
            whole = Path(made) / "export"
            if form == "inspect":
                written = {to.name: _write_log(store, run, whole)}
            else:
                whole.mkdir()
                written = _write(store, run, form, whole)
            whole.rename(to)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(
            f"{to} lies in something that is not a folder; choose another one with --to"
        ) from error
    except OSError as error:
        raise HobbesError(f"cannot write {to}: {error.strerror}; choose another {what} with --to") from error
    return written


def _write(store: Store, run: Run, form: str, folder: Path) -> dict[str, int]:
    """Write the files of a run into an existing folder."""
    if form == "html":
        return _write_pages(store, run, folder)
    about = {**store.figures.about(run.id), **store.figures.result(run)}
    (folder / "run.json").write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    written = {"run.json": 1}
    for name in track(tables_of(run), "exporting", console=ERR, transient=True):
        table = table_of(store, run, name)
        path = folder / f"{table.name}.{form}"
        written[path.name] = WRITERS[form](path, table)
    return written


def _write_log(store: Store, run: Run, path: Path) -> int:
    """Write an inspect log, and return the number of its samples."""
    try:
        from hobbes.show.inspect_log import write  # noqa: PLC0415  slow to import, and its library is optional
    except ImportError as error:
        raise HobbesError(
            "this format needs inspect-ai; install it in the checkout: pip install -e '.[inspect]'"
        ) from error
    return write(store, run, path)


def _write_jsonl(path: Path, table: RunTable) -> int:
    """Write one JSON object per line, and return their number; columns of JSON are written as values."""
    number = 0
    with path.open("w", encoding="utf-8") as file:
        for row in table.values():
            number += 1
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return number


def _write_csv(path: Path, table: RunTable) -> int:
    """Write a header and one line per row, and return the number of rows; unknown values are empty."""
    number = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, table.columns)
        writer.writeheader()
        for row in table.rows:
            number += 1
            writer.writerow(row)
    return number


def _write_parquet(path: Path, table: RunTable) -> int:
    """Write typed columns, some rows at a time, and return the number of rows."""
    import pyarrow as pa  # noqa: PLC0415  slow to import, and only this format needs it
    import pyarrow.parquet  # noqa: PLC0415

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(column, types[kind]) for column, kind in table.columns.items()])
    number = 0
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        while rows := list(islice(table.rows, BATCH)):
            writer.write_table(pa.Table.from_pylist(rows, schema))
            number += len(rows)
    return number


WRITERS: dict[str, Callable[[Path, RunTable], int]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


def _write_pages(store: Store, run: Run, folder: Path) -> dict[str, int]:
    """Write the page of a run and those of its agents' turns as files that link to each other."""
    from hobbes.show.web.run_pages import RunPages  # noqa: PLC0415  slow to import

    pages = RunPages(store, lambda *address, **_: quote(_file(*address[1:])), live=False, run=run)
    (folder / _file()).write_text(pages.at_a_turn(), encoding="utf-8")
    decisions = [decision for decision in store.calls.decisions(run.id) if decision.turn <= run.turns]
    for decision in track(decisions, "exporting", console=ERR, transient=True):
        page = pages.card(decision.turn, decision.agent)
        (folder / _file(decision.turn, decision.agent)).write_text(page, encoding="utf-8")
    return {_file(): 1, "*-*.html": len(decisions)}


def _file(turn: int | None = None, agent: str = "") -> str:
    """Return the file of a page; agents' names are quoted, so that none leads out of the folder."""
    return "index.html" if turn is None else f"{turn}-{quote(agent, safe='')}.html"
