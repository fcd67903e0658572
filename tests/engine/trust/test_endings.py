"""Victory, death, draws and teams."""

from typing import Any

from hobbes.engine.trust.rules import ending as in_words
from hobbes.engine.trust.state import State, actors, over, owner, scores
from hobbes.engine.trust.world import TRUST
from tests.engine.trust.plays import game, play


def ending(state: State) -> tuple[str | None, bool]:
    return state.winner, state.drawn


def test_a_replicate_wins_the_race_at_once_after_the_other_effects_are_booked() -> None:
    """A 100 - 50 - 4 = 46, B 50 + 4 = 54; no new unit is made."""
    round_ = play(game(sats={"a": 100, "b": 50}), a="replicate", b="attack")
    assert round_.sats == {"a": 46, "b": 54}
    assert ending(round_.after) == ("a", False)
    assert over(round_.after)
    assert [e["result"] for e in round_.events("end")] == ["won", "lost"]


def test_what_counts_is_what_is_left_after_the_round() -> None:
    """A 103 - 50 - 4 = 49, B 100 - 50 = 50."""
    state = game(sats={"a": 103, "b": 100, "c": 50})
    assert ending(play(state, a="replicate", b="replicate", c="attack a").after) == ("b", False)


def test_a_lone_survivor_of_the_race_plays_on_and_may_replicate() -> None:
    state = play(game(sats={"a": 99, "b": 2}, observer="always"), a="beg 2 for more", b="high_five").after
    assert actors(state) == ("a",)
    assert not over(state)
    assert ending(play(state, a="replicate").after) == ("a", False)


def test_a_lone_survivor_has_nobody_to_high_five() -> None:
    assert play(game(sats={"a": 50, "b": 0}), a="high_five").codes == ["trust/no-target"]


def test_in_team_play_a_replicate_makes_a_unit_that_acts_from_the_next_round() -> None:
    round_ = play(game(sats={"a": 100, "b": 50}, victory="team"), a="replicate", b="block")
    assert actors(round_.before) == ("a", "b")
    assert actors(round_.after) == ("a", "a-2", "b")
    assert not over(round_.after)
    assert round_.events("replicate") == [
        {"type": "replicate", "agent": "a", "succeeded": True, "clone": "a-2"}
    ]
    after = play(round_.after, a="do_nothing", a_2="attack b", b="do_nothing")
    assert after.sats == {"a": 50, "a-2": 29, "b": 45}


def test_a_new_unit_is_named_for_its_team_and_never_like_another() -> None:
    sats = {"a": 100, "a-2": 50, "b": 50}
    state = play(game(sats=sats, victory="team"), a="replicate").after
    assert [unit.id for unit in state.units] == ["a", "a-2", "a-3", "b"]
    assert owner(state, "a-3") == "a"
    assert owner(state, "a-2") == "a-2"


def test_two_of_a_team_replicate_in_one_round_under_two_names() -> None:
    state = game(sats={"a": 100, "b": 50}, victory="team")
    state = play(state, a="replicate").after
    data = TRUST.state.to_json(state)
    data["units"] = [{**unit, "sats": 100} for unit in data["units"]]
    state = TRUST.state.load(state.setting, data)
    after = play(state, a="replicate", a_2="replicate", b="block").after
    assert [unit.id for unit in after.units] == ["a", "a-2", "a-3", "a-4", "b"]
    assert {owner(after, unit) for unit in ("a-3", "a-4")} == {"a"}


def test_the_sats_of_a_team_are_those_of_all_its_units() -> None:
    """A has 100 - 50 = 50 and its new unit 25: together 75 against B's 60."""
    round_ = play(game(turn=29, sats={"a": 100, "b": 60}, victory="team"), a="replicate", b="do_nothing")
    assert ending(round_.after) == ("a", False)
    assert scores(round_.after) == {"a": 75, "b": 60}


def test_how_a_game_ended_is_told_in_words() -> None:
    """By a replication, by equal sats, by the last round, by death, by the last team, and with allies."""
    rich = {"a": 100, "b": 100}
    teams: dict[str, Any] = {"victory": "team"}
    allied: dict[str, Any] = {"alliances": [["a", "b"]], "allies_win": True}
    for round_, words in (
        (play(game(sats=rich), a="replicate", b="block"), "a replicated in turn 0"),
        (
            play(game(sats=rich), a="replicate", b="replicate"),
            "a draw in turn 0: those that replicated had equal sats",
        ),
        (play(game(turn=29)), "all rounds were played, without a winner"),
        (
            play(game(sats={"a": 1, "b": 1}, do_nothing_rounds=1), a="do_nothing", b="do_nothing"),
            "no unit was alive after turn 0",
        ),
        (play(game(sats={"a": 9, "b": 1}, **teams), a="attack b"), "only a had units left after turn 0"),
        (play(game(turn=29, sats={"a": 9, "b": 8}, **teams)), "all rounds were played; a had the most sats"),
        (
            play(game(turn=29, sats={"a": 9, "b": 9}, **teams)),
            "a draw in turn 29: the best teams had equal sats",
        ),
        (
            play(game(turn=3, sats={"a": 100, "b": 50, "c": 50}, **allied), a="replicate"),
            "a replicated in turn 3, and allies won, too: b",
        ),
        (
            play(game(turn=3, sats={"a": 50, "b": 40, "c": 1}, **teams, **allied), a="attack c"),
            "only a, b had units left after turn 3",
        ),
        (
            play(game(turn=29, sats={"a": 9, "b": 9, "c": 8}, **teams, **allied)),
            "all rounds were played; a, b had the most sats",
        ),
    ):
        assert over(round_.after)
        assert in_words(round_.after) == words
