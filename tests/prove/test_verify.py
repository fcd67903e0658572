"""What `hobbes verify` finds: each tampering is carried out with sqlite3 on a copy of a finished run.

The tables FOUND and NOT_FOUND are those of docs/verify/.
"""
# ruff: noqa: S608  tampering is done in SQL

import asyncio
import csv
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response
from typer.testing import CliRunner

from hobbes.cli import app
from hobbes.engine.digest import first_digest
from hobbes.engine.record import Json, canonical, sha256
from hobbes.engine.turn import RECORD_VERSION
from hobbes.errors import DamagedError, HaltedRunError, HobbesError
from hobbes.nodes.caps import NO_CAPS
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.prove.replay import DivergedError, replay_run
from hobbes.prove.verification import Fault, verify
from hobbes.store.home import Store, open_store
from hobbes.store.policy_games import with_turns
from hobbes.store.recorded_run import Run
from hobbes.store.reported import measure_anew
from hobbes.store.row_hashes import TURN_COLUMNS, call_hash, column_hashes, turn_hash
from hobbes.store.runs import Runs
from hobbes.wire.recorder import environment, in_thread
from hobbes.worlds import WORLDS
from tests.conftest import ROOT
from tests.faults import failing
from tests.play.test_failures import completion
from tests.play.test_observer import game, granting_all, on
from tests.play.test_second_question import UNREADABLE, answering
from tests.small_experiment import FILE, play_all, written
from tests.small_runs import SMALL, go, mining, played

NOTHING = "nothing"
"""What verify says of a run that verifies."""


class Copy:
    """The run database of a home with one run, for a tamperer."""

    def __init__(self, file: Path) -> None:
        self.connection = sqlite3.connect(file)
        self.connection.row_factory = sqlite3.Row

    def __call__(self, sql: str, *values: object) -> None:
        """Change something; it must not be nothing that is changed."""
        for statement in sql.split(";"):
            assert self.connection.execute(statement, values).rowcount, f"nothing is changed by: {statement}"

    def rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        return self.connection.execute(sql, values).fetchall()

    def record(self, turn: int) -> dict[str, Any]:
        (row,) = self.rows("select record from turns where turn = ?", turn)
        record: dict[str, Any] = json.loads(row["record"])
        return record

    def change(self, turn: int, change: Callable[[dict[str, Any]], object]) -> None:
        record = self.record(turn)
        change(record)
        self("update turns set record = ? where turn = ?", canonical(record), turn)

    def tell_again(self) -> None:
        """Let the chain of digests follow from the records."""
        (run,) = self.rows("select id, digest from runs")
        with open_store(Path(self.rows("pragma database_list")[0]["file"]).parent) as store:
            found = store.runs.find(run["id"])
            digest = first_digest(found.world, found.setting)
        for row in self.rows("select turn, record from turns order by turn"):
            digest = sha256(digest + row["record"])
            self("update turns set digest = ? where turn = ?", digest, row["turn"])
        self("update runs set digest = ?", digest)

    def rehash(self) -> None:
        for row in self.rows("select rowid, * from calls"):
            self("update calls set row_hash = ? where rowid = ?", call_hash(dict(row)), row["rowid"])
        for turn in self.rows(f"select rowid, {', '.join(TURN_COLUMNS)} from turns"):
            hashed = turn_hash(tuple(turn)[1:])
            self("update turns set row_hash = ? where rowid = ?", hashed, turn["rowid"])
        for run in self.rows("select * from runs"):
            hashes = json.dumps(column_hashes(dict(run)))
            self("update runs set column_hashes = ? where id = ?", hashes, run["id"])

    def insert_call(self, call: Mapping[str, object]) -> None:
        self(f"insert into calls ({', '.join(call)}) values ({', '.join('?' * len(call))})", *call.values())

    def text(self, text: str) -> str:
        name = sha256(text)
        self.connection.execute("insert or ignore into texts values (?, ?)", [name, text])
        return name

    def close(self) -> None:
        self.connection.commit()
        self.connection.close()


Change = str | Callable[[Copy], object]
"""SQL statements, or what a tamperer does."""


def changes(name: str) -> dict[str, str]:
    """Return what is changed and what is said of it, from a table beside the page."""
    with (ROOT / "docs" / "verify" / name).open(encoding="utf-8", newline="") as file:
        return dict([*csv.reader(file)][1:])


