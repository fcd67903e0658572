"""Games of scripted policies, played by the engine's steps alone: no graph, and no rows but their figures.

Such a game needs only what it starts with to be played again. So an experiment keeps its digest and its
figures, and its turns and calls are stored when somebody asks for them, by `with_turns`.
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.chance import RngStream
from hobbes.engine.digest import link
from hobbes.engine.measures import Folding, PlayedTurn
from hobbes.engine.memory import Memory
from hobbes.engine.policy import speak
from hobbes.engine.record import JsonObject, canonical
from hobbes.engine.turn import Turn, answer_fields, judge, play_turn, question_of, views
from hobbes.engine.world import OBSERVER, AnyWorld, Setting
from hobbes.errors import DamagedError, HobbesError
from hobbes.nodes.journal import TURN_QUESTION, Address, Call, PlayerKind, Prompt, Reply, make_call
from hobbes.nodes.reading import read
from hobbes.store.figures import columns_at_end
from hobbes.store.history import first_of
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run, observer_asked
from hobbes.store.reported import RatingsGiven, keep_figures, keep_row, row_of
from hobbes.store.runs import update_run
from hobbes.store.schema import COUNTS

Keep: TypeAlias = Callable[[Any, str, JsonObject, Reply, ParsedAnswer], None]
"""Takes the state of the world, an actor and its view, what its policy replied, and how that was read."""


def is_pure(world: AnyWorld, setting: Setting[Any], models: Mapping[str, str]) -> bool:
    """Return whether scripted policies alone decide a run, so that the engine's steps can play it."""
    policies = all(spec.startswith(f"{PlayerKind.POLICY}:") for spec in models.values())
    return policies and setting.config.on_failure != "halt" and not observer_asked(world, setting)


def pure_turns(
    world: AnyWorld, setting: Setting[Any], models: Mapping[str, str], keep: Keep | None = None
) -> Iterator[Turn[Any, Any]]:
    """Yield the turns of a game. Their records, and so the digest, are those of the same run on the graph.

    `models` has the spec of each agent's policy. In the place of an observer that is a model or a person, the
    world's default stand-in rules. A failed call leads to the default action, whatever `on_failure` says.
    `keep`, if given, is told each answer.
    """
    from hobbes.nodes.players import PolicyPlayer, parse_spec  # noqa: PLC0415  who reads a run plays nothing

    players = {
        agent: PolicyPlayer(world, parse_spec(world.policies, spec), setting.seed)
        for agent, spec in models.items()
    }
    state = world.setup(setting.config, setting.agents, setting.seed)
    memories: Mapping[str, Memory] = {}
    while not world.over(state):
        answers = {}
        for actor, view in views(world, state, memories).items():
            reply = players[world.owner(state, actor)].answer(state.turn, actor, view)
            answers[actor] = read(actor, reply, answer_fields(world, setting, actor))
            if keep:
                keep(state, actor, view, reply, answers[actor])
        turn = play_turn(world, state, memories, answers, _ruling(world, setting, state, answers))
        yield turn
        state, memories = turn.resolved.state, turn.memories


def _ruling(
    world: AnyWorld,
    setting: Setting[Any],
    state: Any,  # noqa: ANN401  a world's own state
    answers: Mapping[str, ParsedAnswer],
) -> ParsedAnswer | None:
    """Return the ruling of the default stand-in; None where a rule of the world observes, or nobody asks."""
    if world.observer is None or not world.observer.asks(state):
        return None
    question = question_of(world, state, judge(world, state, answers).intents)
    if question is None:
        return None
    stand_ins = world.observer.stand_ins
    text = speak(stand_ins, stand_ins.default, 0, question, RngStream(setting.seed, state.turn, OBSERVER))
    return read(OBSERVER, Reply(text, ""), answer_fields(world, setting, OBSERVER))


def _folding(run: Run) -> Folding[PlayedTurn[Any, Any]]:
    """Return what works out the figures of a game while it is played; one that may end early keeps turns."""
    return Folding(run.world.measures, None if run.world.ending else run.setting.config.rounds)


