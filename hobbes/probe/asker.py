"""Ask the cells of a probe: side by side, as far as the limits of the models allow, and nothing twice."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from hobbes.engine.answer import NO_ANSWER, ParsedAnswer
from hobbes.engine.record import Drop
from hobbes.errors import HaltedRunError, HobbesError, UsageError
from hobbes.nodes.agent_reason import Asking
from hobbes.nodes.caps import Caps, Meter, Spent
from hobbes.nodes.follow_up import follow_up_prompt
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import TURN_QUESTION, Address, Call, Logged, Prompt, Reply
from hobbes.nodes.players import Player, RunPlayers
from hobbes.nodes.rate_limits import RateLimiter
from hobbes.nodes.turn_cache import TurnCache
from hobbes.nodes.turn_state import state_at
from hobbes.play.side_by_side import play_side_by_side
from hobbes.play.start import check_models_can_be_reached
from hobbes.probe.probe_plan import COLUMNS, MAX_CELLS, Cell, Plan, columns_kept, tokens_of
from hobbes.store.home import Store
from hobbes.store.prices import usd
from hobbes.store.probe_tables import KeptAnswer, KeptProbe, answers_of, keep_answers, keep_probe, kept_probe


class AnswerKey(NamedTuple):
    """Which call of a probe: the number of an answer counts from 1 in its cell."""

    situation: int
    column: str
    number: int
    question: int


Kept = dict[AnswerKey, Call]
"""The calls of a probe so far."""


def kept_calls(store: Store, planned: Plan) -> Kept:
    """Return the calls that a probe has already.

    Raise UsageError if there is another probe of this name: with other situations, columns or texts. There
    may be more columns than before.
    """
    new, before = as_kept(planned), kept_probe(store, planned.name)
    if before is None:
        return {}
    for what, one, other in (
        ("situations", before.situations, new.situations),
        ("columns", [*columns_kept(before).values()], [*columns_kept(new).values()][: len(before.columns)]),
    ):
        if one != other:
            raise UsageError(f"the probe {planned.name} has other {what}; give this one a --name of its own")
    kept = {
        AnswerKey(one.situation, one.column, one.number, one.call.question): one.call
        for one in answers_of(store, before)
    }
    _check_texts_are_the_same(planned, kept)
    return kept


def as_kept(planned: Plan) -> KeptProbe:
    """Return a plan as the run database keeps it."""
    situations = [one.model_dump() for one in planned.situations]
    columns = COLUMNS.dump_python(planned.columns, mode="json")
    return KeptProbe(planned.name, planned.world.name, situations, columns, planned.times)


def _check_texts_are_the_same(planned: Plan, kept: Kept) -> None:
    """Raise UsageError if a column has other texts now than when it was asked first."""
    prompts = {(cell.situation, cell.column): cell.prompt for cell in planned.cells}
    for key, call in kept.items():
        prompt = prompts.get((key.situation, key.column), call.prompt)
        if key.question == TURN_QUESTION and call.prompt != prompt:
            raise UsageError(
                f"the probe {planned.name} was asked with other texts of {key.column}; "
                "give this one a --name of its own"
            )


def missing(planned: Plan, kept: Kept) -> dict[tuple[int, str], int]:
    """Return how many answers each cell lacks."""
    there = {key[:3] for key, call in kept.items() if call.outcome not in NO_ANSWER}
    return {
        (cell.situation, cell.column): sum(
            (cell.situation, cell.column, number) not in there for number in range(1, planned.times + 1)
        )
        for cell in planned.cells
    }


@dataclass(frozen=True, slots=True)
class _Journal:
    """The journal of one answer: it has what was answered before, and keeps what arrives."""

    store: Store
    probe: str
    kept: Kept
    key: AnswerKey
    attempt: int
    has_all = False

    def answered(self, _turn: int, _agent: str, question: int, _prompt: Prompt, _spec: str) -> Call | None:
        """Return the kept call, None if there is none that brought an answer."""
        call = self.kept.get(self.key._replace(question=question))
        return None if call is None or call.outcome in NO_ANSWER else call

    def free(self, turn: int, agent: str) -> Address:
        """Return the address of the call, in which the attempt tells it from all others of the situation."""
        return Address(turn, agent, self.attempt)

    def read(self, call: Call, parsed: ParsedAnswer) -> None:
        """Do nothing: how a kept answer is read is told when the probe is."""

    async def keep(self, *calls: Call) -> None:
        """Store calls."""
        keep_answers(self.store, self.probe, [KeptAnswer(*self.key[:3], call) for call in calls])

    def turn(self, turn: Logged) -> None:
        """Raise AssertionError: nothing is played."""
        raise AssertionError(f"turn {turn.number} was played")


@dataclass(frozen=True, slots=True)
class _CellPlayer:
    cell: Cell
    model: Player
    at_once = False

    def prompt(self, view: Mapping[str, Any]) -> Prompt:  # noqa: ARG002  as in Player
        """Return the prompt of the cell."""
        return self.cell.prompt

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Return the model's reply."""
        return await self.model.reply(address, prompt)

    def follow_up(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> Prompt:
        """Return the follow-up question, in the language of the column."""
        return follow_up_prompt(self.cell.prompts, prompt, answer, drops)

    def named(self, _: str) -> "_CellPlayer":
        """Return this player: it alone is asked."""
        return self

    observing = named

    def stop_reason(self) -> str:
        """Return an empty text: what stops the calls is raised."""
        return ""


def meter_of(planned: Plan, kept: Kept, caps: Caps) -> Meter:
    """Return what counts the cost of asking, beginning with that of the kept calls."""
    models = {cell.question.player: cell.model for cell in planned.cells}
    spent = Spent(calls=len(kept))

    def usd_of(reply: Reply) -> float | None:
        return usd(reply, models.get(reply.player))

    for call in kept.values():
        if call.outcome not in NO_ANSWER:
            spent.add(tokens_of(call.reply), usd_of(call.reply))
    return Meter(caps, spent, usd_of)


@contextmanager
def asking(store: Store, planned: Plan, caps: Caps, meter: Meter | None = None) -> Iterator["Asker"]:
    """Yield what asks a plan, while no other process asks this probe; it has the answers that are there.

    Otherwise, each would pay for all answers, and reach the caps by itself. Raise HobbesError if one does, or
    if a model that has to be asked cannot be reached.
    """
    with store.locked(f"probe-{planned.name}", f"probe {planned.name} is being asked"):
        asker = Asker(store, planned, kept_calls(store, planned), caps, meter)
        lacking = missing(planned, asker.kept)
        to_ask = [cell for cell in planned.cells if lacking[cell.situation, cell.column]]
        check_models_can_be_reached({cell.question.player: cell.model for cell in to_ask})
        yield asker


class Asker:
    """Asks the cells of a plan, and counts what it costs: with what the probe has cost before, or on a meter.

    Several askers may share a meter.
    """

    def __init__(
        self, store: Store, planned: Plan, kept: Kept, caps: Caps, meter: Meter | None = None
    ) -> None:
        self._store = store
        self._plan = planned
        self.kept = kept
        """The calls that are there already."""
        self.meter = meter or meter_of(planned, kept, caps)
        self._limiter = RateLimiter()
        self._players: dict[tuple[str, str, str], RunPlayers] = {}

    async def ask_all(self, on_answer: Callable[[], None]) -> None:
        """Ask whatever is missing. Raise HaltedRunError if a cap is reached or a provider is gone.

        The answers that are under way then are waited for and kept.
        """
        keep_probe(self._store, as_kept(self._plan))
        waiting = sorted(self._missing(), key=lambda one: one[0].question.player)

        async def ask(one: tuple[Cell, int, int]) -> None:
            try:
                await self._ask(*one)
            except HaltedError as error:
                next_step = "the same command goes on with the probe"
                if not self.meter.stop_reason:
                    next_step = f"mend that, and {next_step}; with another model, give it another --name"
                raise HaltedRunError(f"{error}; {next_step}") from error
            on_answer()

        try:
            ended = await asyncio.gather(
                *(
                    play_side_by_side(of_player, of_player[0][0].model.parallel, ask)
                    for _, group in groupby(waiting, key=lambda one: one[0].question.player)
                    if (of_player := list(group))
                ),
                return_exceptions=True,
            )
        finally:
            for players in self._players.values():
                await players.close()
        for error in sorted(filter(None, ended), key=lambda error: isinstance(error, HobbesError)):
            raise error

    def _missing(self) -> Iterator[tuple[Cell, int, int]]:
        """Yield each answer that may be missing: its cell, its number, and its attempt in the situation.

        The first answers of all cells come first, so that a probe that stops tells something of each. The
        attempts of a column stay as they are if the probe gets more columns.
        """
        place = {column.name: n for n, column in enumerate(self._plan.columns, start=1)}
        for number in range(1, self._plan.times + 1):
            for cell in self._plan.cells:
                yield cell, number, (number - 1) * MAX_CELLS + place[cell.column]

    async def _ask(self, cell: Cell, number: int, attempt: int) -> None:
        question = cell.question
        world, agent = question.world, question.agent
        key = AnswerKey(cell.situation, cell.column, number, TURN_QUESTION)
        journal = _Journal(self._store, self._plan.name, self.kept, key, attempt)
        start = state_at(world, question.setting, {agent: question.player}, *question.start, "")
        player = _CellPlayer(cell, self._player(cell))
        views = {agent: dict(question.view)}
        await Asking(TurnCache(world), player, journal, {**start, "views": views}).ask(agent)

    def _player(self, cell: Cell) -> Player:
        """Return the model of a cell. Cells that ask it in the same way share it, with what it refuses."""
        question = cell.question
        key = question.player, cell.model.model_dump_json(), cell.prompts.schema
        if key not in self._players:
            self._players[key] = RunPlayers(
                question.world,
                question.setting,
                cell.prompts,
                self.meter,
                models=question.models,
                answered=self._plan.answered,
                limiter=self._limiter,
            )
        return self._players[key].named(question.player)
