"""`hobbes watch`: the prompt of one turn and agent, rendered again whenever one of its files is saved.

What is rendered has a number, and so has what a probe says of it, which arrives later.
"""

import asyncio
import sys
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rich.text import Text
from watchfiles import awatch

from hobbes.engine.telling import counted
from hobbes.errors import UsageError
from hobbes.nodes import prompt_set, prompting
from hobbes.nodes.file_content import real_path
from hobbes.nodes.journal import Prompt
from hobbes.nodes.prompt_set import PromptError, folder_of
from hobbes.play.prompt_checks import check_prompts, prompt_warnings
from hobbes.play.render import PromptQuestion, token_counts
from hobbes.probe.versions import Tried
from hobbes.prove.word_diff import word_diff
from hobbes.show import probe_reports
from hobbes.show.both_runs import word_diff_text
from hobbes.show.terminal import OUT, plain, print_json, say

SETTLED = 50
"""Milliseconds without a further change after which a save counts as complete."""

MAX_DELAY = 200
"""Milliseconds after which changes are reported even if they go on."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """The prompt after a save, or why there is none."""

    number: int
    prompt: Prompt | None = None
    before: Prompt | None = None
    """The last prompt that could be rendered before this one."""
    words: str = ""
    """The beginning of the turn text that is the same for all agents and turns."""
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str | None = None
    """Why the prompt could not be rendered."""

    @property
    def tokens(self) -> dict[str, Any] | None:
        """The approximate token counts, with their change since the prompt before."""
        if self.prompt is None:
            return None
        counts, change = token_counts(self.prompt, self.words), None
        if self.before:
            earlier = token_counts(self.before, "")
            change = {text: counts[text] - earlier[text] for text in ("system", "turn")}
        return {**counts, "change": change}

    def to_json(self) -> dict[str, Any]:
        """Return the rendering as plain JSON."""
        changes = word_diff(_whole(self.before), _whole(self.prompt)) if self.prompt and self.before else []
        return {
            "rendering": self.number,
            "system": self.prompt.system if self.prompt else None,
            "turn": self.prompt.turn if self.prompt else None,
            "changes": changes,
            "tokens": self.tokens,
            "problems": list(self.problems),
            "warnings": list(self.warnings),
            "error": self.error,
        }


def _whole(prompt: Prompt) -> str:
    return f"{prompt.system}\n\n{prompt.turn}"


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe says after a save, with all versions of the prompt that it was asked about."""

    number: int
    tried: Tried

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        told, problem = self.tried
        return {"rendering": self.number, "probe": told.to_json() if told else None, "error": problem or None}


News: TypeAlias = Rendering | Probed

Show: TypeAlias = Callable[[News], None]
"""Shows what is new."""

Probe: TypeAlias = Callable[[], Awaitable[Tried]]
"""Asks a probe about the files as they are now."""


async def saves(question: PromptQuestion) -> AsyncIterator[None]:
    """Yield once as soon as the files of a question's prompts are watched, then after each save of one."""
    folders = _folders(question)
    while True:
        there = {folder for folder in folders if folder.is_dir()}
        changes = awatch(
            *there,
            watch_filter=None,
            recursive=False,  # folders and not files, since many editors replace a file by a new one
            step=SETTLED,
            debounce=MAX_DELAY,
            rust_timeout=MAX_DELAY,
            yield_on_timeout=True,  # so that it is known when the watching has begun
        )
        watching = False
        async with aclosing(changes):
            async for changed in changes:
                paths = {Path(path) for _, path in changed}
                if not watching or paths & _places(question):
                    watching = True
                    yield
                if paths & folders:  # a folder that was made anew is another one
                    break


def _folders(question: PromptQuestion) -> set[Path]:
    """Return the folders in which files of a question's prompts are or may be."""
    folder = real_path(folder_of(question.world.name, question.variant))
    of_world = real_path(prompt_set.ROOT / question.world.name)
    return {folder, folder.parent, of_world, *(place.parent for place in _places(question))}


def _places(question: PromptQuestion) -> set[Path]:
    """Return the paths of the files of a question's variant in all languages, with what they include.

    A symbolic link has two: its own, and that of the file to which it leads.
    """
    world, variant = question.world, question.variant
    files: set[Path] = set()
    for lang in {question.lang, *prompting.languages(world.name, variant)}:
        # If a file cannot be read, rendering says so; those that it includes are not known now.
        with suppress(PromptError):
            for file in prompting.template_files(world, variant, lang):
                files |= {real_path(file.parent) / file.name, real_path(file)}
    return files


