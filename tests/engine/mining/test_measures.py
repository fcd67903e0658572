"""Each measure, worked out by hand on a small history."""

from dataclasses import replace
from typing import Any

import pytest

from hobbes.engine.measures import work_out
from hobbes.engine.mining import metrics
from hobbes.engine.mining.metrics import PlayedRound
from hobbes.engine.mining.state import State
from hobbes.engine.mining.world import MINING
from tests.engine.mining.plays import Answer, board, history, mine, play

QUIET: dict[str, Answer] = {}

RAID = {"A": {"raid": [[0, 1]]}}
"""A raids the second plot."""

ABC = "ABC/ABC"


def one(state: State, **answers: Answer) -> list[PlayedRound]:
    return history(state, answers)


def test_turnover_is_plots_that_changed_owner_by_plots_owned_at_the_start() -> None:
    played = one(board("AB./AB."), A={"raid": [[0, 1]]}, B={"claim": [[0, 2]]})
    # One of four owned plots changed hands. The claim of an unowned plot does not count.
    assert metrics.turnover(played) == 1 / 4
    assert metrics.turnover(history(board("AB./AB."), RAID, QUIET)) == 1 / 8


def test_turnover_of_a_board_without_owners_is_undefined() -> None:
    assert metrics.turnover(one(board("...", agents="A"), A={"claim": [[0, 0]]})) is None


def test_profit_is_the_gold_of_plots_that_were_claimed_or_raided_by_the_stamina_for_them() -> None:
    """A mines its claim with 2 and raids B's plot for 1; then it mines that plot with 3 and claims one."""
    played = history(
        board("AB.", alpha=2),
        {"A": {"mine": mine((0, 0, 2)), "raid": [[0, 1]]}},
        {"A": {"mine": mine((0, 1, 3)), "claim": [[0, 2]]}},
    )
    assert metrics.mine_profit(played) == 2 * 2 / (2 + 1)
    assert metrics.raid_profit(played) == 3 * 2 / (1 + 3)


FRESH: dict[str, Any] = {"turn": 1, "immunity": 0}
"""All plots were got in round 0. The first round that is played is round 1, and all can be raided in it."""


def test_half_life_is_the_kaplan_meier_median_of_ownership_spells() -> None:
    """B takes one of A's four plots in each of three rounds.

    Three spells of A end after 1, 2 and 3 rounds. The end cuts off A's last one at 3 and B's three at 2, 1
    and 0. Of the spells at risk, 1 of 6 ends at 1, 1 of 4 at 2 and 1 of 2 at 3. Survival is 5/6, then 5/8,
    then 5/16, so the median is 3.
    """
    raids: list[dict[str, Answer]] = [{"B": {"raid": [[0, col]]}} for col in range(3)]
    assert metrics.half_life(history(board("AAAA", agents="B", **FRESH), *raids)) == 3


def test_half_life_is_reached_when_just_half_of_the_spells_have_ended() -> None:
    assert metrics.half_life(history(board("AB", **FRESH), RAID)) == 1


def test_half_life_counts_a_spell_up_to_the_round_in_which_the_plot_was_lost() -> None:
    """One plot changes hands twice, then rests. Two spells last 1 round; a third is cut off after 1."""
    back = {"B": {"raid": [[0, 0]]}}
    forth = {"A": {"raid": [[0, 0]]}}
    played = history(board("A", agents="B", **FRESH), back, forth, QUIET)
    # All three are at risk at age 1 and two of them end, so survival is 1/3.
    assert metrics.half_life(played) == 1


def test_half_life_is_undefined_where_more_than_half_of_the_spells_outlast_the_end() -> None:
    """One spell of three ends, after 1 round, so survival stays at 2/3."""
    assert metrics.half_life(history(board("AB", **FRESH), RAID, QUIET)) is None


def test_half_life_without_any_owner_is_undefined() -> None:
    assert metrics.half_life(one(board("...", agents="A"))) is None


def test_half_life_of_a_half_counts_a_spell_from_the_age_that_it_had_when_the_half_began() -> None:
    """A has held its plot for 5 rounds when the second half begins, and loses it in the first round of it.

    B gets that plot and claims another, and holds both to the end. At age 5 only A's spell is at risk, and it
    ends. Of the spells of B none ends.
    """
    start = board("A.", agents="B", **FRESH)
    taken = {"B": {"raid": [[0, 0]], "claim": [[0, 1]]}}
    played = history(start, *[QUIET] * 4, taken, QUIET, QUIET, QUIET)
    assert metrics.half_life(played[4:]) == 5
    assert metrics.half_life(played[5:]) is None


