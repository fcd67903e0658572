"""Golden digests: what the rules of each version made of the same answers.

`python -m tests.contract.golden` writes the entries that are missing in golden.json: for a new world, or for
a `rules_version` that was bumped. It never changes a digest that is there: whoever changes a rule or a
default bumps the version, and the entry of the old version stays.

An entry holds the defaults of all settings that are hashed, and some runs: settings, seed, the parsed answers
of each turn, and the digest after each turn. The answers are in the file, so that a policy may change.

figures.json has a hash of the measures and plain tables of these runs, by the versions of rules and formulas.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from hobbes.engine import turn as turns
from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.digest import first_digest, link
from hobbes.engine.measures import work_out
from hobbes.engine.memory import Memory
from hobbes.engine.record import canonical, sha256
from hobbes.engine.turn import RECORD_VERSION
from hobbes.engine.world import NOT_HASHED, AnyWorld, make_setting
from hobbes.worlds import WORLDS
from tests.contract.games import CASES, game, start

FILE = Path(__file__).with_name("golden.json")
COMMAND = "python -m tests.contract.golden"
TURNS = 6
"""Turns of a game that are kept."""

Entry: TypeAlias = dict[str, Any]
Golden: TypeAlias = dict[str, dict[str, Entry]]
"""The entries by world and version of its rules."""


def read() -> Golden:
    golden: Golden = json.loads(FILE.read_text(encoding="utf-8"))
    return golden


def defaults_of(world: AnyWorld) -> dict[str, Any]:
    """Return the defaults of all settings that are hashed, as JSON."""
    told = world.config().model_dump(mode="json")
    return {
        name: told[name]
        for name, setting in world.config.model_fields.items()
        if NOT_HASHED not in setting.metadata
    }


def entry_of(world: AnyWorld) -> Entry:
    """Return the entry of a world's present version: the defaults, and its first and last two games."""
    own = [case for case in CASES if case.world is world]
    chosen = [own[0], *own[1:][-2:]]
    runs = [
        {
            "settings": {"rounds": case.setting.config.rounds, **case.values},
            "agents": list(case.setting.agents),
            "seed": case.setting.seed,
            "turns": [
                {
                    "answers": {agent: one.said for agent, one in moment.answers.items()},
                    **({} if moment.ruling is None else {"ruling": moment.ruling.said}),
                }
                for moment in game(case)[:TURNS]
            ],
        }
        for case in chosen
    ]
    return digested(world, {"defaults": defaults_of(world), "runs": runs})


def digested(world: AnyWorld, entry: Entry) -> Entry:
    """Return an entry with the digests of today's rules."""
    runs = [
        {**run, "turns": [{**turn, "digest": digest} for turn, digest in by_turn(world, run)]}
        for run in entry["runs"]
    ]
    return {"record_version": RECORD_VERSION, "defaults": entry["defaults"], "runs": runs}


