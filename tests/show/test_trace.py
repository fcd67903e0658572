"""`hobbes trace RUN`: who did what to whom, turn by turn, and what is looked for in a run."""

import json
import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.errors import UsageError
from hobbes.play.start import RunOptions
from hobbes.show.matches import CONTEXT
from hobbes.store.history import stored_turn
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
    """Return what `hobbes trace last` prints as JSON."""
    return json.loads(cli("trace", "last", *words, "--json").stdout)


@pytest.mark.usefixtures("war")
def test_a_run_is_a_few_lines_per_turn_that_say_who_did_what_to_whom(war: Run, cli: Cli) -> None:
    headline, *lines = [line.strip() for line in cli("trace", "last").stdout.splitlines()]
    how_far = f"run {war.id}: nations, finished, 3 turns: all rounds were played"
    assert headline == f"{how_far} · 1 failed call (11.1%), 2 rejections"
    assert lines == [
        "0  attack ●AgentA → ■AgentB, ▲AgentC · message 1 · 1 rejection",
        "1  attack ▲AgentC → ●AgentA",
        "2  1 rejection · ✗ 1 failed: unreadable 1",
        "all  attack 3, message 1",
    ]


def test_a_run_begins_with_its_tokens_and_ends_with_what_came_of_all_events(opened: Store, cli: Cli) -> None:
    run = mining(opened)
    headline, *_, total = cli("trace", "last").stdout.splitlines()
    begins, went_wrong = f"run {run.id}: mining, finished, 4 turns: all rounds were played", "no failed calls"
    assert headline == f"{begins} · {went_wrong}, no rejections"
    events = [event for turn in opened.turns.of(run) for event in turn.record.events]
    claims = [event.facts["won"] for event in events if event.type == "claim"]
    assert f"claim {len(claims)} (won {claims.count(True)}), " in total
    opened.db.execute("update calls set tokens_in = 5, tokens_out = 2")
    calls = opened.db.table("calls").count
    assert f"{begins} · tokens in {5 * calls}, out {2 * calls} · no failed" in cli("trace", "last").stdout


def test_a_trace_of_nations_says_whose_land_changes(opened: Store, cli: Cli) -> None:
    answers = {"0/AgentA/1": '{"cede_territories": {"AgentB": ["T1", "T2"]}}'}
    with answering(lambda at: answers.get(at, "{}")):
        played(opened, RunOptions("nations", 3, models="openai:m", values={"rounds": 2}))
    _, first, second, *_ = cli("trace", "last").stdout.splitlines()
    assert first.endswith(" · territories ●AgentA 5→3, ■AgentB 5→7")
    assert "territories" not in second


def test_what_was_rejected_and_corrected_is_listed_with_the_reason(
    opened: Store, cli: Cli, pages: TestClient
) -> None:
    answers = {
        "0/AgentA/1": '{"money_grants": {"AgentA": 1}, "disband_mils": 999, "virtue": 7}',
        "1/AgentB/1": "I pass.",
    }
    with answering(lambda at: answers.get(at, "{}")):
        run = played(opened, RunOptions("nations", 3, models="openai:m", values={"rounds": 2}))
    told = json.loads(cli("trace", "last", "--rejected", "--json").stdout)
    assert [(one["turn"], one["agent"], one["kind"], one["code"]) for one in told] == [
        (0, "AgentA", "rejection", "nations/unknown-field"),
        (0, "AgentA", "rejection", "nations/self-target"),
        (0, "AgentA", "correction", "nations/disband-cut"),
        (1, "AgentB", "rejection", "read/unreadable"),
    ]
    lines = cli("trace", "last", "--rejected").stdout.splitlines()
    assert lines[1].split()[:3] == ["rejection", "1", "nations/unknown-field"]
    cut = "mils to disband were cut to those that were there"
    line = f'   0  ●AgentA  correction nations/disband-cut  {cut}: {{"disband_mils": 999}}'
    assert f'{line} → {{"disband_mils": 10}}' in lines
    of_b = cli("trace", "last", "--rejected", "--agent", "AgentB").stdout.splitlines()
    why = "the answer holds no JSON object that can be read"
    assert of_b[-1] == f"   1  ■AgentB  rejection read/unreadable  {why}: “I pass.”"
    assert len(of_b) == 4
    assert f'{cut}: {{"disband_mils": 999}}' in cli("trace", "last", "0").stdout
    page = pages.get(f"/{run.id}").text
    assert f'<a href="/{run.id}/rejections">3 rejections, 1 correction</a>' in page
    assert "1 failed call (16.7%)</a>" in page
    page = pages.get(f"/{run.id}/rejections").text
    assert f'<a href="/{run.id}/0/AgentA">0</a>' in page
    assert page.count(cut) == 2, "once as a reason, and once for the answer"
    assert "hobbes trace" in page
    assert "--rejected" in page
    assert "I pass." not in pages.get(f"/{run.id}/rejections?first=4").text


