"""What commands share: their options, and helpers that read them."""

import re
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hobbes.errors import HobbesError, UsageError, as_usage_error
from hobbes.files import check_path, key_and_value, read_json

if TYPE_CHECKING:
    from hobbes.engine.world import AnyWorld
    from hobbes.play.start import RunOptions
    from hobbes.store.home import Store


ENVIRONMENT = "HOBBES"
"""How the environment variables begin that stand for options."""

ENV = {"auto_envvar_prefix": ENVIRONMENT}

HOME = Path(".hobbes")

VARIANT = "a variant (see `hobbes prompts list`), or the path of a folder of prompts, with a slash: ./mine"


def not_empty(param: typer.CallbackParam, value: str | list[str] | None) -> str | list[str] | None:
    """Return the value of an option, or all its values; raise UsageError if one is empty."""
    if "" in (value if isinstance(value, list) else [value]):
        raise UsageError(f"{param.opts[0]} is empty; give it a value, or leave it out")
    return value


def text(meaning: str, *names: str) -> Any:  # noqa: ANN401  as typer's own
    """Return an option with a text, which must not be empty."""
    return typer.Option(*names, callback=not_empty, help=meaning)


def _folder(text: object) -> Path:
    """Return a path; raise UsageError for an empty one, which would be the present folder."""
    if not str(text):
        raise UsageError("--home is empty; name a folder, or leave it out")
    return check_path(Path(str(text)), "--home")


Home = Annotated[
    Path, typer.Option(parser=_folder, metavar="PATH", help="the folder with runs.db and checkpoints.db")
]
AsJson = Annotated[
    bool, typer.Option("--json", envvar="HOBBES_JSON", help="print one JSON document on stdout")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", envvar="HOBBES_SET", help="a setting: key=value, or key=@FILE.json; may be repeated"
    ),
]
Agents = Annotated[int | None, typer.Option(min=1, help="how many agents")]
Rounds = Annotated[int | None, typer.Option(min=1, help="how many turns")]
Seed = Annotated[int | None, typer.Option(help="the seed of the run's random draws")]
Model = Annotated[
    str | None,
    text(
        "openai:NAME, policy:NAME?noise=0.1&tremble=0.1, python:FILE.py:NAME, human, a name in the "
        "models file, or SPEC*N,SPEC*N"
    ),
]
Prompts = Annotated[str | None, text(VARIANT)]
Lang = Annotated[str | None, text("en or zh")]
ObserverSpec = Annotated[
    str | None, text("who rules on requests: a rule of the world, human, or openai:NAME")
]
SecondsPerTurn = Annotated[
    int | None,
    typer.Option(min=0, help="how long a person may take for an answer; after that the call has failed"),
]
RunName = Annotated[str, typer.Argument(help="a run's id, a unique prefix of it, its name, or `last`")]
A_WORLD = "a world; `hobbes worlds` lists them"
WorldName = Annotated[str, typer.Argument(help=A_WORLD)]
AnyWorldName = Annotated[str | None, typer.Argument(help=A_WORLD)]


def open_home(home: Path, *, writes: bool = False) -> "AbstractContextManager[Store]":
    """Open the run database of a home folder; without `writes`, only to read it."""
    from hobbes.store.home import open_store

    return open_store(home, writes=writes)


def find_world(name: str) -> "AnyWorld":
    """Return the world of this name; raise UsageError, with the names of all worlds, if there is none."""
    from hobbes.worlds import world_named

    with as_usage_error():
        return world_named(name)


def parse_setting(text: str) -> tuple[str, Any]:
    """Return key and value of `key=value`, where the value is JSON or else text, or of `key=@FILE.json`."""
    key, _, value = text.partition("=")
    if key and value.startswith("@"):
        return key, read_json(Path(value[1:]))
    try:
        return key_and_value(text)
    except UsageError as error:
        raise UsageError(f"--set {error}") from error


def parse_settings(settings: list[str] | None, **own: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    """Return the settings that were given, by --set or by an option of their own.

    Raise UsageError for a setting that is given twice.
    """
    values = given(**own)
    for key, value in map(parse_setting, settings or ()):
        if key in values:
            where = f"by --{key.replace('_', '-')} and by --set" if own.get(key) is not None else "by --set"
            raise UsageError(f"{key} is set twice, {where}; set it once")
        values[key] = value
    return values


def run_options(world: str, values: dict[str, Any], **others: Any) -> "RunOptions":  # noqa: ANN401  as RunOptions types them
    """Return what is asked to be played: a world or a run's file, and what options say beside it."""
    from hobbes.play.run_file import read_run_file
    from hobbes.play.start import RunOptions

    options = read_run_file(Path(world)) if world.endswith(".toml") else RunOptions(world)
    return replace(options, values={**options.values, **values}, **given(**others))


def given(**options: Any) -> dict[str, Any]:  # noqa: ANN401  as their types say
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def split_list(text: str | list[str] | None) -> list[str]:
    """Return what an option lists, separated by commas, each time that it is given."""
    whole = ",".join(text) if isinstance(text, list) else text or ""
    return [word.strip() for word in whole.split(",") if word.strip()]


def turn_numbers(text: str) -> list[int]:
    """Return the turns of a list such as 3,7 or 3-5."""
    numbers: list[int] = []
    for word in split_list(text) or [""]:
        match = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", word)
        if match is None:
            raise UsageError(f"--turns {text!r}: write turns such as 3,7 or 3-5")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"--turns {text!r}: turn {first} is after turn {last}")
        numbers += range(first, last + 1)
    return numbers


def agree(question: str, otherwise: str, why: str = "this costs money, or an unknown sum") -> None:
    """Ask whether to go on. Raise HobbesError, with these words, if the answer is no."""
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort as error:
        raise UsageError(f"{why}; --yes goes on without a question") from error
    if not agreed:
        raise HobbesError(otherwise)
