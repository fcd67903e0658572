"""The file of pinned turns that `hobbes make-test` writes and the fixture `hobbes_replay` plays."""

import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hobbes.engine.answer import FoundAs, Outcome
from hobbes.engine.turn import TurnRecord
from hobbes.engine.world import in_one_line
from hobbes.lab.errors import LabError, UsageError
from hobbes.lab.files import read_json
from hobbes.nodes.journal import WRITTEN_BY_PEOPLE, is_program

FORMAT = 1
"""The version of the form of these files."""

MAX_MODELS = 3
"""How many models are named that answered."""

Lines = list[str]
"""A text as its lines, so that a change of the file can be read line by line."""


class _Part(BaseModel):
    """A part of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Way(_Part):
    """How the turns before `until` are played. `prompts` is a name, or a path from the file's folder."""

    until: int
    settings: dict[str, Any]
    prompts: str
    lang: str
    models: dict[str, str]


class Before(_Part):
    """What the first turn begins with."""

    turn: int
    digest: str
    state: dict[str, Any]
    memories: dict[str, dict[str, Any]]


class Answer(_Part):
    """A recorded answer. `failure` is the outcome if the call failed, otherwise null."""

    turn: int
    agent: str
    question: int
    player: str
    model: str
    text: str
    reasoning: str
    failure: Outcome | None
    error: str


class ExpectedQuestion(_Part):
    """A question that is expected, and how its answer is expected to be read.

    `system` names one of the texts; it is empty for a person, who gets none. Where prompts are ignored, it is
    empty as well, and so is `prompt`.
    """

    agent: str
    question: int
    system: str
    prompt: Lines
    outcome: Outcome
    found_as: FoundAs

    @property
    def key(self) -> tuple[str, int]:
        """What identifies the question in its turn."""
        return self.agent, self.question

    @property
    def reading(self) -> str:
        """How the answer is read, in words."""
        return f"{self.outcome}, found as {self.found_as}"


class Expected(_Part):
    """What is expected of a turn. `record` holds intents, rejections, corrections and the state after it."""

    turn: int
    asked: list[ExpectedQuestion]
    record: dict[str, Any]
    digest: str


class Pin(_Part):
    """Turns of a run that are pinned: the contents of the file."""

    format: Literal[1]
    about: str
    run: str
    hobbes: str
    world: str
    agents: list[str]
    seed: int
    ways: list[Way]
    before: Before
    answers: list[Answer]
    expected: list[Expected]
    texts: dict[str, Lines]
    """The system texts, by the beginning of their hashes."""

    @cached_property
    def answered(self) -> Mapping[tuple[int, str, int], Answer]:
        """The answers by turn, agent and question."""
        return {(one.turn, one.agent, one.question): one for one in self.answers}

    @property
    def names(self) -> list[str]:
        """The agents that answered, the observer included."""
        return list(dict.fromkeys(one.agent for one in self.answers))

    def prompt(self, question: ExpectedQuestion) -> str:
        """Return the whole prompt of an expected question."""
        return whole_prompt(self.texts, question)

    def check_agent(self, agent: str) -> None:
        """Raise UsageError for an agent that did not answer."""
        if agent not in self.names:
            raise UsageError(f"no agent {agent!r} answered in these turns; agents: {', '.join(self.names)}")


def whole_prompt(texts: Mapping[str, Lines], question: ExpectedQuestion) -> str:
    """Return the system text and the turn text of a question."""
    return "\n".join([*texts.get(question.system, ()), "", *question.prompt])


def turns_in_words(first: int, last: int) -> str:
    """Return the name of one turn, or of several."""
    return f"Turn {first}" if first == last else f"Turns {first} to {last}"


def source(answers: Sequence[Answer]) -> str:
    """Return where answers come from, in a sentence for each kind of player."""
    people = [one for one in answers if one.model in WRITTEN_BY_PEOPLE]
    programs = [one for one in answers if is_program(one.player)]
    models = sorted({one.player for one in answers if one not in people and one not in programs})
    sentences = []
    if models:
        more = f" and {len(models) - MAX_MODELS} more" if len(models) > MAX_MODELS else ""
        named = f"{', '.join(models[:MAX_MODELS])}{more}"
        sentences.append(f"{named} answered over HTTP; the answers are as they were recorded.")
    if programs:
        sentences.append(
            "Scripted policies or Python players answered, which use no HTTP. Their recorded answers are "
            "pinned."
        )
    if people:
        sentences.append("People wrote some answers; they are pinned like the others.")
    return " ".join(sentences)


def save(pin: BaseModel, path: Path) -> None:
    """Write a file, all of it or nothing. Raise LabError if that is impossible."""
    text = json.dumps(pin.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}; choose another folder") from error


def read_pin(path: Path) -> Pin:
    """Return the contents of a file; raise UsageError if it is not a file of this form."""
    try:
        loaded = Pin.model_validate(read_json(path))
        for turn in loaded.expected:
            TurnRecord.from_json(turn.record)
    except ValidationError as error:
        problem = in_one_line(error, depth=3)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        problem = f"a record cannot be read: {error}"
    else:
        return loaded
    raise UsageError(
        f"{path} is not a file of `hobbes make-test` that this hobbes reads: {problem}; make it anew"
    )
