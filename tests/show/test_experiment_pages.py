"""The page of an experiment: how far it is, and the report, from which each run can be reached."""

import re
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hobbes.engine.mining.actions import KINDS
from hobbes.show.web.server import site
from hobbes.store.experiment_tables import cells_of
from hobbes.store.home import Store
from hobbes.store.policy_games import with_turns
from hobbes.store.recorded_run import Run
from tests.pages import LOCAL
from tests.small_experiment import FILE, Quiet, play_all, written


class StoppedError(Exception):
    """The experiment is stopped here."""


class Stopping(Quiet):
    """Stops an experiment at the beginning of its fifth run."""

    def on_cell(self, run: Run) -> None:
        super().on_cell(run)
        if len(self.runs) == 5:
            raise StoppedError


@pytest.fixture
def stopped(opened: Store, tmp_path: Path) -> Store:
    """A home with an experiment of nine runs that was stopped in its fifth."""
    with pytest.raises(StoppedError):
        play_all(opened, written(tmp_path), Stopping())
    return opened


def test_the_first_page_and_its_own_say_how_far_an_experiment_is(stopped: Store, pages: TestClient) -> None:
    first = pages.get("/").text
    assert 'href="/experiments/small"' in first
    assert "4 of 9 runs played" in first
    reloading = 'http-equiv="refresh"'
    assert reloading not in pages.get("/experiments/small").text
    fifth = cells_of(stopped, "small")["immune", 2].id
    with stopped.playing(fifth):
        assert reloading in pages.get("/experiments/small").text


def test_an_experiment_that_was_stopped_shows_its_runs_so_far(stopped: Store, pages: TestClient) -> None:
    page = pages.get("/experiments/small").text
    assert "Played so far: 4 of 9 runs" in page
    runs = cells_of(stopped, "small")
    assert len(runs) == 5
    for cell in runs.values():
        assert f'href="/{cell.id}"' in page
    assert re.search(rf'href="/{runs["immune", 2].id}">unfinished, 0 turns</a>', page)


def test_a_number_leads_to_its_run_an_answer_to_its_pair_and_a_point_of_a_picture_too(small: Store) -> None:
    store = small
    with TestClient(site(store.home, "127.0.0.1"), base_url=LOCAL) as visitor:
        runs = {place: cell.id for place, cell in cells_of(store, "small").items()}
        page = unescape(visitor.get("/experiments/small").text)
        for seed in (1, 2, 3):
            for arm in ("open", "immune", "null"):
                assert re.search(rf'href="/{runs[arm, seed]}">-?[\d.]', page)
        for seed in (1, 2, 3):
            for arm in ("immune", "null"):
                pair = f"/compare?a={runs['open', seed]}&b={runs[arm, seed]}"
                assert f'<a href="{pair}" aria-label="seed {seed}: ' in page
        assert visitor.get(pair).status_code == 200
        assert "Each dot of a chart leads to its pair of runs." in page
        pairs = re.findall(r'<td data-label="nearest pair"><a href="([^"]*)">seed (\d)</a>', page)
        assert pairs
        for pair, seed in pairs:
            assert pair == f"/compare?a={runs['open', int(seed)]}&b={runs['immune', int(seed)]}"
        efficiency = store.figures.measures(with_turns(store, store.runs.find(runs["immune", 3])).id)[
            "efficiency"
        ]
        assert f'href="/{runs["immune", 3]}">{efficiency:.3g}</a>' in page
    assert "Each arm" in page


def test_an_experiment_that_is_not_there_has_no_page(pages: TestClient, opened: Store) -> None:
    missing = pages.get("/experiments/none")
    assert missing.status_code == 404
    assert "there is no experiment 'none'" in missing.text
    assert opened.figures.of_all_runs() == []


def play_arms(store: Store, folder: Path, arms: int) -> None:
    """Play an experiment of so many arms besides the baseline."""
    text = FILE.partition("[arms")[0].replace("seeds = 3", "seeds = 1").replace("rounds = 4", "rounds = 2")
    play_all(store, written(folder, f"{text}[factors]\nimmunity = {[*range(1, arms + 1)]}\n"))


def test_all_of_many_arms_are_drawn(opened: Store, pages: TestClient, tmp_path: Path) -> None:
    play_arms(opened, tmp_path, 12)
    page = unescape(pages.get("/experiments/small").text)
    shares = page.partition('aria-label="Shares over time')[2].partition("</svg>")[0]
    assert shares.count("<polyline ") == 13 * len(KINDS)
