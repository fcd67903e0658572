"""The pages of rules and the code agree in every world.

The page `docs/rules/<world>.md` has a `###` heading for each rule. Under it stand a few sentences and these
lines:

    - Source: where the rule comes from
    - Settings: `name` (default VALUE), `name`

The code cites the rule as `docs/rules/<world>.md#anchor`, where the anchor is the heading in lower case with
hyphens, as GitHub makes it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from pydantic import BaseModel

from hobbes.engine.record import Json
from hobbes.worlds import WORLDS

ROOT = Path(__file__).parents[1]
LINES = ("Source", "Settings")


def page_of(world: str) -> Path:
    return ROOT / "docs" / "rules" / f"{world}.md"


# tests/contract/test_worlds.py says which world has no page.
each_world = pytest.mark.parametrize("world", [world for world in WORLDS if page_of(world).exists()])


@dataclass(frozen=True)
class Rule:
    """A `###` heading and the lines under it, by their first word."""

    anchor: str
    lines: dict[str, str]

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


@cache
def cited(folder: str, world: str) -> set[str]:
    """Return the anchors of a world's page that the Python files of a folder cite."""
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.py"))
    return {anchor for text in texts for anchor in re.findall(rf"docs/rules/{world}\.md#([\w-]+)", text)}


def folders() -> Iterator[str]:
    for folder in sorted(ROOT.iterdir()):
        if folder.is_dir() and not folder.name.startswith("."):
            yield folder.name


@each_world
def test_each_rule_has_an_anchor_of_its_own(world: str) -> None:
    anchors = page(world).anchors
    assert page(world).rules
    assert [anchor for anchor in anchors if anchors.count(anchor) > 1] == []


@each_world
def test_each_rule_names_its_source(world: str) -> None:
    for rule in page(world).rules:
        assert [*rule.lines] in (["Source"], ["Source", "Settings"]), rule.anchor


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
def test_each_rule_is_cited_by_the_code_of_its_world(world: str) -> None:
    assert {rule.anchor for rule in page(world).rules} - cited(f"engine/{world}", world) == set()


@each_world
def test_each_citation_leads_to_a_heading(world: str) -> None:
    anchors = set(page(world).anchors)
    for folder in folders():
        assert cited(folder, world) <= anchors, folder
    assert set(re.findall(r"\]\(#([\w-]+)\)", page(world).text)) <= anchors


@each_world
def test_the_page_names_each_policy_and_event_of_the_world(world: str) -> None:
    names = {*WORLDS[world].policies.by_name, *WORLDS[world].telling.events}
    assert names - set(re.findall(r"`([^`]+)`", page(world).text)) == set()
