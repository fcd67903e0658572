"""The turns of a pin, played again with the current prompts, reading and rules.

They are played on the run's own graph, with players that only write prompts and a journal that has all
answers. So nothing is asked, and no server is needed. Where prompts are ignored, none are loaded.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.digest import settings_link
from hobbes.engine.record import Drop, sha256
from hobbes.graphs.ring import ring
from hobbes.graphs.run import replay
from hobbes.loop import play_out
from hobbes.nodes.follow_up import follow_up_prompt
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import Address, Call, Logged, PlayerKind, Prompt, Reply, is_program
from hobbes.nodes.prompt_set import PromptSet
from hobbes.nodes.prompting import system_text, turn_text
from hobbes.nodes.turn_state import TurnState, state_at
from hobbes.play.render import prompts_for
from hobbes.prove.pins import Expected, ExpectedQuestion, Lines, TurnsPin, resolved_variant
from hobbes.prove.replay import DivergedError, JournalWithoutCalls, no_answer

NAME_LENGTH = 12
"""Characters of the name of a text."""


def replay_pin(pin: TurnsPin, folder: Path, *, prompts: bool) -> "PinReplay":
    """Play the turns of a pin in `folder` again, without `prompts` if these are ignored.

    Raise UsageError if the turns cannot be played: the state or the settings are of an earlier version, or a
    prompt cannot be loaded.
    """
    played = PinReplay(pin, with_prompts=prompts)
    try:
        play_out(_play(pin, folder, played))
    except DivergedError as stop:
        played.stop = stop
    except HaltedError as error:
        turn = pin.before.turn + len(played.turns)
        played.stop = DivergedError(turn, "", "reading", f"the run halts: {error}")
    return played


class PinReplay(JournalWithoutCalls):
    """The journal of a replay: it answers from a pin, and keeps what is asked and what follows."""

    def __init__(self, pin: TurnsPin, *, with_prompts: bool) -> None:
        self._answers = {(one.turn, one.agent, one.question): one for one in pin.answers}
        self.with_prompts = with_prompts
        """Whether prompts are written, and can be compared."""
        self.turns: list[Expected] = []
        """The turns that were played to their end."""
        self.asked: dict[tuple[int, str, int], ExpectedQuestion] = {}
        """Every question, by turn, agent and question; those of a turn that could not be ended, too."""
        self.texts: dict[str, Lines] = {}
        self.stop: DivergedError | None = None
        """Why the play could not go on; None if it did."""

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt, _spec: str) -> Call:
        """Return the pinned answer; raise DivergedError for a question without one."""
        answer = self._answers.get((turn, agent, question))
        if answer is None:
            raise no_answer(turn, agent, question)
        return Call(Address(turn, agent), prompt, answer.reply, Outcome.ANSWERED, FoundAs.JSON, question)

    def read(self, call: Call, parsed: ParsedAnswer) -> None:
        """Keep a question, and how its answer is read."""
        place = (call.address.turn, call.address.agent, call.question)
        self.asked[place] = expected_question(call, parsed, self.texts)

    def turn(self, turn: Logged) -> None:
        """Keep the record of a turn."""
        asked = [question for (number, *_), question in self.asked.items() if number == turn.number]
        record = dict(turn.record.to_json())
        self.turns.append(Expected(turn=turn.number, asked=asked, record=record, digest=turn.digest))


def expected_question(call: Call, read: Call | ParsedAnswer, texts: dict[str, Lines]) -> ExpectedQuestion:
    """Return the question of a call and how its answer was `read`; its system text goes into the texts."""
    system, turn = call.prompt.system, call.prompt.turn
    name = sha256(system)[:NAME_LENGTH] if system else ""
    if system:
        texts[name] = system.split("\n")
    return ExpectedQuestion(
        agent=call.address.agent,
        question=call.question,
        system=name,
        prompt=turn.split("\n"),
        outcome=read.outcome,
        found_as=read.found_as,
    )


async def _play(pin: TurnsPin, folder: Path, journal: PinReplay) -> None:
    before, last = pin.before, None
    state, memories, digest = before.state, before.memories, before.digest
    for way in pin.ways:
        settings = {**way.settings, **pin.values}
        world, setting, start = pin.begin(pin.agents, pin.seed, settings, state, memories)
        variant = resolved_variant(folder, way.prompts)
        prompts = prompts_for(world, variant, way.lang, setting) if journal.with_prompts else None
        if last is not None:
            digest = settings_link(digest, last, setting)
        prompter = _Prompter(prompts, system_text(prompts, setting) if prompts else "")
        nodes = ring(world, prompter.opened, journal)
        after = await replay(nodes, state_at(world, setting, way.models, *start, digest), way.until)
        state, memories, digest, last = after["world"], after["memories"], after["digest"], setting


@dataclass(frozen=True)
class _Prompter:
    """The players of a run, which write prompts, empty ones without `prompts`, and are never asked.

    For a program they write those of a chat model.
    """

    prompts: PromptSet | None
    system: str
    follows_up: bool = False
    """Whether it is asked twice: no program or person is."""
    at_once = False

    def opened(self, _: TurnState) -> "nullcontext[_Prompter]":
        """Return these players; there is nothing to close."""
        return nullcontext(self)

    def named(self, spec: str) -> "_Prompter":
        """Return the player of a spec."""
        return replace(self, follows_up=not is_program(spec) and spec != PlayerKind.HUMAN)

    def observing(self, spec: str) -> "_Prompter":
        """Return the observer's player. It gets the requests alone, a person without system text."""
        if self.prompts is None:
            return self
        system = "" if spec == PlayerKind.HUMAN else self.prompts.observer
        return _Prompter(replace(self.prompts, turn="{{ view }}"), system)

    def stop_reason(self) -> str:
        """Return an empty text: nothing can stop calls that are not made."""
        return ""

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Return the system text with the turn text of a view, as `ChatPlayer` does."""
        return Prompt(self.system, turn_text(self.prompts, view) if self.prompts else "")

    async def reply(self, address: Address, prompt: Prompt) -> Reply:  # noqa: ARG002  as in Player
        """Raise AssertionError: all answers are pinned."""
        raise AssertionError(f"{address} was asked")

    def follow_up(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> Prompt | None:
        """Return the follow-up question, None for a program or a person."""
        if not self.follows_up:
            return None
        return follow_up_prompt(self.prompts, prompt, answer, drops) if self.prompts else prompt
