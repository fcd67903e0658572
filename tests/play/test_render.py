"""`hobbes prompts render` prints what a run with the same options sends, byte for byte."""

import json
import re
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hobbes.engine.chance import RngStream
from hobbes.engine.memory import EMPTY_MEMORY
from hobbes.engine.policy import speak
from hobbes.engine.world import OBSERVER
from hobbes.errors import UsageError
from hobbes.play.render import question_in_new_run, question_in_run
from hobbes.play.start import RunOptions
from hobbes.store.home import Store
from hobbes.wire.recorder import environment, in_thread
from hobbes.worlds import world_named
from tests.conftest import Cli
from tests.small_runs import played, prompt_of

SEED = 3

ASKING_AN_OBSERVER = ("--observer", "openai:m", "--model", "policy:beggar")


def like_the_default_policy() -> Starlette:
    """A model that answers as the world's default policy does, with the same random draws."""

    async def complete(request: Request) -> JSONResponse:
        body = await request.json()
        view: dict[str, Any] = json.loads(body["messages"][-1]["content"].splitlines()[-1])
        world = world_named(view["world"])
        agent = view.get(world.viewer_key) or view["you"]
        asked = world.observer.stand_ins if world.observer and agent == OBSERVER else world.policies
        text = speak(asked, asked.default, 0, view, RngStream(SEED, view["turn"], agent))
        message = {"role": "assistant", "content": text}
        return JSONResponse({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    return Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])


RUNS = {
    "mining that talks": RunOptions(
        "mining",
        4,
        SEED,
        "openai:m*2,policy:tit-for-tat-raid,policy:random?noise=0.3*1",
        values={"rounds": 5, "rows": 4, "cols": 4, "communication": True, "immunity": 0},
    ),
    "nations that publish reports": RunOptions(
        "nations",
        4,
        SEED,
        "openai:m*2,policy:militarist*1,policy:reciprocal-trader?noise=0.3*1",
        values={"rounds": 5, "reports": "published", "map": "ring"},
    ),
    "trust with an observer that is a model": RunOptions(
        "trust",
        3,
        SEED,
        "openai:m*1,policy:beggar*1,policy:copycat*1",
        values={"rounds": 6, "observer": "openai:m"},
    ),
    "trust in teams": RunOptions(
        "trust",
        2,
        SEED,
        "openai:m*1,policy:racer*1",
        prompts="survivor",
        values={"rounds": 6, "start": 120, "victory": "team", "observer": "sparing(20,2)"},
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_rendered_prompt_is_the_one_on_record(opened: Store, name: str) -> None:
    options = RUNS[name]
    with (
        in_thread(like_the_default_policy()) as base,
        environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"),
    ):
        run = played(opened, options)
    asked = [agent for agent, spec in run.models.items() if spec == "openai:m"]
    asked += [OBSERVER] if options.values.get("observer") == "openai:m" else []
    seen = [
        call for turn in range(run.turns) for a in asked for call in opened.calls.of_turn(run.id, turn, a)
    ]
    assert len(seen) >= run.turns
    views = [json.loads(call.prompt.turn.splitlines()[-1]) for call in seen]
    assert any(view.get("memory", view).get(name) for view in views for name in EMPTY_MEMORY.to_json())
    for call in seen:
        at = (call.address.turn, call.address.agent)
        assert prompt_of(question_in_new_run(options, *at)) == call.prompt
        assert prompt_of(question_in_run(opened, run, *at)) == call.prompt


def test_the_command_takes_the_options_of_run(cli: Cli) -> None:
    asked = ("--agents", "3", "--seed", "9", "--rounds", "4", "--set", "communication=true", "--lang", "zh")
    model = ("--model", "policy:random?noise=0.5")
    rendered = cli("prompts", "render", "mining", "--turn", "3", *asked, *model, "--json")
    spec = "policy:random?noise=0.5"
    options = RunOptions("mining", 3, 9, spec, lang="zh", values={"communication": True, "rounds": 4})
    prompt = prompt_of(question_in_new_run(options, 3, "miner-01"))
    told = json.loads(rendered.stdout)
    assert (told["system"], told["turn"]) == (prompt.system, prompt.turn)


@pytest.mark.parametrize(
    "asked", [("nations", "--turn", "2"), ("trust", *ASKING_AN_OBSERVER, "--agent", OBSERVER)]
)
def test_tokens_are_counted_and_the_share_that_all_prompts_have(cli: Cli, asked: tuple[str, ...]) -> None:
    told = json.loads(cli("prompts", "render", *asked, "--json").stdout)
    tokens = told["tokens"]
    for text in ("system", "turn"):
        assert tokens[text] == pytest.approx(len(told[text]) / 4, rel=0.1)
    view = told["turn"].splitlines()[-1]
    characters = len(told["system"]) + len(told["turn"])
    assert tokens["shared"] == pytest.approx(1 - len(view) / characters, abs=0.01)
    shown = cli("prompts", "render", *asked)
    assert shown.stdout == f"{told['system']}\n{told['turn']}\n", "the prompt alone"
    assert f"{tokens['shared']:.1%} of the prompt is the same for all agents and turns" in shown.stderr


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("--turn", "4", "--rounds", "4"), "this run of mining has turns 0 to 3"),
        (("--agent", "miner-99"), "'miner-99' does not act in turn 0; the agents that act: miner-01"),
        (("--run", "last", "--seed", "2"), "--run takes its settings from the run"),
        (("--model", "policy:nobody"), "there is no policy 'nobody'"),
    ],
)
def test_what_cannot_be_rendered_is_one_line(cli: Cli, asked: tuple[str, ...], told: str) -> None:
    done = cli("prompts", "render", "mining", *asked)
    assert isinstance(done.exception, UsageError)
    assert done.output == ""
    assert told in str(done.exception)
    assert "\n" not in str(done.exception)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("nations", "--run", "last"), "is a run of mining, not of nations"),
        (("mining", "--run", "last", "--turn", "4"), "--turn 4: run .* has 2 turns so far, and the first is"),
    ],
)
def test_what_a_recorded_run_does_not_have_is_one_line(cli: Cli, asked: tuple[str, ...], told: str) -> None:
    cli("run", "mining", "--agents", "2", "--rounds", "2")
    refused = cli("prompts", "render", *asked).exception
    assert isinstance(refused, UsageError)
    assert re.search(told, str(refused))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("mining",), "mining has no observer"),
        (("trust",), "the observer is no model and reads no prompt"),
        (("trust", "--observer", "human"), "the observer is no model and reads no prompt"),
        (("trust", "--observer", "openai:m"), "no agent requests anything in turn 0"),
    ],
)
def test_where_no_observer_is_asked_this_is_said_in_one_line(
    cli: Cli, asked: tuple[str, ...], told: str
) -> None:
    refused = cli("prompts", "render", *asked, "--agent", OBSERVER).exception
    assert isinstance(refused, UsageError)
    assert told in str(refused)
    assert "\n" not in str(refused)


def test_the_observer_is_shown_the_requests_of_the_turn(cli: Cli) -> None:
    asked = ("trust", "--observer", "openai:m", "--model", "policy:beggar", "--agent", OBSERVER, "--json")
    prompt = json.loads(cli("prompts", "render", *asked).stdout)
    assert prompt["system"].startswith("You are the observer")
    assert [request["unit"] for request in json.loads(prompt["turn"])["requests"]] == ["unit-a", "unit-b"]
