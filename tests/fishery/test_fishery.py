"""A fourth world is played, killed, resumed, proved, shown, answered and served; nothing else knows of it."""

import asyncio
import json
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.engine.record import Drop, Mend
from hobbes.engine.turn import Turn, judge, play_turn, view_of
from hobbes.engine.world import OBSERVER
from hobbes.graphs.studio import studio_graph
from hobbes.nodes.journal import Reply
from hobbes.nodes.reading import read
from hobbes.play.start import RunOptions, begin, go_on
from hobbes.store.history import stored_turn
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.wire.recorder import environment, in_thread
from tests.arithmetic import comes_out
from tests.faults import failing
from tests.fishery.conftest import Say, Start
from tests.fishery.world import FISHERY, PROMPTS
from tests.play.test_kills import answers, kill_at, stats
from tests.small_runs import played

pytestmark = pytest.mark.usefixtures("with_fishery")

BOATS = ("boat-01", "boat-02", "boat-03")
ROUNDS = 6
GREED = "policy:greedy*2,policy:idle*1"
NOISE = "policy:steady?noise=0.3*2,policy:greedy?noise=0.3*1"
PLAY = ("run", "fishery", "--rounds", "2", "--model", GREED)


def fishery(models: str = NOISE, **values: Any) -> RunOptions:
    return RunOptions("fishery", 3, models=models, values={"rounds": ROUNDS, **values})


# --- the rules


def round_of(answers: dict[str, Any], ruling: Any = None, **config: Any) -> Turn[Any, Any]:
    """Play the first round without storms; boats that are not named say nothing."""
    settings = FISHERY.config.model_validate({"storm": 0, **config})
    parsed = {boat: read(boat, Reply(json.dumps(said), "test"), ()) for boat, said in answers.items()}
    ruled = None if ruling is None else read(OBSERVER, Reply(json.dumps(ruling), "test"), ())
    return play_turn(FISHERY, FISHERY.setup(settings, BOATS, 1), {}, parsed, ruled)


def codes(turn: Turn[Any, Any]) -> list[tuple[str, str]]:
    found: list[Drop | Mend] = [*turn.record.drops, *turn.record.mends]
    return [(one.agent, one.code) for one in found]


def test_a_round_lands_the_catches_and_regrows_what_is_left() -> None:
    """600 - 30 - 10 = 560 are left; 40 percent of 560 x 440 / 1000 are 98.56."""
    turn = round_of({"boat-01": {"catch": 40}, "boat-02": {"catch": 10.0}})
    after = turn.resolved.state
    assert after.landed == {"boat-01": 30, "boat-02": 10, "boat-03": 0}
    assert after.stock == 600 - 40 + 98
    assert codes(turn) == [("boat-01", "fishery/cut-to-quota")]
    assert FISHERY.measures.arithmetic(turn.played)["boat-02"]["landed"] == "before 0 + catch 10 = 10"


def test_boats_that_want_more_than_there_is_share_it() -> None:
    """5 tonnes for 4 + 2 + 0: 4 x 5 // 6 = 3 and 2 x 5 // 6 = 1, and 1 is left in the sea."""
    turn = round_of({"boat-01": {"catch": 4}, "boat-02": {"catch": 2}}, stock=5, growth=0)
    assert turn.resolved.state.landed == {"boat-01": 3, "boat-02": 1, "boat-03": 0}
    assert turn.resolved.state.stock == 1
    assert codes(turn) == [("boat-01", "fishery/too-few-fish"), ("boat-02", "fishery/too-few-fish")]


def test_a_storm_halves_the_catches_by_a_draw() -> None:
    turn = round_of({"boat-01": {"catch": 9}}, storm=100)
    assert turn.resolved.state.landed["boat-01"] == 4
    assert [(draw.event, draw.subject, draw.winner) for draw in turn.record.draws] == [
        ("storm", "sea", "yes")
    ]


def test_the_quota_is_ruled_for_all_once_anybody_asks() -> None:
    asked: dict[str, Any] = {"boat-01": {"catch": 1, "request": 50, "why": "debts"}}
    assert round_of({"boat-01": {"catch": 1}}).resolved.state.quota == 30
    assert round_of(asked | {"boat-02": {"catch": 1, "request": 41}}).resolved.state.quota == 45
    assert round_of(asked, observer="keep").resolved.state.quota == 30
    ruled = round_of(asked, {"quota": 12, "why": "Too few fish."}, observer="human")
    seen = view_of(FISHERY, ruled.resolved.state, {}, "boat-03")
    assert (seen["quota"], seen["regulator"]) == (12, {"quota": 12, "why": "Too few fish."})
    assert "debts" not in json.dumps(seen)


