"""The probe of `experiments/effect`, which language models answered: it is asked again from its cassette."""

from pathlib import Path

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
