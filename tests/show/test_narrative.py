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
    """Return the lines of a card in words, with single spaces."""
    told = cli("trace", "last", *words, env={"COLUMNS": str(columns)}).stdout.partition("\n\n")[0]
    return [" ".join(line.split()) for line in told.splitlines()]


@pytest.mark.usefixtures("war")
def test_a_card_says_why_what_was_done_what_came_of_it_and_what_changed_in_the_memory(cli: Cli) -> None:
    _, why, did, *told = in_words(cli, "1", "AgentA")
    assert why == "why (the model's own reasoning) It must pay."
    did, meanwhile, score = did.split(". ")
    assert did == "did ●AgentA attacked ■AgentB with 3 mils (15 damage, 2 of its own fell)"
    assert meanwhile == "Meanwhile ▲AgentC granted 9 to ●AgentA"
    assert score == "Its score: 34 → 82 (+48)."
    assert told == [
        "said to all: “B began.”",
        'refused rejected: attacks {"AgentZ": 1}: the entry names an unknown agent',
        "before ■AgentB attacked ●AgentA with 2 mils",
        "▲AgentC granted 7 to ●AgentA",
        "meanwhile ■AgentB thought: “It must pay.”",
        "▲AgentC thought: “It must pay.”",
        "memory about all turns: I offered peace.",
        "wrote down about turn 0: B attacked me.",
        "about all turns: the same words as before",
    ]


@pytest.mark.usefixtures("war")
def test_a_whole_card_also_says_what_was_wanted_heard_and_gained_and_has_all_that_is_raw(cli: Cli) -> None:
    whole = in_words(cli, "1", "AgentA", "--raw")
    assert whole[4:8] == [
        "wanted attack ■AgentB with 3 mils",
        "write to all: “B began.”",
        "1 more part was rejected",
        'refused rejected: attacks {"AgentZ": 1}: the entry names an unknown agent',
    ]
    assert "heard ■AgentB in turn 0: “Never.”" in whole
    assert "gained 34 welfare in the last turn, 14 of it from grants; 34 in all" in " ".join(whole)
    raw = cli("trace", "last", "1", "AgentA", "--raw").stdout
    parts = re.findall("^╭─ ([^─]+) ─", raw, re.MULTILINE)
    assert parts[2:7] == ["view", "answer", "outcome", "attempts", "rejections and corrections"]
    assert raw.count('"B began."') == 2, "in the answer, and in what became of it"
    assert cli("trace", "last", "1", "AgentA").stdout.endswith(" 1 AgentA --raw\n")


@pytest.mark.parametrize("words", [["1", "--raw"], ["AgentA", "--raw"], ["--event", "attack", "--raw"]])
@pytest.mark.usefixtures("war")
def test_only_a_run_and_the_turn_of_one_agent_are_shown_whole(cli: Cli, words: list[str]) -> None:
    assert "name the turn and the agent" in str(cli("trace", "last", *words).exception)


def test_a_card_says_what_came_next_between_its_agent_and_those_on_whom_it_acted(
    opened: Store, cli: Cli, pages: TestClient, replies: Replies
) -> None:
    """AgentB grants and buys as well, which is nothing between it and AgentA; in turn 3, nobody does."""
    long = "No peace. " * 30
    said: dict[tuple[int, str], dict[str, Any]] = {
        (0, "AgentA"): {"attacks": {"AgentB": 1}, "reasoning": "B is rich."},
        (0, "AgentB"): {"reasoning": "A is a friend."},
        (0, "AgentC"): {"reasoning": "They quarrel."},
        (1, "AgentB"): {"attacks": {"AgentA": 2}, "money_grants": {"AgentC": 1}, "purchase_mils": 1},
        (2, "AgentA"): {"messages": {"AgentB": "Peace?", "AgentC": "Help me."}},
        (2, "AgentB"): {"messages": {"all": long}},
        (4, "AgentA"): {"attacks": {"AgentB": 1}},
    }
    replies(lambda at: said.get((at.turn, at.agent), {}))
    played(opened, RunOptions("nations", 3, values={"rounds": 5}))
    told = in_words(cli, "0", "AgentA")
    first = told.index("meanwhile ■AgentB thought: “A is a friend.”")
    assert told[first + 1 : first + 4] == [
        "and then turn 1: ■AgentB attacked ●AgentA with 2 mils (10 damage, 2 of its own fell)",
        f"turn 2: ■AgentB wrote to all: “{long[:198]}…” · ●AgentA wrote to ■AgentB: “Peace?”",
        "turn 3: nothing between them",
    ]
    assert not any(line.startswith("turn 4") for line in told)
    page = pages.get("/last/0/AgentA").text
    text = " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).replace("\xa0", " ").split())
    assert "What others thought meanwhile ■ AgentB A is a friend. And then turn 1 : ■ AgentB attacked" in text
    assert "They quarrel." not in text
    assert "meanwhile ●AgentA thought: “B is rich.”" in in_words(cli, "0", "AgentB"), "who attacked it"
    assert "and then" not in " ".join(in_words(cli, "0", "AgentC")), "nobody had to do with it"


