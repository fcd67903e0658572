"""The adapter of gepa, which proposes new advice from the answers to the advice that there is.

gepa asks for scores of a text in some situations (`evaluate`), and for what its proposer should read about
them (`make_reflective_dataset`). It decides which text to change next, and keeps those that score better.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from gepa.api import optimize
from gepa.core.adapter import EvaluationBatch, ProposalFn
from gepa.core.result import GEPAResult

from hobbes.lab.improve.file import ImproveFile
from hobbes.lab.improve.lineage import Candidate
from hobbes.lab.improve.proposing import Proposer
from hobbes.lab.improve.screening import Screened

ADVICE = "advice"
"""The name of the text that gepa changes."""

SEED = 0
"""Of gepa's own random draws: the same answers lead to the same search, so that it can be stopped."""

MINIBATCH = 3
"""In how many situations a proposal is tried first; only one that is better there is tried in all."""

MAX_REFUSED = 5
"""How many refused proposals the proposer is told of."""

TEMPLATE = """The agents also get this advice, which is all of the text that you can change:
```
<curr_param>
```

{goal}

Here are situations of the game, what agents with this advice answered, and what came of each answer:
<side_info>

Write better advice. It tells the agents what to do, in a few plain sentences{lang}. It states no rules, \
since the rules above hold whatever you write, and has no numbers; where you need one of the settings, write \
its name in double braces. No headings.

Provide the new advice within ``` blocks."""


class Screener(Protocol):
    """Tries advice in situations."""

    def candidate(self, text: str, parent: str | None) -> Candidate:
        """Return the candidate with a text, which is new or not."""

    def screened(self, candidate: Candidate, numbers: Sequence[int]) -> list[Screened] | None:
        """Return what a candidate does in situations, None if the budget does not allow to ask."""

    def refused(self, parent: Candidate) -> list[Candidate]:
        """Return the refused candidates that came from another one."""


class ProbeAdapter:
    """What gepa asks of hobbes: a text is advice, an example is the number of a situation."""

    propose_new_texts: ProposalFn | None = None
    """gepa's own words are used, with a template of ours."""

    def __init__(self, screener: Screener, file: ImproveFile, proposer: Proposer, meaning: str) -> None:
        """Take what tries advice, and what proposes it. `meaning` is the goal's measure in words."""
        self._screener = screener
        self._file = file
        self.proposer = proposer
        self.template = _template(file, meaning)
        self._parent: str | None = None

    def evaluate(
        self,
        batch: list[int],
        candidate: dict[str, str],
        capture_traces: bool = False,  # noqa: FBT001, FBT002  as gepa has it
    ) -> EvaluationBatch[Screened | None, None]:
        """Return the scores of advice in situations: more is better. Refused advice has the worst score."""
        if self.proposer.failure:
            raise self.proposer.failure
        tried = self._screener.candidate(candidate[ADVICE].strip(), self._parent)
        found = None if tried.refused else self._screener.screened(tried, batch)
        if found is None:
            return EvaluationBatch([None] * len(batch), [-math.inf] * len(batch), [None] * len(batch))
        by_number = {one.situation: one for one in found}
        in_order = [by_number[number] for number in batch]
        scores = [self._file.aim.sign * (one.value or 0.0) for one in in_order]
        return EvaluationBatch([None] * len(batch), scores, [*in_order] if capture_traces else None)

    def make_reflective_dataset(
        self,
        candidate: dict[str, str],
        eval_batch: EvaluationBatch[Screened | None, None],
        components_to_update: list[str],  # noqa: ARG002  there is only one
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return what the proposer reads about advice: situations, answers, and what came of them."""
        self._parent = candidate[ADVICE].strip()
        told: list[dict[str, Any]] = [
            {
                "Situation": one.turn,
                "Answers": [*one.answers],
                "Feedback": [
                    f"acts: {', '.join(acts) or 'none'}; {self._file.aim.measure} of the turn: {_said(value)}"
                    for acts, value in zip(one.acts, one.values, strict=True)
                ],
            }
            for one in eval_batch.trajectories or ()
            if one is not None
        ]
        parent = self._screener.candidate(self._parent, None)
        refused = self._screener.refused(parent)[-MAX_REFUSED:]
        if refused:
            told.append({"Refused proposals": {one.text: "; ".join(one.refused) for one in refused}})
        return {ADVICE: told}


def _said(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3g}"


class _Silent:
    """gepa's log, which says nothing that the lineage does not say."""

    def log(self, message: str) -> None:
        """Do nothing."""


def search(adapter: ProbeAdapter, situations: int, advice: str, is_over: Callable[[], bool]) -> str:
    """Return the advice that scores best in all situations; that of the baseline if none is better."""
    numbers = [*range(1, situations + 1)]
    found: GEPAResult[None, int] = optimize(
        seed_candidate={ADVICE: advice},
        trainset=numbers,
        valset=numbers,
        adapter=adapter,
        reflection_lm=adapter.proposer,
        reflection_prompt_template=adapter.template,
        reflection_minibatch_size=min(MINIBATCH, situations),
        skip_perfect_score=False,
        stop_callbacks=lambda _: is_over(),
        logger=_Silent(),
        seed=SEED,
    )
    best: Any = found.best_candidate
    return str(best[ADVICE]).strip()


def _template(file: ImproveFile, meaning: str) -> str:
    """Return the words in which the proposer is asked."""
    verb, measure = file.goal.split(" ")
    goal = f"The goal is to {verb} `{measure}`: {meaning.rstrip('.')}."
    if file.keep:
        goal += f" The games of the new advice must keep: {'; '.join(file.keep)}."
    lang = "" if file.lang in {None, "en"} else f" in the language {file.lang}"
    return TEMPLATE.format(goal=goal, lang=lang)
