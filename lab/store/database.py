"""The run database: one SQLite file that anyone can open (Datasette, pandas, DuckDB).

Everything is addressed by run, turn, agent and attempt. The rows of a turn are written in one transaction.
"""

import errno
import json
import os
import secrets
import shlex
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from filelock import FileLock, Timeout
from pydantic import TypeAdapter
from sqlite_utils import Database

from hobbes.engine.answer import DECISIONS, NO_ANSWER, FoundAs, Outcome
from hobbes.engine.measuring import parts, ratio
from hobbes.engine.record import canonical, sha256
from hobbes.engine.turn import RECORD_VERSION, TurnRecord, first_digest, settings_link, views
from hobbes.engine.world import AnyWorld, Measure, Setting, make_setting
from hobbes.engine.worlds import world_named
from hobbes.lab import axelrod_strategies  # noqa: F401  it offers its strategies as policies
from hobbes.lab.errors import DamagedError, LabError, MissingError, UsageError
from hobbes.lab.files import CASSETTE, check_path
from hobbes.lab.store.prices import Prices, prices_of, usd
from hobbes.lab.store.rows import Note, StoredRow, damaged, record_of
from hobbes.lab.store.schema import TEMPLATES, check_schema, create, kinds_of
from hobbes.lab.store.seals import CALL_COLUMNS, RUN_COLUMNS, WAY, seal_of, sealed_by_column
from hobbes.lab.temporary import temporary
from hobbes.nodes.caps import NO_CAPS, Caps, Spent
from hobbes.nodes.journal import WRITTEN_BY_PEOPLE, Address, Call, Prompt, Reply, is_policy
from hobbes.nodes.models import Models, ModelSettings, Price
from hobbes.nodes.prompting import PromptSet
from hobbes.nodes.reading import deciding

T = TypeVar("T")
D = TypeVar("D")

HOBBES = version("hobbes")
"""The version of this hobbes."""

BUSY_SECONDS = 30.0
"""How long to wait while another process writes."""

MOST_LOG_PAGES = 4000
"""How many pages of 4 kB the write-ahead log may have while an experiment plays many runs; SQLite then copies
them into the run database. With SQLite's own 1,000, the runs would wait for the disk more often."""

LOG_PAGES_PER_AGENT = 40
"""How many pages the log may have for each agent of a run: those of about 20 turns. Each turn changes many of
the pages that earlier turns have changed, and SQLite copies each of them only once."""

LOCK_SECONDS = 0.2
"""How long to wait for the lock of a run, which `Store.is_played` holds for a moment."""

RESERVED = {"last", "compare", "search", "experiments"}
"""Names that no run may have: `last` is the newest run, and the others are pages of `hobbes view`."""

BROKEN = {
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_BUSY,
}
"""Errors of the database that are not bugs: the user can do something about them."""

DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""The errors that SQLite raises for a file with damaged bytes; it quotes the bytes of a damaged schema."""


def may_be_damage(error: Exception) -> bool:
    """Return whether an error may come from damaged bytes, rather than from a full disk or a busy file.

    A damaged header may make a file read-only for SQLite.
    """
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code not in BROKEN - {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_READONLY}


SILENT = f"tokens_in + tokens_out is null and outcome not in {tuple(sorted(o.value for o in NO_ANSWER))}"
"""SQL for the calls that were answered without a token count."""

DECIDING = (
    "select run, turn, agent, max(attempt) as attempt, outcome from calls where run = ?"
    " and agent = coalesce(?, agent) and (question = 1 or question = 2 and outcome in (?, ?))"
    " group by turn, agent"
)
"""The SQL of nodes.reading.deciding; SQLite takes the other columns from the row of the maximum."""

CALLS_AT = "calls where run = :run and turn = :turn and agent = coalesce(:agent, agent)"
"""SQL for the calls of a turn, of one agent or of all."""

MOST_DAMAGE = 20
"""How many lines say what is damaged."""

UNWRITABLE = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO),
    *(errno.EISDIR, errno.ELOOP),
}
"""Errors of the file system that are not bugs: the user can do something about them."""


CAPS = TypeAdapter(Caps)

STATUSES = ("unfinished", "waiting", "halted", "finished")
"""What a run can be: being played, or stopped; waiting for a person; halted; played to its end."""

TURN_COLUMNS = ("run", "turn", "record", "digest", "ledgers", "ended")
"""The columns of a turn as it is stored; `state` is a part of the record."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The results of a finished run. It is tainted if more of its calls failed than its settings allow."""

    outcomes: Mapping[str, int]
    scores: Mapping[str, int]
    tainted: bool


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of the record, the rules and hobbes that a run was recorded with."""

    record: int
    rules: int
    hobbes: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """How the turns before `until` were played, where a fork goes on in another way."""

    until: int
    setting: Setting[Any]
    models: dict[str, str]
    model_settings: dict[str, ModelSettings]
    prompts: PromptSet


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """A question to a person for whom a run waits."""

    address: str
    """The address of the call that will hold the answer."""
    asked: str
    """The view of the agent or, for an observer, the requests, as JSON."""
    since: str = ""
    """When it was asked, in UTC; empty in runs of earlier versions."""

    @property
    def agent(self) -> str:
        """The agent, or the observer, for whom the person answers."""
        return self.address.partition("/")[2].rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is stored in the database; `Store.find` reads it.

    Setting, players and prompts are those of the turns that are still to be played. `at` has those of others.
    """

    id: str
    name: str | None
    world: AnyWorld
    setting: Setting[Any]
    models: dict[str, str]
    model_settings: dict[str, ModelSettings]
    """The settings of the models that the run took from a models file, by name."""
    prompts: PromptSet
    status: str
    turns: int
    digest: str
    seconds: float
    caps: Caps
    questions: tuple[PersonQuestion, ...]
    """What people are asked, while the run waits for their answers."""
    versions: Versions
    damage: tuple[DamagedError, ...] = ()
    """What cannot be read of the run. It can be shown all the same, but not played, replayed or verified."""
    parent: str | None = None
    """The run that this one was forked from."""
    forked_at: int = 0
    """The turn at which it was forked: the turns before it were played by the parent. 0 without a parent."""
    earlier: tuple[Stretch, ...] = ()
    """How the first turns were played, in their order, where not like the others."""

    def at(self, turn: int) -> "Run":
        """Return the run with the setting, players and prompts of a turn."""
        for one in self.earlier:
            if turn < one.until:
                return replace(
                    self,
                    earlier=(),
                    setting=one.setting,
                    models=one.models,
                    model_settings=one.model_settings,
                    prompts=one.prompts,
                )
        return self

    def digest_before(self, turn: int, last: str) -> str:
        """Return the link of the chain with which a turn begins; `last` is the link of the turn before it."""
        if not turn:
            return first_digest(self.world, self.at(0).setting)
        return settings_link(last, self.at(turn - 1).setting, self.at(turn).setting)

    def price(self, spec: str | None) -> Price | None:
        """Return the price that the models file gave for a player; None if it gave none."""
        settings = self.model_settings.get(spec or "")
        return settings.price if settings else None

    def check_versions(self, *, rules: bool = True) -> None:
        """Raise LabError if this hobbes can show the run, but not play, replay or verify it.

        Without `rules`, those of the run may be of another version.
        """
        if self.damage:
            raise self.damage[0]
        here = Versions(RECORD_VERSION, self.world.rules_version, HOBBES)
        if self.versions.record != here.record or (rules and self.versions.rules != here.rules):
            raise LabError(
                f"run {self.id} was recorded by hobbes {self.versions.hobbes} "
                f"(record {self.versions.record}, {self.world.name} rules {self.versions.rules}); "
                "use that version to resume, replay or verify it: "
                f"hobbes {here.hobbes} (record {here.record}, rules {here.rules}) can only show and export it"
            )