def test_corrections_that_changed_nothing_stand_apart(opened: Store, pages: TestClient) -> None:
    """A key that the schema does not have is listed last, folded; what was changed stands above."""
    said = {"no_such_field": 7, "claim": [[0, 0]], "reasoning": "so \x07 it is"}
    with answering(lambda _: json.dumps(said)):
        played(opened, RunOptions("mining", 1, models="openai:m", values={"rounds": 1}))
    above, _, folded = pages.get("/last/rejections").text.partition("1 correction that changed nothing")
    assert " it is" in re.sub(r"<[^>]+>", "", above)
    assert "no_such_field" in folded
    assert "no_such_field" not in above


@pytest.mark.usefixtures("war")
def test_a_run_without_rejections_says_so(opened: Store, cli: Cli, pages: TestClient) -> None:
    run = mining(opened, values={"rounds": 1})
    assert cli("trace", "last", "--rejected").stderr == "nothing was rejected or corrected\n"
    assert "Nothing was rejected or corrected" in pages.get(f"/{run.id}/rejections").text
    assert "<span>no failed calls</span> <span>no rejections</span>" in pages.get(f"/{run.id}").text


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
    assert "\nobserver  answered " in text


def test_a_long_run_is_short(opened: Store, cli: Cli) -> None:
    """In every turn each of 20 miners may raid each other, and each loses a part of its answer to noise."""
    values: dict[str, Any] = {"rounds": 20, "rows": 15, "cols": 15}
    played(opened, RunOptions("mining", 20, models="policy:random?noise=0.5", values=values))
    lines = cli("trace", "last", env={"COLUMNS": "80"}).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 20 * 8
    assert any(re.search(r"and \d+ more", line) for line in lines)


def test_something_that_came_from_somebody_points_the_other_way(opened: Store, cli: Cli) -> None:
    """A plot that was captured goes back to its owner from the raider."""
    asked: dict[str, Any] = {"authority": "adjudication", "adjudication_percent": 100, "rounds": 2}
    moves = {"0/miner-02/1": '{"claim": [[0, 0]]}', "1/miner-01/1": '{"raid": [[0, 0]]}'}
    with answering(lambda at: moves.get(at, "{}")):
        played(opened, RunOptions("mining", 2, models="openai:m", values=asked))
    last = cli("trace", "last").stdout.splitlines()[-2]
    assert last.strip() == "1  raid ●miner-01 → ■miner-02 captured · return ■miner-02 ← ●miner-01"


def test_events_of_some_types_are_listed(war: Run, opened: Store, cli: Cli) -> None:
    attacks = trace(cli, "--event", "attack")
    events = [
        (turn, event.to_json())
        for turn in range(3)
        for event in stored_turn(opened, war, turn).record.events
        if event.type == "attack"
    ]
    assert [(found["turn"], found["event"]) for found in attacks] == events
    assert len(events) == 3
    both = trace(cli, "--event", "attack", "--event", "message")
    assert [found["found_in"] for found in both] == ["event", "event", "message", "event"]
    text = cli("trace", "last", "--event", "attack").stdout
    assert [line.split()[:3] for line in text.splitlines()] == [
        ["0", "attack", "●AgentA"],
        ["0", "attack", "●AgentA"],
        ["1", "attack", "▲AgentC"],
    ]
    assert "target ▲AgentC" in text.splitlines()[1]


@pytest.mark.usefixtures("war")
def test_one_agents_run_has_its_calls_and_the_events_that_name_it(cli: Cli) -> None:
    lines = [line.strip() for line in cli("trace", "last", "--agent", "AgentB").stdout.splitlines()]
    assert lines == [
        "0  attack ●AgentA → ■AgentB",
        "1  nothing happened",
        "2  1 rejection · ✗ 1 failed: unreadable 1",
        "all  attack 1",
    ]
    turns = trace(cli, "--agent", "AgentB")
    assert [turn["events"] for turn in turns] == [{"attack": 1}, {}, {}]
    assert [turn["outcomes"] for turn in turns] == [{"answered": 1}, {"answered": 1}, {"unreadable": 1}]
    assert [turn["drops"] for turn in turns] == [{}, {}, {"read/unreadable": 1}]
    assert [
        (found["turn"], found["agent"]) for found in trace(cli, "--event", "attack", "--agent", "AgentC")
    ] == [(0, "AgentA"), (1, "AgentC")]


@pytest.mark.usefixtures("war")
def test_of_several_agents_all_are_shown(cli: Cli) -> None:
    both = ("--agent", "AgentB", "--agent", "AgentC")
    assert [turn["events"] for turn in trace(cli, *both)] == [turn["events"] for turn in trace(cli)]
    assert [turn["outcomes"].get("answered", 0) for turn in trace(cli, *both)] == [2, 2, 1]
    assert "attack ●AgentA → ■AgentB" in cli("trace", "last", *both).stdout
    assert {found["agent"] for found in trace(cli, "--grep", ".", *both)} >= {"AgentB", "AgentC"}


@pytest.mark.usefixtures("war")
def test_json_says_who_did_what_to_whom(cli: Cli) -> None:
    turns = trace(cli)
    attack = {"type": "attack", "role": "target", "result": "", "times": 1}
    assert turns[0]["deeds"] == [
        {**attack, "agent": "AgentA", "other": "AgentB"},
        {**attack, "agent": "AgentA", "other": "AgentC"},
    ]
    assert [len(turn["deeds"]) for turn in trace(cli, "--agent", "AgentB")] == [1, 0, 0]


