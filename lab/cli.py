"""The commands. Each is a few lines over the module that does the work."""

# Commands import what they need when they are called: `hobbes --help` must not wait for LangGraph.
# ruff: noqa: PLC0415

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from engine.world import OBSERVER
from engine.worlds import WORLDS, world_named
from lab.errors import HaltedRunError, LabError, UsageError
from lab.show import ERR, OUT, card, json_text, matrix, percent, picture, plain, print_json, summary, table

if TYPE_CHECKING:
    from engine.world import AnyWorld
    from lab.records import Records, Run

ENV = {"auto_envvar_prefix": "HOBBES"}

app = typer.Typer(
    name="hobbes",
    help="Language models play small societies without a state; see what happens and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
prompts_app = typer.Typer(help="List, show, render and check the prompts.", no_args_is_help=True)
app.add_typer(prompts_app, name="prompts")

Home = Annotated[Path, typer.Option(help="the folder of runs.db and checkpoints.db")]
AsJson = Annotated[
    bool, typer.Option("--json", envvar="HOBBES_JSON", help="print one JSON document on stdout")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", envvar="HOBBES_SET", help="key=value, or key=@FILE.json; repeatable"),
]
RunName = Annotated[str, typer.Argument(help="a run's id, a unique prefix of it, its name, or `last`")]
MaxCalls = Annotated[int | None, typer.Option(min=1, help="stop before more calls than this")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="stop once so many tokens, in and out, are spent")]
MaxUsd = Annotated[float | None, typer.Option(min=0, help="stop once so much is spent (lab/prices.toml)")]
MaxSeconds = Annotated[float | None, typer.Option(min=0, help="stop after so much time, over all resumes")]
HOME = Path(".hobbes")


def main() -> None:
    """Run a command; what is wrong is said in one line."""
    try:
        app()
    except UsageError as error:
        _complain(error)
        sys.exit(2)
    except LabError as error:
        _complain(error)
        sys.exit(1)


def _complain(error: LabError) -> None:
    ERR.print(Text("hobbes: ", style="bold").append_text(plain(str(error))), soft_wrap=True)


@contextmanager
def _records(home: Path) -> "Iterator[Records]":
    from lab.records import records

    with records(home) as opened:
        yield opened


def _world(name: str) -> "AnyWorld":
    try:
        return world_named(name)
    except ValueError as error:
        raise UsageError(str(error)) from error


@app.command(context_settings=ENV)
def run(  # noqa: PLR0913, PLR0917  the options that interfaces.md names
    world: Annotated[str, typer.Argument(help=f"{', '.join(WORLDS)}, or a FILE.toml")],
    agents: Annotated[int | None, typer.Option(min=1, help="how many agents")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="how many turns")] = None,
    seed: Annotated[int | None, typer.Option(help="the run's luck")] = None,
    model: Annotated[
        str | None, typer.Option(help="openai:NAME, policy:NAME?noise=0.1, or SPEC*N,SPEC*N")
    ] = None,
    prompts: Annotated[str | None, typer.Option(help="a variant; see `hobbes prompts list`")] = None,
    lang: Annotated[str | None, typer.Option(help="en or zh")] = None,
    observer: Annotated[
        str | None, typer.Option(help="who rules on begging in trust: never, always, human, openai:NAME, ...")
    ] = None,
    settings: Settings = None,
    name: Annotated[str | None, typer.Option(help="a name to call the run by")] = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_seconds: MaxSeconds = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Play a run.

    Example: hobbes run mining --agents 10 --rounds 50 --model 'policy:guided?noise=0.1'
    """
    from lab.playing import Request, begin
    from lab.runfile import read_run_file
    from nodes.caps import Caps

    asked = read_run_file(Path(world)) if world.endswith(".toml") else Request(world)
    values = {**asked.values, **dict(_setting(text) for text in settings or ())}
    values |= {k: v for k, v in {"rounds": rounds, "observer": observer}.items() if v is not None}
    said: dict[str, Any] = {
        "agents": agents,
        "seed": seed,
        "models": model,
        "prompts": prompts,
        "lang": lang,
        "name": name,
    }
    request = replace(asked, values=values, **{k: v for k, v in said.items() if v is not None})
    with _records(home) as records:
        begun = begin(records, request, Caps(max_calls, max_tokens, max_usd, max_seconds))
        ERR.print(Text(f"run {begun.id}"))
        _play(records, begun, as_json=as_json)


def _setting(text: str) -> tuple[str, Any]:
    """Read key=value, the value JSON if it can be, else text; or key=@FILE, the file being JSON."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--set {text!r}: write key=value")
    if value.startswith("@"):
        return key, _json_file(Path(value[1:]))
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _json_file(path: Path) -> Any:  # noqa: ANN401  any JSON
    """Read a file of JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error


@app.command(context_settings=ENV)
def resume(  # noqa: PLR0913, PLR0917  a cap each
    run: RunName,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_seconds: MaxSeconds = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Go on where a run stopped, for whatever reason; a cap that is given takes the place of the run's own.

    Example: hobbes resume last --max-calls 1000
    """
    from lab.playing import recap

    caps = {"calls": max_calls, "tokens": max_tokens, "usd": max_usd, "seconds": max_seconds}
    with _records(home) as records:
        found = recap(records, records.find(run), {k: v for k, v in caps.items() if v is not None})
        _play(records, found, as_json=as_json)


