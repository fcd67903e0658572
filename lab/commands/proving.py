"""The commands that prove a run: `replay` and `verify`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lab.commands import completion
from lab.commands.options import ENV, HOME, AsJson, Home, RunName, opened
from lab.errors import LabError

if TYPE_CHECKING:
    from lab.store.database import Run, Store

app = typer.Typer()


@app.command(context_settings=ENV)
def replay(
    run: Annotated[
        str, typer.Argument(autocompletion=completion.runs, help="a run, or a cassette: FILE.json.gz")
    ],
    reread: Annotated[
        bool, typer.Option(help="apply the current reading and rules to the recorded answers")
    ] = False,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Play a run again from its recorded answers.

    A replay needs no network, and reports the first divergence.

    Example: hobbes replay last
    """
    from rich.text import Text

    from lab.show.terminal import OUT, plain, print_json

    if run.endswith(".json.gz"):
        result = _replay_cassette(Path(run))
    else:
        with opened(home) as store:
            result = _replay_run(store, store.find(run), reread=reread)
    if as_json:
        print_json(result)
    elif result["divergence"]:
        at = result["divergence"]
        place = f"turn {at['turn']}, {at['agent'] or 'all'}: {at['layer']}"
        OUT.print(Text(f"first divergence: {place}", style="bold red"))
        OUT.print(plain(at["diff"]))
    else:
        verdict = "same digest" if result["same"] else f"the recorded digest was {result['recorded']}, now"
        OUT.print(Text(f"{result['turns']} turns, {verdict}: {result['digest']}"), soft_wrap=True)
    if not result["same"] and not reread:
        sys.exit(1)


def _replay_run(store: "Store", run: "Run", *, reread: bool) -> dict[str, Any]:
    import asyncio

    from lab.proof.replaying import replay_run

    run.check_versions()
    try:
        replayed = asyncio.run(replay_run(store, run, reread=reread))
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
    from lab.wire.cassettes import CassetteMissError, meta_of
    from lab.wire.recording import first_difference, play_cassette

    result: dict[str, Any] = {"run": str(path), "recorded": meta_of(path)["digest"], "divergence": None}
    try:
        then, now = play_cassette(path)
    except CassetteMissError as miss:
        at = {"turn": miss.turn, "agent": miss.agent, "layer": "prompt", "diff": miss.diff}
        return {**result, "turns": 0, "same": False, "digest": "", "divergence": at}
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


@app.command(context_settings=ENV)
def verify(run: RunName, home: Home = HOME, as_json: AsJson = False) -> None:
    """Recompute a run from its recorded answers, and compare.

    The engine alone reads, validates and resolves every answer again; everything that differs is reported.

    Example: hobbes verify last
    """
    from rich.text import Text

    from lab.proof.verifying import faults
    from lab.show.terminal import OUT, print_json

    with opened(home) as store, store.as_of_now():
        found = store.find(run)
        wrong = list(faults(store, found))
    if as_json:
        listed = [{"turn": turn, "fault": fault} for turn, fault in wrong]
        print_json({"run": found.id, "turns": found.turns, "digest": found.digest, "faults": listed})
    else:
        for turn, fault in wrong:
            place = "run" if turn is None else f"turn {turn}"
            OUT.print(Text(f"{place}: {fault}", style="bold red"))
        if not wrong:
            OUT.print(
                Text(f"{found.turns} turn{'s' * (found.turns != 1)} verified; digest {found.digest}"),
                soft_wrap=True,
            )
    if wrong:
        sys.exit(1)
