"""Prompts: load the texts that people edit, check them, and render what a model is sent.

Two rules hold. A prompt states what the engine does: numbers come from the config through placeholders,
sentences through conditions on the config, and an unknown name is an error before the first turn. Text
written by agents is not trusted: it reaches a prompt only as part of the view, which is JSON on one line.
docs/prompts.md describes both for people who edit prompts.
"""

import json
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import chain, takewhile
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

from pydantic import BaseModel

from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.memory import Memory, in_words, reason
from hobbes.engine.names import did_you_mean
from hobbes.engine.record import Json, JsonObject, canonical, sha256
from hobbes.engine.reflection import REPORTS, TEXTS
from hobbes.engine.turn import play_turn, view_of
from hobbes.engine.world import VIEW_KEYS, AnyWorld, Config, Setting, make_setting
from hobbes.nodes import prompt_set
from hobbes.nodes.file_content import real_path
from hobbes.nodes.prompt_set import (
    PromptError,
    PromptSet,
    bound,
    exists,
    fixed_values,
    folder_of,
    is_path,
    name_of,
    template_text,
    text_if_any,
)
from hobbes.nodes.prompt_templates import (
    ViewPart,
    check_placeholders,
    one_line_json,
    paths_of_view,
    reads_files,
    render,
)

VIEW = frozenset({"view", "you"})
"""The placeholders of a turn template beside those of a system template."""

# Includes a file of the world's folder. It is replaced when the prompt is loaded, not by Jinja when it is
# rendered, so that a PromptSet holds the whole text.
_INCLUDE = re.compile(r'\{% include "(?P<name>[\w.-]+)" %\}\n?')

# Say in a system template what a variant is about, how much its advice gives away, which variant it says in
# other words, and of which settings it says nothing, so that it takes only their defaults.
_ABOUT = re.compile(r"\{# (about|advice|rewords|untold): (.+?) #\}")

_DATA = frozenset({"code", "detail"})
"""What an entry of the feedback has for programs; a prompt has the words that are made of it."""


def variants(world: AnyWorld) -> tuple[str, ...]:
    """Return the variants of a world: those of this checkout, and the path of its default if it is one."""
    names = {file.parent.name for file in (prompt_set.ROOT / world.name).glob("*/*.md")}
    default = world.prompts(default_setting(world).config)
    return (*sorted(names), *([default] if is_path(default) else []))


def languages(world_name: str, variant: str) -> tuple[str, ...]:
    """Return the languages of a variant."""
    try:
        if is_path(variant):
            _check_folder(folder_of(world_name, variant))
        files = sorted(folder_of(world_name, variant).glob("system.*.md"))
    except (OSError, PromptError):  # `load_prompts` says in words what is wrong with the path
        return ()
    return tuple(file.name.split(".")[1] for file in files)


def about(world_name: str, variant: str) -> dict[str, str]:
    """Return what a variant says about itself: `about`, `advice`, `rewords` and `untold`, or some of them.

    They stand in comments of its system template; if languages say different things, the first one counts.
    """
    files = [folder_of(world_name, variant) / f"system.{lang}.md" for lang in languages(world_name, variant)]
    return dict(_ABOUT.findall("\n".join(text_if_any(file) for file in reversed(files))))


def wordings(world: AnyWorld) -> tuple[str, ...]:
    """Return the variants that say the same in other words, first the one that the others reword."""
    bases = {name: base for name in variants(world) if (base := about(world.name, name).get("rewords"))}
    return tuple(dict.fromkeys([*bases.values(), *bases]))


