"""The commands about prompts: `prompts list`, `show`, `render`, `diff`, `check`."""

import sys
from typing import Annotated

import typer

from lab.commands import completion
from lab.commands.options import (
    ENV,
    HOME,
    VARIANT,
    Agents,
    AnyWorldName,
    AsJson,
    Home,
    Model,
    NamesWorlds,
    ObserverSpec,
    Prompts,
    Rounds,
    Seed,
    Settings,
    WorldName,
    opened,
    run_options,
    settings_asked,
    world_asked,
)
from lab.errors import UsageError

app = typer.Typer(
    name="prompts", help="List, show, render, compare and check the prompts.", no_args_is_help=True
)

Variant = Annotated[str, typer.Argument(autocompletion=completion.variants, help=VARIANT)]
Lang = Annotated[str, typer.Option(help="en or zh")]


@app.command("list", context_settings=ENV, cls=NamesWorlds)
def prompts_list(world: AnyWorldName = None, as_json: AsJson = False) -> None:
    """List the prompt variants of each world, or of one: languages, and how much their advice gives away.

    Example: hobbes prompts list mining
    """
    from engine.worlds import WORLDS
    from lab.show.terminal import OUT, print_json, table
    from nodes.prompting import about, languages, variants

    found = {
        one.name: {
            variant: {"languages": languages(one.name, variant), "advice": None, "about": None}
            | about(one.name, variant)
            for variant in variants(one)
        }
        for one in ([world_asked(world)] if world else WORLDS.values())
    }
    if as_json:
        print_json(found)
        return
    rows = [
        (name, variant, " ".join(said["languages"] or ()), said["advice"] or "", said["about"] or "")
        for name, of_world in found.items()
        for variant, said in of_world.items()
    ]
    OUT.print(table("", ("world", "variant", "languages", "advice", "about"), rows))


@app.command("show", context_settings=ENV, cls=NamesWorlds)
def prompts_show(world: WorldName, variant: Variant, lang: Lang = "en", as_json: AsJson = False) -> None:
    """Show the templates of a variant, with their includes inserted.

    Example: hobbes prompts show mining guided
    """
    from lab.play.rendering import prompts_for
    from lab.show.terminal import OUT, card, plain, print_json

    prompts = prompts_for(world_asked(world), variant, lang)
    texts = {"system": prompts.system, "turn": prompts.turn}
    if prompts.observer:
        texts["observer"] = prompts.observer
    if as_json:
        print_json(texts)
    else:
        OUT.print(
            card(
                f"{world} {variant} {lang}",
                [(part, plain(text)) for part, text in texts.items()],
            )
        )


