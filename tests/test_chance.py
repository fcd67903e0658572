"""Random draws are keyed by seed, turn, subject and event."""

from hobbes.engine.chance import RngStream, draw


def test_a_draw_depends_on_its_key_and_not_on_the_order_of_participants() -> None:
    one = draw(1, 2, [3, 4], "raid", ["b", "a", "c"])
    other = draw(1, 2, [3, 4], "raid", ["c", "b", "a"])
    assert one == other
    assert one.participants == ("a", "b", "c")


def test_draws_with_different_keys_differ() -> None:
    digests = {
        draw(seed, turn, subject, event, ["a", "b"]).digest
        for seed in (1, 2)
        for turn in (1, 2)
        for subject in ([0, 0], [0, 1])
        for event in ("claim", "raid")
    }
    assert len(digests) == 2**4


def test_a_number_below_a_bound_takes_every_value_below_it() -> None:
    rng = RngStream(1, 2, "a")
    assert {rng.below(3, str(k)) for k in range(100)} == {0, 1, 2}