def test_half_life_of_a_spell_is_the_same_in_a_run_and_in_its_second_half() -> None:
    """A claims a plot in round 0 and loses it in round 3, after 3 rounds."""
    claim, raid = {"A": {"claim": [[0, 0]]}}, {"B": {"raid": [[0, 0]]}}
    played = history(board(".", agents="AB", turn=0), claim, QUIET, QUIET, raid)
    assert metrics.half_life(played) == 3
    assert metrics.half_life(played[2:]) == 3
    assert metrics.half_life(played[3:]) == 3


def test_raid_rate_is_raids_by_agents_times_rounds() -> None:
    raids = {"A": {"raid": [[0, 1], [1, 1]]}, "C": {"raid": [[0, 1]]}}
    assert metrics.raid_rate(history(board(ABC), raids, QUIET)) == 3 / (3 * 2)


HELD = ("1_to_4", "5_to_19", "20_or_more")


def held_rates(played: list[PlayedRound]) -> list[float | None]:
    """Return the raids by how long a plot has been held, class by class."""
    return [metrics.FORMULAS[f"raid_rate_held_{name}"](played) for name in HELD]


def test_raids_are_counted_by_how_long_a_plot_has_been_held() -> None:
    """In round 10 the plots have been held for 10, 2 and 1 rounds; in round 11 for 11, 1 and 2.

    B and C raid the second plot in round 10, and one of them takes it. C raids the first in round 11. Of the
    classes up to 4 rounds there are two plots in each round, so 2 raids / 4. Of the class from 5 on there is
    one in each, so 1 raid / 2. No plot has been held for 20 rounds.
    """
    state = replace(board("AAB", agents="C"), since=((0, 8, 9),))
    rounds: list[dict[str, Answer]] = [
        {"B": {"raid": [[0, 1]]}, "C": {"raid": [[0, 1]]}},
        {"C": {"raid": [[0, 0]]}},
    ]
    played = history(state, *rounds)
    assert held_rates(played) == [2 / 4, 1 / 2, None]
    assert held_rates(played[1:]) == [0, 1, None]


@pytest.mark.parametrize(
    ("turn", "rates"),
    [(4, [1, None, None]), (5, [None, 1, None]), (19, [None, 1, None]), (20, [None, None, 1])],
)
def test_the_classes_of_holding_time_end_after_4_and_after_19_rounds(
    turn: int, rates: list[float | None]
) -> None:
    assert held_rates(one(board("AA", agents="B", turn=turn), B={"raid": [[0, 0], [0, 1]]})) == rates


def test_a_plot_that_cannot_be_raided_yet_is_in_no_class_of_holding_time() -> None:
    """B claims a plot in round 10, which nobody may raid before round 13. A's plot is old."""
    played = history(
        board("A.", agents="B", immunity=3),
        {"B": {"claim": [[0, 1]]}},
        QUIET,
        QUIET,
        {"A": {"raid": [[0, 1]]}},
    )
    assert held_rates(played[:3]) == [None, 0, None]
    assert held_rates(played) == [1, 0, None]
    # A raid on what is claimed in the same round strikes nothing that anybody has held.
    fresh = one(board("A.", agents="B", immunity=0), B={"claim": [[0, 1]]}, A={"raid": [[0, 1]]})
    assert held_rates(fresh) == [None, 0, None]


def test_a_raid_that_fizzled_is_a_raid() -> None:
    assert metrics.raid_rate(one(board("AB.", immunity=0), A={"raid": [[0, 2]]})) == 1 / 2


def test_defense_trigger_rate_is_raided_defended_plots_by_defended_plots() -> None:
    answers: dict[str, Answer] = {
        "A": {"raid": [[0, 1]]},
        "B": {"defend": [[0, 1], [1, 1]]},
        "C": {"raid": [[0, 1]]},
    }
    assert metrics.defense_trigger_rate(one(board(ABC), **answers)) == 1 / 2
    assert metrics.defense_trigger_rate(one(board(ABC))) is None


def test_raid_success_is_captures_by_raided_plots() -> None:
    answers: dict[str, Answer] = {
        "A": {"raid": [[0, 1], [1, 1]]},
        "B": {"defend": [[0, 1]]},
        "C": {"raid": [[1, 1]]},
    }
    assert metrics.raid_success(one(board(ABC), **answers)) == 1 / 2
    assert metrics.raid_success(one(board(ABC))) is None


