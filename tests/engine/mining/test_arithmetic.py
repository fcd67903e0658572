"""Each miner's gold as a sum."""

from hobbes.engine.chance import RngStream
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.mining.world import MINING
from tests.arithmetic import comes_out, in_ascii
from tests.engine.mining.plays import board


def test_gold_is_what_was_there_and_what_was_booked() -> None:
    state = board("AAA/BBB", gold={"A": 4, "B": 9}, authority="raid_tax", raid_tax=3, raid_tax_to="victim")
    for turn in range(20):
        intents = {
            agent: MINING.validate(
                state,
                agent,
                MINING.policies.by_name["random"](MINING.observe(state, agent), RngStream(1, turn, agent)),
            ).intent
            for agent in "AB"
        }
        resolved = MINING.resolve(state, intents)
        written = MINING.measures.arithmetic(
            PlayedTurn(state, intents, resolved.state, resolved.events, resolved.draws)
        )
        for agent, sums in written.items():
            assert comes_out(sums["gold"])
            assert sums["gold"].endswith(f" = {resolved.state.gold[agent]}")
            assert in_ascii(sums["gold"]).startswith(f"before {state.gold[agent]}")
        state = resolved.state
