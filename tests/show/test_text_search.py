"""`/search` finds words in all texts of a home, whatever the query and the texts say."""

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.errors import UsageError
from hobbes.nodes.journal import Address, ReasoningSource, Reply
from hobbes.nodes.players import PolicyPlayer
from hobbes.play.start import RunOptions, begin
from hobbes.show.web.server import site
from hobbes.store.home import Store, open_store
from hobbes.store.policy_games import with_turns
from hobbes.store.recorded_run import Run
from hobbes.store.text_index import Filters, find_texts
from tests.conftest import Cli
from tests.pages import LOCAL
from tests.play.test_second_question import answering
from tests.show.conftest import Replies
from tests.show.test_view import PAYLOADS
from tests.small_runs import go, mining, played

SAID = {
    "answer": "only the answer says walrus",
    "reasoning": "a hidden plan about penguins",
    "message": "let us share the seals",
    "memory": "remember the krill",
}
"""What AgentA says in turn 0, by kind."""


def talk(
    opened: Store, monkeypatch: pytest.MonkeyPatch, name: str, said: Sequence[dict[str, str]] = (SAID,)
) -> Run:
    """Play two turns of nations in which agents say these texts in turn 0, and nothing in turn 1."""

    async def reply(self: object, address: Any, prompt: Any) -> Reply:
        del self, prompt
        place = "ABCDEFGH".index(address.agent[-1])
        if address.turn or place >= len(said):
            return Reply("{}", "model")
        text = said[place]
        answer = {
            "reasoning": text["answer"],
            "history_summary": text["memory"],
            "messages": {"AgentB": text["message"]},
        }
        source = ReasoningSource.SUMMARY
        return Reply(json.dumps(answer), "model", reasoning=text["reasoning"], reasoning_source=source)

    with monkeypatch.context() as patched:
        patched.setattr(PolicyPlayer, "reply", reply)
        return played(opened, RunOptions("nations", max(3, len(said)), values={"rounds": 2}, name=name))


def hits(page: str) -> list[tuple[str, str]]:
    """Return the kind and the address of each text that a page lists, without what the browser marks."""
    found = re.findall(r'<li><a href="([^"#]+)[^"]*"><b>(\w+)</b>', page)
    return [(kind, address) for address, kind in found]


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which AgentA and AgentB have spoken, in the run `talk`; no test changes its runs."""
    folder = tmp_path_factory.mktemp("spoken") / "home"
    with pytest.MonkeyPatch.context() as patched, open_store(folder) as store:
        other = dict.fromkeys(SAID, "I retaliate, and share no seals")
        talk(store, patched, "talk", (SAID, other))
    return folder


@pytest.fixture
def page_of(spoken: Path) -> Iterator[Callable[..., str]]:
    with TestClient(site(spoken, "127.0.0.1"), base_url=LOCAL) as visitor:
        yield lambda q, **filters: visitor.get("/search", params={"q": q, **filters}).raise_for_status().text


@pytest.fixture
def told(spoken: Path, cli: Cli) -> Callable[..., dict[str, Any]]:
    """What `hobbes search --json` finds in that home."""

    def found(*words: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(cli("search", "--json", *words, "--home", str(spoken)).stdout)
        return document

    return found


def test_each_kind_of_text_is_found_and_leads_to_its_card(page_of: Callable[..., str]) -> None:
    for kind, word in (("answer", "walrus"), ("reasoning", "penguins"), ("message", "us")):
        page = page_of(word, kind=kind)
        ((found, card),) = hits(page)
        assert (found, card.rpartition("/0/")[2]) == (kind, "AgentA")
        assert f"<mark>{word}</mark>" in page
        assert f"#:~:text={word}" in page
        assert ("(summary)" in page) == (kind == "reasoning")
    assert not hits(page_of("seals", kind="prompt")), "policies are sent none"


def test_a_message_has_its_addressees(opened: Store, pages: TestClient, cli: Cli, replies: Replies) -> None:
    def reply(address: Address) -> dict[str, Any]:
        to = {0: ("AgentB", "AgentC"), 1: ("all",)}[address.turn]
        said = {"messages": dict.fromkeys(to, f"peace in turn {address.turn}")}
        return said if address.agent == "AgentA" else {}

    replies(reply)
    played(opened, RunOptions("nations", 3, values={"rounds": 2}, name="peace"))
    lines = cli("search", "peace", "--in", "messages").stdout.splitlines()
    assert sorted(line for line in lines if line.startswith("message ")) == [
        "message  peace 0 AgentA to AgentB, AgentC",
        "message  peace 1 AgentA to all",
    ]
    page = pages.get("/search", params={"q": "peace", "kind": "message"}).text
    assert "AgentA to AgentB, AgentC</a>" in page


def test_the_prompts_that_a_model_was_sent_are_found(opened: Store, cli: Cli) -> None:
    """The turn's prompt of each call, and the system prompt of all once."""
    with answering(lambda _: "{}"):
        run = played(opened, RunOptions("mining", 2, models="openai:m", values={"rounds": 1}))
    prompts = {call.prompt.turn for call in opened.calls.of_turn(run.id, 0)}
    found = json.loads(cli("search", "gold", "--in", "prompts", "--json").stdout)
    assert found["total"] == len(prompts) + 1
    assert max(hit["others"] for hit in found["hits"]) == 1