@app.command(context_settings=ENV)
def answer(
    run: RunName,
    grant: Annotated[
        list[str] | None, typer.Option(help="UNIT=AMOUNT, repeatable; who is not named is declined")
    ] = None,
    reason: Annotated[str, typer.Option(help="why; whoever asked reads it")] = "",
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Answer what a waiting run asks a person, and go on; without options it asks in the terminal.

    Example: hobbes answer last --grant unit-a=8 --reason 'you asked for little'
    """
    from lab.answering import as_told, asked_in_terminal, waiting

    with _records(home) as records:
        found = records.find(run)
        requests = waiting(found)
        interactive = grant is None and not reason
        said = asked_in_terminal(requests) if interactive else as_told(requests, grant or (), reason)
        _play(records, found, as_json=as_json, said=said)


def _play(records: "Records", run: "Run", *, as_json: bool, said: str | None = None) -> None:
    """Play a run to its end, or until a person is asked, watched, and tell what it came to."""
    from lab.playing import go_on
    from lab.watching import watched

    try:
        with watched(run) as on_turn:
            asyncio.run(go_on(records, run, on_turn, said))
    except KeyboardInterrupt:
        hint = records.command("resume", run.id)
        ERR.print(Text(f"stopped; `{hint}` goes on from here"), soft_wrap=True)
        sys.exit(130)
    except HaltedRunError:
        if as_json:
            print_json(records.result(records.find(run.id)))
        raise
    ended = records.find(run.id)
    if ended.question is not None:
        _tell_question(records, ended, as_json=as_json)
        return
    result = records.result(ended)
    if as_json:
        print_json(result)
    else:
        from lab.tracing import state_before

        OUT.print(picture(run.world.picture(state_before(records, ended, ended.turns))))
        OUT.print(summary(result, records.measures(run.id)))
        trace, replay = records.command("trace", run.id, ended.turns - 1), records.command("replay", run.id)
        OUT.print(Text(f"\nnext: {trace}   {replay}", style="dim"), soft_wrap=True)
    if result["tainted"]:
        sys.exit(1)


def _tell_question(records: "Records", run: "Run", *, as_json: bool) -> None:
    """Say what a waiting run asks, and how to answer."""
    from lab.answering import waiting

    requests = waiting(run)
    if as_json:
        print_json({"run": run.id, "turn": run.turns, "waiting": requests})
        return
    columns = sorted({column for request in requests for column in request})
    OUT.print(
        table(
            f"turn {run.turns}: a person is asked", columns, [[r.get(c) for c in columns] for r in requests]
        )
    )
    OUT.print(Text(f"\nnext: {records.command('answer', run.id)}", style="dim"), soft_wrap=True)


@app.command(context_settings=ENV)
def replay(
    run: Annotated[str, typer.Argument(help="a run, or a cassette file")],
    reread: Annotated[bool, typer.Option(help="keep the answers, apply today's reading and rules")] = False,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Play a run again from its recorded answers, without a network; name the first divergence.

    Example: hobbes replay last
    """
    if run.endswith(".json.gz"):
        told = _replay_cassette(Path(run))
    else:
        with _records(home) as records:
            told = _replay_run(records, records.find(run), reread=reread)
    if as_json:
        print_json(told)
    elif told["divergence"]:
        at = told["divergence"]
        OUT.print(
            Text(f"diverged at turn {at['turn']}, {at['agent'] or 'all'}: {at['layer']}", style="bold red")
        )
        OUT.print(plain(at["diff"]))
    else:
        verdict = "same digest" if told["same"] else f"another digest than the recorded {told['recorded']}"
        OUT.print(Text(f"{told['turns']} turns, {verdict}: {told['digest']}"), soft_wrap=True)
    if not told["same"] and not reread:
        sys.exit(1)


def _replay_run(records: "Records", run: "Run", *, reread: bool) -> dict[str, Any]:
    from lab.replaying import replay_run

    try:
        replayed = asyncio.run(replay_run(records, run, reread=reread))
    except ValueError as error:
        raise LabError(str(error)) from error
    found = replayed.divergence
    return {
        "run": run.id,
        "turns": replayed.turns,
        "same": found is None and replayed.digest == run.digest,
        "recorded": run.digest,
        "digest": replayed.digest,
        "divergence": found
        and {"turn": found.turn, "agent": found.agent, "layer": found.layer, "diff": found.diff},
    }


def _replay_cassette(path: Path) -> dict[str, Any]:
    from lab.cassettes import CassetteMissError, meta_of
    from lab.recording import first_difference, play_cassette

    told: dict[str, Any] = {"run": str(path), "recorded": meta_of(path)["digest"], "divergence": None}
    try:
        then, now = play_cassette(path)
    except CassetteMissError as miss:
        at = {"turn": miss.turn, "agent": miss.agent, "layer": "prompt", "diff": miss.diff}
        return {**told, "turns": 0, "same": False, "digest": "", "divergence": at}
    turn = first_difference(then, now)
    if turn is not None:
        diff = f"digest {then['digests'][turn]}, now {now['digests'][turn]}"
        told["divergence"] = {
            "turn": turn,
            "agent": "",
            "layer": "reading, validation or engine",
            "diff": diff,
        }
    return {**told, "turns": now["turns"], "same": now["digest"] == then["digest"], "digest": now["digest"]}


@app.command(context_settings=ENV)
def verify(run: RunName, home: Home = HOME, as_json: AsJson = False) -> None:
    """Resolve every logged turn again with the engine alone, and check the chain of digests.

    Example: hobbes verify last
    """
    from lab.history import faults

    with _records(home) as records:
        found = records.find(run)
        wrong = list(faults(records, found))
    if as_json:
        listed = [{"turn": turn, "fault": fault} for turn, fault in wrong]
        print_json({"run": found.id, "turns": found.turns, "digest": found.digest, "faults": listed})
    else:
        for turn, fault in wrong:
            OUT.print(Text(f"turn {turn}: {fault}", style="bold red"))
        if not wrong:
            OUT.print(Text(f"{found.turns} turns verified; digest {found.digest}"), soft_wrap=True)
    if wrong:
        sys.exit(1)


@app.command(context_settings=ENV)
def runs(home: Home = HOME, as_json: AsJson = False) -> None:
    """List the runs; --json tells all that is known of each.

    Example: hobbes runs
    """
    with _records(home) as records:
        rows = records.runs()
    if as_json:
        print_json(rows)
        return
    columns = ("id", "name", "world", "status", "turns", "nobody's", "digest")
    shown = [
        (
            row["id"],
            row["name"],
            row["world"],
            "tainted" if row["tainted"] else row["status"],
            row["turns"],
            percent(row["failures"]["share"]),
            (row["digest"] or "")[:8],
        )
        for row in rows
    ]
    OUT.print(table("", columns, shown) if rows else Text("no runs yet; try: hobbes run mining"))


@app.command(context_settings=ENV)
def trace(
    run: RunName,
    turn: Annotated[int | None, typer.Argument(help="a turn, from 0")] = None,
    agent: Annotated[str | None, typer.Argument(help="an agent that acted in it")] = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Show a run turn by turn, a turn agent by agent, or one agent's turn as a card.

    Example: hobbes trace last 3 miner-01
    """
    from lab import tracing

    with _records(home) as records:
        found = records.find(run)
        if turn is None:
            told: Any = tracing.overview(records, found)
        elif agent is None:
            told = tracing.turn_card(records, found, turn)
        elif agent == OBSERVER and (ruled := tracing.observer_card(records, found, turn)):
            told = ruled
        else:
            told = tracing.agent_card(records, found, turn, agent)
        after = None if turn is None else tracing.state_before(records, found, turn + 1)
    if as_json:
        print_json(told)
    elif turn is None:
        _show_overview(told)
    elif agent is None:
        _show_turn(told)
        OUT.print(picture(found.world.picture(after)))
    elif agent == OBSERVER:
        _show_observer(told)
    else:
        _show_card(told)


def _show_overview(lines: list[dict[str, Any]]) -> None:
    columns = ("turn", "outcomes", "failures", "drops", "mends", "events", "digest")
    rows = [
        [_counts(line[c]) if isinstance(line[c], dict) else line[c] for c in columns[:-1]] for line in lines
    ]
    short = [[*row, line["digest"][:12]] for row, line in zip(rows, lines, strict=True)]
    OUT.print(table("", columns, short))


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _show_turn(told: Mapping[str, Any]) -> None:
    rows = [
        [
            one["agent"],
            one["outcome"],
            one["model"],
            _counts({"drops": len(one["drops"]), "mends": len(one["mends"])}),
            one["intent"]["reflection"]["reasoning"] or one["reasoning"],
        ]
        for one in told["agents"]
    ]
    OUT.print(
        table(f"run {told['run']}, turn {told['turn']}", ("agent", "outcome", "model", "found", "why"), rows)
    )
    OUT.print(
        table(
            "\nevents",
            ("type", "agent", "event"),
            [[e["type"], e["agent"], _rest(e)] for e in told["events"]],
        )
    )
    OUT.print(
        _attempts("\ncalls", [{"who": who, **call} for who, calls in told["calls"].items() for call in calls])
    )
    if told["observer"] and (told["observer"]["drops"] or told["observer"]["mends"]):
        OUT.print(Text("\nof the observer's answer", style="italic"), _found(told["observer"]), sep="\n")
    for agent, sums in told["sums"].items():
        OUT.print(table(f"\n{agent}", ("figure", "is made of"), list(sums.items())))
    for kind, ratings in told["reports"].items():
        if ratings:
            OUT.print(matrix(f"\n{kind.replace('_', ' ')}", ratings))
    OUT.print(Text(f"digest {told['digest']}", style="dim"))


def _rest(event: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{k} {json.dumps(v, ensure_ascii=False)}" for k, v in event.items() if k not in {"type", "agent"}
    )


def _show_card(told: Mapping[str, Any]) -> None:
    reflection = told["intent"]["reflection"]
    changed = {k: v for k, v in told["mind_after"].items() if v != told["mind_before"][k]}
    happened = "\n".join(f"{event['type']} {event['agent']} {_rest(event)}" for event in told["events"])
    parts = [
        ("saw", json_text(told["saw"])),
        ("system prompt", plain(told["system"] or "(a policy reads the view alone)")),
        ("prompt", plain(told["prompt"])),
        ("answer", plain(told["answer"])),
        ("how the call ended", plain(_ending(told))),
        ("all attempts", _attempts("", told["attempts"])),
        ("reasoning", plain(told["reasoning"] or reflection["reasoning"] or "none")),
        ("intent", json_text(told["intent"])),
        ("drops and mends", _found(told)),
        ("what happened", plain(happened or "nothing")),
        ("what its figures are made of", table("", ("figure", "is made of"), list(told["sums"].items()))),
        ("what changed in its mind", json_text(changed) if changed else Text("nothing")),
    ]
    OUT.print(card(f"run {told['run']}, turn {told['turn']}, {told['agent']}", parts))


def _show_observer(told: Mapping[str, Any]) -> None:
    parts = [
        ("system prompt", plain(told["system"] or "(a person reads the requests alone)")),
        ("what was asked", json_text({r["unit"]: r for r in told["saw"]["requests"]})),
        ("answer", plain(told["answer"])),
        ("how the call ended", plain(_ending(told))),
        ("all attempts", _attempts("", told["attempts"])),
        ("reasoning", plain(told["reasoning"] or "none")),
        ("drops and mends", _found(told)),
        ("rulings", json_text(told["rulings"])),
    ]
    OUT.print(card(f"run {told['run']}, turn {told['turn']}, {told['agent']}", parts))


def _ending(told: Mapping[str, Any]) -> str:
    spent = f"{told['milliseconds']} ms, tokens in {told['tokens']['in']}, out {told['tokens']['out']}"
    ended = f"{told['outcome']} by {told['stage']}, attempt {told['attempt']}, {told['model']}; {spent}"
    return f"{ended}\n{told['error']}".strip()


def _attempts(title: str, calls: list[dict[str, Any]]) -> RenderableType:
    """Show how calls ended, a line each."""
    return table(title, tuple(calls[0]), [list(call.values()) for call in calls])


def _found(told: Mapping[str, Any]) -> RenderableType:
    rows = [
        (part[:-1], one["stage"], one["code"], one["said"], one.get("kept"))
        for part in ("drops", "mends")
        for one in told[part]
    ]
    return table("", ("what", "stage", "code", "said", "kept"), rows) if rows else Text("none")


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
def step(world: Annotated[str, typer.Argument(help=", ".join(WORLDS))]) -> None:
    """Play the engine alone, JSON Lines in and out."""
    from lab.stepping import step_lines

    for line in step_lines(_world(world), sys.stdin):
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
    from lab.tournament import play, show

    standing, seconds = play(games, seed, dict(_setting(text) for text in settings or ()))
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
    from lab.faults import parse_faults
    from lab.serving import listen

    listen(host, port, delay, parse_faults(faults))


@app.command(context_settings=ENV)
def doctor(home: Home = HOME, as_json: AsJson = False) -> None:
    """Say what is installed, which key and base URL are seen, and whether the server answers.

    Example: hobbes doctor
    """
    from lab.doctor import examine

    found = examine(home)
    if as_json:
        print_json(found)
    else:
        OUT.print(json_text(found))
    if found["server"].startswith("does not answer") or not found["home_writable"]:
        sys.exit(1)


WorldName = Annotated[str, typer.Argument(help=", ".join(WORLDS))]
Variant = Annotated[str, typer.Argument(help="a variant; see `hobbes prompts list`")]
Lang = Annotated[str, typer.Option(help="en or zh")]


@prompts_app.command("list", context_settings=ENV)
def prompts_list(as_json: AsJson = False) -> None:
    """List worlds, variants and languages.

    Example: hobbes prompts list
    """
    from nodes.prompting import languages, variants

    found = {w: {v: list(languages(w, v)) for v in variants(w)} for w in WORLDS}
    if as_json:
        print_json(found)
        return
    rows = [(w, v, " ".join(langs)) for w, of_world in found.items() for v, langs in of_world.items()]
    OUT.print(table("", ("world", "variant", "languages"), rows))


@prompts_app.command("show", context_settings=ENV)
def prompts_show(world: WorldName, variant: Variant, lang: Lang = "en", as_json: AsJson = False) -> None:
    """Show the templates of a variant, its includes put in.

    Example: hobbes prompts show mining guided
    """
    from lab.rendering import prompts_for

    prompts = prompts_for(_world(world), variant, lang)
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


@prompts_app.command("render", context_settings=ENV)
def prompts_render(  # noqa: PLR0913, PLR0917  the options that interfaces.md names
    world: WorldName,
    turn: Annotated[int, typer.Option(min=0, help="a turn, from 0")] = 0,
    agent: Annotated[str | None, typer.Option(help="an agent; the first, if not said")] = None,
    run: Annotated[str | None, typer.Option(help="a run whose state and minds are taken")] = None,
    prompts: Annotated[str | None, typer.Option(help="a variant")] = None,
    lang: Annotated[str | None, typer.Option(help="en or zh; a run's own, if not said")] = None,
    settings: Settings = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Print exactly what would be sent, with token counts, and send nothing.

    Example: hobbes prompts render mining --turn 3 --agent miner-01
    """
    from lab.playing import Request
    from lab.rendering import render_anew, render_in_run
    from nodes.prompting import approximate_tokens

    who = agent or _world(world).names(1)[0]
    if run is None:
        values = dict(_setting(text) for text in settings or ())
        prompt = render_anew(Request(world, prompts=prompts, lang=lang or "en", values=values), turn, who)
    else:
        with _records(home) as records:
            prompt = render_in_run(records, records.find(run), turn, who, (prompts, lang))
    tokens = {"system": approximate_tokens(prompt.system), "turn": approximate_tokens(prompt.turn)}
    if as_json:
        print_json({"system": prompt.system, "turn": prompt.turn, "tokens": tokens})
        return
    for part, text in (("system", prompt.system), ("turn", prompt.turn)):
        ERR.print(Text(f"--- {part}, about {tokens[part]} tokens", style="dim"))
        print(text)  # noqa: T201  exactly what would be sent


@prompts_app.command("diff", context_settings=ENV)
def prompts_diff(
    world: WorldName, one: Variant, other: Variant, lang: Lang = "en", as_json: AsJson = False
) -> None:
    """Show how two variants differ.

    Example: hobbes prompts diff mining unguided guided
    """
    from lab.rendering import prompts_for
    from lab.replaying import diff_of

    ours, theirs = (prompts_for(_world(world), variant, lang) for variant in (one, other))
    diffs = {"system": diff_of(ours.system, theirs.system), "turn": diff_of(ours.turn, theirs.turn)}
    if as_json:
        print_json(diffs)
    else:
        OUT.print(plain("".join(diffs.values())), soft_wrap=True)


@prompts_app.command("check", context_settings=ENV)
def prompts_check(
    world: Annotated[str | None, typer.Argument(help=", ".join(WORLDS))] = None,
    variant: Annotated[str | None, typer.Argument(help="a variant")] = None,
    as_json: AsJson = False,
) -> None:
    """Check every prompt: placeholders, every treatment, the languages against each other.

    Example: hobbes prompts check mining guided
    """
    from nodes.prompting import PromptError, check_prompts, languages, load_prompts, variants

    problems: list[str] = []
    checked: list[str] = []
    for one in [_world(world)] if world else WORLDS.values():
        for name in [variant] if variant else variants(one.name):
            for lang in languages(one.name, name) or ("en",):
                checked.append(f"{one.name} {name} {lang}")
                try:
                    problems += check_prompts(one, load_prompts(one, name, lang))
                except PromptError as error:
                    problems.append(str(error))
    if as_json:
        print_json({"checked": checked, "problems": problems})
    else:
        for problem in problems:
            OUT.print(plain(problem), soft_wrap=True)
        OUT.print(Text(f"{len(checked)} checked, {len(problems)} problems"))
    if problems:
        sys.exit(1)


if __name__ == "__main__":
    main()
