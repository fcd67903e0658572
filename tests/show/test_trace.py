"""`hobbes trace RUN`: who did what to whom, turn by turn, and what is looked for in a run."""

import json
import re
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.errors import UsageError
from hobbes.play.start import RunOptions
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests.conftest import Cli
from tests.play.test_second_question import answering
from tests.small_runs import mining, played

WAR: dict[str, str] = {
    "0/AgentA/1": '{"attacks": {"AgentB": 3, "AgentC": 2}, "reasoning": "Strike first."}',
    "0/AgentC/1": '{"messages": {"AgentA": "I strike back."}, "memory": "n\\u00f6 peace"}',
    "1/AgentC/1": '{"attacks": {"AgentA": 1}}',
    "2/AgentB/1": "I pass.",
}
"""What three nations answer in three turns; whoever is not here answers nothing of note."""


@pytest.fixture
def war(opened: Store) -> Run:
    """AgentA attacks both others, AgentC writes and hits back, and AgentB's last call fails."""
    with answering(lambda at: WAR.get(at, "{}")):
        return played(opened, RunOptions("nations", 3, models="openai:m", values={"rounds": 3}))


def trace(cli: Cli, *words: str) -> Any:
    return json.loads(cli("trace", "last", *words, "--json").stdout)


@pytest.mark.usefixtures("war")
def test_a_run_is_a_few_lines_per_turn_that_say_who_did_what_to_whom(war: Run, cli: Cli) -> None:
    headline, in_short, moments, *lines = [line.strip() for line in cli("trace", "last").stdout.splitlines()]
    how_far = f"run {war.id}: nations, finished, 3 turns: all rounds were played"
    assert headline == f"{how_far} · 1 failed call (11.1%), 2 rejections"
    scores = "●AgentA has a score of 101, ▲AgentC 82, ■AgentB 75."
    assert (
        in_short == f"3 attacks. ●AgentA made 2 of 3 attacks. All have as much land as at the start. {scores}"
    )
    assert moments == "turn 0: first attack by ●AgentA, most attacks: 2; turn 2: last turn"
    fell = "damage, 2 of its own fell)"
    both = f"■AgentB with 3 mils (15 {fell} and ▲AgentC with 2 mils (10 {fell}"
    assert lines == [
        f"0  ●AgentA attacked {both} · 1 rejection",
        "1  ▲AgentC attacked ●AgentA with 1 mil (5 damage, 1 of its own fell)",
        "2  1 rejection · ✗ 1 failed: unreadable 1",
        "all  attack 3, message 1",
    ]


def test_a_run_begins_with_its_tokens_and_ends_with_what_came_of_all_events(opened: Store, cli: Cli) -> None:
    run = mining(opened)
    headline, *_, total = cli("trace", "last").stdout.splitlines()
    begins, went_wrong = f"run {run.id}: mining, finished, 4 turns: all rounds were played", "no failed calls"
    assert headline == f"{begins} · {went_wrong}, no rejections"
    claims = [event for turn in opened.turns.of(run) for event in turn.record.events if event.type == "claim"]
    assert f"claim {len(claims)}, " in total
    opened.db.execute("update calls set tokens_in = 5, tokens_out = 2")
    calls = opened.db.table("calls").count
    assert f"{begins} · tokens in {5 * calls}, out {2 * calls} · no failed" in cli("trace", "last").stdout


def test_what_was_rejected_and_corrected_is_told_with_the_reason(
    opened: Store, cli: Cli, pages: TestClient
) -> None:
    answers = {
        "0/AgentA/1": '{"money_grants": {"AgentA": 1}, "disband_mils": 999, "virtue": 7}',
        "1/AgentB/1": "I pass.",
    }
    with answering(lambda at: answers.get(at, "{}")):
        run = played(opened, RunOptions("nations", 3, models="openai:m", values={"rounds": 2}))
    rejected = trace(cli, "--event", "rejection")
    assert [(one["turn"], one["agent"]) for one in rejected] == [(0, "AgentA"), (1, "AgentB")]
    assert [one["agent"] for one in trace(cli, "--event", "correction")] == ["AgentA"]
    cut = "corrected: disband_mils 999: mils to disband were cut to those that were there"
    assert rejected[0]["refused"][-1] == cut
    assert len(rejected[0]["refused"]) == 3
    kind, _, what = cut.partition(": ")
    for words in (["--event", "rejection"], ["0"], ["AgentA"]):
        assert f"   0  ●AgentA  {kind}  {what}\n" in cli("trace", "last", *words).stdout
    assert "answer holds no JSON object that can be read" in cli("trace", "last", "AgentB").stdout
    page = unescape(pages.get(f"/{run.id}").text)
    assert f'<a href="/{run.id}/diary?event=rejection">3 rejections</a>' in page
    assert f'<a href="/{run.id}/diary?event=correction">1 correction</a>' in page
    assert "1 failed call (16.7%)</a>" in page
    page = pages.get(f"/{run.id}/diary?event=rejection").text
    assert f'<a href="/{run.id}/0/AgentA">' in page
    assert cut in page


