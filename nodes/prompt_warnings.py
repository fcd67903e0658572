"""Warnings about a prompt: numbers that are typed in, rules that no test plays, and the place of the view.

A test plays each sentence under a mark `{# rule: NAME #}` on the engine. Nothing else that a prompt says is
compared with the engine. So two things deserve a look: a number that is no placeholder, and a sentence
without a mark that speaks of rules. Both are found by their words alone, so they are warnings, not errors. A
mark whose rule has no test covers nothing, and is a warning, too. So are a view that the stand-in server
cannot read, and what one language of a variant has and another lacks.

Source: docs/prompts.md#warnings.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any
from unicodedata import normalize

from hobbes.engine.reflection import ReflectionFields
from hobbes.engine.world import VIEW_KEYS, AnyWorld, Config, Setting, make_setting
from hobbes.nodes.prompting import (
    PromptSet,
    against_languages,
    default_setting,
    expressions,
    first_view,
    load_prompts,
    name_of,
    one_line_json,
    rules_known,
    shared_files,
    shows_view,
    single_treatments,
    template_files,
    template_text,
    turn_text,
    view_in,
)

# "One" and 一 are left out: they are articles and pronouns far more often than numbers.
_NUMBER_WORDS = {
    "en": r"\b(?:zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|"
    r"fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|millions?|dozens?|half|halves|halved|quarters?|"
    r"twice|thrice|(?:doubl|tripl)(?:e[sd]?|ing))\b",
    "zh": "(?<!第)[零两二三四五六七八九十百千万亿半倍]+",
}

# What only looks like a number: code, the number of a list item, and in Chinese the words for percent,
# tenths, very, by no means, in case, again and again.
_NO_NUMBERS = re.compile(r"`[^`]*`|^\d+[.)]\s|百分之|十分之|十分|千万|万一|再三")

# What a marked sentence may say in numbers: how a rule is built ("each of the three resources"), and, as a
# word, the highest rating. All other numbers that are fixed are found in the world's own words.
_BUILT_IN = frozenset({"zero", "two", "three", "half", "halves", "twice", "零", "两", "二", "三", "半"})
_VALUES = {"ten": "10", "十": "10"}

# A sentence with one of these says what happens. Advice says what to do, and needs none of them.
_STATEMENTS = {
    "en": r"\b(?:always|never|cannot|can't|impossible|free|costs?|gains?|loses?|wins?|earns?|fails?|succeeds?"
    r"|works|gives|takes|receives?|rewards|rewarded|punishes|punished|bonus|penalty"
    r"|(?:each|every|per) (?:round|turn))\b",
    "zh": "总是|永远|从不|不能|不会|必定|一定会|总会|成功|失败|花费|消耗|获得|失去|损失|产出|免费|每回合"
    "|奖励|惩罚",
}

# Names that every world has, and names of single worlds that are words of everyday speech.
_NO_RULE_WORDS = {*ReflectionFields.model_fields, *Config.model_fields, *VIEW_KEYS}
_NO_RULE_WORDS |= set(
    re.findall(
        r"\w+",
        "action agents alive cell constants contested end goal history id largest map message messages"
        " objective opponents persona personas plan reports return rules self start summary target window"
        " you",
    )
)

_EVERYDAY_ACTIONS = frozenset({"accept", "leave", "propose", "send"})

_WORDS = re.compile(r"\{# words: (?P<words>[^#]+) #\}")
_MARK = re.compile(r"\{# rule:(?P<name>.*?)#\}")
_COMMENT = re.compile(r"\{#(?! rule:).*?#\}", re.DOTALL)
_TAG = re.compile(r"\{%-?\s*(?P<word>\w+).*?%\}")
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}")
_JSON = re.compile(r'\{".*\}|\[[\d\s,\[\]]*\]')
_DIGITS = r"(?<![A-Za-z0-9_.])(?u:\d+(?:[.,]\d+)*)(?![A-Za-z0-9_])"
_CALCULATING = frozenset({"0", "1", "2", "3"})
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|[。\uff01\uff1f\uff1b]")
_COMMAND = re.compile(r"^\W*(?:always|never)\b", re.IGNORECASE)


def _about_the_file(world: AnyWorld, name: str, source: str, known: Collection[str]) -> Iterator[str]:
    """Yield the warnings about a whole file: it is empty, or it marks rules that no test plays."""
    if not source.strip():
        yield f"{name}, line 1: the file is empty, so it tells agents nothing"
    for line, rule in _marks(source):
        if rule not in known:
            yield f"{name}, line {line}: no prompt of {world.name} has a rule {rule}, so no test plays it"


def prompt_warnings(world: AnyWorld, variant: str, lang: str) -> Iterator[str]:
    """Yield the warnings about the files of a variant, each one line that names file and line.

    The variant must be one that can be loaded. Words are looked at in English and Chinese only.
    """
    prompts = load_prompts(world, variant, lang)
    yield from _about_the_view(world, prompts)
    yield from against_languages(world, prompts)
    if lang not in _STATEMENTS:
        return
    numbers = re.compile(f"{_DIGITS}|{_NUMBER_WORDS[lang]}", re.ASCII | re.IGNORECASE)
    words = re.compile("|".join(_rule_words(world, lang)), re.ASCII | re.IGNORECASE)
    statements = re.compile(_STATEMENTS[lang], re.ASCII | re.IGNORECASE)
    fixed = _BUILT_IN | _fixed_numbers(world)
    known = rules_known(world)
    for file in template_files(world, variant, lang):
        source = template_text(file)
        yield from _about_the_file(world, name_of(file), source, known)
        lines = list(lines_of(source, known))
        for line, text, marked in sorted([*lines, *_literals(source)], key=itemgetter(0)):
            place = f"{name_of(file)}, line {line}"
            # The words of rules are cut out first: the five of `high five` is no number.
            said = words.sub("", _NO_NUMBERS.sub("", normalize("NFKC", text)))
            for number in numbers.findall(said):
                plain = number.lower().replace(",", "")
                if not marked or _VALUES.get(plain, plain) not in fixed:
                    yield f"{place}: the number {number} is typed in, so it does not follow the settings"
        for line, sentence in _unmarked_sentences(lines):
            said = _COMMAND.sub("", sentence)
            if (word := words.search(said)) and (statement := statements.search(said)):
                place, found = f"{name_of(file)}, line {line}", f"{word[0]}, {statement[0]}"
                yield f"{place}: no mark covers this sentence about rules ({found}), so no test plays it"


def absent_actions(world: AnyWorld, setting: Setting[Any], text: str) -> list[str]:
    """Return the actions and fields of answers that a text names, and that only other settings have.

    Only their own names are found, in the forms of English: `replicate`, replicates, replicating. Names that
    are words of everyday speech are not looked for.
    """
    known = {*_names(world.action(setting).model_json_schema())}
    others: set[str] = set()
    for treatment in single_treatments(world):
        try:
            other = make_setting(world, setting.agents, setting.seed, treatment)
        except ValueError:  # the number of agents, and what does not go with the default of another setting
            continue
        others |= {*_names(world.action(other).model_json_schema())}
    names = sorted(others - known - _NO_RULE_WORDS - _EVERYDAY_ACTIONS)
    return [name for name in names if re.search(_forms(name), text, re.IGNORECASE)]


def _about_the_view(world: AnyWorld, prompts: PromptSet) -> Iterator[str]:
    """Yield a warning if a turn text does not show the view, or not as the stand-in server reads it."""
    place = prompts.place("turn")
    if not shows_view(prompts.turn):
        yield f"{place}: it shows no view, so agents do not know what happens"
    elif view_in(turn_text(prompts, first_view(world))) is None:
        yield f"{place}: no line is the whole {{{{ view }}}}, so the stand-in server cannot answer"


def _unmarked_sentences(lines: Sequence[tuple[int, str, bool]]) -> Iterator[tuple[int, str]]:
    """Yield each sentence that no mark covers, with the line on which it begins; it may be wrapped."""
    paragraphs: list[list[tuple[int, str]]] = []
    for number, text, marked in lines:
        if marked:
            continue
        goes_on = (
            paragraphs and paragraphs[-1][-1][0] == number - 1 and not text.startswith(("- ", "* ", "#"))
        )
        if goes_on:
            paragraphs[-1].append((number, text))
        else:
            paragraphs.append([(number, text)])
    for paragraph in paragraphs:
        whole, begin = "\n".join(text for _, text in paragraph), 0
        for sentence in _SENTENCE_END.split(whole):
            begin = whole.index(sentence, begin)
            yield paragraph[whole.count("\n", 0, begin)][0], sentence.replace("\n", " ").strip()
            begin += len(sentence)


def _marks(source: str) -> Iterator[tuple[int, str]]:
    """Yield each mark, with its line."""
    for number, line in enumerate(source.splitlines(), 1):
        yield from ((number, found["name"].strip()) for found in _MARK.finditer(line))


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


def lines_of(source: str, known: Collection[str]) -> Iterator[tuple[int, str, bool]]:
    """Yield each line that has text: its number, its text, and whether a known mark covers it.

    A mark covers the next line or list item; if conditions follow it, one in each branch. Placeholders, tags
    and JSON are cut out of the text.
    """
    source = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), source)
    marked = begun = False
    before: list[bool] = []  # whether a mark stands before each condition that is open
    for number, line in enumerate(source.splitlines(), 1):
        if found := _MARK.search(line):
            marked, begun = found["name"].strip() in known, False
        line_of_text = _MARK.sub("", line)
        if text := _TAG.sub("", line_of_text).strip():
            marked = marked and not (begun and text.startswith(("- ", "* ", "#")))
            begun = True
            yield number, _JSON.sub("", _PLACEHOLDER.sub("…", text)), marked
            continue
        marked = marked and bool(line)
        for tag in _TAG.finditer(line_of_text):
            match tag["word"]:
                case "if" | "for":
                    before.append(marked and not begun)
                case "elif" | "else":
                    marked, begun = bool(before) and before[-1], False
                case "endif" | "endfor":
                    before = before[:-1]  # it is empty if the condition began inside a line of text
                    marked = False


def _fixed_numbers(world: AnyWorld) -> frozenset[str]:
    """Return the numbers that no setting changes: those in the schemas of answers and in the codes."""
    models = [world.action(default_setting(world))]
    models += [world.observer.ruling(())] if world.observer else []
    texts = [*world.codes.values(), *(one_line_json(model.model_json_schema()) for model in models)]
    return frozenset(number.replace(",", "") for text in texts for number in re.findall(_DIGITS, text))


def _rule_words(world: AnyWorld, lang: str) -> Iterator[str]:
    """Yield patterns of the words that stand for rules: the world's own names, and those of its prompts.

    The names are those of answers, settings, views and events; `{# words: … #}` in a file that the variants
    of the world share adds words of its language.
    """
    setting = default_setting(world)
    view = world.observe(world.setup(setting.config, setting.agents, setting.seed), setting.agents[0])
    schema = world.action(setting).model_json_schema()
    names = {*_names(schema), *world.config.model_fields, *world.events, *chain.from_iterable(_objects(view))}
    names -= {*setting.agents, *_NO_RULE_WORDS}
    yield from (_forms(name) for name in sorted(names) if len(name) > 1)
    for file in shared_files(world, lang):
        for found in _WORDS.finditer(template_text(file)):
            yield from (_forms(word) for word in found["words"].split())


def _forms(name: str) -> str:
    """Return a pattern of a name's forms: `raid`, raids, raided, raiding; `high_five` with a space."""
    if not name.isascii():
        return re.escape(name)
    singular = re.sub("ies$", "y", re.sub("(?<!s)s$", "", name) if not name.endswith("ies") else name)
    stem, last = (singular[:-1], singular[-1]) if singular[-1] in "ey" else (singular, "")
    return rf"\b{stem.replace('_', '[ _]')}(?:{last}|{last}s|ies|{stem[-1]}?(?:ed|ing))\b"


def _names(schema: Any) -> Iterator[str]:  # noqa: ANN401  JSON
    """Yield the names of the fields and the choices in a JSON schema."""
    for part in _objects(schema):
        yield from part.get("properties", {})
        yield from part.get("enum", ())


def _objects(value: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401  JSON
    """Yield all objects in a JSON value."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)
