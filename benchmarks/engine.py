"""How fast the engine is alone: no model, no graph, no database.

`python -m benchmarks.engine [POLICY …]` plays the baseline mining board with 20 agents and prints, for each
comparator (all, if none is named), rounds a second

- of the rules: validate + resolve, on answers that are there already;
- of the whole: observe + policy + validate + resolve;

and then where the time of the last one goes.
"""

import cProfile
import pstats
import sys
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter

from engine.chance import Luck
from engine.mining.state import State
from engine.mining.world import MINING
from engine.policy import Policy
from engine.record import JsonObject
from engine.world import settle

AGENTS = 20
ROUNDS = 100
REPEATS = 5
"""The best of these counts: the others were disturbed by something else."""

LINES = 15
"""Lines of the profile."""

Answers = Mapping[str, JsonObject]


WANTED = 1_500
"""Rounds a second of the rules, for the comparator that makes them work most."""


def measure() -> list[tuple[str, str, str]]:
    """Give rounds a second of the rules and of all, for the most laborious comparator and the default one."""
    rows = [(f"rounds a second, the engine alone: {AGENTS} agents", "", "")]
    for name in ("random", MINING.policies.default):
        policy = MINING.policies.by_name[name]
        rules = f"{_speed(partial(_replay, play(policy))):,.0f}"
        rows.append((f"  {name}: validate and resolve", rules, f">= {WANTED:,}"))
        rows.append(
            (f"  {name}: observe, decide, validate, resolve", f"{_speed(partial(play, policy)):,.0f}", "")
        )
    return rows


def main() -> None:
    """Measure the comparators that are named, or all."""
    names = sys.argv[1:] or list(MINING.policies.by_name)
    print(f"mining, {AGENTS} agents, {ROUNDS} rounds, best of {REPEATS}: rounds a second")
    print(f"{'':20}{'rules':>10}{'whole':>10}")
    for name in names:
        policy = MINING.policies.by_name[name]
        rounds = play(policy)
        rules = _speed(partial(_replay, rounds))
        whole = _speed(partial(play, policy))
        print(f"{name:20}{rules:>10,.0f}{whole:>10,.0f}")
    print(f"\n{names[-1]}, whole")
    with cProfile.Profile() as profile:
        play(MINING.policies.by_name[names[-1]])
    pstats.Stats(profile).sort_stats("tottime").print_stats(LINES)


def play(policy: Policy) -> list[tuple[State, Answers]]:
    """Play a run; give each round's state and what was said in it."""
    setting = settle(MINING, MINING.names(AGENTS), 1, {"rounds": ROUNDS})
    state = MINING.setup(setting.config, setting.agents, setting.seed)
    played: list[tuple[State, Answers]] = []
    while not MINING.over(state):
        answers = {
            agent: policy(MINING.observe(state, agent), Luck(setting.seed, state.turn, agent))
            for agent in MINING.actors(state)
        }
        played.append((state, answers))
        state = step(state, answers)
    return played


def _replay(rounds: list[tuple[State, Answers]]) -> None:
    for state, answers in rounds:
        step(state, answers)


def step(state: State, answers: Answers) -> State:
    """Play one round of the rules."""
    intents = {agent: MINING.validate(state, agent, answer).intent for agent, answer in answers.items()}
    return MINING.resolve(state, intents).state


def _speed(work: Callable[[], object]) -> float:
    """Give rounds a second, at best."""
    return ROUNDS / min(_seconds(work) for _ in range(REPEATS))


def _seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


if __name__ == "__main__":
    main()
