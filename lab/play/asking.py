"""Ask a model one question of a turn, apart from any run: what `hobbes watch --ask` does."""

from typing import Any, NamedTuple

from hobbes.engine import turn as turns
from hobbes.engine.world import OBSERVER
from hobbes.lab.errors import UsageError
from hobbes.lab.play.playing import check_players
from hobbes.lab.play.rendering import PromptQuestion
from hobbes.lab.store.home import Store
from hobbes.lab.store.prices import prices_of, usd
from hobbes.nodes.agent_reason import Asking
from hobbes.nodes.caps import Caps, Meter, Spent
from hobbes.nodes.journal import TURN_QUESTION, Address, Call, MemoryJournal, make_call
from hobbes.nodes.players import RunPlayers, parse_spec
from hobbes.nodes.prompting import PromptSet
from hobbes.nodes.state import state_at
from hobbes.nodes.turn_cache import TurnCache


class JudgedCall(NamedTuple):
    """The answer to a question: the call that counts, and what the world's rules make of the answer."""

    call: Call
    judged: turns.Judged[Any]


class Asker:
    """Asks the model that plays an agent or the observer in several wordings, and counts what it costs.

    Raise UsageError if no model plays it, or if the model cannot be reached.
    """

    def __init__(self, store: Store, question: PromptQuestion, caps: Caps) -> None:
        world, spec = question.world, question.player
        try:
            model = parse_spec(world.policies, spec, question.models).settings
            if model is None:
                raise UsageError(
                    f"--ask needs a model, but {spec} plays {question.agent} and reads no prompt; "
                    "choose an agent that a model plays, or write --model openai:NAME"
                )
            players = {question.agent: spec}
            self._named = check_players(store, world, question.setting, players, question.models, caps)
        except ValueError as error:
            raise UsageError(str(error)) from error
        prices = prices_of(store.home)
        self._question = question
        self._meter = Meter(
            caps,
            Spent(),
            lambda reply: usd(prices, reply, model),
        )

    async def ask(self, prompts: PromptSet) -> JudgedCall:
        """Return the answer to the question in these words.

        A failed call is an answer that says how it failed. Raise HaltedError if a cap is reached.
        """
        question = self._question
        world, state, agent = question.world, question.start.state, question.agent
        start = state_at(world, question.setting, {agent: question.player}, *question.start, "")
        # A player that has seen its server fail asks no more, so each wording has a new one.
        players = RunPlayers(world, question.setting, prompts, self._meter, models=self._named)
        asking = Asking(
            TurnCache(world), players, MemoryJournal(str), {**start, "views": {agent: dict(question.view)}}
        )
        try:
            if agent == OBSERVER:
                player = players.observing(question.player)
                answer = await asking.put(player, agent, TURN_QUESTION, player.prompt(question.view))
                judged = turns.rule(world, state, turns.Judged(world, {}, question.intents), answer.parsed)
            else:
                answer = await asking.ask(agent)
                judged = turns.judge(world, state, {agent: answer.parsed})
        finally:
            await players.close()
        prompt = question.render(prompts)
        call = make_call(Address(state.turn, agent), prompt, TURN_QUESTION, answer.reply, answer.parsed)
        return JudgedCall(call, judged)
