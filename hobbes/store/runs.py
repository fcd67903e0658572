"""The runs of a home: the tables `runs` and `texts`."""

import json
import secrets
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, Json
from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict before Python 3.12

from hobbes.engine.digest import first_digest
from hobbes.engine.names import did_you_mean, is_readable
from hobbes.engine.record import canonical, compact, excerpt, sha256
from hobbes.engine.turn import RECORD_VERSION
from hobbes.engine.world import MAX_NAME, AnyWorld, Setting, make_setting
from hobbes.errors import DamagedError, MissingError, UsageError
from hobbes.files import CASSETTE_SUFFIX
from hobbes.graphs.database import named_rows, transaction
from hobbes.nodes.caps import Caps
from hobbes.nodes.models import Models, ModelSettings
from hobbes.nodes.prompt_set import PromptSet, bound
from hobbes.store.checked_rows import Row, Table, damage_error
from hobbes.store.command_line import command
from hobbes.store.recorded_run import HOBBES, PersonQuestion, Run, Stretch, Versions
from hobbes.store.row_hashes import RUN_COLUMNS, column_hashes
from hobbes.store.schema import COUNTS, TEMPLATES, insertion
from hobbes.worlds import world_named

RESERVED = {"last", "compare", "search", "experiments", "notes", "probes"}
"""Names that no run may have: `last` is the newest run, and the others are pages of `hobbes view`."""


class Way(TypedDict):
    """How the turns before `until` were played: columns of `runs`, which a fork may change."""

    until: int
    config: dict[str, Any]
    models: dict[str, str]
    model_settings: dict[str, ModelSettings] | None
    prompts: str
    prompts_hash: str | None
    lang: str
    system_template: str
    turn_template: str
    answer_schema: str
    observer_text: str | None


RUNS = Table(
    "runs",
    {
        **dict.fromkeys(("id", "world", "prompts", "lang", "status", "started", "digest", "hobbes"), str),
        **dict.fromkeys(TEMPLATES, str),
        **dict.fromkeys(("seed", "record_version", "rules_version"), int),
        "turns": Annotated[int, Field(ge=0)],
        "seconds": float,
        **dict.fromkeys(("name", "prompts_hash", "observer_text", "ended", "ending"), str | None),
        **dict.fromkeys(("error", "parent"), str | None),
        **dict.fromkeys(("turn", "tainted", "measures_version", *COUNTS), int | None),
    },
    {
        "config": Json[dict[str, Any]],
        "agents": Json[list[str]],
        "models": Json[dict[str, str]],
        "model_settings": Json[dict[str, ModelSettings]] | None,
        "outcomes": Json[dict[str, int]] | None,
        "scores": Json[dict[str, int]] | None,
        "caps": Json[Caps],
        "question": Json[tuple[PersonQuestion, ...]] | None,
        "servers": Json[dict[str, list[str]]] | None,
        "earlier": Json[list[Way]] | None,
        "column_hashes": Json[list[str]],
    },
    lambda row, problem: damage_error(row["id"], "", problem),
)


