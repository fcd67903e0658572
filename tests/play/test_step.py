"""`hobbes step`: the engine alone, with JSON Lines in and out."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hobbes.play.step import step_lines
from hobbes.worlds import WORLDS
from tests.conftest import Cli
from tests.soak import examples

HAPPENED = {"outcomes", "intents", "drops", "mends", "events", "draws", "rulings", "ledgers"}
KEYS = {"state", "views", "memories", "over", "scores"} | HAPPENED
SMALL = {"config": {"rows": 2, "cols": 2, "rounds": 2}, "agents": ["A", "B"], "seed": 1}


def step_in(world: str, **request: Any) -> Any:
    (line,) = step_lines(WORLDS[world], [json.dumps(request)])
    return json.loads(line)


def step(**request: Any) -> Any:
    return step_in("mining", **{**SMALL, **request})


def test_without_a_state_it_starts_and_without_answers_it_only_shows() -> None:
    shown = step(state=None)
    assert shown.keys() == KEYS
    assert shown["state"]["turn"] == 0
    assert shown["state"]["owners"] == [[None, None], [None, None]]
    assert shown["views"]["A"]["you"] == "A"
    assert (shown["events"], shown["over"], shown["scores"]) == ([], False, {"A": 0, "B": 0})


def test_an_answer_is_an_object_or_the_text_of_one() -> None:
    by_text = step(answers={"A": '{"claim": [[0, 0]]}', "B": "```{}```"})
    by_object = step(answers={"A": {"claim": [[0, 0]]}, "B": {}})
    assert by_text["state"] == by_object["state"]
    assert by_text["state"]["owners"][0][0] == "A"
    assert by_text["events"] == [{"type": "claim", "agent": "A", "plot": [0, 0], "won": True}]


def test_the_memory_of_an_agent_left_out_changes_as_after_a_failed_call() -> None:
    fields = ("notes", "previous_turn_summary", "history_summary", "keeps_word_report", "aggressor_report")
    wrote = {"summary_last_turn": "I claimed.", "notes": "wait", "claim": [[9, 9]]}
    first = step(answers={"A": wrote, "B": {}})
    assert first["memories"]["A"]["feedback"]
    second = {"state": first["state"], "memories": first["memories"]}
    left_out = step(**second, answers={"B": {}})["memories"]["A"]
    failed = step(**second, answers={"A": "", "B": {}})["memories"]["A"]
    assert left_out["notes"] == "wait"
    assert (left_out["previous_turn_summary"], left_out["feedback"]) == ("", [])
    assert [left_out[name] for name in fields] == [failed[name] for name in fields]


def test_rejections_are_in_the_result() -> None:
    told = step(answers={"A": {"claim": [[9, 9]]}, "B": "I pass."})
    assert [(drop["agent"], drop["stage"], drop["code"]) for drop in told["drops"]] == [
        ("A", "rule", "mining/off-grid"),
        ("B", "read", "read/unreadable"),
    ]
    assert told["drops"][0].keys() == {"agent", "stage", "code", "said", "detail"}


def test_a_contest_is_a_draw() -> None:
    (draw,) = step(answers={"A": {"claim": [[0, 0]]}, "B": {"claim": [[0, 0]]}})["draws"]
    assert draw.keys() == {"event", "subject", "participants", "digest", "winner"}
    assert (draw["event"], draw["subject"], draw["participants"]) == ("claim", [0, 0], ["A", "B"])


def test_a_state_given_back_needs_the_named_fields_only() -> None:
    state = {
        "turn": 1,
        "owners": [["A", None], [None, "B"]],
        "first_owner": [["A", None], [None, "B"]],
        "since": [[0, None], [None, 0]],
        "gold": {"A": 5, "B": 0},
    }
    told = step(state=state, answers={"A": {"raid": [[1, 1]]}, "B": {"mine": [{"cell": [1, 1], "s": 2}]}})
    assert told["state"]["owners"] == [["A", None], [None, "A"]]
    assert (told["over"], told["scores"]) == (True, {"A": 5, "B": 0})


def test_a_wrong_line_gives_an_error_and_the_next_line_is_read() -> None:
    lines = [
        "no JSON",
        "[]",
        '{"confg": {}}',
        '{"agents": ["\\ud800"]}',
        '{"config": {"rows": -1}}',
        f'{{"config": {{"rows": {"9" * 5_000}}}}}',
        '{"agents": []}',
        '{"agents": ["A", "A"]}',
        '{"seed": "x"}',
        '{"state": {"turn": 0}}',
        '{"state": []}',
        '{"answers": {"stranger": {}}}',
        '{"answers": []}',
        "[" * 100_000,
        '{"config": {"nope": 1}}',
        json.dumps(SMALL),
    ]
    told = [json.loads(line) for line in step_lines(WORLDS["mining"], lines)]
    assert all(line.keys() == {"error"} and "\n" not in line["error"] for line in told[:-1])
    assert told[-1].keys() == KEYS
    assert "settings: rounds" in told[-2]["error"]


PATHS: tuple[tuple[str | int, ...], ...] = (
    *((name,) for name in step()["state"]),
    *((name, 0) for name in ("owners", "first_owner", "since", "claimed", "alpha")),
    *((name, 0, 0) for name in ("owners", "first_owner", "since", "claimed", "alpha")),
    ("gold", "A"),
    ("gold", "stranger"),
)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["A", "B"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=examples(100, 400), deadline=None)
@given(st.sampled_from(PATHS), anything, anything)
def test_every_line_gets_a_line(path: tuple[str | int, ...], value: Any, answer: Any) -> None:
    state = step(answers={"A": {"claim": [[0, 0]]}, "B": {"raid": [[0, 0]]}})["state"]
    place: Any = state
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    told = step(
        state=state, answers={"A": answer, "B": {"raid": [[0, 0]], "mine": [{"cell": [0, 0], "s": 1}]}}
    )
    assert told.keys() in (KEYS, {"error"})


def test_it_touches_no_file(cli: Cli, home: Path) -> None:
    done = cli("step", "mining", input=json.dumps(SMALL) + "\n\n" + json.dumps(SMALL) + "\n")
    assert (done.exit_code, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 2
    assert not home.exists()


@pytest.mark.parametrize(
    ("memories", "told"),
    [
        ({"stranger": {}}, "memories: there is no agent stranger"),
        ({"A": {"note": "x"}}, "memories: A.note: Extra inputs are not permitted; a memory has notes, "),
    ],
)
def test_a_memory_that_nobody_has_is_an_error(memories: Any, told: str) -> None:
    assert step(memories=memories)["error"].startswith(told)


BEG = {"unit-a": {"action": "beg", "amount": 3, "reason": "rent"}}
RULING = {"rulings": {"unit-a": {"grant": 2, "reason": "once"}}}


@pytest.mark.parametrize(
    ("world", "observer", "answers", "told"),
    [
        ("mining", None, {}, "mining has no observer"),
        ("trust", "human", None, "without answers, no turn is played"),
        ("trust", "human", {"unit-a": {"action": "block"}}, "nobody asks the observer in this turn"),
        ("trust", "sparing", BEG, "a rule of the world rules here"),
    ],
)
def test_a_ruling_that_nobody_asked_for_is_an_error(
    world: str, observer: str | None, answers: Any, told: str
) -> None:
    config = {"observer": observer} if observer else {}
    answer = step_in(world, config=config, answers=answers, ruling=RULING)
    assert answer["error"].startswith(f"ruling: {told}")


def test_a_ruling_that_was_asked_for_is_carried_out() -> None:
    answer = step_in("trust", config={"observer": "human"}, answers=BEG, ruling=RULING)
    assert answer["rulings"]["unit-a"]["granted"] == 2
