"""Runs that a command plays: a bar while they are played, what came of them, and the questions to people."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any, TypeAlias

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from hobbes.engine.telling import counted
from hobbes.errors import INTERRUPTED, HaltedRunError, HobbesError
from hobbes.loop import play_out
from hobbes.nodes.rate_limits import RateLimiter
from hobbes.play.people import open_questions, people_in
from hobbes.play.playthrough import Shared, go_on
from hobbes.play.side_by_side import most_at_once, play_runs
from hobbes.show.palette import Looks, looks_in, looks_of, players_of, words_of
from hobbes.show.progress import show_experiment_progress, show_run_progress
from hobbes.show.questions import answer_in_terminal, show_questions
from hobbes.show.story import story_of
from hobbes.show.terminal import (
    OUT,
    next_step,
    percent,
    picture,
    plain,
    print_json,
    remark,
    styled_name,
    table,
)
from hobbes.show.trace_text import show_headline, show_sentences
from hobbes.show.world_list import meaning_of_measure
from hobbes.store.history import state_before
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.runs import RUNS


def play_run(store: Store, run: Run, *, as_json: bool, asks: bool = False, traced: bool = False) -> bool:
    """Play a run until it ends or asks a person, and print the result. Return whether it is tainted.

    With `asks`, the caller asks the person, so that nothing is printed of it.
    """
    try:
        with show_run_progress(run) as watch:
            play_out(go_on(store, run, watch.on_turn, watch.on_meter), traced=traced)
    except KeyboardInterrupt:
        _stopped(f"`{store.command('resume', run.label)}` goes on from here")
    except HaltedRunError:
        if as_json:
            print_json(result_of(store, run))
        raise
    if as_json:
        print_json(result_of(store, run))
    else:
        _show_result(store, run, asks=asks)
    return _is_tainted(store, run)


def play_run_and_ask(store: Store, run: Run, *, as_json: bool, traced: bool) -> bool:
    """Play a run. If only one person plays, ask in the terminal where there is one."""
    alone = len(people_in(run)) == 1 and not as_json and in_terminal()
    tainted = play_run(store, run, as_json=as_json, asks=alone, traced=traced)
    while alone and (stored := store.runs.find(run.id)).questions:
        question = stored.questions[0]  # whoever plays a unit of trust plays its clones, too
        try:
            answer_in_terminal(store, stored, question)
        except typer.Abort:
            _stopped(f"`{store.command('answer', run.label)}` asks again")
        except HobbesError as error:
            remark(f"hobbes: {error}")
        tainted = play_run(store, store.runs.find(run.id), as_json=as_json, asks=alone, traced=traced)
    return tainted


def play_runs_side_by_side(store: Store, runs: Sequence[Run], *, as_json: bool, traced: bool) -> bool:
    """Play runs until each ends or asks a person, and print all results and their tally.

    Return whether one of them is tainted.
    """
    try:
        with show_experiment_progress(len(runs), len(runs)) as watch:
            shared = Shared(limiter=RateLimiter())
            play_runs(store, runs, most_at_once(runs), shared, watch, traced=traced)
    except KeyboardInterrupt:
        _stopped(f"`{store.command('resume', runs[0].id)}` goes on with the first, and so on")
    finally:
        if as_json:
            print_json([result_of(store, run) for run in runs])
    if not as_json:
        for run in runs:
            _show_result(store, run)
        OUT.print(tally(store, runs))
    return any(_is_tainted(store, run) for run in runs)


def result_of(store: Store, run: Run) -> dict[str, Any]:
    """Return the result of a run that was played, or what it waits for, as JSON."""
    ended = store.runs.find(run.id)
    if ended.questions:
        return {"run": ended.id, "turn": ended.turns, "waiting": open_questions(ended)}
    return store.figures.result(ended)


def in_terminal() -> bool:
    """Return whether somebody can be asked here."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _stopped(hint: str) -> None:
    """End the command after Ctrl-C, with what goes on."""
    remark(f"stopped; {hint}")
    sys.exit(INTERRUPTED)


def _is_tainted(store: Store, run: Run) -> bool:
    return bool(store.figures.about(run.id)["tainted"])


