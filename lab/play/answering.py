"""A person answers what a waiting run asks: by options, as text or on the page.

A person can play an agent, or be the observer. What may be answered is the world's: the form (forms.py) is
made from its model of an agent's answer, or of a ruling on these requests. Every answer is checked against
that model before it is taken.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from hobbes.engine.record import Json
from hobbes.engine.reflection import REPORTS, TEXTS
from hobbes.engine.world import OBSERVER
from hobbes.lab.errors import UsageError
from hobbes.lab.play import forms
from hobbes.lab.play.forms import Field, Form, Group, Kind
from hobbes.lab.store.run import PersonQuestion, Run
from hobbes.nodes.files import FileError, text_of

Request = Mapping[str, Any]
"""What one agent asks, as plain JSON; its keys are the world's."""

Options: TypeAlias = Mapping[str, Mapping[str, Field]]
"""The fields by option, and of each option by the key of their group."""

OWN_OPTIONS = frozenset({"agent", "answer", "help", "home", "json", "text"})
"""The options of the command itself. A field of such a name is answered by `--answer`."""


def the_question(run: Run, agent: str | None = None) -> PersonQuestion:
    """Return what a waiting run asks the person who answers for an agent or as the observer.

    Without an agent, return the only question. Raise UsageError if there is none, or if there are several.
    """
    if not run.questions:
        raise UsageError(f"run {run.id} is not waiting for an answer; it is {run.status}")
    questions = [one for one in run.questions if agent in {None, one.agent}]
    if len(questions) != 1:
        agents = ", ".join(one.agent for one in run.questions)
        what = "name one with --agent" if agent is None else f"not for {agent}"
        raise UsageError(f"run {run.id} is waiting for the answers of {agents}; {what}")
    return questions[0]


def requests(question: PersonQuestion) -> list[dict[str, Any]]:
    """Return the requests that an observer is asked to rule on."""
    listed: list[dict[str, Any]] = json.loads(question.asked)["requests"]
    return listed


def open_questions(run: Run) -> list[dict[str, Any]]:
    """Return what a run waits for, as plain JSON: the requests to an observer, or each agent with its view.

    Raise UsageError if the run is not waiting.
    """
    if not run.questions or run.questions[0].agent == OBSERVER:
        return requests(the_question(run))
    return [{"agent": one.agent, "view": json.loads(one.asked)} for one in run.questions]


def form_for(run: Run, question: PersonQuestion) -> Form:
    """Return the form of an answer to a question of a run."""
    if question.agent != OBSERVER:
        form = forms.form_of(run.world.action(run.setting), terse=True)
        return replace(form, groups=tuple(_moves_first(group) for group in form.groups))
    if run.world.observer is None:
        raise UsageError(f"run {run.id} is not waiting for an answer: {run.world.name} has no observer")
    return forms.form_of(run.world.observer.ruling(requests(question)))


def _moves_first(group: Group) -> Group:
    """Return a group with an agent's moves before what it says of itself and of others."""
    ordered = sorted(group.fields, key=lambda field: field.path[-1] in {*TEXTS, *REPORTS})
    return replace(group, fields=tuple(ordered))


def table_of(value: Json) -> tuple[list[str], list[list[object]]] | None:
    """Return JSON as columns and rows, if it is a list of objects, or several objects with the same keys."""
    if isinstance(value, Mapping) and len(value) > 1:
        named = {name: row for name, row in value.items() if isinstance(row, Mapping) and row}
        if len(named) < len(value) or len({tuple(row) for row in named.values()}) > 1:
            return None
        columns = ["", *next(iter(named.values()))]
        rows = [[name, *map(_in_a_cell, row.values())] for name, row in named.items()]
    elif isinstance(value, list) and value:
        objects = [row for row in value if isinstance(row, Mapping)]
        if len(objects) < len(value):
            return None
        columns = list(dict.fromkeys(name for row in objects for name in row))
        rows = [[_in_a_cell(row[name]) if name in row else "" for name in columns] for row in objects]
    else:
        return None
    return [name.replace("_", " ") for name in columns], rows


