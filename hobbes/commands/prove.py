"""The commands that prove a run: `replay`, `verify`, `measure` and `make-test`; and `migrate`."""

import re
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hobbes.commands import options
from hobbes.commands.groups import DATA, PROVE
from hobbes.errors import HaltedRunError, HobbesError, UsageError
from hobbes.files import CASSETTE_SUFFIX

if TYPE_CHECKING:
    from hobbes.show.pinned_files import Files
    from hobbes.store.home import Store
    from hobbes.store.recorded_run import Run

app = typer.Typer()


class Ignore(StrEnum):
    """What `make-test --ignore` leaves out of a test."""

    prompts = "prompts"


MAX_DIFFS = 10
"""How many decisions that --reread changes are shown with their diffs."""


@app.command(context_settings=options.ENV, rich_help_panel=PROVE)
def replay(
    run: Annotated[str, typer.Argument(help="a run, or a cassette: FILE.yaml")],
    reread: Annotated[
        bool, typer.Option(help="apply the current reading and rules to the recorded answers")
    ] = False,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Play a run again from its recorded answers.

    A replay needs no network. It stops where the run first differs from the recorded one, and shows how.
    With --reread it tells instead which decisions the current reading and rules would change, by turn and
    agent, each from the recorded state of its turn; then it plays the run again with them.

    Example: hobbes replay last
    """
    from rich.text import Text

    from hobbes.engine.telling import counted
    from hobbes.show.terminal import OUT, plain, print_json, say
    from hobbes.store.policy_games import with_turns

    if run.endswith(CASSETTE_SUFFIX):
        if reread:
            raise UsageError("--reread needs a run; a cassette is always read by the current code")
        result = _replay_cassette(Path(run))
    else:
        with options.open_home(home) as store:
            stored = with_turns(store, store.runs.find(run))
            result = _reread_run(store, stored) if reread else _replay_run(store, stored)
    if as_json:
        print_json(result)
        if not result["same"] and not reread:
            sys.exit(1)
        return
    if reread:
        _show_reread(result)
    if result.get("halted"):
        OUT.print(plain(result["halted"]))
    elif result["divergence"]:
        at = result["divergence"]
        place = f"turn {at['turn']}, {at['agent'] or 'all'}: {at['layer']}"
        OUT.print(Text(f"first divergence: {place}", style="bold red"))
        OUT.print(plain(at["diff"]))
    else:
        verdict = "same digest" if result["same"] else f"the recorded digest was {result['recorded']}, now"
        say(f"{counted(result['turns'], 'turn')}, {verdict}: {result['digest']}")
    if not result["same"] and not reread:
        sys.exit(1)


def _reread_run(store: "Store", run: "Run") -> dict[str, Any]:
    """Return what today's reading and rules would change, and where the run would end with them."""
    from hobbes.prove.changed_decisions import reread

    run.check_versions(rules=False)
    differences = reread(store, run)
    try:
        result = {**_replay_run(store, run, reread=True), "halted": None}
    except HaltedRunError as error:
        digests = {"recorded": run.digest, "digest": "", "divergence": None}
        result = {"run": run.id, "turns": 0, "same": False, **digests, "halted": str(error)}
    decisions = [{**one._asdict(), "changed": one.parts} for one in differences.decisions]
    return {**result, "decisions": decisions, "effects": differences.effects}


def _show_reread(result: dict[str, Any]) -> None:
    """Print which decisions change, with the diffs of the first ones."""
    from rich.text import Text

    from hobbes.prove.difference import diff_of, json_text
    from hobbes.show.terminal import OUT, plain

    decisions = result["decisions"]
    if not decisions:
        OUT.print(Text("no decision changes"))
    for one in decisions:
        OUT.print(Text(f"turn {one['turn']}, {one['agent']}: {', '.join(one['changed'])}", style="bold"))
    for one in decisions[:MAX_DIFFS]:
        diff = diff_of(json_text(one["then"]), json_text(one["now"]))
        OUT.print(Text(f"\nturn {one['turn']}, {one['agent']}"), plain(diff), sep="\n")
    if len(decisions) > MAX_DIFFS:
        OUT.print(Text(f"and {len(decisions) - MAX_DIFFS} more diffs, which --json gives", style="dim"))
    if result["effects"]:
        shown = ", ".join(map(str, result["effects"]))
        OUT.print(Text(f"the same decisions lead to something else in turn {shown}"))


def _replay_run(store: "Store", run: "Run", *, reread: bool = False) -> dict[str, Any]:
    from hobbes.loop import play_out
    from hobbes.prove.replay import replay_run

    run.check_versions(rules=not reread)
    try:
        replayed = play_out(replay_run(store, run, reread=reread))
    except ValueError as error:
        raise HobbesError(str(error)) from error
    divergence = replayed.divergence
    return {
        "run": run.id,
        "turns": replayed.turns,
        "same": divergence is None and replayed.digest == run.digest,
        "recorded": run.digest,
        "digest": replayed.digest,
        "divergence": divergence
        and {
            "turn": divergence.turn,
            "agent": divergence.agent,
            "layer": divergence.layer,
            "diff": divergence.diff,
        },
    }


def _replay_cassette(path: Path) -> dict[str, Any]:
    from hobbes.wire.cassette_files import read_description
    from hobbes.wire.cassettes import CassetteMissError
    from hobbes.wire.recorder import first_difference, play_cassette

    result: dict[str, Any] = {"run": str(path), "divergence": None}
    try:
        then, now = play_cassette(path)
    except CassetteMissError as miss:
        result["recorded"] = read_description(path)["digest"]
        at = {"turn": miss.turn, "agent": miss.agent, "layer": "prompt", "diff": miss.diff}
        return {**result, "turns": 0, "same": False, "digest": "", "divergence": at}
    result["recorded"] = then["digest"]
    turn = first_difference(then, now)
    if turn is not None:
        diff = f"digest {then['digests'][turn]}, now {now['digests'][turn]}"
        result["divergence"] = {
            "turn": turn,
            "agent": "",
            "layer": "reading, validation or engine",
            "diff": diff,
        }
    same = now["digest"] == then["digest"]
    return {**result, "turns": now["turns"], "same": same, "digest": now["digest"]}


def _digest(text: str | None) -> str | None:
    """Return a digest in small letters; raise UsageError if it is none."""
    if text is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise UsageError(
            "--digest: write the 64 digits and letters a to f that `hobbes run` prints at its end"
        )
    return text and text.lower()


@app.command(context_settings=options.ENV, rich_help_panel=PROVE)
def verify(
    run: options.RunName,
    digest: Annotated[
        str | None,
        typer.Option(metavar="HEX", callback=_digest, help="the digest that `run` printed, kept elsewhere"),
    ] = None,
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Recompute a run from its recorded answers, and compare.

    The engine alone reads, validates and resolves every answer again; everything that differs is reported.
    With --digest, the run must have the digest that was kept elsewhere, too.

    Example: hobbes verify last
    """
    from rich.text import Text

    from hobbes.engine.telling import counted
    from hobbes.prove import verification
    from hobbes.show.terminal import OUT, print_json, remark, say
    from hobbes.store.policy_games import with_turns

    with options.open_home(home) as store, store.as_of_now():
        stored = with_turns(store, store.runs.find_unchecked(run))
        found = list(verification.verify(store, stored, digest))
    wrong = [one for one in found if isinstance(one, verification.Fault)]
    remarks = [one.remark for one in found if isinstance(one, verification.Remark)]
    if as_json:
        listed = [one._asdict() for one in wrong]
        about = {"run": stored.id, "turns": stored.turns, "digest": stored.digest}
        print_json({**about, "faults": listed, "remarks": remarks})
    else:
        for turn, fault in wrong:
            place = "run" if turn is None else f"turn {turn}"
            OUT.print(Text(f"{place}: {fault}", style="bold red"))
        for one in remarks:
            remark(one)
        if not wrong:
            say(f"{counted(stored.turns, 'turn')} verified; digest {stored.digest}")
    if wrong:
        sys.exit(1)


@app.command(context_settings=options.ENV, rich_help_panel=PROVE)
def measure(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="runs that have finished"),
    ],
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Work out the measures of runs anew, and their plain tables, by today's formulas.

    Example: hobbes measure last
    """
    from hobbes.engine.telling import counted
    from hobbes.show.terminal import print_json, say
    from hobbes.store.policy_games import with_turns
    from hobbes.store.reported import measure_anew

    told = []
    with options.open_home(home, writes=True) as store:
        for name in runs:
            run = with_turns(store, store.runs.find(name))
            found = measure_anew(store, run)
            told.append(
                {
                    "run": run.id,
                    "measures_version": run.world.measures.version,
                    "measures": len(found.measures),
                    "agent_turns": len(found.agent_turns),
                }
            )
            if not as_json:
                say(f"{run.name or run.id}: {counted(len(found.measures), 'figure')} measured")
    if as_json:
        print_json(told)


@app.command(context_settings=options.ENV, rich_help_panel=DATA)
def migrate(home: options.Home = options.HOME, as_json: options.AsJson = False) -> None:
    """Carry the runs of a home over from the tables of an earlier hobbes, where they stand.

    Nobody may be playing runs of the home meanwhile. If it is killed, the home is as it was.

    Example: hobbes migrate --home .hobbes
    """
    from hobbes.engine.telling import counted
    from hobbes.show.terminal import print_json, say
    from hobbes.store.command_line import command
    from hobbes.store.migration import migrate as carry_over
    from hobbes.store.schema import SCHEMA_VERSION

    runs = carry_over(home)
    if as_json:
        print_json({"runs": runs, "schema": SCHEMA_VERSION})
    else:
        measure = command(home, "measure", "RUN")
        say(f"{counted(runs, 'run')} carried over to schema {SCHEMA_VERSION}; `{measure}` measures one anew")


def _turns(text: str) -> tuple[int, int]:
    """Return the first and the last turn of `A-B`, or of one turn."""
    match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", text)
    if match is None or (match[2] and int(match[2]) < int(match[1])):
        raise UsageError(f"--turns {text!r}: write the first and the last turn, such as 40-42, or one turn")
    return int(match[1]), int(match[2] or match[1])


@app.command(context_settings=options.ENV, rich_help_panel=PROVE)
def make_test(  # noqa: PLR0913, PLR0917  a parameter per option
    name: Annotated[str, typer.Option(help="the name of the test: test_NAME.py and NAME.json are written")],
    run: Annotated[
        str | None,
        typer.Argument(help="a run whose turns are pinned; or give --probe"),
    ] = None,
    turns: Annotated[
        str | None,
        typer.Option(metavar="A-B", callback=options.not_empty, help="the turns to pin, such as 40-42"),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(callback=options.not_empty, help="compare only what this agent reads and decides"),
    ] = None,
    ignore: Annotated[Ignore | None, typer.Option(help="what may change: the words of the prompts")] = None,
    probe: Annotated[
        str | None, typer.Option(callback=options.not_empty, help="a probe whose answers are judged")
    ] = None,
    expect: Annotated[
        str | None,
        typer.Option(
            callback=options.not_empty,
            help="what its answers have to be, such as 'miner-03: no raid in at least 8 of 10'",
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(callback=options.not_empty, help="the column of the probe; by default the last one"),
    ] = None,
    to: Annotated[Path, typer.Option(help="the folder of the test")] = Path(),
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Pin recorded turns of a run, or what agents do in a probe, as a test for pytest.

    A test of turns plays them again from the recorded answers. It fails if a prompt, the reading of an
    answer, an intent, a rejection, a correction or a digest changes, and shows how. `pytest --hobbes-update`
    accepts the change. A test of a probe holds its answers and judges them by today's reading and rules.
    `pytest --hobbes-record` asks again. Otherwise neither needs a network.

    Example: hobbes make-test last --turns 3-5 --name story --to tests
    """
    from hobbes.show.pinned_files import files_for

    files = files_for(name, to)
    if probe is not None and expect is not None and run is None and turns is None:
        made = _test_of_probe(home, probe, expect, column, files)
    elif run is not None and turns is not None and probe is None and expect is None:
        made = _test_of_turns(home, run, _turns(turns), agent, files, prompts=ignore is None)
    else:
        raise UsageError("write RUN --turns A-B, or --probe PROBE --expect '...'")
    _tell(made, files, as_json=as_json)


def _test_of_turns(  # noqa: PLR0913  options
    home: Path, run: str, turns: tuple[int, int], agent: str | None, files: "Files", *, prompts: bool
) -> dict[str, Any]:
    """Write a test of turns; return what is told of it."""
    from hobbes.prove.pinned_turns import pin_turns
    from hobbes.show.pinned_files import text_of_test, write
    from hobbes.store.policy_games import with_turns

    with options.open_home(home) as store, store.as_of_now():
        stored = with_turns(store, store.runs.find(run))
        made = pin_turns(store, stored, turns, files.test.parent, prompts=prompts)
    if agent is not None:
        made.check_agent(agent)
    write(made, files, text_of_test(made, files, agent, prompts=prompts))
    return {"run": stored.id, "turns": list(turns), "agent": agent}


def _test_of_probe(home: Path, probe: str, expect: str, column: str | None, files: "Files") -> dict[str, Any]:
    """Write a test of the answers to a probe; return what is told of it."""
    from hobbes.probe.table import tell
    from hobbes.prove.pinned_frequencies import expectation, pin_frequency
    from hobbes.show.pinned_files import text_of_expectation, write

    wanted = expectation(expect)
    with options.open_home(home) as store:
        told = tell(store, probe)
        name = column or told.columns[-1].column.name
        made = pin_frequency(store, told, name, wanted, files.test.parent)
    write(made, files, text_of_expectation(made, files))
    return {"probe": probe, "column": name, "expect": str(wanted)}


def _tell(made: dict[str, Any], files: "Files", *, as_json: bool) -> None:
    """Print which files were written."""
    from rich.text import Text

    from hobbes.show.terminal import OUT, print_json, say

    if as_json:
        print_json({**made, "test": str(files.test), "cassette": str(files.cassette)})
    else:
        say(f"wrote {files.test} and {files.cassette}")
        OUT.print(Text(f"next: pytest {shlex.quote(str(files.test))}", style="dim"), soft_wrap=True)
