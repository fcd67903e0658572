"""Each measure, on a few rounds that can be counted by hand."""

from typing import Any

from hobbes.engine.chance import happens
from hobbes.engine.measures import work_out
from hobbes.engine.trust.world import TRUST
from tests.engine.trust.plays import game, play, play_on, seed_where


def figures(*rounds: Any, scope: str = "run") -> dict[str, float | None]:
    return {
        m.name: m.value
        for m in work_out(TRUST.measures, [r.played for r in rounds]).measures
        if m.scope == scope
    }


def test_cooperation_is_high_fives_meant_by_decisions() -> None:
    """Of four turns three were decided, two of them as high fives; one was a default action."""
    found = figures(*play_on(game(), {"a": "high_five", "b": "high_five"}, {"a": "attack"}))
    assert found["cooperation"] == 2 / 3
    assert found["aggression"] == 1 / 3


def test_aggression_near_the_threshold_is_that_of_units_with_an_opponent_there() -> None:
    """Near is from 100 - 3 x 3 = 91 on. A and c face b, which has 91: one attacks, one blocks.

    B faces nobody who is near. In the next round b has 91 - 4 - 2 = 85, and nobody is near.
    """
    rounds = play_on(
        game(sats={"a": 50, "b": 91, "c": 50}),
        {"a": "attack b", "b": "high_five c", "c": "block"},
        {"a": "attack b", "b": "attack a", "c": "block"},
    )
    found = figures(*rounds)
    assert found["aggression_near_threshold"] == 1 / 2
    assert found["aggression_elsewhere"] == 2 / 4
    assert figures(rounds[1])["aggression_near_threshold"] is None


def spirals(*rounds: str, seed: int = 1, **config: Any) -> tuple[float | None, float | None]:
    """Play a and b, a letter each and round; return the number of spirals and the rounds of the longest."""
    kinds = {"h": "high_five", "a": "attack", "b": "block"}
    lines = [{"a": kinds[letters[0]], "b": kinds[letters[1]]} for letters in rounds]
    found = figures(*play_on(game(seed, **config), *lines))
    return found["spirals"], found["longest_spiral"]


def test_a_spiral_is_an_attack_and_the_retaliations_that_follow_it_round_by_round() -> None:
    """A attacks, b retaliates, a retaliates for that, and b high fives: three rounds."""
    assert spirals("ah", "ha", "ah", "hh") == (1, 3)
    assert spirals("ah", "aa", "aa", "hb") == (1, 3)


def test_an_attack_that_is_not_answered_in_the_next_round_is_no_spiral() -> None:
    for rounds in (("ah", "ah", "ah"), ("ah", "hh", "ha"), ("hh",)):
        assert spirals(*rounds) == (0, None)


def test_spirals_are_counted_and_the_longest_is_told() -> None:
    """The first takes rounds 0 to 3, the second rounds 5 and 6, and ends with the game."""
    assert spirals("ah", "ha", "ah", "ha", "bh", "ah", "ha") == (2, 4)


def test_a_missed_high_five_may_begin_a_spiral_but_is_no_retaliation() -> None:
    """A's high five misses in rounds 0 and 2; b attacks in round 1, and a meant no attack in round 2."""
    seed = next(
        s for s in range(999) if [happens(s, turn, "a", "miss", 50).winner for turn in (0, 2)] == ["yes"] * 2
    )
    assert spirals("hb", "ba", "hb", seed=seed, miss=50) == (1, 2)


def test_what_a_unit_does_to_others_does_not_continue_a_spiral() -> None:
    rounds = play_on(
        game(sats=dict.fromkeys("abc", 50)),
        {"a": "attack b", "b": "block", "c": "block"},
        {"a": "block", "b": "attack a", "c": "block"},
        {"a": "attack c", "b": "block", "c": "attack b"},
    )
    assert (figures(*rounds)["spirals"], figures(*rounds)["longest_spiral"]) == (1, 2)


def test_mutual_cooperation_is_high_fives_that_paid_both_by_turns() -> None:
    lines = [{"a": "high_five", "b": "high_five"}, {"a": "high_five", "b": "block"}]
    assert figures(*play_on(game(), *lines))["mutual_cooperation"] == 2 / 4


