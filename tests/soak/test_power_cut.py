"""Cut power by the hundred: longer runs, every pair of moments, cuts at any byte, damaged checkpoints."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.soak import times
from tests.store.test_power_cut import (
    Game,
    a_person_observes,
    check_cuts,
    check_damage,
    check_pairs,
    mining,
    nations,
    reference,
)

pytestmark = pytest.mark.soak

ROUNDS, CUTS, DAMAGES = 12, times(300), times(300)


@pytest.mark.parametrize("game", [mining, nations, a_person_observes])
def test_power_is_cut_again_and_again(game: Game, tmp_path: Path, tried: Callable[[str], None]) -> None:
    rng = random.Random(game.__name__)  # noqa: S311  no secret
    short = reference(game(4), tmp_path / "short")
    check_pairs(short, tmp_path, all_of_them=True)
    whole = reference(game(ROUNDS), tmp_path / "whole", every=5)
    asked_again = check_cuts(whole, tmp_path, CUTS, rng)
    check_damage(whole, tmp_path, DAMAGES, rng)
    pairs = len(short.moments) * (len(short.moments) + 1)
    again = f"{min(asked_again)} to {max(asked_again)} of {len(whole.asked)} calls asked again"
    tried(f"{pairs} pairs of moments, {CUTS} cuts, {DAMAGES} damaged checkpoints; {again}")
