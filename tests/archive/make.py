"""Record a home for each world, for the archive: `python -m tests.archive.make` (README.md)."""

import io
import sqlite3
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from hobbes.engine.turn import RECORD_VERSION
from hobbes.lab.play.answering import as_told, form_for, the_question
from hobbes.lab.play.playing import RunOptions, begin
from hobbes.lab.store.database import Run, open_store
from hobbes.lab.wire.recording import environment, in_thread
from hobbes.lab.wire.serving import stand_in
from tests.lab.play import go

HERE = Path(__file__).parent
DATABASES = ("runs.db", "checkpoints.db")
FAULTS = {"cut-by-length": 0.3, "error-400": 0.1}
"""What the stand-in server does to calls, so that the archive has failed calls."""
WAITS = "waits"
"""The name of a run that waits for a person, and is left waiting."""


def trust(name: str, seed: int) -> RunOptions:
    """Return a run of trust that a person observes."""
    values: dict[str, Any] = {"rounds": 4, "observer": "human"}
    return RunOptions("trust", 2, seed, "policy:copykitten*1,policy:beggar*1", values=values, name=name)


HOMES: dict[str, tuple[RunOptions, ...]] = {
    "mining": (
        RunOptions(
            "mining",
            3,
            7,
            "policy:guided?noise=0.3*2,policy:random*1",
            values={"rounds": 3, "rows": 4, "cols": 4, "communication": True},
            name="old",
        ),
        RunOptions(
            "mining",
            2,
            7,
            "openai:policy/guided?noise=0.5",
            values={"rounds": 3, "rows": 3, "cols": 3, "reask": 1, "taint_share": 1.0},
            name="asked",
        ),
    ),
    "nations": (
        RunOptions(
            "nations",
            3,
            7,
            "policy:reciprocal-trader?noise=0.2*2,policy:militarist*1",
            values={"rounds": 3},
            name="old",
        ),
    ),
    "trust": (trust("old", 7), trust(WAITS, 8)),
}
"""The runs of each home."""


def archive_of(world: str, version: int = RECORD_VERSION) -> Path:
    """Return the file that holds the home of a world, recorded with a version of the record."""
    return HERE / f"record-{version}-{world}.tar.gz"


def unpacked(archive: Path, home: Path) -> Path:
    """Unpack an archived home into a folder."""
    with tarfile.open(archive) as packed:
        packed.extractall(home, filter="data")
    return home


def granting_one(run: Run) -> str:
    """Answer what a run asks: everybody gets one."""
    return as_told(form_for(run, the_question(run)), [("grant", "1"), ("reason", "for you")])


def record(home: Path, runs: tuple[RunOptions, ...]) -> None:
    """Play runs in a home, each to its end, or to its first question."""
    with open_store(home) as store:
        for options in runs:
            run = go(store, begin(store, options))
            while options.name != WAITS and run.status == "waiting":
                run = go(store, run, granting_one(run))
    for name in DATABASES:
        connection = sqlite3.connect(home / name)
        connection.execute("pragma journal_mode = delete")
        connection.execute("vacuum")
        connection.close()


def pack(home: Path, archive: Path) -> None:
    """Pack the databases of a home, with no word of who packed them or when."""
    with tarfile.open(archive, "w:gz") as packed:
        for name in DATABASES:
            content = (home / name).read_bytes()
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 0
            packed.addfile(member, io.BytesIO(content))


def main() -> None:
    """Record the homes of the present version; an archive that is there stays as it is."""
    with (
        in_thread(stand_in(faults=FAULTS)) as base,
        environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"),
        tempfile.TemporaryDirectory() as folder,
    ):
        for world, runs in HOMES.items():
            archive = archive_of(world)
            if archive.exists():
                sys.stdout.write(f"{archive} is there already\n")
                continue
            record(Path(folder) / world, runs)
            pack(Path(folder) / world, archive)
            sys.stdout.write(f"{archive}: {archive.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
