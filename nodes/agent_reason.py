"""agent_reason: every agent is asked at once, and each answer is written down the moment it arrives."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.answer import DECISIONS, NO_ANSWER, ParsedAnswer
from engine.record import Drop
from nodes.halted import HaltedError
from nodes.journal import Call, Journal, Prompt, Reply
from nodes.players import Player, Players
from nodes.present import Present
from nodes.reading import read
from nodes.second import Heard, the_one_that_counts
from nodes.state import TurnState, Update


async def agent_reason(asking: "Asking") -> Update:
    """Ask every agent, or take the answer that the journal has, and read what was said."""
    state = asking.state
    # One bug must not cost the other agents' paid answers: all are awaited, then the bug raises.
    answers = await asyncio.gather(*(asking.ask(agent) for agent in state["views"]), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, HaltedError):
            raise answer
    if closed := asking.players.closed():
        raise HaltedError(f"turn {state['turn']}: {closed}")
    heard: dict[str, Heard] = {}
    for agent, answer in zip(state["views"], answers, strict=True):
        if isinstance(answer, BaseException):
            raise answer
        heard[agent] = answer
    if state["run"]["config"]["on_failure"] == "halt":
        halt_on_failure(state["turn"], heard)
    return {"answers": {agent: one.parsed.to_json() for agent, one in heard.items()}}


@dataclass(frozen=True, slots=True)
class Asking:
    """The asking of one turn: who answers, and where it is written down."""

    present: Present
    players: Players
    journal: Journal
    state: TurnState

    async def ask(self, agent: str) -> Heard:
        """Get one agent's answer: to the turn's question, or to the follow-up question."""
        player = self.players.named(self.state["models"][agent])
        prompt = player.prompt(self.state["views"][agent])
        heard = await self.put(player, agent, 1, prompt)
        if self.state["run"]["config"]["reask"] and heard.parsed.outcome not in NO_ANSWER:
            drops = self._refused(agent, heard.parsed)
            again = player.again(prompt, heard.reply.text, drops) if drops else None
            if again is not None:
                second = await self.put(player, agent, 2, again)
                heard = the_one_that_counts(agent, heard, second)
        return heard

    async def put(self, player: Player, agent: str, question: int, prompt: Prompt) -> Heard:
        """Put a question to an agent, unless the journal has its answer; write down what came."""
        number = self.state["turn"]
        known = self.journal.answered(number, agent, question, prompt)
        if known is not None:
            parsed = read(agent, known.reply)
            self.journal.read(known, parsed)
            return Heard(known.reply, parsed)
        address = self.journal.free(number, agent)
        reply = await player.reply(address, prompt)
        parsed = read(agent, reply)
        reply = _with_its_reasoning(reply, parsed)
        self.journal.keep(Call(address, prompt, reply, parsed.outcome, parsed.found_as, question))
        return Heard(reply, parsed)

    def _refused(self, agent: str, parsed: ParsedAnswer) -> list[Drop]:
        """Return what reading and the world's rules refuse of an answer."""
        judged = self.present.world.validate(self.present.state(self.state), agent, parsed.said)
        return [*parsed.drops, *judged.drops]


def _with_its_reasoning(reply: Reply, parsed: ParsedAnswer) -> Reply:
    """Keep the reasoning that an answer gives in its own field, if its server told none."""
    said = (parsed.said or {}).get("reasoning")
    return replace(reply, reasoning=said) if isinstance(said, str) and not reply.reasoning else reply


def halt_on_failure(turn: int, answers: Mapping[str, Heard]) -> None:
    """Stop before a default action would be taken for anybody."""
    for agent, heard in answers.items():
        if heard.parsed.outcome not in DECISIONS:
            raise HaltedError(f"turn {turn}, {agent}: {heard.parsed.outcome} {heard.reply.error}".rstrip())
