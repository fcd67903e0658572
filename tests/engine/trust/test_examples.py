"""The six worked examples of the seed. Every unit begins with 50 sats unless the test says otherwise."""

from tests.engine.trust.plays import game, play


def test_example_1_two_high_fives_gain_three_each() -> None:
    """A 50 + 3 = 53, B 50 + 3 = 53."""
    assert play(game(), a="high_five", b="high_five").sats == {"a": 53, "b": 53}


def test_example_2_an_attack_on_who_does_nothing_takes_four() -> None:
    """A 50 + 4 = 54, B 50 - 4 = 46."""
    assert play(game(), a="attack", b="do_nothing").sats == {"a": 54, "b": 46}


def test_example_3_a_blocked_attack_costs_three_and_the_blocker_nets_one() -> None:
    """A 50 - 3 = 47, B 50 - 1 + 2 = 51."""
    assert play(game(), a="attack", b="block").sats == {"a": 47, "b": 51}


def test_example_4_a_high_five_at_an_attacker_loses_six() -> None:
    """A 50 - 2 - 4 = 44, B 50 + 4 = 54."""
    assert play(game(), a="high_five", b="attack").sats == {"a": 44, "b": 54}


def test_example_5_a_beggar_pays_one_and_gets_what_is_granted() -> None:
    """Granted: A 50 - 1 + 5 = 54; declined: A 50 - 1 = 49. B stays at 50."""
    line = "beg 5 for an expected attack"
    assert play(game(observer="always"), a=line, b="do_nothing").sats == {"a": 54, "b": 50}
    assert play(game(observer="never"), a=line, b="do_nothing").sats == {"a": 49, "b": 50}


def test_example_6_a_replicate_under_attack_pays_fifty_and_loses_four() -> None:
    """In team play: A 110 - 50 - 4 = 56, its new unit 25, B 50 + 4 = 54."""
    state = game(sats={"a": 110, "b": 50}, victory="team")
    assert play(state, a="replicate", b="attack a").sats == {"a": 56, "a-2": 25, "b": 54}
