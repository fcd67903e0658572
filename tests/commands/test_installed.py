"""The wheel that is made from the sdist, with what it requires and no more, in a project of one's own.

The packages of the project are named as folders of hobbes.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hobbes.wire.recorder import in_thread
from hobbes.wire.stand_in import stand_in
from tests.conftest import missing

ROOT = Path(__file__).parents[2]

OWN = ("engine", "nodes", "graphs", "prompts")
"""The packages of the project. Each notes in a file that it was imported."""

OWN_PACKAGE = """\
from pathlib import Path

(Path(__file__).parents[1] / "imported").write_text(__name__)
"""

COMMANDS = """\
import sys
from hobbes.cli import app

for line in sys.argv[1:]:
    print("command:", line)
    assert not app(line.split(), standalone_mode=False)
"""

EXPERIMENT = """\
name = "two"
world = "mining"
model = "policy:random"
rounds = 2
seeds = 1

[arms]
small = { agents = 3 }
"""

OWN_TESTS = f"""\
import sys
from importlib import import_module
from pathlib import Path

import pytest


def test_the_plugin_has_imported_nothing_heavy():
    assert "hobbes.pytest_plugin" in sys.modules
    heavy = {{"hobbes.store", "hobbes.engine", "hobbes.nodes", "hobbes.graphs", "langgraph"}}
    assert not heavy.intersection(sys.modules)


@pytest.mark.parametrize("name", {OWN!r})
def test_both_packages_of_one_name_are_imported(name):
    own, of_hobbes = import_module(name), import_module(f"hobbes.{{name}}")
    assert Path(own.__file__).parents[1] == Path(__file__).parent
    assert Path(next(iter(of_hobbes.__path__))).is_relative_to(sys.prefix)
"""


REFUSED = """\
import hobbes
from hobbes.cli import app

def refused(*words):
    try:
        app(words, standalone_mode=False)
    except hobbes.HobbesError as error:
        return str(error)

print(refused("report", "two"))
print(refused("export", "last", "--format", "parquet", "--to", "tables"))
print(refused("export", "last", "--format", "inspect", "--to", "log.eval"))
print(refused("experiment", "two.toml", "--on", "ray"))
print(refused("improve", "calmer.toml"))
try:
    hobbes.open().run().table("calls")
except ImportError as error:
    print(error)
"""
"""Asks for what only an extra brings, once for each."""

PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def call(*words: object, **options: Any) -> str:
    """Run a program, which must succeed, and return what it prints."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=120, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed: str = done.stdout
    return printed


def required(*waiting: str) -> dict[str, Distribution]:
    """Return the distributions that these need, such as `hobbes[stats]`, by name; they are among them."""
    found: dict[str, Distribution] = {}
    needs = [Requirement(one) for one in waiting]
    for need in needs:  # they become more
        one = found[canonicalize_name(need.name)] = distribution(need.name)
        for further in map(Requirement, one.requires or ()):
            known = [{"extra": extra} for extra in {"", *need.extras}]
            if further not in needs and (not further.marker or any(map(further.marker.evaluate, known))):
                needs.append(further)
    return found


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the wheel, what it requires, and pytest.

    The wheel is made as `python -m build` makes it: from the files of the sdist.
    """
    folder = tmp_path_factory.mktemp("installed")
    build = (sys.executable, "-m", "hatchling", "build", "--directory", folder)
    call(*build, "--target", "sdist", cwd=ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    call(*build, "--target", "wheel", cwd=folder / sdist.name.removesuffix(".tar.gz"))
    call(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    new = folder / "venv" / "bin" / "python"
    (wheel,) = folder.glob("*.whl")
    call(*PIP, "--python", new, "install", "--no-deps", "--no-index", wheel)
    site = Path(call(new, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    here = Path(sysconfig.get_path("purelib"))
    others = {name: one for name, one in required("hobbes", "pytest").items() if name != "hobbes"}
    for top in {file.parts[0] for one in others.values() for file in one.files or ()} - {"..", "__pycache__"}:
        (site / top).symlink_to(here / top)
    return new


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with packages of its own."""
    folder = tmp_path / "project"
    for name in OWN:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(OWN_PACKAGE)
    return folder


class Installed:
    """Programs of the new environment, run in the folder of the project, whose packages come first."""

    def __init__(self, python: Path, project: Path, environment: dict[str, str]) -> None:
        self._programs = python.parent
        self._project = project
        self._environment = {**os.environ, "PYTHONPATH": str(project), **environment}

    def hobbes(self, *words: object) -> str:
        """Return what the command prints. It imports none of the project's packages."""
        said = call(self._programs / "hobbes", *words, cwd=self._project, env=self._environment)
        assert not (self._project / "imported").exists()
        return said

    def python(self, *words: object) -> str:
        """Return what Python prints."""
        return call(self._programs / "python", *words, cwd=self._project, env=self._environment)

    def commands(self, *lines: str) -> str:
        """Return what the last of several commands prints; one process is all of them."""
        said = self.python("-c", COMMANDS, *lines)
        assert not (self._project / "imported").exists()
        return said.rpartition("command: ")[2].partition("\n")[2]

    def pytest(self, *words: object) -> str:
        """Return what a session of pytest prints."""
        return self.python("-m", "pytest", "-p", "no:cacheprovider", *words)


