"""`hobbes replay`: a run is played again from its recorded answers, up to the first divergence.

A replay uses the same graph as the run, with a journal that answers from the run database and compares every
turn with the recorded one.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.record import sha256
from hobbes.engine.turn import Layer
from hobbes.errors import HaltedRunError
from hobbes.graphs.run import replay
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import FOLLOW_UP_QUESTION, Address, Call, Logged, Prompt
from hobbes.nodes.players import RunPlayers
from hobbes.nodes.prompting import load_prompts
from hobbes.nodes.reading import deciding
from hobbes.nodes.turn_state import first_state
from hobbes.play.time_travel import nodes_of
from hobbes.prove.record_difference import diff_of, first_differing_part
from hobbes.store.checked_rows import Row
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run


class DivergedError(Exception):
    """The first difference between a replay and the recorded run."""

    def __init__(self, turn: int, agent: str, layer: Layer, diff: str) -> None:
        super().__init__(f"turn {turn}, {agent or 'all agents'}, {layer}")
        self.turn, self.agent, self.layer, self.diff = turn, agent, layer, diff


class Replayed(NamedTuple):
    """The result of a replay: number of turns, last digest, and the first divergence, if any."""

    turns: int
    digest: str
    divergence: DivergedError | None


def no_answer(turn: int, agent: str, question: int) -> DivergedError:
    """Return the divergence of a question that has no recorded answer."""
    which = " to the follow-up question" if question == FOLLOW_UP_QUESTION else ""
    return DivergedError(turn, agent, "answer", f"no answer{which} was recorded\n")


class JournalWithoutCalls:
    """What journals share that have all answers, so that no call is made."""

    has_all = True

    def free(self, turn: int, agent: str) -> Address:
        """Raise AssertionError: a replay makes no calls."""
        raise AssertionError(f"a replay called {agent} in turn {turn}")

    async def keep(self, *calls: Call) -> None:
        """Raise AssertionError: a replay makes no calls."""
        raise AssertionError(f"a replay stored {calls[0].address}")


class ReplayJournal(JournalWithoutCalls):
    """A journal that answers from a recorded run, and raises DivergedError at the first difference.

    With `reread` it returns the recorded answers whatever the prompt is now, and compares nothing.
    """

    def __init__(self, store: Store, run: Run, *, reread: bool) -> None:
        self._store = store
        self._run = run
        self._reread = reread
        self._recorded = store.turns.of(run)
        self._stored: dict[int, dict[str, list[Row]]] = {}
        self._used: dict[str, list[Call]] = {}
        """The calls of this turn that were asked for, by agent."""

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt, _spec: str) -> Call:
        """Return the recorded call; raise DivergedError if it is missing or had another prompt."""
        rows = [row for row in self._rows(turn).get(agent, ()) if row["question"] == question]
        if not rows:
            raise no_answer(turn, agent, question)
        row = rows[-1]
        # A stored text with the same hash as the present one need not be read.
        if not self._reread and [row["system"], row["prompt"]] != [*map(sha256, prompt)]:
            then = self._store.calls.read(row).prompt
            diff = diff_of(then.system, prompt.system) + diff_of(then.turn, prompt.turn)
            raise DivergedError(
                turn, agent, "prompt", diff or "its view was another one, which is not stored\n"
            )
        call = self._store.calls.read(row, {row["system"]: prompt.system, row["prompt"]: prompt.turn})
        self._used.setdefault(agent, []).append(call)
        return call

    def _rows(self, turn: int) -> Mapping[str, Sequence[Row]]:
        """Return the recorded calls of a turn by agent; they are read once."""
        if turn not in self._stored:
            rows = groupby(self._store.calls.rows(self._run.id, turn), itemgetter("agent"))
            self._stored = {turn: {name: list(calls) for name, calls in rows}}
        return self._stored[turn]

    def read(self, call: Call, parsed: ParsedAnswer) -> None:
        """Compare outcome and reading of an answer with the recorded ones."""
        if not self._reread and (call.outcome, call.found_as) != (parsed.outcome, parsed.found_as):
            then, now = (f"{one.outcome}, found as {one.found_as}" for one in (call, parsed))
            raise DivergedError(call.address.turn, call.address.agent, "reading", diff_of(then, now))

    def turn(self, turn: Logged) -> None:
        """Compare the record of a turn, and the calls that count in it, with the recorded ones."""
        used, self._used = self._used, {}
        if self._reread:
            return
        for agent, rows in self._rows(turn.number).items():
            self._check_what_counts(turn.number, agent, rows, used.get(agent, []))
        stored = next(self._recorded)
        if stored.text == turn.record.text:
            return  # the usual case, in which the recorded text need not be read
        # A record of an earlier version is another text, and may be equal all the same.
        difference = first_differing_part(stored.record, turn.record)
        if difference is not None:
            diff = diff_of(difference.before, difference.now)
            raise DivergedError(turn.number, difference.agent, difference.layer, diff)

    def _check_what_counts(self, turn: int, agent: str, rows: Sequence[Row], used: Sequence[Call]) -> None:
        """Raise DivergedError if the recorded call that counts is one that was not asked for."""
        if [row["attempt"] for row in rows] == [call.address.attempt for call in used]:
            return  # the usual case, in which no text need be read
        counts = deciding(self._store.calls.attempts(self._run.id, turn, agent)[agent])
        if counts is not None and counts != deciding(used):
            diff = f"attempt {counts.address.attempt}, which is not asked for, is the one that counts\n"
            raise DivergedError(turn, agent, "answer", diff)


async def replay_run(store: Store, run: Run, *, reread: bool) -> Replayed:
    """Play a run again from its recorded answers, with the current reading and rules.

    The prompts are those of their files now or, with `reread`, the recorded ones.
    """
    first = run.at(0)

    def players(run_at_turn: Run) -> RunPlayers:
        prompts, setting = run_at_turn.prompts, run_at_turn.setting
        now = partial(load_prompts, run.world, prompts.variant, prompts.lang, setting)
        return RunPlayers(run.world, setting, prompts if reread else now, models=run_at_turn.model_settings)

    journal = ReplayJournal(store, run, reread=reread)
    try:
        async with nodes_of(run, players, journal) as nodes:
            state = await replay(nodes, first_state(run.world, first.setting, first.models), run.turns)
    except DivergedError as divergence:
        return Replayed(divergence.turn, "", divergence)
    except HaltedError as error:
        raise HaltedRunError(
            f"run {run.label} halts when its answers are read by the current code: {error}"
        ) from error
    return Replayed(state["turn"], state["digest"], None)
