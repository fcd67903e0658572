"""Screening: recorded situations are asked with a candidate, and the rules say what its answers would do.

A candidate is asked as a probe of its own, whose only column is the candidate. So its answers are kept in the
run database, and can be looked at with `hobbes probe show`.

The score of an answer is the goal's measure of a single turn: the recorded turn, played once more by the
rules, with this answer in place of the agent's own.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from hobbes.engine.answer import DECISIONS
from hobbes.engine.measuring import measure_history
from hobbes.engine.turn import Judged, answer_fields, judge, rule
from hobbes.engine.world import PlayedTurn
from hobbes.lab.errors import HaltedRunError
from hobbes.lab.improve.file import Goal
from hobbes.lab.loop import play_out
from hobbes.lab.probe.asking import asking, missing
from hobbes.lab.probe.planning import Column, Place, Plan, place, plan
from hobbes.lab.probe.situations import ProbeFile, Situation
from hobbes.lab.store.history import intents_of, stored_turn
from hobbes.lab.store.home import Store
from hobbes.lab.store.probes import answers_of, probe_named
from hobbes.nodes.caps import Caps, Spent
from hobbes.nodes.journal import Call
from hobbes.nodes.reading import deciding, read


@dataclass(frozen=True, slots=True)
class Screened:
    """A situation with the answers of a candidate."""

    situation: int
    """Its number, from 1."""
    turn: str
    """What the agent was shown."""
    answers: tuple[str, ...]
    acts: tuple[tuple[str, ...], ...]
    """The acts of each answer, none if the call failed."""
    values: tuple[float | None, ...]
    """The goal's measure of the turn with each answer, None where it is undefined."""

    @property
    def value(self) -> float | None:
        """The mean over the answers that have a value, None if none has."""
        known = [value for value in self.values if value is not None]
        return fmean(known) if known else None


def shares_of_acts(screened: Collection[Screened]) -> dict[str, float]:
    """Return in which share of all answers each act occurs."""
    answers = [acts for one in screened for acts in one.acts]
    counts = Counter(act for acts in answers for act in {*acts})
    return {act: counts[act] / len(answers) for act in sorted(counts)}


@dataclass(frozen=True)
class Screening:
    """Asks about the same situations with one candidate after another."""

    store: Store
    name: str
    """That of the improvement, with which the names of its probes begin."""
    situations: tuple[Situation, ...]
    goal: Goal
    times: int
    model: str | None
    """The model that is asked, None for the one that played the agent."""

    def plan(self, candidate: str, prompts: str, caps: Caps) -> Plan:
        """Return the probe of a candidate, given its prompts. Raise UsageError if it cannot be asked."""
        model = [self.model] if self.model else []
        asked = ProbeFile(
            name=f"{self.name}-{candidate}",
            situation=[*self.situations],
            prompts=[prompts],
            model=model,
            times=self.times,
        )
        planned = plan(self.store, asked, caps)
        column = planned.columns[-1]
        cells = tuple(replace(one, column=candidate) for one in planned.cells if one.column == column.name)
        return replace(planned, columns=(replace(column, name=candidate),), cells=cells)

    def screen(
        self, planned: Plan, numbers: Collection[int], caps: Caps
    ) -> tuple[list[Screened] | None, Spent]:
        """Ask about some of the situations what was not asked yet; return them, and what the probe has cost.

        Return None in their place if a cap is reached. Raise HaltedRunError if the provider is gone.
        """
        part = replace(planned, cells=tuple(cell for cell in planned.cells if cell.situation in numbers))
        has_follow_ups = any(cell.question.setting.config.reask for cell in part.cells)
        with asking(self.store, part, caps) as asker:
            try:
                if has_follow_ups or any(missing(part, asker.kept).values()):
                    play_out(asker.ask_all(lambda: None))
            except HaltedRunError:
                if asker.meter.stop_reason:
                    return None, asker.meter.spent
                raise
        calls: dict[int, dict[int, list[Call]]] = {number: {} for number in numbers}
        for one in answers_of(self.store, probe_named(self.store, part.name)):
            if one.situation in numbers and one.number <= self.times:
                calls[one.situation].setdefault(one.number, []).append(one.call)
        (column,) = part.columns
        turns = {cell.situation: cell.prompt.turn for cell in part.cells}
        return [
            self._screened(number, column, turns[number], of_situation.values())
            for number, of_situation in calls.items()
        ], asker.meter.spent

    def _screened(
        self, number: int, column: Column, turn: str, calls: Collection[Sequence[Call]]
    ) -> Screened:
        """Return a situation with its answers, by what the rules make of them."""
        situation = self.situations[number - 1]
        outcome = _Outcome(self.store, situation, place(self.store, situation, column), self.goal)
        counted = [call for of_number in calls if (call := deciding(of_number)) is not None]
        results = [outcome.of(call) for call in counted]
        return Screened(
            number,
            turn,
            tuple(call.reply.text for call in counted),
            tuple(acts for acts, _ in results),
            tuple(value for _, value in results),
        )


@dataclass(frozen=True)
class _Outcome:
    """What the rules make of answers to a situation."""

    store: Store
    situation: Situation
    at: Place
    goal: Goal

    @cached_property
    def _others(self) -> Mapping[str, object]:
        """What the other agents intended in the recorded turn; nothing if it was not played."""
        run, turn = self.store.runs.find(self.situation.run), self.situation.turn
        recorded = intents_of(run, stored_turn(self.store, run, turn)) if turn < run.turns else {}
        return {agent: intent for agent, intent in recorded.items() if agent != self.situation.agent}

    def of(self, call: Call) -> tuple[tuple[str, ...], float | None]:
        """Return the acts of an answer, and the goal's measure of the turn with it."""
        world, state, agent = self.at.way.world, self.at.state, self.situation.agent
        parsed = read(agent, call.reply, answer_fields(world, self.at.setting, agent))
        judged = judge(world, state, {agent: parsed})
        all_intents = Judged(world, judged.outcomes, {**self._others, **judged.intents})
        intents = rule(world, state, all_intents, None).intents
        resolved = world.resolve(state, intents)
        played = PlayedTurn(state, intents, resolved.state, resolved.events, resolved.draws)
        of_run = {one.name: one.value for one in measure_history(world, [played]) if one.scope == "run"}
        acts = world.acts(judged.intents[agent]) if parsed.outcome in DECISIONS else ()
        return acts, of_run.get(self.goal.measure)
