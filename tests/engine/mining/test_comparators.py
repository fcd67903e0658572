"""The scripted policies, and the noise that spoils their answers."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hobbes.engine.chance import RngStream
from hobbes.engine.mining.policies import POLICIES, spoil, tremble
from hobbes.engine.mining.state import State
from hobbes.engine.mining.view import observe
from hobbes.engine.mining.world import MINING
from hobbes.engine.policy import SPOILED_TEXTS, Policies, speak
from hobbes.engine.record import JsonObject
from tests.engine.mining.plays import board, picture, play
from tests.turns import play_policies

KINDS = ("claim", "raid", "defend", "mine")


def answer(name: str, state: State, agent: str = "A") -> dict[str, Any]:
    """Return what a policy answers, without the reflection fields."""
    said = POLICIES.by_name[name](observe(state, agent), RngStream(1, state.turn, agent))
    return {key: value for key, value in said.items() if key in (*KINDS, "plan")}


# random


def test_random_spends_its_stamina_on_actions_of_every_kind_and_repeats_none() -> None:
    kinds: Counter[str] = Counter()
    for turn in range(10, 60):
        said = answer("random", board("AAAABBBB/AAAABBBB/........", turn=turn))["plan"]
        kinds.update(kind for step in said for kind in step)
        assert play(board("AAAABBBB/AAAABBBB/........"), A={"plan": said}).spends("A") == 10
    # Each kind is as likely as another, in actions.
    assert all(0.2 < kinds[kind] / kinds.total() < 0.3 for kind in KINDS)


def test_random_does_only_what_is_possible() -> None:
    assert answer("random", board("B", agents="A"))["plan"] == [{"raid": [0, 0]}]
    assert answer("random", board("A", stamina=1, agents="A"))["plan"][0].keys() <= {"defend", "mine"}


# greedy-mine


def test_greedy_mine_mines_first_then_claims_then_raids() -> None:
    said = answer("greedy-mine", board("AB."))
    assert list(said) == ["mine", "claim", "raid"]
    assert said == {"mine": [{"cell": [0, 0], "s": 3}], "claim": [[0, 2]], "raid": [[0, 1]]}


def test_greedy_mine_without_land_claims_or_raids() -> None:
    assert answer("greedy-mine", board("B.", agents="A", stamina=2)) == {"claim": [[0, 1]], "raid": [[0, 0]]}


def test_greedy_mine_with_much_land_only_mines() -> None:
    said = answer("greedy-mine", board("AAAAAB."))
    assert said == {"mine": [{"cell": [0, c], "s": s} for c, s in ((0, 3), (1, 3), (2, 3), (3, 1))]}


# defend-then-mine


def test_defend_then_mine_defends_all_it_has_then_mines_then_claims() -> None:
    said = answer("defend-then-mine", board("AAB.", stamina=9))
    assert list(said) == ["defend", "mine", "claim"]
    assert said["defend"] == [[0, 0], [0, 1]]
    assert said["mine"] == [{"cell": [0, 0], "s": 3}, {"cell": [0, 1], "s": 3}]
    assert said["claim"] == [[0, 3]]


def test_defend_then_mine_defends_even_if_nothing_is_left_to_mine() -> None:
    assert answer("defend-then-mine", board("AAAB", stamina=3)) == {"defend": [[0, 0], [0, 1], [0, 2]]}


# tit-for-tat-raid


def test_tit_for_tat_raids_those_who_just_raided_it_plot_for_plot() -> None:
    after = play(board("AAC/BBB"), B={"raid": [[0, 0], [0, 1]]}, A={"defend": [[0, 0]]}).after
    said = answer("tit-for-tat-raid", after)
    assert next(iter(said)) == "raid"
    assert len(said["raid"]) == 2
    assert all(after.owner[row, col] == "B" for row, col in said["raid"])


def test_tit_for_tat_forgives_after_one_round_and_never_raids_first() -> None:
    raided = play(board("AAB"), B={"raid": [[0, 0]]}).after
    quiet = play(raided).after
    assert "raid" in answer("tit-for-tat-raid", raided)
    assert "raid" not in answer("tit-for-tat-raid", quiet)


# guided


def test_guided_claims_first_while_it_has_less_than_its_fair_share_of_plots_by_n() -> None:
    said = answer("guided", board("AB./B../..."))
    assert list(said) == ["claim", "mine"]
    # 9 plots for 2 agents: the share is 4, and A holds 1.
    assert len(said["claim"]) == 3


def test_guided_raids_the_border_of_the_largest_landholder_only_if_nothing_is_unowned() -> None:
    said = answer("guided", board("BBB/BBB/BBA"))
    assert sorted(said["raid"]) == [[1, 2], [2, 1]]
    assert "raid" not in answer("guided", board("BBB/BBB/BA."))


def test_guided_raids_the_borders_of_all_equally_large_landholders() -> None:
    raided = [
        answer("guided", board("BBBB/BBBB/CCCC/CCCC", agents="AD", turn=turn))["raid"] for turn in range(5)
    ]
    assert {len(plots) for plots in raided} == {4}
    assert {row for plots in raided for row, _ in plots} == {1, 2}


@pytest.mark.parametrize("name", ["guided", "greedy-mine", "random"])
def test_no_comparator_raids_what_is_protected(name: str) -> None:
    state = play(board(".B", agents="A", immunity=5, stamina=1), B={"claim": [[0, 0]]}).after
    assert answer(name, state) in ({"raid": [[0, 1]]}, {"plan": [{"raid": [0, 1]}]})


def test_tit_for_tat_raids_back_only_what_is_not_protected() -> None:
    state = play(
        board("AB.", immunity=5), B={"raid": [[0, 0]], "claim": [[0, 2]]}, A={"defend": [[0, 0]]}
    ).after
    assert answer("tit-for-tat-raid", state)["raid"] == [[0, 1]]


def test_guided_never_raids_a_largest_landholder_with_no_more_than_a_fair_share() -> None:
    assert "raid" not in answer("guided", board("BC", agents="A"))


def test_guided_raids_any_plot_of_one_that_has_the_whole_board_and_so_no_border() -> None:
    assert answer("guided", board("BB", agents="A"))["raid"] in ([[0, 0]], [[0, 1]])


def test_guided_when_challenged_defends_what_was_raided_and_its_core_first() -> None:
    state = board(".A./AAA/BAB", stamina=20)
    after = play(state, B={"raid": [[1, 0]]}, A={"defend": [[1, 0]]}).after
    said = answer("guided", after)
    assert next(iter(said)) == "defend"
    assert said["defend"] == [[1, 0], [1, 1]]


def test_guided_does_not_defend_when_nobody_came() -> None:
    assert "defend" not in answer("guided", board(".A./AAA/BAB"))


def test_guided_agents_divide_the_land_equally_and_stop_raiding() -> None:
    start = board("......./......./.......", agents="ABC", rounds=22)
    *_, last = play_policies(MINING, start, ["guided"])
    assert Counter(picture(last.resolved.state).replace("/", "")) == {"A": 7, "B": 7, "C": 7}
    assert last.resolved.state.news.raids == ()


# Noise


def spoiled(noise: float, count: int = 200) -> Iterator[tuple[State, str]]:
    """Yield noisy answers of `guided` on a board where it mines, claims and defends, each with its state."""
    state = board("AA./AB./...", stamina=8)
    state = play(state, B={"raid": [[0, 1]]}, A={"defend": [[0, 1]]}).after
    for turn in range(count):
        at = replace(state, turn=turn)
        yield at, speak(POLICIES, "guided", noise, observe(at, "A"), RngStream(1, turn, "A"))


def test_noise_reaches_every_way_of_spoiling_an_item() -> None:
    codes: Counter[str] = Counter()
    for state, text in spoiled(0.3):
        try:
            round_ = play(state, A=json.loads(text))
        except json.JSONDecodeError:
            continue
        codes.update([*round_.drops("A"), *round_.mends("A")])
    for reached in (
        "mining/off-grid",
        "mining/not-yours",
        "mining/already-owned",
        "mining/cut-to-cap",
        "mining/over-budget",
        "mining/repeat",
    ):
        assert codes[reached], reached


def as_it_is(_: JsonObject, answer: JsonObject, __: RngStream, ___: float) -> JsonObject:
    return answer


def test_noise_spoils_a_text_with_its_probability_in_every_way() -> None:
    said: JsonObject = {"reasoning": "x", "mine": [{"cell": [0, 0], "s": 1}]}
    policies = Policies({"one": lambda _, __: said}, "one", as_it_is, as_it_is)
    view = observe(board("A"), "A")
    texts = Counter(speak(policies, "one", 0.5, view, RngStream(1, turn, "A")) for turn in range(700))
    ways = [texts[spoil_text(json.dumps(said))] for spoil_text in SPOILED_TEXTS]
    # A quarter of the answers are spoiled in their text alone, in one of ten ways.
    assert all(10 < count < 75 for count in ways)
    assert 140 < texts[json.dumps(said)] < 210


def test_noise_spoils_each_item_with_its_probability() -> None:
    state = board("AAAA", stamina=12)
    view = observe(state, "A")
    plain = POLICIES.by_name["greedy-mine"](view, RngStream(1, 0, "A"))
    changed = 0
    for turn in range(250):
        noisy = spoil(view, plain, RngStream(1, turn, "A"), 0.25)
        changed += sum(element not in plain["mine"] for element in noisy["mine"])  # type: ignore[operator, union-attr]
        changed += len(noisy["mine"]) - len(plain["mine"])  # type: ignore[arg-type]
    # Of 1,000 items a quarter are spoiled. A spoiled one may by chance still be in the plain answer.
    assert 190 < changed < 290


# Tremble


def trembling(
    share: float, state: State, name: str = "greedy-mine", turns: int = 250
) -> list[dict[str, Any]]:
    """Return the plans of a policy that trembles, by turn."""
    view = observe(state, "A")
    plain = POLICIES.by_name[name](view, RngStream(1, 0, "A"))
    return [dict(tremble(view, plain, RngStream(1, turn, "A"), share)) for turn in range(turns)]


def test_a_tremble_replaces_each_action_with_its_probability() -> None:
    plans = trembling(0.25, board("AAAABBBB", stamina=12))
    plain = [{"mine": {"cell": [0, c], "s": 3}} for c in range(4)]
    replaced = sum(step not in plain for said in plans for step in said["plan"])
    assert all(len(said["plan"]) == 4 for said in plans)
    assert 200 < replaced < 300  # a quarter of 1,000 actions


def test_a_tremble_does_every_kind_of_thing_that_the_view_allows() -> None:
    plans = trembling(1, board("AAAAAB..", stamina=12))
    kinds = Counter(kind for said in plans for step in said["plan"] for kind in step)
    assert set(kinds) == set(KINDS)
    # There is one plot to raid and there are two to claim, so later actions of a plan defend or mine.
    assert kinds["raid"] > 150


def test_a_tremble_keeps_an_action_if_nothing_else_is_legal() -> None:
    (said,) = trembling(1, board("B", agents="AB", stamina=5), turns=1)
    assert said["plan"] == [{"raid": [0, 0]}]


def test_a_tremble_is_drawn_by_name_so_it_is_the_same_again_and_0_changes_nothing() -> None:
    view = observe(board("AAB/.CB/C.."), "A")
    for name in POLICIES.by_name:
        still, *same = (
            speak(POLICIES, name, 0, view, RngStream(1, 3, "A"), tremble=share) for share in (0, 0.5, 0.5)
        )
        assert still == json.dumps(POLICIES.by_name[name](view, RngStream(1, 3, "A")), ensure_ascii=False)
        assert len(set(same)) == 1


# opportunist


def test_an_opportunist_takes_only_plots_that_it_can_mine() -> None:
    """With 6 stamina and a cap of 3 it can mine two plots, so a third is worth nothing to it."""
    assert answer("opportunist", board("A...", stamina=6)).keys() == {"claim", "mine"}
    assert len(answer("opportunist", board("A...", stamina=6))["claim"]) == 1
    assert answer("opportunist", board("AA..", stamina=6)).keys() == {"mine"}


def test_an_opportunist_claims_before_it_raids_and_raids_if_nothing_is_unowned() -> None:
    assert answer("opportunist", board("A.BB", stamina=6)).get("claim") == [[0, 1]]
    assert answer("opportunist", board("AB", stamina=6))["raid"] == [[0, 1]]


def test_an_opportunist_raids_for_gold_but_not_what_was_defended_last_round() -> None:
    state = board("AAB.", stamina=6, alpha={"plots": 1, "multiplier": 9})
    rich = replace(state, alpha=((1, 1, 9, 1),))
    assert answer("opportunist", rich)["raid"] == [[0, 2]]
    defended = play(rich, B={"defend": [[0, 2]]}).after
    assert answer("opportunist", defended).keys() == {"mine"}


def test_an_opportunist_looks_no_further_than_the_last_round() -> None:
    assert "raid" in answer("opportunist", board("B", agents="A", turn=10, rounds=12, hide_horizon=False))
    assert answer("opportunist", board("B", agents="A", turn=11, rounds=12, hide_horizon=False)) == {}


# raider


@pytest.mark.parametrize(("greed", "raids"), [(0, 0), (0.24, 2), (0.5, 5), (0.7, 7), (1, 10)])
def test_a_raider_spends_its_greed_on_raids_and_mines_with_the_rest(greed: float, raids: int) -> None:
    view = observe(board("AAAAABBBBBBBBBBB", stamina=10), "A")
    said: Any = POLICIES.by_name["raider"](view, RngStream(1, 0, "A"), greed=greed)
    assert len(said.get("raid", [])) == raids
    assert sum(order["s"] for order in said.get("mine", [])) == 10 - raids


def test_a_raider_spends_half_of_its_stamina_on_raids_unless_told_otherwise() -> None:
    assert len(answer("raider", board("AAAAABBBBBBBBBBB", stamina=10))["raid"]) == 5
