"""The runs of a home: the tables `runs` and `texts`."""

import json
import secrets
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from sqlite_utils import Database

from hobbes.engine.names import did_you_mean
from hobbes.engine.record import canonical, compact, sha256
from hobbes.engine.turn import RECORD_VERSION, first_digest
from hobbes.engine.world import AnyWorld, Setting, in_one_line, make_setting
from hobbes.engine.worlds import world_named
from hobbes.lab.errors import DamagedError, MissingError, UsageError
from hobbes.lab.files import CASSETTE_SUFFIX
from hobbes.lab.store.command_line import command
from hobbes.lab.store.damage import damage_error
from hobbes.lab.store.row_hashes import RUN_COLUMNS, WAY, column_hashes
from hobbes.lab.store.run import HOBBES, PersonQuestion, Run, Stretch, Versions
from hobbes.lab.store.schema import TEMPLATES
from hobbes.nodes.caps import Caps
from hobbes.nodes.models import Models, ModelSettings
from hobbes.nodes.prompting import PromptSet, bound

T = TypeVar("T")
Row = dict[str, Any]

RESERVED = {"last", "compare", "search", "experiments", "notes", "probes", "codes"}
"""Names that no run may have: `last` is the newest run, and the others are pages of `hobbes view`."""

OBJECT = TypeAdapter(dict[str, Any])
JSON: Mapping[str, TypeAdapter[Any]] = {
    "config": OBJECT,
    "agents": TypeAdapter(list[str]),
    "models": TypeAdapter(dict[str, str]),
    "model_settings": TypeAdapter(dict[str, ModelSettings]),
    "outcomes": TypeAdapter(dict[str, int]),
    "scores": TypeAdapter(dict[str, int]),
    "caps": TypeAdapter(Caps),
    "question": TypeAdapter(tuple[PersonQuestion, ...]),
    "servers": TypeAdapter(dict[str, list[str]]),
    "earlier": TypeAdapter(list[dict[str, Any]]),
    "column_hashes": TypeAdapter(list[str]),
}
"""The columns of the table `runs` that hold JSON, and what it is."""


