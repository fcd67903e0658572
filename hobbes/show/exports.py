"""`hobbes export`: a run as tables or a log for other tools, or as pages for people.

The tables are those of `hobbes.store.run_tables`.
"""

import csv
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from filelock import FileLock, Timeout
from rich.progress import track

from hobbes.engine.record import sha256
from hobbes.errors import HobbesError, UsageError
from hobbes.files import check_path
from hobbes.show.terminal import ERR
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.run_tables import RunTable, table_of, tables_of

LOCK = "lock"
"""The file that is locked in the temporary folder of an export while it is written."""

LOG = ".eval"
"""How the name of an inspect log ends. inspect opens no others."""

BATCH = 500
"""How many rows of a Parquet file are written, and later read, at a time."""


def export(store: Store, run: Run, form: str, to: Path) -> dict[str, int]:
    """Write a run into a new folder, or into a new file as `inspect`, and return the size of each file.

    The size is the number of rows, pages or samples. The folder or the file appears only when it is complete.
    What an export that was killed has left there is removed. Raise UsageError if it exists, HobbesError if it
    cannot be written.
    """
    what = "file" if form == "inspect" else "folder"
    if check_path(to, "--to").exists():
        raise UsageError(f"{to} already exists; choose another {what} with --to")
    if form == "inspect" and to.suffix != LOG:
        raise UsageError(f"inspect opens only files that end in {LOG}: --to {to}{LOG}")
    begins = f".hobbes-{sha256(to.name)[:12]}-"  # a name of its own might be too long
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        for left in to.parent.glob(f"{begins}*"):
            with suppress(Timeout), FileLock(left / LOCK, timeout=0):  # a process may still write into it
                shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=to.parent, prefix=begins) as made, FileLock(Path(made) / LOCK):
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
    """Write the pages of a run and of its agents' turns as files that link to each other."""
    from hobbes.show.web.page_templates import SCRIPT  # noqa: PLC0415  slow to import
    from hobbes.show.web.pages import MOMENTS, Kept, Pages  # noqa: PLC0415  slow to import

    decisions = [decision for decision in store.calls.decisions(run.id) if decision.turn <= run.turns]
    asked: dict[int, list[str]] = {number: [] for number in range(run.turns)}
    for decision in decisions:
        asked.setdefault(decision.turn, []).append(decision.agent)  # the last turn may not be finished
    kept = Kept()
    linked: set[str] = set()
    to_write: list[tuple[str, dict[str, Any]]] = []
    (folder / MOMENTS).mkdir()
    (folder / "hobbes.js").write_text(SCRIPT, encoding="utf-8")

    others = {  # written if a page links to them; what they are asked for is part of their names
        "diary": lambda pages, query: pages.diary(run, query),
    }

    def link(up: str, _: object, *address: Any, **query: Any) -> str:  # noqa: ANN401  what templates link to
        path = _file(address, query)
        if address and address[0] in others and path not in linked:
            linked.add(path)
            to_write.append((address[0], query))
        return quote(f"{up}{path}")

    def write(path: str, show: Callable[[Pages], str]) -> None:
        up = "../" * path.count("/")
        pages = Pages(store, partial(link, up), live=False, script=f"{up}hobbes.js", kept=kept)
        to = folder / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(show(pages), encoding="utf-8")

    write(_file(()), lambda pages: pages.run(run))
    for number, agents in track(sorted(asked.items()), "exporting", console=ERR, transient=True):
        moment = Pages(store, partial(link, ""), live=False, kept=kept).moment(run, number)
        script = f"hobbes.moment({number}, {json.dumps(moment)});\n"
        (folder / MOMENTS / f"{number}.js").write_text(script, encoding="utf-8")
        for agent in sorted(agents):
            write(_file((number, agent)), partial(Pages.agent, run=run, number=number, agent=agent))
    written = Counter[str]()
    while to_write:
        what, query = to_write.pop()
        write(_file((what,), query), lambda pages, what=what, query=query: others[what](pages, query))  # type: ignore[misc]
        written[f"{what}/*.html"] += 1
    return {"index.html": 1, "*/*/index.html": len(decisions), **written}


def _file(address: tuple[Any, ...], query: Mapping[str, Any] | None = None) -> str:
    """Return the path of a page's file; agents' names are quoted, so that none leads out of the folder."""
    name = "-".join(f"{name}={quote(str(value), safe='')}" for name, value in (query or {}).items())
    return "/".join([*(quote(str(part), safe="") for part in address), f"{name or 'index'}.html"])
