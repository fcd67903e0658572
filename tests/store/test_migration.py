"""`hobbes migrate`: a home of the schema before this one is carried over, or stays as it is."""
# ruff: noqa: S608  names are ours

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from hobbes.engine.record import Json
from hobbes.errors import HobbesError
from hobbes.nodes.caps import NO_CAPS
from hobbes.play.fork import ForkOptions, fork
from hobbes.prove.verification import Remark, verify
from hobbes.store import migration
from hobbes.store.home import open_store
from hobbes.store.migration import migrate
from hobbes.store.row_hashes import turn_hash
from hobbes.store.schema import CARRIED_OVER, SCHEMA_VERSION
from tests.conftest import Cli
from tests.small_runs import go, mining

TO_SCHEMA_5 = f"""
{"".join(f"alter table reported add column {column} text;" for column in migration.DROPPED_COLUMNS)}
alter table runs drop column measures_version;
alter table runs drop column servers;
alter table turns drop column row_hash;
drop table agent_turns_mining;
create view agent_turns_mining as select run, turn, 'miner-01' as agent, 7 as gold from turns;
pragma user_version = {CARRIED_OVER};
pragma journal_mode = delete;
"""
"""SQL that gives a home the tables that hobbes had before: the plain tables were views."""


@pytest.fixture
def old(home: Path) -> Path:
    """A home of schema 5 with a finished run of mining and an unfinished fork of it."""
    with open_store(home) as store:
        fork(store, mining(store), ForkOptions(2), NO_CAPS)
    with closing(sqlite3.connect(home / "runs.db")) as db:
        db.executescript(TO_SCHEMA_5)
    return home


def schema(home: Path) -> set[tuple[str, ...]]:
    """Return the columns of all tables and views of a run database, each with its type, and its version."""
    with closing(sqlite3.connect(home / "runs.db")) as db:
        columns = db.execute(
            "select one.name, info.name, info.type, info.pk from sqlite_master as one"
            " join pragma_table_xinfo(one.name) as info where one.type in ('table', 'view')"
        ).fetchall()
        return {*columns, *db.execute("pragma user_version")}


def test_a_home_that_was_carried_over_has_the_tables_of_a_new_one_and_its_runs_go_on(
    old: Path, tmp_path: Path, cli: Cli
) -> None:
    said = cli("migrate")
    assert (said.exit_code, said.stdout.split(";")[0]) == (
        0,
        f"2 runs carried over to schema {SCHEMA_VERSION}",
    )
    with open_store(tmp_path / "new") as new:
        mining(new)
    with open_store(old) as store:
        child, run = store.figures.of_all_runs()
        (remark,) = verify(store, store.runs.find(run["id"]))
        assert isinstance(remark, Remark)
        assert "measured by other formulas (version unknown, now " in remark.remark
        assert cli("measure", run["id"]).exit_code == 0
        assert list(verify(store, store.runs.find(run["id"]))) == []
        finished = go(store, store.runs.find(child["id"]))
        assert (finished.status, list(verify(store, finished))) == ("finished", [])
    assert schema(old) == schema(tmp_path / "new")


def test_a_home_whose_migration_is_killed_is_as_it_was(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, cut = schema(old), tmp_path / "cut"
    cut.mkdir()

    def killed(row: Sequence[Json]) -> str:
        if row[1] != 3:
            return turn_hash(row)
        for file in old.glob("runs.db*"):  # what is on the disk when the power is cut
            shutil.copyfile(file, cut / file.name)
        raise KeyboardInterrupt

    monkeypatch.setattr(migration, "turn_hash", killed)
    with pytest.raises(KeyboardInterrupt):
        migrate(old)
    monkeypatch.undo()
    for home in (old, cut):
        assert schema(home) == before
        assert migrate(home) == 2


def test_only_a_home_of_the_schema_before_this_one_is_carried_over(old: Path, tmp_path: Path) -> None:
    migrate(old)
    with pytest.raises(HobbesError, match=f"has schema {SCHEMA_VERSION} already"):
        migrate(old)
    with closing(sqlite3.connect(old / "runs.db")) as db:
        db.execute("pragma user_version = 3")
    with pytest.raises(
        HobbesError, match=f"has schema 3, and only schema {CARRIED_OVER} can be carried over"
    ):
        migrate(old)
    with pytest.raises(HobbesError, match="there is no run database in"):
        migrate(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
    (old / "runs.db").write_text("no database" * 100)
    with pytest.raises(
        HobbesError, match=r"cannot carry over .*, which is as it was: file is not a database"
    ):
        migrate(old)
