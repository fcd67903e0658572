"""Each miner's gold as a sum."""

from hobbes.engine.mining.world import MINING
from tests.arithmetic import in_ascii
from tests.engine.mining.plays import board, mine, play


def test_gold_is_what_was_there_and_what_was_booked() -> None:
    state = board("AAB", gold={"A": 4, "B": 9}, authority="raid_tax", raid_tax=3)
    round_ = play(state, A={"mine": mine((0, 0, 3)), "raid": [[0, 2]]})
    written = MINING.measures.arithmetic(round_.played)
    assert {agent: in_ascii(sums["gold"]) for agent, sums in written.items()} == {
        "A": "before 4 + plot [0, 0] 3 - tax to B 3 = 4",
        "B": "before 9 + tax from A 3 = 12",
    }
