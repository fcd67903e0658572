"""The page of a seat shows what its agent may see, takes its answer, and opens nothing else."""

import asyncio
import hashlib
import hmac
import json
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from hobbes.lab.errors import LabError
from hobbes.lab.play.answering import the_question
from hobbes.lab.play.playing import RunOptions, begin, go_on, keep_answer
from hobbes.lab.play.seats import DIGITS, KEY, path_of, seats_of
from hobbes.lab.show import seats
from hobbes.lab.show.viewing import play_late, show_links, site, told_late
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run
from hobbes.lab.wire.recording import environment, in_thread
from hobbes.lab.wire.serving import stand_in
from hobbes.nodes.journal import Address, Prompt, Reply
from hobbes.nodes.players import PolicyPlayer
from tests.conftest import Cli
from tests.forking import Command
from tests.lab.play import go
from tests.lab.test_people import Clock, as_policy, begun
from tests.lab.visiting import LOCAL, Form, played_on, post

CANARY = "canary"
MARKUP = "<script>alert(1)</script><h1>{{ 7 * 7 }}</h1>"
BREAKOUT = '"></textarea></form><form action="http://evil.example"><!--'
SITE = "the token of the whole site"


@pytest.fixture
def pages(home: Path) -> Iterator[TestClient]:
    """A visitor who has only the links of seats, at pages that other machines can reach."""
    with TestClient(site(home, "127.0.0.1", SITE), base_url=LOCAL) as visitor:
        yield visitor


def asked(page: str) -> str:
    """Return the address of the question on a page."""
    return Form(page).fields["address"]


def test_a_person_sees_the_board_and_the_view_and_answers_in_the_form(
    opened: Store, pages: TestClient
) -> None:
    run = begun(opened, "mining")
    path = path_of(opened.home, run, "miner-01")
    page = pages.get(path).text
    assert "<h1>mining, turn 0: " in page
    assert re.findall(r'data-plot="([^"]*)"', page) == [f"{r} {c}" for r in range(10) for c in range(10)]
    assert 'data-plot="9 0" data-fields="/claim" data-words="plot 9 0, free"' in page
    shown = unescape(re.sub(r"<[^>]+>", " ", page))
    assert all(name.replace("_", " ") in shown for name in json.loads(the_question(run).asked))
    sent = post(pages, path, {"address": asked(page), "/claim": "0 0\n0 1", "/reasoning": "a corner"})
    played_on()
    assert (sent.status_code, sent.headers["location"]) == (303, path)
    assert "<h1>mining, turn 1: " in pages.get(path).text
    (call,) = opened.calls.of_turn(run.id, 0, "miner-01")
    assert json.loads(call.reply.text) == {"claim": [[0, 0], [0, 1]], "reasoning": "a corner"}
    assert call.reply.player == "human"


@pytest.mark.parametrize(
    ("world", "values", "places", "arrows"),
    [
        ("nations", {}, ["AgentA: land 5, mils 10", "AgentB: land 5, mils 10", "AgentC: land 5, mils 10"], 6),
        ("nations", {"observability": "own"}, ["AgentA: land 5, mils 10"], 0),
        ("trust", {"miss": 0}, ["unit-a: 48 sats", "unit-b: 53 sats", "unit-c: 53 sats"], 3),
    ],
)
def test_the_board_of_a_seat_shows_what_its_view_shows(  # noqa: PLR0913, PLR0917
    opened: Store, pages: TestClient, world: str, values: dict[str, Any], places: list[str], arrows: int
) -> None:
    run = begun(opened, world, **values)
    question = the_question(run)
    keep_answer(opened, run, question, as_policy(run, question))
    page = pages.get(path_of(opened.home, go(opened, run), question.agent)).text
    titles = [unescape(title) for title in re.findall(r"<title>([^<]*)</title>", page)]
    assert [title for title in titles if re.fullmatch(r"[\w-]+: (land .*|\d+ sats.*)", title)] == places
    assert sum(" granted " in title or " high fived " in title for title in titles) == arrows


def test_a_seat_tells_first_what_happened_and_asks_for_words_where_words_are_meant(
    opened: Store, pages: TestClient
) -> None:
    run = begun(opened, "mining", communication=True)
    for answer in ('{"claim": [[0, 0]], "message": "mine"}', '{"raid": []}'):
        question = the_question(run)
        keep_answer(opened, run, question, answer)
        run = go(opened, run)
    page = pages.get(path_of(opened.home, run, question.agent)).text
    told = unescape(re.sub(r"<[^>]+>", "", page[: page.index("data-plot")]))
    assert "Gained and lost" in told
    assert "0 gold mined in turn 1" in told
    assert '<input name="/message"' in page