SAYS, SAYS_NOTHING = changes("found.csv"), changes("not_found.csv")
"""What verify says first of a change that it finds, and why it does not find another; … is anything."""


class Tampering:
    """What is changed, in one way or several."""

    def __init__(self, what: str, *changes: Change, world: str = "mining") -> None:
        self.what, self.changes, self.world = what, changes, world
        self.rehash = "rehashed" in what


def told_again(*changes: tuple[int, Callable[[dict[str, Any]], object]]) -> Callable[[Copy], None]:
    """Change records, and let all that follows from them follow."""

    def all_of_it(copy: Copy) -> None:
        for turn, change in changes:
            copy.change(turn, change)
        copy.tell_again()

    return all_of_it


def richer(record: dict[str, Any]) -> None:
    record["state"]["gold"]["miner-01"] += 1_000


def swap_turns(copy: Copy) -> None:
    copy("update turns set turn = -1 where turn = 1")
    copy("update turns set turn = 1 where turn = 2")
    copy("update turns set turn = 2 where turn = -1")


def another_code(copy: Copy) -> None:
    copy.change(DROPPED, lambda record: record["drops"][0].update(code="mining/invented"))


def no_last_turn(copy: Copy) -> None:
    """Cut off the last turn, with all rows of it, as if the run had been shorter."""
    for table in ("turns", "calls"):
        copy.connection.execute(f"delete from {table} where turn = {LAST}")
    copy("update runs set turns = ?, digest = (select digest from turns where turn = ?)", LAST, LAST - 1)


def cut_back(copy: Copy) -> None:
    """Cut off the last turn, and let the run be one that was stopped before it."""
    no_last_turn(copy)
    copy("update runs set status = 'unfinished', outcomes = null, scores = null, tainted = null")
    copy("update runs set ending = null, rejected = null, corrected = null, measures_version = null")
    copy("delete from measures; delete from agent_turns_mining")


def copied_call(copy: Copy, **values: object) -> None:
    """Put in another call like the first one of miner-01 in turn 1."""
    (row,) = copy.rows("select * from calls where turn = 1 and agent = 'miner-01' and attempt = 1")
    copy.insert_call({**dict(row), **values})


def other_question_added(copy: Copy) -> None:
    """Put in another call of miner-01 with the same answer, to the prompt of another agent."""
    (other,) = copy.rows("select prompt from calls where turn = 1 and agent = 'miner-02' and attempt = 1")
    copied_call(copy, attempt=2, prompt=other["prompt"])


def second_follow_up(copy: Copy) -> None:
    """Put in another call like the answer of miner-03 to the follow-up question in turn 4."""
    (row,) = copy.rows("select * from calls where turn = 4 and agent = 'miner-03' and question = 2")
    copy.insert_call({**dict(row), "attempt": 3})


def failed_before(copy: Copy) -> None:
    copy("update calls set attempt = 2 where turn = 1 and agent = 'miner-01'")
    (row,) = copy.rows("select * from calls where turn = 1 and agent = 'miner-01'")
    failed = {"attempt": 1, "outcome": "timed-out", "found_as": "none", "answer": ""}
    copy.insert_call({**dict(row), **failed})


def other_prompt(column: str) -> Callable[[Copy], None]:
    """Let a call have been asked with another text."""

    def put(copy: Copy) -> None:
        name = copy.text("Be generous.")
        copy(f"update calls set {column} = ? where turn = 1 and agent = 'miner-03'", name)

    return put


def other_template(column: str) -> Callable[[Copy], None]:
    """Let the prompts of a run be made from another template."""

    def put(copy: Copy) -> None:
        copy(f"update runs set {column} = ?", copy.text("Be kind. {# {{ view }} #}"))

    return put


def other_template_with_its_hash(copy: Copy) -> None:
    """Let the prompts of a run be made from another template, and let their hash fit."""
    other_template("system_template")(copy)
    (run,) = copy.rows("select * from runs")
    texts = [
        copy.rows("select text from texts where hash = ?", run[column])[0]["text"]
        for column in ("system_template", "turn_template")
    ]
    copy("update runs set prompts_hash = ?", sha256(canonical(texts)))


def prompt_of_another_turn(copy: Copy) -> None:
    """Let a call have been asked with the prompt of the turn before."""
    (row,) = copy.rows(f"select prompt from calls where {CALL.replace('turn = 1', 'turn = 0')}")
    copy(f"update calls set prompt = ? where {CALL}", row["prompt"])


