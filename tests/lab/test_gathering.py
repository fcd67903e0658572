"""What reports need of an experiment is gathered once, is never stale, and is enough without the traces."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from hobbes.engine.mining.world import MINING
from hobbes.lab.errors import HaltedRunError
from hobbes.lab.experiment import gathering
from hobbes.lab.experiment.file import read_experiment_file
from hobbes.lab.experiment.playing import play_experiment
from hobbes.lab.experiment.report import report
from hobbes.lab.experiment.retention import Retention
from hobbes.lab.play.playing import RunOptions
from hobbes.lab.proof.verifying import faults
from hobbes.lab.show.viewing import site
from hobbes.lab.store.experiments import played_cells
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.traces import drop_traces, with_traces
from tests.conftest import Cli
from tests.lab.play import played
from tests.lab.test_experiments import FILE, Quiet, planned, play_all, written
from tests.lab.test_reports import told
from tests.lab.visiting import LOCAL

TABLES = ("runs", "measures", "turns", "scores", "spells", "ratings")

ONE_SEED, TWO_SEEDS, FOUR_SEEDS = (FILE.replace("seeds = 3", f"seeds = {n}") for n in (1, 2, 4))


def play_keeping(store: Store, path: Path, keep: Retention) -> None:
    """Play an experiment, and keep the traces of some runs."""
    _, content = read_experiment_file(path)
    play_experiment(store, planned(store, path), content, Quiet(), keep=keep)


def files(store: Store) -> dict[str, bytes]:
    """Return the gathered files by their paths."""
    folder = store.home / "gathered"
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def tables(store: Store) -> dict[str, Any]:
    """Return the rows of the gathered files of the arm `open` by their paths."""
    found = (store.home / "gathered").rglob("arm=open/*.parquet")
    return {str(path): pq.read_table(path, partitioning=None).to_pylist() for path in found}


def not_read(*_: Any) -> Any:
    raise AssertionError("a run was read")


def test_runs_are_gathered_when_they_end_and_a_report_reads_no_run(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    arms = ("open", "immune", "null")
    assert files(small).keys() == {f"small/{t}/arm={a}/part.parquet" for t in TABLES for a in arms}
    monkeypatch.setattr(gathering, "_rows", not_read)
    report(small, "small")


def test_the_tables_of_an_arm_are_written_once_however_many_runs_it_has(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_tables: list[Any] = []
    write = pq.write_table

    def counted(table: Any, *rest: Any, **options: Any) -> None:
        written_tables.append(table)
        write(table, *rest, **options)

    monkeypatch.setattr(pq, "write_table", counted)
    play_all(opened, written(tmp_path, TWO_SEEDS))
    assert len(written_tables) == 3 * len(TABLES)


class Killed(Quiet):
    """Kills the experiment when its fifth run has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = 0

    def on_ended(self, _: str) -> None:
        self.ended += 1
        if self.ended == 5:
            raise KeyboardInterrupt


