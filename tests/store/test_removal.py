"""A run that is deleted leaves nothing in its home, and one that something needs is not deleted."""

import asyncio
import json

from hobbes.graphs.run import open_checkpoints
from hobbes.play.start import RunOptions
from hobbes.store.home import Store
from tests.commands.test_commands import refused
from tests.conftest import Cli
from tests.play.test_failures import served
from tests.play.test_second_question import answering
from tests.small_runs import mining, played


def threads(store: Store) -> set[str]:
    async def read() -> set[str]:
        async with open_checkpoints(store.home / "checkpoints.db") as checkpoints:
            return {one.config["configurable"]["thread_id"] async for one in checkpoints.saver().alist(None)}

    return asyncio.run(read())


def total(cli: Cli) -> int:
    found: dict[str, int] = json.loads(cli("search", "grid", "--in", "prompts", "--json").stdout)
    return found["total"]


def test_a_deleted_run_leaves_nothing_in_its_home(opened: Store, cli: Cli) -> None:
    kept = mining(opened)
    before = "\n".join(opened.db.conn.iterdump())
    with answering(served()):
        run = played(opened, RunOptions("mining", 2, models="openai:m", values={"rounds": 1}, name="gone"))
    cli("note", "gone", "0", "--tag", "odd")
    assert total(cli) > 0
    assert str(refused(cli, "delete", "gone", input="n\n")) == "nothing was deleted"
    assert threads(opened) == {kept.id, run.id}
    assert cli("delete", "gone", "--yes").stdout == "deleted run gone (mining, 1 turn, finished)\n"
    assert "\n".join(opened.db.conn.iterdump()) == before
    assert threads(opened) == {kept.id}
    assert not opened.notes.of()
    assert total(cli) == 0
    assert cli("verify", kept.id).exit_code == 0


def test_a_run_stays_as_long_as_something_needs_it(opened: Store, cli: Cli) -> None:
    mining(opened, name="base")
    cli("fork", "base", "--turn", "2", "--name", "late")
    with answering(served()):
        asked = ("--turns", "1", "--agents", "miner-01", "--models", "openai:m", "--name", "why", "--yes")
        cli("probe", "base", *asked)
    assert str(refused(cli, "delete", "base")).endswith("these need it: fork late, probe why"), "unasked"
    with opened.playing(opened.runs.find("late").id):
        assert "is being played" in str(refused(cli, "delete", "late", "--yes"))
    assert str(refused(cli, "delete", "why")) == "'why' is a probe; only runs can be deleted"
    cli("delete", "late", "--yes")
    assert str(refused(cli, "delete", "base", "--yes")).endswith("these need it: probe why")
