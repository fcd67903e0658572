"""The prompts of a run: their templates as they were loaded, with what all turns have in common.

Who reads a run needs no more. hobbes.nodes.prompting loads them, checks them and fills them in.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hobbes.engine.record import Json
from hobbes.engine.turn import meanings
from hobbes.engine.world import AnyWorld, Setting
from hobbes.nodes.file_content import FileError, text_of

ROOT = Path(__file__).resolve().parents[1] / "prompts"
"""The prompts of this checkout: ROOT/<world>/<variant>/{system,turn}.<lang>.md.

A variant with a slash in its name is the path of any other folder that holds these files.
"""

SHIPPED = "shipped"
"""What stands for the wordings of a world in a list of prompts."""

MAX_TEMPLATE_LENGTH = 1_000_000
"""The most bytes of a template file."""


class PromptError(ValueError):
    """A prompt cannot be used. The message is one line for the person who edits it."""


@dataclass(frozen=True, slots=True)
class PromptSet:
    """One variant of a world's prompts in one language, loaded completely; rendering reads no file."""

    world: str
    variant: str
    """Its name, or the path of its folder as it was given."""
    lang: str
    system: str
    """The template of the system text."""
    turn: str
    """The template of the turn text."""
    schema: str
    """The JSON schema of the world's answers, compact."""
    observer: str = ""
    """The system text of the observer, if it is a model: observer.<lang>.md, filled in."""
    hash: str = ""
    """The content hash of the variant in this language: of its templates, with what they include. Empty for a
    run of an earlier version of hobbes."""
    fixed: Mapping[str, Json] = field(default_factory=dict, compare=False)
    """What both templates are filled in with in all turns of a run: its settings, `agents` and `schema`."""
    viewer_key: str = field(default="you", compare=False)
    """The key under which a view names its agent."""
    sentences: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What each code of a rejection or correction means, in the language of the prompts."""

    @property
    def identity(self) -> dict[str, str]:
        """What tells these prompts from others: variant, language and content hash."""
        return {"variant": self.variant, "lang": self.lang, "hash": self.hash}

    def place(self, part: str) -> str:
        """Name the file of one part, `system` or `turn`."""
        return name_of(folder_of(self.world, self.variant) / f"{part}.{self.lang}.md")


def is_path(variant: str) -> bool:
    """Return whether a variant is the path of a folder rather than a name."""
    return "/" in variant or os.sep in variant


def folder_of(world_name: str, variant: str) -> Path:
    """Return the folder of a variant; a relative path starts at the working directory."""
    return Path(variant) if is_path(variant) else ROOT / world_name / variant


def bound(world: AnyWorld, prompts: PromptSet, setting: Setting[Any]) -> PromptSet:
    """Return prompts with what all turns of a run in this setting have in common."""
    return replace(
        prompts,
        fixed=fixed_values(prompts, setting),
        viewer_key=world.viewer_key,
        sentences={**meanings(world), **_sentences_in(prompts.world, prompts.lang)},
    )


def fixed_values(prompts: PromptSet, setting: Setting[Any]) -> dict[str, Json]:
    """Return what both templates are filled in with in all turns of a run."""
    return {
        **setting.config.model_dump(mode="json"),
        "agents": len(setting.agents),
        "schema": prompts.schema,
    }


def _sentences_in(world: str, lang: str) -> Mapping[str, str]:
    """Return the sentences of words.<lang>.toml, by code; none if the world has no such file.

    Raise PromptError if it cannot be read or is not a table of texts.
    """
    file = ROOT / world / f"words.{lang}.toml"
    if not exists(file):
        return {}
    try:
        return {str(code): str(sentence) for code, sentence in tomllib.loads(template_text(file)).items()}
    except tomllib.TOMLDecodeError as error:
        raise PromptError(f"{name_of(file)}: {error}") from error


def exists(file: Path) -> bool:
    """Return whether there is such a file; one whose name no file can have is not there."""
    return os.path.exists(file)  # noqa: PTH110  Path.exists raises OSError for such a name


def template_text(file: Path) -> str:
    """Return the text of a template file. Raise PromptError if it cannot be read."""
    try:
        return text_of(file, MAX_TEMPLATE_LENGTH)
    except FileError as error:
        raise PromptError(f"{name_of(file)}: {error}") from error


def text_if_any(file: Path) -> str:
    """Return the text of a template file, empty if it cannot be read."""
    try:
        return template_text(file)
    except PromptError:
        return ""


def name_of(file: Path) -> str:
    """Return the name of a file as people say it: from the checkout, or as it was given."""
    return (file.relative_to(ROOT.parent) if file.is_relative_to(ROOT) else file).as_posix()
