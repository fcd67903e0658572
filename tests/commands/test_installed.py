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
import hobbes
from hobbes.cli import app

for line in sys.argv[1:]:
    print("command:", line)
    try:
        assert not app(line.split(), standalone_mode=False)
    except hobbes.HobbesError as error:
        print("refused:", error)
print("command: to_frame")
try:
    hobbes.open().run().table("calls")
except ImportError as error:
    print("refused:", error)
"""

PLAYED = (
    "run mining --agents 3 --rounds 3 --seed 1 --model openai:policy/guided --name own",
    "verify own",
    "replay own",
    "probe own --turns 1 --model openai:policy/random --times 2 --name asked",
    "make-test own --turns 1-2 --name story --to .",
    "export own --format page --to run.html",
    "prompts list trust --json",
    "experiment two.toml --jobs 2",
    "run commons --agents 3 --rounds 3 --seed 1",
    "trace last",
    "verify last",
    "replay last",
    "experiment shared.toml",
)

REFUSED = {
    "report two": "stats",
    "export last --format parquet --to tables": "parquet",
    "export last --format inspect --to log.eval": "inspect",
    "experiment two.toml --on ray": "ray",
    "improve calmer.toml": "gepa",
    "to_frame": "pandas",
}
"""What only an extra brings. The last is asked for in Python."""

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


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with packages of its own, a world of another package, and two experiments."""
    folder = tmp_path_factory.mktemp("project")
    for name in OWN:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(OWN_PACKAGE)
    (folder / "test_own.py").write_text(OWN_TESTS)
    (folder / "two.toml").write_text(EXPERIMENT)
    shared = EXPERIMENT.replace("two", "shared").replace("mining", "commons").replace("random", "greedy")
    (folder / "shared.toml").write_text(shared)
    target = ("--target", folder, "--no-deps", "--no-index", "--no-build-isolation")
    call(*PIP, "install", *target, ROOT / "tests" / "commons")
    return folder


@pytest.fixture(scope="module")
def printed(python: Path, project: Path) -> dict[str, str]:
    """What each command prints in the project, whose packages come first. One process is all of them."""
    with in_thread(stand_in()) as base:
        env = {"PATH": os.environ["PATH"], "HOBBES_HOME": str(project / "home"), "OPENAI_BASE_URL": base}
        told = call(python, "-c", COMMANDS, *PLAYED, *[*REFUSED][:-1], cwd=project, env=env)
    assert not (project / "imported").exists(), "it imports none of the project's packages"
    return dict(part.split("\n", 1) for part in told.split("command: ")[1:])


def test_only_hobbes_is_installed(python: Path) -> None:
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    installed = {path.name for path in site.iterdir() if not path.is_symlink()}
    assert installed == {"hobbes", f"hobbes-{version('hobbes')}.dist-info"}
    assert call(python.parent / "hobbes", "--version") == f"hobbes {version('hobbes')}\n"


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


def test_games_are_played_pinned_and_shown_in_such_a_project_also_of_a_world_of_another_package(
    printed: dict[str, str], python: Path, project: Path
) -> None:
    assert [line for line, told in printed.items() if "refused:" in told] == [*REFUSED]
    for experiment in ("two.toml --jobs 2", "shared.toml"):
        assert "2 runs, 2 of them played now" in printed[f"experiment {experiment}"]
    assert json.loads(printed["prompts list trust --json"])["trust"]["plain"]["languages"] == ["en", "zh"]
    tests = (python, "-m", "pytest", "-p", "no:cacheprovider", "test_own.py", "test_story.py")
    assert f"{len(OWN) + 2} passed" in call(*tests, cwd=project)


@pytest.mark.parametrize(("command", "extra"), REFUSED.items())
def test_what_only_an_extra_brings_names_it(command: str, extra: str, printed: dict[str, str]) -> None:
    assert printed[command].endswith(f" need more than is installed: pip install 'hobbes[{extra}]'\n")


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
    assert "A run of scripted policies (demo):" in call(uvx, *words.split(), cwd=ROOT, env=environment)
