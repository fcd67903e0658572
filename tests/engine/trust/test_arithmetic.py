"""Each unit's sats as a sum: what it had before, and each effect of the round."""

from hobbes.engine.trust.world import TRUST
from tests.arithmetic import comes_out, in_ascii
from tests.engine.trust.plays import game, play


def test_sats_are_written_as_a_sum_that_a_hand_can_check() -> None:
    round_ = play(game(sats={"a": 50, "b": 50, "c": 0}), a="high_five b", b="attack a")
    written = TRUST.measures.arithmetic(round_.played)
    assert {unit: in_ascii(sums["sats"]) for unit, sums in written.items()} == {
        "a": "before 50 - left hanging 2 - attacked 4 = 44",
        "b": "before 50 + attack 4 = 54",
    }
    assert all(comes_out(sums["sats"]) for sums in written.values())


def test_a_new_unit_begins_its_sum_at_nothing() -> None:
    round_ = play(game(sats={"a": 100, "b": 50}, victory="team"), a="replicate", b="block")
    written = TRUST.measures.arithmetic(round_.played)
    assert in_ascii(written["a"]["sats"]) == "before 100 - replicate 50 = 50"
    assert in_ascii(written["a-2"]["sats"]) == "before 0 + born 25 = 25"
