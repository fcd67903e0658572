"""Diaries, in the terminal and as pages: what was thought, said and done, turn by turn."""

import json
import re
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.nodes.journal import Address, ReasoningSource, Reply
from hobbes.play.start import RunOptions
from hobbes.show import diary
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.conftest import Cli
from tests.play.test_second_question import answering
from tests.show.conftest import Replies
from tests.small_runs import mining, played

SAID: dict[str, dict[str, Any]] = {
    "0/AgentA": {"messages": {"AgentB": "I shall never attack you"}, "reasoning": "Peace, for now."},
    "0/AgentB": {"messages": {"AgentA": "I trust you", "AgentC": "A is a friend"}},
    "1/AgentA": {"attacks": {"AgentB": 3}, "messages": {"all": "nothing personal"}, "reasoning": "Now."},
    "1/AgentC": {"money_grants": {"AgentB": 7}, "purchase_mils": 1},
    "2/AgentB": {"attacks": {"AgentA": 2, "AgentZ": 1}, "reasoning": "An eye for an eye."},
}
"""What agents answer, by turn; AgentC's last answer is not readable."""


@pytest.fixture
def broken_word(opened: Store) -> Run:
    """AgentA promises peace in turn 0 and attacks in turn 1; AgentB strikes back in turn 2."""

    def answer(at: str) -> str:
        place = at.rpartition("/")[0]
        return "hm" if place == "2/AgentC" else json.dumps(SAID.get(place, {}))

    with answering(answer):
        return played(
            opened, RunOptions("nations", 3, models="openai:m", values={"rounds": 3, "taint_share": 1.0})
        )


def lines(cli: Cli, *words: str) -> list[str]:
    """Return what `hobbes trace last` prints, with single spaces."""
    return [" ".join(line.split()) for line in cli("trace", "last", *words).stdout.splitlines()]


@pytest.mark.usefixtures("broken_word")
def test_who_broke_its_word_first_is_one_command(cli: Cli) -> None:
    """Beside each attack stands what its agent had last written to the one it attacked."""
    assert lines(cli, "all", "--event", "attack") == [
        "1 ●AgentA thought Now.",
        "1 ●AgentA said to all: “nothing personal”",
        "1 ●AgentA did attacked ■AgentB with 3 mils (15 damage, 2 of its own fell)",
        "1 ●AgentA (in turn 0, it had written to ■AgentB: “I shall never attack you”)",
        "2 ■AgentB thought An eye for an eye.",
        "2 ■AgentB did attacked ●AgentA with 2 mils (10 damage, 2 of its own fell)",
        "2 ■AgentB (in turn 0, it had written to ●AgentA: “I trust you”)",
        '2 ■AgentB rejected attacks {"AgentZ": 1}: the entry names an unknown agent',
    ]


def test_before_a_landmark_stands_what_its_agent_had_written_to_each_to_whom_it_was_done(
    opened: Store, cli: Cli, pages: TestClient
) -> None:
    """AgentA wrote to AgentB, but not to AgentC, before it attacked both; AgentC never wrote to AgentA.

    What AgentA had last written to all is told once, of both whom it attacked.
    """
    said: dict[str, dict[str, Any]] = {
        "0/AgentA": {"messages": {"AgentB": "Peace."}},
        "1/AgentA": {"messages": {"AgentB": "Peace, still."}},
        "2/AgentA": {"attacks": {"AgentB": 1, "AgentC": 1}},
        "2/AgentC": {"attacks": {"AgentA": 1}},
        "3/AgentA": {"messages": {"all": "Peace with all."}},
        "4/AgentA": {"attacks": {"AgentB": 1, "AgentC": 1}},
    }
    with answering(lambda at: json.dumps(said.get(at.rpartition("/")[0], {}))):
        played(opened, RunOptions("nations", 3, models="openai:m", values={"rounds": 5}))
    last = "in turn 1, it had written to ■AgentB: “Peace, still.”"
    of_all = "in turn 3, it had written to all: “Peace with all.”"
    assert [line for line in lines(cli, "--event", "attack") if "written" in line] == [
        f"2 ●AgentA ({last})",
        "2 ●AgentA (it had never written to ▲AgentC)",
        "2 ▲AgentC (it had never written to ●AgentA)",
        f"4 ●AgentA ({of_all})",
    ]
    page = unescape(pages.get("/last/diary").text)
    assert page.count("“Peace with all.”</p>") == 2, "said, told"
    assert "it had never written to ▲AgentC" in shown(page).replace("▲ ", "▲")


@pytest.mark.usefixtures("broken_word")
def test_the_diary_of_two_has_their_thoughts_and_what_passed_between_them(cli: Cli) -> None:
    told = lines(cli, "AgentA", "AgentB")
    assert told[:3] == [
        "0 ●AgentA thought Peace, for now.",
        "0 ●AgentA said to ■AgentB: “I shall never attack you”",
        "0 ■AgentB said to ●AgentA: “I trust you”",
    ]
    assert not any("AgentC" in line for line in told)


@pytest.mark.usefixtures("broken_word")
def test_the_diary_of_one_has_what_others_wrote_and_did_to_it_but_not_their_thoughts(cli: Cli) -> None:
    unreadable = "its orders were not read: the answer holds no JSON object that can be read"
    assert lines(cli, "AgentC") == [
        "0 ■AgentB said to ▲AgentC: “A is a friend”",
        "0 ▲AgentC did nothing",
        "1 ●AgentA said to all: “nothing personal”",
        "1 ▲AgentC did granted 7 to ■AgentB",
        "1 ▲AgentC did bought 1 mil",
        f"2 ▲AgentC failed ✗ unreadable: {unreadable}",
        "2 ▲AgentC by default did nothing",
    ]


