"""The pages of rules, the code and the tests agree in every world.

The page `docs/rules/<world>.md` has a `###` heading for each rule. Under it stand a few sentences and these
lines:

    - Source: where the rule comes from
    - Settings: `name` (default VALUE), `name`
    - Code: `engine/<world>/FILE.py` `name`, `Class.method`
    - Tests: `tests/engine/<world>/FILE.py` `test_name`, `test_name`

A test is a function `test_name`, or a play: a short game of `tests/prompts/test_<world>.py` that shows the
rule on the engine and checks what the prompts say of it. A rule has tests, and code or settings. The code
cites the rule as `docs/rules/<world>.md#anchor`, where the anchor is the heading in lower case with hyphens,
as GitHub makes it. The citation stands in the docstring, in the string below a constant, or in a comment
right above. Sections (`##`) may also hold free text and tables.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest
from pydantic import BaseModel

from hobbes.engine import reflection
from hobbes.engine.record import Json
from hobbes.worlds import WORLDS

ROOT = Path(__file__).parents[1]
LINES = ("Source", "Settings", "Code", "Tests")


def page_of(world: str) -> Path:
    return ROOT / "docs" / "rules" / f"{world}.md"


# tests/contract/test_worlds.py says which world has no page.
each_world = pytest.mark.parametrize("world", [world for world in WORLDS if page_of(world).exists()])


# How a page is read.


@dataclass(frozen=True)
class Rule:
    """A `###` heading and the lines under it, by their first word."""

    anchor: str
    lines: dict[str, str]

    def names(self, line: str) -> Iterator[tuple[str, str]]:
        """Yield (file, name) for each name in a line. A file holds for all names up to the next file."""
        file = ""
        for token in re.findall(r"`([^`]+)`", self.lines.get(line, "")):
            if "/" in token:
                file = token
            else:
                yield file, token

    @property
    def settings(self) -> list[str]:
        """The settings that the rule names. What stands in brackets is not a name."""
        return re.findall(r"`([^`]+)`", re.sub(r"\([^()]*\)", "", self.lines.get("Settings", "")))

    @property
    def defaults(self) -> list[tuple[str, str]]:
        """The settings whose default the rule states, with that default."""
        return re.findall(r"`(\w+)` \(default `?([^()`]*)`?\)", self.lines.get("Settings", ""))


@dataclass(frozen=True)
class Page:
    text: str
    anchors: list[str]
    rules: list[Rule]


def slug(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@cache
def page(world: str) -> Page:
    found = Page(page_of(world).read_text(encoding="utf-8"), [], [])
    lines: dict[str, str] = {}
    for line in found.text.splitlines():
        if heading := re.match(r"(#+) (.+)", line):
            found.anchors.append(slug(heading[2]))
            lines = {}
            if heading[1] == "###":
                found.rules.append(Rule(found.anchors[-1], lines))
        elif bullet := re.match(rf"- ({'|'.join(LINES)}): (.+)", line):
            lines[bullet[1]] = bullet[2]
    return found


# How the code is read.


@cache
def text_of(file: str) -> str:
    """Return the text of a file, which is empty if there is no such file."""
    path = ROOT / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@cache
def code(file: str) -> ast.Module:
    return ast.parse(text_of(file))


def defines(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return statement.name == name
        case ast.Assign(targets=targets):
            pass
        case ast.AnnAssign(target=target):
            targets = [target]
        case _:
            return False
    return any(isinstance(node, ast.Name) and node.id == name for part in targets for node in ast.walk(part))


def said_about(file: str, name: str) -> str | None:
    """Return the docstring and the comment of what a file defines, or None if it defines no such name."""
    tree, lines = code(file), text_of(file).splitlines()
    block, found, below = tree.body, None, None
    for part in name.split("."):
        place = next((k for k, statement in enumerate(block) if defines(statement, part)), None)
        if place is None:
            return None
        found, below = block[place], block[place + 1 : place + 2]
        block = getattr(found, "body", [])
    assert found is not None
    first = min([found.lineno, *(decorator.lineno for decorator in getattr(found, "decorator_list", []))])
    comment = takewhile(lambda line: line.lstrip().startswith("#"), reversed(lines[: first - 1]))
    texts = [*comment]
    if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        texts.append(ast.get_docstring(found) or "")
    else:
        texts += lines[found.lineno - 1 : found.end_lineno]
        match below:
            case [ast.Expr(ast.Constant(str(text)))]:
                texts.append(text)
    return "\n".join(texts)


def cited(text: str, world: str) -> set[str]:
    """Return the anchors of a world's page that a text cites."""
    return set(re.findall(rf"docs/rules/{world}\.md#([\w-]+)", text))


