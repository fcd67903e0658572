"""What gepa asks of hobbes: the scores of advice, and what its proposer reads about them."""

import math
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from gepa.api import optimize
from gepa.core.adapter import EvaluationBatch, ProposalFn
from gepa.core.result import GEPAResult
from gepa.logging.logger import StdOutLogger

from hobbes.engine.measures import PlayedTurn, meaning_of, work_out
from hobbes.engine.turn import Judged, rule
from hobbes.engine.world import AnyWorld
from hobbes.errors import HaltedRunError, UsageError
from hobbes.improve.advice import write_candidate
from hobbes.improve.improvement import Improvement
from hobbes.loop import play_out
from hobbes.nodes.caps import NO_CAPS
from hobbes.nodes.chat import ChatPlayer
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import Address, Prompt, Reply
from hobbes.nodes.players import parse_spec
from hobbes.nodes.prompting import system_text
from hobbes.play.models_file import read_models
from hobbes.play.start import check_players_can_be_asked, specs_of
from hobbes.probe.asker import Asker, kept_calls
from hobbes.probe.situations import ProbeFile
from hobbes.probe.table import CellAnswers, ProbeResult, read_probe
from hobbes.probe.versions import plan_version
from hobbes.store.history import intents_of, state_before, stored_turn
from hobbes.store.home import Store

TEMPLATE = """The agents also get this advice, which is all of the text that you can change:
```
<curr_param>
```
The goal is to {goal}. This measure is: {meaning}{keep}

Here are situations, what agents with this advice answered, and the measure of the turn with each answer:
<side_info>

Write better advice in the language {lang}: what to do, in a few plain sentences. It states no rules, since \
the rules above hold whatever you write, and has no numbers; where you need one of the settings, write its \
name in double braces. No headings. Provide the new advice within ``` blocks."""