def play_purely(store: Store, run: Run) -> None:
    """Play a run that has no turns yet to its end, and store its digest and its figures."""
    began = time.monotonic()
    run.check_versions()
    folding, ratings = _folding(run), RatingsGiven(run.world)
    outcomes, counts = Counter[str](), dict.fromkeys(COUNTS, 0)
    digest, last = run.digest, first_of(run)
    for turn in pure_turns(run.world, run.setting, run.models):
        played = turn.played
        folding.add(played)
        ratings.add(played)
        record = turn.record
        digest, last = link(digest, record), turn.resolved.state
        counts["rejected"] += len(record.drops)
        counts["corrected"] += len(record.mends)
        outcomes.update(sorted(turn.judged.outcomes.values()))
    ended = replace(run, turns=last.turn, digest=digest)
    row = row_of(ended, last, ratings, folding.end().measures)
    columns = columns_at_end(run, outcomes, last, counts)
    columns |= {
        "measures_version": run.world.measures.version,
        "turns": ended.turns,
        "digest": digest,
        "seconds": time.monotonic() - began,
    }
    with store.playing(run.id), store.connection as connection:
        update_run(connection, run.id, columns)
        keep_row(connection, row)


def with_turns(store: Store, run: Run) -> Run:
    """Return a run, whose turns are stored now: those of one that has finished without them are played again.

    Raise HobbesError if the home cannot be written, or if the run was played by other rules; DamagedError if
    it ends in another digest now.
    """
    played = "select 1 from turns where run = ?"
    if run.status != "finished" or not run.turns or store.connection.execute(played, [run.id]).fetchone():
        return run
    if run.parent or not is_pure(run.world, run.setting, run.models):
        return run  # its turns have been lost
    # Whoever reads as of one moment reads on as of the moment when the turns are there.
    if reading := store.connection.in_transaction:
        store.connection.rollback()
    ((only,),) = store.connection.execute("pragma query_only")
    try:
        store.connection.execute("pragma query_only = off")
        with store.playing(run.id):
            if not store.connection.execute(played, [run.id]).fetchone():
                play_again(store, run)
    except (sqlite3.OperationalError, PermissionError) as error:
        raise HobbesError(
            f"run {run.id} has no turns yet, and {store.home} cannot be written to play it again: {error}"
        ) from error
    finally:
        store.connection.execute(f"pragma query_only = {only}")
        if reading:
            store.connection.execute("begin")
    return run


def play_again(store: Store, run: Run) -> None:
    """Store the turns, calls and measures of a run that was played purely.

    Raise DamagedError if it ends in another digest now, HobbesError if it was played by other rules.
    """
    from hobbes.store.run_journal import RunJournal  # noqa: PLC0415  who reads a run writes nothing

    run.check_versions()
    turns, calls = list[tuple[int, str, str, str]](), list[Call]()

    def keep(state: Any, actor: str, view: JsonObject, reply: Reply, parsed: ParsedAnswer) -> None:  # noqa: ANN401  a world's own state
        replied = reply._replace(player=run.models[run.world.owner(state, actor)])
        prompt = Prompt("", canonical(view))
        calls.append(make_call(Address(state.turn, actor, 1), prompt, TURN_QUESTION, replied, parsed))

    folding = _folding(run)
    digest = run.digest_before(0, "")
    for number, turn in enumerate(pure_turns(run.world, run.setting, run.models, keep)):
        record = turn.record
        digest = link(digest, record)
        turns.append((number, record.text, digest, canonical(turn.resolved.ledgers)))
        folding.add(turn.played)
    if digest != run.digest:
        raise DamagedError(
            f"run {run.id}: played again, it ends in the digest {digest}, and not in {run.digest}"
        )
    RunJournal(store, run).keep_whole(turns, calls, folding.end())
    if run.versions.measures != run.world.measures.version:
        keep_figures(store, run)
