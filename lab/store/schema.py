"""The tables of the run database, made with sqlite-utils, and the migrations from earlier versions.

The tables of a turn's record are views of the column `turns.record`, and `turns` is a view itself. Their SQL
follows from the declarations in `engine.turn`.
"""
# ruff: noqa: S608  names are ours

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from hobbes.engine.record import canonical
from hobbes.engine.turn import EACH, Column, Kind, Part, Table, TurnRecord
from hobbes.lab.store import records, texts
from hobbes.lab.store.records import RECORD
from hobbes.lab.store.sqlite import Database, Migrations

TEMPLATES = ("system_template", "turn_template", "answer_schema")
"""The columns of `runs` for the templates of its prompts, which are stored when the run starts."""

migrations = Migrations("hobbes")


@migrations()
def m001_runs_turns_and_their_rows(db: Database) -> None:
    """Create the tables of the first version."""
    db.table("texts").create({"hash": str, "text": str}, pk="hash")
    db.table("runs").create(
        {
            "id": str,
            "name": str,
            "world": str,
            "config": str,
            "agents": str,
            "seed": int,
            "models": str,
            "prompts": str,
            "lang": str,
            "system_template": str,
            "turn_template": str,
            "answer_schema": str,
            "status": str,
            "started": str,
            "ended": str,
            "turns": int,
            "digest": str,
            "outcomes": str,
            "scores": str,
            "tainted": int,
            "seconds": float,
            "error": str,
        },
        pk="id",
        foreign_keys=[(column, "texts", "hash") for column in TEMPLATES],
        defaults={"turns": 0, "seconds": 0},
    )
    db.table("runs").create_index(["name"], unique=True)
    for table, columns, key in (
        ("turns", {"state": str, "record": str, "digest": str, "ledgers": str, "ended": str}, ()),
        (
            "calls",
            {
                "agent": str,
                "attempt": int,
                "outcome": str,
                "stage": str,
                "model": str,
                "system": str,
                "prompt": str,
                "answer": str,
                "reasoning": str,
                "error": str,
                "tokens_in": int,
                "tokens_out": int,
                "milliseconds": int,
                "arrived": str,
            },
            ("agent", "attempt"),
        ),
        ("intents", {"agent": str, "intent": str}, ("agent",)),
        ("drops", {"n": int, "agent": str, "stage": str, "code": str, "said": str, "detail": str}, ("n",)),
        ("mends", {"n": int, "agent": str, "stage": str, "code": str, "said": str, "kept": str}, ("n",)),
        ("events", {"n": int, "type": str, "agent": str, "event": str}, ("n",)),
        (
            "draws",
            {
                "n": int,
                "event": str,
                "subject": str,
                "participants": str,
                "digest": str,
                "winner": str,
            },
            ("n",),
        ),
        (
            "reports",
            {"rater": str, "ratee": str, "kind": str, "score": int},
            ("rater", "ratee", "kind"),
        ),
        ("messages", {"n": int, "sender": str, "receiver": str, "text": str}, ("n",)),
        ("minds", {"agent": str, "mind": str}, ("agent",)),
        ("measures", {"name": str, "scope": str, "value": float}, ("name", "scope")),
    ):
        address = {"run": str} if table == "measures" else {"run": str, "turn": int}
        keys: list[Any] = [("run", "runs", "id")]
        if table == "calls":
            keys += [("system", "texts", "hash"), ("prompt", "texts", "hash")]
        db.table(table).create(address | columns, pk=(*address, *key), foreign_keys=keys)
    for table in ("drops", "mends"):
        db.table(table).create_index(["run", "code"])
    db.table("events").create_index(["run", "type"])
    db.table("calls").create_index(["run", "outcome"])


@migrations()
def m002_tries_and_questions(db: Database) -> None:
    """Add how often a call was sent, and which question it asked; earlier calls get 1 for both."""
    db.table("calls").add_column("tries", int, not_null_default=1)
    db.table("calls").add_column("question", int, not_null_default=1)


@migrations()
def m003_caps(db: Database) -> None:
    """Add the caps of a run."""
    db.table("runs").add_column("caps", str)


@migrations()
def m004_observers(db: Database) -> None:
    """Add the prompt template of an observer, and the question to a person while a run waits."""
    db.table("runs").add_column("observer_text", str)
    db.table("runs").add_column("question", str)


@migrations()
def m005_what_measures_rest_on(db: Database) -> None:
    """Add to each measure its number of decisions and of failed calls."""
    for column in ("decisions", "failures"):
        db.table("measures").add_column(column, int)


@migrations()
def m006_versions_and_memories(db: Database) -> None:
    """Add the versions of a run's record, rules and hobbes, and seals; rename minds to memories.

    Earlier runs get version 1 of record and rules.
    """
    db.rename_table("minds", "memories")
    db.conn.execute("alter table memories rename column mind to memory")
    db.conn.execute("alter table calls rename column stage to found_as")
    for column in ("record_version", "rules_version"):
        db.table("runs").add_column(column, int, not_null_default=1)
    db.table("runs").add_column("hobbes", str, not_null_default="0.1")
    for table in ("runs", "calls"):
        db.table(table).add_column("seal", str)