def another_run(copy: Copy) -> None:
    """Play another run of the same settings, and put it in the place of this one, under its id."""
    (row,) = copy.rows("select id, started from runs")
    copy.connection.commit()
    home = Path(copy.rows("pragma database_list")[0]["file"]).parent
    with open_store(home) as store:
        asked = store.runs.find(row["id"])
        values = json.loads(store.db.table("runs").get(row["id"])["config"])
        other = played(store, RunOptions("mining", 3, models="policy:random", values=values)).id
        assert store.runs.find(other).digest != asked.digest
    for table in ("turns", "calls", "measures", "agent_turns_mining"):
        copy(f"delete from {table} where run = ?", row["id"])
        copy.connection.execute(f"update {table} set run = ? where run = ?", [row["id"], other])
    copy("delete from runs where id = ?", row["id"])
    copy("update runs set id = ?, started = ?", *row)
    copy.rehash()


TURNS, LAST = 6, 5
"""The mining run has turns 0 to 5."""
DROPPED = 0
"""A turn of the mining run with a drop."""
CALL = "turn = 1 and agent = 'miner-03' and attempt = 1"
"""A call to a model."""
REPAIRED = "outcome = 'repaired', found_as = 'repaired'"
DECISION = json.dumps({"claim": []})
FIRST_ROW = "where rowid = (select min(rowid) from {})"
"""The first row of a table."""

COPIED = ", ".join(TURN_COLUMNS[2:])
FORK = "parent is not null"
"""The fork among the runs of its home."""


def changed(table: str, change: str) -> str:
    return f"update {table} set {change} {FIRST_ROW.format(table)}"