def test_a_text_that_stands_in_many_places_is_listed_once(spoken: Path, page_of: Callable[..., str]) -> None:
    """The memory is kept in both turns."""
    page = page_of("krill", kind="memory")
    assert [card.rpartition("/0/")[2] for _, card in hits(page)] == ["AgentA"]
    assert "and in 1 other place" in page
    with sqlite3.connect(spoken / "search.db") as index:
        counts = "select (select count(*) from texts), (select count(distinct text) from texts), count(*)"
        texts, different, places = index.execute(f"{counts} from places").fetchone()
    assert texts == different < places


def test_a_reasoning_that_stands_in_its_answer_is_listed_once(
    opened: Store, cli: Cli, replies: Replies
) -> None:
    """Without a filter the answer is listed, and with one the reasoning."""
    own, other = {"reasoning": "Spare the newts."}, "Eat the newts."
    replies(lambda at: own if at.agent == "AgentA" else Reply("{}", "model", reasoning=other))
    played(opened, RunOptions("nations", 2, values={"rounds": 1}))

    def found(*words: str) -> list[tuple[str, str]]:
        listed = json.loads(cli("search", "newts", *words, "--json").stdout)
        assert listed["total"] == len(listed["hits"])
        return sorted((hit["kind"], hit["agent"]) for hit in listed["hits"])

    assert found() == [("answer", "AgentA"), ("reasoning", "AgentB")]
    assert found("--in", "reasoning") == [("reasoning", "AgentA"), ("reasoning", "AgentB")]


