"""How fast the engine alone is: no model, no graph, no database.

`python -m benchmarks.engine [POLICY …]` plays the default mining board with 20 agents. For each named
scripted policy, or for all, it prints two speeds in rounds per second:

- rules: validate and resolve, with answers made before;
- whole: observe, policy, validate and resolve.

A profile of the last policy follows.
"""

import cProfile
import pstats
import sys
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter

from benchmarks._floors import plain_rounds_per_second
from engine.chance import Luck
from engine.mining.state import State
from engine.mining.world import MINING
from engine.policy import Policy
from engine.record import JsonObject
from engine.world import settle

AGENTS = 20
ROUNDS = 100
REPEATS = 5
"""The best of these repeats counts: the others were disturbed by something else."""

LINES = 15
"""How many lines of the profile are printed."""

REACH = 0.2
"""The share of the plain floor's speed that is aimed at, with the moves given."""

Answers = Mapping[str, JsonObject]
"""The answer of each agent."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table, for the policy that gives the rules the most work and the default one."""
    given, chosen = (plain_rounds_per_second(AGENTS, ROUNDS, choosing=choosing) for choosing in (False, True))
    rows = [
        (f"rounds per second, the engine alone: {AGENTS} agents", "", ""),
        ("  floor: plain rules, the moves given", f"{given:,.0f}", ""),
        ("  floor: plain rules, random moves, chain of digests", f"{chosen:,.0f}", ""),
    ]
    for name in ("random", MINING.policies.default):
        policy = MINING.policies.by_name[name]
        rules, whole = _speed(partial(_replay, play(policy))), _speed(partial(play, policy))
        rows += [
            (f"  {name}: validate and resolve", f"{rules:,.0f}", ""),
            ("    share of the floor", f"{rules / given:.2f}", f">= {REACH}"),
            (f"  {name}: observe, decide, validate, resolve", f"{whole:,.0f}", ""),
        ]
    return rows


def main() -> None:
    """Measure the policies named on the command line, or all, and print a table and a profile."""
    names = sys.argv[1:] or list(MINING.policies.by_name)
    print(f"mining, {AGENTS} agents, {ROUNDS} rounds, best of {REPEATS}: rounds per second")
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
    """Play a run. Return the state and the answers of each round."""
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
    """Return the state after one round: validate and resolve."""
    intents = {agent: MINING.validate(state, agent, answer).intent for agent, answer in answers.items()}
    return MINING.resolve(state, intents).state


def _speed(work: Callable[[], object]) -> float:
    """Return the rounds per second of the best repeat."""
    return ROUNDS / min(_seconds(work) for _ in range(REPEATS))


def _seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


if __name__ == "__main__":
    main()
