"""The probe of `experiments/effect`, which language models answered: it is asked again from its cassette."""

import json
import tomllib
from pathlib import Path

from hobbes.show.demonstration import unpack_recorded
from hobbes.wire.cassettes import answer_from_cassette
from tests.conftest import Cli

NO_SERVER = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "https://model.invalid/v1"}


def test_the_effect_that_ships_is_found_again_in_its_cassette(cli: Cli) -> None:
    cli("run", "experiments/effect/run.toml", "--name", "eight-plots")
    with answer_from_cassette(Path("experiments/effect/answers.yaml")):
        told = cli("probe", "experiments/effect/situations.toml", "--yes", env=NO_SERVER).stdout
    for name in ("together", "possession"):
        assert f"\n{name}: raid in 17% of the answers, against 83% in the column recorded: -67 points" in told
    assert "terse: no difference from recorded was found" in told


def test_what_ships_of_it_names_no_folder_of_a_machine_and_has_all_answers(cli: Cli, tmp_path: Path) -> None:
    unpack_recorded(tmp_path)
    again = cli("probe", "experiments/effect/situations.toml", "--dry-run", "--home", str(tmp_path)).stdout
    assert "0 answers to ask; 108 are there already" in again
    told = json.loads(cli("probe", "show", "effect", "--json", "--home", str(tmp_path)).stdout)
    plan = tomllib.loads(Path("experiments/effect/situations.toml").read_text(encoding="utf-8"))
    assert {one["prompts"] for one in told["columns"][1:]} == {*plan["prompts"], "formal", "story", "terse"}
    first = cli("probe", "show", "effect", "1", "--home", str(tmp_path)).stdout
    others = first.partition("\nBeside recorded stands together. For the others:\n")[2].splitlines()[:4]
    assert [line.split(" --home")[0].split()[-1] for line in others] == [
        "possession",
        "formal",
        "story",
        "terse",
    ]
    shown = cli("probe", "show", "effect", "--markdown", "--home", str(tmp_path)).stdout
    assert f"\nAnswered by openai:reader.\n\n{plan['about']}\n" in shown
