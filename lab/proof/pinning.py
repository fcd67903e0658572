"""`hobbes make-test`: recorded turns of a run in a file, and whether they still play as they did.

The file holds the state before the first turn, the recorded answers, and what is expected: the prompt of
each agent, how its answer is read, and the record of each turn. The turns are played again on the run's own
graph with players that only write prompts, so nothing is asked and no server is needed. Where prompts are
ignored, none are loaded, and the file holds none.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.board import Board
from hobbes.engine.record import Drop, canonical, sha256
from hobbes.engine.turn import Layer, TurnRecord, settings_link
from hobbes.engine.world import OBSERVER, PlayedTurn, Setting, board_of, make_setting
from hobbes.engine.worlds import world_named
from hobbes.graphs.run import replay
from hobbes.graphs.turn import ring
from hobbes.lab.errors import LabError, UsageError
from hobbes.lab.loop import play_out
from hobbes.lab.proof import pin_file
from hobbes.lab.proof.comparing import CHANGE, word_diff
from hobbes.lab.proof.differing import first_differing_part
from hobbes.lab.proof.replaying import DivergedError, JournalWithoutCalls
from hobbes.lab.proof.rereading import decision
from hobbes.lab.proof.verifying import last_calls
from hobbes.lab.store.history import memories_before, state_before, stored_turn
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import HOBBES, Run
from hobbes.nodes.files import real_path
from hobbes.nodes.follow_up import follow_up_prompt
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import (
    FOLLOW_UP_QUESTION,
    Address,
    Call,
    Logged,
    PlayerKind,
    Prompt,
    Reply,
    is_program,
)
from hobbes.nodes.prompting import PromptSet, is_path, load_prompts, system_text, turn_text
from hobbes.nodes.state import TurnState, memories_from, state_at

LAYER_OF_PART: Mapping[str, Layer] = {
    "outcome": "reading",
    "intent": "validation",
    "drops": "validation",
    "mends": "validation",
}
"""The layer that makes each part of an agent's decision."""

NAME_LENGTH = 12
"""Characters of the name of a text."""


class Failure(NamedTuple):
    """The first thing that is not as expected. `agent` is empty if it belongs to no agent.

    `pieces` are a word diff from what was expected to what is now, or words about what is missing.
    """

    turn: int
    agent: str
    layer: Layer
    pieces: list[tuple[CHANGE, str]]
    prompts: tuple[int, int] | None = None
    """If a prompt differs: how many prompts of these turns do, and of how many."""
    sentence: str = ""
    """What first differs on the boards of all turns, in words; empty if nothing does."""

    @property
    def where(self) -> str:
        """Turn, agent and layer, in words."""
        return f"turn {self.turn}, {self.agent or 'all agents'}: {self.layer}"


@dataclass
class PinOutcome:
    """What playing the turns again came to."""

    with_prompts: bool
    """Whether prompts were written, and are compared."""
    turns: list[pin_file.Expected] = field(default_factory=list)
    texts: dict[str, pin_file.Lines] = field(default_factory=dict)
    asked: list[pin_file.ExpectedQuestion] = field(default_factory=list)
    """The questions of the turn in which the play could not go on."""
    stop: DivergedError | None = None
    """Why it could not go on; None if it did."""

    def prompt(self, question: pin_file.ExpectedQuestion) -> str:
        """Return the whole prompt of a question that was asked now."""
        return pin_file.whole_prompt(self.texts, question)


# --- write


def pin(
    store: Store, run: Run, turns: tuple[int, int], folder: Path, *, prompts: bool = True
) -> pin_file.Pin:
    """Return the turns from the first to the last one of two as a file in `folder` will hold them.

    Without `prompts`, it holds none, and those of the run may have changed since. Raise UsageError if the run
    does not have these turns, cannot be read, or does not play as recorded now.
    """
    first, last = turns
    if not 0 <= first <= last < run.turns:
        there = f"has turns 0 to {run.turns - 1}" if run.turns else "has no turns yet"
        raise UsageError(f"--turns {first}-{last}: run {run.id} {there}")
    try:
        run.check_versions()
        recorded = _recorded_turns(store, run, turns, folder)
    except LabError as error:
        raise UsageError(str(error)) from error
    played = play_pin(recorded, folder, prompts=prompts)
    if failed := failure(recorded, played, None):
        raise UsageError(
            f"run {run.id} does not play as recorded now ({failed.where}); "
            f"`{store.command('replay', run.id)}` shows how; play a new run, and pin that"
        )
    return accept_changes(recorded, played)


