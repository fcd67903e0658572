"""What `hobbes demo` shows: recorded runs of language models, and a run that is played beside them."""

import gzip
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from rich.text import Text

from hobbes.engine.record import Json
from hobbes.errors import DamagedError, MissingError, UsageError
from hobbes.loop import play_out
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.show.aftermath import aftermath
from hobbes.show.diary import Choice, Entry, diary
from hobbes.show.palette import looks_in
from hobbes.show.progress import show_run_progress
from hobbes.show.run_result import show_board
from hobbes.show.story import story_of
from hobbes.show.terminal import OUT, told_text
from hobbes.show.trace import full_turn
from hobbes.show.trace_text import print_line, show_entries
from hobbes.store.home import PARTS, Store, read_store

RECORDED = files("hobbes") / "recorded.db.gz"
"""The run database with the recorded runs, which comes with the package (docs/pilot.md)."""

GAME, PROMISED, BROKEN, AGENT = "pilot-talk.talking.1", 0, 1, "miner-01"
"""The recorded run that is shown: the turns in which an agent gave its word and broke it."""

LAND: Mapping[str, Json] = {"rows": 2, "cols": 8, "rounds": 12}
PLAYERS = "policy:guided*2,policy:tit-for-tat-raid,policy:raider"
"""The players of the run that is played."""

PLAYED = "demo"
"""The name of that run."""


def unpack_recorded(home: Path) -> None:
    """Write the recorded runs into a home of their own, unless all that is shown of it can be read."""
    if _can_be_shown(home):
        return
    database = home / "runs.db"
    try:
        home.mkdir(parents=True, exist_ok=True)
        for part in PARTS:
            (home / f"runs.db{part}").unlink(missing_ok=True)
        unfinished = home / f"runs.db.{os.getpid()}"
        unfinished.write_bytes(gzip.decompress(RECORDED.read_bytes()))
        unfinished.replace(database)
    except OSError as error:
        problem = f"cannot unpack the recorded runs into {home}: {error.strerror}"
        raise UsageError(f"{problem}; choose another folder with --home") from error


def _can_be_shown(home: Path) -> bool:
    try:
        with closing(read_store(home)) as store:
            store.check_pages()
            for run in map(store.runs.find, (GAME, PLAYED)):
                store.turns.check(run)
                for call in store.calls.rows(run.id):
                    store.calls.read(call)
    except (MissingError, DamagedError):
        return False
    return True


def show_broken_promise(store: Store) -> None:
    """Print what an agent promised in a recorded run, why it did otherwise, and what followed."""
    run = store.runs.find(GAME)
    looks = looks_in(store, run)
    OUT.print(
        Text(f"Four language models shared nine plots. One gave its word and broke it ({GAME}):", "bold")
    )
    show_entries(_promise_and_deed(diary(store, run, Choice((AGENT,)), PROMISED, BROKEN)), looks)
    after = aftermath(store, run, full_turn(store, run, BROKEN), AGENT)
    for turn, words in after.turns[:1]:
        print_line(turn, told_text(words, looks))


def play_and_show(store: Store) -> None:
    """Play a run of scripted policies, unless it was played before, and print what happened in it."""
    try:
        run = store.runs.find(PLAYED)
    except MissingError:
        options = RunOptions("mining", agents=4, models=PLAYERS, values={**LAND}, name=PLAYED)
        run = begin(store, options)
    OUT.print(Text(f"\nA run of scripted policies ({PLAYED}):", "bold"))
    with show_run_progress(run) as watch:
        play_out(go_on(store, run, watch.on_turn, watch.on_meter))
    played = store.runs.find(run.id)
    looks = looks_in(store, played)
    OUT.print(told_text(" ".join(story_of(store, played, looks).sentences), looks))
    show_board(store, played, looks)


def _promise_and_deed(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Yield what the agent said in the first of its turns, and why it then did what to others."""
    for entry in entries:
        if entry.agent == AGENT and entry.turn == PROMISED:
            yield replace(entry, thought="", done=())
        elif entry.agent == AGENT:
            yield replace(entry, done=tuple(replace(deed, promised=()) for deed in entry.done if deed.to))
