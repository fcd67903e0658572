"""Replay: a run is played again from its recorded answers, and the first divergence is named.

Replay is the run's own ring with a journal that answers from the record and compares what is to be written.
"""

import difflib
import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from engine.record import canonical
from graphs.run import replay
from graphs.turn import ring
from lab.errors import LabError
from lab.records import Records, Run, Turn
from nodes.halted import HaltedError
from nodes.journal import Address, Call, Prompt, TurnRecord
from nodes.minds import Company
from nodes.prompting import load_prompts
from nodes.state import TurnState, first_state

Layer: TypeAlias = Literal["prompt", "answer", "reading", "validation", "engine"]

LAYERS: tuple[tuple[Layer, tuple[str, ...]], ...] = (
    ("validation", ("intents", "drops", "mends")),
    ("engine", ("state", "events", "draws", "minds")),
)
"""The parts of a turn's record, by the layer that makes them, in the order in which they are made."""


class DivergedError(Exception):
    """The first place where a replay comes out otherwise than the record."""

    def __init__(self, turn: int, agent: str, layer: Layer, diff: str) -> None:
        super().__init__(f"turn {turn}, {agent or 'all agents'}, {layer}")
        self.turn, self.agent, self.layer, self.diff = turn, agent, layer, diff


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay came to: the last digest, and the first divergence, if any."""

    turns: int
    digest: str
    divergence: DivergedError | None


class ReplayJournal:
    """A journal that answers from a run's record, and raises DivergedError at the first difference.

    With `reread` the answers are the recorded ones whatever the prompt says now, and nothing is compared.
    """

    def __init__(self, records: Records, run: Run, *, reread: bool) -> None:
        self._records = records
        self._run = run
        self._reread = reread
        self._turns: Mapping[int, Turn] = {turn.turn: turn for turn in records.turns(run.id)}
        self._calls: dict[int, dict[str, list[Call]]] = {}

    def answered(self, turn: int, agent: str, question: int, prompt: Prompt) -> Call:
        """Give the recorded call, if it was asked with the same prompt."""
        if turn not in self._calls:
            self._calls = {turn: self._records.attempts(self._run.id, turn)}
        asked = [call for call in self._calls[turn].get(agent, ()) if call.question == question]
        if not asked:
            which = "second answer" if question == 2 else "answer"  # noqa: PLR2004  the second question
            raise DivergedError(turn, agent, "answer", f"no {which} was recorded\n")
        call = asked[-1]
        if not self._reread and call.prompt != prompt:
            diff = diff_of(call.prompt.system, prompt.system) + diff_of(call.prompt.turn, prompt.turn)
            raise DivergedError(turn, agent, "prompt", diff)
        return call

    def free(self, turn: int, agent: str) -> Address:
        """Never happens: a replay asks nobody."""
        raise AssertionError(f"a replay asked {agent} in turn {turn}")

    def keep(self, call: Call) -> None:
        """Never happens: a replay asks nobody."""
        raise AssertionError(f"a replay kept {call.address}")

    def read(self, call: Call, outcome: str, stage: str) -> None:
        """Compare how an answer was read."""
        if not self._reread and (call.outcome, call.stage) != (outcome, stage):
            diff = diff_of(f"{call.outcome} by {call.stage}", f"{outcome} by {stage}")
            raise DivergedError(call.address.turn, call.address.agent, "reading", diff)

    def turn(self, turn: TurnRecord) -> None:
        """Compare a turn's record."""
        if self._reread:
            return
        if turn.turn not in self._turns:
            raise DivergedError(turn.turn, "", "engine", "the turn is not in the record\n")
        difference = first_differing_part(self._turns[turn.turn].record, turn.record)
        if difference is not None:
            raise DivergedError(turn.turn, *difference)


def first_differing_part(
    recorded: Mapping[str, Any], now: Mapping[str, Any], sides: tuple[str, str] = ("before", "now")
) -> tuple[str, Layer, str] | None:
    """Give agent, layer and diff of the first part in which two records of a turn differ, if any does.

    The agent is the first one for which that part differs; a world's state is nobody's.
    """
    agents = {*recorded["minds"], *now["minds"]}
    for layer, parts in LAYERS:
        for part in parts:
            if canonical(recorded[part]) != canonical(now[part]):
                pairs = _by_agent(recorded[part], now[part])
                differing = (name for name, a, b in pairs if canonical(a) != canonical(b))
                agent = next((name for name in differing if name in agents), "")
                return agent, layer, diff_of(_pretty(recorded[part]), _pretty(now[part]), sides)
    return None


def _by_agent(recorded: Any, now: Any) -> list[tuple[str, Any, Any]]:  # noqa: ANN401  any JSON
    """Pair what belongs to each agent: objects by agent, or lists whose elements name theirs."""
    if isinstance(recorded, list):
        recorded, now = _grouped(recorded), _grouped(now)
    return [(name, recorded.get(name), now.get(name)) for name in sorted({*recorded, *now})]


def _grouped(elements: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group drops, mends or events by their agent."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for element in elements:
        groups.setdefault(element.get("agent", ""), []).append(element)
    return groups


async def replay_run(records: Records, run: Run, *, reread: bool) -> Replayed:
    """Play a run again from its record, with today's prompts, reading and rules."""
    journal = ReplayJournal(records, run, reread=reread)
    prompts = load_prompts(run.world, run.prompts.variant, run.prompts.lang, run.setting.config)
    company = Company(run.world, run.setting, prompts)
    first = first_state(run.world, run.setting, run.models)
    try:
        nodes = ring(run.world, lambda _: nullcontext(company), journal)
        state: TurnState = await replay(nodes, first, run.turns)
    except DivergedError as divergence:
        return Replayed(divergence.turn, "", divergence)
    except HaltedError as error:
        raise LabError(f"as answers are read today, run {run.id} would have halted: {error}") from error
    return Replayed(state["turn"], state["digest"], None)


def diff_of(recorded: str, now: str, sides: tuple[str, str] = ("before", "now")) -> str:
    """Give a unified diff, empty if there is no difference."""
    lines = difflib.unified_diff(recorded.splitlines(), now.splitlines(), *sides, lineterm="", n=1)
    return "".join(f"{line}\n" for line in lines)


def _pretty(value: Any) -> str:  # noqa: ANN401  any JSON
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
