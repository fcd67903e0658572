"""The recorded calls of a turn: which answers count, and what is odd about the calls."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hobbes.engine import turn as turns
from hobbes.engine.answer import DECISIONS, ParsedAnswer
from hobbes.engine.world import OBSERVER, AnyWorld
from hobbes.nodes.follow_up import Answer, answer_that_counts
from hobbes.nodes.journal import FOLLOW_UP_QUESTION, TURN_QUESTION, Call
from hobbes.nodes.prompt_set import PromptError
from hobbes.nodes.prompting import system_text, turn_text, view_in
from hobbes.nodes.reading import read
from hobbes.store.history import TurnStart
from hobbes.store.recorded_run import Run


def counted_answer(world: AnyWorld, state: Any, agent: str, calls: Iterable[Call]) -> ParsedAnswer:  # noqa: ANN401  a world's own state
    """Return the parsed answer that counts of one agent's calls in a turn, in the order of their attempts."""
    fields = turns.answer_fields(world, state.setting, agent)
    last = {
        question: Answer(call.prompt, call.reply, read(agent, call.reply, fields))
        for question, call in last_calls(calls).items()
    }
    first, second = last[TURN_QUESTION], last.get(FOLLOW_UP_QUESTION)
    return (answer_that_counts(agent, first, second) if second else first).parsed


def last_calls(calls: Iterable[Call]) -> dict[int, Call]:
    """Return an agent's last call to each question of a turn."""
    last: dict[int, Call] = {}
    for call in calls:
        if call.question == TURN_QUESTION:  # after a halt; a follow-up question was about an earlier answer
            last.clear()
        last[call.question] = call
    return last


def call_faults(world: AnyWorld, state: Any, agent: str, calls: list[Call]) -> Iterator[str]:  # noqa: ANN401  a world's own state
    """Name what is odd about the attempts of one agent: numbers, readings, calls after a decision."""
    if [call.address.attempt for call in calls] != list(range(1, len(calls) + 1)):
        yield f"the attempts of {agent} are not numbered from 1 without a gap"
    fields = turns.answer_fields(world, state.setting, agent)
    for call in calls:
        parsed = read(agent, call.reply, fields)
        if (parsed.outcome, parsed.found_as) != (call.outcome, call.found_as):
            yield (
                f"the call of {agent}, attempt {call.address.attempt}, is recorded as {call.outcome} "
                f"({call.found_as}), but reading its answer gives {parsed.outcome} ({parsed.found_as})"
            )
    yield from _order_faults(agent, calls)


def _order_faults(agent: str, calls: Sequence[Call]) -> Iterator[str]:
    """Name calls that nobody would have made: only a follow-up question comes after a decision, and once.

    An observer is asked again if it decided, a halted run was resumed, and the requests are others now.
    """
    decided = False
    for before, call in zip((None, *calls), calls, strict=False):
        attempt = f"attempt {call.address.attempt}"
        if call.question == FOLLOW_UP_QUESTION:
            if before is None or before.question != TURN_QUESTION:
                yield f"{agent} was asked the follow-up question, {attempt}, without a question before it"
            decided |= call.outcome in DECISIONS
        else:
            others = agent == OBSERVER and before is not None and before.prompt != call.prompt
            if decided and not others:
                yield f"{agent} was asked again, {attempt}, after it had decided"
            decided = call.outcome in DECISIONS


def prompt_faults(run_at_turn: Run, start: TurnStart, attempts: Mapping[str, list[Call]]) -> Iterator[str]:
    """Name the prompts of models that the templates of the run do not give, whatever the view in them is.

    A whole view is believed: another version of hobbes may show an agent more or less. `replay` compares it.
    Where a prompt shows parts of a view only, they are those of the view in this turn.
    """
    if not any(call.prompt.system for calls in attempts.values() for call in calls):
        return  # policies and people get the view alone
    try:
        system = system_text(run_at_turn.prompts, run_at_turn.setting)
    except PromptError as error:
        yield f"the templates of the prompts cannot be filled in: {error}"
        return
    for agent, calls in attempts.items():
        of_agent = run_at_turn.prompts.observer if agent == OBSERVER else system
        for call in calls:
            first = agent != OBSERVER and call.question == TURN_QUESTION
            if call.prompt.system and (
                call.prompt.system != of_agent
                or (first and not _matches_template(run_at_turn, start, agent, call.prompt.turn))
            ):
                attempt = f"attempt {call.address.attempt}"
                yield f"the prompt of {agent}, {attempt}, is not what the templates of the run give"


def _matches_template(run_at_turn: Run, start: TurnStart, agent: str, text: str) -> bool:
    """Return whether a turn text is what the template of a run makes of a view."""
    try:
        view = view_in(text) or turns.view_of(run_at_turn.world, *start, agent)
        return turn_text(run_at_turn.prompts, view) == text
    except ValueError:
        return False
