"""Checks of prompts, for people who edit them: problems, which are errors under some settings, and warnings.

Warnings are about numbers that are typed in. A text may have good reasons for them. Source:
docs/prompts.md#warnings.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations, product
from operator import itemgetter
from typing import NamedTuple
from unicodedata import normalize

from hobbes.engine import reflection
from hobbes.engine.record import Json
from hobbes.engine.world import AnyWorld
from hobbes.nodes.prompt_set import PromptError, PromptSet, fixed_values, name_of, template_text
from hobbes.nodes.prompt_templates import expressions, one_line_json, placeholders
from hobbes.nodes.prompting import (
    default_setting,
    filled_system_text,
    first_view,
    languages,
    load_prompts,
    template_files,
    turn_text,
    values_to_try,
    variants,
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

# What `lines_of` takes apart: marks, other comments, tags, placeholders and JSON.
_MARK = re.compile(r"\{# rule:.*?#\}")
_COMMENT = re.compile(r"\{#(?! rule:).*?#\}", re.DOTALL)
_TAG = re.compile(r"\{%.*?%\}")
_BRANCH = re.compile(r"\{%-?\s*el(?:if|se)\b")
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}")
_JSON = re.compile(r'\{".*\}|\[[\d\s,\[\]]*\]')

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
    if lang not in _NUMBER_WORDS:
        return
    numbers = re.compile(f"{_DIGITS}|{_NUMBER_WORDS[lang]}", re.ASCII | re.IGNORECASE)
    fixed = _BUILT_IN | _fixed_numbers(world)
    for file in template_files(world, variant, lang):
        source = template_text(file)
        lines = [*lines_of(source), *_literals(source)]
        for line, text, marked in sorted(lines, key=itemgetter(0)):
            for number in numbers.findall(_NO_NUMBERS.sub("", normalize("NFKC", text))):
                plain = number.lower().replace(",", "")
                if not marked or _VALUES.get(plain, plain) not in fixed:
                    place = f"{name_of(file)}, line {line}"
                    yield f"{place}: the number {number} is typed in, so it does not follow the settings"


def _literals(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the numbers and texts in placeholders and tags as lines that no mark covers.

    What a condition compares is not sent. A small number beside a name calculates with a setting: `rows - 1`.
    """
    for tokens in expressions(source):
        names = [text for _, kind, text in tokens if kind == "name"]
        if names and names[0] in {"if", "elif", "include"}:
            continue
        for line, kind, text in tokens:
            if kind == "string" or (kind in {"integer", "float"} and not (names and text in _CALCULATING)):
                yield line, text.strip("'\""), False


def _fixed_numbers(world: AnyWorld) -> frozenset[str]:
    """Return the numbers that no setting changes: those in the schemas of answers and in the codes."""
    models = [world.action(default_setting(world))]
    models += [world.observer.ruling(())] if world.observer else []
    codes = {**reflection.CODES, **world.telling.codes}
    texts = [*codes.values(), *(one_line_json(model.model_json_schema()) for model in models)]
    return frozenset(number.replace(",", "") for text in texts for number in re.findall(_DIGITS, text))


def lines_of(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield each line that has text: its number, its text, and whether a mark covers it.

    A mark covers the next lines or list item, in each branch of a condition, up to an empty line.
    Placeholders, tags and JSON are cut out of the text.
    """
    source = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), source)
    marked = begun = False
    for number, line in enumerate(source.splitlines(), 1):
        if _MARK.search(line):
            marked, begun = True, False
        if text := _TAG.sub("", _MARK.sub("", line)).strip():
            marked = marked and not (begun and text.startswith(("- ", "* ", "#")))
            begun = True
            yield number, _JSON.sub("", _PLACEHOLDER.sub("…", text)), marked
        elif _BRANCH.search(line):
            begun = False
        else:
            marked = marked and bool(line)


@lru_cache(maxsize=64)
def check_prompts(world: AnyWorld, prompts: PromptSet) -> tuple[str, ...]:
    """Return the problems of a prompt, one line each: what cannot be filled in under some treatment."""
    return tuple(_under_treatments(world, prompts))


def _under_treatments(world: AnyWorld, prompts: PromptSet) -> Iterator[str]:
    """Yield the problems of rendering each text under each treatment of what it names, without repeats."""
    baseline, view = fixed_values(prompts, default_setting(world)), first_view(world)

    def turn(fixed: Mapping[str, Json]) -> str:
        return turn_text(replace(prompts, fixed=fixed), view)

    seen: set[str] = set()
    for template, render in ((prompts.system, partial(filled_system_text, prompts)), (prompts.turn, turn)):
        for treatment in _treatments(world, placeholders(template)):
            try:
                render(baseline | treatment)
            except PromptError as error:
                if str(error) not in seen:
                    seen.add(str(error))
                    settings = (f"{name}={one_line_json(value)}" for name, value in treatment.items())
                    yield f"{error} (with {', '.join(settings)})"


def _treatments(world: AnyWorld, names: Collection[str]) -> Iterator[dict[str, Json]]:
    """Yield changes of those fields of the config to try: each value of each, and each pair of values.

    Pairs reach conditions that stand inside other conditions.
    """
    tries = {name: values for name, values in values_to_try(world).items() if name in names}
    yield from ({name: value} for name, values in tries.items() for value in values)
    for a, b in combinations(tries, 2):
        yield from ({a: value, b: second} for value, second in product(tries[a], tries[b]))
