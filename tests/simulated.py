"""Simulated experiments, in which it is known what is true, and how often a report says so.

An experiment has some hypotheses, each about a sample of one
difference per seed. What is counted are the verdicts that a report prints.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from hobbes.engine.chance import RngStream
from hobbes.engine.mining.state import MiningConfig, setup
from hobbes.engine.mining.world import MINING
from hobbes.engine.policy import speak
from hobbes.experiment.arm_comparison import Judged, Rules, Sample, Tested, judge, level
from hobbes.experiment.experiment_file import Hypothesis
from hobbes.experiment.power import detectable_effect
from hobbes.experiment.wordings import Wordings
from tests.engine.mining.plays import play

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
    return rng.choice(pool(), n) * rng.choice((-1, 1), n) / np.sqrt(np.mean(np.square(pool())))


Population = Callable[[np.random.Generator, int], Any]

POPULATIONS: Mapping[str, Population] = {
    "games": games,
    "normal": lambda rng, n: rng.normal(size=n),
    "ties": lambda rng, n: (rng.poisson(0.5, n) - rng.poisson(0.5, n)) / 1.0,
    "skewed": lambda rng, n: rng.exponential(size=n) - 1,
    "skewed and normal": lambda rng, n: (rng.exponential(size=n) - 1 - rng.normal(0, 0.5, n)) / np.sqrt(1.25),
    "very skewed": lambda rng, n: (rng.lognormal(0, 1, n) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e),
}
"""Differences of pairs with mean 0 and standard deviation 1. The last three have skewness 2, 1.4 and 6.2."""

MILD = tuple(name for name in POPULATIONS if name != "very skewed")
"""The populations for which a report is right as often as it says."""

MARGIN = 1.5
"""The smallest difference that matters, in standard deviations."""


def verdict(one: Judged) -> str:
    """Return the verdict on the hypothesis that a difference is higher than 0."""
    hypothesis = Hypothesis(text="x", measure="m", arm="a", direction="higher")
    return Tested(hypothesis, one, exploratory=False, complete=True).verdict()


@dataclass(frozen=True)
class Tally:
    """How often something was said in simulated experiments, as shares."""

    covered: float
    """The interval held the true mean."""
    called: float
    """Any hypothesis was supported or not supported, where nothing differs."""
    found: float
    """A difference of the announced size was supported, beside hypotheses with nothing to find."""
    called_small: float
    """A difference as large as the margin was called no larger than the margin."""


RULES = Rules({"m": MARGIN}, frozenset())
"""The rules of an experiment."""


def tally(name: str, seeds: int, tests: int, experiments: int) -> Tally:
    """Return how often the report is right in so many experiments with so many hypotheses."""
    draw, rng = POPULATIONS[name], np.random.default_rng(seeds * 10 + tests)
    counts: Counter[str] = Counter()
    effect = detectable_effect(seeds, level(tests)) or 0.0
    for _ in range(experiments):
        table = np.array([draw(rng, seeds) for _ in range(tests)])
        nothing = _judged(table, RULES)
        verdicts = [verdict(one) for one in nothing]
        mean = nothing[0].difference.mean
        counts["covered"] += mean.low is not None and mean.high is not None and mean.low <= 0 <= mean.high
        counts["called"] += any(one in {"supported", "not supported"} for one in verdicts)
        for key, planted, said in (
            ("found", effect, "supported"),
            ("called_small", MARGIN, "no larger than"),
        ):
            first = _judged(np.vstack([table[:1] + planted, table[1:]]), RULES)[0]
            counts[key] += first.no_larger if key == "called_small" else verdict(first) == said
    keys = ("covered", "called", "found", "called_small")
    return Tally(*(counts[key] / experiments for key in keys))


def _judged(table: Any, of: Rules) -> list[Judged]:
    samples = [Sample("m", dict(enumerate(map(float, row))), ("a",)) for row in table]
    return judge(samples, of)


def shares_called_small(share: float, seeds: int, experiments: int) -> float:
    """Return how often a share as large as the margin is called no larger, of games that are 1 or 0."""
    rng = np.random.default_rng(seeds)
    of = replace(RULES, margins={"m": share})
    judged = (_judged([rng.random(seeds) < share], of) for _ in range(experiments))
    return sum(one.no_larger for (one,) in judged) / experiments


GAMES_ALIKE = np.sqrt(0.5)
"""The spread of what a seed adds to all wordings, and of what it adds to each; together they are 1."""


@dataclass(frozen=True)
class WordingsTally:
    """How often something was said of several wordings in simulated experiments, as shares."""

    covered: float
    """The interval held the mean over all wordings that might have been used."""
    called: float
    """The hypothesis was supported or not supported, where nothing differs in this mean."""
    over_games: float
    """An interval over games alone held it."""


def wordings_tally(name: str, wordings: int, seeds: int, between: float, experiments: int) -> WordingsTally:
    """Return how often the report is right about wordings with this standard deviation between them."""
    draw, rng = POPULATIONS[name], np.random.default_rng(seeds * 10 + wordings)
    counts: Counter[str] = Counter()
    for _ in range(experiments):
        of_games = draw(rng, seeds) + [draw(rng, seeds) for _ in range(wordings)]
        table = rng.normal(0, between, (wordings, 1)) + GAMES_ALIKE * of_games
        crossed = {str(n): dict(enumerate(map(float, row))) for n, row in enumerate(table)}
        pairs = dict(enumerate(map(float, table.mean(axis=0))))
        alone = Sample("m", pairs, ("a",))
        with_wordings = replace(alone, wordings=(Wordings(("a",), crossed),))
        for key, sample in (("covered", with_wordings), ("over_games", alone)):
            (one,) = judge([sample], RULES)
            mean = one.difference.mean
            counts[key] += mean.low is not None and mean.high is not None and mean.low <= 0 <= mean.high
            if key == "covered":
                counts["called"] += verdict(one) in {"supported", "not supported"}
    return WordingsTally(*(counts[key] / experiments for key in ("covered", "called", "over_games")))