@cache
def names_of_tests(file: str) -> set[str]:
    """Return the names of the tests of a file, and of the plays of prompts."""
    nodes = ast.walk(code(file))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {one.name for one in functions if one.name.startswith("test_") or is_play(one)}


def is_play(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is entered in the table of plays, by `@plays(...)`."""
    calls = [one.func for one in function.decorator_list if isinstance(one, ast.Call)]
    return any(isinstance(called, ast.Name) and called.id == "plays" for called in calls)


def files(folder: str, pattern: str) -> list[str]:
    """Return the files of a folder and the folders in it, named from the root of the tree."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern))


def python_files() -> Iterator[str]:
    for folder in sorted(ROOT.iterdir()):
        if folder.is_dir() and not folder.name.startswith("."):
            yield from files(folder.name, "*.py")


# What must hold.


@each_world
def test_each_rule_has_an_anchor_of_its_own(world: str) -> None:
    anchors = page(world).anchors
    assert page(world).rules
    assert [anchor for anchor in anchors if anchors.count(anchor) > 1] == []


@each_world
def test_each_rule_names_its_source_its_tests_and_its_code_or_settings(world: str) -> None:
    for rule in page(world).rules:
        assert [*rule.lines] == [line for line in LINES if line in rule.lines], rule.anchor
        assert {"Source", "Tests"} <= rule.lines.keys(), rule.anchor
        assert {"Code", "Settings"} & rule.lines.keys(), rule.anchor


@each_world
def test_the_settings_on_the_page_are_those_of_the_config(world: str) -> None:
    named = {setting for rule in page(world).rules for setting in rule.settings}
    assert named == set(WORLDS[world].config.model_fields)


@each_world
def test_a_default_on_the_page_is_that_of_the_config(world: str) -> None:
    fields = WORLDS[world].config.model_fields
    for rule in page(world).rules:
        for name, stated in rule.defaults:
            value = fields[name].get_default(call_default_factory=True)
            plain: Json = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
            assert stated in (str(plain), json.dumps(plain)), (rule.anchor, name)


@each_world
def test_the_code_that_a_rule_names_exists_and_cites_the_rule(world: str) -> None:
    for rule in page(world).rules:
        for file, name in rule.names("Code"):
            text = said_about(file, name)
            assert text is not None, f"{rule.anchor}: {file} defines no {name}"
            assert rule.anchor in cited(text, world), f"{rule.anchor}: {file} {name} does not cite it"


@each_world
def test_each_citation_leads_to_a_heading(world: str) -> None:
    anchors = set(page(world).anchors)
    for file in python_files():
        assert cited(text_of(file), world) <= anchors, file
    assert set(re.findall(r"\]\(#([\w-]+)\)", page(world).text)) <= anchors


@each_world
def test_the_tests_that_a_rule_names_exist(world: str) -> None:
    for rule in page(world).rules:
        for file, name in rule.names("Tests"):
            assert name in names_of_tests(file), f"{rule.anchor}: {file} has no {name}"


@each_world
def test_each_test_of_a_world_is_named_on_its_page(world: str) -> None:
    named = {name for rule in page(world).rules for name in rule.names("Tests")}
    written = {
        (file, name) for file in files(f"tests/engine/{world}", "test_*.py") for name in names_of_tests(file)
    }
    assert written - named == set()


@each_world
def test_the_page_names_each_policy_and_event_of_the_world(world: str) -> None:
    names = {*WORLDS[world].policies.by_name, *WORLDS[world].telling.events}
    assert names - set(re.findall(r"`([^`]+)`", page(world).text)) == set()


@each_world
def test_the_tables_of_codes_say_what_the_world_declares(world: str) -> None:
    rows = re.findall(r"^\| `([a-z]+/[a-z/-]+)` \| [a-z]+ \| (.+) \|$", page(world).text, re.MULTILINE)
    assert len(dict(rows)) == len(rows)
    assert dict(rows) == {**reflection.CODES, **WORLDS[world].telling.codes}
