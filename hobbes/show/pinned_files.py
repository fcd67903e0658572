"""A pinned test: the two files that `hobbes make-test` writes, and what a failure of the test prints."""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hobbes.engine.world import MAX_NAME
from hobbes.errors import UsageError
from hobbes.files import check_path
from hobbes.probe.table import read_probe
from hobbes.prove.pin_failure import Failure, failure
from hobbes.prove.pin_replay import replay_pin
from hobbes.prove.pinned_frequencies import pin_frequency
from hobbes.prove.pinned_turns import pin_turns
from hobbes.prove.pins import FrequencyPin, Pin, TurnsPin, save
from hobbes.show.both_runs import words
from hobbes.show.terminal import escape_invisible
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

WIDTH = 98
"""The length of a line of the test file."""


class Files(NamedTuple):
    """The files of a pinned test."""

    test: Path
    cassette: Path


def files_for(name: str, folder: Path) -> Files:
    """Return the files of a test with this name; raise UsageError if there cannot be such files."""
    files = Files(folder / f"test_{name}.py", folder / f"{name}.json")
    if not re.fullmatch(r"[\w-]+", name) or len(name) > MAX_NAME or not _function(files).isidentifier():
        raise UsageError(
            f"--name {name!r} cannot be part of a file's name and of a function's; write letters, digits, - "
            f"and _, {MAX_NAME} at most"
        )
    for path in files:
        if check_path(path, "--to").exists():
            raise UsageError(f"{path} already exists; choose another --name or --to, or remove it")
    return files


def pin_run(  # noqa: PLR0913  what is pinned, and how it is checked
    store: Store, run: Run, turns: Sequence[int], files: Files, values: Mapping[str, Any], *, prompts: bool
) -> dict[str, Any]:
    """Write a test of turns; return what is said of it: with other `values` of settings, whether it fails."""
    first, last = turns[0], turns[-1]
    if [*turns] != [*range(first, last + 1)]:
        raise UsageError(f"--turns: pin turns that follow each other, such as {first}-{first + 2}")
    folder = files.test.parent
    made = pin_turns(store, run, (first, last), folder, prompts=prompts, values=values)
    _write(made, files, _text_of_test(made, files, prompts=prompts))
    result = {"run": run.id, "turns": [first, last]}
    if not values:
        return result
    failed = failure(made, replay_pin(made, folder, prompts=prompts))
    return {**result, "fails": failed and failed.sentence}


def pin_probe(store: Store, probe: str, expect: str, column: str | None, files: Files) -> dict[str, Any]:
    """Write a test of the answers to a probe; return what is said of it."""
    result = read_probe(store, probe)
    name = column or result.columns[-1].column.name
    made = pin_frequency(store, result, name, expect, files.test.parent)
    _write(made, files, _text_of_expectation(made, files))
    return {"probe": probe, "column": name, "expect": expect}


def _write(pin: Pin, files: Files, text: str) -> None:
    """Write both files. Raise UsageError without a folder for them, HobbesError if they cannot be written."""
    folder = files.test.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"--to {folder} is not a folder, and cannot be made one: {error.strerror}"
        raise UsageError(f"{problem}; choose another") from error
    save(pin, files.cassette)
    files.test.write_text(text, encoding="utf-8")


def _text_of_test(pin: TurnsPin, files: Files, *, prompts: bool) -> str:
    """Return the text of a test that plays pinned turns; without `prompts`, these may change."""
    file = files.cassette.name
    compared = f"{'prompts, ' * prompts}how answers are read, intents, rejections, corrections and digests"
    given = "" if prompts else ', ignore="prompts"'
    held = f"{file} holds the state before these turns, the recorded answers and what is expected."
    under = f" with {pin.under}" if pin.values else ""
    played = f"The test asks no model: it plays the turns from these answers{under} and compares {compared}."
    paragraphs = (pin.about, f"{held} {played}", "`pytest --hobbes-update` accepts a change that is meant.")
    return _test(paragraphs, files, f'hobbes_replay("{file}"{given})')


def _text_of_expectation(made: FrequencyPin, files: Files) -> str:
    """Return the text of a test that judges the answers to a probe."""
    file = files.cassette.name
    judged = "The test judges these by today's reading and rules, and asks no model."
    paragraphs = (made.about, f"{file} holds the situations and the answers. {judged}")
    return _test(paragraphs, files, f'hobbes_expects("{file}")')


def _test(paragraphs: Iterable[str], files: Files, call: str) -> str:
    """Return the text of a test that makes one call of a fixture."""
    fixture = call.partition("(")[0]
    whole = (*paragraphs, f"The fixture {fixture} comes with hobbes.")
    about = "\n\n".join(textwrap.fill(one, WIDTH, break_on_hyphens=False) for one in whole)
    about = about.replace("\\", "/").replace('"', "'")  # the name of a model may have any letters
    return f'"""{about}\n"""\n\n\ndef {_function(files)}({fixture}):\n    {call}\n'


def _function(files: Files) -> str:
    """Return the name of the function of a test."""
    return re.sub(r"\W", "_", files.test.stem)


def failure_text(failed: Failure, path: Path, test: str) -> str:
    """Return what a failure prints; `test` is what pytest is told to run this test alone."""
    sentence = f"{escape_invisible(failed.sentence)}\n\n" if failed.sentence else ""
    marks = " ([-expected-], {+now+})" if any(change != " " for change, _ in failed.pieces) else ""
    lines = "\n".join(line.plain for line in words(failed.pieces, ""))
    differing, compared = failed.prompts
    prompts = f"{differing} of the {compared} prompts of these turns differ.\n" if differing else ""
    next_step = (
        f"If this is meant: pytest {test} --hobbes-update"
        if failed.acceptable
        else "This cannot be accepted: play a new run, and make the test anew"
    )
    return f"{sentence}{failed.where} is not as in {path.name}{marks}\n\n{lines}\n\n{prompts}{next_step}"


def unexpected_text(problems: Sequence[str], path: Path) -> str:
    """Return what is printed if answers to a probe are not as expected."""
    changed = f"{path.name} holds recorded answers, so how they are read or judged has changed."
    return "\n".join((*problems, "", changed, "If this is meant: ask a new probe, and pin that"))
