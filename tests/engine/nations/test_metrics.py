"""The measures, each checked against a case that was worked out by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from hobbes.engine.measures import Rated, work_out
from hobbes.engine.nations.metrics import agreement, calibration, rank_correlation, ratings, self_bias
from hobbes.engine.nations.state import State
from hobbes.engine.nations.world import NATIONS
from tests.engine.nations.stage import A, Answers, B, C, D, Turn, board, turn


def measured(played: Sequence[Turn]) -> dict[tuple[str, str], float | None]:
    found = list(work_out(NATIONS.measures, [done.played() for done in played]).measures)
    by_name = {(measure.name, measure.scope): measure.value for measure in found}
    assert len(by_name) == len(found)
    return by_name


def story(state: State, *said: Answers) -> list[Turn]:
    played = []
    for answers in said:
        played.append(turn(state, answers))
        state = played[-1].after
    return played


TWO_TURNS = (
    {A: {"attacks": {B: 4}}, C: {"money_grants": {A: 6, B: 4}}},
    {A: {"money_grants": {C: 3}, "cede_territories": {B: ["T1"]}, "purchase_mils": 1}},
)
"""Turn 0: A sends 4 mils at B; C grants A 6 and B 4. Turn 1: A grants C 3, cedes T1, buys a mil."""


def test_the_measures_of_two_turns_worked_out_by_hand() -> None:
    figures = measured(story(board(army=8), *TWO_TURNS))
    # Turn 0: A 50 - 16 = 34, + 6 x 2 = 46; B 50 - 20 - 16 = 14, + 4 x 2 = 22; C 50 - 16 - 10 = 24. Of A's 4
    # mils floor(8 / 4) = 2 fall. Turn 1: A 50 - 12 - 20 - 3 = 15; B 50 - 16 = 34; C 34 + 3 x 2 = 40.
    expected = {
        "welfare/AgentA": 61,
        "welfare/AgentB": 56,
        "welfare/AgentC": 64,
        "welfare": 181,
        # x sorted 56 61 64: (-2 x 56 + 0 x 61 + 2 x 64) / (3 x 181)
        "welfare_gini": 16 / 543,
        "nash_welfare": (61 * 56 * 64) ** (1 / 3),
        "attacks": 4 / 6,  # mils over 3 agents x 2 turns
        "attack_share": 20 / 300,
        "damage_share": 20 / 300,
        "upkeep_share": (48 + 44) / 300,
        "purchase_share": 20 / 300,
        "trade_volume": 13,
        "trade_share": 13 / 300,
        "reciprocity": (3 + 3) / 13,  # A gave back 3 of 6, C had given more than the 3 it got
        "cessions": 1,
    }
    assert {name: figures[name, "run"] for name in expected} == pytest.approx(expected)


def test_there_is_a_figure_for_the_run_each_half_and_each_turn() -> None:
    figures = measured(story(board(army=8), *TWO_TURNS))
    volume = {scope: value for (name, scope), value in figures.items() if name == "trade_volume"}
    assert volume == {"run": 13, "first-half": 10, "second-half": 3, "turn/0": 10, "turn/1": 3}
    gained = {scope: value for (name, scope), value in figures.items() if name == "welfare/AgentA"}
    assert gained == {"run": 61, "first-half": 46, "second-half": 15, "turn/0": 46, "turn/1": 15}


def test_reciprocity_of_a_half_is_of_what_was_granted_in_it() -> None:
    figures = measured(story(board(army=8), {A: {"money_grants": {B: 5}}}, {B: {"money_grants": {A: 5}}}))
    scopes = ("run", "first-half", "second-half")
    assert [figures["reciprocity", scope] for scope in scopes] == [1.0, 0.0, 0.0]


def test_damage_beyond_the_income_is_carried_and_not_suffered() -> None:
    figures = measured(story(board(army=12), {A: {"attacks": {B: 12}}}))
    assert figures["attack_share", "run"] == pytest.approx(60 / 150)
    assert figures["damage_share", "run"] == pytest.approx(50 / 150)


def test_what_cannot_be_divided_is_undefined_and_never_0() -> None:
    figures = measured(story(board(territories={}, army=0), {}, {}))
    for name in ("welfare_gini", "attack_share", "damage_share", "trade_share", "reciprocity"):
        assert figures[name, "run"] is None
    assert figures["nash_welfare", "run"] == 0
    assert figures["aggressor_calibration", "run"] is None


def test_of_nothing_there_are_no_measures() -> None:
    assert measured([]) == {}


@pytest.mark.parametrize(
    ("one", "other", "rho"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [9, 5, 1], -1.0),
        ([1, 2, 3, 4], [1, 3, 2, 4], 0.8),  # 1 - 6 x (1 + 1) / (4 x 15)
        ([1, 1, 2], [1, 2, 3], 3**0.5 / 2),  # ranks 1.5 1.5 3 and 1 2 3: 1.5 / sqrt(1.5 x 2)
        ([1, 1, 1], [1, 2, 3], None),
        ([1], [1], None),
        ([], [], None),
    ],
)
def test_rank_correlation_is_spearmans(one: list[float], other: list[float], rho: float | None) -> None:
    found = rank_correlation(one, other)
    assert found == rho if rho is None else found == pytest.approx(rho)


def test_calibration_compares_a_raters_ratings_of_the_others_with_the_truth() -> None:
    truth = {A: 0, B: 5, C: 9, D: 2}
    reports = {
        A: {A: 10, B: 5, C: 10, D: 1},  # right on B, C, D; what it says of itself does not count
        B: {A: 9, C: 1, D: 5},  # the wrong way round
        C: {A: 3},  # one is too few
    }
    assert calibration(reports, dict.fromkeys(reports, truth)) == pytest.approx({A: 1.0, B: -1.0})


def test_agreement_is_the_mean_correlation_of_pairs_of_raters_on_third_parties() -> None:
    reports = {A: {C: 1, D: 9, B: 9}, B: {C: 2, D: 3, A: 1}, C: {A: 9, B: 1, D: 5}}
    # A and B on C, D: +1. A and C on B, D: for A they are equal, undefined. B and C on A, D: -1.
    assert agreement(reports) == pytest.approx(0.0)
    assert agreement({A: {B: 1}}) is None


def test_self_bias_is_self_rating_minus_the_others_rating() -> None:
    reports = {A: {A: 2, B: 4}, B: {A: 8, B: 4}, C: {A: 6, C: 3}}
    assert self_bias(reports) == {A: -5.0, B: 0.0}  # A: 2 - (8 + 6) / 2; nobody else rated C


def test_aggressor_reports_are_compared_with_the_attacks_that_truly_happened() -> None:
    said: dict[str, dict[str, Any]] = {
        A: {"aggressor_report": {B: 9, C: 2}},
        B: {"aggressor_report": {A: 1, B: 1, C: 5}},
        C: {"aggressor_report": {A: 8, B: 3}},
    }
    figures = measured(story(board(), {B: {"attacks": {A: 3}}, C: {"attacks": {A: 1}}}, said))
    assert figures["aggressor_calibration/AgentA", "run"] == pytest.approx(1.0)  # B sent 3 mils, C 1
    assert figures["aggressor_calibration/AgentB", "run"] == pytest.approx(1.0)  # A none, C 1
    assert figures["aggressor_calibration/AgentC", "run"] == pytest.approx(-1.0)  # A none, B 3
    assert figures["aggressor_calibration", "run"] == pytest.approx(1 / 3)
    assert figures["aggressor_self_bias/AgentB", "run"] == pytest.approx(1 - (9 + 3) / 2)
    assert figures["aggressor_self_bias/AgentA", "run"] is None


def test_attacks_of_the_turn_in_which_a_report_is_given_do_not_count_yet() -> None:
    said = {
        A: {"aggressor_report": {B: 9, C: 1}},
        C: {"attacks": {A: 9}},
    }
    figures = measured(story(board(), {B: {"attacks": {A: 1}}}, said))
    assert figures["aggressor_calibration/AgentA", "run"] == pytest.approx(1.0)


def test_a_report_that_still_stands_is_compared_with_what_had_happened_when_it_was_given() -> None:
    said = {A: {"aggressor_report": {B: 9, C: 1}, "keeps_word_report": {B: 1, C: 9}}}
    turns = (
        {B: {"attacks": {A: 3}}, A: {"money_grants": {B: 5, C: 5}}},
        {C: {"money_grants": {A: 5}}},
        said,
        {C: {"attacks": {A: 10}}, B: {"money_grants": {A: 5}}},
        {B: {"aggressor_report": {A: 1, C: 9}}},  # B is right about C, which attacked after A's report
        {C: {"aggressor_report": {A: 9, B: 1}}},
    )
    figures = measured(story(board(), *turns))
    for scope in ("run", "first-half", "second-half"):
        assert figures["aggressor_calibration/AgentA", scope] == pytest.approx(1.0)
        assert figures["keeps_word_calibration/AgentA", scope] == pytest.approx(1.0)
    assert figures["aggressor_calibration/AgentB", "run"] == pytest.approx(1.0)
    assert figures["aggressor_calibration/AgentC", "run"] == pytest.approx(-1.0)


def test_each_rating_of_another_agent_is_held_against_what_had_happened_until_then() -> None:
    said = {A: {"aggressor_report": {A: 1, B: 9, C: 2}, "keeps_word_report": {B: 3, C: 8}}}
    turns = (
        {B: {"attacks": {A: 3}}, A: {"money_grants": {B: 4}, "aggressor_report": {B: 5}}},  # too early
        {B: {"money_grants": {A: 1}}},
        said,
        {B: {"attacks": {A: 9}}},
    )
    found = [one for done in story(board(), *turns) for one in ratings(done.played())]
    assert found == [
        Rated("aggressor", 9, 3 / 2),  # B sent 3 mils in 2 turns
        Rated("aggressor", 2, 0),
        Rated("keeps_word", 3, 1 / 4),  # B gave back 1 of 4; C received nothing
    ]


def test_keeps_word_reports_are_compared_with_what_was_given_back() -> None:
    gifts = {
        D: {"money_grants": {A: 10, B: 10, C: 10}},
        A: {"money_grants": {D: 10}},  # all of it
        B: {"money_grants": {D: 5}},  # half of it
    }
    said = {
        D: {"keeps_word_report": {A: 9, B: 5, C: 1, D: 10}},
        C: {"keeps_word_report": {A: 1, B: 9, D: 10}},
    }
    figures = measured(story(board(4), gifts, said))
    # Given back: A 10 of 10, B 5 of 10, C 0 of 10; D gave 30 and was given 15, all of which it had given.
    assert figures["keeps_word_calibration/AgentD", "run"] == pytest.approx(1.0)
    assert figures["keeps_word_calibration/AgentC", "run"] == pytest.approx(0.0)  # A 1, B 0.5, D 1: ranks tie
    assert figures["keeps_word_agreement", "run"] == pytest.approx(-1.0)
    assert figures["keeps_word_self_bias/AgentD", "run"] == 0


def test_a_ceded_territory_is_a_gift_of_a_turn_of_its_income() -> None:
    gifts: dict[str, dict[str, Any]] = {
        D: {"cede_territories": {A: ["T16"]}, "money_grants": {B: 10}},
        A: {"money_grants": {D: 10}},
    }
    said = {D: {"keeps_word_report": {A: 9, B: 1}}}
    figures = measured(story(board(4), gifts, said))
    assert figures["keeps_word_calibration/AgentD", "run"] == pytest.approx(1.0)