class Decision(NamedTuple):
    """The outcome of the call that counts for an agent in a turn."""

    turn: int
    agent: str
    attempt: int
    outcome: str

    @property
    def failed(self) -> bool:
        """Whether the call failed, so that the default action was taken."""
        return self.outcome not in DECISIONS


class OfTurn(NamedTuple):
    """How many of the calls that count had an outcome in a turn."""

    turn: int
    outcome: str
    calls: int


def by_turn(outcomes: Iterable[OfTurn]) -> tuple[Counter[int], Counter[int]]:
    """Return two counts by turn: of all decisions, and of the failed calls among them."""
    decided, failed = Counter[int](), Counter[int]()
    for one in outcomes:
        decided[one.turn] += one.calls
        if one.outcome not in DECISIONS:
            failed[one.turn] += one.calls
    return decided, failed


@dataclass(frozen=True, slots=True)
class LoggedTurn:
    """A stored turn: its record, its digest in the hash chain, and the world's ledgers.

    `text` is the record as the database stores it.
    """

    turn: int
    record: TurnRecord
    text: str
    digest: str
    ledgers: dict[str, Any]


def usual_home() -> Path:
    """Return the home folder of those who name no other."""
    return Path(os.environ.get("HOBBES_HOME") or ".hobbes")


@cache
def _program() -> str:
    """Return how a shell finds hobbes: by its name, or where it is not on PATH, as it was called."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "hobbes" and not shutil.which("hobbes") else "hobbes"


def command(home: Path, *words: object) -> str:
    """Return a `hobbes` command line for a home folder, quoted for a shell."""
    place = [] if home == usual_home() else ["--home", home]
    return shlex.join(str(word) for word in (_program(), *words, *place))


class Store:
    """The run database of a home folder."""

    def __init__(self, home: Path, db: Database) -> None:
        self.home = home
        self.db = db
        self.damage: dict[str, None] = {}
        """What was damaged and left out, one line each, since the store was opened."""
        self._kinds: dict[str, dict[str, type]] = {}
        self.views_sent: Callable[[str, int], Mapping[str, str]] = lru_cache(maxsize=1)(self._views_sent)
        self._decided: dict[str, list[Decision]] | None = None
        """The decisions that were read as of one moment, by run."""
        self.found: dict[str, Run] = {}
        """The runs that were looked up, by id."""

    def leave_out(self, error: DamagedError) -> None:
        """Go on without something damaged; those who show the rest say so."""
        self.damage[str(error)] = None

    def damage_lines(self) -> list[str]:
        """Return what was left out, one line each; if there is much of it, the first lines and the number."""
        lines = list(self.damage)
        rest = len(lines) - MOST_DAMAGE
        return [*lines[:MOST_DAMAGE], *([f"… and {rest} more damaged values"] if rest > 0 else [])]

    def if_readable(self, read: Callable[[], T], otherwise: D) -> T | D:
        """Return what is read, or something else if it is damaged; the damage is noted."""
        try:
            return read()
        except DamagedError as error:
            self.leave_out(error)
            return otherwise

    def stored_row(self, table: str, values: Mapping[str, Any], note: Note | None = None) -> StoredRow:
        """Return a row of a table, to be read with checks."""
        if table not in self._kinds:
            self._kinds[table] = kinds_of(self.db, table)
        return StoredRow(table, self._kinds[table], values, note)

    def close(self) -> None:
        """Close the database."""
        self.db.conn.close()

    def expect_many_runs(self) -> None:
        """Prepare the database for many runs that are played one after the other, or by several processes."""
        self._let_log_have(MOST_LOG_PAGES)

    def expect_agents(self, agents: int) -> None:
        """Prepare the database for turns of so many agents."""
        self._let_log_have(min(LOG_PAGES_PER_AGENT * agents, MOST_LOG_PAGES))

    def _let_log_have(self, pages: int) -> None:
        """Let the write-ahead log have so many pages, unless it may have more already; 0 is no limit."""
        ((now,),) = self.db.conn.execute("pragma wal_autocheckpoint")
        if 0 < now < pages:
            self.db.conn.execute(f"pragma wal_autocheckpoint = {pages}")

    def command(self, *words: object) -> str:
        """Return a `hobbes` command line for this home folder, quoted for a shell."""
        return command(self.home, *words)

    def new_run(  # noqa: PLR0913, PLR0917  everything that a run starts with
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

        A fork has the turns of its parent before the turn that stands beside it.
        """
        run = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(3)
        with self.db.atomic():
            texts = [self.text_hash(text) for text in (prompts.system, prompts.turn, prompts.schema)]
            # The first text locks the database for other writers, so the name stays free until it is used.
            self.check_name(name)
            way = {
                "config": setting.config.model_dump_json(),
                "models": json.dumps(models),
                "model_settings": json.dumps({n: one.to_json() for n, one in model_settings.items()})
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
            fixed = {
                "id": run,
                "world": world.name,
                "agents": json.dumps(setting.agents),
                "seed": setting.seed,
                **way,
                "started": _now(),
                "record_version": RECORD_VERSION,
                "rules_version": world.rules_version,
                "hobbes": HOBBES,
                "parent": parent.id if parent else None,
                "turn": turn,
                "earlier": canonical(earlier) if earlier else None,
            }
            self.db.table("runs").insert(
                {
                    **fixed,
                    "name": name,
                    "caps": json.dumps(asdict(caps)),
                    "status": "unfinished",
                    "digest": first_digest(world, setting),
                    "seal": sealed_by_column(fixed),
                }
            )
            if parent and turn is not None:
                self._copy_turns(parent.id, turn, run)
        return run

    def _earlier(self, parent: str, turn: int, way: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return how the turns of a fork before its own were played, as JSON, in the order of turns.

        Nothing is told of turns that were played as the fork goes on.
        """
        row = self.db.table("runs").get(parent)
        earlier: list[dict[str, Any]] = json.loads(row["earlier"] or "[]")
        if turn > (earlier[-1]["until"] if earlier else 0):
            earlier.append({"until": turn, **self._plain_way(row)})
        if earlier and earlier[-1] == {"until": earlier[-1]["until"], **self._plain_way(way)}:
            earlier.pop()
        return earlier

    def _plain_way(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a run that say how it is played, as plain JSON."""
        row = self.stored_row("runs", values)
        return {column: row[column] for column in WAY}

    def _copy_turns(self, parent: str, turns: int, run: str) -> None:
        """Copy the first turns of a run to its fork. Raise LabError for a call that was changed."""
        copies = []
        for row in self.db.table("calls").rows_where("run = ? and turn < ?", [parent, turns]):
            if row["seal"] != seal_of(row):
                raise LabError(
                    f"run {parent}, turn {row['turn']}: the call of {row['agent']} was changed after it had "
                    f"been written; `{self.command('verify', parent)}` lists what was changed"
                )
            copy = {**row, "run": run}
            copies.append({**copy, "seal": seal_of(copy)})
        names = ", ".join(f":{column}" for column in (*CALL_COLUMNS, "seal"))
        self.db.conn.executemany(
            f"insert into calls ({names.replace(':', '')}) values ({names})",  # noqa: S608  names are ours
            copies,
        )
        told = ", ".join(TURN_COLUMNS[1:])
        self.db.conn.execute(
            f"insert into turns (run, {told}) select ?, {told} from turns"  # noqa: S608  names are ours
            " where run = ? and turn < ? order by turn",
            [run, parent, turns],
        )
        last = self.db.conn.execute(
            "select digest from turns where run = ? and turn = ?", [run, turns - 1]
        ).fetchone()
        digest = self.find(run).digest_before(turns, last[0] if last else "")
        update_run(self.db.conn, run, {"turns": turns, "digest": digest})

    def check_name(self, name: str | None) -> None:
        """Raise UsageError for a name by which the run could not be found."""
        if name is None:
            return
        if not name:
            raise UsageError("--name is empty; choose a name, or leave the option out")
        if name in RESERVED:
            raise UsageError(f"--name {name!r} is reserved; choose another name")
        if name.endswith(CASSETTE):
            raise UsageError(f"--name {name!r} looks like a cassette file; choose another name")
        if any(self.db.table("runs").rows_where("name = ?1 or id = ?1", [name])):
            raise UsageError(f"--name {name!r}: the name is already in use; choose another")

    def text_hash(self, text: str) -> str:
        """Store a text as it is, if it is new, and return its hash."""
        name = sha256(text)
        self.db.conn.execute("insert or ignore into texts (hash, text) values (?, ?)", (name, text))
        return name

    def text(self, row: StoredRow, column: str) -> str:
        """Return the text whose hash a column holds. If there is none, that is damage of the row."""
        return self.text_of(row, column, row[column])

    def text_of(self, row: StoredRow, column: str, name: str) -> str:
        """Return the text with a hash that a column of a row names. If there is none, the row is damaged."""
        found = self.db.execute("select text from texts where hash = ?", [name]).fetchone()
        if found is None:
            row.leave_out(row.damage(column, "its text is not in the table texts"))
            return ""
        (text,) = found
        if not isinstance(text, str) or sha256(text) != name:
            row.leave_out(row.damage(column, "its text in the table texts is not the one with this hash"))
            return ""
        return text

    def find(self, reference: str) -> Run:
        """Return the run with this id, unique prefix of an id, or name; `last` is the newest run."""
        if reference == "last":
            rows = list(self.db.table("runs").rows_where(order_by="rowid desc", limit=1))
        else:
            rows = list(self.db.table("runs").rows_where("id = ?1 or name = ?1", [reference])) or list(
                self.db.table("runs").rows_where("?1 != '' and substr(id, 1, length(?1)) = ?1", [reference])
            )
        if not rows:
            raise MissingError(
                f"there is no run {reference!r} in {self.home}; `{self.command('runs')}` lists them"
            )
        if len(rows) > 1:
            found = ", ".join(str(row["id"]) for row in rows)
            raise UsageError(f"{reference!r} matches several runs; write more of the id: {found}")
        return self._as_run(rows[0])

    def _as_run(self, values: Mapping[str, Any]) -> Run:
        """Return the run of a row; raise LabError if what is needed to show it cannot be read."""
        row = self.stored_row("runs", values)
        try:
            world = world_named(row["world"])
            setting = _settled(world, row, row["config"])
        except ValueError as error:
            raise DamagedError(
                f"run {values['id']} cannot be read by hobbes {HOBBES}: {error}; "
                f"it was recorded by hobbes {values['hobbes']}"
            ) from error
        found: list[DamagedError] = []
        run = self._read_run(row, self.stored_row("runs", values, found.append), world, setting)
        for damage in found:
            self.leave_out(damage)
        self.found[run.id] = replace(run, damage=tuple(found))
        return self.found[run.id]

    def _read_run(self, row: StoredRow, rest: StoredRow, world: AnyWorld, setting: Setting[Any]) -> Run:
        """Return a run from its row; the `rest` of it may be damaged."""
        return Run(
            row["id"],
            rest["name"],
            world,
            setting,
            row["models"],
            rest.made("model_settings", _model_settings) or {},
            self._prompts(world, rest, rest),
            row["status"],
            row["turns"],
            row["digest"],
            rest["seconds"],
            rest.made("caps", CAPS.validate_python) or NO_CAPS,
            rest.made("question", _questions) or (),
            Versions(row["record_version"], row["rules_version"], row["hobbes"]),
            (),
            rest["parent"],
            rest["turn"] or 0,
            rest.made("earlier", partial(self._stretches, world, row, rest)) or (),
        )

    def _stretches(
        self, world: AnyWorld, row: StoredRow, rest: StoredRow, told: list[dict[str, Any]]
    ) -> tuple[Stretch, ...]:
        """Return how the first turns of a fork were played. Raise ValueError if that cannot be read."""
        try:
            return tuple(
                Stretch(
                    one["until"],
                    _settled(world, row, one["config"]),
                    one["models"],
                    _model_settings(one["model_settings"] or {}),
                    self._prompts(world, rest, one),
                )
                for one in told
            )
        except LookupError as error:
            raise ValueError(f"it lacks {error}") from error

    def _prompts(self, world: AnyWorld, row: StoredRow, way: StoredRow | Mapping[str, Any]) -> PromptSet:
        """Return the prompts of a run's row, or those of its earlier turns."""
        system, turn, schema = (self.text_of(row, column, way[column]) for column in TEMPLATES)
        observer, content = way["observer_text"] or "", way["prompts_hash"] or ""
        return PromptSet(world.name, way["prompts"], way["lang"], system, turn, schema, observer, content)

    def turns(self, run: str, first: int = 0) -> Iterator[LoggedTurn]:
        """Yield the stored turns of a run in order; raise DamagedError at a damaged one."""
        for row in self._turn_rows(run, first):
            yield _as_turn(row)

    def digests(self, run: str) -> list[str]:
        """Return the digests of the stored turns of a run in order; raise DamagedError at a damaged one."""
        return [row["digest"] for row in self._turn_rows(run, 0)]

    def turn_texts(self, run: str) -> Iterator[tuple[int, object]]:
        """Yield the number of each stored turn of a run, in order, with the unchecked text of its record."""
        for row in self._turn_rows(run, 0):
            yield row["turn"], row.unchecked("record")

    def readable_turns(self, run: str, first: int = 0) -> Iterator[tuple[int, LoggedTurn | None]]:
        """Yield the number of each stored turn, in order, with the turn; None for a damaged one."""
        for row in self._turn_rows(run, first):
            try:
                number: int = row["turn"]
            except DamagedError as error:
                self.leave_out(error)
                continue
            yield number, self.if_readable(partial(_as_turn, row), None)

    def _turn_rows(self, run: str, first: int) -> Iterator[StoredRow]:
        """Yield the rows of a run's turns in order."""
        row = None
        for row in self._plain_turns(run, first):
            yield self.stored_row("turns", row)
        if row is None:
            self.check_kept(run)

    def _plain_turns(self, run: str, first: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the values of a run's turns in order, which may be damaged."""
        sql = f"select {', '.join(TURN_COLUMNS)} from turns where run = ? and turn >= ? order by turn"  # noqa: S608  names are ours
        return self.db.query(sql, [run, first])

    def check_kept(self, run: str) -> None:
        """Raise MissingError if the turns of a run were not kept."""
        sql = (
            "select 1 from runs where id = ? and status = 'finished' and turns > 0"
            " and not exists (select 1 from turns where run = runs.id)"
        )
        if self.db.conn.execute(sql, [run]).fetchone():
            raise MissingError(
                f"run {run} has no turns any more: its experiment was played with --keep, which kept the "
                "figures of its report only"
            )

    def calls(self, run: str, turn: int, agent: str | None = None) -> list[Call]:
        """Return the calls of a turn that count, one per agent, sorted by agent."""
        return [call for calls in self.attempts(run, turn, agent).values() if (call := deciding(calls))]

    def attempts(
        self, run: str, turn: int, agent: str | None = None, *, note: Note | None = None
    ) -> dict[str, list[Call]]:
        """Return all calls of a turn by agent, each agent's in the order of their attempts.

        Raise DamagedError at a damaged one. With `note`, what is damaged is noted and left out.
        """
        texts = self._texts_at({"run": run, "turn": turn, "agent": agent})
        found: dict[str, list[Call]] = {}
        for row in self.stored_calls(run, turn, agent, note=note):
            try:
                call = self.as_call(row, texts)
            except DamagedError as error:
                row.leave_out(error)
            else:
                found.setdefault(call.address.agent, []).append(call)
        return found

    def stored_calls(
        self, run: str, turn: int, agent: str | None = None, *, note: Note | None = None
    ) -> Iterator[StoredRow]:
        """Yield all calls of a turn as they are stored, sorted by agent and attempt, for `as_call`."""
        sql = f"select {', '.join(CALL_COLUMNS)} from {CALLS_AT} order by agent, attempt"  # noqa: S608  ours
        for row in self.db.query(sql, {"run": run, "turn": turn, "agent": agent}):
            yield self.stored_row("calls", row, note)

    def _texts_at(self, at: dict[str, Any]) -> dict[str, str]:
        """Return the texts of the prompts of CALLS_AT, by hash. Damaged ones are left out without a word."""
        named = " union ".join(f"select {column} from {CALLS_AT}" for column in ("system", "prompt"))  # noqa: S608  ours
        stored = self.db.execute(f"select hash, text from texts where hash in ({named})", at)  # noqa: S608  ours
        return {name: text for name, text in stored if isinstance(text, str) and sha256(text) == name}

    def _views_sent(self, run: str, turn: int) -> dict[str, str]:
        """Return the view that each agent was shown in a turn, as text.

        Those of scripted policies are not stored, because they follow from the turn before.
        """
        way = self.find(run).at(turn)
        if turn:
            last = next(self.turns(run, turn - 1))
            state, memories = way.world.load(way.setting, last.record.state), last.record.memories
        else:
            state, memories = way.world.setup(way.setting.config, way.setting.agents, way.setting.seed), {}
        return {agent: canonical(view) for agent, view in views(way.world, state, memories).items()}

    def answers(self, run: str, turn: int) -> list[tuple[str, str, str]]:
        """Return agent, raw answer and reasoning of all calls of a turn, sorted by agent and attempt."""
        sql = (
            "select run, turn, agent, answer, reasoning from calls where run = ? and turn = ?"
            " order by agent, attempt"
        )
        rows = (self.stored_row("calls", row, self.leave_out) for row in self.db.query(sql, [run, turn]))
        return [(row["agent"], row["answer"], row["reasoning"]) for row in rows]

    def attempts_since(self, run: str, turn: int) -> dict[tuple[int, str], int]:
        """Return the last stored attempt of each turn and agent, from this turn on."""
        sql = (
            "select run, turn, agent, max(attempt) as attempt from calls where run = ? and turn >= ?"
            " group by turn, agent"
        )
        rows = (self.stored_row("calls", row) for row in self.db.query(sql, [run, turn]))
        return {(row["turn"], row["agent"]): row["attempt"] for row in rows}

    def as_call(self, row: StoredRow, texts: Mapping[str, str]) -> Call:
        """Return the call of a row; raise DamagedError if it is damaged.

        `texts` are texts by hash. A text of the prompt that is not among them is read from the store, or
        follows from the turn before, if a scripted policy was asked.
        """

        def text(column: str) -> str:
            name = row[column]
            if name in texts:
                return texts[name]
            if column == "prompt" and is_policy(row["player"] or ""):
                sent = partial(self.views_sent, row["run"], row["turn"])
                shown: Mapping[str, str] = self.if_readable(sent, {})
                return shown.get(row["agent"], "")
            return self.text_of(row, column, name)

        outcome = Outcome(row["outcome"])
        failure = None if outcome in DECISIONS or outcome is Outcome.UNREADABLE else outcome
        return Call(
            Address(row["turn"], row["agent"], row["attempt"]),
            Prompt(text("system"), text("prompt")),
            Reply(
                row["answer"],
                row["model"],
                row["reasoning"],
                failure,
                row["error"],
                row["tokens_in"],
                row["tokens_out"],
                row["milliseconds"],
                row["tries"],
                row["player"] or "",
            ),
            outcome,
            FoundAs(row["found_as"]),
            row["question"],
        )

    def runs(self) -> list[dict[str, Any]]:
        """Return all runs, the newest first, each as `about` describes it."""
        return [self._about(row) for row in self.db.table("runs").rows_where(order_by="rowid desc")]

    def prompts_of_runs(self) -> list[dict[str, Any]]:
        """Return all runs, the newest first: id, name, world, prompts, lang and prompts_hash."""
        columns = "id, name, world, prompts, lang, prompts_hash"
        return list(self.db.query(f"select {columns} from runs order by started desc, rowid desc"))  # noqa: S608  names are ours

    def forks(self, run: str) -> list[dict[str, Any]]:
        """Return the forks of a run, the newest first: id, name and turn."""
        sql = "select id, name, turn from runs where parent = ? order by rowid desc"
        return list(self.db.query(sql, [run]))

    def about(self, run: str) -> dict[str, Any]:
        """Return the columns of a run, without its prompt texts, and its failed calls.

        A damaged column is None.
        """
        return self._about(self.db.table("runs").get(run))

    def _about(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a run from its row."""
        row = self.stored_row("runs", values, self.leave_out)
        told = {c: row.known(c) for c in values if c not in (*TEMPLATES, "observer_text", "earlier")}
        tainted = told["tainted"]
        return told | {
            "tainted": None if tainted is None else bool(tainted),
            "failures": self.failures(values["id"]),
        }

    def result(self, run: Run) -> dict[str, Any]:
        """Return the results of a run, as `hobbes run --json` prints them."""
        row = self.stored_row("runs", self.db.table("runs").get(run.id), self.leave_out)
        outcomes = self.counts(run.id, "calls", "outcome")
        return {
            "run": run.id,
            **({"parent": run.parent, "turn": run.forked_at} if run.parent else {}),
            "world": run.world.name,
            "turns": run.turns,
            "digest": run.digest,
            "over": run.status == "finished",
            "scores": row["scores"] or {},
            "calls": sum(outcomes.values()),
            "outcomes": outcomes,
            "failures": self.failures(run.id),
            "drops": self.counts(run.id, "drops", "code"),
            "mends": self.counts(run.id, "mends", "code"),
            "tokens": self.tokens(run),
            "usd": self.spent(run, prices_of(self.home)).usd,
            "seconds": run.seconds,
            "tainted": bool(row["tainted"]),
            "halted": row["error"] if run.status == "halted" else None,
        }

    def failures(self, run: str) -> dict[str, Any]:
        """Count the failed calls of a run, one per agent and turn at most: the call that counts failed.

        The observer counts as an agent. `share` is the share of all decisions, None if there are none yet.
        """
        by_turn, by_agent, by_outcome = Counter[int](), Counter[str](), Counter[str]()
        for decision in self.decisions(run):
            by_outcome[decision.outcome] += 1
            if decision.failed:
                by_turn[decision.turn] += 1
                by_agent[decision.agent] += 1
        failed = by_turn.total()
        return {
            "total": failed,
            "share": ratio(failed, by_outcome.total()),
            "by_turn": dict(by_turn),
            "by_agent": dict(by_agent.most_common()),
            "by_cause": {cause: n for cause, n in by_outcome.most_common() if cause not in DECISIONS},
        }

    def decisions(self, run: str, agent: str | None = None) -> Iterator[Decision]:
        """Yield the outcome of the call that counts, for each turn and agent, or for the turns of one agent.

        Damaged calls are left out.
        """
        if agent is not None or self._decided is None:
            return self._read_decisions(run, agent)
        if run not in self._decided:
            self._decided[run] = list(self._read_decisions(run))
        return iter(self._decided[run])

    def _read_decisions(self, run: str, agent: str | None = None) -> Iterator[Decision]:
        rows = self.db.query(DECIDING, [run, agent, *sorted(DECISIONS)])
        found = (self.if_readable(partial(_as_decision, self.stored_row("calls", row)), None) for row in rows)
        return (decision for decision in found if decision)

    def outcomes(self, run: str) -> Iterator[OfTurn]:
        """Yield how many of the calls that count had an outcome in a turn; damaged calls are left out."""
        sql = f"select run, turn, outcome, count(*) as calls from ({DECIDING}) group by turn, outcome"  # noqa: S608  ours
        for values in self.db.query(sql, [run, None, *sorted(DECISIONS)]):
            row = self.stored_row("calls", values)
            one = self.if_readable(lambda row=row: (row["turn"], row["outcome"]), None)  # type: ignore[misc]
            if one:
                yield OfTurn(*one, values["calls"])

    def first_asked(self, run: str) -> dict[str, int]:
        """Return the first turn in which each agent was asked; damaged calls are left out."""
        sql = "select run, agent, min(turn) as turn from calls where run = ? group by agent order by 3, 2"
        rows = [self.stored_row("calls", row) for row in self.db.query(sql, [run])]
        found = [self.if_readable(lambda row=row: (row["agent"], row["turn"]), None) for row in rows]  # type: ignore[misc]
        return dict(filter(None, found))

    def answered(self, run: str) -> set[str]:
        """Return the specs of the players that have answered a call of a run."""
        sql = "select distinct player from calls where run = ? and outcome in (?, ?) and player is not null"
        return {player for (player,) in self.db.conn.execute(sql, [run, *sorted(DECISIONS)])}

    def measures(self, run: str) -> dict[str, float | None]:
        """Return the measures of the whole run: name to value."""
        return {name: value for name, value, *_ in self.measures_with_counts(run)}

    def measures_with_counts(self, run: str) -> list[tuple[str, float | None, int, int]]:
        """Return the measures of the whole run: name, value, number of decisions, number of failed calls."""
        sql = (
            "select run, name, value, decisions, failures from measures where run = ? and scope = 'run'"
            " order by rowid"
        )
        rows = (self.stored_row("measures", row, self.leave_out) for row in self.db.query(sql, [run]))
        return [(row["name"], row["value"], row["decisions"], row["failures"]) for row in rows]

    @contextmanager
    def as_of_now(self) -> Iterator[None]:
        """Read everything as of one moment, also while other processes write; decisions are read once."""
        self.db.conn.execute("begin")
        self._decided = {}
        try:
            yield
        finally:
            self._decided = None
            self.db.conn.rollback()

    def counts(self, run: str, table: str, column: str) -> dict[str, int]:
        """Count the rows of a run in a table by the values of a column."""
        sql = f"select {column}, count(*) from {table} where run = ? group by 1 order by 2 desc, 1"  # noqa: S608  names are ours
        counted = self.db.conn.execute(sql, [run]).fetchall()
        return {value: count for value, count in counted if isinstance(value, str)}

    def tokens(self, run: Run) -> dict[str, int | None]:
        """Return the sums of the tokens of a run's own calls, None if no call has a count.

        `untold` is the number of answers without a token count. A fork did not pay for its parent's calls.
        """
        sql = f"select sum(tokens_in), sum(tokens_out), sum({SILENT}) from calls where run = ? and turn >= ?"  # noqa: S608  our own
        row = self.db.conn.execute(sql, [run.id, run.forked_at]).fetchone()
        return {"in": row[0], "out": row[1], "untold": row[2] or 0}

    def spent(self, run: Run, prices: Prices) -> Spent:
        """Return what a run has cost so far; unknown counts stay unknown.

        Answers that people wrote do not count, nor do the turns that a fork has from its parent.
        """
        sums = f"count(*), sum(tokens_in), sum(tokens_out), sum({SILENT})"
        asked = "run = ? and turn >= ? and model not in (?, ?)"
        sql = f"select player, model, {sums} from calls where {asked} group by 1, 2"  # noqa: S608  our own
        spent = Spent(seconds=run.seconds)
        for player, model, calls, tokens_in, tokens_out, silent in self.db.conn.execute(
            sql, [run.id, run.forked_at, *WRITTEN_BY_PEOPLE]
        ):
            spent.calls += calls
            into, out = (None, None) if silent else (tokens_in or 0, tokens_out or 0)
            cost = usd(prices, model, into, out, run.price(player))
            spent.add(None if into is None or out is None else into + out, cost)
        return spent

    def update(self, run: str, **values: str | float | None) -> None:
        """Change columns of a run."""
        # A single statement waits for other writers. sqlite-utils reads first, and SQLite refuses to turn a
        # reader into a writer.
        with self.db.conn as connection:
            update_run(connection, run, values)

    def ask(self, run: str, questions: Iterable[PersonQuestion]) -> None:
        """Note that a run waits for people, and what they are asked."""
        self.update(run, status="waiting", question=json.dumps([asdict(one) for one in questions]))

    def waiting_runs(self) -> list[str]:
        """Return the ids of the runs that wait for people."""
        return [run for (run,) in self.db.execute("select id from runs where status = 'waiting'")]

    def end_run(self, run: str, ending: Ending, measures: Iterable[Measure]) -> None:
        """Store the results of a run that has finished, and its measures."""
        values: dict[str, str | float | None] = {
            "status": "finished",
            "ended": _now(),
            "outcomes": json.dumps(ending.outcomes),
            "scores": json.dumps(ending.scores),
            "tainted": int(ending.tainted),
        }
        counts = self.counts_of_scopes(run)
        # Other processes can write while the measures are worked out.
        found = sorted(measures, key=lambda one: (one.scope.startswith("turn/"), one.scope != "run"))
        rows = [(run, one.name, one.scope, one.value, *counts.get(one.scope, (None, None))) for one in found]
        with self.db.conn as connection:
            connection.executemany("insert or replace into measures values (?, ?, ?, ?, ?, ?)", rows)
            update_run(connection, run, values)

    def counts_of_scopes(self, run: str) -> dict[str, tuple[int, int]]:
        """Return the number of decisions and of failed calls among them in each scope of a run's measures."""
        decided, failed = by_turn(self.outcomes(run))
        ((played,),) = self.db.conn.execute("select turns from runs where id = ?", [run])
        turns = range(played)
        scopes = [*parts(turns), *((f"turn/{turn}", (turn,)) for turn in turns)]
        return {
            scope: (sum(decided[turn] for turn in within), sum(failed[turn] for turn in within))
            for scope, within in scopes
        }

    @contextmanager
    def telling_damage_from_bugs(self) -> Iterator[None]:
        """Raise DamagedError for an error of the code if a run that was looked up was changed."""
        try:
            yield
        except LabError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            for run in self.found.values():
                if damage := self.changed(run):
                    raise damage from error
            raise  # a bug

    def changed(self, run: Run) -> DamagedError | None:
        """Return the first thing of a run that is not as it was written; None if seals and digests fit."""
        row = self.db.table("runs").get(run.id)
        if row["seal"] not in {None, sealed_by_column({column: row[column] for column in RUN_COLUMNS})}:
            return damaged(run.id, "", "its row in the table runs was changed")
        digest = ""
        for row in self._plain_turns(run.id):
            begun = run.digest_before(row["turn"], digest)
            if row["digest"] != sha256(f"{begun}{row['record']}"):
                return damaged(run.id, f", turn {row['turn']}", "the column turns.record was changed")
            digest = row["digest"]
        for row in self.db.table("calls").rows_where("run = ?", [run.id]):
            if row["seal"] not in {None, seal_of(row)}:
                where = f", turn {row['turn']}, {row['agent']}, attempt {row['attempt']}"
                return damaged(run.id, where, "the row in the table calls was changed")
        return None

    @contextmanager
    def playing(self, run: str) -> Iterator[None]:
        """Lock a run against other processes; the lock is released when this process ends."""
        lock = FileLock(self.home / "locks" / f"{run}.lock", mode=0o644)
        try:
            with lock.acquire(timeout=LOCK_SECONDS):
                yield
        except Timeout as error:
            raise LabError(f"run {run} is being played by another process; wait for it to end") from error

    def is_played(self, run: str) -> bool:
        """Return whether a process is playing a run now."""
        lock = FileLock(self.home / "locks" / f"{run}.lock", mode=0o644)
        try:
            with lock.acquire(timeout=0):
                return False
        except Timeout:
            return True
        except OSError:  # in a read-only home
            return False


@contextmanager
def open_store(home: Path, *, writes: bool = True) -> Iterator[Store]:
    """Open the run database of a home folder; create it if it is new.

    Without `writes`, runs are only read. Then a home that is missing or read-only is fine, and stays as it
    is: what it holds is read from a copy. Raise UsageError if it is a file.
    """
    if home.exists() and not home.is_dir():
        raise UsageError(f"{home} is not a folder; choose another folder with --home")
    with nullcontext(home) if writes or is_writable(home) else _copy_of(home) as folder:
        yield from _opened(home, folder)


def is_writable(home: Path) -> bool:
    """Return whether this process may write to the run database of a home."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(path, os.W_OK, effective_ids=effective) for path in (home, home / "runs.db"))


@contextmanager
def _copy_of(home: Path) -> Iterator[Path]:
    """Yield a temporary folder with the run database of a home, as SQLite needs to write to read it."""
    with TemporaryDirectory(dir=temporary()) as folder:
        for name in ("runs.db", "runs.db-wal"):
            if (home / name).exists():
                shutil.copyfile(home / name, Path(folder) / name)
        yield Path(folder)


def _opened(home: Path, folder: Path) -> Iterator[Store]:
    """Yield the store of a home folder, whose files are in `folder`."""
    path = folder / "runs.db"
    try:
        (folder / "locks").mkdir(parents=True, exist_ok=True)
        connection = _connected(path)
    except NotADirectoryError as error:
        raise UsageError(f"{home} is not a folder; choose another folder with --home") from error
    except (OSError, sqlite3.Error) as error:
        raise LabError(f"cannot store runs in {home}: {error}; choose another folder with --home") from error
    try:
        db = Database(connection)
        # SQLite does not wait for another process that switches the same new file to WAL.
        with FileLock(folder / "locks" / "runs.lock", timeout=BUSY_SECONDS):
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
            if not check_schema(db, home):
                create(db)
        connection.execute("pragma foreign_keys = on")
        store = Store(home, db)
        with store.telling_damage_from_bugs():
            yield store
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in BROKEN:
            raise  # a bug
        raise LabError(
            f"cannot use {home}/runs.db or checkpoints.db: {error}; the answers are kept; "
            "free disk space if the disk is full, or choose another folder with --home"
        ) from error
    except OSError as error:
        if error.errno not in UNWRITABLE or error.filename is None:
            raise  # a bug, or an error of the output
        raise LabError(f"cannot store runs in {home}: {error}; choose another folder with --home") from error
    finally:
        connection.close()


def read_store(home: Path) -> Store:
    """Return the run database of a home folder for reading, to be closed by the caller; nothing is created.

    Raise MissingError if there is none, LabError if it cannot be read.
    """
    path = check_path(home, "home") / "runs.db"
    if not path.is_file():
        raise _no_runs(home)
    # Garbage collection may close it in another thread.
    connection = _connected(path, check_same_thread=False)
    try:
        connection.execute("pragma query_only = on")
        db = Database(connection)
        if not check_schema(db, home):
            raise _no_runs(home)
    except LabError:
        connection.close()
        raise
    except sqlite3.DatabaseError as error:
        connection.close()
        raise LabError(f"cannot read {path}: {error}") from error
    return Store(home, db)


def _no_runs(home: Path) -> MissingError:
    """Return the error of a home in which nothing has been played."""
    return MissingError(f"there are no runs in {home}; `{command(home, 'run', 'mining')}` plays one")


def _connected(path: Path, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """Return a connection in which a damaged text is bytes."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=check_same_thread)
    connection.text_factory = _text_of
    return connection


def _text_of(stored: bytes) -> str | bytes:
    """Return a stored text; its bytes if they are damaged, which no column may hold."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


def update_run(connection: sqlite3.Connection, run: str, values: Mapping[str, str | float | None]) -> None:
    """Change columns of a run."""
    columns = ", ".join(f"{column} = :{column}" for column in values)
    connection.execute(f"update runs set {columns} where id = :run", {**values, "run": run})  # noqa: S608  names are ours


def _settled(world: AnyWorld, row: StoredRow, config: Mapping[str, Any]) -> Setting[Any]:
    """Return the setting of a run with a config."""
    return make_setting(world, row["agents"], row["seed"], config)


def _questions(told: list[dict[str, str]] | dict[str, str]) -> tuple[PersonQuestion, ...]:
    """Return the questions to people from their JSON; in earlier versions it is a single question."""
    found = tuple(PersonQuestion(**one) for one in ([told] if isinstance(told, dict) else told))
    for one in found:
        if one.since and datetime.fromisoformat(one.since).tzinfo is None:
            raise ValueError(f"the time {one.since!r} has no time zone")
    return found


def _model_settings(told: Mapping[str, Any]) -> dict[str, ModelSettings]:
    """Return the settings of models from their JSON."""
    return {name: ModelSettings.model_validate(settings) for name, settings in told.items()}


def _as_turn(row: StoredRow) -> LoggedTurn:
    """Return the turn of a row."""
    record = record_of(row)
    return LoggedTurn(row["turn"], record, row.unchecked("record"), row["digest"], row["ledgers"])


def _as_decision(row: StoredRow) -> Decision:
    """Return the decision of a row of `calls`."""
    return Decision(row["turn"], row["agent"], row["attempt"], row["outcome"])


def _now() -> str:
    """Return the time in UTC, to the millisecond, for people to read."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
