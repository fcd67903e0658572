"""The wheel that is made from the sdist, beside a project whose packages are named as folders of hobbes."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

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


PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def call(*words: object, **options: Any) -> str:
    """Run a program, which must succeed, and return what it prints."""
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed: str = done.stdout
    return printed


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the wheel, and with what hobbes needs from this one.

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
    # Python reads no .pth files of a folder that a .pth file names: this checkout is not importable there.
    (site / "here.pth").write_text(sysconfig.get_path("purelib") + "\n")
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

    def __init__(self, python: Path, project: Path, home: Path) -> None:
        self._programs = python.parent
        self._project = project
        self._environment = {**os.environ, "PYTHONPATH": str(project), "HOBBES_HOME": str(home)}

    def hobbes(self, *words: object) -> str:
        """Return what the command prints. It imports none of the project's packages."""
        said = call(self._programs / "hobbes", *words, cwd=self._project, env=self._environment)
        assert not (self._project / "imported").exists()
        return said

    def commands(self, *lines: str) -> str:
        """Return what the last of several commands prints; one process is all of them."""
        said = call(
            self._programs / "python", "-c", COMMANDS, *lines, cwd=self._project, env=self._environment
        )
        assert not (self._project / "imported").exists()
        return said.rpartition("command: ")[2].partition("\n")[2]

    def pytest(self, *words: object) -> str:
        """Return what a session of pytest prints."""
        return call(
            self._programs / "python",
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            *words,
            cwd=self._project,
            env=self._environment,
        )


@pytest.fixture
def installed(python: Path, project: Path, home: Path) -> Installed:
    return Installed(python, project, home)


def test_only_hobbes_is_installed(python: Path) -> None:
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    assert {path.name for path in site.iterdir()} == {
        "hobbes",
        f"hobbes-{version('hobbes')}.dist-info",
        "here.pth",
    }


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
            "run mining --agents 3 --rounds 3 --seed 1 --model policy:guided",
            "verify last",
            "replay last",
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


def test_a_world_of_another_package_is_found_by_its_entry_point(installed: Installed, project: Path) -> None:
    target = ("--target", project, "--no-deps", "--no-index", "--no-build-isolation")
    call(*PIP, "install", *target, ROOT / "tests" / "commons")
    (project / "shared.toml").write_text(EXPERIMENT.replace("mining", "commons").replace("random", "greedy"))
    told = installed.commands(
        "run commons --agents 3 --rounds 3 --seed 1",
        "trace last",
        "verify last",
        "replay last",
        "experiment shared.toml",
        "report two --json",
    )
    assert json.loads(told)["arms"]["small"]["measures"]["score"]["n"] == 1
