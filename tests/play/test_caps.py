"""Law 9: a run can carry caps; it stops cleanly at one, and goes on under a higher one."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.routing import Route

from hobbes.errors import HobbesError, UsageError
from hobbes.nodes.caps import Caps
from hobbes.nodes.journal import CallDetails, Reply
from hobbes.nodes.models import ModelSettings
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin, recap
from hobbes.store.home import Store
from hobbes.store.prices import usd
from hobbes.store.recorded_run import Run
from hobbes.wire.recorder import environment, in_thread
from tests.small_runs import played

MINING = RunOptions("mining", agents=5, values={"rounds": 6, "rows": 4, "cols": 4})
CALLS = 30


def stopped(store: Store, run: Run) -> str:
    """Go on with a run until a cap stops it; give what is said."""
    with pytest.raises(HobbesError) as error:
        asyncio.run(go_on(store, run, lambda _: None))
    assert store.runs.find(run.id).status == "halted"
    return str(error.value)


@contextmanager
def model(name: str = "gpt-5-mini-2025-08-07", **usage: Any) -> Iterator[list[int]]:
    """Serve a model that always answers {} at one price; give the numbers of its calls."""
    calls: list[int] = []

    async def completions(_: HttpRequest) -> JSONResponse:
        calls.append(len(calls))
        choice = {"message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}
        return JSONResponse({"model": name, "choices": [choice], "usage": usage or None})

    app = Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])
    with in_thread(app) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        yield calls


def test_a_cap_on_calls_is_exact_and_a_higher_one_leads_to_the_same_end(opened: Store) -> None:
    whole = played(opened, MINING)
    run = begin(opened, MINING, Caps(calls=13))
    for cap in (13, 14, 29):
        run = recap(opened, run, {"calls": cap})
        assert f"--max-calls {cap} is reached" in stopped(opened, run)
        run = opened.runs.find(run.id)
        assert opened.figures.result(run)["calls"] == cap
    run = recap(opened, run, {"calls": CALLS})
    asyncio.run(go_on(opened, run, lambda _: None))
    assert opened.runs.find(run.id).digest == whole.digest


def test_a_cap_on_time_stops_before_the_next_call(opened: Store) -> None:
    run = begin(opened, MINING, Caps(seconds=0.0))
    assert "--max-seconds 0 is reached" in stopped(opened, run)
    assert opened.figures.result(run)["calls"] == 0
    run = recap(opened, opened.runs.find(run.id), {"seconds": 1000.0})
    asyncio.run(go_on(opened, run, lambda _: None))
    assert opened.figures.result(opened.runs.find(run.id))["over"]


def test_a_cap_on_tokens_counts_in_and_out_over_all_resumes(opened: Store) -> None:
    request = RunOptions("mining", agents=1, models="openai:gpt-5-mini", values={"rounds": 5})
    with model(prompt_tokens=90, completion_tokens=10) as calls:
        run = begin(opened, request, Caps(tokens=250))
        assert "--max-tokens 250 is reached" in stopped(opened, run)
        assert len(calls) == 3  # 100, 200, 300: the third was made below the cap
        run = recap(opened, opened.runs.find(run.id), {"tokens": 301})
        assert "--max-tokens 301" in stopped(opened, run)
        assert len(calls) == 4
        asyncio.run(go_on(opened, recap(opened, run, {"tokens": 1000}), lambda _: None))
        assert len(calls) == 5


def test_a_cap_on_money_counts_by_the_price_list_whatever_the_parameters(opened: Store) -> None:
    """A call costs 1,000,000 x 0.25 + 125,000 x 2.00 dollars per million = 0.50."""
    spec = "openai:gpt-5-mini?temperature=0.5&max_tokens=800"
    request = RunOptions("mining", agents=1, models=spec, values={"rounds": 5})
    with model(prompt_tokens=1_000_000, completion_tokens=125_000) as calls:
        run = begin(opened, request, Caps(usd=0.9))
        assert "--max-usd 0.9 is reached" in stopped(opened, run)
    assert len(calls) == 2
    assert opened.figures.result(opened.runs.find(run.id))["usd"] == 1.0


def test_an_unknown_price_is_never_zero(opened: Store, home: Path) -> None:
    request = RunOptions("mining", agents=1, models="openai:new-model", values={"rounds": 1})
    (home / "models.toml").write_text('[mine]\nmodel = "new-model"\nprice = { input = 1, output = 3 }\n')
    named = replace(request, models="mine")
    with model("new-model", prompt_tokens=1, completion_tokens=1):
        with pytest.raises(UsageError, match=r"price of openai:new-model; write it into a models file"):
            begin(opened, request, Caps(usd=1.0))
        run = played(opened, request)
        assert opened.figures.result(run)["usd"] is None
        assert begin(opened, named, Caps(usd=1.0)).caps == Caps(usd=1.0)
        assert opened.figures.result(played(opened, named))["usd"] == pytest.approx(4e-6)


def test_a_cap_that_cannot_be_kept_stops_the_run(opened: Store) -> None:
    request = RunOptions("mining", agents=1, models="openai:gpt-5-mini", values={"rounds": 3})
    with model() as calls:
        for caps in (Caps(tokens=1000), Caps(usd=1.0)):
            run = begin(opened, request, caps)
            assert "cannot be enforced: the server reported no tokens for an answer" in stopped(opened, run)
    assert len(calls) == 2


def test_policies_cost_nothing(opened: Store) -> None:
    run = played(opened, MINING)
    told = opened.figures.result(run)
    assert (told["usd"], told["tokens"]) == (
        0.0,
        {"in": 0, "out": 0, "cached": None, "cache_written": None, "reasoning": None, "untold": 0},
    )


def test_a_price_of_ones_own_comes_before_the_list_and_a_date_in_a_listed_name_does_not_count() -> None:
    own = ModelSettings.model_validate(
        {"model": "gpt-5-mini", "price": {"input": 0.5, "output": 2, "cache_read": 0.025}}
    )
    asked = Reply("", "gpt-5-mini", tokens_in=4_000_000, tokens_out=0)
    assert usd(asked, own) == 2.0
    cached = CallDetails(tokens_cached=3_000_000, tokens_cache_written=1_000_000)
    assert usd(asked._replace(details=cached), own) == 0.575
    for model in ("gpt-5-mini", "gpt-5-mini-2025-08-07"):
        assert usd(asked._replace(model=model)) == 1.0
    assert usd(asked._replace(model="gpt-5-mini-turbo")) is None
