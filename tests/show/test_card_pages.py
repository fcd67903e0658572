"""The card of an agent's turn as a page, and two runs at the same turn."""

import json
import re
from html import unescape
from typing import Any

from starlette.testclient import TestClient

from hobbes.nodes.prompting import view_in
from hobbes.play.start import RunOptions
from hobbes.show.trace import by_field
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.conftest import Cli
from tests.play.test_second_question import FIRST, SECOND, answering, by_attempt, request
from tests.show.conftest import Replies
from tests.small_runs import played

LINK = re.compile(r'<a(?: rel="[^"]*")? title="([^"]+)" href="([^"]+)"')


def nations(opened: Store, replies: Replies, said: dict[tuple[int, str], Any]) -> Run:
    """Play eight turns of nations in which agents say this by turn and name, and else nothing much."""
    replies(lambda at: said.get((at.turn, at.agent), {"reasoning": "I wait."}))
    values: dict[str, Any] = {"rounds": 8, "taint_share": 1.0}
    return played(opened, RunOptions("nations", 3, values=values))


def links(page: str) -> dict[str, str]:
    """Return where the links of a page lead, by what they say on hover."""
    return {unescape(title): unescape(to) for title, to in LINK.findall(page)}


def test_rejections_and_corrections_are_listed_below_the_raw_answer(
    opened: Store, pages: TestClient, replies: Replies
) -> None:
    said = {"attacks": {"AgentZ": 1, "AgentB": 1}, "purchase_mils": 999, "reasoning": "<b>Now</b>"}
    nations(opened, replies, {(1, "AgentA"): said, (1, "AgentB"): "I would rather not."})
    page = pages.get("/last/1/AgentA").text
    listed = unescape(page).partition(json.dumps(said))[2]
    assert re.search(r'rejection<.*>nations/unknown-agent<.*"AgentZ": 1', listed)
    assert re.search(r"correction<.*>nations/purchase-cut<.*999", listed)
    assert "<b>Now</b>" not in page
    assert "read/unreadable" in pages.get("/last/1/AgentB").text.partition("I would rather not.")[2]


def test_links_lead_to_other_agents_and_turns(opened: Store, pages: TestClient, replies: Replies) -> None:
    run = nations(opened, replies, {})
    at = f"/{run.id}"
    page = pages.get("/last/4/AgentB").text
    assert links(page) == {
        "up to the run, at this turn": f"{at}#4",
        "the agent before, in this turn": f"{at}/4/AgentA",
        "the next agent, in this turn": f"{at}/4/AgentC",
        "this agent's turn before": f"{at}/3/AgentB",
        "this agent's next turn": f"{at}/5/AgentB",
    }
    assert "this agent's next turn" not in links(pages.get("/last/7/AgentB").text)
    assert "the agent before, in this turn" not in links(pages.get("/last/4/AgentA").text)


def test_a_card_has_the_memory_of_its_agent_and_what_it_wrote_there(
    opened: Store, pages: TestClient, cli: Cli, replies: Replies
) -> None:
    """Ratings are part of it; what was written again is not quoted again."""
    said = {"history_summary": "We met B & C.", "keeps_word_report": {"AgentB": 9}}
    then = {**said, "history_summary": "We fought C.", "aggressor_report": {"AgentC": 8, "AgentB": 1}}
    nations(opened, replies, {(0, "AgentA"): said, (1, "AgentA"): then})
    card = " ".join(re.sub("<[^>]+>", " ", unescape(pages.get("/last/1/AgentA").text)).split())
    wrote = card.partition("Wrote to its memory ")[2].partition(" What it knew")[0]
    same = "who keeps its word, from 1 to 10: the same words as before"
    assert wrote.startswith(f"about all turns: We fought C. {same}")
    assert "who is aggressive, from 1 to 10: AgentB 1, AgentC 8" in wrote.replace("■ ", "").replace("▲ ", "")
    memory = "about all turns: We met B & C. who keeps its word, from 1 to 10: AgentB 9"
    assert f"In its memory {memory}" in card
    told = " ".join(cli("trace", "last", "1", "AgentA").stdout.split())
    assert f"memory {memory} wrote down about all turns: We fought C." in told


def test_what_was_sent_stands_field_by_field_with_new_words_marked_and_as_it_was(
    opened: Store, pages: TestClient
) -> None:
    with answering(lambda _: SECOND):
        run = played(opened, request(rounds=2))
    page = pages.get("/last/1/miner-01").text
    (call,) = opened.calls.of_turn(run.id, 1, "miner-01")
    sent = page.partition("What was sent, new words since turn 0 marked")[2].partition("<h2>")[0]
    as_sent = sent.partition("as sent")[2].partition("<pre>")[2].partition("</pre>")[0]
    assert unescape(as_sent) == call.prompt.turn
    assert f"<pre>{call.prompt.system}</pre>" in unescape(sent)
    view = view_in(call.prompt.turn)
    assert view is not None
    told = unescape(re.sub(r"<[^>]+>", "", sent))
    assert all(f"\n{field}:" in told for field in view)
    assert "turn: <ins>1</ins>\n" in sent
    assert '\nyou: "miner-01"\n' in unescape(sent)
    assert "<del>" not in sent
    assert "since turn" not in pages.get("/last/0/miner-01").text


def test_a_view_is_told_by_field_whatever_its_texts_hold() -> None:
    """Python, but not JSON, ends a line at U+2028; what is long is broken, but not within an item."""
    assert by_field('Now.\n{"turn": 1, "notes": "a\u2028b"}\n[1]') == 'Now.\nturn: 1\nnotes: "a\u2028b"\n[1]'
    text = "long " * 20
    told = ["heard:", f'  - {{"from": "a", "text": "{text}"}}', "  - {}", "memory:", f'  notes: "{text}"']
    view = {"heard": [{"from": "a", "text": text}, {}], "memory": {"notes": text}}
    assert by_field(json.dumps(view)).split("\n") == told


def test_the_answer_that_does_not_count_is_on_the_card(opened: Store, pages: TestClient) -> None:
    with answering(by_attempt(FIRST, SECOND)):
        played(opened, request(reask=1))
    card = unescape(pages.get("/last/0/miner-01").text)
    assert "attempt 1, question 1: answered, does not count" in card
    assert f"<pre>{FIRST}</pre>" in card
    assert SECOND in re.sub(r"<[^>]+>", "", card.partition("raw answer")[2].partition("</pre>")[0])


def test_two_runs_are_shown_where_their_decisions_first_differ(
    opened: Store, pages: TestClient, replies: Replies
) -> None:
    """They differ from turn 2 on, in what AgentB says."""
    a = nations(opened, replies, {})
    b = nations(opened, replies, {(2, "AgentB"): {"purchase_mils": 1, "reasoning": "I <arm>."}})
    page = pages.get("/compare", params={"a": a.id, "b": b.id}).text
    decided = page.partition("First decision that differs")[2].partition("Results")[0]
    assert "turn 2, " in decided
    assert "<del>wait</del>" in decided
    assert "<ins>&lt;arm&gt;</ins>" in decided
    assert '<h3>prompt, from A to B</h3><p class="none">equal</p>' in decided
