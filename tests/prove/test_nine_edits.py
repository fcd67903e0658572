"""Nine edits of a store behind its back, those of agent-memory-integrity (`agmi.attacks.at_rest`).

Eight change rows of one table, and `verify` finds each. The ninth puts an older copy of the whole home in its
place, in which nothing is out of order: only a digest that was kept elsewhere tells.
"""
# ruff: noqa: S608  names are ours

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

from hobbes.engine.record import Json
from hobbes.errors import UsageError
from hobbes.nodes.turn_state import TurnState
from hobbes.play.start import RunOptions, begin
from hobbes.prove.verification import verify
from hobbes.store.home import open_store
from hobbes.store.row_hashes import CALL_COLUMNS, TURN_COLUMNS, call_hash, turn_hash
from tests.conftest import Cli
from tests.small_runs import go, played

Row: TypeAlias = dict[str, Json]

KEYS = {"turns": ("run", "turn"), "calls": ("run", "turn", "agent", "attempt")}
CONTENT = {"turns": "record", "calls": "answer"}
TIME = {"turns": "ended", "calls": "arrived"}


class Table(NamedTuple):
    """A table as an attacker has it, with the rows of the run in their order, and those of another run."""

    db: sqlite3.Connection
    name: str
    rows: list[Row]
    others: list[Row]

    def put(self, place: Row, content: Row) -> None:
        """Let the row of a place have all that another one has, and keep its address."""
        assert {**content, **self.key(place)} != place, "nothing would be changed"
        self.insert({**content, **self.key(place)})

    def key(self, row: Row) -> Row:
        return {column: row[column] for column in KEYS[self.name]}

    def insert(self, row: Row) -> None:
        marks = ", ".join(f":{column}" for column in row)
        self.db.execute(f"insert or replace into {self.name} ({', '.join(row)}) values ({marks})", row)

    def delete(self, row: Row) -> None:
        where = " and ".join(f"{column} = :{column}" for column in self.key(row))
        assert self.db.execute(f"delete from {self.name} where {where}", row).rowcount == 1


def tamper(table: Table) -> None:
    middle = table.rows[len(table.rows) // 2]
    column = CONTENT[table.name]
    table.put(middle, {**middle, column: f"{middle[column]} "})


def truncate(table: Table) -> None:
    for row in table.rows[-2:]:
        table.delete(row)


def delete_middle(table: Table) -> None:
    table.delete(table.rows[len(table.rows) // 2])


def reorder(table: Table) -> None:
    one, other = table.rows[1:3]
    table.put(one, other)
    table.put(other, one)


def forge(table: Table) -> None:
    """Append a row like the last one, with a hash of its own."""
    last = table.rows[-1]
    step = KEYS[table.name][-1]
    forged = {**last, step: int(str(last[step])) + 1}
    row_hash = (
        turn_hash([forged[column] for column in TURN_COLUMNS])
        if table.name == "turns"
        else call_hash({column: forged[column] for column in CALL_COLUMNS})
    )
    table.insert({**forged, "row_hash": row_hash})


def cross_replay(table: Table) -> None:
    """Put what a row of another run holds into the last one."""
    table.put(table.rows[-1], table.others[-1])


def rollback_replay(table: Table) -> None:
    """Put what the first row holds into the last one."""
    table.put(table.rows[-1], table.rows[0])


def metadata_tamper(table: Table) -> None:
    """Change when a row was written, and leave what it holds."""
    middle = table.rows[len(table.rows) // 2]
    table.put(middle, {**middle, TIME[table.name]: "2001-01-01T00:00:00.000+00:00"})


EDITS: tuple[Callable[[Table], None], ...] = (
    tamper,
    truncate,
    delete_middle,
    reorder,
    forge,
    cross_replay,
    rollback_replay,
    metadata_tamper,
)

ASKED = RunOptions("mining", 2, 1, "policy:random", values={"rounds": 4, "rows": 3, "cols": 3})


class Recorded(NamedTuple):
    """A home with two runs, a copy from when the first was half played, and the digest of that run now."""

    home: Path
    older: Path
    run: str
    digest: str


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Play a run and another one, and copy the home after two turns of the first."""
    folder = tmp_path_factory.mktemp("edits")
    home, older = folder / "home", folder / "older"

    def stop(state: TurnState) -> None:
        if state["turn"] == 2:
            raise InterruptedError

    with open_store(home) as store:
        run = begin(store, ASKED)
        with pytest.raises(InterruptedError):
            go(store, run, on_turn=stop)
    shutil.copytree(home, older)
    with open_store(home) as store:
        digest = go(store, run).digest
        played(store, replace(ASKED, seed=2))
    return Recorded(home, older, run.id, digest)


@pytest.fixture
def stranger(recorded: Recorded, home: Path) -> Iterator[sqlite3.Connection]:
    """A connection of somebody else to a copy of the home."""
    shutil.copytree(recorded.home, home)
    with closing(sqlite3.connect(home / "runs.db")) as db, db:
        db.row_factory = sqlite3.Row
        yield db


def rows_of(db: sqlite3.Connection, name: str, run: str, *, others: bool = False) -> list[Row]:
    """Return the rows of a run in a table, or those of the other run, in the order of their addresses."""
    columns = ", ".join((*(TURN_COLUMNS if name == "turns" else CALL_COLUMNS), "row_hash"))
    sql = (
        f"select {columns} from {name} where run {'!=' if others else '='} ? order by {', '.join(KEYS[name])}"
    )
    return [dict(row) for row in db.execute(sql, [run])]


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_verify_notices_each_edit_of_rows(
    recorded: Recorded, stranger: sqlite3.Connection, home: Path, name: str, edit: Callable[[Table], None]
) -> None:
    run = recorded.run
    edit(Table(stranger, name, rows_of(stranger, name, run), rows_of(stranger, name, run, others=True)))
    stranger.commit()
    with open_store(home) as store:
        assert list(verify(store, store.runs.find_unchecked(run))) != []


def test_an_older_copy_of_the_home_is_noticed_by_a_digest_that_was_kept_elsewhere(
    recorded: Recorded, home: Path, cli: Cli
) -> None:
    shutil.copytree(recorded.older, home)
    assert cli("verify", recorded.run).exit_code == 0
    said = cli("verify", recorded.run, "--digest", recorded.digest)
    assert said.exit_code == 1
    assert said.stdout.startswith("run: the run's digest is ")
    assert f", not {recorded.digest}: this is another run, or another copy of it" in " ".join(
        said.stdout.split()
    )


def test_a_kept_digest_is_compared_in_any_case_and_only_whole(
    recorded: Recorded, home: Path, cli: Cli
) -> None:
    shutil.copytree(recorded.home, home)
    assert cli("verify", recorded.run, "--digest", recorded.digest.upper()).exit_code == 0
    refused = cli("verify", recorded.run, "--digest", recorded.digest[:12])
    assert isinstance(refused.exception, UsageError)
    assert str(refused.exception).startswith("--digest: write all 64 digits")