@pytest.mark.parametrize(
    ("ruling", "quota", "found"),
    [
        ({"quota": -3}, 0, ["observer/quota-out-of-range"]),
        ({"quota": "12", "fine": 1}, 30, ["observer/unknown-field", "observer/bad-quota"]),
        ({"quota": 12, "why": 7}, 12, ["observer/not-text"]),
    ],
)
def test_a_bad_ruling_is_rejected_or_corrected(ruling: Any, quota: int, found: list[str]) -> None:
    turn = round_of({"boat-01": {"catch": 0, "request": 9}}, ruling, observer="human")
    assert turn.resolved.state.quota == quota
    assert codes(turn) == [(OBSERVER, code) for code in found]


def test_a_message_reaches_all_if_messages_are_allowed() -> None:
    said = {"boat-01": {"catch": 0, "message": "Fish less!"}}
    seen = view_of(FISHERY, round_of(said).resolved.state, {}, "boat-02")
    assert seen["messages"] == {"boat-01": "Fish less!"}
    assert round_of(said).record.events[0].facts == {"text": "Fish less!"}
    silent = round_of(said, talk=False)
    assert silent.resolved.state.messages == {}
    assert codes(silent) == [("boat-01", "fishery/no-messages")]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({}, ["fishery/bad-catch"]),
        ({"catch": -1, "nets": 3}, ["fishery/unknown-field", "fishery/bad-catch"]),
        ({"catch": 1, "request": -1, "why": "so"}, ["fishery/bad-request", "fishery/no-request"]),
        ({"catch": 1, "message": ["a"]}, ["fishery/not-text"]),
        ({"catch": 1, "message": "a" * 201}, ["fishery/message/too-long"]),
    ],
)
def test_what_is_wrong_with_an_answer_is_written_down(answer: Any, found: list[str]) -> None:
    assert codes(round_of({"boat-01": answer})) == [("boat-01", code) for code in found]


def test_a_lost_answer_is_not_a_decision() -> None:
    state = FISHERY.setup(FISHERY.config.model_validate({}), BOATS, 1)
    judged = judge(FISHERY, state, {"boat-01": read("boat-01", Reply("no idea", "test"), ())})
    assert not judged.intents["boat-01"].chosen


# --- played, killed, resumed, proved


def test_it_is_killed_and_resumed_and_no_answer_is_asked_for_twice(
    home: Path, start: Start, say: Say
) -> None:
    """Boats and regulator are models behind the stand-in server, which knows the world."""
    models = "openai:policy/steady*2,openai:policy/greedy*1"
    play = ("run", "fishery", "--rounds", "4", "--model", models, "--observer", "openai:policy/strict")
    with (
        in_thread(failing(delay=0.05)) as base,
        environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"),
    ):
        kill_at(start(*play, "--name", "killed"), home, 8)
        on_disk = len(answers(home))
        ended = json.loads(say("resume", "killed", "--json"))
        asked = sum(stats(base).values())
        reference = json.loads(say(*play, "--json", "--home", str(home / "whole")))
    assert reference["outcomes"] == {"answered": reference["calls"]}
    assert 8 <= on_disk < reference["calls"]
    assert (ended["digest"], ended["calls"]) == (reference["digest"], reference["calls"])
    assert asked <= reference["calls"] + len(BOATS), "more was asked again than was in flight"


# --- shown


def test_it_is_listed_and_traced_and_compared(say: Say, opened: Store) -> None:
    run, other = played(opened, fishery()), played(opened, fishery(GREED))
    assert run.prompts.variant == str(PROMPTS)
    assert "fishery" in say("runs")
    assert len(json.loads(say("trace", run.id, "--json"))) == ROUNDS
    turn = json.loads(say("trace", run.id, "2", "--json"))
    landed: Any = stored_turn(opened, run, 2).record.state["landed"]
    for boat, figures in turn["arithmetic"].items():
        assert comes_out(figures["landed"])
        assert figures["landed"].endswith(f" = {landed[boat]}")
    assert {event["type"] for event in turn["events"]} <= FISHERY.telling.events.keys()
    card = json.loads(say("trace", run.id, "2", "boat-01", "--json"))
    assert (card["view"]["world"], card["view"]["you"]) == ("fishery", "boat-01")
    assert " sea " in say("trace", run.id, "0"), "the picture"
    assert "intent" in say("trace", run.id, "2", "boat-01")
    told = json.loads(say("compare", run.id, other.id, "--json"))
    assert told["divergence"]["agent"] == told["decision"]["agent"] == "boat-01"
    assert "●boat-01" in say("trace", run.id, "2")
    assert "landed 3" in say("trace", run.id)
    landed = json.loads(say("trace", run.id, "boat-02", "--event", "landed", "--json"))
    assert [(found["turn"], found["agent"]) for found in landed] == [(t, "boat-02") for t in range(ROUNDS)]
    assert "restraint" in say("compare", run.id, other.id)


