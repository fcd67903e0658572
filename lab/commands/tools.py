"""The commands beside runs: `step`, `tournament`, `serve`, `doctor`."""

import sys
from typing import Annotated

import typer

from engine.worlds import WORLDS
from lab.commands.options import ENV, HOME, AsJson, Home, Settings, WorldName, setting, world_asked
from lab.show.terminal import OUT, json_text, print_json

app = typer.Typer()


STEP_HELP = "\n\n".join(
    [
        "Play the engine alone: one JSON object a line in, one a line out.",
        """Example: echo '{"agents": ["A"], "answers": {"A": {"claim": [[0, 0]]}}}' | hobbes step mining""",
        *(
            f"Events of {world.name}:\n\n\b\n"
            + "\n".join(f"{kind}: {told}" for kind, told in world.events.items())
            for world in WORLDS.values()
        ),
    ]
)


@app.command(context_settings=ENV, help=STEP_HELP)
def step(world: WorldName) -> None:
    """Play the engine alone, JSON Lines in and out."""
    from lab.play.stepping import step_lines

    for line in step_lines(world_asked(world), sys.stdin):
        print(line, flush=True)  # noqa: T201  JSON Lines


@app.command(context_settings=ENV)
def tournament(
    games: Annotated[int, typer.Option(min=1, help="games of each pair")] = 200,
    seed: Annotated[int, typer.Option(help="the tournament's luck")] = 1,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Let trust's comparators play a round-robin: a payoff matrix, ranks and intervals.

    Example: hobbes tournament --games 200 --set miss=5
    """
    from lab.play.tournament import play, show

    standing, seconds = play(games, seed, dict(setting(text) for text in settings or ()))
    if as_json:
        print_json(standing.to_json())
    else:
        show(standing, seconds)


@app.command(context_settings=ENV)
def serve(
    host: Annotated[str, typer.Option(help="the address to listen at")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="the port; 0 takes a free one")] = 8765,
    delay: Annotated[float, typer.Option(min=0, help="seconds that each answer takes")] = 0.0,
    faults: Annotated[
        str,
        typer.Option(help="what goes wrong: NAME=SHARE,NAME=SHARE (docs/failures.md), or one SHARE of all"),
    ] = "",
) -> None:
    """Serve chat completions with the policies behind them; /stats tells what was done to each call.

    Example: hobbes serve --port 8765 --faults 'html-502=0.1,cut-in-body=0.05', then
    OPENAI_BASE_URL=http://127.0.0.1:8765/v1 hobbes run mining --model openai:policy/guided
    """
    from lab.wire.faults import parse_faults
    from lab.wire.serving import listen

    listen(host, port, delay, parse_faults(faults))


@app.command(context_settings=ENV)
def doctor(home: Home = HOME, as_json: AsJson = False) -> None:
    """Say what is installed, which key and base URL are seen, and whether the server answers.

    Example: hobbes doctor
    """
    from lab.wire.doctor import examine

    found = examine(home)
    if as_json:
        print_json(found)
    else:
        OUT.print(json_text(found))
    if found["server"].startswith("does not answer") or not found["home_writable"]:
        sys.exit(1)
