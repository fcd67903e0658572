"""The commands that need no recorded run: `worlds`, `step`, `tournament`, `serve`, `doctor`, `models`."""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

import typer

from hobbes.commands import options
from hobbes.commands.groups import DATA, HELP, PLAY
from hobbes.errors import HobbesError

app = typer.Typer()


@app.command(context_settings=options.ENV, cls=options.NamesWorlds, rich_help_panel=HELP)
def worlds(world: options.AnyWorldName = None, as_json: options.AsJson = False) -> None:
    """List the worlds, or show one: rules, settings, policies, prompts, measures and events.

    Example: hobbes worlds mining
    """
    from hobbes.show.terminal import OUT, print_json
    from hobbes.show.world_list import about, show_all, show_one
    from hobbes.worlds import WORLDS

    worlds = [options.find_world(world)] if world else list(WORLDS.values())
    described = [about(one) for one in worlds]
    if as_json:
        print_json(described[0] if world else {one["world"]: one for one in described})
    else:
        OUT.print(show_one(described[0]) if world else show_all(described))


class StepCommand(options.NamesWorlds):
    """The command `step`; its help lists the events of every world, which are imported only for that."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  typer does not export the types
        """Write the help text with all events."""
        from hobbes.worlds import WORLDS

        events = (
            f"Events of {world.name}:\n\n\b\n"
            + "\n".join(f"{kind}: {meaning}" for kind, meaning in world.telling.events.items())
            for world in WORLDS.values()
        )
        self.help = "\n\n".join([self.help or "", *events])
        super().format_help_text(ctx, formatter)


@app.command(context_settings=options.ENV, cls=StepCommand, rich_help_panel=DATA)
def step(world: options.WorldName) -> None:
    """Run the engine alone, with JSON Lines in and out.

    It reads one request per line, writes one result per line, and touches no file.

    Example: echo '{"agents": ["A"], "answers": {"A": {"claim": [[0, 0]]}}}' | hobbes step mining
    """
    from hobbes.play.step import step_lines

    lines = (line.decode(errors="surrogateescape") for line in sys.stdin.buffer)
    for line in step_lines(options.find_world(world), lines):
        print(line, flush=True)  # noqa: T201  JSON Lines


@app.command(context_settings=options.ENV, rich_help_panel=PLAY)
def tournament(
    games: Annotated[int, typer.Option(min=1, max=1_000, help="the number of games of each pair")] = 20,
    seed: Annotated[int, typer.Option(help="the seed of the first game of each pair; the others follow")] = 1,
    settings: options.Settings = None,
    as_json: options.AsJson = False,
) -> None:
    """Rank the scripted policies of trust: everybody plays against everybody.

    This is short for an experiment with the design `pairs` (docs/experiments.md) whose games are not
    recorded. It ranks the policies by wins and by sats. 20 games of each pair take some seconds, depending on
    the cores of the machine; a bar on stderr shows the progress.

    Example: hobbes tournament --games 100 --set miss=5
    """
    from rich.progress import track

    from hobbes.engine.telling import counted
    from hobbes.experiment.ranking import rankings
    from hobbes.experiment.statistics import check_installed, to_json
    from hobbes.experiment.tournament import play_games, tournament_file
    from hobbes.show.curves import rankings as sections
    from hobbes.show.documents import Document, printed
    from hobbes.show.terminal import ERR, OUT, print_json

    check_installed()
    file = tournament_file(games, seed, options.parse_settings(settings))
    total = games * len(file.arms)
    found = rankings(track(play_games(file), "games", total, console=ERR, transient=True))
    if as_json:
        print_json(to_json(found))
    else:
        played = f"{counted(len(file.arms), 'pair')}, {counted(games, 'game')} each"
        title = f"{file.name} in {file.world}: {played}"
        OUT.print(printed(Document(title, [*sections(found, options.find_world(file.world).measures.score)])))


@app.command(context_settings=options.ENV, rich_help_panel=PLAY)
def serve(
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="the port; 0 picks a free one")] = 8765,
    delay: Annotated[float, typer.Option(min=0, help="how many seconds each answer takes")] = 0.0,
) -> None:
    """Run the stand-in server for chat completions.

    Scripted policies answer the requests.

    Example: hobbes serve --port 8765, then
    OPENAI_BASE_URL=http://127.0.0.1:8765/v1 hobbes run mining --model openai:policy/guided
    """
    from hobbes.wire.stand_in import listen

    listen(host, port, delay)


@app.command(context_settings=options.ENV, rich_help_panel=HELP)
def doctor(
    models: options.ModelsFile = None, home: options.Home = options.HOME, as_json: options.AsJson = False
) -> None:
    """Check the installation, the environment and the server.

    It shows whether an API key and a base URL are set, but never the key, and asks the server for its models.
    It does the same for each model of the models file.

    Example: hobbes doctor
    """
    from hobbes.play.models_file import read_models
    from hobbes.show.terminal import OUT, plain, print_json
    from hobbes.wire.doctor import examine

    left_out: dict[str, list[str]] = {}
    if (home / "runs.db").exists():
        with suppress(HobbesError), options.open_home(home) as store:  # a run database of another version
            left_out = store.figures.left_out()
    found = examine(home, read_models(home, models), left_out)
    if as_json:
        print_json(found)
    else:
        OUT.print(plain("\n".join(_of_doctor(found))))
    servers = [found["server"], *(model["server"] for model in found["models"].values())]
    if any(server.startswith("does not answer") for server in servers) or not found["home_writable"]:
        sys.exit(1)


@app.command("models", context_settings=options.ENV, rich_help_panel=HELP)
def list_models(
    models: options.ModelsFile = None, home: options.Home = options.HOME, as_json: options.AsJson = False
) -> None:
    """List the models of the models file: server, key variable, parameters, limits and price.

    It shows whether each key is set, but never a key, and asks no server.

    Example: hobbes models --models models.toml
    """
    from hobbes.play.models_file import FILE, models_json, read_models
    from hobbes.show.terminal import OUT, plain, print_json, table
    from hobbes.store.prices import prices_of

    found = models_json(read_models(home, models), prices_of(home))
    if as_json:
        print_json(found)
    elif found:
        for name, one in found.items():
            OUT.print(table("", (name, ""), _of_model(one)))
    else:
        file = models or home / FILE
        what = f"{file} has no models" if file.exists() else f"there is no {file}"
        OUT.print(plain(f"{what}; docs/models.md says what to write into it"))


def _of_doctor(examined: dict[str, Any]) -> Iterator[str]:
    """Yield what the doctor found, line by line."""
    for name, value in examined.items():
        if name == "models":
            for model, state in value.items():
                refused = f"; was asked {state['left_out']}" if state["left_out"] != "nothing" else ""
                where = f"base_url: {state['base_url']}; key: {state['key']}"
                yield f"model {model}: {state['server']}; {where}{refused}"
        elif isinstance(value, dict):
            yield f"{name}: {', '.join(f'{inner} {said}' for inner, said in value.items())}"
        else:
            yield f"{name}: {value if isinstance(value, str) else json.dumps(value)}"


def _of_model(model: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what there is to say about a model, as rows of two cells."""
    from hobbes.nodes.models import SENT

    limits = (
        f"{model['parallel']} at once",
        f"{model['timeout']:g} seconds each",
        *(
            f"{model[name]} {what} a minute"
            for name, what in (("calls_per_minute", "calls"), ("tokens_per_minute", "tokens"))
            if name in model
        ),
    )
    rates = ", ".join(f"${rate:g} {kind.replace('_', ' ')}" for kind, rate in (model["price"] or {}).items())
    parameters = [
        f"{name} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name in (*SENT, "extra_body", "response_format")
        if (value := model.get(name)) not in (None, {})
    ]
    return [
        ("model", model["model"]),
        ("base URL", model.get("base_url", "that of OPENAI_BASE_URL, or OpenAI's own")),
        ("key", f"{model['key']} ({'set' if model['key_set'] else 'not set'})" if model["key"] else "none"),
        ("parameters", ", ".join(parameters)),
        ("limits", ", ".join(limits)),
        ("price", f"{rates} per million tokens, by {model['price_source']}" if rates else "unknown"),
    ]
