"""agent_reason: every actor is asked at once, and each answer is written down the moment it arrives."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from engine.record import Drop
from engine.world import AnyWorld
from nodes.halted import HaltedError
from nodes.journal import Call, Journal, Prompt, Reply
from nodes.minds import Mind, Minds
from nodes.reading import DECISIONS, Reading, read
from nodes.second import NEVER_SAID, Heard, the_one_that_counts
from nodes.state import TurnState, Update, now


async def agent_reason(world: AnyWorld, minds: Minds, journal: Journal, state: TurnState) -> Update:
    """Ask every actor, or take the answer that the journal has, and read what was said."""
    turn = Turn(world, minds, journal, state)
    # One bug must not cost the other agents' paid answers: all are awaited, then the bug raises.
    answers = await asyncio.gather(*(turn.ask(agent) for agent in state["views"]), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, HaltedError):
            raise answer
    if closed := minds.closed():
        raise HaltedError(f"turn {state['turn']}: {closed}")
    given: dict[str, Any] = dict(zip(state["views"], answers, strict=True))
    if state["run"]["config"]["on_failure"] == "halt":
        halt_on_failure(state["turn"], given)
    return {"answers": given}


@dataclass(frozen=True, slots=True)
class Turn:
    """The asking of one turn."""

    world: AnyWorld
    minds: Minds
    journal: Journal
    state: TurnState

    async def ask(self, agent: str) -> dict[str, Any]:
        """Get one agent's answer: to the turn's question, or to the second one about the first answer."""
        mind = self.minds.named(self.state["models"][agent])
        prompt = mind.prompt(self.state["views"][agent])
        heard = await self.put(mind, agent, 1, prompt)
        if self.state["run"]["config"]["reask"] and heard.reading.outcome not in NEVER_SAID:
            drops = self._refused(agent, heard.reading)
            again = mind.again(prompt, heard.reply.text, drops) if drops else None
            if again is not None:
                second = await self.put(mind, agent, 2, again)
                heard = the_one_that_counts(agent, heard, second)
        return as_answer(heard)

    async def put(self, mind: Mind, agent: str, question: int, prompt: Prompt) -> Heard:
        """Put a question to an agent, unless the journal has its answer; write down what came."""
        number = self.state["turn"]
        known = self.journal.answered(number, agent, question, prompt)
        if known is not None:
            reading = read(agent, known.reply)
            self.journal.read(known, reading.outcome, reading.stage)
            return Heard(known.reply, reading)
        address = self.journal.free(number, agent)
        reply = await mind.reply(address, prompt)
        reading = read(agent, reply)
        reply = _with_its_reasoning(reply, reading)
        self.journal.keep(Call(address, prompt, reply, reading.outcome, reading.stage, question))
        return Heard(reply, reading)

    def _refused(self, agent: str, reading: Reading) -> list[Drop]:
        """Say what reading and the world's rules refuse of an answer."""
        judged = self.world.validate(now(self.world, self.state), agent, reading.said)
        return [*reading.drops, *judged.drops]


def as_answer(heard: Heard) -> dict[str, Any]:
    """Give what was heard as it flows through the turn."""
    return {
        "outcome": heard.reading.outcome,
        "error": heard.reply.error,
        "said": heard.reading.said,
        "drops": [drop.to_json() for drop in heard.reading.drops],
        "mends": [mend.to_json() for mend in heard.reading.mends],
    }


def _with_its_reasoning(reply: Reply, reading: Reading) -> Reply:
    """Keep the reasoning that an answer gives in its own field, if its server told none."""
    said = (reading.said or {}).get("reasoning")
    return replace(reply, reasoning=said) if isinstance(said, str) and not reply.reasoning else reply


def halt_on_failure(turn: int, answers: dict[str, Any]) -> None:
    """Stop before a default action would be taken for anybody."""
    for agent, answer in answers.items():
        if answer["outcome"] not in DECISIONS:
            raise HaltedError(f"turn {turn}, {agent}: {answer['outcome']} {answer['error']}".rstrip())