class Runs:
    """The runs of a home."""

    def __init__(self, home: Path, connection: sqlite3.Connection) -> None:
        self._home = home
        self._connection = connection

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
        with transaction(self._connection):
            texts = [self.add_text(text) for text in (prompts.system, prompts.turn, prompts.schema)]
            # The first text locks the database for other writers, so the name stays free until it is used.
            self.check_name(name)
            way = {
                "config": setting.config.model_dump_json(),
                **_players(models, model_settings),
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
            row["column_hashes"] = compact(column_hashes(row))
            self._connection.execute(insertion("insert", "runs", [*row]), [*row.values()])
        return run

    def _earlier(self, parent: str, turn: int, way: Mapping[str, Any]) -> list[Row]:
        """Return how the turns of a fork before its own were played, as JSON, in the order of turns.

        Nothing is told of turns that were played as the fork goes on.
        """
        row = self.row(parent)
        earlier: list[Row] = RUNS.plain(row, "earlier") or []
        if turn > (earlier[-1]["until"] if earlier else 0):
            earlier.append({"until": turn, **_plain_way(row)})
        if earlier and earlier[-1] == {"until": earlier[-1]["until"], **_plain_way(way)}:
            earlier.pop()
        return earlier

    def change_players(self, run: Run, models: Mapping[str, str], model_settings: Models) -> None:
        """Let a run be played by others from its next turn on; the turns of its parent stay as they were."""
        players = _players(models, model_settings)
        with transaction(self._connection):
            row = {**self.row(run.id), **players}
            earlier = self._earlier(run.id, run.turns, row)
            row["earlier"] = canonical(earlier) if earlier else None
            changed = {name: row[name] for name in (*players, "earlier")}
            update_run(self._connection, run.id, {**changed, "column_hashes": compact(column_hashes(row))})

    def check_name(self, name: str | None) -> None:
        """Raise UsageError for a name that people cannot read, or by which the run could not be found."""
        if name is None:
            return
        if not name:
            raise UsageError("the name is empty; choose a name, or leave it out")
        if len(name) > MAX_NAME:
            raise UsageError(
                f"the name {excerpt(name, 80)!r} is too long; a name has at most {MAX_NAME} characters"
            )
        if not is_readable(name):
            raise UsageError(f"the name {name!r} has a line break or a hidden character; choose another name")
        if "/" in name:
            raise UsageError(f"the name {name!r} has a slash, which the address of its page cannot have")
        if name in RESERVED:
            raise UsageError(f"the name {name!r} is reserved; choose another name")
        if name.endswith(CASSETTE_SUFFIX):
            raise UsageError(f"the name {name!r} looks like a cassette file; choose another name")
        if self.has(name):
            raise UsageError(
                f"the name {name!r} is already in use; choose another, or resume or delete that run"
            )

    def has(self, name: str) -> bool:
        """Return whether a run has this name or id."""
        return bool(self._where("name = ?1 or id = ?1", name))

    def add_text(self, text: str) -> str:
        """Store a text as it is, if it is new, and return its hash."""
        name = sha256(text)
        self._connection.execute("insert or ignore into texts (hash, text) values (?, ?)", (name, text))
        return name

    def text_of(self, table: Table, row: Mapping[str, Any], column: str) -> str:
        """Return the text whose hash a column of a row has. Raise DamagedError if there is no such text."""
        stored = self._connection.execute("select text from texts where hash = ?", [row[column]]).fetchone()
        text = stored[0] if stored else None
        if not isinstance(text, str) or sha256(text) != row[column]:
            problem = f"the text of the column {table.name}.{column} is missing or was changed"
            raise table.damage(row, f"{problem} in the table texts")
        return text

    def find(self, reference: str) -> Run:
        """Return the run with this id, unique prefix of an id, or name; `last` is the newest run.

        One of an experiment may have kept no turns: `policy_games.with_turns` plays them again. Raise
        MissingError if there is none, UsageError if there are several, DamagedError if it is damaged.
        """
        return self.of_row(self._found(reference))

    def of_row(self, row: Row) -> Run:
        """Return the run of a row; raise DamagedError if it is damaged."""
        check_row(row)
        return self._as_run(row)

    def find_unchecked(self, reference: str) -> Run:
        """Return a run, as `find` does, although its row may have been changed: `verify` tells how.

        Raise DamagedError if the row cannot be read at all.
        """
        return self._as_run(self._found(reference))

    def _found(self, reference: str) -> Row:
        if reference == "last":
            rows = self._where("rowid = (select max(rowid) from runs)")
        else:
            rows = self._where("id = ?1 or name = ?1", reference) or self._where(
                "?1 != '' and substr(id, 1, length(?1)) = ?1", reference
            )
        if not rows:
            names = self._connection.execute(
                "select name from runs where name is not null union select id from runs"
            )
            raise self._missing(reference, [name for (name,) in names])
        if len(rows) > 1:
            ids = ", ".join(str(row["id"]) for row in rows)
            raise UsageError(f"{reference!r} matches several runs; write more of the id: {ids}")
        return rows[0]

    def _missing(self, reference: str, names: list[str]) -> MissingError:
        """Return the error for a run that is not among those with these names and ids."""
        home, within = self._home, self._home / reference
        if within in {database.parent for database in home.glob("*/runs.db")}:
            hint = f"; `{command(within, 'runs')}` lists those in {within}"
        elif names:
            hint = did_you_mean(reference, ["last", *names], f"`{command(home, 'runs')}` lists them")
        else:
            return no_runs(home)
        return MissingError(f"there is no run {reference!r} in {home}{hint}")

    def _as_run(self, row: Row) -> Run:
        """Return the run of a row. Raise DamagedError if it cannot be read."""
        values = RUNS.values(row)
        versions = Versions(
            row["record_version"], row["rules_version"], row["hobbes"], row["measures_version"]
        )
        differences = ""
        try:
            world = world_named(row["world"])
            differences = versions.differences(world)
            setting = self._setting(world, row, values["config"])
        except ValueError as error:
            told = f"; {differences}" if differences else ""
            raise DamagedError(f"run {row['id']} cannot be read: {error}{told}") from error
        return Run(
            row["id"],
            row["name"],
            world,
            setting,
            values["models"],
            values["model_settings"] or {},
            self._prompts(world, row, row, setting),
            row["status"],
            row["turns"],
            row["digest"],
            row["seconds"],
            values["caps"],
            values["question"] or (),
            versions,
            row["parent"],
            row["turn"] or 0,
            tuple(self._stretch(world, row, one) for one in values["earlier"] or ()),
        )

    def _stretch(self, world: AnyWorld, row: Row, way: Way) -> Stretch:
        try:
            setting = self._setting(world, row, way["config"])
        except ValueError as error:
            raise damage_error(row["id"], "", f"the column runs.earlier is damaged: {error}") from error
        prompts = self._prompts(world, row, way, setting)
        return Stretch(way["until"], setting, way["models"], way["model_settings"] or {}, prompts)

    def _setting(self, world: AnyWorld, row: Row, config: Row) -> Setting[Any]:
        return make_setting(world, RUNS.value(row, "agents"), row["seed"], config)

    def _prompts(self, world: AnyWorld, row: Row, way: Mapping[str, Any], setting: Setting[Any]) -> PromptSet:
        texts = {**way, "id": row["id"]}
        system, turn, schema = (self.text_of(RUNS, texts, column) for column in TEMPLATES)
        observer, content = way["observer_text"] or "", way["prompts_hash"] or ""
        prompts = PromptSet(world.name, way["prompts"], way["lang"], system, turn, schema, observer, content)
        return bound(world, prompts, setting)

    def row(self, run: str) -> Row:
        """Return the row of a run; raise DamagedError if it is damaged."""
        row = self.row_unchecked(run)
        check_row(row)
        return row

    def row_unchecked(self, run: str) -> Row:
        """Return the row of a run as it is. Raise DamagedError if an index of the table does not have it."""
        for row in self._where("id = ?", run):
            return row
        raise damage_error(run, "", "its row is not in the table runs")

    def rows(self) -> list[Row]:
        """Return the rows of all runs as they are, the newest first."""
        return list(named_rows(self._connection, "select * from runs order by rowid desc"))

    def _where(self, condition: str, *values: str) -> list[Row]:
        """Return the rows of the runs that meet a condition."""
        return list(named_rows(self._connection, f"select * from runs where {condition}", values))  # noqa: S608  our own

    def forks(self, run: str) -> list[Row]:
        """Return the forks of a run, the newest first: id, name and turn."""
        sql = "select id, name, turn from runs where parent = ? order by rowid desc"
        return list(named_rows(self._connection, sql, [run]))

    def update(self, run: str, **values: str | float | None) -> None:
        """Change columns of a run."""
        # A single statement waits for other writers. sqlite-utils reads first, and SQLite refuses to turn a
        # reader into a writer.
        with self._connection as connection:
            update_run(connection, run, values)

    def keep_servers(self, run: str, asked: Mapping[str, str]) -> None:
        """Note the server that each chat model is asked at, by the spec of its player.

        One that was stopped may go on at another server; the servers before it stay.
        """
        before = RUNS.value(self.row(run), "servers") or {}
        servers = {spec: [*dict.fromkeys([*before.get(spec, ()), url])] for spec, url in asked.items()}
        if servers != before:
            self.update(run, servers=compact({**before, **servers}))

    def ask(self, run: str, questions: Iterable[PersonQuestion]) -> None:
        """Note that a run waits for people, and what they are asked."""
        self.update(run, status="waiting", question=json.dumps([asdict(one) for one in questions]))


def no_runs(home: Path) -> MissingError:
    """Return the error for a home without runs, which may not exist."""
    missing = "" if home.exists() else ", which does not exist"
    return MissingError(f"there are no runs in {home}{missing}; `{command(home, 'run', 'mining')}` plays one")


def check_row(row: Row) -> None:
    """Raise DamagedError if a column of a run's row that never changes was changed."""
    RUNS.values(row)
    for column in changed_columns(row):
        raise damage_error(row["id"], "", f"the column runs.{column} is damaged: it was changed")


def changed_columns(row: Row) -> list[str]:
    """Return the columns of a run's row that never change, and were changed all the same."""
    written = RUNS.value(row, "column_hashes")
    pairs = zip_longest(RUN_COLUMNS, written, column_hashes(row))
    return [column for column, then, today in pairs if column and then != today]


def _players(models: Mapping[str, str], model_settings: Models) -> dict[str, str | None]:
    """Return the columns of a run that say who plays it."""
    settings = {name: one.to_json() for name, one in model_settings.items()}
    return {"models": compact(models), "model_settings": compact(settings) if settings else None}


def _plain_way(row: Mapping[str, Any]) -> Row:
    return {column: RUNS.plain(row, column) for column in Way.__annotations__ if column != "until"}


def update_run(connection: sqlite3.Connection, run: str, values: Mapping[str, str | float | None]) -> None:
    """Change columns of a run."""
    columns = ", ".join(f"{column} = :{column}" for column in values)
    connection.execute(f"update runs set {columns} where id = :run", {**values, "run": run})  # noqa: S608  names are ours


def now() -> str:
    """Return the time in UTC, to the millisecond, for people to read."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
