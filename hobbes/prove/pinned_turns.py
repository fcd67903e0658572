"""`hobbes make-test`: recorded turns of a run in a file, and whether they still play as they did.

The file holds the state before the first turn, the recorded answers, and what is expected: the prompt of
each agent, how its answer is read, and the record of each turn. The turns are played again on the run's own
graph with players that only write prompts, so nothing is asked and no server is needed. Where prompts are
ignored, none are loaded, and the file holds none.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.digest import settings_link
from hobbes.engine.memory import reason
from hobbes.engine.record import Drop, sha256
from hobbes.engine.turn import Layer, TurnRecord, meanings
from hobbes.engine.world import OBSERVER, AnyWorld, hashed_settings
from hobbes.errors import HobbesError, UsageError
from hobbes.graphs.ring import ring
from hobbes.graphs.run import replay
from hobbes.loop import play_out
from hobbes.nodes.follow_up import follow_up_prompt
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import Address, Call, Logged, PlayerKind, Prompt, Reply, is_program
from hobbes.nodes.prompt_set import PromptSet
from hobbes.nodes.prompting import system_text, turn_text
from hobbes.nodes.turn_state import TurnState, state_at
from hobbes.play.fork import ForkOptions, setting_of_fork
from hobbes.play.render import prompts_for
from hobbes.prove.pins import (
    Answer,
    Before,
    Expected,
    ExpectedQuestion,
    Lines,
    TurnsPin,
    Way,
    relative_variant,
    resolved_variant,
)
from hobbes.prove.record_difference import first_differing_part
from hobbes.prove.replay import DivergedError, JournalWithoutCalls, no_answer
from hobbes.prove.verification import last_calls
from hobbes.prove.word_diff import CHANGE, word_diff
from hobbes.store.history import memories_before, state_before, stored_turn
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.worlds import world_named

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
    """What an agent first does otherwise, in words, and under which other settings; empty if nothing."""

    @property
    def where(self) -> str:
        """Turn, agent and layer, in words."""
        return f"turn {self.turn}, {self.agent or 'all agents'}: {self.layer}"


@dataclass
class PinOutcome:
    """What playing the turns again came to."""

    with_prompts: bool
    """Whether prompts were written, and are compared."""
    turns: list[Expected] = field(default_factory=list)
    texts: dict[str, Lines] = field(default_factory=dict)
    asked: list[ExpectedQuestion] = field(default_factory=list)
    """The questions of the turn in which the play could not go on."""
    stop: DivergedError | None = None
    """Why it could not go on; None if it did."""


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
    played = play_pin(recorded, folder, prompts=prompts)
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
        questions = [_pinned_question(call, call, texts) for call in calls if call.prompt.system]
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
    (turn, agent, _), reply = call.address, call.reply
    who = {"player": reply.player, "model": reply.model, "reasoning": reply.reasoning}
    return Answer.from_reply(reply, turn=turn, agent=agent, question=call.question, **who)


def _pinned_question(call: Call, read: Call | ParsedAnswer, texts: dict[str, Lines]) -> ExpectedQuestion:
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


class _PinJournal(JournalWithoutCalls):
    """A journal that answers from a file, and notes what is asked, how it is read, and what follows."""

    def __init__(self, pin: TurnsPin, played: PinOutcome) -> None:
        self._pin = pin
        self._played = played

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt, _spec: str) -> Call:
        """Return the pinned answer; raise DivergedError for a question without one."""
        known = self._pin.answered.get((turn, agent, question))
        if known is None:
            raise no_answer(turn, agent, question)
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
        now = Expected(turn=turn.number, asked=[*played.asked], record=record, digest=turn.digest)
        played.turns.append(now)
        played.asked.clear()


def play_pin(pin: TurnsPin, folder: Path, *, prompts: bool) -> PinOutcome:
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


async def _play(pin: TurnsPin, folder: Path, played: PinOutcome) -> None:
    journal = _PinJournal(pin, played)
    before, last = pin.before, None
    state, memories, digest = before.state, before.memories, before.digest
    for way in pin.ways:
        settings = {**way.settings, **pin.values}
        world, setting, start = pin.begin(pin.agents, pin.seed, settings, state, memories)
        variant = resolved_variant(folder, way.prompts)
        prompts = prompts_for(world, variant, way.lang, setting) if played.with_prompts else None
        if last is not None:
            digest = settings_link(digest, last, setting)
        prompter = _Prompter(prompts, system_text(prompts, setting) if prompts else "")
        nodes = ring(world, partial(_opened, prompter), journal)
        after = await replay(nodes, state_at(world, setting, way.models, *start, digest), way.until)
        state, memories, digest, last = after["world"], after["memories"], after["digest"], setting


def _opened(players: _Prompter, _: TurnState) -> nullcontext[_Prompter]:
    return nullcontext(players)


def accept_changes(pin: TurnsPin, played: PinOutcome) -> TurnsPin:
    """Return a file that expects what was played; raise UsageError if it could not be played to the end."""
    if played.stop is not None:
        raise UsageError(
            f"turn {played.stop.turn}, {played.stop.agent or 'all agents'}: {played.stop.diff}; "
            "this cannot be accepted: play a new run, and make the test anew"
        )
    return pin.model_copy(update={"expected": played.turns, "texts": played.texts})


def failure(pin: TurnsPin, played: PinOutcome) -> Failure | None:
    """Return the first thing that is not as expected, None if all is.

    Layers are compared in the order in which they run, turn by turn. Whatever it is, the failure also says
    what agents do otherwise.
    """
    failed = _first_failure(pin, played)
    if failed is None:
        return None
    sentence = _done_otherwise(pin, played)
    if pin.values:
        sentence = f"with {pin.under}, {sentence or f'{failed.where} is not as recorded'}"
    return failed._replace(sentence=sentence)


def _first_failure(pin: TurnsPin, played: PinOutcome) -> Failure | None:
    turns = {turn.turn: turn for turn in played.turns}
    for then in pin.expected:
        pairs = _common_questions(then, played)
        for one, other in pairs:
            sides = _prompt(pin.texts, one), _prompt(played.texts, other)
            if played.with_prompts and sides[0] != sides[1]:
                return Failure(then.turn, one.agent, "prompt", _diff(*sides), _count_differing(pin, played))
        now = turns.get(then.turn)
        if now is None:
            return _stop(then.turn, played.stop)
        for one, other in pairs:
            if one.reading != other.reading:
                return Failure(then.turn, one.agent, "reading", _diff(one.reading, other.reading))
        if differing := _in_record(then, now):
            return differing
    return None


def _done_otherwise(pin: TurnsPin, played: PinOutcome) -> str:
    """Return the first thing that an agent does otherwise in any of the turns, in words; empty if nothing.

    Agents of whom more is rejected now come first: others may do otherwise because of that.
    """
    world = world_named(pin.world)
    for then, now in zip(pin.expected, played.turns, strict=False):
        records = TurnRecord.from_json(then.record), TurnRecord.from_json(now.record)
        agents = sorted({event.agent for record in records for event in record.events})
        rejected = {agent: _rejected_now(world, *records, agent) for agent in agents}
        for agent in sorted(agents, key=lambda name: not rejected[name]):
            before, after = (_deeds(world, record, agent) for record in records)
            if words := _otherwise(agent, before, after, rejected[agent]):
                return f"turn {then.turn}: {words}"
    return ""


def _rejected_now(world: AnyWorld, before: TurnRecord, after: TurnRecord, agent: str) -> str:
    """Return why something of an agent is rejected that was not before, with the codes; empty if nothing."""
    drops = [drop for drop in after.drops if drop.agent == agent and drop not in before.drops]
    why = (f"{reason(meanings(world), drop.code, drop.detail)} ({drop.code})" for drop in drops)
    return "; ".join(dict.fromkeys(why))


def _deeds(world: AnyWorld, record: TurnRecord, agent: str) -> dict[str, str]:
    """Return what an agent did in a turn, each event alone: its type, by its words."""
    events = [event for event in record.events if event.agent == agent]
    deeds = (deed for event in events for deed in world.telling.deeds_told([event], record.events))
    return {deed.words: deed.type for deed in deeds}


def _otherwise(agent: str, before: Mapping[str, str], after: Mapping[str, str], rejected: str) -> str:
    """Return what an agent does in place of an earlier deed: best what is rejected, or of the same type."""
    gone = next((words for words in before if words not in after), "")
    new = [words for words in after if words not in before]
    if not gone:
        return f"now {agent} {new[0]}, which was not expected" if new else ""
    alike = [*(words for words in new if after[words] == before[gone]), *new]
    now = f"rejected: {rejected}" if rejected else f"it {alike[0]}" if alike else ""
    return f"expected that {agent} {gone}{f'; now {now}' if now else ', which does not happen now'}"


def _common_questions(then: Expected, played: PinOutcome) -> list[tuple[ExpectedQuestion, ExpectedQuestion]]:
    """Return the questions of a turn that were asked then and now.

    The order is that of cause and effect: the observer is asked last, follow-up questions before it.
    """
    there = {(turn.turn, one.key): one for turn in played.turns for one in turn.asked}
    if played.stop is not None:
        there |= {(played.stop.turn, one.key): one for one in played.asked}
    order = sorted(then.asked, key=lambda one: (one.agent == OBSERVER, one.question))
    return [(one, there[then.turn, one.key]) for one in order if (then.turn, one.key) in there]


def _count_differing(pin: TurnsPin, played: PinOutcome) -> tuple[int, int]:
    pairs = [pair for turn in pin.expected for pair in _common_questions(turn, played)]
    differ = (_prompt(pin.texts, one) != _prompt(played.texts, other) for one, other in pairs)
    return sum(differ), len(pairs)


def _prompt(texts: Mapping[str, Lines], question: ExpectedQuestion) -> str:
    return "\n".join([*texts.get(question.system, ()), "", *question.prompt])


def _diff(then: str, now: str) -> list[tuple[CHANGE, str]]:
    return word_diff(then, now) or [(" ", "only spaces or line ends differ")]


def _stop(turn: int, stop: DivergedError | None) -> Failure:
    """Return the failure of a turn that was not played to its end."""
    if stop is None:
        return Failure(turn, "", "engine", [(" ", "the game is over before this turn")])
    return Failure(turn, stop.agent, stop.layer, [(" ", stop.diff)])


def _in_record(then: Expected, now: Expected) -> Failure | None:
    """Return the first part of a turn's record that is not as expected, or else the digest.

    Other rejections come before other intents: they say why these are others.
    """
    before, after = TurnRecord.from_json(then.record), TurnRecord.from_json(now.record)
    without = () if before.drops == after.drops else ("intents",)
    difference = first_differing_part(before, after, without)
    if difference is not None:
        pieces = _diff(difference.before, difference.now)
        return Failure(then.turn, difference.agent, difference.layer, pieces)
    if then.digest != now.digest:
        digests = _diff(f"digest: {then.digest}", f"digest: {now.digest}")
        return Failure(then.turn, "", "engine", digests)
    return None
