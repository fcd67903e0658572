"""A home is data: no checkpoint makes hobbes call anything, and every checkpoint holds plain values alone."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from hobbes.errors import HobbesError
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import open_store
from tests.conftest import Cli
from tests.graphs.threads import with_graph
from tests.small_runs import go

MODELS = {
    "mining": ("policy:random?noise=0.3", {}),
    "nations": ("policy:random", {}),
    "trust": ("policy:beggar", {"observer": "always"}),
}
"""Players of each world."""

WAITING = {
    "player": ("mining", "human*1,policy:random?noise=0.3", {}),
    "observer": ("trust", "policy:copykitten*1,policy:beggar*1", {"observer": "human"}),
}
"""Runs that wait for a person."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with every kind of checkpoint: between turns, after each node, and where a person is asked."""
    home = tmp_path_factory.mktemp("checkpoints") / "home"

    async def all_nodes(graph: Any, config: Any) -> None:
        past = [one async for one in graph.aget_state_history(config)]
        first = next(one for one in past if one.values.get("turn") == 0)
        await graph.ainvoke(None, first.config)

    with open_store(home) as store:
        for world, (models, values) in MODELS.items():
            options = RunOptions(world, 3, models=models, values={"rounds": 3, **values}, name=world)
            with_graph(home, go(store, begin(store, options)).id, all_nodes)
        for name, (world, models, values) in WAITING.items():
            options = RunOptions(world, 2, models=models, values={"rounds": 3, **values}, name=name)
            assert go(store, begin(store, options)).status == "waiting"
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    """A copy of that home."""
    return shutil.copytree(made, tmp_path / "home")


@pytest.fixture
def called(home: Path) -> Path:
    """A file that is made if what was planted in the checkpoints of a home is called."""
    return home / "called"


def plant(home: Path, called: Path, *, whole: bool) -> None:
    """Put a call of `os.system` in the place of every checkpoint, or of a channel of each, and all writes."""
    # LangGraph writes what has a secret as the name of its class and the secret, with which it is called.
    secret = {"__module__": "os", "get_secret_value": lambda _: f"touch {called}"}
    planted, serializer = type("system", (), secret)(), JsonPlusSerializer()
    with closing(sqlite3.connect(home / "checkpoints.db")) as db:
        for row, kind, stored in db.execute("select rowid, type, checkpoint from checkpoints").fetchall():
            there: Any = serializer.loads_typed((kind, stored))
            there["channel_values"]["digest"] = planted
            changed = serializer.dumps_typed(planted if whole else there)
            db.execute("update checkpoints set type = ?, checkpoint = ? where rowid = ?", [*changed, row])
        db.execute("update writes set type = ?, value = ?", serializer.dumps_typed(planted))
        db.commit()
    JsonPlusSerializer().loads_typed(changed)
    called.unlink()  # a serializer that allows everything calls it


async def history(graph: Any, config: Any) -> list[dict[str, Any]]:
    """The states of a thread, the newest first."""
    return [one.values async for one in graph.aget_state_history(config)]


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "channel"])
@pytest.mark.parametrize("words", [("resume", "player"), ("fork", "mining", "--turn", "2")], ids=" ".join)
def test_nothing_that_stands_in_a_checkpoint_is_called(
    words: tuple[str, ...],
    whole: bool,  # noqa: FBT001  a parameter of the test
    home: Path,
    called: Path,
    cli: Cli,
) -> None:
    plant(home, called, whole=whole)
    done = cli(*words)
    assert done.exit_code == 0, done.exception
    assert not called.exists()


def test_nothing_that_stands_in_a_checkpoint_is_called_by_the_graph_of_a_run(
    home: Path, called: Path
) -> None:
    plant(home, called, whole=False)

    states = with_graph(home, "mining", history)
    assert {values["digest"] for values in states if values} == {f"touch {called}"}
    assert not called.exists()


@pytest.mark.parametrize("damage", ["file", "checkpoints", "checkpoint"])
def test_damaged_checkpoints_are_one_line_that_says_what_to_do_and_it_helps(damage: str, home: Path) -> None:
    """All of them, or one that is read after others."""
    checkpoints = home / "checkpoints.db"

    if damage == "file":
        checkpoints.write_bytes(b"no database" * 1_000)
    else:
        first = "where rowid = (select min(rowid) from checkpoints)" * (damage == "checkpoint")
        with closing(sqlite3.connect(checkpoints)) as db:
            db.execute(f"update checkpoints set checkpoint = substr(checkpoint, 1, 100) {first}")  # noqa: S608  ours
            db.commit()
    with pytest.raises(HobbesError, match=r"checkpoints\.db: .*; if it is damaged, delete it: ") as refused:
        with_graph(home, "mining", history)
    assert "\n" not in str(refused.value)
    checkpoints.unlink()
    assert [values["turn"] for values in with_graph(home, "mining", history)] == [3, 2, 1, 0]


READ_ALL = """
import sys
from langgraph.checkpoint.sqlite import SqliteSaver

with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
    print(len([*saver.list(None)]))
"""


def test_every_checkpoint_is_plain_for_the_stock_saver(made: Path) -> None:
    """LangGraph warns of each type that is neither plain nor its own."""
    reader = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(made / "checkpoints.db")],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        capture_output=True,
        text=True,
        check=True,
    )
    with closing(sqlite3.connect(made / "checkpoints.db")) as db:
        (kept,) = db.execute("select count(*) from checkpoints").fetchone()
        asked = db.execute("select count(*) from writes where channel = '__interrupt__'").fetchone()
    assert (int(reader.stdout), reader.stderr) == (kept, "")
    assert asked == (len(WAITING),)