def test_a_run_without_rejections_has_no_way_to_them(opened: Store, cli: Cli, pages: TestClient) -> None:
    run = mining(opened, values={"rounds": 1})
    assert cli("trace", "last", "--event", "rejection").stderr == "nothing found\n"
    page = pages.get(f"/{run.id}").text
    assert "no failed calls" not in page
    assert "event=rejection" not in page


def test_a_turn_has_its_draws_and_ratings_and_its_observer(opened: Store, cli: Cli) -> None:
    answers = {"0/unit-a/1": '{"action": "beg", "amount": 3, "reason": "I want them."}'}
    high_five = '{"action": "high_five", "target": "unit-a", "aggressor_report": {"unit-a": 4}}'
    with answering(lambda at: answers.get(at, high_five)):
        values: dict[str, Any] = {"rounds": 1, "miss": 50, "observer": "openai:m"}
        played(opened, RunOptions("trust", 2, models="openai:m", values=values))
    text = cli("trace", "last", "0").stdout
    card = trace(cli, "0")
    assert card["draws"]
    assert all(f"{one['event']} " in text for one in card["draws"])
    assert "draws\nevent" in text
    assert "aggressor report\nrater" in text
    assert re.search(r"^observer +1 .* answered ", text.partition("calls\n")[2], re.MULTILINE)


@pytest.mark.usefixtures("war")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--event", "attack"], [(0, "AgentA"), (1, "AgentC")]),
        (["--event", "message"], [(0, "AgentC")]),
        (["--event", "failed call"], [(2, "AgentB")]),
    ],
)
def test_filters_choose_from_the_diary_of_all_if_nobody_is_named(
    words: list[str], found: list[tuple[int, str]], cli: Cli
) -> None:
    assert [(one["turn"], one["agent"]) for one in trace(cli, *words)] == found
    shown = cli("trace", "last", *words)
    told = re.findall(r"^ +(\d)  .(Agent.)", shown.stdout, re.MULTILINE)
    assert list(dict.fromkeys((int(turn), agent) for turn, agent in told)) == found


def test_a_missed_high_five_is_told_once(opened: Store, cli: Cli) -> None:
    values: dict[str, Any] = {"rounds": 1, "miss": 100}
    played(opened, RunOptions("trust", 2, models="policy:always-high-five", values=values))
    *_, line, total = cli("trace", "last").stdout.splitlines()
    assert line.count("but missed: it came out as an attack") == 2, "one for each unit"
    assert total.strip() == "all  miss 2, end 2"
    assert " ".join(cli("trace", "last", "0").stdout.split()).count("but missed: it came out") == 2
    diary = [
        " ".join(one.split()) for one in cli("trace", "last", "unit-a", "--event", "miss").stdout.splitlines()
    ]
    missed = "meant to high five {}, but missed: it came out as an attack"
    assert [one for one in diary if "thought" not in one] == [
        f"0 ●unit-a did {missed.format('■unit-b')}",
        f"0 ■unit-b did {missed.format('●unit-a')}",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--event", "raid"],
            "--event: nations has no 'raid'; choose from: attack, .*, unpaid, .*, failed call, rejection,",
        )
    ],
)
@pytest.mark.usefixtures("war")
def test_a_wrong_filter_is_reported_in_one_line(words: list[str], told: str, cli: Cli) -> None:
    error = cli("trace", "last", *words).exception
    assert isinstance(error, UsageError)
    assert re.search(told, str(error))
    assert "\n" not in str(error)
