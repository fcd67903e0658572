"""The story of a run: what happened in a few sentences, its key moments, and a line for each turn."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hobbes.engine.measures import Measures
from hobbes.engine.telling import Telling, in_numbers
from hobbes.errors import HobbesError
from hobbes.play.start import RunOptions, begin
from hobbes.show.palette import looks_in
from hobbes.show.story import Story, story_of
from hobbes.store.home import Store, open_store
from hobbes.store.recorded_run import Run
from hobbes.worlds import WORLDS
from tests.show.conftest import Replies
from tests.show.test_counted import faulty_run
from tests.small_runs import mining, played

Answers = Mapping[tuple[int, str], dict[str, Any]]


def shown(store: Store, run: Run) -> Story:
    return story_of(store, run, looks_in(store, run))


def lines(story: Story) -> list[str]:
    return [" · ".join(filter(None, (line.turns, *line.words, line.failures))) for line in story.lines]


def two_miners(opened: Store, replies: Replies, answers: Answers, rounds: int) -> Story:
    """Play two miners on a row of two plots, and return the story."""
    replies(lambda at: answers.get((at.turn, at.agent), {}))
    values: dict[str, Any] = {"rounds": rounds, "rows": 1, "cols": 2, "immunity": 0}
    return shown(opened, played(opened, RunOptions("mining", 2, seed=1, values=values)))


def test_mining_tells_its_raids_and_that_draws_decided_who_owns_what(opened: Store, replies: Replies) -> None:
    """Both claim both plots, and seed 1 gives miner-01 the first. In turns 3 and 4, miner-02 raids it.

    In five turns miner-01 mines 3 gold each."""
    both, defended = {"claim": [[0, 0], [0, 1]]}, {"defend": [[0, 0]], "mine": [{"cell": [0, 0], "s": 3}]}
    answers = {(0, "miner-01"): both, (0, "miner-02"): both} | {
        (turn, "miner-01"): defended for turn in range(1, 6)
    }
    raids = {(turn, "miner-02"): {"raid": [[0, 0]]} for turn in (3, 4)}
    story = two_miners(opened, replies, answers | raids, 6)
    assert story.sentences == [
        "2 raids, none succeeded.",
        "miner-02 made all raids.",
        "The draws of turn 0 decided who owns what.",
        "miner-01 has 15 gold, miner-02 0.",
    ]
    assert story.moments == {3: ["first raid by miner-02"], 5: ["last turn"]}
    claimed = (
        "claimed [0,0], but lost the draw for [0,1]; miner-02 claimed [0,1], but lost the draw for [0,0]"
    )
    worked = "miner-01 defended [0,0]; miner-01 mined 3 gold on [0,0]"
    raided = "3 · miner-02 raided [0,0] of miner-01 (blocked)"
    first = [f"0 · miner-01 {claimed}", f"1 · {worked}", "2 · as before"]
    assert lines(story) == [*first, raided, "4 · as before", f"5 · {worked}"]


def test_mining_tells_who_owns_most_if_draws_did_not_decide_it(opened: Store, replies: Replies) -> None:
    answers: Answers = {
        (0, "miner-01"): {"claim": [[0, 0]]},
        (0, "miner-02"): {"claim": [[0, 1]]},
        (2, "miner-01"): {"raid": [[0, 1]]},
    }
    story = two_miners(opened, replies, answers, 2)
    assert story.sentences[:2] == ["No raids.", "Each plot has the owner that it had after turn 0."]
    story = two_miners(opened, replies, answers, 3)
    assert story.sentences[:2] == ["1 raid, which succeeded.", "miner-01 owns 2 of 2 plots, the most."]
    assert story.moments[2] == ["first raid by miner-01", "first capture by miner-01", "last turn"]


def test_nations_tells_attacks_grants_and_whose_land_changed(opened: Store, replies: Replies) -> None:
    grant = {"money_grants": {"AgentC": 5}}
    answers: Answers = {
        (1, "AgentA"): {"cede_territories": {"AgentB": ["T1", "T2"]}},
        (1, "AgentC"): {"cede_territories": {"AgentB": ["T11", "T12"]}},
        **{(turn, "AgentB"): {"attacks": {"AgentA": mils}, **grant} for turn, mils in ((3, 2), (4, 1))},
        (2, "AgentA"): grant,
        (5, "AgentA"): {"money_grants": {"AgentC": 6}},
    }
    replies(lambda at: answers.get((at.turn, at.agent), {}))
    story = shown(opened, played(opened, RunOptions("nations", 3, values={"rounds": 7})))
    assert story.sentences[:3] == [
        "2 attacks, 4 grants, 4 cessions.",
        "AgentB made all attacks.",
        "AgentA and AgentC went from 5 to 3 territories and AgentB went from 5 to 9 territories.",
    ]
    ceded = "AgentA ceded T1 and T2 to AgentB; AgentC ceded T11 and T12 to AgentB"
    fell = "damage, 2 of its own fell)"
    assert lines(story) == [
        "0 · nothing happened",
        f"1 · {ceded} · territories AgentA 5→3, AgentB 5→9, AgentC 5→3",
        "2 · AgentA granted 5 to AgentC",
        f"3 · AgentB attacked AgentA with 2 mils (10 {fell}; AgentB granted 5 to AgentC",
        "4 · much as before",
        "5 · AgentA granted 6 to AgentC",
        "6 · nothing happened",
    ]
    assert {turn: story.moments[turn][0] for turn in (1, 3)} == {
        1: "first cession by AgentA and AgentC",
        3: "first attack by AgentB",
    }


def test_trust_tells_attacks_and_high_fives_and_where_cooperation_fell(
    opened: Store, replies: Replies
) -> None:
    """unit-a attacks in turn 3; up to then both high five."""

    def reply(at: Any) -> dict[str, Any]:
        action = "attack" if (at.turn, at.agent) == (3, "unit-a") else "high_five"
        return {"action": action, "target": "unit-b" if at.agent == "unit-a" else "unit-a"}

    replies(reply)
    story = shown(opened, played(opened, RunOptions("trust", 2, values={"rounds": 5, "miss": 0})))
    assert story.sentences[:2] == ["1 attack, 9 high fives.", "The last high five was in the last turn."]
    assert story.moments[3] == [
        "first attack by unit-a",
        "cooperation falls most, from 100% to 50%",
        "unit-a leads from here on",
    ]
    both = "unit-a high fived unit-b, which returned it; unit-b high fived unit-a, which returned it"
    hanging = "unit-b high fived unit-a, which did not return it"
    apart = f"3 · unit-a attacked unit-b; {hanging}"
    assert lines(story) == [f"0 · {both}", "1 to 2 · as before", apart, f"4 · {both}"]


def test_a_turn_as_before_says_how_many_messages_are_new(opened: Store, replies: Replies) -> None:
    """Both write in each turn: unit-a anew, unit-b again what it wrote before."""

    def reply(at: Any) -> dict[str, Any]:
        other = "unit-b" if at.agent == "unit-a" else "unit-a"
        text = f"word {at.turn}" if at.agent == "unit-a" else "peace"
        return {"action": "high_five", "target": other, "messages": {other: text}}

    replies(reply)
    values: dict[str, Any] = {"rounds": 5, "miss": 0, "messages": "private"}
    story = shown(opened, played(opened, RunOptions("trust", 2, values=values)))
    assert lines(story)[1] == "1 to 4 · as before · 4 new messages"


def test_trust_tells_missed_high_fives_as_such_and_from_when_on_nobody_cooperates(
    opened: Store, replies: Replies
) -> None:
    """All high fives miss, and none is meant in turns 2 and 3; in turn 3, unit-a attacks."""

    def reply(at: Any) -> dict[str, Any]:
        other = "unit-b" if at.agent == "unit-a" else "unit-a"
        if at.turn < 2:
            return {"action": "high_five", "target": other}
        return {"action": "attack" if (at.turn, at.agent) == (3, "unit-a") else "do_nothing", "target": other}

    replies(reply)
    story = shown(opened, played(opened, RunOptions("trust", 2, values={"rounds": 4, "miss": 100})))
    missed = "4 high fives, of which 4 missed and came out as attacks. 1 other attack."
    ended = ["The last high five was in turn 1.", "There was no returned high five."]
    assert story.sentences[:3] == [missed, *ended]
    assert "no high five from here on" in story.moments[2]


def test_who_did_more_than_a_third_is_named_and_who_has_least(opened: Store, replies: Replies) -> None:
    """Of six miners, miner-01 raids three times and two others once; each next one mines longer."""
    raids: dict[tuple[int, str], list[list[int]]] = {
        (1, "miner-01"): [[0, 1], [0, 2], [0, 3]],
        (1, "miner-02"): [[0, 0]],
        (1, "miner-03"): [[0, 0]],
    }

    def reply(at: Any) -> dict[str, Any]:
        place = int(at.agent[-2:]) - 1
        if at.turn == 0:
            return {"claim": [[0, place]]}
        cell = [{"cell": [0, place], "s": 1}] if 2 <= at.turn < 3 + place else []
        return {"raid": raids.get((at.turn, at.agent), []), "defend": [[0, place]], "mine": cell}

    replies(reply)
    values: dict[str, Any] = {"rounds": 8, "rows": 1, "cols": 6, "immunity": 0}
    story = shown(opened, played(opened, RunOptions("mining", 6, values=values)))
    assert story.sentences[1] == "miner-01 made 3 of 5 raids."
    assert story.sentences[-1].endswith("the others 1 (miner-01) to 5.")


@pytest.mark.parametrize("world", WORLDS)
def test_a_game_in_which_nothing_happens_is_told_in_a_few_lines(
    opened: Store, replies: Replies, world: str
) -> None:
    replies(lambda _: {})
    story = shown(opened, played(opened, RunOptions(world, 3, values={"rounds": 4})))
    assert story.sentences[0] in {"No raids.", "No attacks."}
    assert story.sentences[-1].startswith("All have ")
    assert story.moments == {3: ["last turn"]}
    ends = {"trust": ["0", "1 to 2", "3"]}  # the last turn of trust says how the game ended
    assert [line.turns for line in story.lines] == ends.get(world, ["0", "1 to 3"])


def test_a_world_without_facets_tells_its_length_and_scores(opened: Store) -> None:
    run = mining(opened)
    bare = replace(run, world=replace(run.world, telling=Telling(), measures=Measures()))
    story = shown(opened, bare)
    length, scores = story.sentences
    assert length == "4 turns were played."
    assert " a score of " in scores
    assert [*story.moments][-1] == 3


def test_a_world_with_landmarks_alone_tells_their_numbers(opened: Store) -> None:
    run = mining(opened)
    plain = replace(run, world=replace(run.world, telling=replace(run.world.telling, in_short=None)))
    landmarks = shown(opened, run).marks.landmarks
    numbers = Counter({name: places.total() for name, places in landmarks.items()})
    assert shown(opened, plain).sentences[0] == in_numbers(numbers, {"raid": "raid", "capture": "capture"})
    assert in_numbers(Counter(capture=1), {"raid": "raid", "capture": "capture"}) == ("No raids, 1 capture.")


def test_a_run_without_turns_has_no_story(opened: Store) -> None:
    story = shown(opened, begin(opened, RunOptions("mining", 2)))
    assert (story.sentences, story.moments, story.lines) == ((), {}, [])


def test_the_story_of_a_halted_run_is_that_of_its_turns_so_far(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run halts in turn 1, two of whose calls failed; one call of turn 0 had failed before."""
    with pytest.raises(HobbesError):
        faulty_run(opened, monkeypatch, on_failure="halt")
    story = shown(opened, opened.runs.find("last"))
    assert story.moments == {}
    assert [line.failures for line in story.lines] == ["✗ 1 failed: unreadable 1"]
    run = mining(opened)
    opened.db.execute("update runs set status = 'halted' where id = ?", [run.id])
    story = shown(opened, opened.runs.find(run.id))
    assert story.sentences[0].startswith("So far: ")
    assert story.moments[3][-1] == "last turn so far"


