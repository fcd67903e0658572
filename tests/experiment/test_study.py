"""The games of docs/study.md, which language models played: the page has the figures of their reports."""

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hobbes.errors import HobbesError
from hobbes.experiment.report import report
from hobbes.prove.verification import Fault, verify
from hobbes.show.report_text import report_document
from hobbes.store.home import Store, open_store

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "experiments" / "study"
CLAIMS = ("| Misses end", "| gain, “often”", "| Talk changes", "| efficiency, “talking”")
"""How the rows of the tables on the page begin."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The home of the study, unpacked as the page says."""
    home = tmp_path_factory.mktemp("study")
    (home / "runs.db").write_bytes(gzip.decompress((STUDY / "runs.db.gz").read_bytes()))
    with open_store(home) as opened:
        yield opened


def test_the_page_has_the_answers_of_the_reports(study: Store) -> None:
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8").splitlines()
    told = "".join(
        report_document(study, report(study, name)).markdown() for name in ("study-misses", "study-talk")
    ).splitlines()
    rows = [line for line in page if line.startswith(CLAIMS)]
    assert len(rows) == len(CLAIMS)
    assert set(rows) <= set(told)


def test_the_games_are_as_they_were_recorded_and_those_of_earlier_rules_are_only_shown(study: Store) -> None:
    runs = [study.runs.find(row["id"]) for row in study.runs.rows()]
    finished = [run for run in runs if run.status == "finished"]
    assert Counter(run.world.name for run in finished) == {"mining": 12, "trust": 12}
    assert sum(1 for run in finished for _ in study.calls.decisions(run.id)) == 312
    for run in finished:
        if run.world.name == "mining":
            assert not any(isinstance(one, Fault) for one in verify(study, run))
        else:
            with pytest.raises(HobbesError, match="recorded with trust rules 3, and this hobbes has"):
                run.check_versions()


def test_the_finding_of_others_that_was_played_is_reported_as_its_page_says(tmp_path: Path) -> None:
    games = ROOT / "experiments" / "published" / "runs.db.gz"
    (tmp_path / "runs.db").write_bytes(gzip.decompress(games.read_bytes()))
    with open_store(tmp_path) as opened:
        told = report_document(opened, report(opened, "published-horizon")).markdown()
    assert "no difference in any of 8 pairs; with so few, up to 37% of all pairs could still differ" in told
