"""agent_reason: ask the agents, and write their answers down.

Policies come first. All others are asked at once. Each answer is written down the moment it arrives, together
with those that arrive in the same moment. A person is asked by a task of the graph of their own.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from hobbes.engine.answer import DECISIONS, NO_ANSWER, ParsedAnswer
from hobbes.engine.record import Drop
from hobbes.engine.turn import answer_fields
from hobbes.nodes.follow_up import Answer, answer_that_counts
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import FOLLOW_UP_QUESTION, TURN_QUESTION, Journal, PlayerKind, Prompt, make_call
from hobbes.nodes.players import Player, Players
from hobbes.nodes.reading import read
from hobbes.nodes.turn_cache import TurnCache
from hobbes.nodes.turn_state import TurnState


async def agent_reason(asking: "Asking") -> TurnState:
    """Return the parsed answer of every agent that acts this turn, and the call that it comes from.

    Answers come from the journal where it has them, otherwise from the agents' players. Raise HaltedError if
    the run has to stop. The answers that have arrived are in the journal by then.
    """
    state = asking.state
    results = await asking.everyone()
    errors = [result for result in results.values() if isinstance(result, BaseException)]
    # A bug is raised before a halt, which would hide it.
    for error in errors:
        if not isinstance(error, HaltedError):
            raise error
    asking.check_players()
    for error in errors:
        raise error
    answers = {agent: one for agent in state["views"] if isinstance(one := results[agent], Answer)}
    if state["run"]["config"]["on_failure"] == "halt":
        halt_on_failure(state["turn"], answers)
    parsed = {agent: answer.parsed for agent, answer in answers.items()}
    data = {agent: answer.to_json() for agent, answer in parsed.items()}
    return {"answers": asking.cache.answers.put(data, parsed), "calls": _for_people(answers)}


def _for_people(answers: Mapping[str, Answer]) -> dict[str, dict[str, str]]:
    """Return the prompt, the raw answer and the outcome of each call that counts, for people to look at."""
    return {
        agent: {
            "system": answer.prompt.system,
            "prompt": answer.prompt.turn,
            "answer": answer.reply.text,
            "outcome": answer.parsed.outcome.value,
        }
        for agent, answer in answers.items()
    }


@dataclass(frozen=True, slots=True)
class Asking:
    """What it takes to ask the agents of one turn: their views, their players, and the journal."""

    cache: TurnCache
    players: Players
    journal: Journal
    state: TurnState
    tell: Callable[[dict[str, str]], None] = lambda _: None
    """Is told each answer as it arrives."""

    def check_players(self) -> None:
        """Raise HaltedError if the turn is not played, now that all have been asked."""
        if reason := self.players.stop_reason():
            raise HaltedError(f"turn {self.state['turn']}: {reason}")

    async def everyone(self) -> dict[str, Answer | BaseException]:
        """Return the answer of each agent, or the exception that it led to.

        If the journal has all answers, the first exception is raised at once.
        """
        asked, models = list(self.state["views"]), self.state["models"]
        if self.journal.has_all:
            return {agent: await self.ask(agent) for agent in asked}
        at_once = [agent for agent in asked if self.players.named(models[agent]).at_once]
        others = [agent for agent in asked if agent not in at_once]
        results: dict[str, Answer | BaseException] = {}
        # All calls are awaited before anything is raised: one bug must not lose the others' paid answers.
        for group in (at_once, others):
            answers = await asyncio.gather(*map(self.ask, group), return_exceptions=True)
            results |= zip(group, answers, strict=True)
        return results

    async def ask(self, agent: str) -> Answer:
        """Return the answer of an agent that counts: to the turn's question or to the follow-up question."""
        spec = self.state["models"][agent]
        player = self.players.named(spec)
        prompt = player.prompt(self.state["views"][agent])
        answer = await self.put(player, spec, agent, TURN_QUESTION, prompt)
        # An agent that could not be reached has said nothing that a follow-up question could show. An answer
        # that was given to it stands.
        given = answer.reply.player == PlayerKind.GIVEN
        if self.state["run"]["config"]["reask"] and answer.parsed.outcome not in NO_ANSWER and not given:
            drops = self._rejections(agent, answer.parsed)
            follow_up = player.follow_up(prompt, answer.reply.text, drops) if drops else None
            if follow_up is not None:
                second = await self.put(player, spec, agent, FOLLOW_UP_QUESTION, follow_up)
                answer = answer_that_counts(agent, answer, second)
        return answer

    async def put(self, player: Player, spec: str, agent: str, question: int, prompt: Prompt) -> Answer:
        """Return the answer to a question: from the journal, or from the player, with the call kept."""
        turn = self.state["turn"]
        known = self.journal.answered(turn, agent, question, prompt, spec)
        if known is not None:
            parsed = read(agent, known.reply, self._fields(agent))
            self.journal.read(known, parsed)
            return Answer(prompt, known.reply, parsed)
        address = self.journal.free(turn, agent)
        reply = await player.reply(address, prompt)
        parsed = read(agent, reply, self._fields(agent))
        call = make_call(address, prompt, question, reply, parsed)
        self.tell({"address": str(address), "outcome": parsed.outcome.value, "answer": reply.text})
        await self.journal.keep(call)
        return Answer(prompt, call.reply, parsed)

    def _fields(self, agent: str) -> Collection[str]:
        """Return the names of the fields that an answer of an agent or of the observer may have."""
        return answer_fields(self.cache.world, self.cache.setting.of(self.state["run"]), agent)

    def _rejections(self, agent: str, parsed: ParsedAnswer) -> list[Drop]:
        # A trial: the validate node validates again, since the follow-up answer may replace this one.
        judged = self.cache.world.validate(self.cache.state(self.state), agent, parsed.said)
        return [*parsed.drops, *judged.drops]


def halt_on_failure(turn: int, answers: Mapping[str, Answer]) -> None:
    """Raise HaltedError for the first failed call, so that no default action is taken."""
    for agent, answer in answers.items():
        if answer.parsed.outcome not in DECISIONS:
            raise HaltedError(f"turn {turn}, {agent}: {answer.parsed.outcome} {answer.reply.error}".rstrip())