class ProbeAdapter:
    """Scores advice by the probe of an improvement. An example is the number of a situation, from 1.

    An answer is worth the goal's measure of the recorded turn, which the rules play once more with it.
    """

    propose_new_texts: ProposalFn | None = None  # gepa's own way, with a template of ours

    def __init__(self, store: Store, asked: Improvement) -> None:
        """Raise UsageError if the proposer is no chat model that can be asked."""
        new, spec, models = asked.baseline, asked.file.proposer, read_models(store.home)
        try:
            proposer = parse_spec(new.world.policies, spec, models)
        except ValueError as error:
            raise UsageError(f"proposer: {error}") from error
        check_players_can_be_asked({**specs_of(new), spec: proposer})
        settings = proposer.settings
        if settings is None:
            raise UsageError(f"proposer: {spec} writes no texts; name a chat model, such as openai:NAME")
        self._store, self._asked = store, asked
        self._proposer = settings.model_copy(update={"response_format": "none"})
        self._failure = ""
        """Why there was no proposal: gepa goes on after an error, so the next score has to raise it."""

    def search(self) -> GEPAResult[None, int]:
        """Return what gepa finds, from where it stopped. Raise HobbesError if a model cannot be asked."""
        asked, file = self._asked, self._asked.file
        words = TEMPLATE.format(
            goal=file.goal,
            meaning=meaning_of(asked.baseline.world.measures.formulas[file.measure]),
            keep="".join(f" Games must keep {guard}." for guard in file.keep),
            lang=asked.baseline.prompts.lang,
        )
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            return optimize(
                seed_candidate={"advice": asked.advice},
                trainset=[*range(1, len(asked.situations) + 1)],
                adapter=self,
                reflection_lm=self._propose,
                reflection_prompt_template=words,
                skip_perfect_score=False,
                max_metric_calls=max(1, file.max_calls // file.screen.times),
                run_dir=str(asked.search),
            )

    def evaluate(
        self,
        batch: list[int],
        candidate: dict[str, str],
        capture_traces: bool = False,  # noqa: ARG002, FBT001, FBT002  as gepa has it
    ) -> EvaluationBatch[dict[str, Any], None]:
        """Return the scores of advice in situations: more is better. Refused advice has the worst score."""
        if self._failure:
            raise HaltedRunError(f"the proposer failed: {self._failure}; the same command goes on")
        asked, advice, outputs = self._asked, candidate["advice"], [None] * len(batch)
        prompts = asked.prompts_of(advice)
        is_new = advice != asked.advice
        if is_new and (why := write_candidate(asked.baseline, advice, Path(prompts))):
            StdOutLogger().log(f"refused: {why}")
            return EvaluationBatch(outputs, [-math.inf] * len(batch))
        column, result = self._ask_missing(prompts, {*batch})
        seen = [self._value_of(number, result.cell(number, column)) for number in batch]
        if not is_new and all(value is None for value, _ in seen):
            raise UsageError(f"goal: {asked.file.measure} is undefined in single turns; choose another one")
        scores = [asked.file.sign * (value or 0.0) for value, _ in seen]
        return EvaluationBatch(outputs, scores, [record for _, record in seen])

    def make_reflective_dataset(
        self,
        candidate: dict[str, str],  # noqa: ARG002  as gepa has it
        eval_batch: EvaluationBatch[dict[str, Any], None],
        components_to_update: list[str],  # noqa: ARG002  there is only one
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return what the proposer reads about advice: situations, answers, and what came of them."""
        return {"advice": eval_batch.trajectories or []}

    def _propose(self, prompt: str | list[dict[str, object]]) -> str:
        """Return the proposer's text; empty, with `_failure` set, if there is none."""
        new, name = self._asked.baseline, self._asked.file.proposer
        rules = f"Agents play a game. They are told:\n\n{system_text(new.prompts, new.setting)}"

        async def ask() -> Reply:
            player = ChatPlayer(self._proposer, rules, new.prompts, name=name)
            try:
                return await player.reply(Address(0, "proposer", 1), Prompt(rules, str(prompt)))
            finally:
                await player.close()

        try:
            reply = play_out(ask())
        except HaltedError as error:
            self._failure = str(error)
            return ""
        self._failure = (reply.error or str(reply.failure)) if reply.failure else ""
        return reply.text

    def _ask_missing(self, prompts: str, numbers: Collection[int]) -> tuple[str, ProbeResult]:
        """Ask what is missing of a candidate in these situations; return its column, and the probe."""
        store, asked, models = self._store, self._asked, {*self._asked.baseline.models.values()}
        probe = ProbeFile(
            name=asked.file.name,
            situation=[*asked.situations],
            prompts=[prompts],
            model=[*models] if len(models) == 1 else [],  # of several, the one that played the agent
            times=asked.file.screen.times,
        )
        planned = plan_version(store, probe, NO_CAPS)
        column = planned.cells[-1].column  # `recorded` if the candidate has its words
        cells = [one for one in planned.cells if one.column == column and one.situation in numbers]
        part = replace(planned, cells=tuple(cells))
        play_out(Asker(store, part, kept_calls(store, planned), NO_CAPS).ask_all(lambda: None))
        return column, read_probe(store, asked.file.name)

    def _value_of(self, number: int, cell: CellAnswers) -> tuple[float | None, dict[str, Any]]:
        """Return the mean value of the answers to a situation, and what the proposer reads about them."""
        at, measure = self._asked.situations[number - 1], self._asked.file.measure
        run = self._store.runs.find(at.run)
        state = state_before(self._store, run, at.turn)
        others = intents_of(run, stored_turn(self._store, run, at.turn)) if at.turn < run.turns else {}
        values = [_value(run.world, state, {**others, at.agent: one.intent}, measure) for one in cell.answers]
        known = [value for value in values if value is not None]
        texts = [one.call.reply.text for one in cell.answers]
        record = {"Situation": cell.answers[0].call.prompt.turn, "Answers": texts, measure: values}
        return fmean(known) if known else None, record


def _value(world: AnyWorld, state: object, intents: Mapping[str, Any], measure: str) -> float | None:
    """Return a measure of a single turn that the rules play with these intents, None if it is undefined."""
    ruled = rule(world, state, Judged(world, {}, intents), None).intents
    resolved = world.resolve(state, ruled)
    turn = PlayedTurn(state, ruled, resolved.state, resolved.events, resolved.draws)
    return next((one.value for one in work_out(world.measures, [turn]).measures if one.name == measure), None)
