"""A models file: models of several providers play one another, each asked in its own way with its own key."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hobbes.engine.mining.world import MINING
from hobbes.engine.record import Json
from hobbes.engine.world import make_setting
from hobbes.errors import HaltedRunError, HobbesError, UsageError
from hobbes.nodes import call_failures
from hobbes.nodes.caps import Caps
from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.pace import Pace
from hobbes.nodes.prompting import answer_schema
from hobbes.nodes.rate_limits import RateLimiter
from hobbes.play.models_file import read_models
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin, recap
from hobbes.prove.replay import replay_run
from hobbes.prove.verification import verify
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.wire.recorder import environment, in_thread
from hobbes.wire.stand_in import stand_in
from tests.conftest import Cli
from tests.small_runs import played

KEYS = {"ALICE_KEY": "alices-canary-0123", "BOB_KEY": "bobs-canary-4567"}
OPENAI = {
    "OPENAI_API_KEY": "openais-canary",
    "OPENAI_ORG_ID": "org-canary-0123",
    "OPENAI_PROJECT_ID": "project-canary",
    "OPENAI_CUSTOM_HEADERS": "authorization: Bearer custom-canary\nx-custom: custom-canary",
}
PAGE = Path(__file__).parents[2] / "docs" / "models.md"


class Asked(NamedTuple):
    """A request as a server saw it."""

    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def agent(self) -> str:
        return self.headers[ADDRESS_HEADER].split("/")[1]


@contextmanager
def server(app: Starlette | None = None) -> Iterator[tuple[str, list[Asked]]]:
    """Serve, by default as `hobbes serve` does; yield the base URL and the requests."""
    requests: list[Asked] = []

    async def keep(request: Request, go_on_with: RequestResponseEndpoint) -> Response:
        if request.method == "POST":
            requests.append(Asked(dict(request.headers), await request.json()))
        return await go_on_with(request)

    app = app or stand_in()
    app.add_middleware(BaseHTTPMiddleware, dispatch=keep)
    with in_thread(app) as base:
        yield base, requests


def completion(text: str) -> JSONResponse:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return JSONResponse(
        {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 90, "completion_tokens": 10}}
    )


def answering(text: str, status: int = 200, path: str = "/v1/chat/completions") -> Starlette:
    """A server that answers each request with this text, or with an error that says it."""

    async def completions(_: Request) -> Response:
        return completion(text) if status == 200 else Response(text, status)

    return Starlette(routes=[Route(path, completions, methods=["POST"])])


def write(home: Path, **tables: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "models.toml").write_text("\n".join(f"[{name}]\n{table}" for name, table in tables.items()))


def table(base: str, key: str = "", more: str = "", model: str = "policy/guided") -> str:
    named = f'key = "{key}"' if key else ""
    return f'model = "{model}"\nbase_url = "{base}"\n{named}\n{more}'


TWO = RunOptions("mining", 4, models="alice*2,bob*2", values={"rounds": 3})


def test_two_providers_play_one_another_and_each_gets_only_its_own_key(opened: Store) -> None:
    with server() as (one, ones), server() as (other, others), environment(**KEYS, **OPENAI):
        write(opened.home, alice=table(one, "ALICE_KEY"), bob=table(other, "BOB_KEY"))
        played(opened, TWO)
    for requests, agents, key in ((ones, "12", "ALICE_KEY"), (others, "34", "BOB_KEY")):
        assert {asked.agent for asked in requests} == {f"miner-0{n}" for n in agents}
        assert {asked.headers["authorization"] for asked in requests} == {f"Bearer {KEYS[key]}"}
        foreign = [value for name, value in {**KEYS, **OPENAI}.items() if name != key]
        sent = json.dumps(requests)
        assert not [value for value in (*foreign, "custom-canary", "x-custom") if value in sent]


def test_models_of_the_file_play_beside_models_of_the_environment_and_policies(opened: Store) -> None:
    models = "alice*1,openai:policy/guided*1,policy:random*1"
    with (
        server() as (one, ones),
        server() as (other, others),
        environment(OPENAI_BASE_URL=other, **KEYS, **OPENAI),
    ):
        write(opened.home, alice=table(one, "ALICE_KEY"))
        run = played(opened, RunOptions("mining", 3, models=models, values={"rounds": 2}))
    assert {asked.agent for asked in ones} == {"miner-01"}
    assert {asked.agent for asked in others} == {"miner-02"}
    calls = {call.address.agent: call.reply.player for call in opened.calls.of_turn(run.id, 0)}
    assert list(calls.values()) == ["alice", "openai:policy/guided", "policy:random"]


PARAMETERS = """
temperature = 0.5
top_p = 0.9
seed = 7
max_tokens = 800
reasoning_effort = "low"
extra_body = { top_k = 20, provider = { order = ["a", "b"] } }
"""


def test_parameters_arrive_as_they_are_given(opened: Store) -> None:
    with server() as (one, ones), server() as (other, others):
        write(
            opened.home,
            alice=table(one, more=PARAMETERS + 'response_format = "json_schema"'),
            bob=table(other, more='response_format = "none"'),
            carol=table(other),
        )
        played(opened, RunOptions("mining", 3, models="alice*1,bob*1,carol*1", values={"rounds": 1}))
    (alice,) = ones
    sent = {name: value for name, value in alice.body.items() if name not in {"model", "messages", "stream"}}
    schema = sent.pop("response_format")
    assert sent == {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "max_tokens": 800,
        "reasoning_effort": "low",
        "top_k": 20,
        "provider": {"order": ["a", "b"]},
    }
    assert schema["type"] == "json_schema"
    sent_schema = answer_schema(MINING, make_setting(MINING, MINING.names(3), 1, {}))
    assert schema["json_schema"]["schema"] == json.loads(sent_schema)
    assert schema["json_schema"]["strict"] is False
    formats = {asked.agent: asked.body.get("response_format") for asked in others}
    assert formats == {"miner-02": None, "miner-03": {"type": "json_object"}}
    assert alice.headers["authorization"] == "Bearer none"


@pytest.mark.parametrize("name", ["top_p", "seed", "reasoning_effort"])
def test_a_parameter_that_a_server_refuses_is_left_out(opened: Store, name: str) -> None:
    async def completions(request: Request) -> Response:
        refused = name in await request.json()
        return JSONResponse({"error": {"message": f"no {name} here"}}, 400) if refused else completion("{}")

    app = Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])
    with server(app) as (base, _):
        write(opened.home, alice=table(base, more=PARAMETERS))
        run = played(opened, RunOptions("mining", 1, models="alice", values={"rounds": 1}))
    (call,) = opened.calls.of_turn(run.id, 0)
    assert (call.outcome, call.reply.error) == ("answered", f"sent without {name}: the server refuses it")


def test_a_time_out_is_the_models_own(opened: Store) -> None:
    with server(stand_in(delay=0.3)) as (base, _):
        write(opened.home, hasty=table(base, more="timeout = 0.1"), calm=table(base))
        options = RunOptions("mining", 2, models="hasty*1,calm*1", values={"rounds": 1, "taint_share": 1})
        run = played(opened, options)
    assert [call.outcome for call in opened.calls.of_turn(run.id, 0)] == ["timed-out", "answered"]


def test_the_calls_at_once_are_the_models_own(opened: Store) -> None:
    """After a model's first answer, none is given before all calls that may be under way have come."""
    under_way = {"alice": 0, "bob": 0}
    most = dict(under_way)
    answered: set[str] = set()
    all_came = asyncio.Event()

    async def completions(request: Request) -> Response:
        model = (await request.json())["model"]
        if model not in answered:
            answered.add(model)
            return completion("{}")
        under_way[model] += 1
        most[model] = max(most[model], under_way[model])
        if most["alice"] >= 2 and most["bob"] >= 5:
            all_came.set()
        await all_came.wait()
        under_way[model] -= 1
        return completion("{}")

    app = Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])
    with server(app) as (base, _):
        write(
            opened.home,
            alice=table(base, more="parallel = 2\ntimeout = 20", model="alice"),
            bob=table(base, more="timeout = 20", model="bob"),
        )
        played(opened, RunOptions("mining", 11, models="alice*5,bob*6", values={"rounds": 1}))
    assert most == {"alice": 2, "bob": 5}


