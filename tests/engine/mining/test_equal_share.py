"""The seed's expectation: even with noise the land comes to be shared equally.

The policy `guided` plays on the baseline board. With noise 0.2 a fifth of all items and a fifth of all texts
are spoiled. A text that is not plain JSON counts as no answer here, although the real reader would repair
many of them. With seeds 1 to 4 the holdings of the second half were exactly equal; the bound leaves room for
other seeds.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest

from hobbes.engine.mining.state import MiningConfig, State, setup
from hobbes.engine.mining.world import MINING
from tests.turns import play_policies

ROUNDS = 100
NOISE = 0.2
EQUAL = 0.05
"""A Gini close to 0: with ten miners, two plots in the wrong hands give 0.02."""


def gini(state: State) -> float:
    """Return how unequal the holdings are: 0 if all agents hold the same number of plots."""
    held = sorted(map(len, state.holdings.values()))
    weighted = sum((2 * k - len(held) - 1) * plots for k, plots in enumerate(held, start=1))
    return weighted / (len(held) * sum(held))


def games(state: State, name: str) -> Iterator[State]:
    """Let all agents play a policy with noise, and yield the state after each round."""
    for played in islice(play_policies(MINING, state, [name], NOISE), ROUNDS):
        yield played.resolved.state


def start(agents: int, seed: int) -> State:
    return setup(MiningConfig(), MINING.names(agents), seed)


def landlord(agents: int, seed: int) -> State:
    """Return a board on which the last miner has the upper six rows. The rest is unowned."""
    state = start(agents, seed)
    lord = state.setting.agents[-1]
    upper = tuple(tuple(lord if row < 6 else None for _ in range(10)) for row in range(10))
    ages = tuple(tuple(0 if row < 6 else None for _ in range(10)) for row in range(10))
    return replace(state, turn=1, owners=upper, first_owner=upper, since=ages, claimed=ages)


@pytest.mark.parametrize("agents", [10, 20])
def test_even_with_noise_free_land_is_shared_equally(agents: int) -> None:
    states = list(games(start(agents, 1), "guided"))
    assert max(map(gini, states[ROUNDS // 2 :])) <= EQUAL
    assert sum(map(len, states[-1].holdings.values())) == 100


@pytest.mark.parametrize("agents", [10, 20])
def test_even_with_noise_a_landlords_land_comes_to_be_shared_equally(agents: int) -> None:
    states = list(games(landlord(agents, 1), "guided"))
    assert gini(states[0]) > 0.5
    assert max(map(gini, states[ROUNDS // 2 :])) <= EQUAL


def test_it_is_the_heuristics_that_do_it_not_the_rules_alone() -> None:
    """With the same noise and the same seed, random miners stay unequal."""
    states = list(games(start(10, 1), "random"))
    second_half = [gini(state) for state in states[ROUNDS // 2 :]]
    assert sum(second_half) / len(second_half) > 0.1


def test_turnover_and_raids_fall_in_the_second_half() -> None:
    states = list(games(landlord(10, 1), "guided"))
    taken = [sum(raid.taken_by is not None for raid in state.news.raids) for state in states]
    raided = [len(state.news.raids) for state in states]
    half = ROUNDS // 2
    assert sum(taken[:half]) > 20
    assert sum(taken[half:]) == 0
    assert sum(raided[half:]) < sum(raided[:half]) / 10
