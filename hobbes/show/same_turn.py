"""Two runs at the same turn: where they first differ, whose prompt, answer or decision does, and how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hobbes.engine.board import Board
from hobbes.engine.record import canonical
from hobbes.errors import MissingError
from hobbes.nodes.journal import Call
from hobbes.prove.run_comparison import (
    ASKED_OTHERWISE,
    asked_alike,
    differing_turns,
    moves,
)
from hobbes.prove.word_diff import whole_word_diff
from hobbes.show.narrative import by
from hobbes.show.trace import FullTurn, Pieces, board_in, full_turn, prompt_diffs
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

REACH = 10
"""How many turns are listed before and after the one that is shown."""


@dataclass(frozen=True, slots=True)
class AgentDifference:
    """An agent that was asked in the turn: the outcomes in both runs, and what differs between them."""

    agent: str
    outcomes: tuple[str | None, str | None]
    """None if the agent was not asked in that run."""
    differs: Sequence[str]
    """Some of `prompt`, `answer`, `decision` and `events`: what it was asked, said, decided and caused."""


@dataclass(frozen=True, slots=True)
class Locked:
    """Two runs at the same turn.

    `first` is the first turn in which they differ, None if there is none, and `draws` the first one before it
    in which random draws alone differ. `near` are the turns around this
    one, each with whether the runs differ in it. `boards` has None for a run without that turn. `system`,
    `prompt` and `answer` are the word diffs of the chosen agent, from the first run to the second;
    `same_prompt` is its prompt if both runs have the same one, else empty.
    """

    turn: int
    turns: int
    first: int | None
    draws: int | None
    near: Sequence[tuple[int, bool]]
    boards: tuple[Board | None, Board | None]
    asked: Sequence[AgentDifference]
    agent: str | None
    system: Mapping[str, Pieces]
    prompt: Mapping[str, Pieces]
    same_prompt: str
    answer: Pieces


def at_same_turn(store: Store, a: Run, b: Run, turn: int | None, agent: str | None) -> Locked:
    """Return two runs at the same turn, if none is given at the first that differs.

    The first agent for which most differs is chosen unless the given one was asked in the turn. Raise
    MissingError if neither run has the turn.
    """
    runs, turns = (a, b), max(a.turns, b.turns)
    differing = differing_turns(store, a, b)
    first = differing.turns[0] if differing.turns else None
    number = (first or 0) if turn is None else turn
    if turns and not 0 <= number < turns:
        raise MissingError(f"neither run has a turn {number}; they have turns 0 to {turns - 1}")
    full = [full_turn(store, run, number) if number < run.turns else None for run in runs]
    calls = [{call.address.agent: call for call in store.calls.of_turn(run.id, number)} for run in runs]
    differences = [
        _prompt_and_answer_diffs(name, full, calls) for name in dict.fromkeys([*calls[0], *calls[1]])
    ]
    if differences and agent not in {one.agent for one in differences}:
        agent = max(differences, key=lambda one: (len(one.differs), "decision" in one.differs)).agent
    both = [of.get(agent or "") for of in calls]
    systems = [call.prompt.system if call else "" for call in both]
    prompts = [call.prompt.turn if call else "" for call in both]
    answers = [call.reply.text if call else "" for call in both]
    alike = asked_alike(*both)
    strip = range(max(number - REACH, 0), min(number + REACH + 1, turns))
    return Locked(
        number,
        turns,
        first,
        differing.draws,
        [(near, near in differing.turns) for near in strip],
        (board_in(a, full[0]), board_in(b, full[1])),
        differences,
        agent,
        prompt_diffs(systems[0], systems[1]) if alike else {},
        prompt_diffs(prompts[0], prompts[1]) if alike else {"": [(" ", ASKED_OTHERWISE)]},
        prompts[0] if prompts[0] == prompts[1] else "",
        whole_word_diff(answers[0], answers[1]),
    )


def _prompt_and_answer_diffs(
    agent: str, full: Sequence[FullTurn | None], calls: Sequence[Mapping[str, Call]]
) -> AgentDifference:
    """Return what differs between what an agent was asked and said in two runs."""
    one, other = (of.get(agent) for of in calls)
    differs = []
    if one and other:
        differs += ["prompt"] * (one.prompt != other.prompt)
        differs += ["answer"] * (one.reply.text != other.reply.text)
    intents = [turn.turn.record.intents.get(agent) if turn else None for turn in full]
    decided = {None if intent is None else canonical(moves(intent)) for intent in intents}
    caused = [by(turn.turn.record.events, agent) if turn else [] for turn in full]
    differs += ["decision"] * (len(decided) > 1) + ["events"] * (caused[0] != caused[1])
    return AgentDifference(agent, (one.outcome if one else None, other.outcome if other else None), differs)
