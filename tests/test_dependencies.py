"""What pyproject.toml asks for, what constraints.txt pins, and what the tests can do without."""

import subprocess
import sys
import tomllib
from importlib.metadata import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

EXTRAS = [line for lines in PROJECT["optional-dependencies"].values() for line in lines]

WANTED = [Requirement(line) for line in (*PROJECT["dependencies"], *EXTRAS)]

NOT_PINNED = {"hobbes"}
"""What `make setup` does not install from a registry."""

PINNED = {
    canonicalize_name(name): version
    for name, _, version in (line.partition("==") for line in (ROOT / "constraints.txt").read_text().split())
}


@pytest.mark.parametrize("wanted", [one for one in WANTED if one.name not in NOT_PINNED], ids=str)
def test_the_constraints_pin_a_version_that_is_asked_for(wanted: Requirement) -> None:
    assert PINNED[canonicalize_name(wanted.name)] in wanted.specifier


@pytest.mark.parametrize("wanted", [one for one in WANTED if one.name.startswith("lang")], ids=str)
def test_the_packages_of_langchain_end_before_their_next_major_version(wanted: Requirement) -> None:
    bounds = {bound.operator: Version(bound.version) for bound in wanted.specifier}
    assert bounds["<"] == Version(str(bounds[">="].major + 1))


LIBRARIES = (
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langchain-core",
    "langchain-openai",
    "openai",
    "vcrpy",
)
"""The packages of which only the public modules may be imported."""

BANNED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"][
    "flake8-tidy-imports"
]["banned-api"]


def private_modules(package: str) -> set[str]:
    """The private modules of an installed package, without those within a private one."""
    found = set()
    for file in files(package) or ():
        parts = file.with_suffix("").parts
        private = [k for k, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
        if file.suffix == ".py" and private:
            found.add(".".join(parts[: private[0] + 1]))
    return found


@pytest.mark.parametrize("package", LIBRARIES)
def test_the_linter_refuses_the_private_modules_of_a_library(package: str) -> None:
    """Of openai's many, those beside its public ones."""
    private = {name for name in private_modules(package) if package != "openai" or name.count(".") == 1}
    assert private
    assert private <= BANNED.keys()


def test_a_private_import_is_an_error_of_the_linter() -> None:
    words = (
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--select",
        "TID251",
        "--stdin-filename",
        "nodes/a.py",
        "-",
    )
    said = "from langgraph._internal._constants import INTERRUPT\n"
    done = subprocess.run(words, cwd=ROOT, input=said, capture_output=True, text=True, check=False)
    assert (done.returncode, "TID251" in done.stdout) == (1, True), done.stdout + done.stderr


def test_the_tests_run_without_xdist() -> None:
    words = ("-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "tests/test_engine_names.py")
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
