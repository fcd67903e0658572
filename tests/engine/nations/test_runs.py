"""Whole runs, with few and many agents and every mix of policies."""

import pytest

from hobbes.engine.nations.world import NATIONS
from tests.engine.nations.stage import A, B, C, D, board, digest, run

POLICIES = list(NATIONS.policies.by_name)
E = "AgentE"


@pytest.mark.parametrize("agents", [2, 20])
def test_fifty_turns_run_without_a_failed_decision(agents: int) -> None:
    """Among 20 agents, each policy meets each other one, and itself."""
    played = run(board(agents), POLICIES, turns=50)
    assert [drop for done in played for drop in done.drops] == []
    assert NATIONS.over(played[-1].after)
    assert set(NATIONS.scores(played[-1].after)) == set(played[0].before.setting.agents)


def test_another_seed_is_another_run() -> None:
    settled = board(4).setting
    other = NATIONS.setup(settled.config, settled.agents, 2)
    assert digest(run(board(4), ["random"], turns=3)) != digest(run(other, ["random"], turns=3))


def test_a_golden_run_of_comparators_without_luck() -> None:
    """Two traders in peace; a militarist who takes all of an appeaser's land; a grim agent in peace."""
    mix = ["reciprocal-trader", "reciprocal-trader", "militarist", "appeaser", "grim"]
    last = run(board(5, army={A: 10, B: 10, C: 10, D: 4, E: 5}), mix, turns=20)[-1].after
    assert NATIONS.scores(last) == {A: 617, B: 617, C: 176, D: 46, E: 804}
    assert {agent: len(held) for agent, held in last.territories.items()} == {A: 5, B: 5, C: 10, D: 0, E: 5}
    assert last.army == {A: 10, B: 10, C: 39, D: 0, E: 5}
