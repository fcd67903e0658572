"""How the command starts: Ctrl-C at any moment, and what it imports."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

INTERRUPTED = 130

SLOW = {
    "aiohttp",
    "engine",
    "graphs",
    "jinja2",
    "langchain_core",
    "langchain_openai",
    "langgraph",
    "langsmith",
    "matplotlib",
    "nodes",
    "numpy",
    "openai",
    "pandas",
    "pyarrow",
    "pydantic",
    "rich",
    "sqlite_utils",
    "starlette",
    "tenacity",
    "uvicorn",
    "vcr",
}
"""Packages that take long to import, or import others that do."""


def started(*arguments: str, path: Path) -> "subprocess.CompletedProcess[str]":
    """Start the installed command's function, with a folder of modules that come before all others."""
    file = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module, function = file["project"]["scripts"]["hobbes"].split(":")
    return subprocess.run(
        [sys.executable, "-c", f"from {module} import {function}; {function}()", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_an_interrupt_while_modules_are_imported_leaves_no_traceback(tmp_path: Path) -> None:
    """The first module that the command needs sends the signal of Ctrl-C, which a shell may have ignored."""
    (tmp_path / "typer.py").write_text(
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.raise_signal(signal.SIGINT)"
    )
    done = started("--help", path=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "")


def test_help_waits_for_no_package_that_is_slow_to_import(tmp_path: Path) -> None:
    report = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    (tmp_path / "usercustomize.py").write_text(report)
    (tmp_path / "sitecustomize.py").write_text(report)
    done = started("--help", path=tmp_path)
    assert done.returncode == 0
    imported = {module.partition(".")[0] for module in done.stderr.split()}
    assert not imported & SLOW
    assert "run " in done.stdout
