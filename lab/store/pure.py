"""Games of scripted policies, played by the engine's steps alone: no graph, and no rows but their figures.

Such a game needs only what it starts with to be played again. So an experiment keeps its digest and its
figures, and its turns and calls are stored when somebody opens the run.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.measuring import measure_history
from hobbes.engine.memory import Memory
from hobbes.engine.record import JsonObject, canonical
from hobbes.engine.turn import Turn, answer_fields, link, play_turn, views
from hobbes.engine.world import AnyWorld, PlayedTurn, Setting
from hobbes.lab.errors import DamagedError
from hobbes.lab.store.figures import columns_of
from hobbes.lab.store.history import first_of
from hobbes.lab.store.home import Store
from hobbes.lab.store.journal import RunJournal
from hobbes.lab.store.reported import Costs, keep_row, row_of
from hobbes.lab.store.run import Run, ending, observer_asked
from hobbes.lab.store.runs import update_run
from hobbes.nodes.journal import (
    TURN_QUESTION,
    Address,
    Call,
    PlayerKind,
    Prompt,
    Reply,
    make_call,
    policy_model,
)
from hobbes.nodes.players import PolicyPlayer, parse_spec
from hobbes.nodes.reading import read


class PolicyAnswer(NamedTuple):
    """What a policy was shown, what it replied, and how that was read."""

    view: JsonObject
    reply: Reply
    parsed: ParsedAnswer


class PureTurn(NamedTuple):
    """A turn that was played, and the answers of its actors."""

    turn: Turn[Any, Any]
    answers: Mapping[str, PolicyAnswer]


def is_pure(world: AnyWorld, setting: Setting[Any], models: Mapping[str, str]) -> bool:
    """Return whether scripted policies alone decide a run, so that the engine's steps can play it."""
    policies = all(spec.startswith(f"{PlayerKind.POLICY}:") for spec in models.values())
    return policies and setting.config.on_failure != "halt" and not observer_asked(world, setting)


def pure_turns(world: AnyWorld, setting: Setting[Any], models: Mapping[str, str]) -> Iterator[PureTurn]:
    """Yield the turns of a game. Their records, and so the digest, are those of the same run on the graph.

    `models` has the spec of each agent's policy. The observer, if the world has one, has to be a rule of the
    world. A failed call leads to the default action, whatever `on_failure` says.
    """
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
            parsed = read(actor, reply, answer_fields(world, setting, actor))
            answers[actor] = PolicyAnswer(view, reply, parsed)
        turn = play_turn(world, state, memories, {actor: one.parsed for actor, one in answers.items()})
        yield PureTurn(turn, answers)
        state, memories = turn.resolved.state, turn.memories


def play_purely(store: Store, run: Run) -> None:
    """Play a run that has no turns yet to its end, and store its digest and its figures."""
    began = time.monotonic()
    run.check_versions()
    history = list[PlayedTurn[Any, Any]]()
    outcomes = Counter[str]()
    digest, last = run.digest, first_of(run)
    for turn, answers in pure_turns(run.world, run.setting, run.models):
        history.append(turn.played)
        digest, last = link(digest, turn.record), turn.resolved.state
        outcomes.update(sorted(one.parsed.outcome.value for one in answers.values()))
    played = replace(run, turns=len(history), digest=digest)
    told = sorted({policy_model(parse_spec(run.world.policies, spec).name) for spec in run.models.values()})
    costs = Costs(outcomes.total(), 0, 0, 0.0, told, {})
    row = row_of(played, last, history, measure_history(run.world, history), costs)
    ended = columns_of(ending(run, outcomes, last))
    ended |= {"turns": played.turns, "digest": digest, "seconds": time.monotonic() - began}
    with store.playing(run.id), store.db.conn as connection:
        update_run(connection, run.id, ended)
        keep_row(connection, row)


def play_again(store: Store, run: Run) -> None:
    """Store the turns, calls and measures of a run that was played purely.

    Raise DamagedError if it ends in another digest now, LabError if it was played by other rules.
    """
    run.check_versions()
    turns, calls = list[tuple[int, str, str, str]](), list[Call]()
    history = list[PlayedTurn[Any, Any]]()
    digest = run.digest_before(0, "")
    for number, (turn, answers) in enumerate(pure_turns(run.world, run.setting, run.models)):
        digest = link(digest, turn.record)
        turns.append((number, turn.record.text, digest, canonical(turn.resolved.ledgers)))
        history.append(turn.played)
        calls += [
            make_call(
                Address(number, actor, 1),
                Prompt("", canonical(one.view)),
                TURN_QUESTION,
                one.reply._replace(player=run.models[run.world.owner(turn.before, actor)]),
                one.parsed,
            )
            for actor, one in answers.items()
        ]
    if digest != run.digest:
        raise DamagedError(
            f"run {run.id}: played again, it ends in the digest {digest}, and not in {run.digest}"
        )
    RunJournal(store, run).keep_whole(turns, calls, measure_history(run.world, history))