def load_prompts(world: AnyWorld, variant: str, lang: str, setting: Setting[Any] | None = None) -> PromptSet:
    """Load and check a variant in one language, for a setting or else the world's default one.

    The variant is a name, or the path of a folder. Raise PromptError, in one line, if anything is wrong.
    """
    setting = setting or default_setting(world)
    folder = folder_of(world.name, variant)
    if is_path(variant):
        _check_folder(folder)
    else:
        known = variants(world)
        if variant not in known and os.path.isdir(variant):  # noqa: PTH112  False also where a path fails
            raise PromptError(
                f"prompts/{world.name} has no variant {variant!r}; for the folder write ./{variant}"
            )
        _check_known("variant", f"prompts/{world.name}", variant, known)
    there = languages(world.name, variant)
    if lang not in there:
        raise PromptError(
            f"{name_of(folder)} has no language {lang!r}, since it has no file system.{lang}.md; "
            f"languages: {', '.join(there) or 'none'}"
        )
    names = frozenset({*world.config.model_fields, "agents", "schema"})
    system = _with_includes(world, folder / f"system.{lang}.md", names)
    turn = _with_includes(world, folder / f"turn.{lang}.md", names | VIEW)
    # A trial rendering is part of it, since some mistakes appear only then.
    prompts = fit_to_setting(world, PromptSet(world.name, variant, lang, system, turn, ""), setting)
    _check_turn(world, prompts)
    observer = [template_text(_observer_file(world, folder, lang))] if world.observer else []
    return replace(prompts, hash=content_hash(prompts, *observer))


def content_hash(prompts: PromptSet, *others: str) -> str:
    """Return the content hash of a variant: of its two templates and, in worlds with an observer, a third."""
    return sha256(canonical([prompts.system, prompts.turn, *others]))


def fit_to_setting(world: AnyWorld, prompts: PromptSet, setting: Setting[Any]) -> PromptSet:
    """Return prompts for another setting: with its schema of answers, and its text of the observer.

    Raise PromptError if the templates cannot be filled in under the setting, or do not tell it.
    """
    _check_told(world, prompts, setting)
    prompts = bound(world, replace(prompts, schema=answer_schema(world, setting)), setting)
    system_text(prompts, setting)
    if world.observer is not None:
        folder = folder_of(world.name, prompts.variant)
        return replace(prompts, observer=_observer_text(world, folder, prompts.lang, setting.config))
    return prompts


def _check_told(world: AnyWorld, prompts: PromptSet, setting: Setting[Any]) -> None:
    """Raise PromptError for settings that differ from their defaults and that a variant leaves untold."""
    place, default = prompts.place("system"), default_setting(world).config
    untold = dict(_ABOUT.findall(prompts.system)).get("untold", "").split()
    for name in untold:
        _check_known("setting", f"{place}: {world.name}", name, world.config.model_fields)
    changed = [name for name in untold if getattr(setting.config, name) != getattr(default, name)]
    if changed:
        others = [name for name in variants(world) if "untold" not in about(world.name, name)]
        raise PromptError(
            f"{place}: it says nothing of {', '.join(changed)}; leave that at its default, or choose another "
            f"variant: {', '.join(others)}"
        )


def template_files(world: AnyWorld, variant: str, lang: str) -> Iterator[Path]:
    """Yield the files of a variant, with those that it includes. Raise PromptError if one cannot be read."""
    folder = folder_of(world.name, variant)
    for file in (folder / f"system.{lang}.md", folder / f"turn.{lang}.md"):
        yield file
        for found in _INCLUDE.finditer(template_text(file)):
            yield _shared_file(world, folder, found["name"])
    if world.observer is not None:
        yield _observer_file(world, folder, lang)


def _observer_file(world: AnyWorld, folder: Path, lang: str) -> Path:
    """Return the text of an observer that is a model: in the folder of the variant, or shared by variants."""
    file = folder / f"observer.{lang}.md"
    return file if exists(file) else _shared_file(world, folder, file.name)


def _observer_text(world: AnyWorld, folder: Path, lang: str, config: Config) -> str:
    """Render what an observer that is a model is told."""
    file = _observer_file(world, folder, lang)
    values = {**config.model_dump(mode="json"), "schema": ruling_schema(world)}
    return render(partial(name_of, file), _read_template(file, values), values)


