"""Contract types for the floors that import-linter cannot express; `pyproject.toml` configures them.

Import-linter's own types cannot say "a folder of engine/", "the graph of the same name", "nothing but these"
or "not this builtin". A floor stops mistakes. It does not stop somebody who wants to get around it.
"""

import ast
import os
import sys
from abc import abstractmethod
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.contracts.protected import ProtectedContract

Breach = tuple[int, str]
"""A line number, and what the line does."""


def folder(package: str) -> Path:
    """Return the folder of a package without importing it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"{package} is not a package")
    return Path(spec.submodule_search_locations[0])


def worlds() -> list[str]:
    """Return the names of all worlds: each folder of engine/ that holds Python files is one."""
    return sorted(child.name for child in folder("hobbes.engine").iterdir() if any(child.glob("**/*.py")))


class EachWorldContract(ProtectedContract):
    """A protected contract for every world: `{world}` in a module name stands for the name of the world.

    A module that a world does not have, such as a graph, is left out. Module names take no `*`.
    """

    type_name = "protected_for_each_world"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 (import-linter's)
        """Check the contract of each world; ValueError if there is nothing to protect, as after a typo."""
        names = ("protected_modules", "allowed_importers")
        found, illegal = 0, []
        for world in worlds():
            own = {name: [m.replace("{world}", world) for m in self.contract_options[name]] for name in names}
            present = {name: [m for m in modules if m in graph.modules] for name, modules in own.items()}
            contract = ProtectedContract(self.name, self.session_options, self.contract_options | present)
            illegal += contract.check(graph, verbose).metadata["illegal_imports"]
            found += len(present["protected_modules"])
        if not found:
            raise ValueError(f"no world has any of {self.contract_options['protected_modules']}")
        return ContractCheck(kept=not illegal, metadata={"illegal_imports": illegal})


class SourceContract(Contract):
    """A contract that reads the source of every file in some packages."""

    packages = fields.ListField(subfield=fields.StringField())

    @abstractmethod
    def breaches(self, module: str, tree: ast.Module, graph: ImportGraph) -> Iterator[Breach]:
        """Yield what breaks the contract in one module."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002, FBT001 (import-linter's)
        """Collect the breaches of all files, also of those that the import graph leaves out."""
        lines = []
        for package in cast("list[str]", self.packages):
            root = folder(package)
            for path in sorted(_python_files(root)):
                parts = path.relative_to(root).with_suffix("").parts
                module = ".".join([package, *parts]).removesuffix(".__init__")
                found = self.breaches(module, ast.parse(path.read_bytes()), graph)
                lines += [f"{module} {what} (l.{line})" for line, what in found]
        return ContractCheck(kept=not lines, metadata={"lines": lines})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for each breach."""
        for line in check.metadata["lines"]:
            output.print_error(f"- {line}", bold=False)
        output.new_line()


def _python_files(root: Path) -> Iterator[Path]:
    """Yield the Python files below a folder, also those behind links to folders."""
    for folder, _, files in os.walk(root, followlinks=True):
        yield from (Path(folder) / name for name in files if name.endswith(".py"))


class OnlyFromContract(SourceContract):
    """The packages import themselves and what is listed: modules (`json`), or single names of one (`a.b`)."""

    type_name = "only_from"

    allowed = fields.SetField(subfield=fields.StringField())

    def breaches(self, module: str, tree: ast.Module, graph: ImportGraph) -> Iterator[Breach]:  # noqa: ARG002
        """Yield the imports that are not listed."""
        own = tuple(f"{package}." for package in cast("list[str]", self.packages))
        for node in ast.walk(tree):
            for name in _imported(node):
                if not name.startswith(own) and not self._allows(name):
                    yield cast("ast.stmt", node).lineno, f"imports {name}"

    def _allows(self, name: str) -> bool:
        allowed = cast("set[str]", self.allowed)
        parts = name.split(".")
        listed = not allowed.isdisjoint(".".join(parts[: end + 1]) for end in range(len(parts)))
        # A listed module may hold one that is not listed: `from statistics import random`.
        return listed and allowed.issuperset(sys.stdlib_module_names.intersection(parts[1:]))


def _imported(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return [f"{module}.{alias.name}" for alias in names]
    return []  # a relative import stays in its package


class WithoutContract(SourceContract):
    """The packages use none of the refused builtins, and no `global` statement."""

    type_name = "without"

    refused = fields.SetField(subfield=fields.StringField())

    def breaches(self, module: str, tree: ast.Module, graph: ImportGraph) -> Iterator[Breach]:  # noqa: ARG002
        """Yield each use of a refused name; ruff lets nothing else have the name of a builtin."""
        for node in ast.walk(tree):
            match node:
                case ast.Global(names=names):
                    yield node.lineno, f"uses global {', '.join(names)}"
                case ast.Name(id=name, ctx=ast.Load()) if name in cast("set[str]", self.refused):
                    yield node.lineno, f"uses {name}"


class SeenContract(SourceContract):
    """Every file of the packages is in the import graph, so that the other contracts hold for it."""

    type_name = "seen"

    def breaches(self, module: str, tree: ast.Module, graph: ImportGraph) -> Iterator[Breach]:  # noqa: ARG002
        """Yield the module if the import graph leaves it out."""
        if module not in graph.modules:
            yield 1, "is not in the import graph: every folder above it needs an __init__.py"
