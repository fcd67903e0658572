"""Law 1: same seed, same answers, same bytes."""

import json

import pytest

from lab.store.database import Store
from tests.conftest import Hobbes
from tests.lab.play import mining


def test_the_same_seed_gives_the_same_digest(opened: Store) -> None:
    assert mining(opened, seed=1).digest == mining(opened, seed=1).digest


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 2},
        {"models": "policy:random"},
        {"models": "policy:guided?noise=0.5"},
        {"values": {"rounds": 4, "rows": 4, "cols": 4, "stamina": 3}},
    ],
    ids=["seed", "policy", "noise", "treatment"],
)
def test_another_seed_policy_noise_or_treatment_gives_another(
    opened: Store, other: dict[str, object]
) -> None:
    assert mining(opened, seed=1).digest != mining(opened, **{"seed": 1, **other}).digest


def test_a_whole_run_has_one_digest_whatever_the_hash_seed_and_verify_and_replay_agree(
    hobbes: Hobbes,
) -> None:
    asked = ("run", "mining", "--rounds", "30", "--agents", "20", "--seed", "1", "--json")
    one, other = (json.loads(hobbes(*asked, env={"PYTHONHASHSEED": seed}).stdout) for seed in ("1", "2"))
    assert one["digest"] == other["digest"]
    assert one["over"]
    assert one["calls"] == 20 * 30
    verified = hobbes("verify", one["run"], "--json")
    replayed = hobbes("replay", one["run"], "--json")
    assert (verified.returncode, replayed.returncode) == (0, 0)
    assert json.loads(verified.stdout)["digest"] == one["digest"]
    assert json.loads(replayed.stdout)["digest"] == one["digest"]