def test_pairs_are_posted_one_by_one(opened: Store, pages: TestClient) -> None:
    run = begun(opened, "nations", resources=True)
    path = path_of(opened.home, run, "AgentA")
    orders: dict[str, Any] = {
        "/money_grants/AgentB": "3",
        "/resource_grants/AgentB/food": "2",
        "/cede_territories/AgentC": ["T1", "T2"],
    }
    page = pages.get(path).text
    assert all(name in Form(page).fields or f'name="{name}"' in page for name in orders)
    assert "/attacks/AgentB" in Form(page).fields
    refused = post(pages, path, {"address": asked(page), **orders, "/attacks/AgentB": "many"})
    assert refused.status_code == 400
    assert "/attacks/AgentB: write a whole number" in unescape(refused.text)
    assert Form(refused.text).fields["/attacks/AgentB"] == "many"
    assert len(re.findall(r"<input [^>]* checked>", refused.text)) == 2
    assert post(pages, path, {"address": asked(page), **orders}).status_code == 303
    played_on()
    (call,) = opened.calls.of_turn(run.id, 0, "AgentA")
    assert json.loads(call.reply.text) == {
        "money_grants": {"AgentB": 3},
        "resource_grants": {"AgentB": {"food": 2}},
        "cede_territories": {"AgentC": ["T1", "T2"]},
    }


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"/message": "peace, all?"}, "peace, all?"),
        ({"/message": "", "/message/miner-02": "you and I?"}, {"miner-02": "you and I?"}),
    ],
)
def test_a_message_is_to_all_or_to_single_agents(
    opened: Store, pages: TestClient, written: dict[str, str], said: object
) -> None:
    run = begun(opened, "mining", communication=True, private_messages=True)
    path = path_of(opened.home, run, "miner-01")
    page = pages.get(path).text
    assert {*written} <= {*Form(page).fields}
    both = post(pages, path, {"address": asked(page), "/message": "a", "/message/miner-02": "b"})
    assert "message: write it as a whole or one by one" in both.text
    assert post(pages, path, {"address": asked(page), **written}).status_code == 303
    played_on()
    (call,) = opened.calls.of_turn(run.id, 0, "miner-01")
    assert json.loads(call.reply.text) == {"message": said}


def test_a_wrong_answer_is_told_beside_what_was_written(opened: Store, pages: TestClient) -> None:
    run = begun(opened, "mining")
    path = path_of(opened.home, run, "miner-01")
    address = asked(pages.get(path).text)
    for fields, wrong in (
        ({"/claim": "0 99", "/notes": "mine!"}, '{"claim": [0, 99]}: the plot lies outside the grid'),
        ({"/claim": "there", "/notes": "mine!"}, "/claim: write whole numbers, one entry per line"),
        ({"text": "I pass, mine!"}, "there is no JSON object in the answer"),
    ):
        told = post(pages, path, {"address": address, **fields})
        assert told.status_code == 400
        assert wrong in unescape(told.text)
        assert 'role="alert"' in told.text
        assert "mine!" in told.text
    assert opened.runs.find(run.id).status == "waiting"
    assert post(pages, path, {"address": address, "text": '{"claim": []}'}).status_code == 303
    played_on()
    assert post(pages, path, {"address": address, "text": '{"claim": []}'}).status_code == 400, "sent twice"


def test_who_has_answered_waits_for_the_others_and_is_told_when_the_game_is_over(
    opened: Store, pages: TestClient
) -> None:
    run = begun(opened, "trust", people=2, rounds=1)
    paths = [path_of(opened.home, run, seat) for seat in seats_of(run)]
    for path in paths:
        page = pages.get(path).text
        assert post(pages, path, {"address": asked(page), "/action": "block"}).status_code == 303
        if path == paths[0]:
            waits = pages.get(path).text
            assert ("You are not asked anything now" in waits, "data-reload" in waits) == (True, True)
    played_on()
    assert all("The game is over" in pages.get(path).text for path in paths)
    assert opened.runs.find(run.id).status == "finished"