class Runs:
    """The runs of a home."""

    def __init__(self, home: Path, db: Database) -> None:
        self._home = home
        self._db = db

    def new(  # noqa: PLR0913, PLR0917  everything that a run starts with
        self,
        world: AnyWorld,
        setting: Setting[Any],
        models: Mapping[str, str],
        model_settings: Models,
        prompts: PromptSet,
        name: str | None,
        caps: Caps,
        fork_of: tuple[Run, int] | None = None,
    ) -> str:
        """Store a new run with the exact texts of its prompt templates, and return its id.

        A fork begins at the turn that stands beside its parent. Its first turns are copied by `Turns`.
        """
        run = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(3)
        with self._db.atomic():
            texts = [self.add_text(text) for text in (prompts.system, prompts.turn, prompts.schema)]
            # The first text locks the database for other writers, so the name stays free until it is used.
            self.check_name(name)
            way = {
                "config": setting.config.model_dump_json(),
                "models": compact(models),
                "model_settings": compact({n: one.to_json() for n, one in model_settings.items()})
                if model_settings
                else None,
                "prompts": prompts.variant,
                "prompts_hash": prompts.hash or None,
                "lang": prompts.lang,
                **dict(zip(TEMPLATES, texts, strict=True)),
                "observer_text": prompts.observer,
            }
            parent, turn = fork_of or (None, None)
            earlier = self._earlier(parent.id, turn, way) if parent and turn is not None else []
            row = {
                "id": run,
                "name": name,
                "world": world.name,
                "agents": compact(setting.agents),
                "seed": setting.seed,
                **way,
                "caps": compact(asdict(caps)),
                "status": "unfinished",
                "digest": first_digest(world, setting),
                "started": now(),
                "record_version": RECORD_VERSION,
                "rules_version": world.rules_version,
                "hobbes": HOBBES,
                "parent": parent.id if parent else None,
                "turn": turn,
                "earlier": canonical(earlier) if earlier else None,
            }
            self._db.table("runs").insert({**row, "column_hashes": compact(column_hashes(row))})
        return run

    def _earlier(self, parent: str, turn: int, way: Mapping[str, Any]) -> list[Row]:
        """Return how the turns of a fork before its own were played, as JSON, in the order of turns.

        Nothing is told of turns that were played as the fork goes on.
        """
        row = self.row(parent)
        earlier: list[Row] = json.loads(row["earlier"] or "[]")
        if turn > (earlier[-1]["until"] if earlier else 0):
            earlier.append({"until": turn, **_plain_way(row)})
        if earlier and earlier[-1] == {"until": earlier[-1]["until"], **_plain_way(way)}:
            earlier.pop()
        return earlier

    def check_name(self, name: str | None) -> None:
        """Raise UsageError for a name by which the run could not be found."""
        if name is None:
            return
        if not name:
            raise UsageError("--name is empty; choose a name, or leave the option out")
        if name in RESERVED:
            raise UsageError(f"--name {name!r} is reserved; choose another name")
        if name.endswith(CASSETTE_SUFFIX):
            raise UsageError(f"--name {name!r} looks like a cassette file; choose another name")
        if any(self._db.table("runs").rows_where("name = ?1 or id = ?1", [name])):
            raise UsageError(f"--name {name!r}: the name is already in use; choose another")

    def add_text(self, text: str) -> str:
        """Store a text as it is, if it is new, and return its hash."""
        name = sha256(text)
        self._db.conn.execute("insert or ignore into texts (hash, text) values (?, ?)", (name, text))
        return name

    def text(self, name: str) -> str | None:
        """Return the text with a hash; None if it is missing, or is not the one with this hash."""
        stored = self._db.conn.execute("select text from texts where hash = ?", [name]).fetchone()
        return stored[0] if stored and sha256(stored[0]) == name else None

    def find(self, reference: str) -> Run:
        """Return the run with this id, unique prefix of an id, or name; `last` is the newest run.

        One of an experiment may have kept no turns: `pure.with_turns` plays them again. Raise MissingError if
        there is none, UsageError if there are several, DamagedError if it is damaged.
        """
        row = self._found(reference)
        check_row(row)
        return self._as_run(row)

    def find_unchecked(self, reference: str) -> Run:
        """Return a run, as `find` does, although its row may have been changed: `verify` tells how.

        Raise DamagedError if the row cannot be read at all.
        """
        return self._as_run(self._found(reference))

    def _found(self, reference: str) -> Row:
        """Return the row of the run that is meant."""
        table = self._db.table("runs")
        if reference == "last":
            rows = list(table.rows_where(order_by="rowid desc", limit=1))
        else:
            rows = list(table.rows_where("id = ?1 or name = ?1", [reference])) or list(
                table.rows_where("?1 != '' and substr(id, 1, length(?1)) = ?1", [reference])
            )
        if not rows:
            names = self._db.execute("select name from runs where name is not null union select id from runs")
            known = ["last", *(name for (name,) in names)]
            hint = did_you_mean(reference, known, f"`{command(self._home, 'runs')}` lists them")
            raise MissingError(f"there is no run {reference!r} in {self._home}{hint}")
        if len(rows) > 1:
            ids = ", ".join(str(row["id"]) for row in rows)
            raise UsageError(f"{reference!r} matches several runs; write more of the id: {ids}")
        return rows[0]

    def _as_run(self, row: Row) -> Run:
        """Return the run of a row. Raise DamagedError if it cannot be read."""
        versions = Versions(
            row["record_version"], row["rules_version"], row["hobbes"], row["measures_version"]
        )
        differences = ""
        try:
            world = world_named(row["world"])
            differences = versions.differences(world)
            setting = self._setting(world, row, value_of(row, "config"))
        except ValueError as error:
            told = f"; {differences}" if differences else ""
            raise DamagedError(f"run {row['id']} cannot be read: {error}{told}") from error
        return Run(
            row["id"],
            row["name"],
            world,
            setting,
            value_of(row, "models"),
            value_of(row, "model_settings") or {},
            self._prompts(world, row, row, setting),
            row["status"],
            row["turns"],
            row["digest"],
            row["seconds"],
            value_of(row, "caps"),
            value_of(row, "question") or (),
            versions,
            row["parent"],
            row["turn"] or 0,
            tuple(self._stretch(world, row, one) for one in value_of(row, "earlier") or ()),
        )

    def _stretch(self, world: AnyWorld, row: Row, way: Row) -> Stretch:
        """Return how some turns of a run were played."""
        try:
            setting = self._setting(world, row, way["config"])
            return Stretch(
                way["until"],
                setting,
                way["models"],
                JSON["model_settings"].validate_python(way["model_settings"] or {}),
                self._prompts(world, row, way, setting),
            )
        except (ValueError, LookupError) as error:
            raise damage_error(row["id"], "", f"the column runs.earlier is damaged: {error!r}") from error

    def _setting(self, world: AnyWorld, row: Row, config: Row) -> Setting[Any]:
        """Return the setting of a run with a config. Raise ValueError if there is no such setting."""
        return make_setting(world, value_of(row, "agents"), row["seed"], config)

    def _prompts(self, world: AnyWorld, row: Row, way: Mapping[str, Any], setting: Setting[Any]) -> PromptSet:
        """Return the prompts of a run, or those of its earlier turns."""
        templates = [self.text(way[column]) for column in TEMPLATES]
        for column, text in zip(TEMPLATES, templates, strict=True):
            if text is None:
                problem = f"the text of the column runs.{column} in the table texts is missing or was changed"
                raise damage_error(row["id"], "", problem)
        system, turn, schema = (text or "" for text in templates)
        observer, content = way["observer_text"] or "", way["prompts_hash"] or ""
        prompts = PromptSet(world.name, way["prompts"], way["lang"], system, turn, schema, observer, content)
        return bound(world, prompts, setting)

    def row(self, run: str) -> Row:
        """Return the row of a run; raise DamagedError if it is damaged."""
        row = self.row_unchecked(run)
        check_row(row)
        return row

    def row_unchecked(self, run: str) -> Row:
        """Return the row of a run as it is."""
        # `get` of sqlite-utils asks SQLite for the columns of the table each time.
        (row,) = self._db.query("select * from runs where id = ?", [run])
        return row

    def rows(self) -> list[Row]:
        """Return the rows of all runs as they are, the newest first."""
        return list(self._db.table("runs").rows_where(order_by="rowid desc"))

    def prompts(self) -> list[Row]:
        """Return all runs, the newest first: id, name, world, prompts, lang and prompts_hash."""
        columns = "id, name, world, prompts, lang, prompts_hash"
        return list(self._db.query(f"select {columns} from runs order by started desc, rowid desc"))  # noqa: S608  names are ours

    def forks(self, run: str) -> list[Row]:
        """Return the forks of a run, the newest first: id, name and turn."""
        sql = "select id, name, turn from runs where parent = ? order by rowid desc"
        return list(self._db.query(sql, [run]))

    def waiting(self) -> list[str]:
        """Return the ids of the runs that wait for people."""
        return [run for (run,) in self._db.execute("select id from runs where status = 'waiting'")]

    def update(self, run: str, **values: str | float | None) -> None:
        """Change columns of a run."""
        # A single statement waits for other writers. sqlite-utils reads first, and SQLite refuses to turn a
        # reader into a writer.
        with self._db.conn as connection:
            update_run(connection, run, values)

    def keep_servers(self, run: str, asked: Mapping[str, str]) -> None:
        """Note the server that each chat model is asked at, by the spec of its player.

        One that was stopped may go on at another server; the servers before it stay.
        """
        before = value_of(self.row(run), "servers") or {}
        servers = {spec: [*dict.fromkeys([*before.get(spec, ()), url])] for spec, url in asked.items()}
        if servers != before:
            self.update(run, servers=compact({**before, **servers}))

    def ask(self, run: str, questions: Iterable[PersonQuestion]) -> None:
        """Note that a run waits for people, and what they are asked."""
        self.update(run, status="waiting", question=json.dumps([asdict(one) for one in questions]))