def test_an_agent_whose_whole_answer_was_rejected_stands_in_the_diary(opened: Store, cli: Cli) -> None:
    """Nothing happened because of it, and yet it has a row, with what was rejected; --event finds it."""
    with answering(lambda at: json.dumps({"attacks": {"Nobody": 1}} if at.startswith("0/AgentA") else {})):
        played(opened, RunOptions("nations", 2, models="openai:m", values={"rounds": 1}))
    did, why = lines(cli, "all", "--event", "rejection")
    assert did == "0 ●AgentA did nothing"
    assert why.startswith("0 ●AgentA rejected attacks ")


@pytest.mark.usefixtures("broken_word")
def test_json_has_an_object_for_each_agent_and_turn(cli: Cli) -> None:
    entries = json.loads(cli("trace", "last", "AgentB", "AgentA", "--json").stdout)
    (attack,) = (one for one in entries if one["turn"] == 1 and one["agent"] == "AgentA")
    assert (attack["thought"], attack["source"], attack["events"]) == ("Now.", "answer", ["attack"])
    assert attack["said"] == [{"to": None, "text": "nothing personal"}]
    (deed,) = attack["done"]
    assert (deed["type"], deed["events"], deed["to"]) == ("attack", ["attack"], ["AgentB"])
    last = {"turn": 0, "to": "AgentB", "text": "I shall never attack you"}
    assert deed["promised"] == [{"to": "AgentB", "last": last}]


@pytest.mark.usefixtures("broken_word")
def test_an_unknown_name_is_met_with_the_nearest_ones(cli: Cli) -> None:
    unknown = cli("trace", "last", "AgntB").exception
    assert "is called 'AgntB'; did you mean 'AgentB'" in str(unknown)
    unknown = cli("trace", "last", "1", "AgntB").exception
    assert "'AgntB' did not act in turn 1; did you mean 'AgentB'" in str(unknown)
    several = cli("trace", "last", "1", "AgentA", "AgentB").exception
    assert "a turn has the card of one agent" in str(several)


def test_the_thought_of_an_answer_without_one_is_the_reasoning_of_its_model(
    opened: Store, cli: Cli, replies: Replies
) -> None:
    def reply(address: Address) -> Reply:
        own = {"reasoning": "I say so."} if address.agent == "miner-01" else {}
        return Reply(json.dumps(own), "model", "I wonder.", reasoning_source=ReasoningSource.TRACE)

    replies(reply)
    mining(opened, values={"rounds": 1})
    thoughts = [line for line in lines(cli, "all") if "thought" in line]
    assert thoughts[:2] == ["0 ●miner-01 thought I say so.", "0 ■miner-02 thought I wonder."]


def shown(page: str) -> str:
    """Return the text of a page below its filters, with single spaces."""
    return " ".join(
        unescape(re.sub(r"<[^>]+>", " ", page.partition("</form>")[2])).replace("\xa0", " ").split()
    )


def test_a_page_has_the_diary_and_each_entry_leads_to_its_card(broken_word: Run, pages: TestClient) -> None:
    page = pages.get("/last/diary").text
    order = ["never attack you", "I trust you", "attacked", "in turn 0 , it had written", "An eye for an eye"]
    places = [shown(page).index(words) for words in order]
    assert places == sorted(places)
    assert page.count(f'href="/{broken_word.id}/1/AgentA"') == 1
    assert "its orders were not read: the answer holds no JSON object" in page
    assert "✗ failed call" in page


@pytest.mark.usefixtures("broken_word")
def test_a_page_shows_what_is_chosen(pages: TestClient) -> None:
    for asked, there, missing in (
        ({"agent": "AgentC"}, "A is a friend", "Peace, for now"),
        ({"agent": "AgentA", "other": "AgentB"}, "Peace, for now", "A is a friend"),
        ({"event": "attack"}, "An eye for an eye", "A is a friend"),
        ({"event": "rejection"}, "An eye for an eye", "Now."),
        ({"event": "failed call"}, "failed call", "eye"),
    ):
        text = shown(pages.get("/last/diary", params=asked).text)
        assert there in text, asked
        assert missing not in text, asked


def test_a_column_in_which_nothing_would_stand_is_left_out(opened: Store, pages: TestClient) -> None:
    mining(opened, values={"rounds": 1})
    entry = (
        pages.get("/last/diary").text.partition('<div class="entry">')[2].partition('<div class="entry">')[0]
    )
    assert entry.count("<div>") == 2, "nobody can say anything"


@pytest.mark.usefixtures("broken_word")
def test_a_long_diary_is_shown_part_by_part(pages: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diary, "MAX_ENTRIES", 3)
    first = pages.get("/last/diary").text
    assert re.findall(r'id="turn-(\d)"', first) == ["0"]
    (later,) = {*re.findall(r'rel="next" href="([^"]+)"', first)}
    page = pages.get(unescape(later)).text
    assert re.findall(r'id="turn-(\d)"', page) == ["1"]
    assert "it had written" in shown(page)
    (before,) = {*re.findall(r'rel="prev" href="([^"]+)"', page)}
    assert pages.get(unescape(before)).text == first
