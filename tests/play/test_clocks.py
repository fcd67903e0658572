"""Clocks that are set while a run is played, and a machine that sleeps: they change nothing but times."""

import asyncio
import contextlib
import itertools
import time
from datetime import datetime, timedelta, tzinfo

import pytest
from starlette.responses import JSONResponse

from hobbes.errors import HaltedRunError
from hobbes.nodes import call_failures
from hobbes.nodes.caps import Caps
from hobbes.nodes.turn_state import TurnState
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin, recap
from hobbes.prove.verification import verify
from hobbes.store import runs
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.play.test_observer import game, granting_all, to_the_end
from tests.play.test_second_question import answering
from tests.small_runs import go, played
from tests.wire.test_faults import served

DAY = 24 * 60 * 60
ROUNDS = 6
LAST_CHECKPOINT = "langgraph.checkpoint.base.id._last_v6_timestamp"
"""The time of the last checkpoint of this process; None in a new one."""


class Clocks:
    """How far the wall clock and the monotonic clock of this process are ahead, in seconds."""

    wall = 0.0
    monotonic = 0.0


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    """The clocks of this process, to be set."""
    ahead = Clocks()
    monotonic, wall, wall_ns = time.monotonic, time.time, time.time_ns

    class Datetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Datetime":
            return cls.fromtimestamp(wall(), tz) + timedelta(seconds=ahead.wall)

    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + ahead.monotonic)
    monkeypatch.setattr(time, "time", lambda: wall() + ahead.wall)
    monkeypatch.setattr(time, "time_ns", lambda: wall_ns() + int(ahead.wall * 10**9))
    monkeypatch.setattr(runs, "datetime", Datetime)
    monkeypatch.setattr(LAST_CHECKPOINT, None)
    return ahead


def asked(model: str = "policy:guided?noise=0.1") -> RunOptions:
    """Return the options of a run; all runs here have the same digest."""
    return RunOptions("mining", 4, models=model, values={"rounds": ROUNDS})


def played_while(clocks: Clocks, store: Store, run: Run, wall: list[float], sleeps: float = 0.0) -> Run:
    """Play a run; after each turn the wall clock is set ahead so far, and the machine sleeps so long."""
    settings = itertools.cycle(wall)

    def on_turn(_: TurnState) -> None:
        clocks.wall = next(settings)
        clocks.monotonic += sleeps

    asyncio.run(go_on(store, run, on_turn))
    ended = store.runs.find(run.id)
    assert list(verify(store, ended)) == []
    return ended


@pytest.mark.parametrize(("wall", "sleeps"), [([-DAY], 0), ([DAY], DAY), ([DAY, -DAY, 0], DAY)])
def test_a_run_is_the_same_whatever_its_clocks_show(
    opened: Store, clocks: Clocks, wall: list[float], sleeps: float
) -> None:
    whole = played(opened, asked())
    run = played_while(clocks, opened, begin(opened, asked()), wall, sleeps)
    assert (run.digest, run.status) == (whole.digest, "finished")
    assert opened.figures.result(run)["outcomes"] == opened.figures.result(whole)["outcomes"]
    assert run.seconds >= 0


def test_a_machine_that_sleeps_between_turns_makes_no_call_time_out(opened: Store, clocks: Clocks) -> None:
    """Connections that are a day old are not used again, and no time-out was running."""
    with served({}):
        whole = played(opened, asked("openai:policy/guided"))
        run = played_while(clocks, opened, begin(opened, asked("openai:policy/guided")), [DAY, -DAY], DAY)
    assert run.digest == whole.digest
    assert opened.figures.result(run)["outcomes"] == {"answered": 4 * ROUNDS}
    calls = [call for turn in range(ROUNDS) for call in opened.calls.of_turn(run.id, turn)]
    assert all(0 <= call.reply.milliseconds < DAY * 1000 for call in calls)


@pytest.mark.parametrize("ahead", [-DAY, DAY])
def test_a_run_that_stopped_goes_on_at_another_time(opened: Store, clocks: Clocks, ahead: float) -> None:
    whole = played(opened, asked())
    run = begin(opened, asked(), Caps(calls=10))
    with pytest.raises(HaltedRunError):
        go(opened, run)
    clocks.wall = ahead
    run = go(opened, recap(opened, opened.runs.find(run.id), {"calls": 99}))
    assert (run.digest, run.status) == (whole.digest, "finished")
    assert run.seconds >= 0
    assert list(verify(opened, run)) == []


@pytest.mark.parametrize("observer", ["always", "human"])
def test_a_run_goes_on_in_another_process_whose_clock_is_behind(
    opened: Store, clocks: Clocks, monkeypatch: pytest.MonkeyPatch, observer: str
) -> None:
    """LangGraph numbers checkpoints by the time: those of the first process seem to be the last ones."""
    whole = to_the_end(opened, begin(opened, game("always")), granting_all)
    clocks.wall = DAY
    run = begin(opened, game(observer), Caps(calls=6))
    with contextlib.suppress(HaltedRunError):
        go(opened, run)
    clocks.wall = 0
    monkeypatch.setattr(LAST_CHECKPOINT, None)
    run = to_the_end(opened, recap(opened, opened.runs.find(run.id), {"calls": 99}), granting_all)
    assert (run.digest, run.status) == (whole.digest, "finished")


def test_max_seconds_counts_time_and_not_the_clock(opened: Store, clocks: Clocks) -> None:
    run = begin(opened, asked(), Caps(seconds=3600))
    assert played_while(clocks, opened, run, [DAY, -DAY]).status == "finished"
    run = begin(opened, asked(), Caps(seconds=3600))
    with pytest.raises(HaltedRunError, match="--max-seconds 3600 is reached"):
        played_while(clocks, opened, run, [0], sleeps=3600)
    run = opened.runs.find(run.id)
    assert 3600 <= run.seconds < 2 * 3600
    assert go(opened, recap(opened, run, {"seconds": 7200})).status == "finished"


@pytest.mark.parametrize("status", [429, 503])
def test_max_seconds_is_kept_while_a_call_waits(opened: Store, clocks: Clocks, status: int) -> None:
    """The server asks to wait 4 seconds before each further request."""
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        clocks.monotonic += seconds

    call_failures.wait.set(wait)
    with answering(lambda _: JSONResponse({}, status, {"retry-after": "4"})):
        run = begin(opened, RunOptions("mining", 1, models="openai:m"), Caps(seconds=5))
        with pytest.raises(HaltedRunError, match="--max-seconds 5 is reached"):
            go(opened, run)
    assert [round(seconds) for seconds in waits] == [4, 1]
    assert opened.runs.find(run.id).seconds < 6


def test_the_last_run_is_the_one_that_was_begun_last(opened: Store, clocks: Clocks) -> None:
    first = begin(opened, asked())
    clocks.wall = -DAY
    second = begin(opened, asked())
    assert opened.runs.find("last").id == second.id
    assert [row["id"] for row in opened.figures.of_all_runs()] == [second.id, first.id]
