"""Simulated experiments, in which it is known what is true, and how often the statistics say so.

An experiment has four measures: the gold of real games of scripted policies, drawn from a pool of games, and
values that are normal, skewed, and counts. In the null arm nothing differs from the baseline. In the planted
arm a difference of the announced size was added, the smallest that the report says it would detect.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from hobbes.engine.chance import RngStream
from hobbes.engine.mining.state import MiningConfig, setup
from hobbes.engine.mining.world import MINING
from hobbes.engine.policy import speak
from hobbes.lab.experiment.statistics import (
    ALPHA,
    detectable_effect,
    differences_of,
    holm,
    spread_of,
)
from tests.mining.plays import play

Pairs: TypeAlias = list[float]
"""The differences of the pairs of an experiment."""

GAMES, ROUNDS, AGENTS, NOISE = 40, 12, 4, 0.3
"""The pool of real games."""


def gold(seed: int, rng: str) -> int:
    """Return the gold that all agents mine in a game of noisy policies."""
    state = setup(MiningConfig(rounds=ROUNDS, rows=4, cols=4), MINING.names(AGENTS), seed)
    for turn in range(ROUNDS):
        said = {
            agent: speak(
                MINING.policies,
                "guided",
                NOISE,
                MINING.observe(state, agent),
                RngStream(seed, turn, agent, rng),
            )
            for agent in state.setting.agents
        }
        state = play(state, **{agent: _read(text) for agent, text in said.items()}).after
    return sum(MINING.scores(state).values())


def _read(text: str) -> dict[str, Any]:
    """Return the answer in a text; a text that is not JSON counts as an empty answer here."""
    try:
        answer: dict[str, Any] = json.loads(text)
    except ValueError:
        return {}
    return answer


@cache
def pool() -> tuple[float, ...]:
    """Return the differences of games that share the world's draws, while the policies draw anew."""
    return tuple(float(gold(seed, "") - gold(seed, "null")) for seed in range(GAMES))


def games(rng: np.random.Generator, n: int) -> Any:
    """Return differences of real games. Which of two games is the baseline is drawn, so the truth is 0."""
    return rng.choice(pool(), n) * rng.choice((-1, 1), n)


MEASURES: Mapping[str, Callable[[np.random.Generator, int], Any]] = {
    "games": games,
    "normal": lambda rng, n: rng.normal(size=n) - rng.normal(size=n),
    "skewed": lambda rng, n: rng.lognormal(0, 0.5, n) - rng.lognormal(0, 0.5, n),
    "counts": lambda rng, n: rng.poisson(12, n) - rng.poisson(12, n),
}


@dataclass
class Tally:
    """How often something was said in simulated experiments, as shares."""

    experiments: int
    called: dict[str, float] = field(default_factory=dict)
    """A measure of the null arm was called different, before Holm's correction."""
    any_called: float = 0.0
    """Any measure of the null arm was called different, after Holm's correction."""
    covered: dict[str, float] = field(default_factory=dict)
    """The interval of a measure contained the truth."""
    found: dict[str, float] = field(default_factory=dict)
    """A planted difference was found."""

    def __str__(self) -> str:
        """Return the shares in words."""
        parts = [
            f"{self.experiments} experiments",
            f"any measure called different {self.any_called:.1%} (Holm)",
        ]
        for name, called in self.called.items():
            rates = f"covered {self.covered[name]:.1%}, found {self.found[name]:.1%}"
            parts.append(f"{name}: called different {called:.1%}, {rates}")
        return "; ".join(parts)


def simulate(experiments: int, seeds: int, measures: Sequence[str] = tuple(MEASURES)) -> Tally:
    """Return how often the statistics were right in so many experiments of so many seeds."""
    rng = np.random.default_rng(1)
    called, covered, found = Counter[str](), Counter[str](), Counter[str]()
    any_called = 0
    for _ in range(experiments):
        ps = []
        for name in measures:
            draw = MEASURES[name]
            null = differences_of([[float(value) for value in draw(rng, seeds)]])[0]
            ps.append(null.p)
            called[name] += null.p is not None and null.p < ALPHA
            low, high = null.mean.low, null.mean.high
            covered[name] += low is not None and high is not None and low <= 0 <= high
            pairs = [float(value) for value in draw(rng, seeds)]
            announced = (detectable_effect(seeds) or 0) * (spread_of(pairs) or 0)
            planted = differences_of([[pair + announced for pair in pairs]])[0]
            found[name] += planted.p is not None and planted.p < ALPHA
        any_called += any(p is not None and p < ALPHA for p in holm(ps))
    shares = ({n: count[n] / experiments for n in measures} for count in (called, covered, found))
    of_called, of_covered, of_found = shares
    return Tally(experiments, of_called, any_called / experiments, of_covered, of_found)
