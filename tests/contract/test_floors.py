"""A fourth world is under every floor of `pyproject.toml` without a line there."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from grimp import ImportGraph

from tests.contract.floors import EachWorldContract

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
FLOORS = [contract["name"] for contract in SETTINGS["contracts"]]
LAYERS, ROOMS, WORLD, GRAPH, LIST, IMPORTS, BUILTINS, LIBRARIES, SQL, TERMINAL, SEEN = FLOORS

GOOD = {
    "engine/fourth/__init__.py": '"""A world that keeps to itself."""\n',
    "engine/fourth/state.py": """
import json
from collections.abc import Mapping
from inspect import signature
from math import isqrt
import re

from pydantic import BaseModel

from hobbes.engine import chance
from hobbes.engine.record import Drop

OPEN = re.compile("open")
""",
    "engine/fourth/world.py": """
from hobbes.engine.fourth.state import OPEN
from hobbes.engine.world import AnyWorld
from . import state

opened = [line.open() for line in ()]
""",
    "engine/hermit/__init__.py": "HOME = 1",
    "graphs/fourth.py": """
from hobbes.engine.fourth.world import opened
from hobbes.graphs.studio import studio_graph
""",
    "lab/store/fourth.py": """
import random
import sqlite3
from hobbes.engine.fourth.world import opened
from hobbes.engine.worlds import WORLDS
from hobbes.graphs import fourth

print(eval(input()))
""",
}
"""A fourth world and its graph, a world in one file, and a module of lab's store, which may do more."""

BAD = {
    # a world, by its imports
    "a_rival": ("from hobbes.engine.mining.state import State", WORLD),
    "a_late_rival": ("def rules():\n    from hobbes.engine import nations", WORLD),
    "a_relative_rival": ("from ..trust import state", WORLD),
    "an_heir_of_a_hermit": ("from hobbes.engine.hermit import HOME", WORLD),
    "a_reader_of_the_list": ("from hobbes.engine.worlds import WORLDS", LIST),
    "a_world_of_nodes": ("from hobbes.nodes.reading import read_object", LAYERS, IMPORTS),
    "a_world_of_tests": ("from tests.arithmetic import shown", IMPORTS),
    **{
        f"a_world_of_{module.replace('.', '_')}": (f"import {module}", IMPORTS)
        for module in ("concurrent.futures", "datetime", "inspect", "os.path", "random", "weakref", "numpy")
    },
    "a_world_of_sqlite3": ("import sqlite3", IMPORTS, LIBRARIES),
    "a_world_of_rich": ("from rich import print as show", IMPORTS, LIBRARIES),
    "a_world_of_borrowed_luck": ("from statistics import random", IMPORTS),
    "a_world_of_frames": ("from inspect import currentframe", IMPORTS),
    # a world, by its builtins
    "an_opener": ("rules = open('rules.txt')", BUILTINS),
    "a_late_opener": ("def rules():\n    return [open(name) for name in ()]", BUILTINS),
    "a_lender": ("reader = open", BUILTINS),
    "a_listener": ("answer = input()", BUILTINS),
    "a_talker": ("print('hello')", BUILTINS),
    "an_evaluator": ("value = eval('1')", BUILTINS),
    "an_executor": ("exec('1')", BUILTINS),
    "a_compiler": ("code = compile('1', '', 'eval')", BUILTINS),
    "an_importer": ("os = __import__('os')", BUILTINS),
    "a_hasher": ("key = hash('name')", BUILTINS),
    "a_rememberer": ("turns = 0\ndef turn():\n    global turns\n    turns += 1", BUILTINS),
}
"""What a world does in `engine/NAME/rules.py`, and the floors that name it."""