def test_a_link_opens_its_own_seat_and_nothing_else(opened: Store, pages: TestClient) -> None:
    run, other = (begun(opened, "trust", people=2, rounds=1) for _ in range(2))
    mine, theirs = (path_of(opened.home, run, seat) for seat in seats_of(run))
    token = mine.rpartition("/")[2]
    wrong = (
        f"{theirs.rpartition('/')[0]}/{token}",
        f"/seat/{other.id}/unit-a/{token}",
        f"/seat/last/unit-a/{token}",
        f"{mine[:-1]}",
        f"{mine}x",
    )
    for path in wrong:
        assert pages.get(path).status_code == 403
        assert post(pages, path, {"address": "0/unit-a/1", "/action": "block"}).status_code == 403
    for path in (
        "/",
        f"/{run.id}",
        f"/{run.id}/0",
        f"/{run.id}/0/unit-b",
        "/search",
        f"{mine}/x",
        "/seat/0/x",
    ):
        answer = pages.get(path)
        assert (answer.status_code, "with its token" in answer.text) == (403, True)
    # The form of a seat answers for that seat alone.
    assert post(pages, mine, {"address": "0/unit-b/1", "/action": "block"}).status_code == 400
    assert len(opened.runs.find(run.id).questions) == 2
    assert pages.get(mine).status_code == pages.get("/static/hobbes.js").status_code == 200


def test_other_sites_and_hosts_are_refused(opened: Store, pages: TestClient) -> None:
    run = begun(opened, "trust")
    path = path_of(opened.home, run, "unit-a")
    fields = {"address": "0/unit-a/1", "/action": "block"}
    for origin in ("http://evil.example", "null", "https://127.0.0.1"):
        assert post(pages, path, fields, origin).status_code == 403
    assert pages.get(path, headers={"host": "evil.example"}).status_code == 400
    assert opened.runs.find(run.id).questions == run.questions


def test_links_stay_the_same_and_only_the_owner_of_the_home_can_make_them(opened: Store) -> None:
    run = begun(opened, "trust", people=2)
    first = path_of(opened.home, run, "unit-a")
    assert first == path_of(opened.home, run, "unit-a")
    assert (opened.home / KEY).stat().st_mode & 0o777 == 0o600
    assert first.rpartition("/")[2] not in (opened.home / "runs.db").read_bytes().decode(errors="replace")


BAD_KEYS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "too short": lambda path: path.write_bytes(bytes(31)),
    "too long": lambda path: path.write_bytes(bytes(33)),
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("put", BAD_KEYS.values(), ids=BAD_KEYS)
def test_a_key_that_is_not_32_bytes_is_refused_in_one_line(
    put: Callable[[Path], object], opened: Store
) -> None:
    run = begun(opened, "trust", people=2)
    path = opened.home / KEY
    path.unlink(missing_ok=True)
    put(path)
    with pytest.raises(LabError, match=rf"^{path} cannot be used as the key of seats: [^\n]*$"):
        path_of(opened.home, run, "unit-a")


def test_pages_whose_links_cannot_be_shown_are_not_served(opened: Store) -> None:
    begun(opened, "trust", people=2)
    (opened.home / KEY).write_bytes(b"")
    with pytest.raises(LabError, match="it does not have 32 bytes"):
        show_links(opened.home, LOCAL)


def test_a_page_of_a_home_whose_key_is_empty_opens_to_nobody(opened: Store, pages: TestClient) -> None:
    run = begun(opened, "trust", people=2)
    path = path_of(opened.home, run, "unit-a")
    (opened.home / KEY).write_bytes(b"")
    message = f"{run.id}/unit-a".encode()
    known = hmac.new(b"", message, hashlib.sha256).hexdigest()[:DIGITS]
    shown = pages.get(path.rpartition("/")[0] + f"/{known}")
    assert (shown.status_code, "\n" in shown.text.strip()) == (503, False)


