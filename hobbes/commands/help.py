"""The commands that help: `worlds`, `doctor`, `models`."""

import sys
from contextlib import suppress

import typer

from hobbes.commands import options
from hobbes.commands.groups import HELP
from hobbes.errors import HobbesError

app = typer.Typer()


@app.command(context_settings=options.ENV, rich_help_panel=HELP)
def worlds(world: options.AnyWorldName = None, as_json: options.AsJson = False) -> None:
    """List the worlds, or show one: rules, settings, policies, prompts, measures, events and codes.

    Example: hobbes worlds mining
    """
    from hobbes.show.terminal import OUT, print_json
    from hobbes.show.world_list import about, show_all, show_one
    from hobbes.worlds import WORLDS

    worlds = [options.find_world(world)] if world else list(WORLDS.values())
    texts = [about(each) for each in worlds]
    if as_json:
        print_json(texts[0] if world else {text["world"]: text for text in texts})
    else:
        OUT.print(show_one(texts[0]) if world else show_all(texts))


@app.command(context_settings=options.ENV, rich_help_panel=HELP)
def doctor(home: options.Home = options.HOME, as_json: options.AsJson = False) -> None:
    """Check the installation, the environment and the server.

    It shows whether an API key and a base URL are set, but never the key, and asks the server for its models.
    It does the same for each model of the models file.

    Example: hobbes doctor
    """
    from hobbes.play.models_file import read_models
    from hobbes.show.questions import in_lines
    from hobbes.show.terminal import print_json, say
    from hobbes.wire.doctor import examine

    left_out: dict[str, list[str]] = {}
    if (home / "runs.db").exists():
        with suppress(HobbesError), options.open_home(home) as store:  # a run database of another version
            left_out = store.figures.left_out()
    report = examine(home, read_models(home), left_out)
    if as_json:
        print_json(report)
    else:
        say("\n".join(in_lines(report)))
    servers = [report["server"], *(model["server"] for model in report["models"].values())]
    if any(server.startswith("does not answer") for server in servers) or not report["home_writable"]:
        sys.exit(1)


@app.command("models", context_settings=options.ENV, rich_help_panel=HELP)
def list_models(home: options.Home = options.HOME, as_json: options.AsJson = False) -> None:
    """List the models of the models file: server, key variable, parameters, limits and price.

    It shows whether each key is set, but never a key, and asks no server.

    Example: hobbes models --json
    """
    from hobbes.play.models_file import FILE, models_json, read_models
    from hobbes.show.questions import in_lines
    from hobbes.show.terminal import print_json, say

    models = models_json(read_models(home))
    if as_json:
        print_json(models)
    elif models:
        say("\n".join(in_lines(models)))
    else:
        file = home / FILE
        what = f"{file} has no models" if file.exists() else f"there is no {file}"
        say(f"{what}; docs/models.md says what to write into it")
