"""The advice of a prompt, which may change: the lines under the heading `# Advice` that carry no mark."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hobbes.engine.world import AnyWorld
from hobbes.lab.errors import UsageError
from hobbes.lab.play.playing import Beginning
from hobbes.nodes.prompt_warnings import prompt_warnings
from hobbes.nodes.prompting import (
    ROOT,
    PromptError,
    check_prompts,
    folder_of,
    lines_of,
    load_prompts,
    rules_of,
    template_files,
    template_text,
)

TITLES = {"en": "Advice", "zh": "建议"}
"""The heading of the advice, by language; English in any other one."""

MAX_LENGTH = 4_000
"""The most characters of proposed advice."""

_PLACEHOLDER = re.compile(r"\{\{.*?\}\}")

_CODE = re.compile(r"`[^`]*`|\{[^\n]*\}|\[[^\n]*\]")
"""What `hobbes prompts check` reads no numbers in."""

_TAG = re.compile(r"\{%-?\s*(?P<word>\w+).*?%\}")


@dataclass(frozen=True, slots=True)
class Advice:
    """The system template of a variant, cut where its advice begins and ends."""

    before: str
    text: str
    after: str

    def replaced_by(self, text: str) -> str:
        """Return the template with other advice."""
        return f"{self.before}{text}\n{self.after}" if text else f"{self.before}{self.after}"


def advice_of(template: str, lang: str) -> Advice:
    """Return the advice of a system template: what stands under its heading and is plain text.

    Lines that a mark covers, and lines with tags or between them, are never a part of it; they follow it. A
    template without advice gets its heading at the end.
    """
    title, template = TITLES.get(lang, TITLES["en"]), template.rstrip("\n") + "\n"
    found = re.search(rf"^#+ {title}[ \t]*\n(?P<body>(?:(?!#+ ).*\n)*)", template, re.MULTILINE)
    if found is None:
        return Advice(f"{template}\n# {title}\n", "", "")
    free, fixed = _told_apart(found["body"])
    return Advice(
        template[: found.start("body")],
        "\n".join(free).strip(),
        "".join(f"{line}\n" for line in fixed) + template[found.end("body") :],
    )


def _told_apart(body: str) -> tuple[list[str], list[str]]:
    """Return the lines of a section that may change, and the others."""
    plain = {number for number, _, marked in lines_of(body, rules_of(body)) if not marked}
    free: list[str] = []
    fixed: list[str] = []
    depth = 0
    for number, line in enumerate(body.splitlines(), 1):
        words = [found["word"] for found in _TAG.finditer(line)]
        is_free = number in plain and not depth and not words and "{#" not in line
        depth += sum(word in {"if", "for"} for word in words) - sum(word.startswith("end") for word in words)
        (free if is_free else fixed).append(line)
    return free, fixed


def write_candidate(new: Beginning, advice: Advice, text: str, folder: Path) -> None:
    """Write the prompts of a baseline with other advice into a folder, with the files that they include."""
    world, prompts = new.world, new.prompts
    source = folder_of(world.name, prompts.variant)
    folder.mkdir(parents=True, exist_ok=True)
    for file in template_files(world, prompts.variant, prompts.lang):
        if file.parent == source:
            shutil.copyfile(file, folder / file.name)
        elif not file.is_relative_to(ROOT):
            shutil.copyfile(file, folder.parent / file.name)
    (folder / f"system.{prompts.lang}.md").write_text(advice.replaced_by(text), encoding="utf-8")


def system_template(new: Beginning) -> str:
    """Return the system template of a baseline, as it stands in its file."""
    folder = folder_of(new.world.name, new.prompts.variant)
    return template_text(folder / f"system.{new.prompts.lang}.md")


def refusals(new: Beginning, text: str, folder: Path) -> Iterator[str]:
    """Yield why advice that was written into a folder is refused: it is no advice, or has typed-in numbers.

    All that `hobbes prompts check` finds, and does not find in the baseline, is a reason here.
    """
    if len(text) > MAX_LENGTH:
        yield f"it has more than {MAX_LENGTH:,} characters"
    if "{%" in text or "{#" in text:
        yield "it has a mark or a tag; advice is plain text, and {{ placeholders }}"
        return
    if re.search(r"^\s*#", text, re.MULTILINE):
        yield "it has a heading, so it would not be advice"
        return
    try:
        prompts = load_prompts(new.world, str(folder), new.prompts.lang, new.setting)
    except PromptError as error:
        yield _without_place(str(error))
        return
    yield from map(_without_place, check_prompts(new.world, prompts))
    known = Counter(_warnings(new.world, new.prompts.variant, new.prompts.lang))
    yield from (Counter(_warnings(new.world, str(folder), new.prompts.lang)) - known).elements()
    if in_code := re.findall(r"\d+", "".join(_CODE.findall(_PLACEHOLDER.sub("", text)))):
        yield f"the number {in_code[0]} is typed in, in code or JSON"


def _warnings(world: AnyWorld, variant: str, lang: str) -> Iterator[str]:
    """Yield the warnings about a variant, without the places where they are found."""
    yield from map(_without_place, prompt_warnings(world, variant, lang))


def _without_place(said: str) -> str:
    """Return a problem without its file and line."""
    return said.partition(": ")[2] or said


def check_can_be_improved(new: Beginning) -> None:
    """Raise UsageError if the prompts of a baseline are wrong already."""
    if problems := check_prompts(new.world, new.prompts):
        raise UsageError(problems[0])