def _in_a_cell(value: Json) -> object:
    """Return JSON as a cell of a table: numbers as they are, for they are aligned."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else in_words(value)


def in_lines(value: Json, indent: str = "") -> list[str]:
    """Return JSON as lines that people read easily: what is in an object stands below its name."""
    if isinstance(value, Mapping):
        return [line for key, one in value.items() for line in _under(key.replace("_", " "), one, indent)]
    if isinstance(value, list) and (is_map(value) or any(isinstance(one, Mapping) for one in value)):
        return [f"{indent}{one if isinstance(one, str) else in_words(one)}" for one in value]
    return [indent + in_words(value)]


def _under(name: str, value: Json, indent: str) -> list[str]:
    """Return a value with its name: beside it if it takes one line, else below it."""
    if not value or not isinstance(value, Mapping | list):
        return [f"{indent}{name}: {in_words(value)}"]
    lines = in_lines(value, indent + "  ")
    return [f"{indent}{name}: {lines[0].strip()}"] if len(lines) == 1 else [f"{indent}{name}:", *lines]


def is_map(value: Sequence[Json]) -> bool:
    """Return whether a list is a map in text: lines of equally many words."""
    words = {len(line.split()) if isinstance(line, str) else 0 for line in value}
    return len(value) > 1 and len(words) == 1 and max(words) > 1


def in_words(value: Json) -> str:
    """Return JSON in one line, as words."""
    if value is None or value in ({}, [], ""):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key.replace('_', ' ')} {in_words(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(f"({in_words(one)})" if isinstance(one, list) else in_words(one) for one in value)
    return str(value)


def columns_and_rows(requests: Sequence[Request]) -> tuple[list[str], list[list[object]]]:
    """Return requests as a table, whatever their keys are."""
    columns = list(dict.fromkeys(key for request in requests for key in request))
    return columns, [[_cell(request.get(column)) for column in columns] for request in requests]


def _cell(value: object) -> object:
    """Return a value as a cell of a table: a text, a number, or JSON."""
    is_json = isinstance(value, bool | list | dict)
    return json.dumps(value, ensure_ascii=False) if is_json else value


def options(form: Form) -> Options:
    """Return the options that a form can be filled in with."""
    by_name: dict[str, dict[str, Field]] = {}
    for group in form.groups:
        for field in group.fields:
            by_name.setdefault(field.path[-1].replace("_", "-"), {})[group.key] = field
    return {name: fields for name, fields in by_name.items() if name not in OWN_OPTIONS}


def usage(form: Form) -> str:
    """Return in one line what may be written for a form."""
    written = [
        f"--{name} {'KEY=VALUE' if any(fields) else 'VALUE'}" for name, fields in options(form).items()
    ]
    keys = [group.key for group in form.groups if group.key]
    of = f" (KEY: {', '.join(keys)})" if keys else ""
    return f"write {', '.join(written)}{of}, or --answer JSON" if written else "write --answer JSON"


def parse_options(words: Iterable[str]) -> tuple[str, list[tuple[str, str]]]:
    """Return the run that the words of a command name, and the options among them, as names and values."""
    given, others, left = [], [], iter(words)
    for word in left:
        if not word.startswith("--"):
            others.append(word)
            continue
        name, equals, value = word.removeprefix("--").partition("=")
        if not equals and (following := next(left, None)) is None:
            raise UsageError(f"{word}: write a value after it")
        given.append((name.replace("_", "-"), value if equals else str(following)))
    if len(others) != 1:
        raise UsageError("write one RUN, and each field as --FIELD VALUE; `hobbes answer RUN` asks for each")
    return others[0], given


def with_environment(form: Form, typed: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the options that were typed, and those that only HOBBES_… variables give.

    Several numbers in one variable are separated by spaces.
    """
    given = [*typed]
    for name, fields in options(form).items():
        if name in dict(typed):
            continue
        value = os.environ.get(f"HOBBES_{name.replace('-', '_').upper()}", "")
        in_words = all(field.kind in {Kind.WHOLE, Kind.NUMBER, Kind.YES_NO} for field in fields.values())
        given += [(name, word) for word in (value.split() if in_words else [value] if value else [])]
    return given


