"""The probe of `experiments/effect`, which language models answered: it is asked again from its cassette."""

import json
from pathlib import Path

from hobbes.probe.situations import read_probe_file
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
    assert "terse: no difference from recorded was found (no p below 0.05)." in told
    assert str(Path.cwd()) not in cli("probe", "show", "effect", "--json").stdout


def test_what_ships_of_it_names_no_folder_of_a_machine_and_has_all_answers(cli: Cli, home: Path) -> None:
    unpack_recorded(home)
    plan = read_probe_file(Path("experiments/effect/situations.toml"))
    again = cli("probe", "experiments/effect/situations.toml", "--dry-run").stdout
    assert "0 answers to ask; 108 are there already" in again
    columns = json.loads(cli("probe", "show", "effect", "--json").stdout)["columns"]
    assert {one["prompts"] for one in columns[1:]} == {*plan.prompts, "formal", "story", "terse"}
    first = cli("probe", "show", "effect", "1").stdout
    others = first.partition("\nBeside recorded stands together. For the others:\n")[2].splitlines()
    assert [line.split()[-1] for line in others[:4]] == ["possession", "formal", "story", "terse"]
    shown = cli("probe", "show", "effect").stdout
    assert f"\nAnswered by openai:reader.\n\n{plan.about}\n" in shown
