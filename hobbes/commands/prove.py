"""The commands that prove something about runs: `replay`, `verify`, `measure`, `make-test`."""

import re
import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from hobbes.commands import options
from hobbes.commands.groups import PROVE
from hobbes.errors import UsageError
from hobbes.files import CASSETTE_SUFFIX

app = typer.Typer()


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
    from hobbes.show.replay_text import replayed, replayed_cassette, reread_and_replayed, show
    from hobbes.show.terminal import print_json
    from hobbes.store.policy_games import with_turns

    if run.endswith(CASSETTE_SUFFIX):
        if reread:
            raise UsageError("--reread needs a run; a cassette is always read by the current code")
        result = replayed_cassette(Path(run))
    else:
        with options.open_home(home) as store:
            stored = with_turns(store, store.runs.find(run))
            result = reread_and_replayed(store, stored) if reread else replayed(store, stored)
    if as_json:
        print_json(result)
    else:
        show(result)
    if not result["same"] and not reread:
        sys.exit(1)


def _digest(text: str | None) -> str | None:
    """Return a digest in small letters; raise UsageError if it is none."""
    if text is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise UsageError("--digest: write all 64 digits, 0 to 9 and a to f, that `hobbes verify` prints")
    return text and text.lower()


@app.command(context_settings=options.ENV, rich_help_panel=PROVE)
def verify(
    run: options.RunName,
    digest: Annotated[
        str | None,
        typer.Option(metavar="HEX", callback=_digest, help="a digest that was kept elsewhere, all 64 digits"),
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
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="runs that have finished")],
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
            counts = {"measures": len(found.measures), "agent_turns": len(found.agent_turns)}
            told.append({"run": run.id, "measures_version": run.world.measures.version, **counts})
            if not as_json:
                say(f"{run.label}: {counted(len(found.measures), 'figure')} measured")
    if as_json:
        print_json(told)


@app.command(context_settings=options.ENV, rich_help_panel=PROVE)
def make_test(  # noqa: PLR0913, PLR0917  a parameter per option
    name: Annotated[str, typer.Option(help="the name of the test: test_NAME.py and NAME.json are written")],
    run: Annotated[str | None, typer.Argument(help="a run whose turns are pinned; or give --probe")] = None,
    turns: Annotated[
        str | None,
        typer.Option(metavar="A-B", callback=options.not_empty, help="the turns to pin, such as 40-42"),
    ] = None,
    ignore: Annotated[
        Literal["prompts"] | None, typer.Option(help="what may change: the words of the prompts")
    ] = None,
    settings: options.Settings = None,
    probe: Annotated[str | None, options.text("a probe whose answers are judged")] = None,
    expect: Annotated[
        str | None,
        options.text("what its answers have to be, such as 'miner-03: no raid in at least 8 of 10'"),
    ] = None,
    column: Annotated[str | None, options.text("the column of the probe; by default the last one")] = None,
    to: Annotated[Path, typer.Option(help="the folder of the test")] = Path(),
    home: options.Home = options.HOME,
    as_json: options.AsJson = False,
) -> None:
    """Pin recorded turns of a run, or what agents do in a probe, as a test for pytest.

    A test of turns plays them again from the recorded answers. It fails if a prompt, the reading of an
    answer, an intent, a rejection, a correction or a digest changes, and shows how. `pytest --hobbes-update`
    accepts the change. With --set, it plays them with other settings, without comparing prompts, and fails if
    they come out otherwise. Such a test is written even if it fails now, and a line says so; all others are
    only written if they pass. A test of a probe holds its answers and judges them by today's reading and
    rules. Neither needs a network.

    Example: hobbes make-test last --turns 3-5 --name story --to tests
    """
    from hobbes.show.pinned_files import files_for, pin_probe, pin_run
    from hobbes.show.terminal import next_step, print_json, say
    from hobbes.store.policy_games import with_turns

    files, values = files_for(name, to), options.parse_settings(settings)
    with options.open_home(home) as store, store.as_of_now():
        if probe is not None and expect is not None and run is None and turns is None and not values:
            made = pin_probe(store, probe, expect, column, files)
        elif run is not None and turns is not None and probe is None and expect is None:
            stored = with_turns(store, store.runs.find(run))
            numbers, prompts = options.turn_numbers(turns), ignore is None and not values
            made = pin_run(store, stored, numbers, files, values, prompts=prompts)
        else:
            raise UsageError("write RUN --turns A-B, or --probe PROBE --expect '...'")
    if as_json:
        print_json({**made, "test": str(files.test), "cassette": str(files.cassette)})
    else:
        say(f"wrote {files.test} and {files.cassette}")
        if "fails" in made:
            passes = "passes: with these settings, the turns come out as recorded"
            say(f"the test {'fails: ' + made['fails'] if made['fails'] else passes}")
        next_step(f"pytest {shlex.quote(str(files.test))}")
