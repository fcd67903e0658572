"""Law 1: same seed, same answers, same bytes."""

import json

import pytest

from hobbes.lab.store.home import Store
from tests.conftest import Cli, Hobbes
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
    hobbes: Hobbes, cli: Cli
) -> None:
    asked = ("run", "mining", "--rounds", "10", "--agents", "20", "--seed", "1", "--json")
    one = json.loads(hobbes(*asked, env={"PYTHONHASHSEED": "1"}).stdout)
    other = json.loads(cli(*asked).stdout)  # this process has a hash seed of its own
    assert one["digest"] == other["digest"]
    assert one["over"]
    assert one["calls"] == 20 * 10
    verified = cli("verify", one["run"], "--json")
    replayed = cli("replay", one["run"], "--json")
    assert (verified.exit_code, replayed.exit_code) == (0, 0)
    assert json.loads(verified.stdout)["digest"] == one["digest"]
    assert json.loads(replayed.stdout)["digest"] == one["digest"]