def test_a_new_key_is_on_the_disk_before_it_has_its_name(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(opened, "trust", people=2)
    path = opened.home / KEY
    path.unlink(missing_ok=True)
    synced: list[tuple[int, bool]] = []
    fsync = os.fsync

    def noted(file: int) -> None:
        there = os.fstat(file)
        synced.append((0 if stat.S_ISDIR(there.st_mode) else there.st_size, path.exists()))
        fsync(file)

    monkeypatch.setattr(os, "fsync", noted)
    path_of(opened.home, run, "unit-a")
    assert synced == [(32, False), (0, True)]
    assert list(opened.home.glob(f"{KEY}.*")) == []


@pytest.mark.parametrize("world", ["mining", "nations", "trust"])
def test_nothing_that_others_think_or_keep_is_on_the_page(
    world: str, opened: Store, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All others put a canary into each text that only they may know, and write one wrong field."""
    reply = PolicyPlayer.reply

    async def singing(self: PolicyPlayer, address: Address, prompt: Prompt) -> Reply:
        said = await reply(self, address, prompt)
        texts = dict.fromkeys(("reasoning", "summary_last_turn", "history_summary", "notes", "odd"), CANARY)
        return Reply(json.dumps({**json.loads(said.text), **texts}), said.model)

    monkeypatch.setattr(PolicyPlayer, "reply", singing)
    run = begun(opened, world)
    agent = seats_of(run)[0]
    path = path_of(opened.home, run, agent)
    default = run.world.policies.default
    for _ in range(2):
        assert CANARY not in pages.get(path).text
        question = the_question(run)
        run = go(opened, run, as_policy(run, question, default))
    assert CANARY in opened.calls.of_turn(run.id, 1)[-1].reply.text
    shown = pages.get(path).text
    assert (asked(shown), CANARY in shown) == (f"2/{agent}/1", False)


def test_a_clone_is_played_from_its_owners_seat(opened: Store, pages: TestClient) -> None:
    values: dict[str, Any] = {"rounds": 8, "start": 120, "victory": "team", "miss": 0}
    options = RunOptions("trust", 2, models="human*1,policy:copykitten*1", values=values)
    run = go(opened, begin(opened, options))
    path = path_of(opened.home, run, "unit-a")
    post(pages, path, {"address": asked(pages.get(path).text), "/action": "replicate"})
    played_on()
    run = opened.runs.find(run.id)
    assert [one.agent for one in run.questions] == ["unit-a", "unit-a-2"]
    for _ in run.questions:
        post(pages, path, {"address": asked(pages.get(path).text), "/action": "block"})
    played_on()
    assert opened.runs.find(run.id).turns == 2


def test_an_observer_has_a_seat_too(opened: Store, pages: TestClient) -> None:
    values: dict[str, Any] = {"rounds": 2, "observer": "human"}
    run = go(opened, begin(opened, RunOptions("trust", 2, models="policy:beggar", values=values)))
    path = path_of(opened.home, run, "observer")
    page = pages.get(path).text
    grants = {"/rulings/unit-a/grant": "1", "/rulings/unit-b/grant": "0"}
    reasons = {name.replace("grant", "reason"): "so be it" for name in grants}
    post(pages, path, {"address": asked(page), **grants, **reasons})
    played_on()
    assert opened.runs.find(run.id).turns == 1


def test_pages_that_are_served_watch_the_clock(opened: Store) -> None:
    clock = Clock()
    values: dict[str, Any] = {"rounds": 2, "seconds_per_turn": 60}
    run = begin(opened, RunOptions("mining", 2, models="human*1,policy:guided", values=values))
    asyncio.run(go_on(opened, run, lambda _: None, clock=clock))
    clock.forward(30)
    path = path_of(opened.home, run, "miner-01")
    with TestClient(site(opened.home, "127.0.0.1", clock=clock), base_url=LOCAL) as visitor:
        assert ">30 seconds</b>, by " in visitor.get(path).text
        clock.forward(29)
        assert ">1 second</b>, by " in visitor.get(path).text
    clock.forward(-29)
    play_late(opened.home, clock)
    played_on()
    assert opened.runs.find(run.id).turns == 0
    clock.forward(30)
    play_late(opened.home, clock)
    played_on()
    assert opened.runs.find(run.id).turns == 1
    assert opened.calls.of_turn(run.id, 0, "miner-01")[0].outcome == "timed-out"


def test_of_a_late_run_that_cannot_go_on_the_reason_is_told_once(
    opened: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """The clock is looked at three times before the models of two runs can be reached."""
    clock = Clock()
    values: dict[str, Any] = {"rounds": 1, "seconds_per_turn": 60}
    options = RunOptions("mining", 2, models="human*1,openai:policy/guided", values=values)
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        runs = [begin(opened, options) for _ in range(2)]
        for run in runs:
            asyncio.run(go_on(opened, run, lambda _: None, clock=clock))
    clock.forward(60)
    told = ""
    for _ in range(3):
        told = told_late(opened.home, clock, told)
    printed = capsys.readouterr().err
    assert [printed.count(run.id) for run in runs] == [1, 1]
    assert {opened.runs.find(run.id).status for run in runs} == {"waiting"}


def test_the_page_of_a_run_says_who_is_waited_for_and_which_command_prints_the_links(
    opened: Store, home: Path, cli: Cli
) -> None:
    run = begun(opened, "mining", people=2)
    with TestClient(site(home, "127.0.0.1"), base_url=LOCAL) as visitor:
        page = visitor.get(f"/{run.id}").text
    assert "Waiting for the people who play miner-01, miner-02" in page
    assert "/seat/" not in page
    found = re.search(r"<code>hobbes ([^<]*)</code> prints the links of these pages", unescape(page))
    assert found is not None
    printed = cli(*shlex.split(found[1])).stderr
    assert all(path_of(home, run, seat) in printed for seat in seats_of(run))


def test_a_person_is_not_told_that_a_model_of_another_agent_cannot_be_reached(
    opened: Store, pages: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        models = "human*1,openai:policy/guided"
        run = go(opened, begin(opened, RunOptions("mining", 2, models=models, values={"rounds": 2})))
    path = path_of(opened.home, run, "miner-01")
    told = post(pages, path, {"address": "0/miner-01/1", "/claim": "0 0"})
    assert (told.status_code, "The run cannot go on now" in told.text) == (503, True)
    assert "OPENAI" not in told.text
    assert "openai: models need OPENAI_API_KEY" in capsys.readouterr().err
    assert opened.runs.find(run.id).questions == run.questions


def test_a_damaged_record_is_told_where_the_pages_are_served_and_not_at_the_seat(
    opened: Store, pages: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    run = go(opened, begun(opened, "mining"), '{"claim": []}')
    with opened.db.conn as connection:
        connection.execute("UPDATE turns SET record = 'torn'")
    path = path_of(opened.home, run, "miner-01")
    address = {"address": the_question(run).address}
    for answer in (pages.get(path), post(pages, path, {**address, "text": "{}"})):
        assert (answer.status_code, answer.text.count("\n")) == (503, 1)
        assert "tell whoever runs the run" in answer.text
        assert "turns.record" not in answer.text
    assert capsys.readouterr().err.count("the column turns.record or turns.digest is damaged") == 2


def test_of_two_tabs_that_answer_at_once_one_is_told_that_it_is_too_late(
    opened: Store, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other tab's answer is kept after this one's question was looked up."""
    run = begun(opened, "trust", people=2)
    path = path_of(opened.home, run, "unit-a")

    def after_another(*those: Any) -> Run:
        keep_answer(*those)
        return keep_answer(*those)

    monkeypatch.setattr(seats, "keep_answer", after_another)
    told = post(pages, path, {"address": asked(pages.get(path).text), "/action": "block"})
    assert (told.status_code, "this has been answered, or is too late" in told.text) == (400, True)
    assert "hobbes answer" not in told.text


def test_answers_and_links_outlive_the_pages(opened: Store, process: Callable[..., Command]) -> None:
    """The process that serves the pages is killed after the first of two answers."""
    run = begun(opened, "trust", people=2, rounds=1)
    for seat in seats_of(run):
        serving = process("view", "--port", "0")
        assert serving.stdout is not None
        base = serving.stdout.readline().strip().rstrip("/")
        fields = {"address": f"0/{seat}/1", "/action": "block"}
        path = path_of(opened.home, run, seat)
        sent = httpx2.post(f"{base}{path}", data=fields, headers={"origin": base}, timeout=120)
        assert sent.status_code == 303
        if seat == "unit-a":
            serving.kill()
            serving.wait()
    assert {call.address.agent for call in opened.calls.of_turn(run.id, 0)} == {"unit-a", "unit-b", "unit-c"}
    assert not opened.runs.find(run.id).questions
    serving.kill()
    serving.wait()
    assert go(opened, run).status == "finished"


def test_what_others_write_is_text_on_the_page_whatever_it_is(
    opened: Store, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AgentB and AgentC write hostile messages to all, which AgentA reads in the next turn."""

    async def hostile(self: PolicyPlayer, address: Address, prompt: Prompt) -> Reply:  # noqa: ARG001  as in Player
        return Reply(json.dumps({"messages": {"all": texts[address.agent]}}), "policy/hostile")

    monkeypatch.setattr(PolicyPlayer, "reply", hostile)
    tags = []
    for texts in (dict.fromkeys(("AgentB", "AgentC"), "peace"), {"AgentB": MARKUP, "AgentC": BREAKOUT}):
        run = begun(opened, "nations")
        run = go(opened, run, "{}")
        page = pages.get(path_of(opened.home, run, "AgentA")).text
        assert all(text in unescape(page) for text in texts.values())
        tags.append(re.findall(r"<[a-z!/][^>]*>", page.replace(path_of(opened.home, run, "AgentA"), "")))
    assert tags[0] == tags[1]


def test_the_links_of_runs_that_are_not_finished_are_shown_where_the_pages_are_served(
    opened: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    over = begun(opened, "trust", rounds=1)
    assert go(opened, over, '{"action": "block"}').status == "finished"
    run = begun(opened, "trust", people=2)
    show_links(opened.home, "http://box:1")
    assert capsys.readouterr().err.splitlines() == [
        f"run {run.id}: {seat} answers at http://box:1{path_of(opened.home, run, seat)}"
        for seat in ("unit-a", "unit-b")
    ]