@migrations()
def m007_models_of_a_file(db: Database) -> None:
    """Add the settings of models that have a name in a models file, and which player answered a call."""
    db.table("runs").add_column("model_settings", str)
    db.table("calls").add_column("player", str)


@migrations()
def m008_forks(db: Database) -> None:
    """Add the run that a run was forked from, the turn, and how the turns before it were played."""
    db.conn.execute("alter table runs add column parent text references runs(id)")
    db.table("runs").add_column("turn", int)
    db.table("runs").add_column("earlier", str)


@migrations()
def m009_content_of_prompts(db: Database) -> None:
    """Add the content hash of the variant of prompts; that of earlier runs is unknown."""
    db.table("runs").add_column("prompts_hash", str)


@migrations()
def m010_experiments(db: Database) -> None:
    """Add experiments, and their cells: which run played which arm with which seed."""
    db.table("experiments").create({"name": str, "world": str, "file": str, "started": str}, pk="name")
    db.table("cells").create(
        {"experiment": str, "arm": str, "seed": int, "run": str},
        pk=("experiment", "arm", "seed"),
        foreign_keys=[("experiment", "experiments", "name"), ("run", "runs", "id")],
    )


NOT_IN_RECORD = "_not_in_record"
"""The end of the names of tables for rows that an earlier version stored, and that no record has."""


@migrations()
def m011_views_of_the_record(db: Database) -> None:
    """Replace the tables that repeat parts of the record by views, and the column `turns.state`, too."""
    states = db.query(
        "select run, turn, state from turns"
        f" where iif(json_valid(state), json(state), state) is not json_extract({RECORD}, '$.state')"
    )
    db.table("turns" + NOT_IN_RECORD).insert_all(list(states))
    db.conn.execute("alter table turns drop column state")
    db.conn.execute(
        "alter table turns add column state text"
        f" generated always as (json_extract({RECORD}, '$.state')) virtual"
    )
    present = set(db.table_names())
    for table in TurnRecord.tables():
        if table.name not in present:
            continue
        earlier = f"{table.name}_before"
        db.rename_table(table.name, earlier)
        db.conn.execute(view_of(table))
        if rows := list(_not_in_record(db, table, earlier)):
            kept = (dict(zip(columns_of(table), row, strict=True)) for row in rows)
            db.table(table.name + NOT_IN_RECORD).insert_all(kept)
        db.conn.execute(f"drop table {earlier}")