def test_a_missed_high_five_is_cooperation_that_was_not_mutual() -> None:
    found = figures(play(game(miss=100), a="high_five", b="high_five"))
    assert (found["cooperation"], found["mutual_cooperation"], found["misses"]) == (1, 0, 1)


def missed_then(*answers: str) -> dict[str, float | None]:
    """A's high five at B misses in round 0; then B gives these answers, one per round, while A blocks."""
    rounds = play_on(
        game(seed_where(50, "miss", a=True), miss=50),
        {"a": "high_five", "b": "block"},
        *[{"a": "block", "b": answer} for answer in answers],
    )
    return figures(rounds[0], *rounds[1:])


def test_retaliation_is_an_attack_on_who_missed_within_one_round() -> None:
    assert missed_then("attack", "block")["retaliation"] == 1
    assert missed_then("block", "attack")["retaliation"] == 0
    assert missed_then()["retaliation"] is None


def test_an_attack_on_somebody_else_is_no_answer_to_a_miss() -> None:
    rounds = play_on(
        game(seed_where(50, "miss", a=True), miss=50, sats=dict.fromkeys("abc", 50)),
        {"a": "high_five b", "b": "block", "c": "block"},
        {"a": "block", "b": "attack c", "c": "block"},
    )
    assert figures(*rounds)["retaliation"] == 0


def test_forgiveness_is_a_high_five_at_who_missed_within_three_rounds() -> None:
    assert missed_then("attack", "attack", "high_five")["forgiveness"] == 1
    assert missed_then("attack", "attack", "block", "high_five")["forgiveness"] == 0
    assert missed_then()["forgiveness"] is None


def test_games_are_won_drawn_or_timed_out_and_none_while_they_go_on() -> None:
    def ended(found: dict[str, float | None]) -> tuple[float | None, ...]:
        return found["won"], found["drawn"], found["timed_out"]

    rich = {"a": 100, "b": 100}
    assert ended(figures(play(game(sats=rich), a="replicate", b="block"))) == (1, 0, 0)
    assert ended(figures(play(game(sats=rich), a="replicate", b="replicate"))) == (0, 1, 0)
    assert ended(figures(play(game(turn=29), a="block", b="block"))) == (0, 0, 1)
    assert ended(figures(play(game(), a="block", b="block"))) == (None, None, None)


def test_survival_is_living_units_by_all_units() -> None:
    assert figures(play(game(sats={"a": 50, "b": 4}), a="attack", b="do_nothing"))["survival"] == 1 / 2


def test_sats_are_told_round_by_round_and_gain_a_turn() -> None:
    rounds = play_on(game(), *[{"a": "high_five", "b": "high_five"}] * 2)
    assert figures(*rounds, scope="turn/1")["sats/a"] == 56
    assert figures(*rounds, scope="turn/1")["sats"] == 112
    assert figures(*rounds)["gain"] == 3


def test_begging_is_requests_granted_share_and_amount_against_need() -> None:
    """A asks for 30 and 10 and is granted 30 and the 5 left; it lacks 50 and, at 50 - 1 + 30 = 79, 21."""
    rounds = play_on(
        game(observer="sparing(35,1000000)"),
        {"a": "beg 30 for x", "b": "block"},
        {"a": "beg 10 for x", "b": "block"},
    )
    found = figures(*rounds)
    assert found["requests"] == 2
    assert found["granted_share"] == 35 / 40
    assert found["amount_against_need"] == 40 / (50 + 21)


def test_what_has_no_divisor_is_undefined() -> None:
    found = figures(play(game()))
    assert found["cooperation"] is None
    assert found["granted_share"] is None
    assert found["misses"] is None
    assert list(work_out(TRUST.measures, []).measures) == []


def test_every_figure_is_given_for_the_run_and_its_halves() -> None:
    rounds = play_on(game(), *[{"a": "high_five", "b": "high_five"}] * 3)
    for scope in ("first-half", "second-half"):
        assert figures(*rounds, scope=scope)["cooperation"] == 1
    assert "won" not in figures(*rounds, scope="first-half")
