"""What `hobbes replay` says of a run or of a cassette: as plain JSON, and in the terminal."""

from pathlib import Path
from typing import Any, TypeAlias

from rich.text import Text

from hobbes.engine.telling import counted
from hobbes.errors import HaltedRunError, HobbesError
from hobbes.loop import play_out
from hobbes.prove.changed_decisions import reread
from hobbes.prove.record_difference import diff_of, json_text
from hobbes.prove.replay import replay_run
from hobbes.show.terminal import OUT, plain, say
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.wire.cassette_files import read_description
from hobbes.wire.cassettes import CassetteMissError
from hobbes.wire.recorder import first_difference, play_cassette

Divergence: TypeAlias = dict[str, Any] | None

MAX_DIFFS = 10
"""How many decisions that --reread changes are shown with their diffs."""


def replayed(store: Store, run: Run, *, with_changes: bool = False) -> dict[str, Any]:
    """Return how a run plays again: with its recorded decisions or, `with_changes`, with those of today."""
    run.check_versions(rules=not with_changes)
    try:
        played = play_out(replay_run(store, run, reread=with_changes))
    except ValueError as error:
        raise HobbesError(str(error)) from error
    at = played.divergence
    divergence = {"turn": at.turn, "agent": at.agent, "layer": at.layer, "diff": at.diff} if at else None
    return _result(run.id, played.turns, run.digest, played.digest, divergence)


def _result(run: str, turns: int, recorded: str, digest: str, divergence: Divergence) -> dict[str, Any]:
    """Return how a replay ended: after how many turns, and with which digest, empty if it did not end."""
    return {
        "run": run,
        "turns": turns,
        "same": digest == recorded,
        "recorded": recorded,
        "digest": digest,
        "divergence": divergence,
    }


def reread_and_replayed(store: Store, run: Run) -> dict[str, Any]:
    """Return what today's reading and rules would change, and where the run would end with them."""
    run.check_versions(rules=False)
    changes = reread(store, run)
    try:
        result = {**replayed(store, run, with_changes=True), "halted": None}
    except HaltedRunError as error:
        result = {**_result(run.id, 0, run.digest, "", None), "halted": str(error)}
    decisions = [{**one._asdict(), "changed": one.parts} for one in changes.decisions]
    return {**result, "decisions": decisions, "effects": changes.effects}


def replayed_cassette(path: Path) -> dict[str, Any]:
    """Return how the run of a cassette plays again."""
    try:
        then, now = play_cassette(path)
    except CassetteMissError as miss:
        then, now = read_description(path), {"turns": 0, "digest": ""}
        at: Divergence = {"turn": miss.turn, "agent": miss.agent, "layer": "prompt", "diff": miss.diff}
    else:
        turn, at = first_difference(then, now), None
        if turn is not None:
            diff = f"digest {then['digests'][turn]}, now {now['digests'][turn]}"
            at = {"turn": turn, "agent": "", "layer": "reading, validation or engine", "diff": diff}
    return _result(str(path), now["turns"], then["digest"], now["digest"], at)


def show(result: dict[str, Any]) -> None:
    """Print the result of a replay."""
    if "decisions" in result:
        _show_changes(result["decisions"], result["effects"])
    if result.get("halted"):
        OUT.print(plain(result["halted"]))
    elif at := result["divergence"]:
        place = f"turn {at['turn']}, {at['agent'] or 'all'}: {at['layer']}"
        OUT.print(Text(f"first divergence: {place}", style="bold red"))
        OUT.print(plain(at["diff"]))
    else:
        verdict = "same digest" if result["same"] else f"the recorded digest was {result['recorded']}, now"
        say(f"{counted(result['turns'], 'turn')}, {verdict}: {result['digest']}")


def _show_changes(decisions: list[dict[str, Any]], effects: list[int]) -> None:
    """Print which decisions change, with the diffs of the first ones."""
    if not decisions:
        OUT.print(Text("no decision changes"))
    for number, one in enumerate(decisions):
        OUT.print(Text(f"turn {one['turn']}, {one['agent']}: {', '.join(one['changed'])}", style="bold"))
        if number < MAX_DIFFS:
            OUT.print(plain(diff_of(json_text(one["then"]), json_text(one["now"]))))
    if len(decisions) > MAX_DIFFS:
        OUT.print(Text(f"and {len(decisions) - MAX_DIFFS} more diffs, which --json gives", style="dim"))
    if effects:
        shown = ", ".join(map(str, effects))
        OUT.print(Text(f"the same decisions lead to something else in turn {shown}"))