def answer_schema(world: AnyWorld, setting: Setting[Any]) -> str:
    """Return the JSON schema of an answer that models are sent in a setting, as compact JSON.

    It asks for more than the rules do, for models that are held to it: they give their reasons, before they
    act, and come to an end. What is cut off at the end are the texts and ratings of the reflection.
    docs/models.md#schemas-of-answers says so.
    """
    schema = world.action(setting).model_json_schema()
    bounded: Mapping[str, Any] = world.bounds(setting)
    plain, bounds, reflection = schema["properties"], bounded["properties"], (*TEXTS, *REPORTS)
    acts = [name for name in {**bounds, **plain} if name not in reflection]
    fields = {
        name: _bounded(plain[name], bounds.get(name))
        for name in ("reasoning", *acts, *reflection[1:])
        if name in plain
    }
    fields["reasoning"] = {**fields["reasoning"], "minLength": 1}
    required = {"reasoning", *schema.get("required", ()), *bounded.get("required", ())}
    sent = {**schema, "properties": fields, "required": [name for name in fields if name in required]}
    if "$ref" not in one_line_json(fields):
        sent.pop("$defs", None)
    return one_line_json(_without_titles(sent))


def _bounded(field: JsonObject, bound: JsonObject | None) -> JsonObject:
    """Return the schema of a field as it is bounded, if it is, with its description."""
    return field if bound is None else {"description": field.get("description", ""), **bound}


@cache
def ruling_schema(world: AnyWorld) -> str:
    """Return the JSON schema of a ruling, as compact JSON; empty in a world without an observer."""
    return schema_of(world.observer.ruling(())) if world.observer else ""


def schema_of(model: type[BaseModel]) -> str:
    """Return a model's JSON schema as compact JSON, without the titles, which only repeat the names."""
    return one_line_json(_without_titles(model.model_json_schema()))


def _without_titles(schema: Any) -> Any:  # noqa: ANN401  JSON
    if isinstance(schema, dict):
        items = ((key, value) for key, value in schema.items() if key != "title" or isinstance(value, dict))
        return {key: _without_titles(value) for key, value in items}
    return [_without_titles(element) for element in schema] if isinstance(schema, list) else schema


def system_text(prompts: PromptSet, setting: Setting[Any]) -> str:
    """Return the system text of a run: the same for every agent and turn, so that providers cache it."""
    return filled_system_text(prompts, fixed_values(prompts, setting))


def filled_system_text(prompts: PromptSet, fixed: Mapping[str, Json]) -> str:
    """Return the system text, filled in with these values."""
    return render(partial(prompts.place, "system"), prompts.system, fixed)


def turn_text(prompts: PromptSet, view: JsonObject) -> str:
    """Return the turn text of one agent: its template, filled in with its view or parts of it."""
    return _turn_text(prompts, ViewPart(replace_codes(prompts, view)), view.get(prompts.viewer_key, ""))


def fixed_words(prompts: PromptSet, turn: str) -> str:
    """Return the beginning of a turn text that is the same for all agents and turns of a run."""
    try:
        blank = _turn_text(prompts, ViewPart(None), "")
    except PromptError:  # it calculates with parts of the view
        return ""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(turn, blank, strict=False))
    return "".join(character for character, _ in alike)


def _turn_text(prompts: PromptSet, view: ViewPart, you: Json) -> str:
    return render(partial(prompts.place, "turn"), prompts.turn, {**prompts.fixed, "view": view, "you": you})


def replace_codes(prompts: PromptSet, view: Mapping[str, Any]) -> JsonObject:
    """Return a view with feedback and scripted rulings in the words of the prompts, without their codes.

    Feedback stands in the memory, or in the view itself (`World.remembering`).
    """
    memory, ruling = view.get("memory", view), view.get("observer")
    if memory.get("feedback"):
        feedback = [_without_code(in_words(prompts.sentences, entry)) for entry in memory["feedback"]]
        remembered = {**memory, "feedback": feedback}
        view = {**view, "memory": remembered} if "memory" in view else remembered
    if isinstance(ruling, Mapping) and "code" in ruling:
        why = reason(prompts.sentences, str(ruling["code"]), str(ruling["detail"]))
        view = {**view, "observer": {**_without_code(ruling), "reason": why}}
    return view