def _recorded_turns(store: Store, run: Run, turns: tuple[int, int], folder: Path) -> pin_file.Pin:
    """Return what the run database has of the turns."""
    first, last = turns
    before = stored_turn(store, run, first - 1).digest if first else ""
    texts: dict[str, pin_file.Lines] = {}
    answers: list[pin_file.Answer] = []
    expected: list[pin_file.Expected] = []
    for number in range(first, last + 1):
        attempts = store.calls.attempts(run.id, number).values()
        calls = [call for of_agent in attempts for call in last_calls(of_agent).values()]
        answers += map(_answer, calls)
        turn = stored_turn(store, run, number)
        # A scripted policy was sent no text, so there is none to compare with.
        questions = [_pinned_question(call, call, texts) for call in calls if call.prompt.system]
        expected.append(
            pin_file.Expected(turn=number, asked=questions, record=turn.record.to_json(), digest=turn.digest)
        )
    memories = memories_before(store, run, first)
    named, source = f" {run.name!r}" if run.name else "", pin_file.source(answers)
    return pin_file.Pin(
        format=pin_file.FORMAT,
        about=f"{pin_file.turns_in_words(*turns)} of the {run.world.name} run{named}. {source}",
        run=run.id,
        hobbes=HOBBES,
        world=run.world.name,
        agents=list(run.setting.agents),
        seed=run.setting.seed,
        ways=list(_ways(run, turns, folder)),
        before=pin_file.Before(
            turn=first,
            digest=run.digest_before(first, before),
            state=run.world.state.to_json(state_before(store, run, first)),
            memories={agent: dict(memory.to_json()) for agent, memory in memories.items()},
        ),
        answers=answers,
        expected=expected,
        texts=texts,
    )


def _ways(run: Run, turns: tuple[int, int], folder: Path) -> Iterator[pin_file.Way]:
    """Yield how the turns were played: in one way, unless a fork goes on in another way between them."""
    first, last = turns
    for until in (*(one.until for one in run.earlier if first < one.until <= last), last + 1):
        way = run.at(until - 1)
        variant = way.prompts.variant
        yield pin_file.Way(
            until=until,
            settings=way.setting.config.model_dump(mode="json"),
            prompts=path_from(folder, variant) if is_path(variant) else variant,
            lang=way.prompts.lang,
            models=way.models,
        )