FOUND = (
    Tampering(
        "the column `turns.ledgers`", "update turns set ledgers = '{}' where turn = 1", world="nations"
    ),
    Tampering("the column `turns.ended`", "update turns set ended = '2001-01-01' where turn = 1"),
    Tampering("the state inside the record", lambda copy: copy.change(2, richer)),
    Tampering("the code of a rejection", another_code),
    Tampering(
        "a memory inside the record",
        lambda copy: copy.change(1, lambda record: record["memories"]["miner-01"].update(notes="I was away")),
    ),
    Tampering(
        "a record that is not JSON",
        "update turns set record = '{' where turn = 1",
        "update turns set record = x'00' || substr(record, 2) where turn = 1",
        "update turns set record = substr(record, 1, length(record) - 4) where turn = 1",
    ),
    Tampering("the digest of one turn", "update turns set digest = 'beef' where turn = 2"),
    Tampering("the digest of the run", "update runs set digest = 'beef'"),
    Tampering("two turns swapped", swap_turns),
    Tampering(
        "a turn deleted, the last one or another",
        "delete from turns where turn = 2",
        f"delete from turns where turn = {LAST}",
    ),
    Tampering(
        "the last turn cut off with all its rows, while the run says that it is finished", no_last_turn
    ),
    Tampering(
        "rows of a turn after the last one, or before the first one",
        *(
            f"insert into turns (run, turn, {COPIED}) select run, {turn}, {COPIED} from turns where turn = 1"
            for turn in (6, 77, -1)
        ),
        lambda copy: copied_call(copy, turn=TURNS),
    ),
    Tampering(
        "states forged, and all digests recomputed",
        told_again((2, richer)),
        told_again(*((turn, richer) for turn in range(TURNS))),
    ),
    Tampering(
        "an answer changed to another decision, rehashed",
        f"update calls set answer = '{DECISION}', found_as = 'json' where turn = 1 and agent = 'miner-02'",
    ),
    Tampering(
        "the outcome of a call, rehashed",
        f"update calls set outcome = 'refused', found_as = 'none' where {CALL}",
    ),
    Tampering(
        "a failed call relabelled `answered`, rehashed",
        "update calls set outcome = 'answered' where outcome = 'truncated'",
    ),
    Tampering(
        "a failed call relabelled with the outcome that reading its answer would give, rehashed",
        f"update calls set {REPAIRED} where turn = 5 and outcome = 'truncated'",
    ),
    Tampering("a call deleted", f"delete from calls where {CALL}"),
    Tampering(
        "the call of an observer deleted",
        "delete from calls where agent = 'observer' and turn = 1",
        world="trust",
    ),
    Tampering("a call added for an agent that has one", lambda copy: copied_call(copy, attempt=2)),
    Tampering(
        "a call added for an agent that has one, rehashed",
        lambda copy: copied_call(copy, attempt=2, answer="{}"),
    ),
    Tampering("a call added with the prompt of another agent, rehashed", other_question_added),
    Tampering(
        "a call added that answers neither of the two questions, rehashed",
        lambda copy: copied_call(copy, attempt=2, question=3, answer=DECISION),
    ),
    Tampering("a second answer to the follow-up question added, rehashed", second_follow_up),
    Tampering(
        "a follow-up question added that nobody asked, rehashed",
        lambda copy: copied_call(copy, attempt=2, question=2),
    ),
    Tampering("an attempt with another number, rehashed", f"update calls set attempt = 7 where {CALL}"),
    Tampering(
        "a call of an agent that was not asked, rehashed", lambda copy: copied_call(copy, agent="miner-09")
    ),
    Tampering(
        "the text of a prompt",
        f"update texts set text = 'Be kind.' where hash = (select prompt from calls where {CALL})",
    ),
    Tampering(
        "a system text",
        f"update texts set text = 'Be kind.' where hash = (select system from calls where {CALL})",
    ),
    Tampering(
        "a template of the prompts",
        "update texts set text = 'Be kind.' where hash = (select system_template from runs)",
    ),
    Tampering(
        "any column of `calls`",
        *(
            f"update calls set {change} where {CALL}"
            for change in (
                f"answer = '{DECISION}'",
                "answer = answer || ' '",
                "outcome = 'refused'",
                "outcome = 'answered', found_as = 'embedded'",
                "prompt = system",
                "system = prompt",
                "model = 'gpt-5'",
                "player = 'openai:gpt-5'",
                "player = null",
                "tokens_in = 1",
                "tokens_out = 1",
                "usage = '{}'",
                "reasoning = 'I like them.'",
                "error = 'it was late'",
                "milliseconds = milliseconds + 1",
                "tries = 3",
                "arrived = '2001-01-01T00:00:00+00:00'",
            )
        ),
    ),
    Tampering(
        "the columns `config`, `seed`, `models`, `model_settings`, `prompts`, `lang`, `observer_text`,"
        " `started`, `hobbes` of `runs`",
        "update runs set config = json_set(config, '$.mine_cap', 7)",
        "update runs set seed = 2",
        "update runs set models = '{}'",
        "update runs set model_settings = '{}'",
        "update runs set prompts = 'unguided'",
        "update runs set lang = 'zh'",
        "update runs set observer_text = 'Be kind.'",
        "update runs set started = '2001-01-01'",
        "update runs set hobbes = '9.9'",
    ),
    Tampering("the random seed, rehashed", "update runs set seed = 2"),
    Tampering("a setting, rehashed", "update runs set config = json_set(config, '$.mine_cap', 7)"),
    Tampering(
        "the order of the agents in `runs.agents`, rehashed",
        """update runs set agents = '["miner-02", "miner-01", "miner-03"]'""",
    ),
    Tampering("the column `prompts_hash` of `runs`, rehashed", "update runs set prompts_hash = 'beef'"),
    Tampering(
        "a template of the prompts replaced by another text, rehashed",
        *(other_template(column) for column in ("system_template", "turn_template")),
    ),
    Tampering(
        "a template of the prompts and `prompts_hash` replaced, rehashed", other_template_with_its_hash
    ),
    Tampering(
        "the text for the observer, rehashed", "update runs set observer_text = 'Be kind.'", world="trust"
    ),
    Tampering(
        "the prompt of a call replaced by another text, rehashed",
        other_prompt("prompt"),
        other_prompt("system"),
    ),
    Tampering(
        "one of the columns `parent` and `turn` of `runs`, where the other is empty, rehashed",
        "update runs set turn = 3",
        "update runs set parent = id",
    ),
    Tampering(
        "the turn of a fork, a smaller one, or its parent, now itself; rehashed",
        f"update runs set turn = 1 where {FORK}",
        f"update runs set parent = id where {FORK}",
        world="fork",
    ),
    Tampering(
        "the turn of a fork, a larger one, rehashed", f"update runs set turn = 3 where {FORK}", world="fork"
    ),
    Tampering(
        "the turn of a fork, one that it has not reached, rehashed",
        f"update runs set turn = 9 where {FORK}",
        world="fork",
    ),
    Tampering(
        "the turns that `runs.earlier` tells of, rehashed",
        *(
            f"update runs set earlier = json_set(earlier, '$[0].until', {until}) where {FORK}"
            for until in (0, 3)
        ),
        world="changed fork",
    ),
    Tampering(
        "a second value for a key in `turns.ledgers`",
        """update turns set ledgers = '{"accounts": {},' || substr(ledgers, 2) where turn = 1""",
        world="nations",
    ),
    Tampering(
        "a second value for a key in the JSON of a column of `runs`",
        """update runs set config = '{"rounds": 9,' || substr(config, 2)""",
        world="nations",
    ),
    Tampering(
        "the columns `tainted`, `scores`, `ending`, `outcomes`, `rejected`, `corrected` of `runs`",
        "update runs set tainted = 1 - tainted",
        "update runs set scores = json_set(scores, '$.miner-01', 1000)",
        """update runs set outcomes = '{"answered": 1000}'""",
        "update runs set scores = null",
        "update runs set ending = 'miner-01 won'",
        "update runs set rejected = rejected + 1",
        "update runs set corrected = 77",
    ),
    Tampering(
        "the columns `value`, `decisions`, `failures` of `measures`, or a measure deleted or added",
        *(changed("measures", f"{column} = 77") for column in ("value", "decisions", "failures")),
        f"delete from measures {FIRST_ROW.format('measures')}",
        "insert into measures select run, 'virtue', scope, 1, 1, 0 from measures limit 1",
    ),
    Tampering(
        "a column of a plain table, such as `agent_turns_mining`, or a row of it deleted or added",
        *(changed("agent_turns_mining", f"{column} = 77") for column in ("claims", "idle", "gold")),
        "delete from agent_turns_mining where turn = 1",
        "insert into agent_turns_mining select run, 99, agent, 0, 0, 0, 0, 0, 0, 0, 0 from agent_turns_mining"
        " limit 1",
        lambda copy: copy.connection.execute("drop table agent_turns_mining"),
    ),
    Tampering("a finished run that is marked as unfinished", "update runs set status = 'unfinished'"),
    Tampering("a status that does not exist", "update runs set status = 'perfect'"),
    Tampering(
        "a question to a person added, although no agent asked for anything",
        """update runs set question =
        '[{"address": "1/observer/1", "asked": "{}", "since": "2001-01-01T00:00+00:00"}]'""",
    ),
    Tampering(
        "the question that a waiting run asks a person",
        "update runs set question = replace(question, 'unit-b', 'unit-a')",
        world="waiting",
    ),
    Tampering(
        "the time since when a person is asked: something else than a time",
        "update runs set question = json_set(question, '$[0].since', 'noon')",
        world="waiting",
    ),
    Tampering(
        "an answer of a turn in progress",
        "update calls set answer = '{}' where turn = 1 and agent = 'unit-a'",
        world="waiting",
    ),
    Tampering(
        "the outcome of a call of a turn in progress changed to `refused`, rehashed",
        "update calls set outcome = 'refused' where turn = 1 and agent = 'unit-a'",
        world="waiting",
    ),
    Tampering(
        "a call of a turn in progress deleted",
        "delete from calls where turn = 1 and agent = 'unit-a'",
        world="waiting",
    ),
    Tampering(
        "a waiting run that is marked as finished",
        "update runs set status = 'finished', question = null",
        world="waiting",
    ),
)