def _not_in_record(db: Database, table: Table, earlier: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of an earlier table that the view of the record does not have."""
    columns = ", ".join(columns_of(table))
    as_json = [place for place, kind in enumerate(columns_of(table).values()) if kind == "json"]
    for (run,) in db.execute(f"select distinct run from {earlier}").fetchall():
        told = f"select {columns} from {table.name} where run = :run"
        missing = db.execute(
            f"select {columns} from {earlier} where run = :run except {told}", {"run": run}
        ).fetchall()
        if missing:  # version 1 of the record wrote JSON with spaces and in another order of keys
            there = {_with_canonical_json(row, as_json) for row in db.execute(told, {"run": run})}
            yield from (row for row in missing if _with_canonical_json(row, as_json) not in there)


def _with_canonical_json(row: tuple[Any, ...], places: Iterable[int]) -> tuple[Any, ...]:
    """Return a row with the JSON at these places in its canonical text; what is not JSON stays as it is."""
    cells = list(row)
    for place in places:
        with suppress(ValueError, TypeError):
            cells[place] = canonical(json.loads(cells[place]))
    return tuple(cells)


def migrate(db: Database) -> None:
    """Bring a run database up to date, or create its tables if it is new; all or nothing."""
    if migrations.pending(db):
        with db.atomic():  # in transactions of their own, each migration would wait for the disk
            migrations.apply(db)


def make_views(db: Database) -> None:
    """Create the views that are missing, or that are not as this version declares them."""
    there = {name: (kind, sql) for name, kind, sql in db.execute("select name, type, sql from sqlite_master")}
    views = {
        "texts": texts.VIEW,
        "turns": records.VIEW,
        **{table.name: view_of(table) for table in TurnRecord.tables()},
    }
    for name, view in views.items():
        kind, sql = there.get(name, (None, None))
        if sql != view:
            with db.atomic():
                if kind:
                    db.conn.execute(f"drop {kind} {name}")
                db.conn.execute(view)


def columns_of(table: Table) -> dict[str, Kind]:
    """Return all columns of a table of the record with their types, in their order."""
    return {"run": "text", "turn": "integer", **{name: column.kind for name, column in table.columns.items()}}


def view_of(table: Table) -> str:
    """Return the SQL that creates the view for a table of the record.

    A damaged record has no rows. The rows of a run are found by the primary key of `packed_turns`.
    """
    (part,) = ((name, part) for name, part in TurnRecord.parts().items() if table in part.tables)
    return f"CREATE VIEW {table.name} AS\n" + "\nunion all\n".join(
        _rows_at(table, *part, place) for place in table.places
    )


def _rows_at(table: Table, name: str, part: Part, place: tuple[str, ...]) -> str:
    """Return the SQL that selects the rows of a table at one of its places."""
    source, path = RECORD, f"$.{name}"
    if part.former:
        source, path = f"coalesce({RECORD} -> '$.{name}', {RECORD} -> '$.{part.former}')", "$"
    joined, steps = ["turns"], []
    for number, step in enumerate(place):
        if step == EACH:
            joined.append(f"json_each({source}, '{path}') as at{number}")
            steps.append(f"at{number}.key")
            source, path = f"iif(at{number}.type = 'object', at{number}.value, '{{}}')", "$"
        else:
            steps.append(f"'{step}'")
            path += f".{step}"
    value = f"at{len(place) - 1}.value"
    columns = [f"{_cell(column, value, steps)} as {name}" for name, column in table.columns.items()]
    only = [f"{value} ->> '{path}' = '{told}'" for path, told in table.only.items()]
    paths = any(str(column.source).startswith("$.") for column in table.columns.values())
    objects = [f"at{len(place) - 1}.type = 'object'"] if paths else []
    where = " and ".join((*objects, *only))
    return f"select turns.run as run, turns.turn as turn, {', '.join(columns)}\nfrom {', '.join(joined)}" + (
        f"\nwhere {where}" if where else ""
    )


def _cell(column: Column, value: str, steps: Sequence[str]) -> str:
    """Return the SQL of a column, whose row stands in `value`, reached by these steps."""
    if column.source is None:
        return "row_number() over (partition by turns.run, turns.turn order by at0.key) - 1"
    if isinstance(column.source, int):
        return steps[column.source]
    if column.source == "$":
        return value
    cell = f"{value} {'->' if column.kind == 'json' else '->>'} '{column.source}'"
    return cell if column.otherwise is None else f"coalesce({cell}, '{column.otherwise}')"


@migrations()
def m012_packed_texts(db: Database) -> None:
    """Let texts be packed, each with another one as its base; earlier ones stay as they are."""
    db.rename_table("texts", "packed_texts")
    db.conn.execute("alter table packed_texts add column base text references packed_texts(hash)")
    db.conn.execute("drop index idx_calls_run_outcome")  # no query is quicker with it


@migrations()
def m013_shorter_seals(db: Database) -> None:
    """Shorten the seals of calls to half their length."""
    db.conn.execute("update calls set seal = substr(seal, 1, 32)")


@migrations()
def m014_packed_turns(db: Database) -> None:
    """Compress the records of turns; what is not a text stays as it is."""
    db.table("packed_turns").create(
        {
            "run": str,
            "turn": int,
            "record": str,
            "size": int,
            "digest": str,
            "ledgers": str,
            "ended": str,
        },
        pk=("run", "turn"),
        foreign_keys=[("run", "runs", "id")],
    )
    db.conn.create_function("sqlar_compress", 1, records.compressed)
    is_text = "typeof(record) = 'text'"
    as_bytes = "cast(record as blob)"  # Python cannot take a text with damaged bytes
    db.conn.execute(
        "insert into packed_turns (rowid, run, turn, record, size, digest, ledgers, ended)"
        f" select rowid, run, turn, iif({is_text}, sqlar_compress({as_bytes}), record),"
        f" iif({is_text}, length({as_bytes}), 0), digest, ledgers, ended from turns order by rowid"
    )
    db.conn.execute("drop table turns")
    db.conn.execute(records.VIEW)  # a migration that changes a table needs the views to be whole


SQL_KINDS: Mapping[str, type] = {"TEXT": str, "INTEGER": int, "REAL": float, "FLOAT": float}
"""The types of SQL columns: `FLOAT` is what sqlite-utils calls `REAL` in columns that were added later."""


def kinds_of(db: Database, name: str) -> dict[str, type]:
    """Return the columns of a table or a view, each with the type of its values."""
    if name == "texts":
        return {"hash": str, "text": str}
    if name == "turns":
        return {
            "run": str,
            "turn": int,
            **dict.fromkeys(("state", "record", "digest", "ledgers", "ended"), str),
        }
    for table in TurnRecord.tables():
        if table.name == name:
            return {column: int if kind == "integer" else str for column, kind in columns_of(table).items()}
    return {
        column: SQL_KINDS[kind.upper()]
        for column, kind in db.execute("select name, type from pragma_table_xinfo(?)", [name])
    }