def test_filters_name_run_and_agent(
    opened: Store, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = talk(opened, monkeypatch, "one"), talk(opened, monkeypatch, "other", (SAID, SAID))

    def found(**filters: str) -> int:
        return find_texts(opened, "penguins", Filters(**filters), 0, 1).total

    assert found() == found(run=one.id) == found(run=other.id) == found(agent="AgentB") == 1
    assert found(run=one.id, agent="AgentB") == 0
    page = pages.get("/search", params={"q": "penguins", "run": "other", "agent": "AgentB"}).text
    assert hits(page) == [("reasoning", f"/{other.id}/0/AgentB")]


QUERIES = [
    '"',
    "walrus' or 1=1; drop table places; --",
    "miner-01:",
    "no_column : x",
    "NEAR(",
    "AND",
    "(" * 500,
    "*",
    "\0 walrus \0",
    "walrus AND",
    "^",
    "{a b} : c",
    "a" * 5000,
    "x " * 5000,
    "\u202e\x1b[2J",
    *PAYLOADS,
]
"""Queries that FTS5 by itself could not read, and some that it could."""


def test_any_query_is_taken_as_words(page_of: Callable[..., str]) -> None:
    for query in QUERIES:
        assert page_of(query), query
    for query in ("wal*", "says: walrus", "the-answer 'walrus'", '"walrus', "\0 walrus"):
        assert dict(hits(page_of(query))).get("answer"), query
    assert not hits(page_of("walrus OR nothing-else"))


def test_the_index_grows_with_the_runs_and_can_be_deleted(
    opened: Store, home: Path, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> list[tuple[str, str]]:
        return hits(pages.get("/search", params={"q": "penguins"}).text)

    assert found() == []
    run = talk(opened, monkeypatch, "one")
    alone = [("reasoning", f"/{run.id}/0/AgentA")]
    assert found() == alone
    (home / "search.db").unlink()
    assert found() == alone
    (home / "search.db").write_bytes(b"not a database" * 100)
    assert found() == alone


def test_a_run_that_goes_on_is_indexed_from_where_the_index_ends(opened: Store, pages: TestClient) -> None:
    run = begin(opened, RunOptions("mining", 2, values={"rounds": 2}))
    assert hits(pages.get("/search", params={"q": "claim", "run": run.id}).text) == []
    go(opened, run)
    assert hits(pages.get("/search", params={"q": "claim", "run": run.id}).text)


def test_another_run_database_in_the_place_of_the_old_one_is_indexed_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    ids = {}
    for home in (one, other):
        with open_store(home) as opened:
            ids[home] = talk(opened, monkeypatch, "talk").id
    for home in (one, one):
        with TestClient(site(home, "127.0.0.1"), base_url=LOCAL) as visitor:
            found = hits(visitor.get("/search", params={"q": "penguins"}).text)
        assert found == [("reasoning", f"/{ids[one]}/0/AgentA")]
        shutil.copyfile(other / "runs.db", one / "runs.db")
        ids[one] = ids[other]


def test_words_are_found_where_no_blanks_stand_between_them(
    opened: Store, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = dict.fromkeys(SAID, "nothing") | {"message": "如果你再攻击我,我会报复。"}
    run = talk(opened, monkeypatch, "chinese", (said,))
    for words in ("攻击", "报复", "攻击 报复", '"攻击我"', "你再"):
        page = pages.get("/search", params={"q": words, "kind": "message"}).text
        assert hits(page) == [("message", f"/{run.id}/0/AgentA")], words
    page = pages.get("/search", params={"q": "攻击", "kind": "message"}).text
    assert "<blockquote>如果你再<mark>攻击</mark>我,我会报复。</blockquote>" in page
    assert "#:~:text=%E6%94%BB%E5%87%BB" in page
    for words in ("击攻", '"报复 攻击"'):
        assert not hits(pages.get("/search", params={"q": words, "kind": "message"}).text), words


def test_a_word_finds_what_begins_with_it_and_a_phrase_only_itself(
    told: Callable[..., dict[str, Any]],
) -> None:
    for words in (["retaliat"], ["retaliat*"], ["retaliate seals"], ["seal", "RETALIATE"], ["share no"]):
        assert told(*words, "--in", "messages")["total"] == 1, words
    assert told('"share no seals"', "--in", "messages")["total"] == 1
    assert told('"no share"', "--in", "messages")["total"] == 0
    assert told('"share no seal"', "--in", "messages")["total"] == 0


def test_a_search_says_where_each_text_stands(told: Callable[..., dict[str, Any]]) -> None:
    found = told("seal", "--in", "messages")
    assert found["total"] == 2
    hit = next(one for one in found["hits"] if one["agent"] == "AgentA")
    assert (hit["kind"], hit["name"], hit["turn"], hit["others"]) == ("message", "talk", 0, 0)
    assert hit["pieces"] == [["let us share the ", False], ["seals", True], ["", False]]
    assert told("seal", "--agent", "AgentB", "--in", "messages", "--run", "talk")["total"] == 1


def test_a_search_plays_no_game_again_and_says_which_runs_hold_no_texts(small: Store, cli: Cli) -> None:
    found = cli("search", "claim", "--run", "small.open.1")
    assert found.stdout.startswith("0 texts")
    assert "9 runs of experiments hold no texts until opened" in found.stderr
    assert json.loads(cli("search", "claim", "--json").stdout)["without_texts"] == 9
    assert small.db.table("turns").count == 0
    with_turns(small, small.runs.find("small.open.1"))
    opened = json.loads(cli("search", "claim", "--json").stdout)
    assert opened["without_texts"] == 8
    assert {hit["name"] for hit in opened["hits"]} == {"small.open.1"}


def test_a_search_without_words_says_what_to_type(spoken: Path, cli: Cli) -> None:
    for words in ((), ("",)):
        done = cli("search", *words, "--agent", "miner-01", "--in", "reasoning", "--home", str(spoken))
        assert isinstance(done.exception, UsageError)
        told = r"a search needs words: .*hobbes search WORDS --agent miner-01 --in reasoning .*"
        assert re.fullmatch(told, str(done.exception))


def test_the_terminal_prints_what_is_found_in_its_context(spoken: Path, cli: Cli) -> None:
    lines = cli("search", "penguins", "--in", "reasoning", "--home", str(spoken)).stdout.splitlines()
    assert lines[0] == "1 text"
    assert lines[2:4] == ["reasoning (summary)  talk 0 AgentA", "  a hidden plan about penguins"]
    assert lines[-1] == f"next: hobbes trace talk 0 AgentA --home {spoken}"


def test_a_damaged_turn_leaves_all_other_texts_to_be_found(opened: Store, cli: Cli) -> None:
    damaged, whole = mining(opened), mining(opened, seed=2)
    opened.db.execute("update turns set record = '{}' where run = ? and turn = 1", [damaged.id])
    opened.connection.commit()
    found = json.loads(cli("search", "claim", "--most", "100", "--json").stdout)
    assert {hit["run"] for hit in found["hits"]} == {damaged.id, whole.id}
