"""An experiment whose values are written by hand, as if it had been played."""

import json
from typing import Any

from hobbes.store.experiment_tables import add_cell, experiment_file, keep_experiment, keep_plan
from hobbes.store.home import Store
from hobbes.store.row_hashes import column_hashes
from hobbes.store.schema import TEMPLATES


def planned(store: Store, **parts: Any) -> None:
    """Change parts of the experiment's file, and freeze it as the plan."""
    changed(store, **parts)
    keep_plan(store, "made", {"file": experiment_file(store, "made"), "prompts": {}, "models": {}})


def changed(store: Store, **parts: Any) -> None:
    """Change parts of the experiment's file, and leave its plan as it is."""
    keep_experiment(store, "made", "mining", experiment_file(store, "made") | parts)


def made_up(store: Store, values: dict[str, list[float | None]], tainted: tuple[str, ...] = ()) -> None:
    """Store an experiment with these values of one measure by arm and seed, as if it had been played.

    `tainted` has the names of tainted runs. The first arm is the baseline.
    """
    arms = [arm for arm in values if arm != "null"]
    seeds = len(next(iter(values.values())))
    file = {
        "name": "made",
        "world": "mining",
        "seeds": seeds,
        "arms": {arm: {} for arm in arms},
        "compare": {"measures": ["output"], "null": "null" in values},
    }
    keep_experiment(store, "made", "mining", file)
    planned(store)
    for arm, of_arm in values.items():
        for seed, value in enumerate(of_arm, start=1):
            name = f"made.{arm}.{seed}"
            row = {"id": name, "name": name, "world": "mining", "seed": seed, "digest": name}
            more = {
                "status": "finished",
                "tainted": name in tainted,
                "models": "{}",
                "caps": "{}",
                **dict.fromkeys(("prompts", "lang", "started"), ""),
                **dict.fromkeys(TEMPLATES, store.runs.add_text("")),
                "agents": "[]",
                "config": '{"rounds": 1}',
                "record_version": 1,
                "rules_version": 1,
                "hobbes": "",
                "column_hashes": "[]",
            }
            store.db.table("runs").insert(row | more)
            hashes = json.dumps(column_hashes(store.runs.row_unchecked(name)))
            store.runs.update(name, column_hashes=hashes)
            figures = {"measures": json.dumps({"output": [value, None, None]}), "over_time": "{}"}
            lists = dict.fromkeys(("winners", "ratings"), "[]")
            store.db.table("reported").insert({"run": name, **figures, **lists})
            with store.connection:
                add_cell(store, "made", arm, seed, name)


def measured_too(store: Store, run: str, measure: str, *of_scopes: float | None) -> None:
    """Give a run another measure: its value in the run, in its first half and in its second half."""
    (text,) = next(iter(store.db.execute("select measures from reported where run = ?", [run])))
    measures = json.loads(text) | {measure: of_scopes}
    store.db.execute("update reported set measures = ? where run = ?", [json.dumps(measures), run])
    store.connection.commit()
