"""The limits of a model hold over all runs that are played side by side."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hobbes.graphs import run as graphs_run
from hobbes.nodes import rate_limits
from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.nodes.rate_limits import ON_THE_WAY, Limits, RateLimiter, Window
from hobbes.play.playthrough import Shared
from hobbes.play.side_by_side import most_at_once, play_runs
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from tests.play.test_models import completion, server, table, write
from tests.small_experiment import Quiet

RUNS, AGENTS, AT_ONCE, ROUNDS = 4, 20, 20, 2


@dataclass
class HoldingServer:
    """Holds requests until `enough` of them have been under way at once."""

    enough: int = AT_ONCE
    under_way: int = 0
    most: int = 0

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/chat/completions", self.complete, methods=["POST"])])

    async def complete(self, request: Request) -> Response:
        address = request.headers[ADDRESS_HEADER]
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            while self.holds(address) and self.most < self.enough:  # noqa: ASYNC110  other requests change it
                await asyncio.sleep(0.001)
            return self.response(address)
        finally:
            self.under_way -= 1

    def holds(self, address: str) -> bool:  # noqa: ARG002  others look at it
        return True

    def response(self, address: str) -> Response:  # noqa: ARG002  others look at it
        """Return the response to a request for an address."""
        return completion("{}")


@dataclass
class CountingServer(HoldingServer):
    """Holds the requests after the first turn. Of each address, the first and the third one fail."""

    tries: Counter[str] = field(default_factory=Counter[str])
    failed: Counter[int] = field(default_factory=Counter[int])

    def holds(self, address: str) -> bool:
        return not address.startswith("0/")

    def response(self, address: str) -> Response:
        """An answer; but the first and the third request for an address, which all runs have, fail."""
        self.tries[address] += 1
        status = {1: 503, 3: 500}.get(self.tries[address])
        if status is None:
            return super().response(address)
        self.failed[status] += 1
        return Response("later", status, {"retry-after": "1"} if status == 503 else {})


def test_a_server_never_sees_more_calls_at_once_than_the_limit_from_four_runs_that_try_again(
    opened: Store,
) -> None:
    counting = CountingServer()
    with server(counting.app()) as (base, requests):
        write(opened.home, alice=table(base, more=f"parallel = {AT_ONCE}\ntimeout = 60"))
        options = RunOptions("mining", AGENTS, models="alice", values={"rounds": ROUNDS})
        runs = [begin(opened, options) for _ in range(RUNS)]
        play_runs(opened, runs, RUNS, Shared(limiter=RateLimiter()), Quiet())
    assert most_at_once(runs) == 1
    assert counting.most == AT_ONCE
    assert counting.failed == {503: AGENTS * ROUNDS, 500: AGENTS * ROUNDS}
    assert len(requests) == RUNS * AGENTS * ROUNDS + counting.failed.total()


def test_a_server_never_sees_more_calls_in_a_minute_than_the_limit_however_slow_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Calls are made at all times: 60 that reach the server late, then 60 that do not, and so on."""
    clock = 0.0
    monkeypatch.setattr("hobbes.nodes.rate_limits.time.monotonic", lambda: clock)
    limiter, limits = RateLimiter(), Limits(20, 60)
    seen, under_way = list[float](), dict[rate_limits.Request, float]()
    for number in range(400):
        while (request := limiter.begin("alice", limits, 0)) is None:
            first = min(under_way, key=under_way.__getitem__)
            clock = max(clock, under_way.pop(first))
            first.end(clock)
        seen.append(request.begins + (ON_THE_WAY if number // 60 % 2 == 0 else 0))
        under_way[request] = seen[-1] + (0.0, 0.1, 30.0)[number % 7 % 3]
    seen.sort()
    assert min(later - earlier for earlier, later in zip(seen, seen[60:], strict=False)) > 59.999
    assert seen[-1] < 400 / 60 * 60 * 1.5, "the limit is not used"


def test_a_minute_after_a_request_another_one_fits_however_its_time_is_rounded() -> None:
    seen = 32724.814227  # a minute added and taken away again is a little less than this
    window = Window()
    first = window.begin(seen, Limits(1, calls=1), 0)
    assert first is not None
    first.end(seen)
    second = window.begin(seen, Limits(1, calls=1), 0)
    assert second is not None
    assert second.begins - seen == pytest.approx(60)


def test_games_side_by_side_do_not_wait_for_one_anothers_checkpoints(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A game that waited for another one's write would find the checkpoints locked at once."""
    monkeypatch.setattr(graphs_run, "BUSY_SECONDS", 0.0)
    runs = [begin(opened, RunOptions("mining", 2, seed, values={"rounds": 5})) for seed in range(10)]
    play_runs(opened, runs, len(runs), Shared(), Quiet())
    assert {opened.runs.find(run.id).status for run in runs} == {"finished"}
