"""A card in words: what an agent did, why, what it knew, and what it wanted, before anything raw."""

import json
import re
import tracemalloc
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.engine.answer import Outcome
from hobbes.engine.mining.telling import plots
from hobbes.nodes.journal import Address, ReasoningSource, Reply
from hobbes.play.start import RunOptions
from hobbes.show.narrative import reasoning_in
from hobbes.show.palette import looks_of, with_names
from hobbes.show.trace import MAX_SHOWN
from hobbes.store.home import Store
from tests.conftest import Cli
from tests.show.conftest import Replies
from tests.small_runs import played

SAID: dict[tuple[int, str], dict[str, Any]] = {
    (0, "AgentA"): {"messages": {"AgentB": "Peace?"}, "history_summary": "I offered peace."},
    (0, "AgentB"): {"messages": {"AgentA": "Never."}, "attacks": {"AgentA": 2}},
    (0, "AgentC"): {"money_grants": {"AgentA": 7}},
    (1, "AgentA"): {
        "attacks": {"AgentB": 3, "AgentZ": 1},
        "messages": {"all": "B began."},
        "summary_last_turn": "B attacked me.",
        "history_summary": "I offered peace.",
    },
    (1, "AgentC"): {"money_grants": {"AgentA": 9}},
}


@pytest.fixture
def war(opened: Store, replies: Replies) -> None:
    """AgentB answers an offer of peace with an attack, and AgentA hits back; its model says why."""

    def reply(at: Address) -> Reply:
        said = json.dumps(SAID.get((at.turn, at.agent), {}))
        return Reply(said, "model", "It must pay.", reasoning_source=ReasoningSource.TRACE)

    replies(reply)
    played(opened, RunOptions("nations", 3, values={"rounds": 2}))


def in_words(cli: Cli, *words: str, columns: int = 1000) -> list[str]:
    """Return the lines of a card before anything raw, with single spaces."""
    told, _, raw = cli("trace", "last", *words, env={"COLUMNS": str(columns)}).stdout.partition("── raw")
    assert "─ prompt" in raw
    return [" ".join(line.split()) for line in told.splitlines()]


@pytest.mark.usefixtures("war")
def test_a_card_says_what_was_done_why_what_was_known_and_what_was_wanted(cli: Cli) -> None:
    _, *told = in_words(cli, "1", "AgentA")
    did, meanwhile, score = told[0].split(". ")
    assert did == "●AgentA attacked ■AgentB with 3 mils (15 damage, 2 of its own fell)"
    assert meanwhile == "Meanwhile ▲AgentC granted 9 to ●AgentA"
    assert score == "Its score: 34 → 82 (+48)."
    gained, *now = told[7].split("; ")
    assert gained == "gained 34 welfare in the last turn, 14 of it from grants"
    assert now[0] == "34 in all"
    assert now[-1] == "now 5 territories and 10 mils"
    assert told[1:7] + told[8:] == [
        "why (the model's own reasoning) It must pay.",
        "wanted attack ■AgentB with 3 mils; write to all: “B began.”; 1 more part was rejected",
        'refused rejected: attacks {"AgentZ": 1}: the entry names an unknown agent',
        "heard ■AgentB in turn 0: “Never.”",
        "done to it ■AgentB attacked ●AgentA with 2 mils",
        "▲AgentC granted 7 to ●AgentA",
        "noted about all turns: I offered peace.",
        "wrote down about turn 0: B attacked me. · about all turns: the same words as before",
    ]


@pytest.mark.usefixtures("war")
def test_who_did_nothing_else_is_told_to_have_written(cli: Cli) -> None:
    assert in_words(cli, "0", "AgentA")[1].startswith("●AgentA did nothing but write to ■AgentB. ")


