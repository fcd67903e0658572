"""What a shell offers when somebody types a command: worlds, prompts and policies."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from hobbes.engine.world import AnyWorld


def worlds() -> list[str]:
    """Return the names of the worlds."""
    from hobbes.worlds import WORLDS

    return list(WORLDS)


def variants(ctx: typer.Context) -> Iterator[str]:
    """Yield the prompts of the world that was typed."""
    from hobbes.nodes.prompting import variants as variants_of

    if world := _world(ctx):
        yield from variants_of(world)


def models(ctx: typer.Context) -> Iterator[str]:
    """Yield the scripted policies of the world that was typed, and the models of the usual models file."""
    from hobbes.errors import HobbesError
    from hobbes.play.models_file import read_models
    from hobbes.store.command_line import usual_home

    if world := _world(ctx):
        yield from (f"policy:{name}" for name in world.policies.by_name)
    try:
        yield from read_models(usual_home())
    except HobbesError:  # the command itself will say it
        return


def _world(ctx: typer.Context) -> "AnyWorld | None":
    """Return the world that was typed. After an option without its value, it is among the other words."""
    from hobbes.worlds import WORLDS

    typed = [ctx.params.get("world"), *ctx.args]
    return next((WORLDS[word] for word in typed if isinstance(word, str) and word in WORLDS), None)