def _show_result(store: Store, played: Run, *, asks: bool = False) -> None:
    """Show how a run ended, or what it asks a person unless the caller asks."""
    run = store.runs.find(played.id)
    if run.questions:
        if not asks:
            show_questions(store, run)
        return
    looks = looks_in(store, run)
    show_headline(store, run)
    for model, notes in store.figures.left_out(run.id).items():
        OUT.print(plain(f"{model} was asked {'; '.join(notes)}"))
    show_sentences(story_of(store, run, looks), looks)
    OUT.print()
    show_board(store, run, looks)
    OUT.print(_main_measures(store, run))
    name = run.label
    next_step(f"{store.command('trace', name)}   {store.command('view')}")


def show_board(store: Store, run: Run, looks: Looks) -> None:
    """Show how the world of a run looks now, and who plays."""
    rows = run.world.picture.rows(state_before(store, run, run.turns))
    OUT.print(picture(rows, words_of(run, looks)).append_text(_played_by(run, looks)))


def _played_by(run: Run, looks: Looks) -> Text:
    """Return who played whom, as the picture of the world names them: the legend of the picture."""
    shown, names = words_of(run, looks), run.world.picture.in_picture(run.setting.agents)
    players = players_of(run, looks)
    by_player = {player: [one for one in players if players[one] == player] for player in players.values()}
    lines = [
        Text(" ").join([*(styled_name(names.get(one, one), shown) for one in played), plain(player)])
        for player, played in by_player.items()
    ]
    return Text(" · ").join(lines)


def _main_measures(store: Store, run: Run) -> RenderableType:
    """Return the measures that an experiment compares, with their meaning, and where the others are."""
    measures = store.figures.measures(run.id)
    rows = [
        (name, measures[name], meaning_of_measure(run.world, name))
        for name in run.world.measures.headline
        if name in measures
    ]
    failed, more = store.calls.failures(run.id)["share"], len(measures) - len(rows)
    title = f"\nmeasures ({percent(failed)} of calls failed)" if failed else "\nmeasures"
    rest = plain(f"{counted(more, 'more measure')}: {store.command('trace', run.label, '--raw')}")
    return Group(table(title, ("measure", "value", "meaning"), rows), *([rest] if more else []))


Figures: TypeAlias = Mapping[str, float | None]
"""The figures of a run by name: the score of each agent, and the main measures of the world."""


def tally(store: Store, runs: Sequence[Run]) -> RenderableType:
    """Return how many runs ended how, and the least, mean and greatest of each figure of the finished ones.

    Forks are shown beside their parent. A figure has a mean over the runs in which it is defined.
    """
    ended = [store.runs.find(run.id) for run in runs]
    finished = [run for run in ended if run.status == "finished"]
    figures = [_figures(store, run) for run in finished]
    parent = store.runs.find(runs[0].parent) if runs[0].parent else None
    of_parent = _figures(store, parent) if parent else None
    statuses = ", ".join(f"{n} {status}" for status, n in Counter(run.status for run in ended).items())
    digests = len({run.digest for run in finished})
    alike = f"; the finished ones have {counted(digests, 'different digest')}" if finished else ""
    columns = ("figure", *(("parent",) if parent else ()), "least", "mean", "greatest", "runs")
    looks = looks_of(runs[0].setting.agents)
    return Group(
        plain(f"\n{counted(len(runs), 'run')}: {statuses}{alike}"),
        table("", columns, _rows(figures, of_parent), looks),
    )


def _figures(store: Store, run: Run) -> Figures:
    """Return the figures of a run; those of one that has not finished are empty."""
    measures = store.figures.measures(run.id)
    scores: Mapping[str, int] = RUNS.value(store.runs.row(run.id), "scores") or {}
    return {**scores, **{name: measures[name] for name in run.world.measures.headline if name in measures}}


def _rows(figures: Sequence[Figures], of_parent: Figures | None) -> Iterator[list[object]]:
    for name in dict.fromkeys(name for one in figures for name in one):
        values = [value for one in figures if (value := one.get(name)) is not None]
        before = [] if of_parent is None else [of_parent.get(name)]
        spread = [min(values), mean(values), max(values)] if values else [None] * 3
        yield [name, *before, *spread, len(values)]