def answer_from_options(form: Form, options_given: Iterable[tuple[str, str]]) -> str:
    """Return the answer that options spell: KEY=VALUE for one group's field, VALUE for all of that name."""
    named, of_one, of_all = options(form), dict[forms.Path, Json](), dict[forms.Path, Json]()
    for name, text in options_given:
        if name not in named:
            raise UsageError(f"there is no --{name}; {usage(form)}")
        key, equals, value = text.partition("=")
        keyed = bool(key and equals) and key in named[name]
        values = of_one if keyed else of_all
        for field in [named[name][key]] if keyed else named[name].values():
            if field.path in values:
                raise UsageError(f"--{name} {text!r}: write each only once")
            values[field.path] = _read_option(
                field, value if keyed else text, f"--{name} {text!r}", named[name]
            )
    try:
        return forms.answer_with(form, {**of_all, **of_one})
    except ValueError as error:
        raise UsageError(f"{error}; {usage(form)}") from error


def _read_option(field: Field, value: str, where: str, named: Mapping[str, Field]) -> Json:
    """Read the value of an option; UsageError says what may be written."""
    try:
        return forms.read(field, value)
    except ValueError as error:
        keys = ", ".join(filter(None, named))
        of = f" as KEY=VALUE (KEY: {keys})" if keys else ""
        raise UsageError(f"{where}: {error}{of}") from error


def from_file(option: str, text: str) -> str:
    """Return the text that is given with an option: as it is, or in a @FILE."""
    if not text.startswith("@"):
        return text
    try:
        return text_of(Path(text[1:]))
    except FileError as error:
        raise UsageError(f"--{option} {text}: {error}") from error


def as_text(question: PersonQuestion, text: str) -> str:
    """Return the raw answer for an agent that is given, or is in a @FILE."""
    if question.agent == OBSERVER:
        raise UsageError("--text is the answer for an agent; an observer's is --answer JSON|@FILE")
    return from_file("text", text)


def as_json(form: Form, text: str) -> str:
    """Return the answer that is given as JSON, or as @FILE."""
    try:
        return forms.complete_answer(form, from_file("answer", text))
    except ValueError as error:
        raise UsageError(f"--answer: {error}; {usage(form)}") from error


def answer_from_form(form: Form, posted: Iterable[tuple[str, str]]) -> str:
    """Return the answer that the page's form posts, each field by its name.

    Pairs may be posted one by one, each by the name of the field, a slash and its own name, and so may the
    amounts of each. As browsers have it, a box that is not ticked is not posted: that is a no.
    """
    fields = {field.name: field for field in form.fields}
    values: dict[forms.Path, Json] = {}
    pairs: dict[forms.Path, dict[str, Any]] = {}
    for name, text in _once_each(posted, fields):
        field = _posted_field(fields, name)
        if not text and field.left_out:
            continue
        try:
            value = forms.read(field, text)
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from error
        if name in fields:
            values[field.path] = value
            continue
        whole = next(one.path for one in fields.values() if one.path == field.path[: len(one.path)])
        place = pairs.setdefault(whole, {})
        for key in field.path[len(whole) : -1]:
            place = place.setdefault(key, {})
        place[field.path[-1]] = value
    if twice := [path for path in pairs if values.get(path)]:
        raise UsageError(f"{' and '.join(path[-1] for path in twice)}: write it as a whole or one by one")
    values |= pairs
    unticked = {field.path: False for field in fields.values() if field.is_box}
    try:
        return forms.answer_with(form, {**unticked, **values})
    except ValueError as error:
        raise UsageError(str(error)) from error


def _once_each(posted: Iterable[tuple[str, str]], fields: Mapping[str, Field]) -> Iterable[tuple[str, str]]:
    """Return each name with its text. Only boxes of texts are posted several times: one time for each box."""
    texts: dict[str, list[str]] = {}
    for name, text in posted:
        texts.setdefault(name, []).append(text)
    for name, several in texts.items():
        if len(several) > 1 and _posted_field(fields, name).kind is not Kind.TEXTS:
            raise UsageError(f"{name}: write each only once")
    return [(name, ",".join(several)) for name, several in texts.items()]


def _posted_field(fields: Mapping[str, Field], name: str) -> Field:
    """Return the field with this name, or the one of a single pair. Raise UsageError if there is none."""
    if name in fields:
        return fields[name]
    holder, _, key = name.rpartition("/")
    if holder and (of := _posted_field(fields, holder)).kind in forms.NAMED:
        return forms.pair_field(of, key.replace("~1", "/").replace("~0", "~"))
    raise UsageError(f"the form has no field {name!r}; it has: {', '.join(fields)}")
