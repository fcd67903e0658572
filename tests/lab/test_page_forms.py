"""What a reader does from the pages: a fork whose cost is shown before, a test of a turn, a command."""

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hobbes.lab.errors import LabError
from hobbes.lab.play.playing import RunOptions
from hobbes.lab.show import viewing
from hobbes.lab.show.page_forms import FORK_FIELDS
from hobbes.lab.show.pages import Pages
from hobbes.lab.show.viewing import MAX_PLAYED, link, site
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.run import Run
from tests.conftest import Cli
from tests.lab.play import go, mining, played
from tests.lab.test_caps import model
from tests.lab.test_fork import PASSING
from tests.lab.visiting import LOCAL, Form, played_on, post

TURN = 2
AGENT = "miner-02"


def played_here(home: Path, run: Run) -> None:
    """Play a fork in this process."""
    with open_store(home) as opened, suppress(LabError):
        go(opened, run)


@pytest.fixture
def pages(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A visitor of a home's pages. Forks are played in a thread, which starts sooner than a process."""
    monkeypatch.setattr(viewing, "_play_apart", played_here)
    with TestClient(site(home, "127.0.0.1"), base_url=LOCAL) as visitor:
        yield visitor


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the pages are served."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def opened_form(pages: TestClient, address: str) -> dict[str, str]:
    page = pages.get(address)
    assert page.status_code == 200, page.text
    return Form(page.text).fields


def forks(opened: Store, run: Run) -> list[Run]:
    return [opened.runs.find(one["id"]) for one in opened.runs.forks(run.id)]


# --- a fork


def test_a_turn_leads_to_its_form_and_the_form_to_a_fork_that_is_the_same(
    opened: Store, pages: TestClient
) -> None:
    """From the moment, the turn and the card; unchanged, the fork ends as its parent did."""
    run = mining(opened)
    for address in (f"/{run.id}/{TURN}.html", f"/{run.id}/{TURN}"):
        assert f'href="/{run.id}/fork?turn={TURN}"' in pages.get(address).text
    card = unescape(pages.get(f"/{run.id}/{TURN}/{AGENT}").text)
    assert f'href="/{run.id}/fork?turn={TURN}&agent={AGENT}"' in card
    answered = post(pages, f"/{run.id}/fork", opened_form(pages, f"/{run.id}/fork?turn={TURN}"))
    assert answered.status_code == 303
    played_on()
    (fork,) = forks(opened, run)
    assert answered.headers["location"] == f"/{fork.id}"
    assert (fork.status, fork.digest, fork.forked_at) == ("finished", run.digest, TURN)
    assert f'href="/{run.id}#{TURN}"' in pages.get(f"/{fork.id}").text
    assert f'href="/{fork.id}"' in pages.get(f"/{run.id}").text


def test_an_answer_is_given_as_it_is_written_and_as_it_was_recorded_if_nobody_changed_it(
    opened: Store, pages: TestClient
) -> None:
    run = mining(opened)
    address = f"/{run.id}/fork"
    fields = opened_form(pages, f"{address}?turn={TURN}&agent={AGENT}")
    before = opened.calls.attempts(run.id, TURN, AGENT)[AGENT][-1].reply.text
    assert json.loads(fields["answer"]) == json.loads(before)
    for answer in (fields["answer"], PASSING, "  \r\n"):
        assert post(pages, address, {**fields, "answer": answer}).status_code == 303
        played_on()
    emptied, passing, same = forks(opened, run)
    assert opened.calls.attempts(same.id, TURN, AGENT)[AGENT][-1].reply.text == before
    assert opened.calls.attempts(passing.id, TURN, AGENT)[AGENT][-1].reply.text == PASSING
    assert emptied.digest == same.digest == run.digest != passing.digest
    assert opened.calls.attempts(emptied.id, TURN, AGENT)[AGENT][-1].reply.player != "given"


@pytest.mark.parametrize(
    "changed",
    [{"prompts": "unguided"}, {"lang": "zh"}, {"model": "policy:random"}, {"settings": "stamina=9"}],
)
def test_an_answer_that_nobody_changed_is_not_given_to_a_player_who_is_asked_otherwise(
    changed: dict[str, str], opened: Store, pages: TestClient
) -> None:
    """The recorded answer is one to another prompt, or of another player; a new answer is given as it is."""
    run = mining(opened)
    address = f"/{run.id}/fork"
    form = opened_form(pages, f"{address}?turn={TURN}&agent={AGENT}")
    wrong = post(pages, address, {**form, **changed, "calls": "many"}).text
    assert not Form(wrong).fields["answer"]
    assert Form(post(pages, address, {**form, "calls": "many"}).text).fields["answer"] == form["answer"]
    for answer in (form["answer"], PASSING):
        assert post(pages, address, {**form, **changed, "answer": answer}).status_code == 303
        played_on()
    players = [
        opened.calls.attempts(fork.id, TURN, AGENT)[AGENT][-1].reply.player for fork in forks(opened, run)
    ]
    assert [player == "given" for player in players] == [True, False]
    with open_store(opened.home, writes=False) as store:
        shown = Pages(store, link, live=True)
        asked = shown.fork(run, TURN, AGENT, {**form, **changed})
        assert ("the given answer" in asked, "--answer" in asked) == (False, False)
        asked = shown.fork(run, TURN, AGENT, {**form, **changed, "answer": PASSING})
        assert ("the given answer" in asked, "--answer" in asked) == (True, True)


def test_prompts_language_models_name_and_caps_are_those_of_the_form(
    opened: Store, pages: TestClient
) -> None:
    run = mining(opened)
    fields = opened_form(pages, f"/{run.id}/fork?turn=1")
    changed = {"prompts": "unguided", "lang": "zh", "model": "policy:greedy-mine", "name": "other"}
    caps = {"calls": "9", "tokens": "1000", "usd": "0.5", "seconds": "60"}
    assert post(pages, f"/{run.id}/fork", {**fields, **changed, **caps}).status_code == 303
    played_on()
    fork = opened.runs.find("other")
    assert (fork.prompts.variant, fork.prompts.lang) == ("unguided", "zh")
    assert {*fork.models.values()} == {"policy:greedy-mine"}
    assert (fork.caps.calls, fork.caps.tokens, fork.caps.usd, fork.caps.seconds) == (9, 1000, 0.5, 60)
    again = opened_form(pages, "/other/fork?turn=1")
    assert {name: again[name] for name in caps} == caps


def test_settings_and_times_are_those_of_the_form(opened: Store, pages: TestClient) -> None:
    """A model's cost is that of all forks; the page then leads to the parent, which lists them."""
    run = mining(opened)
    address = f"/{run.id}/fork"
    fields = {
        **opened_form(pages, f"{address}?turn=1"),
        "settings": "stamina=9\r\n\r\nimmunity=5",
        "name": "k",
    }
    posted = post(pages, address, {**fields, "times": "2"})
    assert (posted.status_code, posted.headers["location"]) == (303, f"/{run.id}")
    played_on()
    made = [opened.runs.find(name) for name in ("k-1", "k-2")]
    assert [(one.setting.config.stamina, one.setting.config.immunity) for one in made] == [(9, 5)] * 2
    for wrong, said in (
        ({"settings": "stamina"}, "settings: 'stamina': write key=value"),
        ({"settings": "stamina=1\nstamina=2"}, "settings: stamina is set twice; set it once"),
        ({"settings": "patience=1"}, "patience"),
        ({"times": "9"}, "times: write a number from 1 to 8"),
    ):
        refused = post(pages, address, {**fields, **wrong})
        assert (refused.status_code, said in unescape(refused.text)) == (400, True)
    every = dict.fromkeys(FORK_FIELDS, "") | {name: fields[name] for name in FORK_FIELDS if name in fields}
    with open_store(opened.home, writes=False) as store:
        told = unescape(Pages(store, link, live=True).fork(run, 1, "", {**every, "name": "", "times": "2"}))
    assert "--set stamina=9 --set immunity=5 --times 2" in told


def test_the_cost_of_a_fork_is_shown_before_it_is_spent(opened: Store, pages: TestClient) -> None:
    """3 agents in turns 2 and 3 are 6 calls of 110 tokens each; a given answer is free."""
    with model(prompt_tokens=100, completion_tokens=10, total_tokens=110) as calls:
        run = mining(opened, models="openai:gpt-5-mini")
        calls.clear()
        address = f"/{run.id}/fork"
        page = pages.get(f"{address}?turn={TURN}").text
        assert "<dt>calls to models</dt><dd>about 6</dd>" in page
        assert "<dd>about 600 in, 60 out</dd>" in page
        assert re.search(r"<dt>dollars</dt><dd>about 0\.\d\d<", page)
        given = pages.get(f"{address}?turn={TURN}&agent={AGENT}").text
        assert "<dt>calls to models</dt><dd>about 5</dd>" in given
        changed = {**Form(page).fields, "lang": "zh"}
        asked = post(pages, address, changed)
        assert asked.status_code == 200
        assert "Nothing has been played yet" in asked.text
        assert not calls
        assert not forks(opened, run)
        assert Form(asked.text).fields["lang"] == "zh"
        assert post(pages, address, {**Form(asked.text).fields, "shown": "0" * 64}).status_code == 200
        assert post(pages, address, Form(asked.text).fields).status_code == 303
        played_on()
        assert len(calls) == 6
        (fork,) = forks(opened, run)
        assert fork.prompts.lang == "zh"


def test_a_cap_of_the_form_holds(opened: Store, pages: TestClient) -> None:
    with model(prompt_tokens=100, completion_tokens=10, total_tokens=110) as calls:
        run = mining(opened, models="openai:gpt-5-mini")
        calls.clear()
        fields = {**opened_form(pages, f"/{run.id}/fork?turn=0"), "calls": "4"}
        asked = post(pages, f"/{run.id}/fork", fields)
        assert post(pages, f"/{run.id}/fork", Form(asked.text).fields).status_code == 303
        played_on()
    assert len(calls) == 4
    (fork,) = forks(opened, run)
    assert "--max-calls 4 is reached" in unescape(pages.get(f"/{fork.id}").text)


WRONG_FORKS: list[tuple[dict[str, str], str]] = [
    ({"model": "openai"}, "is not a model spec"),
    ({"model": "python:my_agents.py:Careful"}, "a page takes no Python players"),
    ({"prompts": "../.."}, "is not in the folder in which `hobbes view` runs"),
    ({"prompts": " /etc/"}, "is not in the folder in which `hobbes view` runs"),
    ({"prompts": "/etc/"}, "is not in the folder in which `hobbes view` runs"),
    ({"calls": "many"}, "calls: write a whole number"),
    ({"usd": "-1"}, "usd: write a number"),
    ({"usd": "nan"}, "usd: write a number"),
    ({"answer": "I pass"}, "there is no JSON object in"),
    ({"turn": "99"}, "no turn 99"),
    ({"name": "last"}, "last"),
]
"""What is wrong with a field, and what the page says of it; as in the terminal, but without dashes."""


@pytest.mark.usefixtures("folder")
def test_a_form_that_is_wrong_says_so_above_its_fields_and_plays_nothing(
    opened: Store, pages: TestClient
) -> None:
    run = mining(opened)
    form = opened_form(pages, f"/{run.id}/fork?turn={TURN}&agent={AGENT}")
    for changed, told in WRONG_FORKS:
        refused = post(pages, f"/{run.id}/fork", {**form, **changed})
        assert refused.status_code == 400, changed
        shown = unescape(refused.text).partition('role="alert">')[2].partition("</p>")[0]
        assert (told in shown, shown.startswith("--")) == (True, False), changed
        (name,) = changed
        assert Form(refused.text).fields[name] == changed[name]
    assert not forks(opened, run)


def test_only_the_pages_themselves_can_fork_and_pin(
    opened: Store, home: Path, pages: TestClient, folder: Path
) -> None:
    """Another site, another host, no token or that of other pages, fields that the form does not have."""
    run = mining(opened)
    other = TestClient(site(home, "127.0.0.1"), base_url=LOCAL)
    with_token = TestClient(site(home, "127.0.0.1", "secret"), base_url=LOCAL)
    for what in ("fork", "pin"):
        address = f"/{run.id}/{what}"
        fields = opened_form(pages, f"{address}?turn={TURN}")
        wrong = [
            (403, post(pages, address, fields, "http://evil.example")),
            (403, post(pages, address, fields, None)),
            (403, post(pages, address, fields, "null")),
            (
                400,
                pages.post(
                    address, data=fields, headers={"host": "evil.example", "origin": "http://evil.example"}
                ),
            ),
            (400, post(pages, address, {**fields, "token": ""})),
            (400, post(pages, address, {**fields, "token": "é" * 43})),
            (400, post(other, address, fields)),
            (403, post(with_token, address, fields)),
            (400, post(pages, address, {**fields, "command": "rm"})),
            (400, post(pages, address, {**fields, "turn": ["1", "2"]})),
            (400, post(pages, address, {**fields, "turn": "9" * 400})),
            (400, post(pages, f"/nobody/{what}", fields)),
            (405, pages.put(address, data=fields)),
        ]
        assert [status for status, _ in wrong] == [answer.status_code for _, answer in wrong]
    assert not forks(opened, run)
    assert not [*folder.iterdir()]
    with_token.get("/?token=secret")
    fields = opened_form(with_token, f"/{run.id}/fork?turn={TURN}")
    assert post(with_token, f"/{run.id}/fork", fields).status_code == 303
    played_on()
    assert len(forks(opened, run)) == 1


def test_no_more_forks_are_played_at_once_than_a_machine_bears(
    opened: Store, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = mining(opened)
    fields = opened_form(pages, f"/{run.id}/fork?turn={TURN}")
    monkeypatch.setattr(viewing, "_started", lambda: frozenset(map(str, range(MAX_PLAYED))))
    refused = post(pages, f"/{run.id}/fork", fields)
    assert (refused.status_code, "wait for one to end" in refused.text) == (400, True)
    assert not forks(opened, run)


def test_a_fork_is_played_in_a_process_of_its_own_and_its_page_reloads_at_once(
    opened: Store, home: Path
) -> None:
    run = mining(opened)
    with TestClient(site(home, "127.0.0.1"), base_url=LOCAL) as pages:
        fields = opened_form(pages, f"/{run.id}/fork?turn={TURN}")
        to = post(pages, f"/{run.id}/fork", fields).headers["location"]
        page = pages.get(to).text
        assert "data-reload" in page or "finished" in page
        played_on()
        assert opened.runs.find(to[1:]).digest == run.digest
        assert "data-reload" not in pages.get(to).text


# --- a test


def test_a_turn_is_pinned_as_the_command_does(
    opened: Store, pages: TestClient, folder: Path, cli: Cli
) -> None:
    run = mining(opened, name="my story")
    address = f"/{run.id}/pin"
    fields = opened_form(pages, f"{address}?turn={TURN}&agent={AGENT}")
    assert (fields["name"], fields["folder"], fields["agent"]) == ("my_story_2", "tests", AGENT)
    written = post(pages, address, fields)
    assert written.status_code == 200, written.text
    assert "tests/test_my_story_2.py" in written.text
    told = re.search(r'<footer class="command">.*?<code>(.*?)</code>', written.text)
    assert told is not None
    words = shlex.split(unescape(told[1]))[1:]
    assert (
        cli(*words[: words.index("--to")], "--to", "again", *words[words.index("--to") + 2 :]).exit_code == 0
    )
    for name in ("test_my_story_2.py", "my_story_2.json"):
        assert (folder / "tests" / name).read_text() == (folder / "again" / name).read_text()
    refused = post(pages, address, fields)
    assert (refused.status_code, "already exists" in refused.text) == (400, True)
    (folder / "tests" / "test_my_story_2.py").write_text("mine")
    assert post(pages, address, {**fields, "replace": "yes"}).status_code == 200
    assert "hobbes_replay" in (folder / "tests" / "test_my_story_2.py").read_text()


WRONG_TESTS: list[tuple[dict[str, str], str]] = [
    ({"folder": "../elsewhere"}, "is not in the folder"),
    ({"folder": "/"}, "is not in the folder"),
    ({"folder": "link"}, "is not in the folder"),
    ({"folder": "link/../.."}, "is not in the folder"),
    ({"folder": "a\0b"}, "null"),
    ({"folder": "x" * 300}, "too long"),
    ({"folder": "loop"}, "loop"),
    ({"name": "../x"}, "name: write letters"),
    ({"name": ""}, "name: write letters"),
    ({"name": "linked", "replace": "yes"}, "is not in the folder"),
    ({"turns": "2-9"}, "has turns 0 to 3"),
    ({"turns": "2-"}, "turns: write a whole number"),
    ({"agent": "nobody"}, "nobody"),
]


def test_a_test_is_written_nowhere_else(opened: Store, pages: TestClient, folder: Path) -> None:
    run = mining(opened)
    outside = folder.parent / "outside"
    outside.mkdir()
    (folder / "tests").mkdir()
    (folder / "link").symlink_to(outside)
    (folder / "loop").symlink_to("loop")
    (folder / "tests" / "linked.json").symlink_to(outside / "linked.json")
    form = opened_form(pages, f"/{run.id}/pin?turn={TURN}")
    for changed, told in WRONG_TESTS:
        refused = post(pages, f"/{run.id}/pin", {**form, **changed})
        assert refused.status_code == 400, changed
        assert told in unescape(refused.text).partition('role="alert">')[2].partition("</p>")[0].lower(), (
            changed
        )
    assert not [*outside.iterdir()]
    assert not [*folder.rglob("test_*")]


# --- the command


def test_each_page_says_the_command_that_shows_the_same(
    opened: Store, home: Path, pages: TestClient, cli: Cli
) -> None:
    """Each is played as it stands, in the home of the pages."""
    run = played(opened, RunOptions("nations", 3, values={"rounds": 3}, name="war"))
    other = mining(opened)
    also = mining(opened)
    commands = {
        "/": "runs",
        f"/{run.id}": f"trace {run.id}",
        f"/{run.id}/1.html": f"trace {run.id} 1",
        f"/{run.id}/1": f"trace {run.id} 1",
        f"/{run.id}/1/AgentA": f"trace {run.id} 1 AgentA",
        f"/{run.id}/judgements?turn=1": f"trace {run.id} 1",
        f"/{run.id}/rejections": f"trace {run.id} --rejected",
        f"/{run.id}/diary": f"trace {run.id} all",
        f"/{run.id}/diary?agent=AgentA&other=AgentB&mark=cession&words=I+am": (
            f"trace {run.id} AgentA AgentB --mark cession --grep '(?i)I\\ am'"
        ),
        f"/compare?a={other.id}&b={also.id}": f"compare {other.id} {also.id}",
        f"/{other.id}/fork?turn=1": f"fork {other.id} --turn 1",
        "/experiments": "experiments",
    }
    for address, command in commands.items():
        page = pages.get(address).text
        (told,) = re.findall(r'class="command">.*?<code>(.*?)</code>|data-command="(.*?)"', page)[-1:]
        told = "".join(told)
        assert unescape(told) == f"hobbes {command} --home {home}", address
        assert cli(*shlex.split(unescape(told))[1:]).exit_code == 0, told