BAD_FILES = {
    "engine/a_shared_module.py": ("from hobbes.engine.fourth.state import OPEN", WORLD),
    "engine/a_shared_clock.py": ("import time", IMPORTS),
    "engine/a_shared_opener.py": ("rules = open('rules.txt')", BUILTINS),
    "engine/without_init/rules.py": ("import random", IMPORTS, SEEN),
    "engine/fourth/deeper/rules_without_init.py": ("", SEEN),
    "nodes/a_worldly_node.py": ("from hobbes.engine.fourth.world import opened", WORLD),
    "nodes/a_node_of_a_world.py": ("import hobbes.engine.fourth", WORLD),
    "nodes/a_node_of_the_list.py": ("from hobbes.engine.worlds import WORLDS", LIST),
    "nodes/a_node_of_graphs.py": ("from hobbes.graphs.turn import ring", LAYERS),
    "nodes/a_node_of_lab.py": ("import hobbes.lab", LAYERS),
    "nodes/a_node_of_sql.py": ("import sqlite3", LIBRARIES),
    "nodes/a_node_of_pages.py": ("from jinja2 import Template", LIBRARIES),
    "nodes/a_node_that_prints.py": ("print('hello')", TERMINAL),
    "nodes/deeper/a_node_without_init.py": ("", SEEN),
    "graphs/a_ring_of_a_world.py": ("from hobbes.engine.fourth.world import opened", WORLD),
    "graphs/a_ring_of_a_graph.py": ("from hobbes.graphs.fourth import opened", GRAPH),
    "graphs/a_ring_of_the_list.py": ("from hobbes.engine.worlds import WORLDS", LIST),
    "graphs/a_ring_of_sql.py": ("import sqlite_utils", LIBRARIES),
    "graphs/a_ring_that_asks.py": ("input()", TERMINAL),
    "graphs/a_fifth.py": ("from hobbes.engine.fourth.world import opened", WORLD),
    "lab/store/a_store_that_plays.py": ("from hobbes.lab.play import playing", ROOMS),
    "lab/play/a_game_that_prints.py": ("from hobbes.lab.show.terminal import OUT", ROOMS),
    "lab/wire/a_server_that_proves.py": ("from hobbes.lab.proof import comparing", ROOMS),
    "lab/proof/a_proof_that_shows.py": ("def proof():\n    from hobbes.lab.show import cards", ROOMS),
    "lab/show/a_page_that_commands.py": ("from hobbes.lab.commands import options", ROOMS),
    "lab/show/a_page_of_sql.py": ("import sqlite3", SQL),
    "lab/proof/a_proof_of_sql.py": ("from sqlite_utils import Database", SQL),
    "lab/a_room_without_a_floor.py": ("", ROOMS),
    "lab/show/a_page_of_the_api.py": ("import hobbes", LAYERS),
    "hobbes/an_api_of_sql.py": ("import sqlite3", LAYERS),
}
"""What any other file does, and the floors that name it."""

FILES = {f"engine/{world}/rules.py": said for world, said in BAD.items()} | BAD_FILES


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what the floors hold for, and add a fourth world that breaks none."""
    tree = tmp_path_factory.mktemp("tree")
    rooms = [link.name for link in (ROOT / "hobbes").iterdir() if link.is_symlink()]
    for package in (*rooms, "hobbes", "tests/contract"):
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tree / package, symlinks=True, ignore=left_out)
    for file in ("pyproject.toml", "tests/__init__.py"):
        shutil.copy(ROOT / file, tree / file)
    for path, text in GOOD.items():
        write(tree / path, text)
    with (tree / "engine/worlds.py").open("a") as worlds:
        worlds.write("from hobbes.engine.fourth import world as fourth\n")
    return tree


@pytest.fixture(scope="module")
def good(tree: Path) -> subprocess.CompletedProcess[str]:
    return lint_imports(tree)


@pytest.fixture(scope="module")
def bad(tree: Path, good: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Add every breach, each in a file of its own, and return what each broken floor says."""
    assert good.returncode == 0
    for path, (text, *_) in FILES.items():
        write(tree / path, text)
    for world in BAD:
        write(tree / "engine" / world / "__init__.py", "")
    result = lint_imports(tree)
    assert result.returncode == 1, result.stdout + result.stderr
    heading = "|".join(re.escape(floor) for floor in FLOORS)
    _, *parts = re.split(rf"^({heading})\n-+$", result.stdout, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    wide = {**os.environ, "COLUMNS": "300"}  # rich wraps no line
    return subprocess.run(command, cwd=tree, env=wide, capture_output=True, text=True, check=False)


def test_a_fourth_world_that_keeps_to_itself_breaks_no_floor(good: subprocess.CompletedProcess[str]) -> None:
    assert good.returncode == 0, good.stdout + good.stderr
    assert all(re.search(rf"^{re.escape(floor)} KEPT", good.stdout, re.MULTILINE) for floor in FLOORS)


@pytest.mark.parametrize("path", FILES)
def test_what_breaks_a_floor_is_named_under_that_floor_and_no_other(path: str, bad: dict[str, str]) -> None:
    module = "hobbes." + path.removesuffix(".py").removeprefix("hobbes/").replace("/", ".")
    named = [floor for floor, said in bad.items() if re.search(rf"\b{re.escape(module)}\b", said)]
    assert named == list(FILES[path][1:])


def test_every_floor_is_broken_by_something(bad: dict[str, str]) -> None:
    assert list(bad) == FLOORS


def test_a_refusal_names_the_line(bad: dict[str, str]) -> None:
    assert "hobbes.engine.a_rival.rules -> hobbes.engine.mining.state (l.1)" in bad[WORLD]
    assert "hobbes.engine.a_late_opener.rules uses open (l.2)" in bad[BUILTINS]
    assert "hobbes.engine.a_rememberer.rules uses global turns (l.3)" in bad[BUILTINS]
    assert "hobbes.engine.a_world_of_frames.rules imports inspect.currentframe (l.1)" in bad[IMPORTS]


def test_a_contract_that_protects_nothing_is_an_error_not_kept() -> None:
    modules = {"protected_modules": ["hobbes.engin.{world}"], "allowed_importers": ["hobbes.lab"]}
    contract = EachWorldContract("misspelt", {"root_package": "hobbes"}, modules)
    with pytest.raises(ValueError, match=r"no world has any of \['hobbes\.engin\.\{world\}'\]"):
        contract.check(ImportGraph(), verbose=False)
