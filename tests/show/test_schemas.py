"""The JSON Schemas of the files that people write: docs/schemas."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hobbes.show.schemas import FOLDER, texts
from tests.conftest import ROOT


def fits(kind: str, content: Any) -> bool:
    """Return whether a file's content fits the schema of its kind."""
    schema = json.loads((FOLDER / f"{kind}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return bool(Draft202012Validator(schema).is_valid(content))


def examples(page: str) -> list[dict[str, Any]]:
    """Return the contents of the TOML files that a page shows."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [
        tomllib.loads(block) for block in re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    ]


def test_the_schemas_in_docs_are_those_of_the_classes_that_read_the_files() -> None:
    """`python -m hobbes.show.schemas` writes them."""
    assert {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()} == texts()


@pytest.mark.parametrize(
    "file",
    [file for file in (ROOT / "experiments").rglob("*.toml") if "seeds" in tomllib.loads(file.read_text())],
    ids=lambda file: file.stem,
)
def test_each_shipped_experiment_fits_its_schema(file: Path) -> None:
    assert fits("experiment", tomllib.loads(file.read_text(encoding="utf-8")))


def test_the_examples_of_the_pages_fit_their_schemas() -> None:
    whole = [example for example in examples("experiments.md") if {"seeds", "from"} & {*example}]
    assert len(whole) >= 2
    assert all(fits("experiment", example) for example in whole)
    assert fits("models", examples("models.md")[0])


@pytest.mark.parametrize(
    "change", [{"seeds": 0}, {"seeds": "many"}, {"sets": {}}, {"rounds": 0}, {"arms": {"a": {"seed": 1}}}]
)
def test_a_wrong_experiment_does_not_fit(change: dict[str, Any]) -> None:
    right: dict[str, Any] = {"name": "one", "world": "trust", "seeds": 2, "arms": {"a": {}}}
    assert fits("experiment", right)
    assert not fits("experiment", {**right, **change})


@pytest.mark.parametrize(
    "models",
    [
        {"a": {}},
        {"a": {"model": "m", "temperature": 9}},
        {"a": {"model": "m", "keys": "K"}},
        {"human": {"model": "m"}},
    ],
)
def test_a_wrong_models_file_does_not_fit(models: dict[str, Any]) -> None:
    assert not fits("models", models)
