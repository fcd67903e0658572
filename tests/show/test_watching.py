"""What a terminal shows while models think: who is waited for, what it cost so far, and the time left."""

import asyncio
import io
import re
import threading
from collections.abc import Mapping
from dataclasses import replace

import pytest
from rich.console import Console
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response

from hobbes.nodes.caps import NO_CAPS, Meter, Spent
from hobbes.nodes.turn_state import TurnState
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.show import progress
from hobbes.show.progress import Watch, show_run_progress
from hobbes.store.home import Store
from hobbes.wire.recorder import environment, in_thread
from hobbes.wire.stand_in import stand_in
from tests.conftest import Cli


def shown(watch: Watch) -> str:
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    console.print(watch.screen())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def after(turn: int, world: Mapping[str, object] | None = None) -> TurnState:
    """A state between two turns, as far as it is shown."""
    return {"turn": turn, "world": dict(world or {})}


def test_it_shows_who_is_waited_for_tokens_and_dollars(opened: Store) -> None:
    watch = Watch(begin(opened, RunOptions("mining", 6, values={"rounds": 5})))
    meter = Meter(NO_CAPS, Spent(calls=12, tokens=12345, usd=0.125), lambda _: 0.0)
    watch.on_meter(meter)
    calls = [meter.call(f"miner-0{n}") for n in range(1, 7)]
    for call in calls:
        call.__enter__()
    waiting = "waiting for miner-01, miner-02, miner-03, miner-04 and 2 more"
    assert f"{waiting} · 12,345 tokens · $0.12\n" in shown(watch)
    for call in calls[:4]:
        call.__exit__(None, None, None)
    assert "waiting for miner-05, miner-06 · 12,345" in shown(watch)


def test_a_resumed_run_tells_the_time_left_by_the_turns_that_it_has_seen(opened: Store) -> None:
    watch = Watch(replace(begin(opened, RunOptions("mining", 2, values={"rounds": 100})), turns=90))
    for turn in (90, 90):  # as after damaged checkpoints
        watch.on_turn(after(turn))
        assert "90/100" in shown(watch)
        assert "left -:--:--" in shown(watch)
    for turn in (91, 92):
        watch.on_turn(after(turn))
    assert re.search(r"92/100 .* left 0:00:\d\d", shown(watch))


def test_what_is_unknown_is_not_shown_as_nothing() -> None:
    meter = Meter(NO_CAPS, Spent(calls=1, tokens=None, usd=None), lambda _: None)
    assert list(progress.costs(meter)) == ["tokens unknown", "price unknown"]


def test_a_run_of_policies_costs_nothing_and_waits_for_nobody(opened: Store) -> None:
    watch = Watch(begin(opened, RunOptions("mining", 2, values={"rounds": 3})))
    run = opened.runs.find("last")
    asyncio.run(go_on(opened, run, watch.on_turn, watch.on_meter))
    assert "waiting" not in shown(watch)
    assert "tokens" not in shown(watch)


def test_a_played_run_tells_who_is_waited_for(opened: Store) -> None:
    """No answer is given before the terminal has shown who is waited for."""
    was_seen = threading.Event()
    app = stand_in()

    async def hold(request: Request, go_on_with: RequestResponseEndpoint) -> Response:
        await asyncio.to_thread(was_seen.wait, 20)
        return await go_on_with(request)

    app.add_middleware(BaseHTTPMiddleware, dispatch=hold)
    with in_thread(app) as base, environment(OPENAI_BASE_URL=base):
        run = begin(opened, RunOptions("mining", 2, models="openai:policy/guided", values={"rounds": 1}))
        watch = Watch(run)

        async def playing() -> None:
            played = asyncio.ensure_future(go_on(opened, run, watch.on_turn, watch.on_meter))
            while not played.done():
                if "waiting for miner-01, miner-02" in shown(watch):
                    was_seen.set()
                await asyncio.sleep(0)
            await played

        asyncio.run(playing())
    assert was_seen.is_set()
    assert "waiting" not in shown(watch)
    assert " tokens · $0.00" in shown(watch)


def test_nothing_of_it_is_printed_where_there_is_no_terminal(
    opened: Store, cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    done = cli("run", "mining", "--rounds", "2", "--agents", "2")
    assert done.stderr.splitlines() == [f"run {opened.runs.find('last').id}"]
    with show_run_progress(opened.runs.find("last")) as watch:
        watch.on_turn(after(1))
    assert capsys.readouterr().err == ""
