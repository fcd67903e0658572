"""How long a probe takes over HTTP, divided by what `parallel` of its model allows."""

import tempfile
from pathlib import Path

from benchmarks.wire import served, timed
from hobbes.loop import play_out
from hobbes.nodes.caps import NO_CAPS
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.probe.asker import Asker
from hobbes.probe.probe_plan import plan
from hobbes.probe.situations import ProbeFile, pick
from hobbes.store.home import open_store
from hobbes.wire.recorder import environment

DELAY, PARALLEL = 1.0, 20
SITUATIONS, TIMES = 5, 10
IDEAL = SITUATIONS * 2 * TIMES / PARALLEL * DELAY
"""Seconds: so many rounds of answers, each of which takes one delay."""


def measure() -> list[tuple[str, str, str]]:
    """Return the row of the table: wall over ideal of a probe of five situations in two columns."""
    with (
        served(DELAY) as url,
        environment(OPENAI_BASE_URL=url, OPENAI_API_KEY="none"),
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder)) as store,
    ):
        models = f'[slow]\nmodel = "policy/guided"\nparallel = {PARALLEL}\n'
        (store.home / "models.toml").write_text(models, encoding="utf-8")
        run = begin(store, RunOptions("mining", 3, models="slow", values={"rounds": 2}))
        play_out(go_on(store, run, lambda _: None))
        situations = [*pick(store, store.runs.find(run.id), None, (), None)][:SITUATIONS]
        asked = ProbeFile(situation=situations, prompts=["guided"], times=TIMES, name="probe")
        asker = Asker(store, plan(store, asked, NO_CAPS), {}, NO_CAPS)
        seconds = timed(lambda: asker.ask_all(lambda: None))
    load = f"{SITUATIONS} x 2 x {TIMES} answers at {DELAY:.0f} s, {PARALLEL} at once"
    return [(f"wall over ideal of a probe: {load}", f"{seconds / IDEAL:.2f}", "<= 1.30")]
