"""`hobbes export`: a run as tables or a log for other tools, or as a page or a moving board for people.

The tables are those of `hobbes.store.run_tables`.
"""

import csv
import json
import tempfile
from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path

from hobbes.errors import HobbesError, UsageError, needs_extra
from hobbes.files import check_path
from hobbes.show.moving_board import moving_svg
from hobbes.show.terminal import export_bar
from hobbes.show.trace import board_in, full_turn
from hobbes.store.history import missing_turn, stored_turn
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.run_tables import RunTable, table_of, tables_of

FILES = {"inspect": ".eval", "page": ".html", "svg": ".svg"}
"""The formats that are one file, and how its name ends. inspect opens no others."""

BATCH = 500
"""How many rows of a Parquet file are written, and later read, at a time."""


def export(
    store: Store, run: Run, form: str, to: Path, turns: Collection[int] | None = None
) -> dict[str, int]:
    """Write a run into a new folder, or into a new file if its format is one of FILES, and return the sizes.

    The size of a file is the number of its rows, samples, frames, or turns and cards. A page or a moving
    board has only some turns if `turns` are given. The folder or the file appears only when it is complete.
    Raise UsageError if it exists, HobbesError if it cannot be written.
    """
    what = "file" if form in FILES else "folder"
    if check_path(to, "--to").exists():
        raise UsageError(f"{to} already exists; choose another {what} with --to")
    if form == "inspect" and to.suffix != FILES[form]:
        raise UsageError(f"inspect opens only files that end in {FILES[form]}: --to {to}{FILES[form]}")
    if turns is not None and form not in {"page", "svg"}:
        raise UsageError("--turns goes with --format page and svg")
    chosen = _chosen(store, run, turns)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=to.parent, prefix=".hobbes-") as made:
            whole = Path(made) / "export"
            if form in FILES:
                written = {to.name: FILE_WRITERS[form](store, run, chosen, whole)}
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


def _chosen(store: Store, run: Run, turns: Collection[int] | None) -> Sequence[int]:
    """Return these turns of a run in their order, or all, with one that has begun."""
    if turns is None:
        return range(run.turns + bool(store.calls.attempts(run.id, run.turns)))
    for number in turns:
        stored_turn(store, run, number)
    return sorted({*turns})


def _write(store: Store, run: Run, form: str, folder: Path) -> dict[str, int]:
    """Write the tables of a run into an existing folder."""
    about = {**store.figures.about(run.id), **store.figures.result(run)}
    (folder / "run.json").write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    written = {"run.json": 1}
    with export_bar(tables_of(run)) as names:
        for name in names:
            table = table_of(store, run, name)
            path = folder / f"{table.name}.{form}"
            written[path.name] = WRITERS[form](path, table)
    return written


def _write_log(store: Store, run: Run, _: Sequence[int], path: Path) -> int:
    """Write an inspect log, and return the number of its samples."""
    with needs_extra("inspect", "logs for inspect"):
        from hobbes.show.inspect_log import write  # noqa: PLC0415  slow to import
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
    with needs_extra("parquet", "Parquet files"):
        import pyarrow as pa  # noqa: PLC0415  slow to import
        import pyarrow.parquet  # noqa: PLC0415

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(column, types[kind]) for column, kind in table.columns.items()])
    number = 0
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        while rows := list(islice(table.rows, BATCH)):
            writer.write_table(pa.Table.from_pylist(rows, schema))
            number += len(rows)
    return number


WRITERS = {"jsonl": _write_jsonl, "csv": _write_csv, "parquet": _write_parquet}


def _write_page(store: Store, run: Run, turns: Sequence[int], path: Path) -> int:
    """Write the page of a run with these turns and their cards, and return the number of both."""
    from hobbes.show.web.page_file import PageFile  # noqa: PLC0415  slow to import

    pages = PageFile(store, run, turns)
    with export_bar(turns) as shown:
        sheets = [sheet for turn in shown for sheet in pages.sheets(turn)]
    path.write_text(pages.whole(sheets), encoding="utf-8")
    return len(sheets)


def _write_moving_board(store: Store, run: Run, turns: Sequence[int], path: Path) -> int:
    """Write the boards of these turns as one SVG that shows them in turn, and return their number."""
    with export_bar(turns) as shown:
        boards = {
            f"{run.label}, turn {turn} of {run.turns - 1}": board
            for turn in shown
            if (board := board_in(run, full_turn(store, run, turn)))
        }
    if not boards:
        raise missing_turn(run, 0)
    path.write_text(moving_svg(boards), encoding="utf-8")
    return len(boards)


FILE_WRITERS = {"inspect": _write_log, "page": _write_page, "svg": _write_moving_board}
