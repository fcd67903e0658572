"""How fast the engine alone is: no model, no graph, no database.

The default mining board is played with 20 agents. Of a scripted policy, two speeds are measured in rounds per
second:

- rules: validate and resolve, with answers made before;
- whole: observe, policy, validate and resolve, with the record of each round and the chain of digests.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from benchmarks._floors import plain_rounds, rounds_per_second
from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.chance import RngStream
from hobbes.engine.digest import first_digest, link
from hobbes.engine.memory import Memory
from hobbes.engine.mining.state import State
from hobbes.engine.mining.world import MINING
from hobbes.engine.policy import Policy
from hobbes.engine.record import JsonObject
from hobbes.engine.turn import play_turn, views
from hobbes.engine.world import make_setting

AGENTS = 20
ROUNDS = 100
REPEATS = 10
"""Of each round, the best of these repeats counts: the others were disturbed by something else."""

REACH = 0.2
"""The share of the plain floor's speed that is aimed at, with the moves given."""

REACH_WHOLE = 0.13
"""The share of the plain floor's speed that is aimed at, with moves chosen and a chain of digests."""

Answers = Mapping[str, JsonObject]
"""The answer of each agent."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table, for the policy that gives the rules the most work and the default one."""
    given, chosen = (
        rounds_per_second(partial(plain_rounds, AGENTS, ROUNDS, choosing=choosing), REPEATS)
        for choosing in (False, True)
    )
    rows = [
        (f"rounds per second, the engine alone: {AGENTS} agents", "", ""),
        ("  floor: plain rules, the moves given", f"{given:,.0f}", ""),
        ("  floor: plain rules, random moves, chain of digests", f"{chosen:,.0f}", ""),
    ]
    for name in ("random", MINING.policies.default):
        policy = MINING.policies.by_name[name]
        rules, whole = _speeds(policy)
        rows += [
            (f"  {name}: validate and resolve", f"{rules:,.0f}", ""),
            ("    share of the floor", f"{rules / given:.2f}", f">= {REACH}"),
            (f"  {name}: views, decisions, rules, record, chain", f"{whole:,.0f}", ""),
            ("    share of the floor", f"{whole / chosen:.2f}", f">= {REACH_WHOLE}"),
        ]
    return rows


def _speeds(policy: Policy) -> tuple[float, float]:
    """Return the rounds per second of the rules alone, and of whole rounds."""
    rounds = list(played(policy))
    return (
        rounds_per_second(partial(_replayed, rounds), REPEATS),
        rounds_per_second(partial(played, policy), REPEATS),
    )


def _parsed(answers: Answers) -> dict[str, ParsedAnswer]:
    """Return answers as they are read."""
    return {
        agent: ParsedAnswer(Outcome.ANSWERED, FoundAs.JSON, dict(answer)) for agent, answer in answers.items()
    }


def played(policy: Policy) -> Iterator[tuple[State, Answers]]:
    """Play a run, with the record of each round and the chain. Yield the state and answers of each round."""
    setting = make_setting(MINING, MINING.names(AGENTS), 1, {"rounds": ROUNDS})
    state: State = MINING.setup(setting.config, setting.agents, setting.seed)
    memories: Mapping[str, Memory] = {}
    digest = first_digest(MINING, setting)
    while not MINING.over(state):
        answers = {
            agent: policy(view, RngStream(setting.seed, state.turn, agent))
            for agent, view in views(MINING, state, memories).items()
        }
        turn = play_turn(MINING, state, memories, _parsed(answers))
        digest = link(digest, turn.record)
        yield state, answers
        state, memories = turn.resolved.state, turn.memories


def _replayed(rounds: list[tuple[State, Answers]]) -> Iterator[State]:
    """Validate and resolve each round again. Yield the state after it."""
    for state, answers in rounds:
        intents = {agent: MINING.validate(state, agent, answer).intent for agent, answer in answers.items()}
        yield MINING.resolve(state, intents).state
