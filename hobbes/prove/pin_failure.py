"""What of a pin's turns is not as expected now: the first difference, and what agents do otherwise."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hobbes.engine.memory import reason
from hobbes.engine.turn import Layer, TurnRecord, meanings
from hobbes.engine.world import OBSERVER, AnyWorld
from hobbes.prove.pin_replay import PinReplay
from hobbes.prove.pins import Expected, ExpectedQuestion, Lines, TurnsPin
from hobbes.prove.record_difference import first_differing_part
from hobbes.prove.replay import DivergedError
from hobbes.prove.word_diff import CHANGE, word_diff
from hobbes.worlds import world_named


class Failure(NamedTuple):
    """The first thing that is not as expected. `agent` is empty if it belongs to no agent.

    `pieces` are a word diff from what was expected to what is now, or words about what is missing.
    """

    turn: int
    agent: str
    layer: Layer
    pieces: list[tuple[CHANGE, str]]
    prompts: tuple[int, int] = (0, 0)
    """If a prompt differs: how many prompts of these turns do, and of how many."""
    sentence: str = ""
    """What an agent first does otherwise, in words, and under which other settings; empty if nothing."""
    acceptable: bool = True
    """Whether all turns were played, so that what happens now can be accepted."""

    @property
    def where(self) -> str:
        """Turn, agent and layer, in words."""
        return f"turn {self.turn}, {self.agent or 'all agents'}: {self.layer}"


def failure(pin: TurnsPin, played: PinReplay) -> Failure | None:
    """Return the first thing that is not as expected, None if all is.

    Layers are compared in the order in which they run, turn by turn. Whatever it is, the failure also says
    what agents do otherwise.
    """
    first = next(_failures(pin, played), None)
    if first is None:
        return None
    sentence = _done_otherwise(pin, played)
    if pin.values:
        sentence = f"with {pin.under}, {sentence or f'{first.where} is not as recorded'}"
    prompts = _count_differing_prompts(pin, played) if first.layer == "prompt" else (0, 0)
    return first._replace(prompts=prompts, sentence=sentence, acceptable=played.stop is None)


def _failures(pin: TurnsPin, played: PinReplay) -> Iterator[Failure]:
    """Yield what is not as expected, causes before effects."""
    turns = {turn.turn: turn for turn in played.turns}
    for then in pin.expected:
        questions = _common_questions(then, played)
        if played.with_prompts:
            for one, other in questions:
                prompts = _prompt(pin.texts, one), _prompt(played.texts, other)
                yield from _compared(then.turn, one.agent, "prompt", *prompts)
        now = turns.get(then.turn)
        if now is None:
            over = DivergedError(then.turn, "", "engine", "the game is over before this turn")
            stop = played.stop or over
            yield Failure(then.turn, stop.agent, stop.layer, [(" ", stop.diff)])
            return
        for one, other in questions:
            yield from _compared(then.turn, one.agent, "reading", one.reading, other.reading)
        yield from _in_record(then, now)


def _compared(turn: int, agent: str, layer: Layer, then: str, now: str) -> Iterator[Failure]:
    """Yield the failure of two texts, if they differ."""
    if then != now:
        yield Failure(turn, agent, layer, word_diff(then, now) or [(" ", "only spaces or line ends differ")])


def _common_questions(then: Expected, played: PinReplay) -> list[tuple[ExpectedQuestion, ExpectedQuestion]]:
    """Return the questions of a turn that were asked then and now.

    The order is that of cause and effect: the observer is asked last, follow-up questions before it.
    """
    order = sorted(then.asked, key=lambda one: (one.agent == OBSERVER, one.question))
    now = [(one, played.asked.get((then.turn, one.agent, one.question))) for one in order]
    return [(one, other) for one, other in now if other is not None]


def _count_differing_prompts(pin: TurnsPin, played: PinReplay) -> tuple[int, int]:
    pairs = [pair for turn in pin.expected for pair in _common_questions(turn, played)]
    differ = (_prompt(pin.texts, one) != _prompt(played.texts, other) for one, other in pairs)
    return sum(differ), len(pairs)


def _prompt(texts: Mapping[str, Lines], question: ExpectedQuestion) -> str:
    return "\n".join([*texts.get(question.system, ()), "", *question.prompt])


def _in_record(then: Expected, now: Expected) -> Iterator[Failure]:
    """Yield the first part of a turn's record that is not as expected, and the digest.

    Other rejections come before other intents: they say why these are others.
    """
    before, after = TurnRecord.from_json(then.record), TurnRecord.from_json(now.record)
    without = () if before.drops == after.drops else ("intents",)
    if difference := first_differing_part(before, after, without):
        agent, layer, _, *texts = difference
        yield from _compared(then.turn, agent, layer, *texts)
    yield from _compared(then.turn, "", "engine", f"digest: {then.digest}", f"digest: {now.digest}")


def _done_otherwise(pin: TurnsPin, played: PinReplay) -> str:
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