@pytest.mark.parametrize("form", ["jsonl", "html"])
def test_it_is_exported(form: str, say: Say, opened: Store, tmp_path: Path) -> None:
    run = played(opened, fishery())
    told = json.loads(say("export", run.id, "--format", form, "--to", str(tmp_path / "out"), "--json"))
    made = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").glob("**/*.*")}
    if form == "html":
        assert made >= {"index.html", "hobbes.js", "2-boat-01.html"}
    else:
        assert made == told["files"].keys()
        assert told["files"][f"draws.{form}"] == ROUNDS


def test_it_is_viewed(opened: Store, pages: TestClient) -> None:
    run, other = played(opened, fishery(GREED)), played(opened, fishery())
    for address, told in {
        "/": run.id,
        f"/{run.id}": "restraint",
        f"/{run.id}/0.html": "The mean of what you ask.",
        f"/{run.id}/0/boat-01": "before 0 + catch 30 = 30",
        f"/{run.id}/1/boat-01": '"world":"fishery"',
        f"/compare?a={run.id}&b={other.id}": "restraint",
    }.items():
        page = pages.get(address)
        assert page.status_code == 200
        assert told in unescape(re.sub(r"<[^>]+>", "", page.text)), address


# --- answered


def to_the_next_question(store: Store, run: Run) -> Run:
    asyncio.run(go_on(store, store.runs.find(run.id), lambda _: None))
    return store.runs.find(run.id)


def waiting_run(opened: Store) -> Run:
    return to_the_next_question(opened, begin(opened, fishery(GREED, observer="human")))


def ruled(say: Say, run: Run) -> Any:
    """Return what the boats read of the ruling on the first round."""
    return json.loads(json.loads(say("trace", run.id, "1", "boat-03", "--json"))["prompt"])["regulator"]


def test_a_person_rules_by_command(say: Say, opened: Store) -> None:
    run = waiting_run(opened)
    assert "We starve." in say("resume", run.id)
    assert "quota" in say("resume", run.id)
    say("answer", run.id, "quota=40", "why=You may.")
    assert ruled(say, run) == {"quota": 40, "why": "You may."}
    assert json.loads(say("trace", run.id, "0", OBSERVER, "--json"))["rulings"]["quota"] == 40


def test_a_person_rules_in_the_terminal(say: Say, opened: Store) -> None:
    run = waiting_run(opened)
    say("answer", run.id, typed="quota=-4\nquota=40 why='You may.'\n")
    assert ruled(say, run) == {"quota": 40, "why": "You may."}


# --- prompts, the engine alone, the studio


def test_its_prompts_are_listed_and_checked_and_shown_and_compared(say: Say, tmp_path: Path) -> None:
    assert json.loads(say("prompts", "list", "--json"))["fishery"] == {
        str(PROMPTS): {"languages": ["en"], "advice": None, "about": None}
    }
    checked = json.loads(say("prompts", "check", "fishery", "--json"))
    assert checked == {"checked": [f"fishery {PROMPTS} en"], "problems": [], "warnings": []}
    mine = shutil.copytree(PROMPTS.parent, tmp_path / "mine") / "plain"
    with (mine / "turn.en.md").open("r+") as turn:
        said = turn.read()
        turn.seek(0)
        turn.write(f"Be kind.\n{said}")
    assert json.loads(say("prompts", "check", "fishery", str(mine), "--json"))["problems"] == []
    shown = json.loads(say("prompts", "show", "fishery", str(mine), "--json"))
    assert shown["turn"].startswith("Be kind.")
    assert shown["observer"].startswith("You are the regulator")
    assert "+Be kind." in say("prompts", "diff", "fishery", str(PROMPTS), str(mine))


def test_commands_name_it(start: Start) -> None:
    told = start("step", "--help").communicate(timeout=60)[0]
    assert "mining, nations, trust, fishery" in told.replace("\n", " ")
    assert "what a storm took of a catch" in told


def test_langgraph_dev_plays_it() -> None:
    ended = asyncio.run(studio_graph(FISHERY).ainvoke({}))
    assert (ended["turn"], ended["over"], tuple(ended["run"]["agents"])) == (3, True, BOATS)
