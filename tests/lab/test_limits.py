"""The limits of a model hold over all runs of an experiment together, whatever plays them."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hobbes.lab.experiment.rate_limiter import SharedRateLimiter
from hobbes.lab.experiment.workers import ledger_in
from hobbes.lab.play.playing import RunOptions, Shared, begin, go_on
from hobbes.lab.store.home import Store, open_store
from hobbes.nodes.caps import NO_CAPS, Spent
from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.nodes.limits import ON_THE_WAY, Limits, Place, Window
from tests.lab.test_models import completion, server, table, write

RUNS, AGENTS, AT_ONCE, ROUNDS = 4, 20, 20, 2


@dataclass
class Counted:
    """A rate limiter that tells which runs had to wait because too many requests were under way."""

    limiter: SharedRateLimiter
    waited: set[str]

    def begin(self, model: str, limits: Limits, tokens: int) -> Place | None:
        place = self.limiter.begin(model, limits, tokens)
        if place is None:
            self.waited.add(self.limiter.run)
        return place

    def end(self, model: str, number: int, tokens: int) -> None:
        self.limiter.end(model, number, tokens)


@dataclass
class CountingServer:
    """Holds the requests after the first turn until all places are taken and others wait, or more come.

    One run may have taken all places; then the three others wait.
    """

    waited: set[str] = field(default_factory=set)
    under_way: int = 0
    most: int = 0
    tries: Counter[str] = field(default_factory=Counter[str])
    failed: Counter[int] = field(default_factory=Counter[int])

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/chat/completions", self.complete, methods=["POST"])])

    async def complete(self, request: Request) -> Response:
        address = request.headers[ADDRESS_HEADER]
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if not address.startswith("0/"):
                await self.full()
            return self.response(address)
        finally:
            self.under_way -= 1

    async def full(self) -> None:
        """Wait; other threads change what it waits for."""
        while not (self.most > AT_ONCE or (self.most == AT_ONCE and len(self.waited) >= RUNS - 1)):  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    def response(self, address: str) -> Response:
        """An answer; but the first and the third request for an address, which all runs have, fail."""
        self.tries[address] += 1
        status = {1: 503, 3: 500}.get(self.tries[address])
        if status is None:
            return completion("{}")
        self.failed[status] += 1
        return Response("later", status, {"retry-after": "1"} if status == 503 else {})


def play_run_of(home: Path, run: str, shared: Shared) -> None:
    """Play a run to its end, as a worker does."""
    with open_store(home) as store:
        asyncio.run(go_on(store, store.runs.find(run), lambda _: None, shared=shared))


def test_a_server_never_sees_more_calls_at_once_than_the_limit_from_four_workers_that_try_again(
    opened: Store, tmp_path: Path
) -> None:
    """The workers are threads, each with an event loop of its own; they share nothing but the folder."""
    counting = CountingServer()
    ledger = ledger_in(tmp_path, NO_CAPS, Spent())
    with server(counting.app()) as (base, requests):
        write(opened.home, alice=table(base, more=f"parallel = {AT_ONCE}\ntimeout = 60"))
        options = RunOptions("mining", AGENTS, models="alice", values={"rounds": ROUNDS})
        runs = [begin(opened, options).id for _ in range(RUNS)]
        with ThreadPoolExecutor(RUNS) as threads:
            for one in [
                threads.submit(
                    copy_context().run,  # nobody waits between tries
                    play_run_of,
                    opened.home,
                    run,
                    Shared(limiter=Counted(ledger.limiter.of(run), counting.waited)),
                )
                for run in runs
            ]:
                one.result()
    assert counting.most == AT_ONCE
    assert counting.failed == {503: AGENTS * ROUNDS, 500: AGENTS * ROUNDS}
    assert len(requests) == RUNS * AGENTS * ROUNDS + counting.failed.total()


def test_a_server_never_sees_more_calls_in_a_minute_than_the_limit_however_slow_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four runs make calls at all times: 60 that reach the server late, then 60 that do not, and so on."""
    clock = 0.0
    monkeypatch.setattr("hobbes.lab.experiment.rate_limiter.time.monotonic", lambda: clock)
    limiters = [SharedRateLimiter(tmp_path, f"run-{number}") for number in range(4)]
    limits, seen, under_way = Limits(20, 60), list[float](), list[tuple[float, SharedRateLimiter, int]]()
    for number in range(400):
        limiter = limiters[number % 4]
        while (place := limiter.begin("alice", limits, 0)) is None:
            first = min(under_way, key=itemgetter(0))
            under_way.remove(first)
            ended, other, its = first
            clock = max(clock, ended)
            other.end("alice", its, 0)
        seen.append(clock + place.seconds + (ON_THE_WAY if number // 60 % 2 == 0 else 0))
        under_way.append((seen[-1] + (0.0, 0.1, 30.0)[number % 7 % 3], limiter, place.number))
    seen.sort()
    assert min(later - earlier for earlier, later in zip(seen, seen[60:], strict=False)) > 59.999
    assert seen[-1] < 400 / 60 * 60 * 1.5, "the limit is not used"


def test_calls_that_a_dead_worker_had_under_way_make_room_and_still_count_in_their_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hobbes.lab.experiment.rate_limiter.time.monotonic", lambda: 0.0)
    ledger = ledger_in(tmp_path, NO_CAPS, Spent())
    dead, other = (ledger.limiter.of(run) for run in ("dead", "other"))
    limits = Limits(2, 3)
    assert [limiter.begin("alice", limits, 0) for limiter in (dead, dead, other)] == [(1, 0), (2, 0), None]
    ledger.leave("dead")
    assert [other.begin("alice", limits, 0) for _ in range(3)] == [(3, 0), (4, 60 + ON_THE_WAY), None]
    assert other.begin("bob", limits, 0) == (1, 0), "each model has limits of its own"


def test_a_minute_after_a_request_another_one_fits_however_its_time_is_rounded() -> None:
    seen = 32724.814227  # a minute added and taken away again is a little less than this
    window = Window()
    first = window.begin(seen, Limits(1, calls=1), 0)
    assert first is not None
    window.end(seen, first.number, 0)
    second = window.begin(seen, Limits(1, calls=1), 0)
    assert second is not None
    assert second.seconds == pytest.approx(60)
