"""The commands about prompts: `prompts list`, `show`, `copy`, `render`, `diff`, `check`."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hobbes.commands import options
from hobbes.errors import UsageError

if TYPE_CHECKING:
    from hobbes.play.render import PromptQuestion
    from hobbes.store.home import Store

app = typer.Typer(
    name="prompts", help="List, show, copy, render, compare and check the prompts.", no_args_is_help=True
)

AtTurn = Annotated[int, typer.Option(min=0, help="a turn, counted from 0")]
OfAgent = Annotated[str | None, typer.Option(help="an agent, or observer; by default the first agent")]
InRun = Annotated[str | None, typer.Option(help="take state and memories from this run, and its settings")]
RunsLang = Annotated[str | None, typer.Option(help="en or zh; by default that of the run, or en")]
Variant = Annotated[str, typer.Argument(help=options.VARIANT)]
Lang = Annotated[str, typer.Option(help="en or zh")]


@app.command("list", context_settings=options.ENV)
def prompts_list(world: options.AnyWorldName = None, as_json: options.AsJson = False) -> None:
    """List the prompt variants of each world, or of one: languages, and how much their advice gives away.

    Example: hobbes prompts list mining
    """
    from hobbes.nodes import prompting
    from hobbes.show.terminal import OUT, print_json, table
    from hobbes.worlds import WORLDS

    worlds = [options.find_world(world)] if world else list(WORLDS.values())
    by_world: dict[str, dict[str, Any]] = {
        each.name: {
            variant: {
                "languages": prompting.languages(each.name, variant),
                "advice": None,
                "about": None,
                **prompting.about(each.name, variant),
            }
            for variant in prompting.variants(each)
        }
        for each in worlds
    }
    if as_json:
        print_json(by_world)
        return
    rows = [
        (name, variant, " ".join(row["languages"]), row["advice"], row["about"])
        for name, of_world in by_world.items()
        for variant, row in of_world.items()
    ]
    OUT.print(table("", ("world", "variant", "languages", "advice", "about"), rows))


@app.command("show", context_settings=options.ENV)
def prompts_show(
    world: options.WorldName, variant: Variant, lang: Lang = "en", as_json: options.AsJson = False
) -> None:
    """Show the templates of a variant, with their includes inserted.

    Example: hobbes prompts show mining guided
    """
    from hobbes.play.render import prompts_for
    from hobbes.show.terminal import OUT, card, plain, print_json

    prompts = prompts_for(options.find_world(world), variant, lang)
    texts = {"system": prompts.system, "turn": prompts.turn}
    if prompts.observer:
        texts["observer"] = prompts.observer
    if as_json:
        print_json(texts)
    else:
        OUT.print(card(f"{world} {variant} {lang}", [(part, plain(text)) for part, text in texts.items()]))


@app.command("copy", context_settings=options.ENV)
def prompts_copy(
    world: options.WorldName,
    variant: Variant,
    folder: Annotated[Path, typer.Argument(help="the folder to create")],
) -> None:
    """Copy a variant to a folder of your own, to edit it there, in all its languages.

    What variants share stands in the copy itself, which so needs no other file.

    Example: hobbes prompts copy mining unguided mine
    """
    from hobbes.nodes.prompt_set import is_path
    from hobbes.play.render import copy_prompts
    from hobbes.show.terminal import next_step, say

    say(f"wrote {', '.join(copy_prompts(options.find_world(world), variant, folder))}")
    path = str(folder) if is_path(str(folder)) else f"./{folder}"
    next_step(shlex.join(["hobbes", "run", world, "--prompts", path]))


@app.command("render", context_settings=options.ENV)
def prompts_render(  # noqa: PLR0913, PLR0917  a parameter per option
    world: options.WorldName,
    turn: AtTurn = 0,
    agent: OfAgent = None,
    run: InRun = None,
    agents: options.Agents = None,
    rounds: options.Rounds = None,
    seed: options.Seed = None,
    model: options.Model = None,
    prompts: options.Prompts = None,
    lang: RunsLang = None,
    observer: options.ObserverSpec = None,
    settings: options.Settings = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Print the exact prompt of a turn without sending it.

    The prompt goes to stdout. Its approximate token counts go to stderr, with the share of the prompt that is
    the same for all agents and turns, which a provider can keep in its cache.

    With --run, the earlier turns are those of the run. Without it, scripted policies play them: an agent's
    own policy if --model gives it one, or else the world's default policy. So if chat models are to play, the
    prompt of turn 0 is exact, and a later one shows what the default policy would have led to.

    With --agent observer, print what an observer that is a model is sent about the requests of the turn.
    Without --run, scripted policies make these requests, too.

    Example: hobbes prompts render mining --turn 3 --agent miner-01 --agents 6 --set communication=true
    """
    from rich.text import Text

    from hobbes.nodes.journal import sent_only_view
    from hobbes.play.render import token_counts
    from hobbes.show.terminal import ERR, percent, print_json

    own = {"agents": agents, "seed": seed, "models": model}
    values = options.parse_settings(settings, rounds=rounds, observer=observer)
    with options.open_home(home) as store:
        question = find_question(
            store, world, turn, agent, run=run, variant=prompts, lang=lang, settings=values, **own
        )
        prompts_now = question.load_prompts()
        prompt = question.render(prompts_now)
    parts = {"system": prompt.system, "turn": prompt.turn}
    tokens = token_counts(prompt, question.fixed_words(prompts_now, prompt))
    if as_json:
        print_json({**parts, "tokens": tokens})
        return
    if run is not None and (program := sent_only_view(question.player)):
        ERR.print(Text(f"in the run, {question.agent} was played by {program}", style="bold"))
    for part, text in parts.items():
        ERR.print(Text(f"--- {part}, about {tokens[part]} tokens", style="dim"))
        print(text)  # noqa: T201  rich would wrap it
    kept = percent(tokens["cacheable"]) if tokens["cacheable"] else "nothing of it, since it is too short"
    shared = f"about {percent(tokens['shared'])} of the prompt is the same for all agents and turns"
    ERR.print(Text(f"{shared}; a provider can keep in its cache: {kept}"))


