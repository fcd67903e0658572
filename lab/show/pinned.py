"""A pinned test: the two files that `hobbes make-test` writes, and what a failure of the test prints."""

import json
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

from lab.errors import LabError, UsageError
from lab.files import check_path
from lab.proof.pinning import Failure, Pin, save, source
from lab.show.comparison_table import words

WIDTH = 98
"""The length of a line of the test file."""

NAME = re.compile(r"[\w-]{1,100}")
"""What a test may be called: a part of the name of a file, and of a function."""


class Files(NamedTuple):
    """The files of a pinned test."""

    test: Path
    cassette: Path


def files_for(name: str, folder: Path) -> Files:
    """Return the files of a test with this name; raise UsageError if there cannot be such files."""
    if not NAME.fullmatch(name):
        raise UsageError(f"--name {name!r} cannot be part of a file's name; write letters, digits, - and _")
    files = Files(folder / f"test_{name}.py", folder / f"{name}.json")
    for path in files:
        if check_path(path, "--to").exists():
            raise UsageError(f"{path} already exists; choose another --name or --to, or remove it")
    return files


def write(pin: Pin, files: Files, agent: str | None) -> None:
    """Write both files. Raise UsageError if their folder is none, LabError if they cannot be written."""
    text = text_of_test(pin, files, agent)
    try:
        files.test.parent.mkdir(parents=True, exist_ok=True)
        save(pin, files.cassette)
        files.test.write_text(text, encoding="utf-8")
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"--to {files.test.parent} is not a folder; choose another one") from error
    except OSError as error:
        raise LabError(
            f"cannot write {files.test}: {error.strerror}; choose another folder with --to"
        ) from error


def text_of_test(pin: Pin, files: Files, agent: str | None) -> str:
    """Return the text of a test that plays pinned turns."""
    file = files.cassette.name
    first, last = pin.expected[0].turn, pin.expected[-1].turn
    turns = f"Turn {first}" if first == last else f"Turns {first} to {last}"
    compared = "prompts, readings of answers, intents, rejections, corrections and digests"
    if agent is not None:
        compared = (
            f"only {agent}: its prompts, the readings of its answers, its intents, rejections and corrections"
        )
    title = f"{turns} of the {pin.world} run {pin.run}, as `hobbes make-test` pinned them."
    held = f"{file} holds the state before turn {first}, the answers of record and what is expected."
    played = f"The test plays the turns again from these answers and asks no model. It compares {compared}."
    update = "`pytest --hobbes-update` accepts a change that is meant."
    paragraphs = (f"{held} {played}", source(pin.answers), update)
    body = "\n\n".join(textwrap.fill(one, WIDTH, break_on_hyphens=False) for one in paragraphs)
    asked = f", agent={json.dumps(agent)}" if agent is not None else ""
    function = re.sub(r"\W", "_", files.test.stem)
    return (
        f'"""{title}\n\n{body}\n"""\n\n\ndef {function}(hobbes_replay):\n    hobbes_replay("{file}"{asked})\n'
    )


def failure_text(found: Failure, path: Path, test: str) -> str:
    """Return what a failure prints; `test` is what pytest is told to run this test alone."""
    lines = "\n".join(line.plain for line in words(found.pieces, ""))
    return (
        f"{found.where} is not as in {path.name} ([-expected-], {{+now+}})\n\n{lines}\n\n"
        f"If this is meant: pytest {test} --hobbes-update"
    )
