"""What a world's observer asks and rules is known to that world alone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERIC = ("nodes", "graphs", "lab")
"""The folders that play, keep and show any world."""

FIELDS = re.compile(r"(?<![\w/])(unit|amount|grant|reason)s?(?!\w)", re.IGNORECASE)
"""The fields of trust's requests and rulings."""


def used(source: str) -> Iterator[str]:
    """Yield the texts, attributes and keywords of a module that are a field; its docstrings are prose."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in prose:
                pass
            case ast.Attribute(attr=text) | ast.keyword(arg=str(text)) | ast.arg(arg=text):
                pass
            case _:
                continue
        if FIELDS.search(text):
            yield f"{node.lineno}: {text}"


@pytest.mark.parametrize("folder", GENERIC)
def test_no_generic_module_knows_a_field_of_a_request_or_a_ruling(folder: str) -> None:
    found = {path: list(used(path.read_text(encoding="utf-8"))) for path in (ROOT / folder).rglob("*.py")}
    assert found
    assert {str(path): lines for path, lines in found.items() if lines} == {}


def test_no_page_knows_a_field_of_a_request_or_a_ruling() -> None:
    found = {
        path: FIELDS.findall(path.read_text(encoding="utf-8")) for path in (ROOT / "lab").rglob("*.html")
    }
    assert found
    assert {str(path): words for path, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("request['unit']", True),
        ("def told(grants): ...", True),
        ("told(reason='')", True),
        ("ruling.amount", True),
        ("print('--grant UNIT=AMOUNT')", True),
        ("f'{who} grants {what}'", True),
        ("'finish_reason'", False),
        ("'for no given cause'", False),
        ('"""For whatever reason."""', False),
    ],
)
def test_the_fields_are_found_wherever_they_are_used(source: str, uses: bool) -> None:  # noqa: FBT001
    assert bool(list(used(source))) is uses
