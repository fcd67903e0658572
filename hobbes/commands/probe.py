"""The commands that try prompts in recorded situations: `probe`, `probe add`, `probe show`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hobbes.commands import options
from hobbes.commands.play import MaxCalls, MaxTokens, MaxUsd
from hobbes.errors import INTERRUPTED, UsageError

SUFFIX = ".toml"
"""How the name of a file of situations ends, and that of no run."""

ASK = "ask"
"""The command that `hobbes probe RUN` stands for."""

Turns = Annotated[list[str] | None, options.text("turns of the runs, such as 3,7 or 3-5; by default all")]
Agents = Annotated[list[str] | None, options.text("agents, separated by commas; by default all that act")]
Where = Annotated[
    str | None, options.text("only situations in which the recorded decision has this act, such as raid")
]


class ProbeGroup(TyperGroup):
    """The group `probe`, whose first word may be a run or a file in place of a command."""

    default = ASK

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  typer does not export the types
        """Read the words of the command, of which `ask` may be left out."""
        if args and args[0] not in {*self.commands, "--help"}:
            args = [ASK, *args]
        words: list[str] = super().parse_args(ctx, args)
        return words


app = typer.Typer(
    name="probe",
    cls=ProbeGroup,
    help=(
        "Ask about recorded situations with other prompts and models.\n\n"
        "`hobbes probe RUN ...` is short for `hobbes probe ask RUN ...`."
    ),
    no_args_is_help=True,
)


@app.command(ASK, context_settings=options.ENV)
def ask(  # noqa: PLR0913, PLR0917  a parameter per option
    sources: Annotated[
        list[str], typer.Argument(metavar="RUN|FILE.toml...", help="recorded runs, or files of situations")
    ],
    turns: Turns = None,
    agents: Agents = None,
    where: Where = None,
    prompts: Annotated[
        list[str] | None, options.text(f"prompts to try, separated by commas: each {options.VARIANT}")
    ] = None,
    paraphrases: Annotated[list[str] | None, options.text("rewordings to try: prompts, or `shipped`")] = None,
    model: Annotated[
        list[str] | None,
        options.text(
            "chat models to ask, separated by commas; by default the one that plays the agent",
            "--model",
            "--models",
        ),
    ] = None,
    lang: Annotated[list[str] | None, options.text("languages to try, separated by commas")] = None,
    settings: options.Settings = None,
    times: Annotated[
        int | None,
        typer.Option(min=1, max=1_000, help="how often each question is asked; by default 10, or as before"),
    ] = None,
    name: Annotated[
        str | None, options.text("the name of the probe, required; called again, it goes on")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="say what would be asked and what it would cost; ask nothing")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask before it costs money")] = False,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Ask about recorded situations again, several times, with other prompts, models or settings.

    Nothing is played on. The prompt that the run itself used is always asked, too, as the column `recorded`.
    Called again with the same name, it asks only what is missing. A prompt whose words have changed is a new
    column.
    The result says how often each act occurs, and what differs. The caps hold over all calls of the probe.
    The exit code is 1 if no call brought a decision.

    Example: hobbes probe baseline --turns 3,7 --prompts ./mine --times 10 --name peaceful
    """
    from hobbes.loop import play_out
    from hobbes.nodes.caps import Caps
    from hobbes.probe.asker import asking, kept_calls, missing
    from hobbes.probe.probe_plan import cost
    from hobbes.probe.sentences import plan_in_words, plan_json
    from hobbes.probe.situations import pick_from_runs, read_probe_file, with_options
    from hobbes.probe.versions import plan_version
    from hobbes.show.probe_reports import show_probe
    from hobbes.show.progress import watched_answers
    from hobbes.show.terminal import print_json, remark, say

    caps = Caps(max_calls, max_tokens, max_usd)
    given = {
        "prompts": options.split_list(prompts),
        "paraphrases": options.split_list(paraphrases),
        "model": options.split_list(model),
        "lang": options.split_list(lang),
        "set": options.parse_settings(settings),
        "times": times,
        "name": name,
    }
    with options.open_home(home, writes=not dry_run) as store:
        files = [read_probe_file(Path(source)) for source in sources if source.endswith(SUFFIX)]
        runs = [source for source in sources if not source.endswith(SUFFIX)]
        numbers = options.turn_numbers(",".join(turns)) if turns else None
        picked = pick_from_runs(store, runs, numbers, options.split_list(agents), where)
        probe = with_options(files, given, picked)
        planned = plan_version(store, probe, caps)
        if probe.prompts and len(planned.columns) == 1:
            raise UsageError(f"{'; '.join(planned.notes)}, and nothing would be compared; edit it first")
        if dry_run:
            expected = cost(store, planned, missing(planned, kept_calls(store, planned)))
            if as_json:
                print_json(plan_json(planned, expected))
            else:
                say(plan_in_words(planned, expected))
            return
        if not probe.name:
            raise UsageError("--name: give the probe a name, under which it is kept")
        with asking(store, planned, caps) as asker:
            expected = cost(store, planned, missing(planned, asker.kept))
            remark(plan_in_words(planned, expected))
            if expected.may_cost and not yes:
                options.agree("Ask it?", "nothing was asked")
            try:
                with watched_answers(asker.meter, len(planned.cells) * planned.times) as on_answer:
                    play_out(asker.ask_all(on_answer))
            except KeyboardInterrupt:
                remark("stopped; the same command goes on with the probe")
                sys.exit(INTERRUPTED)
        if not show_probe(store, planned.name, as_json=as_json).has_decisions:
            sys.exit(1)


