"""Pins: the files that `hobbes make-test` writes and its tests read.

A pin of turns holds what a run was before them, the answers, and what is expected to follow. A pin of
frequencies holds situations of an agent, its answers in a probe, and how many of them are expected to do
something.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from hobbes.engine.answer import FoundAs, Outcome
from hobbes.engine.record import canonical
from hobbes.engine.turn import TurnRecord
from hobbes.engine.world import AnyWorld, Setting, in_one_line, make_setting
from hobbes.errors import HobbesError, UsageError
from hobbes.files import read_json
from hobbes.nodes.file_content import real_path
from hobbes.nodes.journal import Call, Reply
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.prompt_set import is_path
from hobbes.nodes.turn_state import memories_from
from hobbes.store.history import TurnStart
from hobbes.store.recorded_run import HOBBES
from hobbes.worlds import world_named

Lines = list[str]
"""A text as its lines, so that a change of the file can be read line by line."""

Json = dict[str, Any]
Memories = Mapping[str, Mapping[str, Any]]
"""The memory of each agent as JSON."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GivenAnswer(_Part):
    """A recorded answer. `failure` is the outcome if the call failed, otherwise null."""

    text: str
    failure: Outcome | None
    error: str
    player: str = ""
    model: str = ""
    reasoning: str = ""

    @classmethod
    def to(cls, call: Call) -> "GivenAnswer":
        """Return the answer to a call."""
        return cls.model_validate(call.reply, from_attributes=True)

    @property
    def reply(self) -> Reply:
        """The answer as the reply of its player."""
        return Reply(self.text, self.model, self.reasoning, self.failure, self.error, player=self.player)


class Answer(GivenAnswer):
    """The answer to a question of a turn."""

    turn: int
    agent: str
    question: int


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
    state: Json
    memories: Memories


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
    def reading(self) -> str:
        """How the answer is read, in words."""
        return f"{self.outcome}, found as {self.found_as}"


class Expected(_Part):
    """What is expected of a turn. `record` holds intents, rejections, corrections and the state after it."""

    turn: int
    asked: list[ExpectedQuestion]
    record: dict[str, Any]
    digest: str

    @field_validator("record")
    @classmethod
    def is_a_record(cls, record: dict[str, Any]) -> dict[str, Any]:
        """Raise ValueError unless this hobbes can read the record."""
        try:
            TurnRecord.from_json(record)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"a record cannot be read: {error}") from error
        return record


class PinnedSituation(_Part):
    """What an agent was in, how it was asked, and what it answered."""

    run: str
    turn: int
    agents: list[str]
    seed: int
    settings: dict[str, Any]
    state: Json
    memories: Memories
    prompts: str
    """The name of the prompts, or a path from the folder of the file."""
    lang: str
    player: str
    models: dict[str, ModelSettings]
    """The settings of the player, if it comes from a models file, by its name."""
    system: Lines
    prompt: Lines
    """The two texts that the answers were given to."""
    answers: list[GivenAnswer]


class Pin(_Part):
    """What all pins have."""

    format: Literal[1] = 1
    """The version of the form of these files."""
    about: str
    hobbes: str = HOBBES
    world: str

    def begin(
        self, agents: Sequence[str], seed: int, settings: Mapping[str, Any], state: Json, memories: Memories
    ) -> tuple[AnyWorld, Setting[Any], TurnStart]:
        """Return world, setting and start of a turn; UsageError if this hobbes cannot play from there."""
        try:
            world = world_named(self.world)
            setting = make_setting(world, agents, seed, settings)
            return world, setting, TurnStart(world.state.load(setting, state), memories_from(memories))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise UsageError(
                f"hobbes {HOBBES} cannot play this: {error}; make the test anew ({self.about})"
            ) from error


class TurnsPin(Pin):
    """Turns of a run that are pinned."""

    run: str
    agents: list[str]
    seed: int
    ways: list[Way]
    before: Before
    answers: list[Answer]
    values: Json = {}
    """Settings that are not those of the run, under which its turns are played."""
    expected: list[Expected]
    texts: dict[str, Lines]
    """The system texts, by the beginning of their hashes."""

    @property
    def under(self) -> str:
        """The settings that are not those of the run, such as `immunity=20`; empty if there are none."""
        return ", ".join(f"{name}={canonical(value)}" for name, value in self.values.items())


class FrequencyPin(Pin):
    """How often an agent does something that is pinned."""

    expect: str
    situations: Annotated[list[PinnedSituation], Field(min_length=1)]


AnyPin = TypeVar("AnyPin", bound=Pin)


def read_pin(path: Path, kind: type[AnyPin]) -> AnyPin:
    """Return the pin in a file; raise UsageError if the file holds none of this kind."""
    try:
        return kind.model_validate(read_json(path))
    except ValidationError as error:
        problem = in_one_line(error, depth=3)
    raise UsageError(
        f"{path} is not a file of `hobbes make-test` that this hobbes reads: {problem}; make it anew"
    )


def save(pin: Pin, path: Path) -> None:
    """Write a file, all of it or nothing. Raise HobbesError if that is impossible."""
    text = json.dumps(pin.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise HobbesError(f"cannot write {path}: {error.strerror}; choose another folder") from error


def relative_variant(folder: Path, variant: str) -> str:
    """Return prompts as a pin in a folder holds them: a path becomes one from there, where there is one."""
    if not is_path(variant):
        return variant
    try:
        return f"./{Path(os.path.relpath(Path(variant).resolve(), folder.resolve())).as_posix()}"
    except ValueError:  # on another drive
        return variant


def resolved_variant(folder: Path, kept: str) -> str:
    """Return the prompts that a pin in a folder holds."""
    return str(real_path(folder / kept)) if is_path(kept) else kept
