"""Law 6: the power is cut, and each of the two databases loses its last transactions.

The files of a run are copied at many moments while it is played. Then it is resumed from the run database of
one moment and the checkpoints of another, from a journal cut at any byte, and from damaged checkpoints.
"""

import asyncio
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hobbes.nodes.journal import Call
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.prove.verification import verify
from hobbes.store.home import Store, open_store
from hobbes.store.recorded_run import Run
from hobbes.store.run_journal import RunJournal
from hobbes.wire.recorder import environment, in_thread
from tests.faults import failing
from tests.play.test_observer import granting_all
from tests.small_runs import go

PAGE = 4096
"""The bytes of one of SQLite's pages."""

Address = tuple[int, str, int]
"""Turn, agent, attempt."""


@dataclass(frozen=True)
class Reference:
    """A run that was never stopped, and copies of its home at moments of it, in their order."""

    digest: str
    turns: int
    asked: frozenset[Address]
    moments: tuple[Path, ...]


def addresses(store: Store, run: Run) -> list[Address]:
    sql = "select turn, agent, attempt from calls where run = ?"
    return store.db.execute(sql, [run.id]).fetchall()


def copied(files: Iterator[Path], to: Path) -> None:
    """Copy files as they are this very moment, without asking SQLite."""
    to.mkdir(parents=True, exist_ok=True)
    for file in files:
        if not file.name.endswith("-shm"):
            shutil.copyfile(file, to / file.name)


def finished(store: Store, run: Run) -> Run:
    """Play a run to its end; a person who is asked grants everything."""
    run = go(store, run)
    while run.status == "waiting":
        run = go(store, run, granting_all(run))
    return run


def reference(request: RunOptions, folder: Path, every: int = 1) -> Reference:
    """Play a run to its end; copy its home after each turn, and whenever so many answers have come."""
    moments: list[Path] = []
    home = folder / "home"

    def copy(*_: object) -> None:
        moments.append(folder / f"{len(moments):03}")
        copied(home.glob("*.db*"), moments[-1])

    with open_store(home) as store, pytest.MonkeyPatch.context() as patched:
        store.db.execute("pragma wal_autocheckpoint = 0")  # all of the run is to stay in the journal
        keep, end_of_turn = RunJournal.keep, RunJournal.turn
        kept = 0

        async def keep_and_copy(self: RunJournal, *calls: Call) -> None:
            nonlocal kept
            await keep(self, *calls)
            before, kept = kept, kept + len(calls)
            if kept // every > before // every:
                copy()

        def turn_and_copy(self: RunJournal, *told: Any) -> None:
            end_of_turn(self, *told)
            copy()

        patched.setattr(RunJournal, "keep", keep_and_copy)
        patched.setattr(RunJournal, "turn", turn_and_copy)
        run = begin(store, request)
        copy()
        run = go(store, run)
        while run.status == "waiting":
            copy()
            run = go(store, run, granting_all(run))
        copy()
        assert run.status == "finished"
        return Reference(run.digest, run.turns, frozenset(addresses(store, run)), tuple(moments))


def resumed(whole: Reference, home: Path) -> set[Address]:
    """Resume the run of a home, check what a power cut must not change; return what was asked again."""
    with open_store(home) as store:
        (row,) = store.figures.of_all_runs()
        run = store.runs.find(row["id"])
        on_disk = addresses(store, run)
        assert list(verify(store, run)) == [], "a run that was stopped verifies"
        run = finished(store, run)
        there = addresses(store, run)
        assert run.digest == whole.digest
        assert [turn.turn for turn in store.turns.of(run)] == list(range(whole.turns))
        assert frozenset(there) == whole.asked
        assert len(there) == len(whole.asked), "an answer on disk was asked for again"
        assert list(verify(store, run)) == []
        return set(there) - set(on_disk)


def home_of(home: Path, runs: Path, checkpoints: Path | None) -> Path:
    """Put together a home from the run database of one moment and the checkpoints of another, or none."""
    copied(runs.glob("runs.db*"), home)
    if checkpoints is not None:
        copied(checkpoints.glob("checkpoints.db*"), home)
    return home


def check_pairs(whole: Reference, folder: Path, *, all_of_them: bool = False) -> None:
    """Resume from the run database of each moment, with no checkpoints and with those of other moments.

    If not with those of all others: in turn those of the first, the one before, the next and the last.
    """
    moments = whole.moments
    last = len(moments) - 1
    for i, runs in enumerate(moments):
        others = range(last + 1) if all_of_them else ((0, max(i - 1, 0), min(i + 1, last), last)[i % 4],)
        for checkpoints in (None, *(moments[j] for j in others)):
            home = home_of(folder / "pair", runs, checkpoints)
            resumed(whole, home)
            shutil.rmtree(home)


