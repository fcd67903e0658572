"""Run files: the options of a run in TOML, for `hobbes run FILE.toml` and for recording cassettes."""

from pathlib import Path

from hobbes.engine.names import did_you_mean
from hobbes.errors import UsageError
from hobbes.files import read_toml
from hobbes.play.start import RunOptions

KEYS: dict[str, type] = {
    "world": str,
    "agents": int,
    "rounds": int,
    "seed": int,
    "model": str,
    "prompts": str,
    "lang": str,
    "name": str,
    "config": dict,
}
"""The keys of a run file, with their types."""

KINDS = {str: "a string", int: "a whole number", dict: "a table"}


def read_run_file(path: Path) -> RunOptions:
    """Return the options in a run file; raise UsageError if the file is wrong."""
    file = read_toml(path)
    if "arms" in file or "factors" in file:
        raise UsageError(f"{path} is an experiment; play it with `hobbes experiment {path}`")
    if unknown := sorted(file.keys() - KEYS.keys()):
        there = did_you_mean(unknown[0], KEYS, f"the keys are {', '.join(sorted(KEYS))}")
        raise UsageError(f"{path}: unknown key {unknown[0]!r}{there}")
    for key, value in file.items():
        if type(value) is not KEYS[key]:
            raise UsageError(f"{path}: {key} must be {KINDS[KEYS[key]]}")
    values = file.pop("config", {})
    if "rounds" in file:
        values["rounds"] = file.pop("rounds")
    if "model" in file:
        file["models"] = file.pop("model")
    return RunOptions(**{"world": "", **file}, values=values)