@pytest.fixture
def stopped(opened: Store, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """An experiment that was killed when 5 of its 6 runs had ended, and the report of one that was not."""
    path = written(tmp_path, TWO_SEEDS)
    with open_store(tmp_path / "whole") as whole:
        play_all(whole, path)
        expected = report(whole, "small").to_json()
    _, content = read_experiment_file(path)
    with pytest.raises(KeyboardInterrupt):
        play_experiment(opened, planned(opened, path), content, Killed(), keep=Retention.failures)
    assert len(files(opened)) == 5
    return path, expected


def test_what_a_killed_experiment_has_gathered_is_not_read_again(
    opened: Store, stopped: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, expected = stopped
    with monkeypatch.context() as patched:
        patched.setattr(gathering, "_rows", not_read)
        assert report(opened, "small").planned == 6
    assert all(name.endswith("part.parquet") for name in files(opened))
    assert play_all(opened, path) == ["small.null.2"]
    assert report(opened, "small").to_json() == expected


def test_what_a_killed_experiment_has_gathered_becomes_tables_when_it_is_played_on(
    opened: Store, stopped: tuple[Path, dict[str, Any]]
) -> None:
    path, expected = stopped
    assert play_all(opened, path) == ["small.null.2"]
    assert files(opened).keys() == {
        f"small/{t}/arm={a}/part.parquet" for t in TABLES for a in ("open", "immune", "null")
    }
    assert report(opened, "small").to_json() == expected


@pytest.mark.parametrize("damage", ["emptied", "cut off", "changed", "of another run", "no text"])
def test_a_gathered_run_that_is_damaged_before_it_is_in_a_table_is_read_again(
    opened: Store, tmp_path: Path, damage: str
) -> None:
    path = written(tmp_path, TWO_SEEDS)
    _, content = read_experiment_file(path)
    with pytest.raises(KeyboardInterrupt):
        play_experiment(opened, planned(opened, path), content, Killed())
    with open_store(tmp_path / "whole") as whole:
        play_all(whole, path)
        expected = report(whole, "small").to_json()
    folder = opened.home / "gathered" / "small" / "runs-to-add"
    _, *rest = kept = [file.read_bytes() for file in sorted(folder.iterdir())]
    for file, mine, other in zip(sorted(folder.iterdir()), kept, [*rest, b""], strict=True):
        file.write_bytes(
            {
                "emptied": b"",
                "cut off": mine[:-9],
                "changed": mine.replace(b"0.", b"1."),
                "of another run": other,
                "no text": b"\xff" + mine,
            }[damage]
        )
    play_all(opened, path)
    assert report(opened, "small").to_json() == expected


def runs(store: Store) -> list[dict[str, Any]]:
    """Return the gathered rows of the runs of the arm `open`."""
    rows: list[dict[str, Any]] = pq.read_table(
        store.home / "gathered/small/runs/arm=open/part.parquet"
    ).to_pylist()
    return rows


def test_a_file_that_is_damaged_or_does_not_fit_is_made_again(opened: Store, tmp_path: Path) -> None:
    play_all(opened, written(tmp_path, ONE_SEED))
    before = tables(opened)
    (cell,) = (cell for cell in played_cells(opened, "small") if cell.arm == "open")
    for table in TABLES:
        path = opened.home / "gathered" / "small" / table / "arm=open" / "part.parquet"
        content = path.read_bytes()
        another = path.with_name("another")
        pq.write_table(pq.read_table(path, partitioning=None).slice(0, 0), another)
        damaged = [b"", content[:-20], another.read_bytes()]
        damaged += [
            content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]
            for at in range(4, len(content) - 4, len(content) // 7)
        ]
        another.unlink()
        for bad in (None, *damaged):
            path.unlink() if bad is None else path.write_bytes(bad)
            assert gathering.gathered_runs(opened, "small", MINING, "open", [cell]) == {cell.id}
            assert tables(opened) == before


def test_a_run_with_another_digest_is_gathered_again(small: Store) -> None:
    with small.db.conn:
        small.db.conn.execute("update measures set value = 7 where scope = 'run' and name = 'output'")
    assert report(small, "small").to_json()["arms"]["open"]["runs"] == 3
    assert {row["digest"] for row in runs(small)} != {"another"}
    with small.db.conn:
        small.db.conn.execute("update runs set digest = 'another' where name = 'small.open.2'")
    report(small, "small")
    rows = pq.read_table(small.home / "gathered/small/measures/arm=open/part.parquet").to_pylist()
    outputs = [row["value"] for row in rows if (row["scope"], row["name"]) == ("run", "output")]
    assert outputs[1] == 7
    assert outputs[0] != 7
    assert [row["digest"] for row in runs(small)][1] == "another"


def test_seeds_that_are_added_are_gathered_beside_the_others(small: Store, tmp_path: Path) -> None:
    before = runs(small)
    play_all(small, written(tmp_path, FOUR_SEEDS))
    assert [row["seed"] for row in runs(small)] == [1, 2, 3, 4]
    assert runs(small)[:3] == before


def test_a_summary_is_enough_for_the_report_and_for_going_on(
    opened: Store, small_experiment: Path, tmp_path: Path, cli: Cli
) -> None:
    path = written(tmp_path)
    with open_store(small_experiment) as whole:
        expected = report(whole, "small").to_json()
    play_keeping(opened, path, Retention.summary)
    ids = [cell.id for cell in played_cells(opened, "small")]
    assert with_traces(opened, ids) == set()
    assert told(cli, "report", "small") == json.loads(json.dumps(expected))
    assert play_all(opened, path) == []
    assert play_all(opened, written(tmp_path, FOUR_SEEDS)) == [
        f"small.{arm}.4" for arm in ("open", "immune", "null")
    ]
    for command in ("replay", "trace", "export"):
        assert "has no turns any more" in str(cli(command, "small.open.1").exception), command
    assert "has no turns any more" in cli("verify", "small.open.1").stdout
    with TestClient(site(opened.home, "127.0.0.1"), base_url=LOCAL) as visitor:
        page = visitor.get("/small.open.1")
    assert page.status_code == 404
    assert "has no turns any more" in page.text


@pytest.mark.parametrize("keep", [Retention.summary, Retention.failures])
def test_a_report_in_words_and_pages_needs_no_traces(
    opened: Store, tmp_path: Path, cli: Cli, keep: Retention
) -> None:
    """The pairs to look at are those that can still be looked at."""
    one_measure = TWO_SEEDS.replace('baseline = "open"', 'baseline = "open"\nmeasures = ["output"]')
    play_keeping(opened, written(tmp_path, one_measure), keep)
    page = tmp_path / "small.html"
    text = tmp_path / "small.md"
    assert cli("report", "small", "--format", "html", "--to", str(page)).exit_code == 0
    assert cli("report", "small", "--format", "md", "--to", str(text)).exit_code == 0
    for shown in (cli("report", "small").stdout, page.read_text(), text.read_text()):
        assert "have both kept their turns (--keep)" in shown
        assert "hobbes compare" not in shown
    with TestClient(site(opened.home, "127.0.0.1"), base_url=LOCAL) as visitor:
        assert visitor.get("/experiments/small").status_code == 200


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES])
def test_a_report_needs_no_room_on_the_disk_and_traces_stay_where_nothing_can_be_gathered(
    opened: Store, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def full(_: int) -> None:
        raise OSError(error, os.strerror(error))

    with monkeypatch.context() as patched:
        patched.setattr("hobbes.lab.experiment.gathering.os.fsync", full)
        play_keeping(opened, written(tmp_path, ONE_SEED), Retention.summary)
        document = told(cli, "report", "small")
    ids = {cell.id for cell in played_cells(opened, "small")}
    assert with_traces(opened, ids) == ids
    assert told(cli, "report", "small") == document


def test_a_report_is_written_although_a_file_stands_where_it_is_gathered(
    opened: Store, tmp_path: Path, cli: Cli
) -> None:
    (opened.home / "gathered").write_text("in the way")
    play_all(opened, written(tmp_path, ONE_SEED))
    assert told(cli, "report", "small")["experiment"] == "small"


def test_traces_go_with_their_texts_and_leave_those_of_other_runs(opened: Store, tmp_path: Path) -> None:
    alone = played(opened, RunOptions("mining", 3, models="policy:guided", values={"rounds": 3}))
    before = {row["hash"] for row in opened.db.query("select hash from texts")}
    play_keeping(opened, written(tmp_path, ONE_SEED), Retention.summary)
    assert opened.db.execute("select count(distinct run) from calls").fetchone() == (1,)
    assert opened.db.execute("pragma foreign_key_check").fetchall() == []
    after = {row["hash"] for row in opened.db.query("select hash from texts")}
    templates = {
        row[column]
        for row in opened.db.query("select * from runs")
        for column in ("system_template", "turn_template", "answer_schema")
    }
    assert before <= after <= before | templates
    assert not list(faults(opened, opened.runs.find(alone.id)))


def test_with_failures_tainted_runs_keep_their_traces(opened: Store, tmp_path: Path) -> None:
    text = TWO_SEEDS.replace("noise=0.3", "noise=0.5").replace(
        "set = { rows", "set = { taint_share = 0, rows"
    )
    play_keeping(opened, written(tmp_path, text), Retention.failures)
    cells = list(played_cells(opened, "small"))
    tainted = {cell.id for cell in cells if cell.tainted}
    assert 0 < len(tainted) < len(cells)
    assert with_traces(opened, [cell.id for cell in cells]) == tainted


def test_traces_that_a_killed_call_left_are_dropped_by_the_next_one(small: Store, tmp_path: Path) -> None:
    play_keeping(small, written(tmp_path), Retention.summary)
    assert small.db.execute("select count(*) from turns").fetchone() == (0,)


def test_caps_count_what_runs_without_traces_have_cost(opened: Store, tmp_path: Path, cli: Cli) -> None:
    path = str(written(tmp_path, ONE_SEED))
    calls = 3 * 3 * 4
    options = ("--jobs", "1", "--keep", "summary")
    stopped = cli("experiment", path, *options, "--max-calls", str(calls - 1)).exception
    assert isinstance(stopped, HaltedRunError)
    left = opened.db.execute("select count(*) from calls").fetchone()[0]
    assert left < 3 * 4
    assert {Path(name).suffix for name in files(opened)} == {".parquet"}
    assert isinstance(
        cli("experiment", path, *options, "--max-calls", str(calls - 1)).exception, HaltedRunError
    )
    assert cli("experiment", path, *options, "--max-calls", str(calls)).exit_code in {0, 1}
    assert told(cli, "report", "small")["manifest"]["calls"] == calls


def test_a_lost_summary_of_a_run_without_traces_is_named_and_its_measures_stay(
    small: Store, tmp_path: Path, cli: Cli
) -> None:
    play_keeping(small, written(tmp_path), Retention.summary)
    before = told(cli, "report", "small")
    (small.home / "gathered/small/turns/arm=open/part.parquet").unlink()
    for _ in range(2):  # it is named each time
        result = cli("report", "small", "--json")
        after = json.loads(result.stdout)
        assert "its turns were not kept" in result.stderr
        assert after["differences"] == before["differences"]
        assert {curve["arm"] for curve in after["over_time"]} == {"immune", "null"}


def test_damaged_figures_are_gathered_again_each_time(small: Store) -> None:
    before = files(small)
    for file in (small.home / "gathered").rglob("arm=open/*"):
        file.unlink()
    (run,) = [cell.id for cell in played_cells(small, "small") if (cell.arm, cell.seed) == ("open", 1)]
    with small.db.conn:
        small.db.conn.execute("update turns set record = '{}' where run = ? and turn = 2", [run])
    assert not gathering.gather(small, run)
    assert f"run {run}, turn 2" in "".join(report(small, "small").left_out)
    assert len(files(small)) < len(before)
    drop_traces(small, run)