@pytest.mark.usefixtures("war")
def test_who_did_nothing_else_is_told_to_have_written(cli: Cli) -> None:
    assert in_words(cli, "0", "AgentA")[2].startswith("did ●AgentA did nothing but write to ■AgentB. ")


def test_every_raid_on_an_agent_is_told(opened: Store, cli: Cli, replies: Replies) -> None:
    """In turn 1, nine miners raid miner-01, which has lost draws, too; all write at length."""

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
    told = in_words(cli, "2", "miner-01")
    for raider in range(2, 11):
        assert any(f"miner-{raider:02} {did} [0,1] " in line for line in told for did in ("took", "raided"))


@pytest.mark.parametrize(("agents", "length"), [(4, 1000), (5, 300)])
def test_a_turn_of_up_to_four_agents_has_their_whole_thoughts(
    opened: Store, pages: TestClient, replies: Replies, agents: int, length: int
) -> None:
    replies(lambda _: {"reasoning": "because " * 125})
    played(opened, RunOptions("mining", agents, values={"rounds": 1}))
    page = pages.get("/last").text
    thoughts = re.findall(r"<(?:q|blockquote)>(because [^<]+)", page)
    assert len(thoughts) == agents
    assert all(length - 10 < len(thought) <= length for thought in thoughts)
    assert page.count("turns count from 0") == 1


