"""Numbers that are typed into a prompt are found, with file and line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hobbes.nodes import prompt_set, prompting
from hobbes.nodes.prompting import load_prompts
from hobbes.play.prompt_checks import lines_of, prompt_warnings
from hobbes.worlds import WORLDS
from tests.conftest import Cli

TYPED_IN = "the number {} is typed in, so it does not follow the settings"

Warn = Callable[..., list[str]]


@pytest.fixture
def warn(tmp_path: Path) -> Warn:
    """Return a function that writes a system text into a folder and returns the warnings about it."""

    def warn(text: str, lang: str = "en", world: str = "mining") -> list[str]:
        default = WORLDS[world].prompts(prompting.default_setting(WORLDS[world]).config)
        folder = tmp_path / "mine"
        shutil.copytree(prompt_set.ROOT / world / default, folder, dirs_exist_ok=True)
        for other in folder.glob("*.md"):
            if lang not in other.name.split("."):
                other.unlink()
        (folder / f"system.{lang}.md").write_text(text, encoding="utf-8")
        load_prompts(WORLDS[world], str(folder), lang)
        found = list(prompt_warnings(WORLDS[world], str(folder), lang))
        start = f"{folder}/system.{lang}.md, line "
        assert all(warning.startswith(start) and "\n" not in warning for warning in found)
        return [warning.removeprefix(start) for warning in found]

    return warn


def test_a_warning_names_the_line(warn: Warn) -> None:
    assert warn("You mine.\n\nEach round you have 99 stamina.") == [f"3: {TYPED_IN.format('99')}"]


@pytest.mark.parametrize(
    ("lang", "text", "found"),
    [
        ("en", "Gold is worth double.", ["double"]),
        ("en", "Twice as much, or Half, of ten.", ["Twice", "Half", "ten"]),
        ("en", "About 1,000 plots, 2.5 each.", ["1,000", "2.5"]),
        ("zh", "黄金加倍。分一半。共十块。得10分。", ["倍", "半", "十", "10"]),
        ("en", 'You own {{ rows * 2 }} plots of `T10`, T10 or [[0, 0]]: {"mine": 3}', []),
        ("en", "1. One plot, the second one, a high five, High-Fives.", []),
        ("zh", "十分重要。百分之 {{ adjudication_percent }}。千万小心第二回合。", []),
        ("en", "{# 99 in a\ncomment of 2 lines #}", []),
        ("en", "You have \uff11\uff10, \u0663\u0663 and \u2465.", ["10", "\u0663\u0663", "6"]),
        ("en", '{{ 99 }} {{ "77 gold" }} {{ rows + 55 }}', ["99", "77", "55"]),
        ("en", "{{ 1 }} of {{ rows + 1 }}{% if rows > 9 %}.{% endif %}", ["1"]),
        ("en", '{% set bonus = 66 %}{% for n in [5, "six"] %}.{% endfor %}', ["66", "5", "six"]),
    ],
)  # fmt: skip
def test_a_number_that_is_no_placeholder_is_a_warning(
    warn: Warn, lang: str, text: str, found: list[str]
) -> None:
    assert warn(text, lang) == [f"1: {TYPED_IN.format(number)}" for number in found]


SEVEN = "Raids cost 7."


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"{{# rule: raid #}}\n- {SEVEN}\n- {SEVEN}", [3]),
        (f"{{# rule: raid #}}\n{SEVEN}\n{SEVEN}\n\n{SEVEN}", [5]),
        (f"{{# rule: raid #}} {SEVEN}\n# {SEVEN}", [2]),
        (f"{{# rule: raid #}}\n{{% if rows %}}\n{SEVEN}\n{{% else %}}\n{SEVEN}\n\n{SEVEN}", [7]),
        (f"{{% if communication %}}\n{{# rule: raid #}}\n- {SEVEN}\n{{% endif %}}\n- {SEVEN}", [5]),
        (f"{{# a comment #}}\n{SEVEN}", [2]),
    ],
)  # fmt: skip
def test_a_mark_covers_the_next_lines_in_each_branch(text: str, lines: list[int]) -> None:
    unmarked = [number for number, said, marked in lines_of(text) if SEVEN in said and not marked]
    assert unmarked == lines


def test_under_a_mark_only_numbers_that_no_setting_changes_are_accepted(warn: Warn) -> None:
    said = "Rate from 1 to ten; each of the two keeps 2,048 characters, not {}."
    assert warn(f"{{# rule: reports #}}\n{said.format('more')}") == []
    for number in ("2049", "twenty"):
        assert warn(f"{{# rule: reports #}}\n{said.format(number)}") == [f"2: {TYPED_IN.format(number)}"]


def test_a_problem_of_two_languages_is_printed_once(cli: Cli, tmp_path: Path) -> None:
    mine = shutil.copytree(prompt_set.ROOT / "mining" / "unguided", tmp_path / "mine")
    (mine / "system.en.md").write_text("Of {{ unknown }}.")
    told = cli("prompts", "check", "mining", str(mine))
    assert told.exit_code == 1
    assert [line.partition(": ")[0] for line in told.stdout.splitlines()] == [
        f"{mine}/system.en.md",
        "2 checked, 1 problem, 0 warnings",
    ]


def test_included_files_and_the_text_of_an_observer_are_looked_at(tmp_path: Path) -> None:
    mine = shutil.copytree(prompt_set.ROOT / "trust" / "plain", tmp_path / "above" / "mine")
    for file in (mine.parent / "turn.en.md", mine.parent / "observer.en.md"):
        file.write_text("Of 7.\n{{ view }}" if file.stem == "turn.en" else "You have 8.")
    assert list(prompt_warnings(WORLDS["trust"], str(mine), "en")) == [
        f"{mine.parent}/turn.en.md, line 1: {TYPED_IN.format('7')}",
        f"{mine.parent}/observer.en.md, line 1: {TYPED_IN.format('8')}",
    ]


def test_check_prints_warnings_and_succeeds(cli: Cli, tmp_path: Path) -> None:
    mine = shutil.copytree(prompt_set.ROOT / "mining" / "unguided", tmp_path / "mine")
    (mine / "system.zh.md").unlink()
    assert cli("prompts", "check", "mining", str(mine)).stdout == "1 checked, 0 problems, 0 warnings\n"
    (mine / "system.en.md").write_text("Mine.\n\nEach round you have 99 stamina, and 7 raids succeed.\n")
    told = cli("prompts", "check", "mining", str(mine), "--json")
    warnings = json.loads(told.stdout)["warnings"]
    assert told.exit_code == 0
    assert [warning.partition(": ")[0] for warning in warnings] == [f"{mine}/system.en.md, line 3"] * 2
    printed = cli("prompts", "check", "mining", str(mine))
    assert printed.exit_code == 0
    assert printed.stdout.splitlines() == [
        *(f"warning: {warning}" for warning in warnings),
        "1 checked, 0 problems, 2 warnings",
    ]
