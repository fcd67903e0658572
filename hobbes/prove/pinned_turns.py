"""`hobbes make-test`: recorded turns of a run as a pin, and what `pytest --hobbes-update` makes of one.

A pin holds the state before its first turn, the recorded answers, and what is expected: the prompt of each
agent, how its answer is read, and the record of each turn. `pin_replay` plays the turns again, and
`pin_failure` says what is not as expected then.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hobbes.engine.world import hashed_settings
from hobbes.errors import HobbesError, UsageError
from hobbes.nodes.journal import Call
from hobbes.play.fork import ForkOptions, setting_of_fork
from hobbes.prove.pin_failure import failure
from hobbes.prove.pin_replay import PinReplay, expected_question, replay_pin
from hobbes.prove.pins import Answer, Before, Expected, GivenAnswer, Lines, TurnsPin, Way, relative_variant
from hobbes.prove.recorded_calls import last_calls
from hobbes.store.history import memories_before, state_before, stored_turn
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run


def pin_turns(  # noqa: PLR0913  what is pinned, and how it is checked
    store: Store, run: Run, turns: tuple[int, int], folder: Path, *, prompts: bool, values: Mapping[str, Any]
) -> TurnsPin:
    """Return the turns from the first to the last one of two as a file in `folder` will hold them.

    Without `prompts`, it holds none, and those of the run may have changed since. With other `values` of
    settings, the turns will be played under these, and still have to come out as they are recorded. Raise
    UsageError if the run does not have these turns or settings, cannot be read, or does not play as recorded.
    """
    first, last = turns
    if not 0 <= first <= last < run.turns:
        there = f"has turns 0 to {run.turns - 1}" if run.turns else "has no turns yet"
        raise UsageError(f"--turns {first}-{last}: run {run.label} {there}")
    try:
        run.check_versions()
        recorded = _recorded_turns(store, run, turns, folder)
        begins = _before_under(run, turns, values, recorded.before) if values else recorded.before
    except (HobbesError, ValueError) as error:
        raise UsageError(str(error)) from error
    played = replay_pin(recorded, folder, prompts=prompts)
    if failed := failure(recorded, played):
        raise UsageError(
            f"run {run.label} does not play as recorded now ({failed.where}); "
            f"`{store.command('replay', run.label)}` shows how; play a new run, and pin that"
        )
    return accept_changes(recorded, played).model_copy(update={"before": begins, "values": dict(values)})


def _before_under(run: Run, turns: tuple[int, int], values: Mapping[str, Any], before: Before) -> Before:
    """Return what the first turn begins with under other values of settings: a game, or as recorded.

    Raise UsageError for values that there are not, that would change how the game had begun, or that change
    nothing that is played.
    """
    first, last = turns
    setting = setting_of_fork(run.at(first), ForkOptions(first, values=dict(values)))
    under = hashed_settings(setting.config)
    recorded = [hashed_settings(run.at(turn).setting.config) for turn in range(first, last + 1)]
    for name in values:
        if all(under.get(name) == settings.get(name) for settings in recorded):
            raise UsageError(
                f"--set {name}: this changes no turn: run {run.label} was played with this value, or it only "
                "says how a run is carried out; give another value or setting"
            )
    if first > 0:
        return before
    state = run.world.setup(setting.config, setting.agents, setting.seed)
    return before.model_copy(update={"state": run.world.state.to_json(state)})


def _recorded_turns(store: Store, run: Run, turns: tuple[int, int], folder: Path) -> TurnsPin:
    first, last = turns
    before = stored_turn(store, run, first - 1).digest if first else ""
    texts: dict[str, Lines] = {}
    answers: list[Answer] = []
    expected: list[Expected] = []
    for number in range(first, last + 1):
        attempts = store.calls.attempts(run.id, number).values()
        calls = [call for of_agent in attempts for call in last_calls(of_agent).values()]
        answers += map(_answer, calls)
        turn = stored_turn(store, run, number)
        # A scripted policy was sent no text, so there is none to compare with.
        questions = [expected_question(call, call, texts) for call in calls if call.prompt.system]
        expected.append(
            Expected(turn=number, asked=questions, record=turn.record.to_json(), digest=turn.digest)
        )
    memories = memories_before(store, run, first)
    return TurnsPin(
        about=_about(run, turns, sorted({one.player for one in answers})),
        run=run.id,
        world=run.world.name,
        agents=list(run.setting.agents),
        seed=run.setting.seed,
        ways=list(_ways(run, turns, folder)),
        before=Before(
            turn=first,
            digest=run.digest_before(first, before),
            state=run.world.state.to_json(state_before(store, run, first)),
            memories={agent: dict(memory.to_json()) for agent, memory in memories.items()},
        ),
        answers=answers,
        expected=expected,
        texts=texts,
    )


def _about(run: Run, turns: tuple[int, int], players: Sequence[str]) -> str:
    """Return what is pinned, and who answered, in two sentences."""
    first, last = turns
    which = f"Turn {first}" if first == last else f"Turns {first} to {last}"
    return f"{which} of the {run.world.name} run {run.label}. Answered by {', '.join(players)}."


def _ways(run: Run, turns: tuple[int, int], folder: Path) -> Iterator[Way]:
    """Yield how the turns were played: in one way, unless a fork goes on in another way between them."""
    first, last = turns
    for until in (*(one.until for one in run.earlier if first < one.until <= last), last + 1):
        way = run.at(until - 1)
        yield Way(
            until=until,
            settings=way.setting.config.model_dump(mode="json"),
            prompts=relative_variant(folder, way.prompts.variant),
            lang=way.prompts.lang,
            models=way.models,
        )


def _answer(call: Call) -> Answer:
    turn, agent, _ = call.address
    return Answer(**dict(GivenAnswer.to(call)), turn=turn, agent=agent, question=call.question)


def accept_changes(pin: TurnsPin, played: PinReplay) -> TurnsPin:
    """Return a file that expects what was played; raise UsageError if it could not be played to the end."""
    if played.stop is not None:
        raise UsageError(
            f"turn {played.stop.turn}, {played.stop.agent or 'all agents'}: {played.stop.diff}; "
            "this cannot be accepted: play a new run, and make the test anew"
        )
    return pin.model_copy(update={"expected": played.turns, "texts": played.texts})