def _without_code(entry: Mapping[str, Json]) -> JsonObject:
    """Return an entry without its code and the data of its sentence."""
    return {name: value for name, value in entry.items() if name not in _DATA}


def view_in(turn: str) -> dict[str, Any] | None:
    """Return the view in a turn text: its last line that is a whole view; None if there is none."""
    for line in reversed(turn.splitlines()):
        try:
            view = json.loads(line)
        except ValueError:
            continue
        if isinstance(view, dict) and view.keys() >= set(VIEW_KEYS):
            return view
    return None


def follow_up_text(lang: str, answer: str, rejections: Sequence[str], turn: str) -> str:
    """Return the follow-up question: the first answer, its rejections, and the turn's text again.

    Raise PromptError if the language has no such template or the template names an unknown placeholder.
    """
    file = prompt_set.ROOT / f"follow_up.{lang}.md"
    values = {"answer": answer, "refused": rejections, "turn": turn}
    return render(partial(name_of, file), _read_template(file, values.keys()).rstrip(), values)


def approximate_tokens(text: str) -> int:
    """Return an estimate of the tokens of one message; only the provider knows the true number.

    It takes four characters of English per token, and about one of Chinese. The role of the message and what
    stands around it take four more. JSON of numbers is denser than either: a view may take up to twice the
    estimate.
    """
    wide = 0 if text.isascii() else sum(east_asian_width(character) in "WF" for character in text)
    return 4 + wide + math.ceil((len(text) - wide) / 4)


def _check_known(kind: str, place: str, name: str, names: Collection[str]) -> None:
    """Raise PromptError, with the known names, for an unknown one."""
    if name not in names:
        raise PromptError(f"{place} has no {kind} {name!r}; {kind}s: {', '.join(names) or 'none'}")


def _check_folder(folder: Path) -> None:
    try:
        found = folder.is_dir()
        str(real_path(folder)).encode()  # a run is stored with the path
    except OSError as error:
        raise PromptError(f"{folder}: {error.strerror}") from error
    except UnicodeEncodeError as error:
        raise PromptError(f"{folder}: its whole path is not UTF-8; move the folder") from error
    except ValueError as error:  # a null character
        raise PromptError(f"{str(folder)!r}: {error}") from error
    if not found:
        given = folder if folder.is_absolute() or ".." in folder.parts else f"./{folder}"
        try:
            beside = [other.name for other in folder.parent.iterdir() if other.is_dir()]
        except OSError:
            beside = []
        raise PromptError(f"{given}: there is no such folder{did_you_mean(folder.name, beside)}")


def _shared_file(world: AnyWorld, folder: Path, name: str) -> Path:
    """Return the file that variants share: in the folder above the variant's, else in prompts/<world>/."""
    above, of_world = above_folder(folder) / name, prompt_set.ROOT / world.name / name
    return of_world if exists(of_world) and not exists(above) else above


def above_folder(folder: Path) -> Path:
    """Return the folder above another one, whose path may be `.` or end in `..`."""
    return folder / ".." if folder.name in {"", ".."} else folder.parent


def default_setting(world: AnyWorld) -> Setting[Any]:
    """Return a world's setting with the default agents and the default config."""
    return make_setting(world, world.names(world.default_agents), 0, {})


def _with_includes(world: AnyWorld, file: Path, known: Collection[str]) -> str:
    """Read a template and put the files that it includes in their places."""
    text = _INCLUDE.sub(
        lambda found: _read_template(_shared_file(world, file.parent, found["name"]), known),
        _read_template(file, known),
    )
    if reads_files(text):
        shared = name_of(above_folder(file.parent))
        raise PromptError(
            f'{name_of(file)}: write {{% include "FILE" %}}, FILE in {shared}, without further includes'
        )
    return text


