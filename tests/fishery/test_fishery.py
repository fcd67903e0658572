"""A fourth world, which has all that a world may have, is shown and answered; nothing else knows of it."""

import asyncio
import json
import re
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.engine.world import OBSERVER
from hobbes.graphs.studio import studio_graph
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from tests.arithmetic import comes_out
from tests.conftest import Cli
from tests.fishery.world import FISHERY, PROMPTS
from tests.small_runs import go, played

pytestmark = pytest.mark.usefixtures("with_fishery")

ROUNDS = 6
GREED = "policy:greedy*2,policy:idle*1"
NOISE = "policy:steady?noise=0.3*2,policy:greedy?noise=0.3*1"


def fishery(models: str = NOISE, **values: Any) -> RunOptions:
    return RunOptions("fishery", 3, models=models, values={"rounds": ROUNDS, **values})


def test_it_is_traced_and_compared_and_viewed(cli: Cli, opened: Store, pages: TestClient) -> None:
    run, other = played(opened, fishery(GREED)), played(opened, fishery())
    assert run.prompts.variant == str(PROMPTS)
    turn = json.loads(cli("trace", other.id, "2", "--json").stdout)
    assert all(comes_out(figures["landed"]) for figures in turn["arithmetic"].values())
    assert {event["type"] for event in turn["events"]} <= FISHERY.telling.events.keys()
    assert " sea " in cli("trace", other.id, "0").stdout, "the picture"
    assert "●boat-01" in cli("trace", other.id, "2").stdout
    landed = cli("trace", other.id, "boat-02", "--event", "landed", "--json").stdout
    assert [(found["turn"], found["agent"]) for found in json.loads(landed)] == [
        (turn, "boat-02") for turn in range(ROUNDS)
    ]
    told = json.loads(cli("compare", run.id, other.id, "--json").stdout)
    assert told["divergence"]["agent"] == told["decision"]["agent"] == "boat-01"
    for address, words in {
        "/": run.id,
        f"/{run.id}": "restraint",
        f"/{run.id}/0.html": "The mean of what you ask.",
        f"/{run.id}/0/boat-01": "before 0 + catch 30 = 30",
        f"/{run.id}/1/boat-01": '"world":"fishery"',
        f"/compare?a={run.id}&b={other.id}": "restraint",
    }.items():
        page = pages.get(address)
        assert words in unescape(re.sub(r"<[^>]+>", "", page.text)), address


def test_a_person_rules_by_command(cli: Cli, opened: Store) -> None:
    run = go(opened, begin(opened, fishery(GREED, observer="human")))
    assert "We starve." in cli("resume", run.id).stdout
    cli("answer", run.id, "quota=40", "why=You may.")
    card = json.loads(cli("trace", run.id, "1", "boat-03", "--json").stdout)
    assert json.loads(card["prompt"])["regulator"] == {"quota": 40, "why": "You may."}
    assert json.loads(cli("trace", run.id, "0", OBSERVER, "--json").stdout)["rulings"]["quota"] == 40


def test_its_prompts_are_checked_and_have_a_text_for_its_observer(cli: Cli) -> None:
    checked = json.loads(cli("prompts", "check", "fishery", "--json").stdout)
    assert checked == {"checked": [f"fishery {PROMPTS} en"], "problems": [], "warnings": []}
    shown = json.loads(cli("prompts", "show", "fishery", str(PROMPTS), "--json").stdout)
    assert shown["observer"].startswith("You are the regulator")


def test_langgraph_dev_plays_it() -> None:
    ended = asyncio.run(studio_graph(FISHERY).ainvoke({}))
    assert (ended["turn"], ended["over"], len(ended["run"]["agents"])) == (3, True, 3)
