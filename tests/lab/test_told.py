"""A card in words: what an agent did, why, what it knew, and what it wanted, before anything raw."""

import json
import re
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.lab.play.playing import RunOptions
from hobbes.lab.show.palette import looks_of, with_names
from hobbes.lab.store.home import Store
from hobbes.nodes.journal import ReasoningSource, Reply
from hobbes.nodes.players import PolicyPlayer
from tests.conftest import Cli
from tests.lab.play import played

MOST = 25
"""How many lines of a card stand before anything raw."""

SAID: dict[tuple[int, str], dict[str, Any]] = {
    (0, "AgentA"): {"messages": {"AgentB": "Peace?"}, "history_summary": "I offered peace."},
    (0, "AgentB"): {"messages": {"AgentA": "Never."}, "attacks": {"AgentA": 2}},
    (0, "AgentC"): {"money_grants": {"AgentA": 7}},
    (1, "AgentA"): {"attacks": {"AgentB": 3, "AgentZ": 1}, "messages": {"all": "B began."}},
    (1, "AgentC"): {"money_grants": {"AgentA": 9}},
}


@pytest.fixture
def war(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """AgentB answers an offer of peace with an attack, and AgentA hits back; its model says why."""

    async def reply(self: object, address: Any, prompt: Any) -> Reply:
        del self, prompt
        said = json.dumps(SAID.get((address.turn, address.agent), {}))
        return Reply(said, "model", "It must pay.", reasoning_source=ReasoningSource.TRACE)

    monkeypatch.setattr(PolicyPlayer, "reply", reply)
    played(opened, RunOptions("nations", 3, values={"rounds": 2}))


def in_words(cli: Cli, *words: str, columns: int = 1000) -> list[str]:
    """Return the lines of a card before anything raw, with single spaces."""
    told, _, raw = cli("trace", "last", *words, env={"COLUMNS": str(columns)}).stdout.partition("── raw")
    assert "system prompt" in raw
    return [" ".join(line.split()) for line in told.splitlines()]


@pytest.mark.usefixtures("war")
def test_a_card_says_what_was_done_why_what_was_known_and_what_was_wanted(cli: Cli) -> None:
    _, *told = in_words(cli, "1", "AgentA")
    did, meanwhile, score = told[0].split(". ")
    assert did == "●AgentA attacked ■AgentB with 3 mils (15 damage, 2 fell)"
    assert meanwhile == "Meanwhile ▲AgentC granted 9 to ●AgentA"
    assert score == "Its score: 34 → 82 (+48)."
    gained, *now = told[5].split("; ")
    assert gained == "gained 34 welfare in the last turn, 14 of it from grants"
    assert now[0] == "34 in all"
    assert now[-1] == "now 5 territories and 10 mils"
    assert told[1:5] + told[6:] == [
        "why (the model's own reasoning) It must pay.",
        "heard ■AgentB: “Never.”",
        "done to it ■AgentB attacked ●AgentA with 2 mils",
        "▲AgentC granted 7 to ●AgentA",
        "noted of all turns: I offered peace.",
        "wanted attack ■AgentB with 3 mils; write to all: “B began.”",
        "refused rejected: the entry names an unknown agent",
    ]


@pytest.mark.usefixtures("war")
def test_a_page_tells_a_card_in_the_same_order(pages: TestClient) -> None:
    page = unescape(re.sub(r"<[^>]+>", " ", pages.get("/last/1/AgentA").text)).replace("\xa0", " ")
    text = " ".join(page.split())
    order = [
        "AgentA attacked",
        "Its score: 34 → 82 (+48).",
        "It must pay. the model's own reasoning",
        "What it knew",
        "Never.",
        "granted 7 to",
        "I offered peace.",
        "What it wanted attack",
        "rejected: ",
        "As it was recorded",
        "raw answer",
        "system prompt",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_what_a_unit_knew_is_what_it_saw(opened: Store, cli: Cli) -> None:
    """Its high five missed; the other one saw an attack, and nobody told it otherwise."""
    values: dict[str, Any] = {"rounds": 2, "miss": 100}
    played(opened, RunOptions("trust", 2, models="policy:always-high-five", values=values))
    assert in_words(cli, "0", "unit-a")[1].startswith(
        "●unit-a meant to high five ■unit-b, but missed: it came out as an attack. "
    )
    assert "done to it ■unit-b attacked ●unit-a" in in_words(cli, "1", "unit-a")


def test_a_missed_high_five_is_told_once_and_is_no_attack(opened: Store, cli: Cli) -> None:
    values: dict[str, Any] = {"rounds": 1, "miss": 100}
    played(opened, RunOptions("trust", 2, models="policy:always-high-five", values=values))
    printed = cli("trace", "last", "all").stdout.splitlines()
    told = [" ".join(line.split()) for line in printed if "thought" not in line]
    missed = "meant to high five {}, but missed: it came out as an attack"
    assert told == [
        "first miss: turn 0, ●unit-a, ■unit-b",
        f"0 ●unit-a did {missed.format('■unit-b')}",
        "0 ●unit-a did had not won when the rounds ran out",
        f"0 ■unit-b did {missed.format('●unit-a')}",
        "0 ■unit-b did had not won when the rounds ran out",
    ]


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_card_in_words_has_at_most_25_lines(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Everybody writes at length to all, raids others and fails to spell some of it."""

    async def reply(self: object, address: Any, prompt: Any) -> Reply:
        del self, prompt
        long = f"{address.agent} has much to say. " * 40
        texts = dict.fromkeys(("reasoning", "notes", "summary_last_turn", "history_summary", "message"), long)
        raids = [[row, col] for row in range(4) for col in range(4)]
        return Reply(json.dumps({**texts, "claim": raids[:4], "raid": raids, "defend": ["x", 1]}), "model")

    monkeypatch.setattr(PolicyPlayer, "reply", reply)
    values: dict[str, Any] = {"rounds": 3, "rows": 4, "cols": 4, "communication": True, "stamina": 20}
    played(opened, RunOptions("mining", 8, values=values))
    told = in_words(cli, "2", "miner-01", columns=columns)
    assert len(told) <= MOST
    assert {line.split()[0] for line in told if line} >= {"why", "heard", "gained", "noted", "wanted"}
    assert any("more; they are below" in line for line in told)


def test_a_call_that_failed_is_told_first(opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    async def reply(self: object, address: Any, prompt: Any) -> Reply:
        del self, address, prompt
        return Reply("I would rather not.", "model")

    monkeypatch.setattr(PolicyPlayer, "reply", reply)
    played(opened, RunOptions("mining", 2, values={"rounds": 1, "taint_share": 1.0}))
    assert in_words(cli, "0", "miner-01")[1] == (
        "●miner-01 gave no decision (unreadable); by default, it did nothing. Its gold: 0, unchanged."
    )


def test_names_are_found_in_words_but_not_in_quotations() -> None:
    looks = looks_of(["unit-a", "unit-a-2", "b"])
    words = "unit-a-2 sent unit-a and b: “b, unit-a” unit-abc"
    assert [piece for piece in with_names(words, looks) if piece in looks] == ["unit-a-2", "unit-a", "b"]
    assert "".join(with_names(words, looks)) == words
    assert with_names("nobody", {}) == ["nobody"]
