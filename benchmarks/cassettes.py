"""How long a recorded run takes to play: each call is found by index.

vcrpy alone compares a request with every recorded one, which took two minutes for a thousand calls.
"""

import tempfile
import time
from pathlib import Path

from lab.wire.recording import STAND_IN, cassette_of, in_thread, play_cassette, record
from lab.wire.serving import stand_in

AGENTS, TURNS, GOES = 20, 50, 3
RUN = f'world = "mining"\nagents = {AGENTS}\nrounds = {TURNS}\nmodel = "openai:policy/guided"\n'
ALONE = 153
"""Seconds that vcrpy alone took for as many calls, matching on method, URI and body."""


def measure() -> list[tuple[str, str, str]]:
    """Give the seconds that a thousand recorded calls take, played as a whole run, and the file's size."""
    with tempfile.TemporaryDirectory() as folder, in_thread(stand_in()) as url:
        file = Path(folder) / "thousand.toml"
        file.write_text(RUN, encoding="utf-8")
        record(file, url, STAND_IN, None)
        cassette = cassette_of(file)
        seconds = min(_seconds(cassette) for _ in range(GOES))
        size = cassette.stat().st_size / 1_000
    return [
        (f"seconds to play a cassette of {AGENTS * TURNS:,} calls", f"{seconds:.1f}", f"vcrpy: {ALONE}"),
        ("  its file, kB", f"{size:,.0f}", ""),
    ]


def _seconds(cassette: Path) -> float:
    began = time.perf_counter()
    play_cassette(cassette)
    return time.perf_counter() - began
