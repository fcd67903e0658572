"""The templates of prompts: Jinja that is strict about names and without randomness, filled in with views.

Text written by agents is not trusted: it reaches a prompt only as part of a view, which is JSON on one line.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError
from jinja2.meta import find_undeclared_variables
from jinja2.nodes import Const, Expr, Extends, FromImport, Getattr, Getitem, Import, Include, Name
from jinja2.nodes import Template as Tree
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hobbes.engine.record import Json, compact
from hobbes.nodes.prompt_set import PromptError

# Characters that JSON does not escape, although some readers take them for line ends or cannot encode them.
_NOT_ON_A_LINE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def _environment() -> ImmutableSandboxedEnvironment:
    """Return a Jinja environment that is strict about names, sandboxed, and without randomness."""
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.clear()
    del environment.filters["random"]
    return environment


_JINJA = _environment()


@lru_cache(maxsize=64)
def _parse(source: str) -> Tree:
    """Return the syntax tree of a template. Raise TemplateSyntaxError if it is not a template."""
    return _JINJA.parse(source)


@lru_cache(maxsize=64)
def _template(source: str) -> Template:
    return _JINJA.from_string(_parse(source))


def check_placeholders(place: str, source: str, known: Collection[str]) -> None:
    """Raise PromptError for a text that is not a template, or names an unknown placeholder."""
    try:
        unknown = sorted(placeholders(source) - set(known))
    except TemplateSyntaxError as error:
        problem = _first_line(error)
        end = " (the end of the file)" if problem.startswith("Unexpected end of template") else ""
        raise PromptError(f"{place}, line {error.lineno}{end}: {problem}") from error
    except RecursionError as error:
        raise PromptError(f"{place}: it is nested too deep; write it with fewer brackets") from error
    if unknown:
        hint = "is it a prompt of another world? " if unknown[3:] else ""  # few are slips
        raise PromptError(
            f"{place}: {hint}unknown placeholder {', '.join(unknown)}; known: {' '.join(sorted(known))}"
        )


def render(place: Callable[[], str], source: str, values: Mapping[str, object]) -> str:
    """Return a filled-in template. Raise PromptError, with its place, for whatever its expressions raise."""
    try:
        return _template(source).render(values)
    except Exception as error:  # an expression of a template can raise anything
        raise PromptError(f"{place()}: {_first_line(error)}") from error


@lru_cache(maxsize=64)
def placeholders(text: str) -> frozenset[str]:
    """Return the placeholders of a template. Raise TemplateSyntaxError if it is not a template."""
    return frozenset(find_undeclared_variables(_parse(text)))


@lru_cache(maxsize=64)
def reads_files(text: str) -> bool:
    """Return whether a template would read further files when it is rendered."""
    return any(_parse(text).find_all((Include, Import, FromImport, Extends)))


def paths_of_view(template: str) -> set[tuple[str, ...]]:
    """Return the parts of the view that a template names, each as the names that lead to it."""
    found = {_path(node) for node in _parse(template).find_all((Getattr, Getitem))}
    return {path for path in found if path}


def _path(node: Expr) -> tuple[str, ...] | None:
    """Return the names that lead from the view to an expression; None if it begins elsewhere."""
    match node:
        case Name(name="view"):
            return ()
        case Getattr(node=inner, attr=str(name)) | Getitem(node=inner, arg=Const(value=str(name))):
            above = _path(inner)
            return None if above is None else (*above, name)
    return None


def expressions(source: str) -> Iterator[list[tuple[int, str, str]]]:
    """Yield the tokens of each placeholder and each tag of a template: line, kind (as Jinja has it), text."""
    tokens: list[tuple[int, str, str]] = []
    for token in _JINJA.lex(source):
        match token[1]:
            case "variable_begin" | "block_begin":
                tokens = []
            case "variable_end" | "block_end":
                yield tokens
            case _:
                tokens.append(token)


class ViewPart:
    """A view or a part of it, as turn templates use it: printed, it is compact JSON on one line.

    So text that agents wrote stays inside quotation marks, and cannot begin a line of its own. Numbers are
    plain, so that a template can calculate with them. What a view does not have is `null`.
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:  # noqa: ANN401  JSON
        self._value = value

    def __getitem__(self, name: object) -> object:
        """Return a part by its name or number."""
        key = _plain(name)
        try:
            return _part(self._value[key])
        except (LookupError, TypeError):
            return ViewPart(None)

    def __iter__(self) -> Iterator[object]:
        """Yield the elements of a list, or the names in an object."""
        yield from map(_part, self._value or ())

    def __len__(self) -> int:
        """Return the number of elements."""
        return len(self._value or ())

    def __bool__(self) -> bool:
        """Return whether there is something."""
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        """Return whether it is this JSON."""
        return bool(self._value == _plain(other))

    def __hash__(self) -> int:
        """Return the hash of its text."""
        return hash(str(self))

    def __str__(self) -> str:
        """Return it as compact JSON on one line."""
        return one_line_json(self._value)


def _plain(value: object) -> Any:  # noqa: ANN401  JSON, or what a template compares it with
    return json.loads(str(value)) if isinstance(value, ViewPart) else value


def _part(value: Json) -> object:
    return value if type(value) in {int, float} else ViewPart(value)


def one_line_json(value: Json) -> str:
    r"""Return compact JSON on one line for every reader: U+0085, U+2028 and the like become \uXXXX."""
    text = compact(value)
    if text.isascii() and "\x7f" not in text:  # the usual case; a search takes longer than making the text
        return text
    return _NOT_ON_A_LINE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _first_line(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return (str(error) or type(error).__name__).splitlines()[0]