class Edits:
    """Renders a question's prompt after each save, and asks a probe if there is one to ask."""

    def __init__(self, question: PromptQuestion, show: Show, probe: Probe | None = None) -> None:
        self._question = question
        self._show = show
        self._probe = probe
        self.last = -1
        """The number of the last rendering."""
        self._before: Prompt | None = None
        self._to_ask: asyncio.Queue[int | None] = asyncio.Queue()

    async def follow(self, saved: AsyncIterable[None]) -> None:
        """Render once for each element, which stands for a save, until there are no more."""
        await asyncio.gather(self._render_each(saved), self._ask_each())

    async def _render_each(self, saved: AsyncIterable[None]) -> None:
        async for _ in saved:
            self._render()
        self._to_ask.put_nowait(None)

    def _render(self) -> None:
        """Show the next rendering, and have the probe asked: other situations may have other words."""
        self.last += 1
        question, number, before = self._question, self.last, self._before
        try:
            prompts = question.load_prompts()
            prompt = question.render(prompts)
        except UsageError as error:
            self._show(Rendering(number, before=before, error=str(error)))
            return
        self._before = prompt
        problems = check_prompts(question.world, prompts)
        # Each one once: variants may include a file twice.
        warnings = dict.fromkeys(prompt_warnings(question.world, question.variant, question.lang))
        words = question.fixed_words(prompts, prompt)
        self._show(Rendering(number, prompt, before, words, problems, tuple(warnings)))
        self._to_ask.put_nowait(number)

    async def _ask_each(self) -> None:
        """Ask about one rendering at a time; those that are out of date by then are skipped."""
        more = True
        while more:
            waiting = [await self._to_ask.get()]
            while not self._to_ask.empty():
                waiting.append(self._to_ask.get_nowait())
            more = None not in waiting
            numbers = [number for number in waiting if number is not None]
            if self._probe and numbers:
                self._show(Probed(numbers[-1], await self._probe()))


def show_json(new: News) -> None:
    """Print what is new as one JSON document on one line."""
    print_json(new.to_json(), indent=None)


def show(new: News) -> None:
    """Print a rendering for people, or what a probe says and why it was not asked to the end."""
    match new:
        case Rendering():
            OUT.print(*_lines(new), sep="\n", soft_wrap=True)
        case Probed(tried=tried):
            if tried.result:
                OUT.print(probe_reports.document(tried.result))
            if tried.problem:
                say(f"not asked: {tried.problem}")
    sys.stdout.flush()


def _lines(new: Rendering) -> Iterator[Text]:
    """Yield the first prompt, or what changed in it, its tokens, and what there is to say about it."""
    yield Text(f"rendering {new.number}", style="bold")
    if new.prompt is None:
        yield plain(new.error or "")
        return
    if new.before:
        yield Text("--- changed", style="dim")
        yield _diff_text(word_diff(_whole(new.before), _whole(new.prompt))) or Text("nothing")
    else:
        yield from (Text("--- system", style="dim"), plain(new.prompt.system))
        yield from (Text("--- turn", style="dim"), plain(new.prompt.turn))
    yield Text(_tokens(new.tokens or {}), style="dim")
    yield from map(plain, new.problems)
    yield from (plain(f"warning: {warning}") for warning in new.warnings)
    yield Text(f"{counted(len(new.problems), 'problem')}, {counted(len(new.warnings), 'warning')}")


def _diff_text(pieces: Iterable[tuple[str, str]]) -> Text:
    """Return a word diff, with colours on a terminal that has some, otherwise with marks."""
    text = word_diff_text(pieces, marks=OUT.color_system is None)
    text.rstrip()
    return text


def _tokens(counts: Mapping[str, Any]) -> str:
    """Return the token counts of a prompt in one line, with their change."""
    change = counts["change"] or {}

    def signed(more: int | None) -> str:
        return "" if more is None else f" ({more:+,})"

    parts = ", ".join(f"{text} {counts[text]:,}{signed(change.get(text))}" for text in ("system", "turn"))
    more = sum(change.values()) if change else None
    return f"about {counts['system'] + counts['turn']:,} tokens{signed(more)}: {parts}"
