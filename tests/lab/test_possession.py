"""The probe of docs/prompts.md that a language model answered: its cassette gives the table of the page."""

import shlex
from pathlib import Path

import pytest

from hobbes.lab.wire.cassettes import NEUTRAL_BASE_URL, answer_from_cassette
from tests.conftest import Cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "prompts.md").read_text(encoding="utf-8")


def test_the_cassette_gives_the_table_of_the_page(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("OPENAI_BASE_URL", NEUTRAL_BASE_URL)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    section = PAGE.partition("## Asked of a language model\n")[2].partition("\n## ")[0]
    game, probe = (line for line in section.splitlines() if line.startswith("hobbes "))
    assert cli(*shlex.split(game)[1:]).exit_code == 0
    with answer_from_cassette(ROOT / "experiments" / "possession" / "answers.yaml") as cassette:
        asked = cli(*shlex.split(probe.replace("openai:NAME", "openai:reader"))[1:], "--yes", "--json")
    assert asked.exit_code == 0
    assert cassette.all_played
    told = cli("probe", "show", "possession", "--markdown").stdout.splitlines()
    rows = [line for line in section.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 9
    assert [row for row in rows if row not in told] == []