def test_a_missed_high_five_is_told_once(opened: Store, cli: Cli) -> None:
    played(
        opened,
        RunOptions("trust", 2, models="policy:always-high-five", values={"rounds": 1, "miss": 100}),
    )
    (turn,) = trace(cli)
    attack = {"type": "attack", "role": "target", "result": "miss", "times": 1}
    assert turn["deeds"] == [
        {**attack, "agent": "unit-a", "other": "unit-b"},
        {**attack, "agent": "unit-b", "other": "unit-a"},
    ]
    line, total = (line for line in cli("trace", "last").stdout.splitlines() if "attack" in line)
    assert line.count("miss") == 2  # one for each unit
    assert total == " all  attack 2 (2 missed high fives among them), end 2 (timed out 2)"
    assert line.endswith("end ●unit-a timed out, ■unit-b timed out")
    assert turn["results"] == {"end": {"unit-a": "timed out", "unit-b": "timed out"}}
    assert "counted twice: as miss and as attack.\n" in cli("trace", "last", "0").stdout
    assert "turn 0: 2 missed high fives\n" in cli("trace", "last", "0").stdout


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        ("^Strike", [("reasoning", 0, "AgentA")]),
        (
            "[Ss]trike (first|back)",
            [("reasoning", 0, "AgentA"), ("answer", 0, "AgentC"), ("message", 0, "AgentC")],
        ),
        ("^attack AgentA AgentC", []),
        ("attack.*AgentC", [("answer", 0, "AgentA"), ("event", 0, "AgentA"), ("event", 1, "AgentC")]),
        ("pass", [("answer", 2, "AgentB")]),
        ("PASS", []),
    ],
)
@pytest.mark.usefixtures("war")
def test_a_pattern_is_looked_for_in_answers_reasoning_messages_and_events(
    pattern: str, where: list[tuple[str, int, str]], cli: Cli
) -> None:
    found = trace(cli, "--grep", pattern)
    assert [(one["found_in"], one["turn"], one["agent"]) for one in found] == where
    assert {one["source"] for one in found if one["found_in"] == "reasoning"} <= {"answer"}
    lines = cli("trace", "last", "--grep", pattern).stdout.splitlines()
    assert len([line for line in lines if re.match(r" +\d", line)]) == len(where)


@pytest.mark.usefixtures("war")
def test_filters_are_joined(cli: Cli) -> None:
    assert [one["found_in"] for one in trace(cli, "--grep", "strike", "--agent", "AgentC")] == [
        "answer",
        "message",
    ]
    assert [one["found_in"] for one in trace(cli, "--grep", "strike", "--event", "message")] == ["message"]
    assert trace(cli, "--grep", "strike", "--agent", "AgentB") == []
    assert "nothing found" in cli("trace", "last", "--grep", "no such thing").stderr


def test_what_is_found_in_a_long_answer_is_shown_with_what_is_around_it(opened: Store, cli: Cli) -> None:
    said = f"{'x' * 500} needle {'y' * 500}"
    with answering(lambda _: said):
        played(opened, RunOptions("mining", 1, models="openai:m", values={"rounds": 1}))
    (found,) = trace(cli, "--grep", "need.e")
    assert found["text"] == f"…{'x' * (CONTEXT - 1)} needle {'y' * (CONTEXT - 1)}…"


def test_what_models_say_is_spelled_out_where_it_is_found(opened: Store, cli: Cli) -> None:
    with answering(lambda _: "needle [bold red]x[/] \x1b[2J\u202e\nnext"):
        played(opened, RunOptions("mining", 1, models="openai:m", values={"rounds": 1}))
    text = cli("trace", "last", "--grep", "needle").stdout
    assert "needle [bold red]x[/] \\x1b[2J\\x202e next" in text
    assert not {"\x1b", "\u202e"} & set(text)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--event", "raid"],
            "nations has no events of the type 'raid'; it has: resource_grant, attack, unpaid,",
        ),
        (
            ["--agent", "AgentZ"],
            "nobody in run .* is called 'AgentZ'; did you mean 'AgentC' or ",
        ),
        (["--grep", "(a"], r"--grep: '\(a' is not a valid regular expression: "),
        (["--grep", "a{99999999999}"], "--grep: .* is not a valid regular expression: "),
        (["--grep", "[[:alpha:]]"], "--grep: .* is not a valid regular expression: "),
        (["1", "--grep", "a"], "--event, --agent and --grep search a whole run; leave out the turn"),
        (["1", "--rejected"], "--rejected is about a whole run"),
    ],
)
@pytest.mark.usefixtures("war")
def test_a_wrong_filter_is_reported_in_one_line(words: list[str], told: str, cli: Cli) -> None:
    error = cli("trace", "last", *words).exception
    assert isinstance(error, UsageError)
    assert re.search(told, str(error))
    assert "\n" not in str(error)
