"""What a person types into a form comes back as it was typed if it is refused, and is so recorded."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from hobbes.engine.world import OBSERVER
from hobbes.lab.play.playing import begin
from hobbes.lab.play.seats import path_of
from hobbes.lab.show import viewing
from hobbes.lab.show.viewing import site
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.run import Run
from tests.lab.play import go, mining
from tests.lab.test_observer import game as observed_game
from tests.lab.test_people import game
from tests.lab.visiting import LOCAL, Form, played_on, post
from tests.soak import examples

WAITS = "{}"
"""An answer that every world takes: nothing is done."""

TURN, AGENT = 2, "miner-02"

# HTML cannot hold a null character, UTF-8 no half of one. A brace may begin another answer.
_ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r{}")
_KINDS = st.sampled_from([*"\n\t\"'<\u202e\u200b\x1b\x85\u2028\u3000", "&amp;", "</textarea>", "👩‍🚀"])
TEXTS = st.lists(_KINDS | _ANY, max_size=12).map("".join)
LINES = TEXTS.map(lambda text: text.replace("\n", ""))
"""What a field of one line can hold: browsers leave out line breaks."""

SOME = settings(max_examples=examples(10, 100), deadline=None)


def posted(
    pages: TestClient, path: str, fields: dict[str, str], place: int = 1
) -> tuple[int, dict[str, str]]:
    """Post a form; return the status, and the fields of the form that is shown."""
    told = post(pages, path, fields)
    return told.status_code, Form(told.text, place).fields


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A run database for all examples."""
    with open_store(tmp_path_factory.mktemp("typed") / "home") as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(store: Store) -> Iterator[TestClient]:
    """A visitor of its pages, behind which nothing is played."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(viewing, "_play_apart", lambda *_: None)
        patched.setattr(viewing, "_play_on", lambda *_: None)
        with TestClient(site(store.home, "127.0.0.1"), base_url=LOCAL) as visitor:
            yield visitor


@pytest.fixture(scope="module")
def played(store: Store) -> Run:
    return mining(store)


@SOME
@given(text=TEXTS, line=LINES)
@example(text="Peace with you\nfor ever", line="tab\t and \u202eturned")
@example(text="\nafter a break", line="a  b")
def test_a_seat_keeps_what_is_typed(store: Store, pages: TestClient, text: str, line: str) -> None:
    """One person fills in the fields, another writes the whole answer; each is refused once."""
    run = go(store, begin(store, game("nations", "human*3")))
    fields, whole = (path_of(store.home, run, agent) for agent in ("AgentA", "AgentB"))
    form = Form(pages.get(fields).text).fields
    messages = {"/messages/AgentB": line, "/messages/AgentC": "so\u2028 \x85be it"}
    typed = {"/reasoning": line, **messages, "/purchase_mils": "many"}
    status, shown = posted(pages, fields, {**form, **typed})
    assert (status, {name: shown[name] for name in typed}) == (400, typed)
    assert posted(pages, fields, {**shown, "/purchase_mils": "0"})[0] == 303
    form = Form(pages.get(whole).text, 2).fields
    status, shown = posted(pages, whole, {**form, "text": text}, 2)
    assert (status, shown["text"]) == (400, text)
    assert posted(pages, whole, {**shown, "text": text + WAITS})[0] == 303
    said = {agent: call.reply.text for agent, (call,) in store.calls.attempts(run.id, 0).items()}
    answer = json.loads(said["AgentA"])
    assert answer.get("reasoning", "") == line
    assert {"AgentB": "", **answer["messages"]} == {"AgentB": line, "AgentC": "so\u2028 \x85be it"}
    assert said["AgentB"] == text + WAITS


@SOME
@given(line=LINES)
def test_an_observer_keeps_what_is_typed_on_the_page_of_the_run(
    store: Store, pages: TestClient, line: str
) -> None:
    run = go(store, begin(store, observed_game("human")))
    form = Form(pages.get(f"/{run.id}").text).fields
    grant, why = (next(name for name in form if name.endswith(end)) for end in ("/grant", "/reason"))
    status, shown = posted(pages, f"/{run.id}/answer", {**form, grant: "many", why: line})
    assert (status, shown[grant], shown[why]) == (400, "many", line)
    said = line if line.strip() else f"no{line}"
    assert posted(pages, f"/{run.id}/answer", {**shown, grant: "0", why: said})[0] == 303
    (call,) = store.calls.attempts(run.id, run.turns, OBSERVER)[OBSERVER]
    (ruling,) = json.loads(call.reply.text)["rulings"].values()
    assert ruling == {"grant": 0, "reason": said}


@SOME
@given(text=TEXTS, line=LINES)
@example(text='{"claim":\n []}\n', line="unguided")
def test_a_fork_keeps_what_is_typed(
    store: Store, pages: TestClient, played: Run, text: str, line: str
) -> None:
    path = f"/{played.id}/fork"
    form = Form(pages.get(f"{path}?turn={TURN}&agent={AGENT}").text).fields
    typed = {"answer": text + WAITS, "prompts": line, "model": line, "name": line, "calls": "many"}
    status, shown = posted(pages, path, {**form, **typed})
    assert (status, {name: shown[name] for name in typed}) == (400, typed)
    as_before = {name: form[name] for name in ("prompts", "model", "name", "calls")}
    assert posted(pages, path, {**shown, **as_before})[0] == 303
    newest = store.runs.forks(played.id)[0]
    (call,) = store.calls.attempts(newest["id"], TURN, AGENT)[AGENT]
    assert call.reply.text == text + WAITS
    played_on()


def test_a_recorded_answer_that_nobody_changed_is_given_as_it_was_recorded(
    store: Store, pages: TestClient
) -> None:
    """Also what a form cannot hold, a carriage return and a null character."""
    recorded = f"I\tpass\r\n\u202e\x00\x1b[2J \n{WAITS}"
    run = go(store, go(store, begin(store, game("mining", "human*1,policy:guided"))), recorded)
    path = f"/{run.id}/fork"
    form = Form(pages.get(f"{path}?turn=0&agent=miner-01").text).fields
    assert form["answer"] == f"I\tpass\n\u202e\ufffd\x1b[2J \n{WAITS}"
    assert posted(pages, path, form)[0] == 303
    (fork,) = store.runs.forks(run.id)
    (call,) = store.calls.attempts(fork["id"], 0, "miner-01")["miner-01"]
    assert (call.reply.text, call.reply.player) == (recorded, "given")


@SOME
@given(line=LINES)
def test_a_test_keeps_what_is_typed(store: Store, pages: TestClient, played: Run, line: str) -> None:
    del store
    form = Form(pages.get(f"/{played.id}/pin?turn={TURN}").text).fields
    typed = {"name": line, "folder": line, "turns": "all"}
    status, shown = posted(pages, f"/{played.id}/pin", {**form, **typed})
    assert (status, {name: shown[name] for name in typed}) == (400, typed)
