"""Warnings about a prompt: numbers that are typed in, a view that is not shown, languages that differ.

A text may have good reasons for any of them, so they are no errors. Source: docs/prompts.md#warnings.
"""

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple
from unicodedata import normalize

from hobbes.engine.world import AnyWorld
from hobbes.nodes.prompting import (
    PromptError,
    PromptSet,
    against_languages,
    check_prompts,
    default_setting,
    expressions,
    first_view,
    languages,
    lines_of,
    load_prompts,
    name_of,
    one_line_json,
    rules_known,
    shows_view,
    template_files,
    template_text,
    turn_text,
    variants,
    view_in,
)

# "One" and 一 are left out: they are articles and pronouns far more often than numbers.
_NUMBER_WORDS = {
    "en": r"\b(?:zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|"
    r"fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|millions?|dozens?|half|halves|halved|quarters?|"
    r"twice|thrice|(?:doubl|tripl)(?:e[sd]?|ing))\b",
    "zh": "(?<!第)[零两二三四五六七八九十百千万亿半倍]+",
}

# Code, the number of a list item, a high five; in Chinese percent, tenths, very, by no means, in case, again.
_NO_NUMBERS = re.compile(r"(?i)`[^`]*`|^\d+[.)]\s|high[ _-]five|百分之|十分之|十分|千万|万一|再三")

# What a marked sentence may say: how a rule is built ("each of the three resources"), and the highest rating.
_BUILT_IN = frozenset({"zero", "two", "three", "half", "halves", "twice", "零", "两", "二", "三", "半"})
_VALUES = {"ten": "10", "十": "10"}

_DIGITS = r"(?<![A-Za-z0-9_.])(?u:\d+(?:[.,]\d+)*)(?![A-Za-z0-9_])"
_CALCULATING = frozenset({"0", "1", "2", "3"})


class Checked(NamedTuple):
    """What checks of prompts found. Each thing is named once, although variants share files."""

    checked: list[str]
    """The world, variant and language of each prompt."""
    problems: list[str]
    warnings: list[str]


def check_variants(worlds: Sequence[AnyWorld], variant: str | None) -> Checked:
    """Check the prompts of worlds in all their languages: one variant, or all of them."""
    checked: list[str] = []
    problems: dict[str, None] = {}
    warnings: dict[str, None] = {}
    for world in worlds:
        for name in [variant] if variant else variants(world):
            for lang in languages(world.name, name) or ("en",):
                checked.append(f"{world.name} {name} {lang}")
                try:
                    problems |= dict.fromkeys(check_prompts(world, load_prompts(world, name, lang)))
                    warnings |= dict.fromkeys(prompt_warnings(world, name, lang))
                except PromptError as error:
                    problems[str(error)] = None
    return Checked(checked, list(problems), list(warnings))


def prompt_warnings(world: AnyWorld, variant: str, lang: str) -> Iterator[str]:
    """Yield the warnings about the files of a variant, each one line that names the file.

    The variant must be one that can be loaded. Numbers are looked for in English and Chinese only.
    """
    prompts = load_prompts(world, variant, lang)
    yield from _about_the_view(world, prompts)
    yield from against_languages(world, prompts)
    if lang not in _NUMBER_WORDS:
        return
    numbers = re.compile(f"{_DIGITS}|{_NUMBER_WORDS[lang]}", re.ASCII | re.IGNORECASE)
    fixed, known = _BUILT_IN | _fixed_numbers(world), rules_known(world)
    for file in template_files(world, variant, lang):
        source = template_text(file)
        lines = [*lines_of(source, known), *_literals(source)]
        for line, text, marked in sorted(lines, key=itemgetter(0)):
            for number in numbers.findall(_NO_NUMBERS.sub("", normalize("NFKC", text))):
                plain = number.lower().replace(",", "")
                if not marked or _VALUES.get(plain, plain) not in fixed:
                    place = f"{name_of(file)}, line {line}"
                    yield f"{place}: the number {number} is typed in, so it does not follow the settings"


def _about_the_view(world: AnyWorld, prompts: PromptSet) -> Iterator[str]:
    """Yield a warning if a turn text does not show the view, or not as the stand-in server reads it."""
    place = prompts.place("turn")
    if not shows_view(prompts.turn):
        yield f"{place}: it shows no view, so agents do not know what happens"
    elif view_in(turn_text(prompts, first_view(world))) is None:
        yield f"{place}: no line is the whole {{{{ view }}}}, so the stand-in server cannot answer"


def _literals(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the numbers and texts in placeholders and tags as lines that no mark covers.

    What a condition compares is not sent. A small number beside a name calculates with a setting: `rows - 1`.
    """
    for tokens in expressions(source):
        names = [said for _, kind, said in tokens if kind == "name"]
        if names and names[0] in {"if", "elif", "include"}:
            continue
        for line, kind, said in tokens:
            if kind == "string" or (kind in {"integer", "float"} and not (names and said in _CALCULATING)):
                yield line, said.strip("'\""), False


def _fixed_numbers(world: AnyWorld) -> frozenset[str]:
    """Return the numbers that no setting changes: those in the schemas of answers and in the codes."""
    models = [world.action(default_setting(world))]
    models += [world.observer.ruling(())] if world.observer else []
    texts = [*world.codes.values(), *(one_line_json(model.model_json_schema()) for model in models)]
    return frozenset(number.replace(",", "") for text in texts for number in re.findall(_DIGITS, text))