def ask(limits: ModelSettings, tokens: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make requests of so many tokens, one after the other, all of them at second 0."""
    monkeypatch.setattr("hobbes.nodes.rate_limits.time.monotonic", lambda: 0.0)

    async def asking() -> None:
        pace = Pace(RateLimiter(), "m", limits, call_failures.wait.get())
        for count in tokens:
            async with pace.slot(count):
                pass

    asyncio.run(asking())


def test_calls_wait_until_the_minute_has_room_for_them(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    ask(ModelSettings(model="m", calls_per_minute=2), [1] * 5, monkeypatch)
    assert waits == [60, 60, 120]


def test_tokens_wait_until_the_minute_has_room_for_them(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    """The third request alone is more than a minute may have; it goes when nothing else does."""
    ask(ModelSettings(model="m", tokens_per_minute=100), [60, 40, 500, 1], monkeypatch)
    assert waits == [60, 120]


def test_a_pace_counts_the_tokens_that_the_server_reports(opened: Store, waits: list[float]) -> None:
    """Each call has 100 tokens, whatever its prompt was estimated to have."""
    with server(answering("{}")) as (base, _):
        write(opened.home, alice=table(base, more="tokens_per_minute = 1_000_000\nparallel = 1"))
        played(opened, RunOptions("mining", 3, models="alice", values={"rounds": 1}))
        assert waits == []
        write(opened.home, alice=table(base, more="tokens_per_minute = 101\nparallel = 1"))
        played(opened, RunOptions("mining", 3, models="alice", values={"rounds": 1}))
    assert [round(seconds) for seconds in waits] == [60, 120]


def test_a_provider_that_is_gone_is_named_and_a_dead_one_is_not_taken_for_one_that_answered(
    opened: Store,
) -> None:
    """After a resume, too, bob has never answered: three refusals are enough, although alice answers."""
    with server() as (one, _), server(answering("no", 401)) as (other, refused), environment(**KEYS):
        write(opened.home, alice=table(one), bob=table(other, "BOB_KEY"))
        run = begin(opened, RunOptions("mining", 6, models="alice*3,bob*3", values={"rounds": 3}))
        for _ in range(2):
            with pytest.raises(HobbesError, match=r"bob failed 3 calls in a row; .* HTTP 401"):
                asyncio.run(go_on(opened, run, lambda _: None))
            run = opened.runs.find(run.id)
    assert (run.turns, len(refused)) == (0, 6)


def test_calls_that_still_wait_for_a_limit_are_not_made_to_a_provider_that_is_gone(opened: Store) -> None:
    with server(answering("no", 401)) as (base, refused):
        write(opened.home, alice=table(base, more="parallel = 1\ncalls_per_minute = 1"))
        run = begin(opened, RunOptions("mining", 6, models="alice", values={"rounds": 3}))
        with pytest.raises(HobbesError, match="alice failed 3 calls in a row"):
            asyncio.run(go_on(opened, run, lambda _: None))
    assert len(refused) == 3


def test_the_run_records_what_was_asked_of_whom_and_never_a_key(opened: Store) -> None:
    with server() as (one, _), environment(**KEYS):
        write(
            opened.home,
            alice=table(one, "ALICE_KEY", "temperature = 0.5"),
            unused=table(one, "BOB_KEY"),
        )
        run = played(opened, RunOptions("mining", 2, models="alice", values={"rounds": 1}))
    settings = opened.figures.about(run.id)["model_settings"]
    assert settings["alice"]["temperature"] == 0.5
    assert (settings["alice"]["base_url"], settings["alice"]["key"]) == (one, "ALICE_KEY")
    assert settings.keys() == {"alice"}
    assert "canary" not in "\n".join(opened.connection.iterdump())


def test_the_run_records_at_which_servers_its_models_were_asked(opened: Store) -> None:
    """A query may have a key. Nothing of it is part of the digest."""
    asked = RunOptions(
        "mining", 3, models="alice*1,openai:policy/guided*1,policy:guided*1", values={"rounds": 2}
    )
    with server() as (one, _), server() as (other, _), server() as (third, _):
        write(opened.home, alice=table(one))
        with environment(OPENAI_BASE_URL=f"{other}?key=canary-0123"):
            run = begin(opened, asked, Caps(calls=3))
            with pytest.raises(HobbesError, match="--max-calls 3"):
                asyncio.run(go_on(opened, run, lambda _: None))
        with environment(OPENAI_BASE_URL=third):
            asyncio.run(go_on(opened, recap(opened, run, {"calls": 6}), lambda _: None))
    servers = opened.figures.about(run.id)["servers"]
    assert servers == {"alice": [one], "openai:policy/guided": [other, third]}
    run = opened.runs.find(run.id)
    assert list(verify(opened, run)) == []
    assert asyncio.run(replay_run(opened, run, reread=False)).digest == run.digest


def stopped(store: Store, base: str) -> Run:
    """Begin a run whose models come from a file that is gone afterwards, and stop it in the middle."""
    write(store.home, alice=table(base, "ALICE_KEY", "temperature = 0.5"))
    run = begin(store, RunOptions("mining", 2, models="alice", values={"rounds": 4}), Caps(calls=5))
    (store.home / "models.toml").unlink()
    with pytest.raises(HobbesError, match="--max-calls 5"):
        asyncio.run(go_on(store, run, lambda _: None))
    return store.runs.find(run.id)


def test_resume_asks_as_the_run_began_and_needs_only_the_variable(opened: Store, cli: Cli) -> None:
    with server() as (base, requests):
        with environment(**KEYS):
            run = stopped(opened, base)
        write(opened.home, alice=table("http://127.0.0.1:9/v1", more="temperature = 2"))
        refused = cli("resume", run.id, "--max-calls", "99")
        assert isinstance(refused.exception, UsageError)
        assert "alice needs its key in ALICE_KEY, which is not set" in str(refused.exception)
        done = cli("resume", run.id, "--max-calls", "99", "--json", env=KEYS)
    assert json.loads(done.stdout)["over"]
    assert {asked.body["temperature"] for asked in requests} == {0.5}
    assert {asked.headers["authorization"] for asked in requests} == {"Bearer alices-canary-0123"}


def test_replay_needs_neither_the_file_nor_the_key_nor_the_server(opened: Store) -> None:
    with server() as (base, _), environment(**KEYS):
        run = stopped(opened, base)
    replayed = asyncio.run(replay_run(opened, run, reread=False))
    assert (replayed.divergence, replayed.digest) == (None, run.digest)


def test_an_unknown_model_is_refused_with_those_that_the_file_has(opened: Store) -> None:
    write(opened.home, alice=table("http://127.0.0.1:9/v1"))
    with pytest.raises(UsageError, match=r"'eve' is not a model spec; .* of the models file: alice"):
        begin(opened, RunOptions("mining", 1, models="eve"))


def test_a_key_that_a_server_echoes_is_removed_whichever_provider_it_belongs_to(opened: Store) -> None:
    """Bob's key begins with all of Alice's; each server says both."""
    keys = {"ALICE_KEY": "canary-0123", "BOB_KEY": "canary-0123-4567"}
    says = json.dumps({"reasoning": f"I know {keys['ALICE_KEY']} and {keys['BOB_KEY']}"})
    options = RunOptions("mining", 2, models="alice*1,bob*1", values={"rounds": 1, "taint_share": 1})
    with (
        server(answering(says)) as (one, _),
        server(answering(says, 400)) as (other, _),
        environment(**keys),
    ):
        write(opened.home, alice=table(one, "ALICE_KEY"), bob=table(other, "BOB_KEY"))
        run = played(opened, options)
    alice, bob = opened.calls.of_turn(run.id, 0)
    assert alice.reply.reasoning == "I know (ALICE_KEY) and (BOB_KEY)"
    assert "I know (ALICE_KEY) and (BOB_KEY)" in bob.reply.error
    assert "canary" not in "\n".join(opened.connection.iterdump())


def redirecting(location: str) -> Starlette:
    """A server that sends each request on."""

    async def away(_: Request) -> Response:
        return Response(status_code=307, headers={"location": location})

    return Starlette(routes=[Route("/v1/chat/completions", away, methods=["POST"])])


def test_a_redirect_is_an_error_of_the_provider_and_the_other_host_is_sent_nothing(
    opened: Store,
) -> None:
    """It would be sent the prompt, and with OPENAI_BASE_URL the organization and the project as well."""
    options: dict[str, Json] = {"rounds": 1, "taint_share": 1}
    with (
        server(answering("{}")) as (other, others),
        server(redirecting(f"{other}/chat/completions")) as (base, _),
        environment(**KEYS, OPENAI_BASE_URL=base, OPENAI_ORG_ID="org-canary-0123"),
    ):
        write(opened.home, alice=table(base, "ALICE_KEY"))
        for model in ("alice", "openai:m"):
            with pytest.raises(HaltedRunError):
                played(opened, RunOptions("mining", 1, models=model, values=options))
    assert not others
    for run in opened.runs.rows():
        (call,) = opened.calls.of_turn(run["id"], 0)
        assert call.reply.failure == "provider-error"
        assert f"redirects to {other}/chat/completions, which is not asked" in call.reply.error


def test_each_table_may_have_a_price_of_its_own(opened: Store) -> None:
    """Both servers call their model m. A call has 90 and 10 tokens: alice 90 + 20, bob 900 dollars."""
    with server(answering("{}")) as (base, _):
        write(
            opened.home,
            alice=table(base, more="price = { input = 1e6, output = 2e6 }"),
            bob=table(base, more="price = { input = 1e7, output = 0 }"),
            carol=table(base, model="m"),
        )
        run = played(opened, RunOptions("mining", 2, models="alice*1,bob*1", values={"rounds": 2}))
        assert opened.figures.result(run)["usd"] == pytest.approx(2 * (110 + 900))
        capped = begin(opened, RunOptions("mining", 1, models="bob", values={"rounds": 3}), Caps(usd=1000.0))
        with pytest.raises(HobbesError, match=r"--max-usd 1000 is reached"):
            asyncio.run(go_on(opened, capped, lambda _: None))
        assert opened.figures.result(opened.runs.find(capped.id))["calls"] == 2
        with pytest.raises(UsageError, match="--max-usd needs the price of carol"):
            begin(opened, RunOptions("mining", 1, models="carol"), Caps(usd=1.0))


TEAMS: dict[str, Json] = {"rounds": 3, "victory": "team", "start": 100}


def test_a_new_unit_of_trust_is_paid_for_as_its_parent_is(opened: Store) -> None:
    """Each unit replicates in its first round; the model's price holds for its child, too."""
    with server(answering('{"action": "replicate"}')) as (base, _):
        write(opened.home, alice=table(base, more="price = { input = 1e6, output = 0 }"))
        options = RunOptions("trust", 2, models="alice", values=dict(TEAMS))
        run = played(opened, options)
    result = opened.figures.result(run)
    assert result["calls"] > 6
    assert result["usd"] == pytest.approx(90 * result["calls"])


WRONG = [
    ("alice = 3", "alice: must be a table"),
    ('[alice]\nbase_url = "http://h/v1"', "alice: model: Field required"),
    ('[alice]\nmodel = "m"\napi_key = "sk-canary-0123"', "alice: unknown field 'api_key'; the fields are"),
    ('[alice]\nmodel = "m"\nkey = "sk-canary-0123"', "alice: key: write the name of"),
    ('[alice]\nmodel = "m"\nkey = "AIzaSyCanary"', "alice: key: write the name"),
    ('[alice]\nmodel = "m"\nkey = "CANARY0123456789ABCDEF"', "alice: key: write the name"),
    ('[alice]\nmodel = "m"\ntemperature = "1"', "alice: temperature: Input should be a valid number"),
    ('[alice]\nmodel = "m"\ntemperature = 3', "alice: temperature: Input should be less than or equal to 2"),
    ('[alice]\nmodel = "m"\nparallel = 0', "alice: parallel: Input should be greater than or equal to 1"),
    ('[alice]\nmodel = "m"\ntimeout = inf', "alice: timeout: Input should be a finite number"),
    ('[alice]\nmodel = "m"\nprice = { input = 1 }', "alice: price.output: Field required"),
    ('[alice]\nmodel = "m"\nresponse_format = "xml"', "response_format: Input should be 'json_object', "),
    ('[alice]\nmodel = "m"\nbase_url = "canary"', "alice: base_url: is not a valid URL"),
    ('[alice]\nmodel = "m"\nbase_url = "http://canary@h/v1"', "alice: base_url: contains a user name"),
    ('[alice]\nmodel = "m"\nbase_url = "http://h/v1?key=canary"', "alice: base_url: may not be empty"),
    ('[alice]\nmodel = "m"\nextra_body = { messages = [] }', "alice: extra_body: may not hold messages"),
    ('[alice]\nmodel = "m"\nextra_body = { x = nan }', "extra_body.x: Input should be a finite number"),
    ('[alice]\nmodel = "m"\nextra_body = { at = 2026-01-01 }', "extra_body.at: input was not a valid JSON"),
    ('[alice]\nmodel = "m"\nextra_body = { k = "sk-canary-0123" }', "alice: contains a key"),
    ('[alice]\nmodel = "m"\nextra_body = { k = "openais-canary" }', "alice: contains a key"),
    ('["openai:m"]\nmodel = "m"', "'openai:m' is not a name for a model"),
    ('[human]\nmodel = "m"', "the name human is reserved; reserved names: openai, policy, python, human"),
    ('[policy]\nmodel = "m"', "the name policy is reserved; reserved names: openai, policy, python, human"),
    ('[gpt-5.1]\nmodel = "m"', 'gpt-5.1: a name with a dot needs quotes; write ["gpt-5.1"]'),
    ('[gpt-5]\nmodel = "m"\n[gpt-5.1.x]\nmodel = "m"', 'write ["gpt-5.1.x"]'),
    ("[alice]\nmodel = 3", "alice: model: Input should be a valid string"),
    ('[alice]\nmodel = "m"\nother = { x = 1 }', "alice: unknown field 'other'; the fields are model, "),
    ("[alice", "is not valid TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_a_wrong_file_is_one_line_that_names_file_table_and_field(
    tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "models.toml"
    file.write_text(text)
    with environment(**OPENAI), pytest.raises(UsageError) as error:
        read_models(tmp_path)
    said = str(error.value)
    assert "\n" not in said
    assert said.startswith(str(file))
    assert told in said
    assert "canary" not in said.lower()


def test_every_command_that_reads_a_models_file_refuses_a_wrong_one(cli: Cli, home: Path) -> None:
    write(home, alice="")
    for command in (["models"], ["run", "mining", "--rounds", "1"], ["doctor"]):
        found = cli(*command).exception
        assert isinstance(found, UsageError)
        assert str(found).startswith(f"{home / 'models.toml'}: alice: model: Field required")


def test_models_lists_what_the_file_has(cli: Cli, home: Path) -> None:
    assert "there is no" in cli("models").stdout
    write(home)
    assert "models.toml has no models" in cli("models").stdout
    more = "calls_per_minute = 30\ntokens_per_minute = 9000\nprice = { input = 0.25, output = 2 }"
    write(
        home,
        alice=table("http://127.0.0.1:9/v1", "ALICE_KEY", more),
        bob='model = "b"',
        carol=table("http://127.0.0.1:9", more=PARAMETERS),
        dora='model = "gpt-6-luna"\nkey = "BOB_KEY"',
    )
    told = cli("models", env=KEYS).stdout
    for words in (
        "alice: model: policy/guided base_url: http://127.0.0.1:9/v1",
        "key: ALICE_KEY",
        "key: OPENAI_API_KEY",
        "key_set: true",
        "key_set: false",
        "parallel: 100",
        "timeout: 600",
        "reasoning_effort: low",
        "extra_body: top_k: 20",
        "calls_per_minute: 30",
        "price: input: 0.25 output: 2.0",
    ):
        assert words in " ".join(told.split())
    found = json.loads(cli("models", "--json", env=KEYS).stdout)
    assert [(found[name]["key"], found[name]["key_set"]) for name in found] == [
        ("ALICE_KEY", True),
        ("OPENAI_API_KEY", False),
        (None, None),
        ("BOB_KEY", True),
    ]
    assert [found[name].get("price") for name in ("alice", "bob")] == [{"input": 0.25, "output": 2.0}, None]
    assert "canary" not in told + json.dumps(found)


def test_doctor_asks_for_each_model(cli: Cli, home: Path) -> None:
    with server() as (base, _):
        write(
            home,
            alice=table(base, "ALICE_KEY"),
            bob=table(base, model="b"),
            carol=table("http://127.0.0.1:9/v1", "BOB_KEY"),
            dave=table(base.removesuffix("/v1")),
        )
        told = cli("doctor", "--json", env=KEYS)
        lines = cli("doctor", env=KEYS).stdout.splitlines()
    found = json.loads(told.stdout)["models"]
    assert re.fullmatch(r"answers; it has \d+ models", found["alice"]["server"])
    assert found["alice"]["key"] == "ALICE_KEY is set"
    assert re.search(r"models \((policy/[\w-]+, ){5}…\), and b is not one of them", found["bob"]["server"])
    assert found["bob"]["key"] == "none is sent"
    assert found["carol"]["server"].startswith("does not answer")
    assert found["dave"]["server"] == "answers with status 404 (does the address end in /v1?)"
    alice = lines[lines.index("  alice:") + 1 : lines.index("  bob:")]
    assert {name: said for name, _, said in (line.strip().partition(": ") for line in alice)} == found[
        "alice"
    ]
    assert told.exit_code == 1
    assert "canary" not in told.output


def test_a_prompt_is_rendered_for_a_model_of_the_file(cli: Cli, home: Path) -> None:
    write(home, alice=table("http://127.0.0.1:9/v1", "ALICE_KEY"))
    assert cli("prompts", "render", "mining", "--turn", "1", "--model", "alice").exit_code == 0


def test_compare_shows_a_model_that_was_set_up_differently(opened: Store, cli: Cli) -> None:
    with server() as (base, _):
        runs = []
        for temperature in (0.5, 1.0):
            write(opened.home, alice=table(base, more=f"temperature = {temperature}"))
            runs.append(played(opened, RunOptions("mining", 1, models="alice", values={"rounds": 1})))
    told = json.loads(cli("compare", *(run.id for run in runs), "--json").stdout)
    one, other = told["settings"]["model_settings"]
    assert (one["alice"]["temperature"], other["alice"]["temperature"]) == (0.5, 1.0)


def test_the_sample_on_the_page_is_a_models_file_and_the_page_lists_every_field(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (sample,) = re.findall(r"^```toml\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    file = tmp_path / "models.toml"
    file.write_text(sample, encoding="utf-8")
    assert len(read_models(tmp_path)) >= 3
    listed = re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)
    assert listed == list(ModelSettings.model_fields)
