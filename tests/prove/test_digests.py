"""Law 1: same seed, same answers, same bytes."""

import json

from tests.conftest import Cli, Hobbes


def test_a_whole_run_has_one_digest_whatever_the_hash_seed_and_verify_and_replay_agree(
    hobbes: Hobbes, cli: Cli
) -> None:
    asked = ("run", "mining", "--rounds", "4", "--agents", "20", "--seed", "1", "--json")
    one = json.loads(hobbes(*asked, env={"PYTHONHASHSEED": "1"}).stdout)
    other = json.loads(cli(*asked).stdout)  # this process has a hash seed of its own
    assert one["digest"] == other["digest"]
    assert one["over"]
    assert one["calls"] == 20 * 4
    verified = cli("verify", one["run"], "--json")
    replayed = cli("replay", one["run"], "--json")
    assert (verified.exit_code, replayed.exit_code) == (0, 0)
    assert json.loads(verified.stdout)["digest"] == one["digest"]
    assert json.loads(replayed.stdout)["digest"] == one["digest"]