def _read_template(file: Path, known: Collection[str]) -> str:
    """Return the text of a template file. Raise PromptError if it cannot be read or used."""
    text = template_text(file)
    check_placeholders(name_of(file), text, known)
    return text


def _check_turn(world: AnyWorld, prompts: PromptSet) -> None:
    """Raise PromptError if a turn template names a part that no view has, or cannot be filled in."""
    paths = paths_of_view(prompts.turn)
    samples = list(_sample_views(world)) if paths else [first_view(world)]
    for path in sorted(paths):
        if not any(_has(view, path) for view in samples):
            known = ", ".join(dict.fromkeys(chain.from_iterable(samples)))
            place = prompts.place("turn")
            raise PromptError(f"{place}: no view of {world.name} has {'.'.join(path)}; it has: {known}")
    turn_text(prompts, samples[0])


def _has(view: Json, path: tuple[str, ...]) -> bool:
    """Return whether a view has what a path of names leads to, as far as it leads through objects."""
    if not path or not isinstance(view, Mapping):
        return True
    return path[0] in view and _has(view[path[0]], path[1:])


_TURNS_TRIED = 3


def _sample_views(world: AnyWorld) -> Iterator[JsonObject]:
    """Yield views of the first turns of a world, under its default setting and with each setting changed."""
    singly = ({name: value} for name, values in values_to_try(world).items() for value in values)
    for treatment in ({}, *singly):
        agents = treatment.get("agents", world.default_agents)
        values = {name: value for name, value in treatment.items() if name != "agents"}
        try:
            setting = make_setting(world, world.names(int(str(agents))), 0, values)
            state = world.setup(setting.config, setting.agents, setting.seed)
        except ValueError:  # some settings do not go with the default of another one
            continue
        memories: Mapping[str, Memory] = {}
        for _ in range(_TURNS_TRIED):
            if world.over(state):
                break
            yield view_of(world, state, memories, world.actors(state)[0])
            silent = ParsedAnswer(Outcome.ANSWERED, FoundAs.JSON, {})
            turn = play_turn(world, state, memories, dict.fromkeys(world.actors(state), silent))
            state, memories = turn.resolved.state, turn.memories


def first_view(world: AnyWorld) -> JsonObject:
    """Return the view of the first agent in the first turn of a world's default setting."""
    return next(_sample_views(world))


@lru_cache(maxsize=8)
def values_to_try(world: AnyWorld) -> Mapping[str, list[Json]]:
    """Return the values to try of each field of the config, and of the number of agents."""
    schema = world.config.model_json_schema()
    fields: dict[str, list[Json]] = {
        name: list(_ends(field, schema.get("$defs", {}))) for name, field in schema["properties"].items()
    }
    return {**fields, "agents": [1, 100]}


def _ends(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Json]:
    """Yield the values of a JSON schema to try: each choice, both booleans, and the ends of a range."""
    match schema:
        case {"$ref": str(name)}:
            yield from _ends(definitions[name.rpartition("/")[2]], definitions)
        case {"anyOf": options}:
            yield from chain.from_iterable(_ends(option, definitions) for option in options)
        case {"enum": values}:
            yield from values
        case {"const": value}:
            yield value
        case {"type": "null"}:
            yield None
        case {"type": "boolean"}:
            yield from (False, True)
        case {"type": "integer" | "number"}:
            yield from (schema[end] for end in ("minimum", "maximum") if end in schema)
        case {"type": "array", "items": items}:
            yield from ([value] for value in _ends(items, definitions))
        case {"type": "object", "properties": fields}:
            ends = {name: list(_ends(field, definitions)) for name, field in fields.items()}
            yield from ({name: values[k] for name, values in ends.items() if values} for k in (0, -1))