NOT_FOUND = (
    Tampering(
        "the columns `model`, `player`, `tokens_in`, `tokens_out`, `usage`, `reasoning`, `error`,"
        " `milliseconds`, `tries`, `arrived` of `calls` and `ended` of `turns`, rehashed",
        f"update calls set model = 'gpt-5', tokens_in = 1, tokens_out = 1, usage = '{{}}', tries = 3,"
        f" reasoning = 'I like them.', arrived = '2001-01-01T00:00:00+00:00', error = 'it was late',"
        f" milliseconds = milliseconds + 1, player = '' where {CALL};"
        " update turns set ended = '2001-01-01' where turn = 1",
    ),
    Tampering(
        "a space added to an answer, rehashed", f"update calls set answer = answer || ' ' where {CALL}"
    ),
    Tampering(
        "the columns `name`, `caps`, `seconds`, `error`, `ended`, `servers` of `runs`",
        "update runs set name = 'other', caps = '{}', seconds = 7, error = 'none', ended = '2001-01-01',"
        " servers = '{}'",
    ),
    Tampering("the view in the prompt of a call, rehashed", prompt_of_another_turn),
    Tampering(
        "a template of the prompts and `prompts_hash` of a run in which no model was asked, rehashed",
        other_template_with_its_hash,
        world="nations",
    ),
    Tampering(
        "the column `prompts_hash` of `runs` in a world with an observer, rehashed",
        "update runs set prompts_hash = 'beef'",
        world="trust",
    ),
    Tampering(
        "the column `answer_schema` of `runs`, rehashed, if the system text does not show it",
        other_template("answer_schema"),
    ),
    Tampering(
        "the columns `parent` and `turn` of a fork, both emptied, or the parent replaced by a run that is not"
        " in the home; rehashed",
        f"update runs set parent = null, turn = null where {FORK}",
        f"update runs set parent = 'elsewhere' where {FORK}",
        world="fork",
    ),
    Tampering(
        "the time since when a person is asked",
        "update runs set question = json_set(question, '$[0].since', '2001-01-01T00:00:00+00:00')",
        world="waiting",
    ),
    Tampering("a failed call added before the one that counts, rehashed", failed_before),
    Tampering(
        "the outcome of a failed call whose follow-up question was answered: replaced by what reading the"
        " text of the failed call would give, rehashed",
        f"update calls set {REPAIRED} where turn = 4 and outcome = 'truncated'",
    ),
    Tampering(
        "the columns `models`, `model_settings`, `prompts`, `lang`, `started`, `hobbes` of `runs`, rehashed",
        "update runs set models = '{}', model_settings = '{}', prompts = 'unguided', lang = 'zh',"
        " started = '2001-01-01', hobbes = '9.9'",
    ),
    Tampering(
        "the tables `measures` and `agent_turns_…`, with `runs.measures_version`",
        "update measures set value = 77; update agent_turns_mining set gold = 77;"
        " update runs set measures_version = 77",
    ),
    Tampering(
        "the view of a scripted policy (`calls.prompt`), rehashed",
        "update calls set prompt = hex(zeroblob(32)) where turn = 1 and agent = 'miner-01'",
    ),
    Tampering(
        "two arms, or a seed, of an experiment exchanged in `cells`",
        "update cells set arm = 'x' where arm = 'null'; update cells set arm = 'null' where arm = 'immune';"
        " update cells set arm = 'immune' where arm = 'x'",
        world="experiment",
    ),
    Tampering("the last turn cut off with all its rows, and the run marked as unfinished", cut_back),
    Tampering("the whole run replaced by another one with the same settings", another_run),
)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A home for each world, with a recorded run in which much goes wrong; two forks; a run that waits."""
    folder = tmp_path_factory.mktemp("homes")
    app = failing({"cut-by-length": 0.3})
    with in_thread(app) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        for name, request in RECORDED.items():
            with open_store(folder / name) as store:
                run = begin(store, request)
                asyncio.run(go_on(store, run, lambda _: None))
                if name in FORKS:
                    go(store, fork(store, store.runs.find(run.id), FORKS[name], NO_CAPS))
                if name == "waiting":
                    go(store, store.runs.find(run.id), granting_all(store.runs.find(run.id)))
    with open_store(folder / "experiment") as store:
        play_all(store, written(folder, FILE.replace("seeds = 3", "seeds = 1")))
    return {name: folder / name for name in (*RECORDED, "experiment")}


FORKS = {"fork": ForkOptions(2), "changed fork": ForkOptions(2, values={"immunity": 9})}
"""What is forked from the run of a home."""

RECORDED = {
    "mining": RunOptions(
        "mining",
        3,
        models="policy:tit-for-tat-raid*1,policy:guided?noise=0.5*1,openai:policy/guided*1",
        values={"rounds": TURNS, "rows": 2, "cols": 2, "reask": 1, "communication": True, "taint_share": 0.5},
    ),
    "nations": RunOptions("nations", 3, models="policy:random", values={"rounds": 2}),
    "trust": RunOptions(
        "trust",
        2,
        models="policy:copykitten,policy:beggar*1",
        values={"rounds": 3, "observer": "openai:policy/half-once"},
    ),
    **dict.fromkeys(FORKS, SMALL),
    "waiting": RunOptions(
        "trust", 2, models="policy:copykitten,policy:beggar*1", values={"rounds": 3, "observer": "human"}
    ),
}


def verified(home: Path) -> list[str]:
    """Return the faults of the last run, as `hobbes verify` prints them."""
    with open_store(home) as store:
        try:
            found = list(verify(store, with_turns(store, store.runs.find_unchecked("last"))))
        except DamagedError as error:
            return [str(error)]
    faults = [one for one in found if isinstance(one, Fault)]
    return [f"{'run' if turn is None else f'turn {turn}'}: {fault}" for turn, fault in faults] or [NOTHING]


def diverged(home: Path) -> DivergedError:
    """Return where a replay of the only run of a home differs first."""
    with open_store(home) as store:
        found = asyncio.run(replay_run(store, store.runs.find("last"), reread=False)).divergence
    assert found is not None
    return found


def tampered(recorded: Path, change: Change, home: Path, *, rehash: bool) -> Path:
    home.mkdir()
    shutil.copyfile(recorded / "runs.db", home / "runs.db")
    copy = Copy(home / "runs.db")
    if isinstance(change, str):
        copy(change)
    else:
        change(copy)
    if rehash:
        copy.rehash()
    copy.close()
    return home


def each_change(tamperings: tuple[Tampering, ...]) -> list[Any]:
    """List each tampering with each of its changes."""
    return [
        pytest.param(tampering, change, id=f"{tampering.what} {number}")
        for tampering in tamperings
        for number, change in enumerate(tampering.changes)
    ]


@pytest.mark.parametrize(("tampering", "change"), each_change(FOUND))
def test_verify_finds(tampering: Tampering, change: Change, homes: Mapping[str, Path], home: Path) -> None:
    found = verified(tampered(homes[tampering.world], change, home, rehash=tampering.rehash))
    said = ".*".join(map(re.escape, SAYS[tampering.what].split("…")))
    assert re.fullmatch(said, found[0], re.DOTALL), found


@pytest.mark.parametrize(("tampering", "change"), each_change(NOT_FOUND))
def test_verify_cannot_find(
    tampering: Tampering, change: Change, homes: Mapping[str, Path], home: Path
) -> None:
    copy = tampered(homes[tampering.world], change, home, rehash=tampering.rehash)
    assert verified(copy) == [NOTHING]


@pytest.mark.parametrize(
    "one",
    [one for one in NOT_FOUND if "`replay` finds it" in SAYS_NOTHING[one.what]],
    ids=lambda one: one.what,
)
def test_replay_finds_it(one: Tampering, homes: Mapping[str, Path], home: Path) -> None:
    copy = tampered(homes["mining"], one.changes[0], home, rehash=one.rehash)
    assert diverged(copy).agent == "miner-03"


def forged(question: int, homes: Mapping[str, Path], home: Path) -> Path:
    """Let miner-01 have answered another question in turn 1."""
    return tampered(
        homes["mining"],
        lambda copy: copied_call(copy, attempt=2, question=question, answer=DECISION),
        home,
        rehash=True,
    )


def test_replay_finds_a_follow_up_question_that_nobody_asked(homes: Mapping[str, Path], home: Path) -> None:
    found = diverged(forged(2, homes, home))
    assert (found.turn, found.agent, found.layer) == (1, "miner-01", "answer")


def test_replay_finds_a_call_that_answers_no_question(homes: Mapping[str, Path], home: Path) -> None:
    copy = forged(3, homes, home)
    with pytest.raises(DamagedError, match=r"miner-01, attempt 2: the column calls.question is damaged"):
        diverged(copy)


@pytest.mark.parametrize("name", [*RECORDED, "experiment"])
def test_the_runs_that_are_tampered_with_verify(name: str, homes: Mapping[str, Path]) -> None:
    assert verified(homes[name]) == [NOTHING]


def test_the_page_lists_what_is_found_and_what_is_not() -> None:
    for table, tried in ((SAYS, FOUND), (SAYS_NOTHING, NOT_FOUND)):
        assert list(table) == [one.what for one in tried]


@pytest.mark.parametrize(
    ("part", "value"), [("intents", {"miner-01": {"actions": 7}}), ("state", {}), ("events", [{}])]
)
def test_verify_says_that_a_record_is_malformed(
    part: str, value: Json, homes: Mapping[str, Path], home: Path
) -> None:
    def malform(copy: Copy) -> None:
        copy.change(1, lambda record: record.update({part: value}))

    found = verified(tampered(homes["mining"], malform, home, rehash=False))
    assert re.match("turn 1: .*(damaged|does not follow)", found[0])


def rehashed_with(store: Store, run: Run, **values: str | int) -> None:
    """Change columns of a run, and let their hashes be those of the new values."""
    store.runs.update(run.id, **values)
    hashes = json.dumps(column_hashes(store.runs.row_unchecked(run.id)))
    store.runs.update(run.id, column_hashes=hashes)


def test_a_run_of_no_known_world_and_one_of_other_rules_are_said_in_one_line(opened: Store) -> None:
    run = mining(opened)
    rehashed_with(opened, run, rules_version=7)
    shown = rf"run {run.id} can be shown and exported, but not .*verified or measured: it was recorded with "
    rules = WORLDS["mining"].rules_version
    with pytest.raises(
        HobbesError, match=rf"{shown}mining rules 7, and this hobbes has mining rules {rules}$"
    ):
        list(verify(opened, opened.runs.find(run.id)))
    rehashed_with(opened, run, record_version=1, rules_version=rules)
    versions = f"record version 1, and this hobbes has record version {RECORD_VERSION}"
    with pytest.raises(HobbesError, match=f"{shown}{versions}$"):
        measure_anew(opened, opened.runs.find(run.id))
    rehashed_with(opened, run, config=json.dumps({"rounds": 4, "weather": "rain"}))
    with pytest.raises(HobbesError, match=f"cannot be read: .*weather.*; it was recorded with {versions}$"):
        opened.runs.find(run.id)
    rehashed_with(opened, run, world="atlantis")
    with pytest.raises(HobbesError, match=r"cannot be read: there is no world 'atlantis'"):
        opened.runs.find(run.id)


def test_a_run_that_was_killed_before_its_first_turn_verifies(opened: Store) -> None:
    assert list(verify(opened, begin(opened, RunOptions("mining")))) == []


def verifies(store: Store, run: Run) -> Run:
    run = store.runs.find(run.id)
    assert list(verify(store, run)) == []
    return run


def test_a_run_that_halts_and_is_resumed_verifies_at_every_stop(opened: Store) -> None:
    """The follow-up question fails, the run halts; then the turn's own question is answered at once."""
    said = {1: UNREADABLE, 2: UNREADABLE, 3: json.dumps({"claim": []})}
    values: dict[str, Any] = {"rounds": 1, "reask": 1, "on_failure": "halt"}
    with answering(lambda address: said[int(address.rpartition("/")[2])]) as asked:
        run = begin(opened, RunOptions("mining", 1, models="openai:m", values=values))
        with pytest.raises(HaltedRunError, match="unreadable"):
            asyncio.run(go_on(opened, run, lambda _: None))
        assert verifies(opened, run).status == "halted"
        asyncio.run(go_on(opened, opened.runs.find(run.id), lambda _: None))
    assert len(asked) == 3
    assert verifies(opened, run).status == "finished"
    replayed = asyncio.run(replay_run(opened, opened.runs.find(run.id), reread=False))
    assert replayed.digest == opened.runs.find(run.id).digest


