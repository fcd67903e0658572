"""The games of docs/pilot.md, which language models played: they are shown, and the page tells them."""

import gzip
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hobbes.cli import app
from hobbes.engine.answer import DECISIONS, FoundAs
from hobbes.engine.record import sha256
from hobbes.engine.turn import answer_fields
from hobbes.errors import HobbesError
from hobbes.experiment.experiment_file import read_experiment_file
from hobbes.experiment.report import report
from hobbes.nodes.reading import read
from hobbes.prove.verification import Fault, verify
from hobbes.store.home import Store, open_store

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "experiments" / "pilot").glob("*.toml"))

OF_CASSETTES = {
    "mining": 5,
    "mining-settings": 4,
    "mining-zh": 6,
    "nations": 4,
    "nations-grateful": 4,
    "trust": 8,
    "trust-alliances": 6,
}
"""The turns of the games that were cassettes before rules or prompts changed."""

OF_TODAYS_RULES = {"cassette-mining-zh", "cassette-nations-grateful", "eight-plots"}
"""The games whose rules are those of today; the last one has the situations of a probe."""


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The home of the pilot, unpacked as the page says."""
    home = tmp_path_factory.mktemp("pilot")
    (home / "runs.db").write_bytes(gzip.decompress((ROOT / "hobbes/recorded.db.gz").read_bytes()))
    with open_store(home) as opened:
        yield opened


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_all_games_are_as_they_were_recorded_and_their_experiment_is_reported(
    file: Path, pilot: Store
) -> None:
    asked, content = read_experiment_file(file)
    found = report(pilot, asked.name)
    assert len(found.cells) == len(asked.seeds) * len(content["arms"])
    for cell in found.cells:
        run = pilot.runs.find(cell.run)
        turns = list(pilot.turns.of(run))
        previous = run.digest_before(0, "")
        for turn in turns:
            assert turn.digest == sha256(previous + turn.text)
            previous = turn.digest
        assert (previous, len(turns)) == (run.digest, run.turns)
        assert {one.outcome for one in pilot.calls.decisions(run.id)} <= DECISIONS


def test_all_games_are_kept_whole_and_those_of_earlier_rules_are_only_shown(pilot: Store) -> None:
    runs = {row["name"]: pilot.runs.find(row["id"]) for row in pilot.figures.of_all_runs()}
    assert {name: runs[f"cassette-{name}"].turns for name in OF_CASSETTES} == OF_CASSETTES
    assert len(runs) == 14 + len(OF_CASSETTES) + 1
    for name, run in runs.items():
        assert all(
            call.reply.text and call.prompt.turn for call in pilot.calls.of_turn(run.id, run.turns - 1)
        )
        if name in OF_TODAYS_RULES:
            assert not any(isinstance(one, Fault) for one in verify(pilot, run))
            continue
        with pytest.raises(
            HobbesError, match="not resumed, replayed, verified or measured: it was recorded with"
        ):
            run.check_versions()


def test_the_orders_before_one_brace_too_many_would_be_carried_out_today(pilot: Store) -> None:
    (run, turn) = next(pilot.db.execute("select run, turn from calls where found_as = 'embedded'"))
    found = pilot.runs.find(run)
    (call,) = (call for call in pilot.calls.of_turn(run, turn) if call.found_as is FoundAs.EMBEDDED)
    agent = call.address.agent
    said = read(agent, call.reply, answer_fields(found.world, found.setting, agent)).said
    assert said is not None
    assert said.keys() == {"disband_mils", "money_grants", "cede_territories", "messages"}


ANSWERED = re.compile(r"```\n\$ hobbes (.*?) --home \.hobbes/demo\n(.*?)```", re.DOTALL)
"""A command of docs/read-why.md on the pilot, and the beginning of what it prints."""


def test_what_the_page_prints_is_printed_as_the_page_says(pilot: Store) -> None:
    questions = ANSWERED.findall((ROOT / "docs/read-why.md").read_text(encoding="utf-8"))
    assert len(questions) == 5
    for command, answer in questions:
        words = [*shlex.split(command), "--home", str(pilot.home)]
        printed = CliRunner(env={"COLUMNS": "100"}).invoke(app, words).stdout
        assert "".join(f"{line.rstrip()}\n" for line in printed.splitlines()).startswith(answer), command