MODELS = {
    "mining": "policy:random?noise=0.2*2,policy:raider",
    "nations": "policy:militarist*1,policy:reciprocal-trader?noise=0.3*2",
    "trust": "policy:copykitten*2,policy:random",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@settings(max_examples=6, deadline=None)
@given(world=st.sampled_from([*MODELS]), seed=st.integers(0, 99), rounds=st.integers(1, 9))
def test_each_turn_is_told_in_one_line_and_moments_are_turns_that_bring_something_new(
    home: Path, world: str, seed: int, rounds: int
) -> None:
    with open_store(home) as store:
        run = played(store, RunOptions(world, 3, seed=seed, models=MODELS[world], values={"rounds": rounds}))
        story = shown(store, run)
    turns = [turn for line in story.lines for turn in range(line.first, line.last + 1)]
    assert turns == [*range(run.turns)]
    firsts = {line.first for line in story.lines}
    assert {turn for turn, words in story.moments.items() if words != ["last turn"]} <= firsts
    quiet = [
        (line.words, after.words)
        for line, after in pairwise(story.lines)
        if not line.failed and not after.failed and after.first not in story.moments
    ]
    assert not any(words == again for words, again in quiet)
    assert [*story.moments] == sorted(story.moments)
    best = max(story.scores[run.turns - 1].values())
    assert f" {best}" in story.sentences[-1]