def test_every_raid_on_an_agent_and_every_message_is_told(opened: Store, cli: Cli, replies: Replies) -> None:
    """In turn 1, nine miners raid miner-01; all write at length."""

    def reply(address: Address) -> dict[str, Any]:
        place = int(address.agent[-2:])
        long = dict.fromkeys(("reasoning", "notes", "message"), f"{address.agent} writes much. " * 40)
        own = {"claim": [[0, place], [1, place], [2, 9]]}
        if address.turn == 1:
            own = {"raid": [[0, 1]]} if place > 1 else {"claim": [[2, 0]]}
        return {**long, **own}

    replies(reply)
    values: dict[str, Any] = {"rounds": 3, "rows": 10, "cols": 11, "communication": True}
    played(opened, RunOptions("mining", 10, values=values))
    told = " ".join(in_words(cli, "2", "miner-01", columns=80))
    for raider in range(2, 11):
        assert any(f"miner-{raider:02} {did} [0,1] " in told for did in ("took", "raided"))
        assert f"miner-{raider:02} to all in turn 1: “miner-{raider:02} writes much." in told


@pytest.mark.usefixtures("war")
def test_a_page_tells_a_card_in_the_same_order(pages: TestClient) -> None:
    page = unescape(re.sub(r"<[^>]+>", " ", pages.get("/last/1/AgentA").text)).replace("\xa0", " ")
    text = " ".join(page.split())
    order = [
        "AgentA attacked",
        "Its score: 34 → 82 (+48).",
        "It must pay. the model's own reasoning",
        "What it wanted attack",
        "rejected: ",
        "Wrote down about turn 0: B attacked me.",
        "What it knew",
        "Never.",
        "granted 7 to",
        "I offered peace.",
        "As it was recorded",
        "raw answer",
        "system prompt",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_what_a_unit_knew_is_what_it_saw_and_readers_are_told_the_truth(opened: Store, cli: Cli) -> None:
    """Its high five missed; the other one saw an attack, and nobody told it otherwise."""
    values: dict[str, Any] = {"rounds": 2, "miss": 100}
    played(opened, RunOptions("trust", 2, models="policy:always-high-five", values=values))
    assert in_words(cli, "0", "unit-a")[1].startswith(
        "●unit-a meant to high five ■unit-b, but missed: it came out as an attack. "
    )
    missed = "■unit-b attacked ●unit-a (in truth a missed high five; it was not told)"
    assert f"done to it {missed}" in in_words(cli, "1", "unit-a")


def test_a_call_that_failed_is_told_first(opened: Store, cli: Cli, replies: Replies) -> None:
    replies(lambda _: "I would rather not.")
    played(opened, RunOptions("mining", 2, values={"rounds": 1, "taint_share": 1.0}))
    _, told, why, wanted, *_ = in_words(cli, "0", "miner-01")
    assert told == (
        "The orders of ●miner-01 were not read: the answer holds no JSON object that can be read."
        " By default, it did nothing. Its gold: 0, unchanged."
    )
    assert why == "why none"
    assert wanted == "wanted unknown: its orders were not read"


@pytest.mark.parametrize(
    ("answer", "reasoning"),
    [
        ('{"reasoning": "It \\"swore\\" peace,\n so I', 'It "swore" peace,\n so I'),
        ('{"raid": [[1, 1]], "reasoning": "Now.", "notes": "it', "Now."),
        ('{"reasoning": "Now \\u00', "Now \\u00"),
        ('<think>It holds four. {"reasoning": "a draft', 'It holds four. {"reasoning": "a draft'),
        ("<thought>It holds", "It holds"),
        ('<think>first</think>{"reasoning": "then', "then"),
        ("I would rather not.", ""),
        ("", ""),
    ],
)
def test_the_reasoning_of_a_lost_answer_is_found_in_its_text(answer: str, reasoning: str) -> None:
    assert reasoning_in(answer) == reasoning


def test_the_reasoning_of_a_long_lost_answer_is_found_in_bounded_memory() -> None:
    said = "I doubt it.\\n" * 20_000
    tracemalloc.start()
    found = reasoning_in(f'{{"reasoning": "{said}')
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == said.replace("\\n", "\n")
    assert most < 10 * len(said)


def test_a_card_shows_the_beginning_of_a_long_answer_and_how_much_more_there_is(
    opened: Store, cli: Cli, pages: TestClient, replies: Replies
) -> None:
    replies(lambda _: Reply("answer " * MAX_SHOWN, "model", "reason " * MAX_SHOWN))
    played(opened, RunOptions("mining", 2, values={"rounds": 1, "taint_share": 1.0}))
    card = cli("trace", "last", "0", "miner-01").output
    for text in (card, pages.get("/last/0/miner-01").text):
        assert text.count(f"… and {6 * MAX_SHOWN:,} more characters; --json prints all") >= 2
        assert MAX_SHOWN // 7 <= text.count("answer ") < MAX_SHOWN
        assert MAX_SHOWN // 7 <= text.count("reason ") < MAX_SHOWN
    assert cli("trace", "last", "0").output.count("reason ") < MAX_SHOWN
    assert pages.get("/last/0").text.count("reason ") < MAX_SHOWN
    assert len(json.loads(cli("trace", "last", "0", "miner-01", "--json").output)["answer"]) == 7 * MAX_SHOWN


def test_a_lost_answer_is_told_with_its_reason_and_its_reasoning(
    opened: Store, cli: Cli, pages: TestClient, replies: Replies
) -> None:
    """One is cut off in its reasoning; of another, the model's own reasoning came."""

    def reply(address: Address) -> Reply:
        if address.agent == "miner-01":
            return Reply('{"reasoning": "Peace is over, so I', "model", failure=Outcome.TRUNCATED)
        return Reply("no", "model", "I refuse.", reasoning_source=ReasoningSource.TRACE)

    replies(reply)
    played(opened, RunOptions("mining", 2, values={"rounds": 1, "taint_share": 1.0}))
    _, told, why, *_ = in_words(cli, "0", "miner-01")
    assert told.startswith(
        "The orders of ●miner-01 were not read: the answer was cut off at its greatest length. By default, "
    )
    assert why == "why (from the answer that was discarded) Peace is over, so I"
    assert in_words(cli, "0", "miner-02")[2] == (
        "why (the model's own reasoning; the answer was discarded) I refuse."
    )
    page = " ".join(pages.get("/last/0/miner-01").text.split())
    assert (
        '<blockquote>Peace is over, so I</blockquote> <p class="about" title="reasoning">from the answer that'
        in page
    )


def test_a_card_of_a_policy_says_that_it_was_sent_no_prompt(
    opened: Store, cli: Cli, pages: TestClient
) -> None:
    played(opened, RunOptions("mining", 2, models="policy:defend-then-mine", values={"rounds": 1}))
    sent = "a scripted policy: it was sent only its view, no words of a prompt"
    raw = cli("trace", "last", "0", "miner-01").stdout
    assert f"─ prompt ({sent}) ─" in raw
    assert "system prompt" not in raw
    page = pages.get("/last/0/miner-01").text
    assert f"<summary>prompt ({sent})</summary>" in page
    assert "system prompt" not in page
    rendered = cli("prompts", "render", "mining", "--run", "last", "--agent", "miner-01")
    assert rendered.stderr.startswith(f"in the run, miner-01 was played by {sent}\n")
    results = pages.get("/last").text
    assert "<dt>prompts</dt><dd>no prompts (scripted)</dd>" in results


def test_a_card_says_that_nothing_was_done_to_its_agent(opened: Store, cli: Cli, pages: TestClient) -> None:
    played(opened, RunOptions("mining", 2, models="policy:defend-then-mine", values={"rounds": 2}))
    assert "done to it nothing since its last turn" in in_words(cli, "1", "miner-01")
    assert "nothing since its last turn" in pages.get("/last/1/miner-01").text


def test_up_to_ten_plots_are_named() -> None:
    assert plots([(0, column) for column in range(10)]).endswith("[0,8] and [0,9]")
    assert plots([(0, column) for column in range(11)]) == "11 plots"


def test_names_are_found_in_words_but_not_in_quotations() -> None:
    looks = looks_of(["unit-a", "unit-a-2", "b"])
    words = "unit-a-2 sent unit-a and b: “b, unit-a” unit-abc"
    assert [piece for piece in with_names(words, looks) if piece in looks] == ["unit-a-2", "unit-a", "b"]
    assert "".join(with_names(words, looks)) == words
    assert with_names("nobody", {}) == ["nobody"]
