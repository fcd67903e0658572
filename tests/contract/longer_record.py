"""A hobbes whose record has one more part: its declaration, and the code that fills it.

Nothing else in the tree knows the part. As a program it plays a run in a home and prints what followed.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from hobbes.engine import turn as turns
from hobbes.engine.record import JsonObject
from hobbes.engine.world import I, S

MOODS = turns.Table(
    "moods",
    {
        "agent": turns.Column("text", turns.PLACE),
        "words": turns.Column("integer", "$.words"),
        "mood": turns.Column("json", "$"),
    },
    ("agent",),
    "how much each agent said about its reasons",
)


@dataclass(frozen=True, eq=False)
class LongerRecord(turns.TurnRecord):
    """The record with the moods of agents."""

    moods: Annotated[Mapping[str, JsonObject], turns.Part("memory", (MOODS,))] = field(default_factory=dict)


class LongerTurn(turns.Turn[S, I]):
    """A turn that fills the part."""

    @property
    def record(self) -> turns.TurnRecord:
        words = {
            agent: len(intent.reflection.reasoning.split()) for agent, intent in self.judged.intents.items()
        }
        moods = {agent: {"words": n, "talkative": n > 3} for agent, n in words.items()}
        return replace(super().record, moods=moods)  # type: ignore[call-arg]  # a LongerRecord by then


def main(home: Path) -> dict[str, Any]:
    """Play, verify, replay and export a run with the longer record; say what followed."""
    changed: dict[str, Any] = {
        "TurnRecord": LongerRecord,
        "Turn": LongerTurn,
        "RECORD_VERSION": turns.RECORD_VERSION + 1,
    }
    for name, value in changed.items():
        setattr(turns, name, value)
    # Only now, since the rooms take the record from hobbes.engine.turn when they are imported.
    from hobbes.lab.proof.differing import first_differing_part  # noqa: PLC0415
    from hobbes.lab.proof.replaying import replay_run  # noqa: PLC0415
    from hobbes.lab.proof.verifying import faults  # noqa: PLC0415
    from hobbes.lab.show.exporting import export  # noqa: PLC0415
    from hobbes.lab.store.home import open_store  # noqa: PLC0415
    from tests.lab.play import mining  # noqa: PLC0415

    with open_store(home) as store:
        run = mining(store)
        told: dict[str, Any] = {
            "faults": [fault.fault for fault in faults(store, run)],
            "replay": asyncio.run(replay_run(store, run, reread=False)).digest == run.digest,
            "rows": list(store.db.execute("select turn, agent, words, mood from moods")),
        }
        export(store, run, "jsonl", home / "run")
        told["exported"] = [json.loads(line) for line in (home / "run" / "moods.jsonl").open()]
        first, *_ = store.turns.of(run)
        told["hashed"] = json.loads(first.text)["moods"]
        difference = first_differing_part(first.record, replace(first.record, moods={"miner-02": {}}))  # type: ignore[call-arg]
        assert difference is not None
        told["difference"] = [difference.agent, difference.layer, difference.part]
        told["link"] = turns.link("", first.record) != turns.link("", replace(first.record, moods={}))  # type: ignore[call-arg]
        record = first.text.replace('"talkative":true', '"talkative":false', 1)
        with store.db.conn:
            store.db.execute("update turns set record = ? where run = ? and turn = 0", [record, run.id])
        told["tampered"] = [[fault.turn, fault.fault] for fault in faults(store, run)]
    return told


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))  # noqa: T201  for the test that started it
