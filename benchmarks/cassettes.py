"""How long a cassette of a thousand calls takes to play.

vcrpy compares each request with every recorded one. With the bodies, that takes minutes; hobbes compares
addresses first.
"""

import tempfile
import time
from pathlib import Path

from hobbes.wire.recorder import STAND_IN, cassette_of, in_thread, play_cassette, record
from hobbes.wire.stand_in import stand_in

AGENTS, TURNS, REPEATS = 20, 50, 3
CALLS = AGENTS * TURNS
RUN = f'world = "mining"\nagents = {AGENTS}\nrounds = {TURNS}\nmodel = "openai:policy/guided"\n'
VCRPY_SECONDS = 153
"""How many seconds vcrpy alone took for as many calls, matching on method, URI and body."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: the seconds of a whole run from a cassette, and the size of its file."""
    with tempfile.TemporaryDirectory() as folder, in_thread(stand_in()) as url:
        file = Path(folder) / "thousand.toml"
        file.write_text(RUN, encoding="utf-8")
        record(file, url, STAND_IN, None)
        cassette = cassette_of(file)
        seconds = min(_seconds(cassette) for _ in range(REPEATS))
        size = cassette.stat().st_size / 1_000
    return [
        (f"seconds to play a cassette of {CALLS:,} calls", f"{seconds:.1f}", f"vcrpy: {VCRPY_SECONDS}"),
        ("  its file, kB", f"{size:,.0f}", ""),
    ]


def _seconds(cassette: Path) -> float:
    began = time.perf_counter()
    play_cassette(cassette)
    return time.perf_counter() - began