def path_from(folder: Path, variant: str) -> str:
    """Return the path of a folder of prompts from another folder; as it is if there is none."""
    try:
        path = Path(os.path.relpath(Path(variant).resolve(), folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return variant
    return f"./{path}"


def _answer(call: Call) -> pin_file.Answer:
    """Return the answer of a call."""
    reply = call.reply
    return pin_file.Answer(
        turn=call.address.turn,
        agent=call.address.agent,
        question=call.question,
        player=reply.player,
        model=reply.model,
        text=reply.text,
        reasoning=reply.reasoning,
        failure=reply.failure,
        error=reply.error,
    )


def _pinned_question(
    call: Call, read: Call | ParsedAnswer, texts: dict[str, pin_file.Lines]
) -> pin_file.ExpectedQuestion:
    """Return the question of a call and how its answer was `read`; its system text goes into the texts."""
    system, turn = call.prompt.system, call.prompt.turn
    name = sha256(system)[:NAME_LENGTH] if system else ""
    if system:
        texts[name] = system.split("\n")
    return pin_file.ExpectedQuestion(
        agent=call.address.agent,
        question=call.question,
        system=name,
        prompt=turn.split("\n"),
        outcome=read.outcome,
        found_as=read.found_as,
    )


# --- play


class _Prompter:
    """A player that writes prompts, empty ones without `prompts`, and is never asked.

    `follows_up` says whether it is asked twice.
    """

    at_once = False

    def __init__(self, system: str, prompts: PromptSet | None, *, follows_up: bool) -> None:
        self._system = system
        self._prompts = prompts
        self._follows_up = follows_up

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Return the system text with the turn text of a view, as `ChatPlayer` does."""
        return Prompt(self._system, turn_text(self._prompts, view) if self._prompts else "")

    async def reply(self, address: Address, prompt: Prompt) -> Reply:  # noqa: ARG002  as in Player
        """Raise AssertionError: all answers are pinned."""
        raise AssertionError(f"{address} was asked")

    def follow_up(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> Prompt | None:
        """Return the follow-up question, None for a program or a person."""
        if not self._follows_up:
            return None
        return follow_up_prompt(self._prompts, prompt, answer, drops) if self._prompts else prompt


class _Prompters:
    """The players of a run, which only write prompts: for a program, those of a chat model."""

    def __init__(self, prompts: PromptSet | None, setting: Setting[Any]) -> None:
        self._prompts = prompts
        self._system = system_text(prompts, setting) if prompts else ""

    def named(self, spec: str) -> _Prompter:
        """Return the player of a spec."""
        return _Prompter(
            self._system, self._prompts, follows_up=not is_program(spec) and spec != PlayerKind.HUMAN
        )

    def stop_reason(self) -> str:
        """Return an empty text: nothing can stop calls that are not made."""
        return ""

    def observing(self, spec: str) -> _Prompter:
        """Return the observer's player. It gets the requests alone, a person without system text."""
        if self._prompts is None:
            return _Prompter("", None, follows_up=False)
        system = "" if spec == PlayerKind.HUMAN else self._prompts.observer
        return _Prompter(system, replace(self._prompts, turn="{{ view }}"), follows_up=False)


class _PinJournal(JournalWithoutCalls):
    """A journal that answers from a file, and notes what is asked, how it is read, and what follows."""

    def __init__(self, pin: pin_file.Pin, played: PinOutcome) -> None:
        self._pin = pin
        self._played = played

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt) -> Call:
        """Return the pinned answer; raise DivergedError if there is none."""
        known = self._pin.answered.get((turn, agent, question))
        if known is None:
            which = " to the follow-up question" if question == FOLLOW_UP_QUESTION else ""
            raise DivergedError(turn, agent, "answer", f"no answer{which} was recorded")
        reply = Reply(
            known.text, known.model, known.reasoning, known.failure, known.error, player=known.player
        )
        return Call(Address(turn, agent), prompt, reply, Outcome.ANSWERED, FoundAs.JSON, question)

    def read(self, call: Call, parsed: ParsedAnswer) -> None:
        """Note a question and how its answer is read."""
        self._played.asked.append(_pinned_question(call, parsed, self._played.texts))

    def turn(self, turn: Logged) -> None:
        """Note the record of a turn."""
        played = self._played
        record = dict(turn.record.to_json())
        now = pin_file.Expected(turn=turn.number, asked=[*played.asked], record=record, digest=turn.digest)
        played.turns.append(now)
        played.asked.clear()


def play_pin(pin: pin_file.Pin, folder: Path, *, prompts: bool = True) -> PinOutcome:
    """Play the turns of a file in `folder` again, with the current prompts, reading and rules.

    Without `prompts`, none are loaded. Raise UsageError if the turns cannot be played: the state or the
    settings are of an earlier version, or a prompt cannot be loaded.
    """
    played = PinOutcome(prompts)
    try:
        play_out(_play(pin, folder, played))
    except DivergedError as stop:
        played.stop = stop
    except HaltedError as error:
        played.stop = DivergedError(
            pin.before.turn + len(played.turns), "", "reading", f"the run halts: {error}"
        )
    return played


async def _play(pin: pin_file.Pin, folder: Path, played: PinOutcome) -> None:
    """Play the turns again, each way of playing in its turn."""
    journal = _PinJournal(pin, played)
    before, here, last = pin.before, pin.before.state, None
    memories: Mapping[str, Mapping[str, Any]] = before.memories
    digest = before.digest
    for way in pin.ways:
        try:
            world = world_named(pin.world)
            setting = make_setting(world, pin.agents, pin.seed, way.settings)
            variant = str(real_path(folder / way.prompts)) if is_path(way.prompts) else way.prompts
            prompts = load_prompts(world, variant, way.lang, setting) if played.with_prompts else None
            loaded, remembered = world.load(setting, here), memories_from(memories)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise UsageError(f"these turns cannot be played by hobbes {HOBBES}: {error}") from error
        if last is not None:
            digest = settings_link(digest, last, setting)
        nodes = ring(world, partial(_opened, _Prompters(prompts, setting)), journal)
        first = state_at(world, setting, way.models, loaded, remembered, digest)
        state = await replay(nodes, first, way.until)
        here, memories, digest, last = state["world"], state["memories"], state["digest"], setting


def _opened(players: _Prompters, _: TurnState) -> nullcontext[_Prompters]:
    return nullcontext(players)


# --- compare


def accept_changes(pin: pin_file.Pin, played: PinOutcome) -> pin_file.Pin:
    """Return a file that expects what was played; raise UsageError if it could not be played to the end."""
    if played.stop is not None:
        raise UsageError(
            f"turn {played.stop.turn}, {played.stop.agent or 'all agents'}: {played.stop.diff}; "
            "this cannot be accepted: play a new run, and make the test anew"
        )
    return pin.model_copy(update={"expected": played.turns, "texts": played.texts})


def failure(pin: pin_file.Pin, played: PinOutcome, agent: str | None) -> Failure | None:
    """Return the first thing that is not as expected, None if there is none.

    With an agent, only its prompts, how its answers are read, its intents, rejections and corrections are
    compared. Layers are compared in the order in which they run, turn by turn. Whatever it is, the failure
    also says what happens otherwise on the board.
    """
    failed = _first_failure(pin, played, agent)
    return failed and failed._replace(sentence=_on_the_board(pin, played))


def _first_failure(pin: pin_file.Pin, played: PinOutcome, agent: str | None) -> Failure | None:
    """Return the first thing that is not as expected, in the order of turns and layers."""
    turns = {turn.turn: turn for turn in played.turns}
    for then in pin.expected:
        pairs = _common_questions(then, played, agent)
        for one, other in pairs:
            sides = pin.prompt(one), played.prompt(other)
            if played.with_prompts and sides[0] != sides[1]:
                return Failure(
                    then.turn, one.agent, "prompt", _diff(*sides), _count_differing(pin, played, agent)
                )
        now = turns.get(then.turn)
        if now is None:
            return _stop(then.turn, played.stop)
        for one, other in pairs:
            if one.reading != other.reading:
                return Failure(then.turn, one.agent, "reading", _diff(one.reading, other.reading))
        if differing := _in_record(then, now) if agent is None else _in_decision(then, now, agent):
            return differing
    return None


def _on_the_board(pin: pin_file.Pin, played: PinOutcome) -> str:
    """Return the first thing that differs on the boards of the turns, in words; empty if nothing does."""
    try:
        for then, one, other in zip(
            pin.expected, _boards(pin, pin.expected), _boards(pin, played.turns), strict=False
        ):
            if sentence := _difference_of_boards(one, other):
                return f"turn {then.turn}: {sentence}"
    except (ValueError, LookupError, TypeError, AttributeError):
        pass  # a file of other rules, or one that was edited: the diff alone says what differs
    return ""


def _difference_of_boards(one: Board, other: Board) -> str:
    """Return the first thing that differs on two boards, in words; empty if nothing does.

    What agents did to each other comes before the places.
    """
    for was, is_now in ((one.arrows, other.arrows), (one.places, other.places)):
        before, after = ([shape.words for shape in shapes] for shapes in (was, is_now))
        gone = [words for words in before if words not in after]
        new = [words for words in after if words not in before]
        for words in gone:
            what, _, result = words.partition(": ")
            results = [other_result for other_result in new if other_result.startswith(f"{what}: ")]
            if results:
                return f"{what}: was {result}, now {results[0].removeprefix(f'{what}: ')}"
        if gone or new:
            return "; ".join(
                [*(f"no more: {words}" for words in gone[:1]), *(f"new: {words}" for words in new[:1])]
            )
    return ""


def _boards(pin: pin_file.Pin, turns: Iterable[pin_file.Expected]) -> Iterator[Board]:
    """Yield the boards of turns that are expected, or were played now."""
    world = world_named(pin.world)
    before = pin.before.state
    for turn in turns:
        way = next(way for way in pin.ways if turn.turn < way.until)
        setting = make_setting(world, pin.agents, pin.seed, way.settings)
        record = TurnRecord.from_json(turn.record)
        yield board_of(
            world,
            PlayedTurn(
                world.load(setting, before),
                {agent: world.intent.from_json(intent) for agent, intent in record.intents.items()},
                world.load(setting, record.state),
                record.events,
                record.draws,
            ),
        )
        before = turn.record["state"]


def _common_questions(
    then: pin_file.Expected, played: PinOutcome, agent: str | None
) -> list[tuple[pin_file.ExpectedQuestion, pin_file.ExpectedQuestion]]:
    """Return the questions of a turn that were asked then and now, of all agents or of one.

    The order is that of cause and effect: the observer is asked last, follow-up questions before it.
    """
    there = {(turn.turn, one.key): one for turn in played.turns for one in turn.asked}
    if played.stop is not None:
        there |= {(played.stop.turn, one.key): one for one in played.asked}
    order = sorted(then.asked, key=lambda one: (one.agent == OBSERVER, one.question))
    order = [one for one in order if agent in {None, one.agent}]
    return [(one, there[then.turn, one.key]) for one in order if (then.turn, one.key) in there]


def _count_differing(pin: pin_file.Pin, played: PinOutcome, agent: str | None) -> tuple[int, int]:
    """Return how many prompts differ, and how many are compared."""
    pairs = [pair for turn in pin.expected for pair in _common_questions(turn, played, agent)]
    return sum(pin.prompt(one) != played.prompt(other) for one, other in pairs), len(pairs)


def _diff(then: str, now: str) -> list[tuple[CHANGE, str]]:
    """Return the word diff of two texts that differ."""
    return word_diff(then, now) or [(" ", "only spaces or line ends differ")]


def _stop(turn: int, stop: DivergedError | None) -> Failure:
    """Return the failure of a turn that was not played to its end."""
    if stop is None:
        return Failure(turn, "", "engine", [(" ", "the game is over before this turn")])
    return Failure(turn, stop.agent, stop.layer, [(" ", stop.diff)])


def _in_record(then: pin_file.Expected, now: pin_file.Expected) -> Failure | None:
    """Return the first part of a turn's record that is not as expected, or else the digest."""
    before, after = (TurnRecord.from_json(one.record) for one in (then, now))
    difference = first_differing_part(before, after)
    if difference is not None:
        part = difference.part
        sides = ("\n".join(_flat(part, record.to_json()[part])) for record in (before, after))
        return Failure(then.turn, difference.agent, difference.layer, _diff(*sides))
    if then.digest != now.digest:
        digests = _diff(f"digest: {then.digest}", f"digest: {now.digest}")
        return Failure(then.turn, "", "engine", digests)
    return None


def _in_decision(then: pin_file.Expected, now: pin_file.Expected, agent: str) -> Failure | None:
    """Return the first part of an agent's decision that is not as expected."""
    before, after = (decision(TurnRecord.from_json(one.record), agent) for one in (then, now))
    for part, layer in LAYER_OF_PART.items():
        if canonical(before[part]) != canonical(after[part]):
            sides = ("\n".join(_flat(part, one[part])) for one in (before, after))
            return Failure(then.turn, agent, layer, _diff(*sides))
    return None


def _flat(path: str, value: Any) -> Iterator[str]:  # noqa: ANN401  any JSON
    """Yield JSON as lines for a diff: the path of each value, and the value."""
    if isinstance(value, dict) and value:
        for name, inner in sorted(value.items()):
            yield from _flat(f"{path}.{name}", inner)
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        yield from (f"{path}: {json.dumps(one, ensure_ascii=False, sort_keys=True)}" for one in value)
    else:
        yield f"{path}: {json.dumps(value, ensure_ascii=False)}"