@pytest.mark.usefixtures("war")
def test_a_page_tells_a_card_in_the_same_order(pages: TestClient) -> None:
    page = unescape(re.sub(r"<[^>]+>", " ", pages.get("/last/1/AgentA").text)).replace("\xa0", " ")
    text = " ".join(page.split())
    order = [
        "AgentA attacked",
        "Its score: 34 → 82 (+48).",
        "It must pay. the model's own reasoning",
        "What others thought meanwhile",
        "What it wanted attack",
        "rejected: ",
        "Wrote to its memory about turn 0: B attacked me.",
        "What it knew In its memory about all turns: I offered peace.",
        "Heard ■ AgentB in turn 0 Never.",
        "granted 7 to",
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
    assert in_words(cli, "0", "unit-a")[2].startswith(
        "did ●unit-a meant to high five ■unit-b, but missed: it came out as an attack. "
    )
    missed = "■unit-b attacked ●unit-a (in truth a missed high five; it was not told)"
    assert f"before {missed}" in in_words(cli, "1", "unit-a")


def test_long_texts_are_cut_short_unless_a_card_is_shown_whole(
    opened: Store, cli: Cli, replies: Replies
) -> None:
    """Everybody writes at length to all, raids others and fails to spell some of it."""

    def reply(address: Address) -> dict[str, Any]:
        long = f"{address.agent} has much to say in turn {address.turn}. " * 40
        texts = dict.fromkeys(("reasoning", "notes", "summary_last_turn", "history_summary", "message"), long)
        raids = [[row, col] for row in range(4) for col in range(4)]
        return {**texts, "claim": raids[:4], "raid": raids, "defend": ["x", 1]}

    replies(reply)
    values: dict[str, Any] = {"rounds": 3, "rows": 4, "cols": 4, "communication": True, "stamina": 20}
    played(opened, RunOptions("mining", 8, values=values))
    told = in_words(cli, "2", "miner-01", columns=100)
    assert any(line.endswith("…") for line in told)
    assert {line.split()[0] for line in told if line} >= {
        "why",
        "did",
        "said",
        "meanwhile",
        "memory",
        "wrote",
    }
    whole = " ".join(in_words(cli, "2", "miner-01", "--raw", columns=100))
    reasoning = " ".join(["miner-01 has much to say in turn 2."] * 40)
    assert f"why (from the answer) {reasoning} did " in whole
    assert reasoning not in " ".join(told)


@pytest.mark.parametrize(
    ("tremble", "told"), [("0.5", "; a tremble may have replaced the act by "), ("0.0", ")")]
)
def test_a_card_says_that_the_act_of_a_policy_that_trembles_may_be_random(
    opened: Store, cli: Cli, tremble: str, told: str
) -> None:
    played(opened, RunOptions("trust", 2, models=f"policy:copycat?tremble={tremble}", values={"rounds": 1}))
    assert f"why (from the answer{told}" in " ".join(in_words(cli, "0", "unit-a"))


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
    card = cli("trace", "last", "0", "miner-01", "--raw").output
    for text in (card, pages.get("/last/0/miner-01").text):
        assert text.count(f"… and {6 * MAX_SHOWN:,} more characters; --json prints all") >= 2
        assert MAX_SHOWN // 7 <= text.count("answer ") < MAX_SHOWN
        assert MAX_SHOWN // 7 <= len(re.findall(r"\breason\b", text)) < MAX_SHOWN
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
    _, why, did, *_ = in_words(cli, "0", "miner-01")
    assert did == (
        "did The orders of ●miner-01 were not read: the answer was cut off at its greatest length."
        " By default, it did nothing. Its gold: 0, unchanged."
    )
    assert in_words(cli, "0", "miner-01", "--raw")[3] == "wanted unknown: its orders were not read"
    assert why == "why (from the answer that was discarded) Peace is over, so I"
    assert in_words(cli, "0", "miner-02")[1] == (
        "why (the model's own reasoning; the answer was discarded) I refuse."
    )
    page = " ".join(pages.get("/last/0/miner-01").text.split())
    assert '<blockquote>Peace is over, so I</blockquote> <p class="about">from the answer that' in page


def test_a_card_of_a_policy_says_that_it_was_sent_no_prompt(
    opened: Store, cli: Cli, pages: TestClient
) -> None:
    played(opened, RunOptions("mining", 2, models="policy:defend-then-mine", values={"rounds": 1}))
    sent = "a scripted policy: it was sent only its view, no words of a prompt"
    raw = cli("trace", "last", "0", "miner-01", "--raw").stdout
    assert f"─ prompt ({sent}) ─" in raw
    assert "system prompt" not in raw
    page = pages.get("/last/0/miner-01").text
    assert f"<summary>What was sent ({sent})</summary>" in page
    assert "system prompt" not in page
    rendered = cli("prompts", "render", "mining", "--run", "last", "--agent", "miner-01")
    assert rendered.stderr.startswith(f"in the run, miner-01 was played by {sent}\n")
    results = pages.get("/last").text
    assert "<dt>prompts</dt><dd>no prompts (scripted)</dd>" in results


def test_a_card_says_that_nothing_was_done_to_its_agent(opened: Store, cli: Cli, pages: TestClient) -> None:
    played(opened, RunOptions("mining", 2, models="policy:defend-then-mine", values={"rounds": 2}))
    assert "before nothing was done to it since its last turn" in in_words(cli, "1", "miner-01")
    assert "nothing was done to it since its last turn" in pages.get("/last/1/miner-01").text


def test_up_to_ten_plots_are_named() -> None:
    assert plots([(0, column) for column in range(10)]).endswith("[0,8] and [0,9]")
    assert plots([(0, column) for column in range(11)]) == "11 plots"


def test_names_are_found_in_words_but_not_in_quotations() -> None:
    looks = looks_of(["unit-a", "unit-a-2", "b"])
    words = "unit-a-2 sent unit-a and b: “b, unit-a” unit-abc"
    assert [piece for piece in with_names(words, looks) if piece in looks] == ["unit-a-2", "unit-a", "b"]
    assert "".join(with_names(words, looks)) == words
    assert with_names("nobody", {}) == ["nobody"]
