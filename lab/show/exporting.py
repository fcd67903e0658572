"""`hobbes export`: a run as tables for other tools, or as pages for people.

The tables are those of `lab.store.tables`.
"""

import csv
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.progress import track

from lab.errors import LabError, UsageError
from lab.files import check_path
from lab.show.terminal import ERR
from lab.store.database import Run, Store
from lab.store.tables import TABLES, RunTable, table_of


def export(store: Store, run: Run, form: str, to: Path) -> dict[str, int]:
    """Write a run into a new folder, and return the number of rows or pages of each file.

    The folder appears only when it is complete. Raise UsageError if it exists, LabError if it cannot be
    written.
    """
    if check_path(to, "--to").exists():
        raise UsageError(f"{to} already exists; choose another folder with --to")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=to.parent, prefix=".hobbes-") as made:
            folder = Path(made) / "export"
            folder.mkdir()
            written = _write(store, run, form, folder)
            shutil.move(folder, to)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(
            f"{to} lies in something that is not a folder; choose another one with --to"
        ) from error
    except OSError as error:
        raise LabError(f"cannot write {to}: {error.strerror}; choose another folder with --to") from error
    return written


def _write(store: Store, run: Run, form: str, folder: Path) -> dict[str, int]:
    """Write the files of a run into an existing folder."""
    if form == "html":
        return _write_pages(store, run, folder)
    about = {**store.about(run.id), **store.result(run)}
    (folder / "run.json").write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    written = {"run.json": 1}
    for name in track(TABLES, "exporting", console=ERR, transient=True):
        table = table_of(store, run, name)
        path = folder / f"{table.name}.{form}"
        WRITERS[form](path, table)
        written[path.name] = len(table.rows)
    return written


def _write_jsonl(path: Path, table: RunTable) -> None:
    """Write one JSON object per line; columns of JSON are written as values."""
    with path.open("w", encoding="utf-8") as file:
        for row in table.values():
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _write_csv(path: Path, table: RunTable) -> None:
    """Write a header and one line per row; unknown values are empty."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, table.columns)
        writer.writeheader()
        writer.writerows(table.rows)


def _write_parquet(path: Path, table: RunTable) -> None:
    """Write typed columns."""
    import pyarrow as pa  # noqa: PLC0415  slow to import, and only this format needs it
    import pyarrow.parquet  # noqa: PLC0415

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(column, types[kind]) for column, kind in table.columns.items()])
    pyarrow.parquet.write_table(pa.Table.from_pylist(table.rows, schema), path)


WRITERS: dict[str, Callable[[Path, RunTable], None]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


def _write_pages(store: Store, run: Run, folder: Path) -> dict[str, int]:
    """Write the pages of a run, its turns and its agents' turns as files that link to each other."""
    from lab.show.pages import Pages  # noqa: PLC0415  slow to import, because of matplotlib

    decisions = store.decisions(run.id)
    turns = sorted({*range(run.turns), *(d.turn for d in decisions)})  # the last may not be finished
    addresses: list[tuple[Any, ...]] = [(), *((turn,) for turn in turns)]
    addresses += [(decision.turn, decision.agent) for decision in decisions]
    for address in track(addresses, "exporting", console=ERR, transient=True):
        up = "../" * len(address)
        pages = Pages(store, lambda _, *to, up=up: quote(f"{up}{_file(to)}"), live=False)
        show = (pages.run, pages.turn, pages.agent)[len(address)]
        path = folder / _file(address)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(show(run, *address), encoding="utf-8")
    return {"index.html": 1, "*/index.html": len(turns), "*/*/index.html": len(decisions)}


def _file(address: tuple[Any, ...]) -> str:
    """Return the path of a page's file; agents' names are quoted, so that none leads out of the folder."""
    return "/".join([*(quote(str(part), safe="") for part in address), "index.html"])