def check_row(row: Row) -> None:
    """Raise DamagedError if a column of a run's row that never changes was changed."""
    for column in changed_columns(row):
        raise damage_error(row["id"], "", f"the column runs.{column} is damaged: it was changed")


def changed_columns(row: Row) -> list[str]:
    """Return the columns of a run's row that never change, and were changed all the same."""
    written = value_of(row, "column_hashes")
    pairs = zip_longest(RUN_COLUMNS, written, column_hashes(row))
    return [column for column, then, today in pairs if column and then != today]


def value_of(row: Mapping[str, Any], column: str) -> Any:  # noqa: ANN401  a column's value
    """Return what the JSON of a column of `runs` holds; None if it is empty. Raise DamagedError."""
    try:
        return None if row[column] is None else JSON[column].validate_json(row[column])
    except ValidationError as error:
        problem = f"the column runs.{column} is damaged: {in_one_line(error, depth=3)}"
        raise damage_error(row["id"], "", problem) from error


def plain_value_of(row: Mapping[str, Any], column: str) -> Any:  # noqa: ANN401  a column's value
    """Return the value of a column of `runs`, JSON as plain values. Raise DamagedError."""
    if column not in JSON or row[column] is None:
        return row[column]
    value_of(row, column)
    return json.loads(row[column])


def _plain_way(row: Mapping[str, Any]) -> Row:
    """Return the columns of a run that say how it is played, as plain JSON."""
    return {column: plain_value_of(row, column) for column in WAY}


def update_run(connection: sqlite3.Connection, run: str, values: Mapping[str, str | float | None]) -> None:
    """Change columns of a run."""
    columns = ", ".join(f"{column} = :{column}" for column in values)
    connection.execute(f"update runs set {columns} where id = :run", {**values, "run": run})  # noqa: S608  names are ours


def now() -> str:
    """Return the time in UTC, to the millisecond, for people to read."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