@pytest.fixture
def installed(python: Path, project: Path, home: Path) -> Iterator[Installed]:
    with in_thread(stand_in()) as base:
        yield Installed(python, project, {"HOBBES_HOME": str(home), "OPENAI_BASE_URL": base})


def test_only_hobbes_is_installed(python: Path) -> None:
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    installed = {path.name for path in site.iterdir() if not path.is_symlink()}
    assert installed == {"hobbes", f"hobbes-{version('hobbes')}.dist-info"}


def test_the_base_is_small() -> None:
    base = required("hobbes")
    assert len(base.keys() - {"pip", "setuptools"}) <= 82
    files = (Path(str(one.locate_file(file))) for one in base.values() for file in one.files or ())
    assert sum(file.stat().st_size for file in files if file.is_file()) <= 220e6


def files_in(folder: Path) -> set[Path]:
    files = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {path for path in files if "__pycache__" not in path.parts}


@pytest.mark.parametrize("name", OWN)
def test_each_folder_that_hobbes_links_to_is_installed_as_files(python: Path, name: str) -> None:
    (installed,) = python.parents[1].glob("lib/python*/site-packages/hobbes")
    assert files_in(installed / name) == files_in(ROOT / name)


def test_a_game_is_played_pinned_and_shown_in_such_a_project(installed: Installed, project: Path) -> None:
    variants = json.loads(
        installed.commands(
            "run mining --agents 3 --rounds 3 --seed 1 --model openai:policy/guided",
            "verify last",
            "replay last",
            "probe last --turns 1 --model openai:policy/random --times 2 --name asked",
            "make-test last --turns 1-2 --name story --to .",
            "export last --format page --to run.html",
            "prompts list trust --json",
        )
    )
    (project / "test_own.py").write_text(OWN_TESTS)
    assert f"{len(OWN) + 2} passed" in installed.pytest("test_own.py", "test_story.py")
    assert variants["trust"]["plain"]["languages"] == ["en", "zh"]


def test_two_processes_play_an_experiment_in_such_a_project(installed: Installed, project: Path) -> None:
    (project / "two.toml").write_text(EXPERIMENT)
    assert "2 runs, 2 of them played now" in installed.hobbes("experiment", "two.toml", "--jobs", 2)
    refused = installed.python("-c", REFUSED).splitlines()
    assert [re.sub(r".* need more than is installed: ", "", line) for line in refused] == [
        f"pip install 'hobbes[{extra}]'" for extra in ("stats", "parquet", "inspect", "ray", "gepa", "pandas")
    ]


def test_a_world_of_another_package_is_found_by_its_entry_point(installed: Installed, project: Path) -> None:
    target = ("--target", project, "--no-deps", "--no-index", "--no-build-isolation")
    call(*PIP, "install", *target, ROOT / "tests" / "commons")
    (project / "shared.toml").write_text(EXPERIMENT.replace("mining", "commons").replace("random", "greedy"))
    played = installed.commands(
        "run commons --agents 3 --rounds 3 --seed 1",
        "trace last",
        "verify last",
        "replay last",
        "experiment shared.toml",
    )
    assert "2 runs, 2 of them played now" in played


def test_the_readme_starts_the_demo_by_uvx(tmp_path: Path) -> None:
    """Its own line, but that the packages that hobbes requires are those of this environment."""
    uvx = shutil.which("uvx", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    if uvx is None:
        missing("there is no uvx; pip install uv")
    (words,) = re.findall("`uvx (.*?)`", (ROOT / "README.md").read_text(encoding="utf-8"))
    overrides = tmp_path / "overrides.txt"
    overrides.write_text(
        "".join(f"{name}; python_version < '3'\n" for name in {*required("hobbes")} - {"hobbes"})
    )
    environment = {
        **os.environ,
        "UV_OFFLINE": "1",
        "UV_NO_CONFIG": "1",
        "UV_NO_BUILD_ISOLATION": "1",
        "UV_OVERRIDE": str(overrides),
        "UV_PYTHON": sys.executable,
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "HOBBES_HOME": str(tmp_path / "home"),
    }
    assert "A run of scripted policies, played just now:" in call(
        uvx, *words.split(), cwd=ROOT, env=environment
    )