@app.command("render", context_settings=ENV, cls=NamesWorlds)
def prompts_render(  # noqa: PLR0913, PLR0917  a parameter per option
    world: WorldName,
    turn: Annotated[int, typer.Option(min=0, help="a turn, counted from 0")] = 0,
    agent: Annotated[
        str | None, typer.Option(help="an agent, or observer; by default the first agent")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion.runs, help="take state and memories from this run, and its settings"
        ),
    ] = None,
    agents: Agents = None,
    rounds: Rounds = None,
    seed: Seed = None,
    model: Model = None,
    prompts: Prompts = None,
    lang: Annotated[str | None, typer.Option(help="en or zh; by default that of the run, or en")] = None,
    observer: ObserverSpec = None,
    settings: Settings = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Print the exact prompt of a turn without sending it.

    The prompt goes to stdout, its approximate token counts go to stderr.

    With --run, the turns before are those of the run. Without it, scripted policies play them: those of
    --model and, in the place of each model, the world's default policy. So if models play, the prompt of
    turn 0 is exact, and a later one shows what the default policy would have led to.

    With --agent observer, print what an observer that is a model is sent about the requests of the turn.
    Without --run, scripted policies make these requests, too.

    Example: hobbes prompts render mining --turn 3 --agent miner-01 --agents 6 --set communication=true
    """
    from rich.text import Text

    from lab.play.modelsfile import read_models
    from lab.play.rendering import render_in_run, render_new
    from lab.show.terminal import ERR, print_json
    from nodes.prompting import approximate_tokens

    who = agent or world_asked(world).names(1)[0]
    own = {"agents": agents, "seed": seed, "models": model}
    values = settings_asked(settings, rounds=rounds, observer=observer)
    if run is None:
        options = run_options(world, values, prompts=prompts, lang=lang, **own)
        prompt = render_new(options, turn, who, read_models(home))
    elif values or any(value is not None for value in own.values()):
        raise UsageError("--run takes its settings from the run; leave out --agents, --rounds, --seed, ...")
    else:
        with opened(home) as store:
            prompt = render_in_run(store, store.find(run), turn, who, (prompts, lang))
    tokens = {"system": approximate_tokens(prompt.system), "turn": approximate_tokens(prompt.turn)}
    if as_json:
        print_json({"system": prompt.system, "turn": prompt.turn, "tokens": tokens})
        return
    for part, text in (("system", prompt.system), ("turn", prompt.turn)):
        ERR.print(Text(f"--- {part}, about {tokens[part]} tokens", style="dim"))
        print(text)  # noqa: T201  rich would wrap it


@app.command("diff", context_settings=ENV, cls=NamesWorlds)
def prompts_diff(
    world: WorldName, one: Variant, other: Variant, lang: Lang = "en", as_json: AsJson = False
) -> None:
    """Show the differences between two variants.

    Example: hobbes prompts diff mining unguided guided
    """
    from lab.play.rendering import prompts_for
    from lab.proof.replaying import diff_of
    from lab.show.terminal import OUT, plain, print_json

    ours, theirs = (prompts_for(world_asked(world), variant, lang) for variant in (one, other))
    diffs = {"system": diff_of(ours.system, theirs.system), "turn": diff_of(ours.turn, theirs.turn)}
    if as_json:
        print_json(diffs)
    else:
        OUT.print(plain("".join(diffs.values())), soft_wrap=True)


@app.command("check", context_settings=ENV, cls=NamesWorlds)
def prompts_check(
    world: AnyWorldName = None,
    variant: Annotated[str | None, typer.Argument(autocompletion=completion.variants, help=VARIANT)] = None,
    as_json: AsJson = False,
) -> None:
    """Check the prompt files for mistakes.

    Placeholders, all combinations of settings, and the languages against each other are checked. A number
    that is no placeholder, and a sentence about rules that no mark covers, are warnings.

    Example: hobbes prompts check mining guided
    """
    from rich.text import Text

    from engine.worlds import WORLDS
    from lab.show.terminal import OUT, plain, print_json
    from nodes.prompt_warnings import prompt_warnings
    from nodes.prompting import PromptError, check_prompts, languages, load_prompts, variants

    checked: list[str] = []
    # Each one once, although variants share files, and a difference of languages shows in both.
    problems: dict[str, None] = {}
    warnings: dict[str, None] = {}
    for one in [world_asked(world)] if world else WORLDS.values():
        for name in [variant] if variant else variants(one):
            for lang in languages(one.name, name) or ("en",):
                checked.append(f"{one.name} {name} {lang}")
                try:
                    problems |= dict.fromkeys(check_prompts(one, load_prompts(one, name, lang)))
                    warnings |= dict.fromkeys(prompt_warnings(one, name, lang))
                except PromptError as error:
                    problems[str(error)] = None
    if as_json:
        print_json({"checked": checked, "problems": list(problems), "warnings": list(warnings)})
    else:
        for line in (*problems, *(f"warning: {warning}" for warning in warnings)):
            OUT.print(plain(line), soft_wrap=True)
        OUT.print(Text(f"{len(checked)} checked, {len(problems)} problems, {len(warnings)} warnings"))
    if problems:
        sys.exit(1)
