"""The table of sentences (README.md) names every test, and only tests that there are."""

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_test_stands_in_the_table_of_sentences_and_every_one_there_exists() -> None:
    named = set(
        re.findall(r"\[`(\w+)`\]\((test_\w+\.py)\)", (HERE / "README.md").read_text(encoding="utf-8"))
    )
    written = {
        (name, file.name)
        for file in HERE.glob("test_*.py")
        if file.name not in {Path(__file__).name, "test_prompts.py"}  # prompts have sentences of their own
        for name in re.findall(r"^def test_(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named == written