def test_a_run_whose_provider_fails_verifies_whether_it_is_gone_or_comes_back(opened: Store) -> None:
    healthy = False

    def answer(_: str) -> Response:
        return completion() if healthy else JSONResponse({"error": {"message": "down"}}, 401)

    with answering(answer):
        run = begin(opened, RunOptions("mining", 3, models="openai:m", values={"rounds": 3}))
        with pytest.raises(HaltedRunError):
            asyncio.run(go_on(opened, run, lambda _: None))
        assert verifies(opened, run).status == "halted"
        healthy = True
        asyncio.run(go_on(opened, opened.runs.find(run.id), lambda _: None))
        assert verifies(opened, run).status == "finished"


def test_a_run_is_verified_as_of_one_moment_while_it_is_played(
    opened: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between finding the run and verifying it, another process plays a turn."""
    run = on(opened, begin(opened, game("human")))
    find = Runs.find_unchecked

    def find_and_go_on(self: Runs, reference: str) -> Run:
        found = find(self, reference)
        if self is not opened.runs:
            monkeypatch.setattr(Runs, "find_unchecked", find)
            on(opened, run, granting_all(run))
        return found

    monkeypatch.setattr(Runs, "find_unchecked", find_and_go_on)
    said = CliRunner().invoke(app, ["verify", "last", "--home", str(home)])
    assert (said.exit_code, said.stdout) == (0, f"{run.turns} turns verified; digest {run.digest}\n")
    assert opened.runs.find(run.id).turns > run.turns
