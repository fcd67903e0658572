"""What commands share: their options, and helpers that read them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.worlds import WORLDS, world_named
from lab.errors import UsageError

if TYPE_CHECKING:
    from engine.world import AnyWorld
    from lab.store.database import Store


ENV = {"auto_envvar_prefix": "HOBBES"}

HOME = Path(".hobbes")

Home = Annotated[Path, typer.Option(help="the folder with runs.db and checkpoints.db")]
AsJson = Annotated[
    bool, typer.Option("--json", envvar="HOBBES_JSON", help="print one JSON document on stdout")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", envvar="HOBBES_SET", help="a setting: key=value, or key=@FILE.json; may be repeated"
    ),
]
RunName = Annotated[str, typer.Argument(help="a run's id, a unique prefix of it, its name, or `last`")]
WorldName = Annotated[str, typer.Argument(help=", ".join(WORLDS))]


@contextmanager
def opened(home: Path) -> "Iterator[Store]":
    """Open the run database of a home folder."""
    from lab.store.database import open_store

    with open_store(home) as opened:
        yield opened


def world_asked(name: str) -> "AnyWorld":
    """Return the world of this name; raise UsageError, with the names of all worlds, if there is none."""
    try:
        return world_named(name)
    except ValueError as error:
        raise UsageError(str(error)) from error


def setting(text: str) -> tuple[str, Any]:
    """Return key and value of `key=value`, where the value is JSON or else text, or of `key=@FILE.json`."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--set {text!r}: write key=value, or key=@FILE.json")
    if value.startswith("@"):
        return key, _json_file(Path(value[1:]))
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _json_file(path: Path) -> Any:  # noqa: ANN401  any JSON
    """Return the content of a JSON file; raise UsageError if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--set: cannot read {path}: {error.strerror}; check the path") from error
    except ValueError as error:
        raise UsageError(f"--set: {path} is not JSON: {error}") from error