def by_turn(world: AnyWorld, run: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each turn of a run of the file with the digest after it, by today's rules."""
    return zip(run["turns"], list(digests(world, run))[1:], strict=True)


def digests(world: AnyWorld, run: Mapping[str, Any]) -> Iterator[str]:
    """Yield the first link of a run of the file, and the digest after each turn, by today's rules."""
    yield (digest := first_digest(world, make_setting(world, run["agents"], run["seed"], run["settings"])))
    for turn in played(world, run):
        yield (digest := link(digest, turn.record))


def played(world: AnyWorld, run: Mapping[str, Any]) -> Iterator[turns.Turn[Any, Any]]:
    """Yield the turns of a run of the file, by today's rules."""
    setting = make_setting(world, run["agents"], run["seed"], run["settings"])
    state, memories = start(world, setting), dict[str, Memory]()
    for turn in run["turns"]:
        answers = {agent: answered(said) for agent, said in turn["answers"].items()}
        ruling = answered(turn["ruling"]) if "ruling" in turn else None
        resolved = turns.play_turn(world, state, memories, answers, ruling)
        yield resolved
        state, memories = resolved.resolved.state, dict(resolved.memories)


def answered(said: dict[str, Any] | None) -> ParsedAnswer:
    """Return a parsed answer, or that of a call that gave none."""
    if said is None:
        return ParsedAnswer(Outcome.TIMED_OUT, FoundAs.NONE, None)
    return ParsedAnswer(Outcome.ANSWERED, FoundAs.JSON, said)


def faults(world: AnyWorld, entry: Entry) -> Iterator[str]:
    """Say how the rules of a world differ from an entry for their version."""
    bump = f"bump rules_version in engine/{world.name}/world.py and run `{COMMAND}`"
    present = defaults_of(world)
    for name, default in entry["defaults"].items():
        if name not in present:
            yield f"{world.name}: the setting {name} is gone: {bump}"
            return
        elif present[name] != default:
            yield f"{world.name}: the default of {name} was {default} and is {present[name]}: {bump}"
    if entry["record_version"] != RECORD_VERSION:
        yield f"{world.name}: the entry is of record version {entry['record_version']}: run `{COMMAND}`"
        return
    for number, run in enumerate(entry["runs"]):
        differing = (k for k, (turn, digest) in enumerate(by_turn(world, run)) if turn["digest"] != digest)
        for turn in islice(differing, 1):
            yield f"{world.name}, run {number}: the same answers give another turn {turn}: {bump}"


def figures(world: AnyWorld) -> tuple[str, str]:
    """Return the versions of a world, and a hash of the figures of its golden runs by today's formulas."""
    runs = read()[world.name][str(world.rules_version)]["runs"]
    found = [work_out(world.measures, [turn.played for turn in played(world, run)]) for run in runs]
    versions = f"rules {world.rules_version}, measures {world.measures.version}"
    return versions, sha256(canonical([[*measures, *rows] for measures, rows in found]))


def read_figures() -> dict[str, dict[str, str]]:
    """Return what figures.json holds: by world and versions, the hash of the figures."""
    file = FILE.with_name("figures.json")
    kept: dict[str, dict[str, str]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return kept


def write_figures() -> None:
    """Write the hashes that are missing, for a world or a version. None that is there changes."""
    kept = read_figures()
    for world in WORLDS.values():
        versions, figured = figures(world)
        kept.setdefault(world.name, {}).setdefault(versions, figured)
    FILE.with_name("figures.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def write() -> int:
    """Write the entries that are missing, and new settings into those that are there; 1 if one is broken."""
    golden = read() if FILE.exists() else {}
    broken = 0
    for world in WORLDS.values():
        entries, version = golden.setdefault(world.name, {}), str(world.rules_version)
        entry = entries.setdefault(version, entry_of(world))
        if entry["record_version"] != RECORD_VERSION:
            entry = entries[version] = digested(world, entry)
        entry["defaults"] = defaults_of(world) | entry["defaults"]
        for fault in faults(world, entry):
            broken = 1
            sys.stderr.write(f"{fault}\n")
    if not broken:
        FILE.write_text(as_text(golden), encoding="utf-8")
        write_figures()
    return broken


def as_text(golden: Golden) -> str:
    """Return the text of the file, with one line for each turn."""
    lines: list[str] = []

    def in_one_line(value: Any) -> Any:
        """Put a mark in the place of each turn."""
        if isinstance(value, dict) and "answers" in value:
            lines.append(json.dumps(value))
            return f"line {len(lines) - 1}"
        if isinstance(value, dict):
            return {key: in_one_line(inner) for key, inner in value.items()}
        return [in_one_line(inner) for inner in value] if isinstance(value, list) else value

    text = json.dumps(in_one_line(golden), indent=1) + "\n"
    return re.sub(r'"line (\d+)"', lambda mark: lines[int(mark[1])], text)


if __name__ == "__main__":
    sys.exit(write())