@contextmanager
def serving() -> Iterator[str]:
    with in_thread(failing()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        yield base


Game = Callable[[int], RunOptions]
"""A run of so many rounds."""


def mining(rounds: int) -> RunOptions:
    return RunOptions(
        "mining", 3, models="policy:guided?noise=0.3", values={"rounds": rounds, "rows": 4, "cols": 4}
    )


def nations(rounds: int) -> RunOptions:
    return RunOptions("nations", 2, models="policy:random", values={"rounds": rounds})


def a_person_observes(rounds: int) -> RunOptions:
    values: dict[str, Any] = {"rounds": rounds, "observer": "human"}
    return RunOptions("trust", 2, models="policy:copykitten,policy:beggar*1", values=values)


MODELS = RunOptions("mining", 2, models="openai:policy/guided", values={"rounds": 2, "reask": 1})


@pytest.mark.parametrize("game", [mining, nations, a_person_observes])
def test_the_run_database_and_the_checkpoints_may_be_of_any_two_moments(game: Game, tmp_path: Path) -> None:
    check_pairs(reference(game(2), tmp_path / "whole", every=2), tmp_path)


def test_a_model_is_asked_again_only_for_what_is_not_on_disk(tmp_path: Path) -> None:
    with serving() as base:
        whole = reference(MODELS, tmp_path / "whole", every=2)
        for i, runs in enumerate(whole.moments):
            for checkpoints in (None, whole.moments[-1]):
                home = home_of(tmp_path / f"{i}-{checkpoints is None}", runs, checkpoints)
                before = stats(base)
                again = resumed(whole, home)
                asked = stats(base) - before
                assert asked == Counter("/".join(map(str, address)) for address in again)


def stats(base: str) -> Counter[str]:
    """How often the server was asked at each address."""
    return Counter(httpx2.get(f"{base.removesuffix('/v1')}/stats").json()["addresses"])


def cut(file: Path, least: int, rng: random.Random) -> int:
    """Cut a file at any byte after the first `least`."""
    size = rng.randint(least, file.stat().st_size)
    with file.open("r+b") as opened:
        opened.truncate(size)
    return size


def check_cuts(whole: Reference, folder: Path, cuts: int, rng: random.Random) -> set[int]:
    """Resume with the journals of both databases cut at any byte; return how much was asked again."""
    least = (whole.moments[0] / "runs.db-wal").stat().st_size
    being_played = [moment for moment in whole.moments if (moment / "checkpoints.db-wal").exists()]
    asked_again = set()
    for number in range(cuts):
        home = home_of(folder / f"cut-{number}", whole.moments[-1], being_played[-1])
        cut(home / "runs.db-wal", least, rng)
        cut(home / "checkpoints.db-wal", 0, rng)
        asked_again.add(len(resumed(whole, home)))
        shutil.rmtree(home)
    return asked_again


def test_the_journals_of_both_databases_may_be_cut_at_any_byte(tmp_path: Path) -> None:
    whole = reference(mining(4), tmp_path / "whole")
    asked_again = check_cuts(whole, tmp_path, 12, random.Random(1))  # noqa: S311  no secret
    assert len(asked_again) > 3, "the cuts were of different moments"


def spoiled(database: Path, rng: random.Random) -> None:
    """Spoil a database: some of its bytes, a page of it, or all behind some place."""
    content = bytearray(database.read_bytes())
    place = rng.randrange(len(content))
    match rng.randrange(3):
        case 0:
            for _ in range(200):
                content[rng.randrange(len(content))] = rng.randrange(256)
        case 1:
            begin_of_page = place // PAGE * PAGE
            content[begin_of_page : begin_of_page + PAGE] = rng.randbytes(PAGE)
        case _:
            del content[place:]
    database.write_bytes(content)


def check_damage(whole: Reference, folder: Path, times: int, rng: random.Random) -> None:
    """Resume from moments whose checkpoints are damaged."""
    for number in range(times):
        runs, checkpoints = rng.choice(whole.moments), whole.moments[-1]
        home = home_of(folder / f"damaged-{number}", runs, None)
        shutil.copyfile(checkpoints / "checkpoints.db", home / "checkpoints.db")
        spoiled(home / "checkpoints.db", rng)
        resumed(whole, home)
        shutil.rmtree(home)


def test_checkpoints_whose_header_makes_them_read_only_are_thrown_away(tmp_path: Path) -> None:
    """Byte 18 of a file says how it may be written. SQLite only reads a file with an unknown value there."""
    whole = reference(mining(3), tmp_path / "whole", every=2)
    home = home_of(tmp_path / "damaged", whole.moments[3], None)
    content = bytearray((whole.moments[-1] / "checkpoints.db").read_bytes())
    content[18] = 9
    (home / "checkpoints.db").write_bytes(content)
    resumed(whole, home)


def test_damaged_checkpoints_are_thrown_away(tmp_path: Path) -> None:
    whole = reference(mining(3), tmp_path / "whole", every=2)
    check_damage(whole, tmp_path, 10, random.Random(2))  # noqa: S311  no secret
    home = home_of(tmp_path / "no database", whole.moments[3], None)
    (home / "checkpoints.db").write_bytes(b"\0garbage" * 1000)
    (home / "checkpoints.db-wal").write_bytes(b"garbage")
    resumed(whole, home)


def test_a_bug_is_no_damage_and_raises(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begin(opened, mining(1))

    def buggy(*_: object) -> None:
        opened.db.execute("select no_such_column from runs")

    monkeypatch.setattr(RunJournal, "turn", buggy)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        asyncio.run(go_on(opened, run, lambda _: None))
