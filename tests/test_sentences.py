"""The table of sentences of each world (README.md) names every test, and only tests that there are."""

import re
from pathlib import Path

import pytest

from engine.worlds import WORLDS


@pytest.mark.parametrize("world", WORLDS)
def test_every_test_stands_in_the_table_of_sentences_and_every_one_there_exists(world: str) -> None:
    here = Path(__file__).parent / world
    table = (here / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\[`(\w+)`\]\((test_\w+\.py)\)", table))
    written = {
        (name, file.name)
        for file in here.glob("test_*.py")
        if file.name != "test_prompts.py"  # prompts have sentences of their own
        for name in re.findall(r"^def test_(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named == written
