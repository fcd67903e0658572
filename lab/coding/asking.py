"""Ask a model to code decisions: side by side, as far as its limits allow, and nothing twice."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from hobbes.engine.answer import NO_ANSWER
from hobbes.lab.coding.agreement import check_installed
from hobbes.lab.coding.questions import question, schema, values_in
from hobbes.lab.errors import HaltedRunError, UsageError
from hobbes.lab.play.modelsfile import read_models
from hobbes.lab.play.playing import check_models
from hobbes.lab.play.together import play_side_by_side
from hobbes.lab.probe.planning import Cost
from hobbes.lab.store.codings import Codebook, Coding, Decision, codings, keep_coding
from hobbes.lab.store.home import Store
from hobbes.lab.store.prices import prices_of, usd
from hobbes.nodes.caps import Caps, Meter, Spent
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import TURN_QUESTION, Address, Call, Reply, make_call
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.players import Metered, parse_spec
from hobbes.nodes.prompting import PromptSet, approximate_tokens
from hobbes.nodes.reading import read


class Task(NamedTuple):
    """A decision to be coded, and for which time, counted from 1."""

    decision: Decision
    number: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Which decisions a model codes, and how often."""

    codebook: Codebook
    coder: str
    """The spec of the model."""
    model: ModelSettings
    decisions: Mapping[Decision, Call]
    """What is coded, with the calls that count."""
    times: int

    def tasks(self) -> Iterator[Task]:
        """Yield all tasks. Each decision is coded once before any is coded again."""
        for number in range(1, self.times + 1):
            for decision in self.decisions:
                yield Task(decision, number)


def plan(  # noqa: PLR0913, PLR0917  what is coded, by whom
    store: Store,
    codebook: Codebook,
    coder: str,
    decisions: Mapping[Decision, Call],
    times: int,
    caps: Caps,
) -> Plan:
    """Return the plan of a coding. Raise UsageError if the coder is no chat model or cannot be asked."""
    check_installed()  # better now than when the answers have been paid for
    if not decisions:
        raise UsageError("there is no such decision; choose other runs, --turns, --agents or --where")
    policies = store.runs.stored(next(iter(decisions)).run).world.policies
    try:
        model = parse_spec(policies, coder, read_models(store.home)).settings
    except ValueError as error:
        raise UsageError(str(error)) from error
    if model is None:
        raise UsageError(f"--model {coder}: only a chat model can code; people code with --as NAME")
    check_models(store, {coder: model}, caps)
    return Plan(codebook, coder, model, decisions, times)


Kept = dict[Task, Coding]
"""The codings of a plan so far."""


def kept_codings(store: Store, planned: Plan) -> Kept:
    """Return the codings of a plan that are there already."""
    found = codings(store, codebook=planned.codebook.hash, coder=planned.coder)
    return {Task(one.decision, one.number): one for one in found}


def missing(planned: Plan, kept: Kept) -> list[Task]:
    """Return the tasks that have not been answered. What came back without an answer is asked again."""
    return [one for one in planned.tasks() if one not in kept or kept[one].call.outcome in NO_ANSWER]


def cost(store: Store, planned: Plan, kept: Kept) -> Cost:
    """Return what the missing answers will cost.

    An answer has the mean tokens of those that this coder has given; before the first one they are unknown.
    """
    into, tasks = 0, missing(planned, kept)
    for task in tasks:
        prompt = question(planned.codebook, planned.decisions[task.decision])
        into += approximate_tokens(prompt.system) + approximate_tokens(prompt.turn)
    known = [n for one in kept.values() if (n := one.call.reply.tokens_out) is not None]
    out = round(len(tasks) * fmean(known)) if known else None
    expected = Reply("", planned.model.model, tokens_in=into, tokens_out=out)
    price = usd(prices_of(store.home), expected, planned.model) if tasks else 0.0
    return Cost(len(tasks), into, out if tasks else 0, price)


class Asker:
    """Asks a model to code what is missing, and counts what it costs, with what this coder cost before."""

    def __init__(self, store: Store, planned: Plan, kept: Kept, caps: Caps) -> None:
        from hobbes.nodes.chat import ChatPlayer  # noqa: PLC0415  slow to import, and people need none of it

        self._store = store
        self._plan = planned
        self._missing = missing(planned, kept)
        prices, spent = prices_of(store.home), Spent(calls=len(kept))

        def usd_of(reply: Reply) -> float | None:
            return usd(prices, reply, planned.model)

        for one in kept.values():
            if one.call.outcome not in NO_ANSWER:
                into, out = one.call.reply.tokens_in, one.call.reply.tokens_out
                spent.add(None if into is None or out is None else into + out, usd_of(one.call.reply))
        self.meter = Meter(caps, spent, usd_of)
        prompts = PromptSet("", "codes", "en", "", "", schema(planned.codebook))
        self._chat = ChatPlayer(planned.model, "", prompts, name=planned.coder, answered=bool(kept))
        self._player = Metered(self._chat, planned.coder, self.meter)

    async def ask_all(self, on_answer: Callable[[], None]) -> None:
        """Ask whatever is missing. Raise HaltedRunError if a cap is reached or the provider is gone.

        The answers that are under way then are waited for and kept.
        """

        async def ask(task: Task) -> None:
            try:
                await self._ask(task)
            except HaltedError as error:
                raise HaltedRunError(f"{error}; the same command goes on with the coding") from error
            on_answer()

        try:
            await play_side_by_side(self._missing, self._plan.model.parallel, ask)
        finally:
            await self._chat.close()

    async def _ask(self, task: Task) -> None:
        """Ask about a decision, and keep the answer."""
        plan, (decision, number) = self._plan, task
        prompt = question(plan.codebook, plan.decisions[decision])
        address = Address(decision.turn, decision.agent, number)
        reply = await self._player.reply(address, prompt)
        parsed = read(decision.agent, reply, plan.codebook.names)
        call = make_call(address, prompt, TURN_QUESTION, reply, parsed)
        values = values_in(plan.codebook, parsed.said)
        keep_coding(self._store, Coding(plan.codebook.hash, plan.coder, decision.run, call, values))