def find_question(  # noqa: PLR0913  what decides a question
    store: "Store",
    world: str,
    turn: int,
    agent: str | None,
    *,
    run: str | None,
    variant: str | None,
    lang: str | None,
    settings: dict[str, Any],
    **of_new_run: int | str | None,
) -> "PromptQuestion":
    """Return the question that the options of `prompts render` ask for.

    `settings` and `of_new_run` (agents, seed and models) are options of a run that is not played yet.
    """
    from hobbes.play.models_file import read_models
    from hobbes.play.render import question_in_new_run, question_in_run
    from hobbes.store.policy_games import with_turns

    agent = agent or options.find_world(world).names(1)[0]
    if run is None:
        asked = options.run_options(world, settings, prompts=variant, lang=lang, **of_new_run)
        return question_in_new_run(asked, turn, agent, read_models(store.home))
    if settings or any(value is not None for value in of_new_run.values()):
        raise UsageError("--run takes its settings from the run; leave out --agents, --rounds, --seed, ...")
    stored = with_turns(store, store.runs.find(run))
    if stored.world.name != world:
        raise UsageError(f"--run: run {stored.label} is a run of {stored.world.name}, not of {world}")
    return question_in_run(store, stored, turn, agent, variant=variant, lang=lang)


@app.command("diff", context_settings=options.ENV)
def prompts_diff(
    world: options.WorldName, one: Variant, other: Variant, lang: Lang = "en", as_json: options.AsJson = False
) -> None:
    """Show the differences between two variants.

    Example: hobbes prompts diff mining unguided guided
    """
    from hobbes.play.render import prompts_for
    from hobbes.prove.record_difference import diff_of
    from hobbes.show.terminal import print_json, say

    ours, theirs = (prompts_for(options.find_world(world), variant, lang) for variant in (one, other))
    diffs = {"system": diff_of(ours.system, theirs.system), "turn": diff_of(ours.turn, theirs.turn)}
    if as_json:
        print_json(diffs)
    else:
        say("".join(diffs.values()) or "no differences")


@app.command("check", context_settings=options.ENV)
def prompts_check(
    world: options.AnyWorldName = None,
    variant: Annotated[str | None, typer.Argument(help=options.VARIANT)] = None,
    as_json: options.AsJson = False,
) -> None:
    """Check the prompt files for mistakes.

    Placeholders, all combinations of settings, and the languages against each other are checked. A number
    that is no placeholder is a warning.

    Example: hobbes prompts check mining guided
    """
    from hobbes.engine.telling import counted
    from hobbes.play.prompt_checks import check_variants
    from hobbes.show.terminal import print_json, say
    from hobbes.worlds import WORLDS

    found = check_variants([options.find_world(world)] if world else [*WORLDS.values()], variant)
    if as_json:
        print_json(found._asdict())
    else:
        for line in (*found.problems, *(f"warning: {warning}" for warning in found.warnings)):
            say(line)
        counts = f"{counted(len(found.problems), 'problem')}, {counted(len(found.warnings), 'warning')}"
        say(f"{len(found.checked)} checked, {counts}")
    if found.problems:
        sys.exit(1)
