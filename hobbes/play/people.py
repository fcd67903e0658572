"""What a waiting run asks people, who play agents or are the observer, and their answers.

An answer is JSON. The pydantic model of the world's answer, or of its ruling on these requests, and then the
rules check it before it is taken, so nothing that a person says is rejected later.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.turn import answer_fields, meanings
from hobbes.engine.world import OBSERVER, in_one_line
from hobbes.errors import HobbesError, LateError, UsageError
from hobbes.files import key_and_value, read_text
from hobbes.nodes.human import persons_reply
from hobbes.nodes.journal import TURN_QUESTION, Address, PlayerKind, Prompt, make_call
from hobbes.nodes.reading import read
from hobbes.play.start import Clock, check_it_goes_on, late_calls, utc
from hobbes.store.history import state_before
from hobbes.store.home import Store
from hobbes.store.recorded_run import PersonQuestion, Run, observer_asked
from hobbes.store.run_journal import RunJournal

MAX_SHOWN_LENGTH = 80
"""How many characters are shown of what is rejected."""


def people_in(run: Run) -> list[str]:
    """Return the agents for whom people answer, and the observer if it is a person."""
    players = [agent for agent, spec in run.models.items() if spec == PlayerKind.HUMAN]
    return [*players, *([OBSERVER] if observer_asked(run.world, run.setting) == PlayerKind.HUMAN else [])]


def the_question(run: Run, agent: str | None = None) -> PersonQuestion:
    """Return what a waiting run asks the person who answers for an agent or as the observer.

    Without an agent, return the only question. Raise UsageError if the run asks nothing, or several people.
    """
    if not run.questions:
        raise UsageError(f"run {run.label} is not waiting for an answer; it is {run.status}")
    questions = [question for question in run.questions if agent in {None, question.agent}]
    if len(questions) != 1:
        agents = ", ".join(question.agent for question in run.questions)
        raise UsageError(f"run {run.label} is waiting for the answers of {agents}; name one with --agent")
    return questions[0]


def requests(question: PersonQuestion) -> list[dict[str, Any]]:
    """Return the requests that an observer is asked to rule on."""
    return list(json.loads(question.asked)["requests"])


def open_questions(run: Run) -> list[dict[str, Any]]:
    """Return what a run waits for, as plain JSON: the requests to an observer, or each agent with its view.

    Raise UsageError if the run is not waiting.
    """
    if not run.questions or run.questions[0].agent == OBSERVER:
        return requests(the_question(run))
    return [{"agent": question.agent, "view": json.loads(question.asked)} for question in run.questions]


def model_of_answer(run: Run, question: PersonQuestion) -> type[BaseModel]:
    """Return the pydantic model of an answer to a question of a run."""
    if question.agent == OBSERVER and run.world.observer is not None:
        return run.world.observer.ruling(requests(question))
    return run.world.action(run.setting)


def written_answer(words: Sequence[str]) -> str:
    """Return the answer that words spell, as JSON: KEY=VALUE each, or one @FILE.

    VALUE is JSON or else text; a KEY with dots leads into objects. Raise UsageError for anything else.
    """
    if len(words) == 1 and words[0].startswith("@"):
        return read_text(Path(words[0][1:]))
    answer: dict[str, Any] = {}
    for word in words:
        key, value = key_and_value(word)
        *path, name = key.split(".")
        place: Any = answer
        for part in path:
            place = place.setdefault(part, {}) if isinstance(place, dict) else None
        if not isinstance(place, dict) or name in place:
            raise UsageError(f"{key}: write each only once")
        place[name] = value
    return json.dumps(answer, ensure_ascii=False)


def checked_answer(run: Run, question: PersonQuestion, text: str) -> str:
    """Return a written answer as it is kept. Raise UsageError, in one line, for what its model refuses."""
    try:
        valid = model_of_answer(run, question).model_validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{in_one_line(error, depth=3)}; correct that and answer again") from error
    # A request that an observer leaves out has the default ruling; an agent's words are kept as they are.
    return valid.model_dump_json(by_alias=True) if question.agent == OBSERVER else text


def keep_answer(store: Store, run: Run, question: PersonQuestion, answer: str, clock: Clock = utc) -> Run:
    """Keep a person's answer to a question of a waiting run; `go_on` then plays on.

    Return the run as it is then. Raise UsageError if a rule would reject a part of an agent's answer. Raise
    HobbesError if the run could not be played on now, or if the question has been answered already, and
    LateError if the time for an answer is over.
    """
    check_it_goes_on(run)
    now = clock()
    if why := late_calls(run, now).get(question.address):
        raise LateError(f"run {run.label}: that answer comes too late: {why}")
    waited = now - datetime.fromisoformat(question.since)
    took = max(0, round(waited.total_seconds() * 1000))  # a clock may have been put back
    reply = persons_reply(answer, milliseconds=took)
    parsed = read(question.agent, reply, answer_fields(run.world, run.setting, question.agent))
    if question.agent != OBSERVER:
        _check_nothing_is_rejected(run, state_before(store, run, run.turns), question.agent, parsed)
    address = Address(run.turns, question.agent, int(question.address.rpartition("/")[2]))
    call = make_call(address, Prompt("", question.asked), TURN_QUESTION, reply, parsed)
    with store.playing(run.id):
        kept = RunJournal(store, run).keep_answer(call, question)
    present = store.runs.find(run.id)
    if not kept:
        hint = f"`{store.command('answer', run.label)}` shows what it asks now"
        shown = hint if present.questions else f"it is {present.status}"
        raise HobbesError(f"run {run.label}: somebody else has answered that; {shown}")
    return present


def _check_nothing_is_rejected(run: Run, state: Any, agent: str, parsed: ParsedAnswer) -> None:  # noqa: ANN401  a world's own state
    """Raise UsageError, which says in one line what the rules would reject of an answer, and why."""
    drops = [*parsed.drops, *run.world.validate(state, agent, parsed.said).drops]
    if drops:
        quoted, detail = json.dumps(drops[0].said, ensure_ascii=False), " ".join(drops[0].detail.split())
        meaning = meanings(run.world).get(drops[0].code, drops[0].code)
        why = f"{meaning}{f' ({detail})' if detail else ''}"
        more = f"; and {len(drops) - 1} more" if drops[1:] else ""
        raise UsageError(f"{quoted[:MAX_SHOWN_LENGTH]}: {why}{more}; correct that and answer again")