@app.command("add", context_settings=options.ENV)
def add(  # noqa: PLR0913, PLR0917  a parameter per option
    run: options.RunName,
    turn: Annotated[int, typer.Argument(min=0, help="a turn, counted from 0")],
    agent: Annotated[str, typer.Argument(help="an agent that acts in this turn")],
    to: Annotated[Path, typer.Option(help="the file of situations")],
    note: Annotated[str, typer.Option(help="what the situation is about")] = "",
    home: options.Home = options.HOME,
) -> None:
    """Add a situation to a file, which `hobbes probe FILE` asks about.

    Example: hobbes probe add baseline 3 miner-03 --to situations.toml --note 'raided in the turn before'
    """
    from hobbes.engine.telling import counted
    from hobbes.probe import situations
    from hobbes.show.terminal import say

    with options.open_home(home) as store:
        situation = situations.find(store, situations.Situation(run=run, turn=turn, agent=agent, note=note))
        count = situations.add(to, situations.with_run_name(store, situation))
    say(f"{to} has {counted(count, 'situation')}")


@app.command("show", context_settings=options.ENV)
def show(  # noqa: PLR0913, PLR0917  a parameter per option
    probe: Annotated[
        str | None, typer.Argument(help="the name of a probe; without it, all are listed")
    ] = None,
    situation: Annotated[str | None, typer.Argument(help="the number of a situation")] = None,
    column: Annotated[
        str | None, typer.Argument(help="a column; by default, the one in which most changes")
    ] = None,
    answer: Annotated[
        int | None,
        typer.Argument(help="the number of an answer, shown with the command that plays on from it"),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="print it as Markdown")] = False,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Show what a probe found, the answers to one of its situations side by side, or one of these.

    Example: hobbes probe show peaceful 2
    """
    from hobbes.show.probe_reports import show_answers, show_probe
    from hobbes.show.terminal import print_json, say
    from hobbes.store.probe_tables import probe_names

    with options.open_home(home) as store:
        if probe is None:
            names = probe_names(store)
            if as_json:
                print_json(names)
            else:
                say("\n".join(names) or "no probes yet; `hobbes probe RUN --name NAME` asks one")
        elif situation is None:
            show_probe(store, probe, as_json=as_json, markdown=markdown)
        else:
            show_answers(store, probe, situation, column, answer, as_json=as_json)