def test_efficiency_is_output_by_plots_times_cap_times_alpha() -> None:
    answers: dict[str, Answer] = {"A": {"mine": mine((0, 0, 3), (1, 0, 1))}}
    played = one(board("AB./AB."), **answers)
    assert metrics.output(played) == 4
    assert metrics.efficiency(played) == 4 / (6 * 3)
    rich = one(board("AB./AB.", alpha=((2, 0, 0), (4, 0, 1))), **answers)
    assert metrics.output(rich) == 3 * 2 + 1 * 4
    assert metrics.efficiency(rich) == 10 / (3 * (2 + 4 + 1))
    assert metrics.efficiency(one(board("A", alpha=0))) is None


def test_idle_stamina_is_unspent_by_budget() -> None:
    state = board("AB.", stamina=(10, 4))
    assert metrics.idle_stamina(one(state, A={"mine": mine((0, 0, 3))}, B={"claim": [[0, 2]]})) == 10 / 14
    assert metrics.idle_stamina(one(board("AB.", stamina=0))) is None


def test_the_budget_of_a_punished_raider_is_what_it_was_left_with() -> None:
    state = board("AB.", authority="punishment", punishment=10)
    played = history(state, RAID, QUIET)
    assert metrics.idle_stamina(played[1:]) == 10 / 10


@pytest.mark.parametrize(
    ("gold", "gini"),
    [
        ({"A": 5, "B": 5, "C": 5}, 0),
        ({"A": 0, "B": 0, "C": 9}, 2 / 3),
        # The differences are 1, 2 and 1, and each counts both ways: 8 / (2 x 3 x 6).
        ({"A": 1, "B": 2, "C": 3}, 2 / 9),
        ({"A": 0, "B": 0, "C": 0}, None),
    ],
)
def test_gold_gini_is_the_mean_difference_by_twice_the_mean(gold: dict[str, int], gini: float | None) -> None:
    found = metrics.gold_gini(one(board("ABC", gold=gold)))
    assert found == (None if gini is None else pytest.approx(gini))


def test_plots_hhi_is_the_sum_of_squared_shares_of_plots() -> None:
    assert metrics.plots_hhi(one(board("AAB./A..."))) == pytest.approx((3 / 4) ** 2 + (1 / 4) ** 2)
    assert metrics.plots_hhi(one(board("..", agents="AB"))) is None


def test_shares_of_stamina_by_kind_are_of_what_was_spent() -> None:
    answers: dict[str, Answer] = {
        "A": {"mine": mine((0, 0, 3)), "claim": [[0, 2]]},
        "B": {"defend": [[0, 1]], "raid": [[0, 0]]},
    }
    played = one(board("AB."), **answers)
    shares = {kind: metrics.FORMULAS[f"share_{kind}"](played) for kind in ("claim", "raid", "defend", "mine")}
    assert shares == {"claim": 1 / 6, "raid": 1 / 6, "defend": 1 / 6, "mine": 3 / 6}
    assert metrics.FORMULAS["share_mine"](one(board("AB."))) is None


def test_respect_for_first_possession_is_1_less_the_share_of_first_owners_plots_that_were_raided() -> None:
    played = history(board("AB./AB."), RAID, {"B": {"raid": [[0, 1]]}})
    # Round one: four plots have their first owner, and one of them is raided. Round two: three plots have
    # their first owner, and the raided plot is not among them.
    assert metrics.first_possession(played) == pytest.approx(1 - 1 / 7)
    assert metrics.first_possession(one(board("...", agents="A"))) is None


def test_every_figure_is_given_for_the_run_each_half_and_each_round() -> None:
    played = history(board("AB."), RAID, QUIET, QUIET)
    found = {
        (measure.name, measure.scope): measure.value for measure in work_out(MINING.measures, played).measures
    }
    assert {scope for _, scope in found} == {
        "run",
        "first-half",
        "second-half",
        "turn/10",
        "turn/11",
        "turn/12",
    }
    assert found["raid_rate", "run"] == 1 / 6
    assert (found["raid_rate", "first-half"], found["raid_rate", "second-half"]) == (1 / 2, 0)
    assert (found["raid_rate", "turn/10"], found["raid_rate", "turn/11"]) == (1 / 2, 0)
    assert ("half_life", "second-half") in found


def test_a_run_of_one_round_has_no_halves_and_one_of_none_no_measures() -> None:
    assert {measure.scope for measure in work_out(MINING.measures, one(board("AB."))).measures} == {
        "run",
        "turn/10",
    }
    assert list(work_out(MINING.measures, []).measures) == []


def test_measures_read_a_history_in_which_an_agent_said_nothing() -> None:
    silent = play(board("AB.")).played._replace(intents={})
    assert metrics.idle_stamina([silent]) == 1
