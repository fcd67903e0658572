"""`hobbes export --format inspect`: a run as a log that `inspect view` opens.

Each turn of an agent is a sample, and so is each turn of the observer. docs/data.md says what a sample has.
This module needs inspect-ai, which is optional.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    EvalStatus,
    write_eval_log,
)
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score
from rich.progress import track

from hobbes.engine.answer import DECISIONS, FAILURE_CODES, READING_CODES, Outcome
from hobbes.engine.world import OBSERVER
from hobbes.lab.show.terminal import ERR
from hobbes.lab.show.tracing import Card, FullTurn, agent_card, full_turn
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run
from hobbes.nodes.journal import Call, ReasoningSource, Reply
from hobbes.nodes.reading import deciding

STATUSES: Mapping[str, EvalStatus] = {"finished": "success", "halted": "error"}
"""What inspect calls the status of a run. Any other run is one that has started."""

STOP_REASONS: Mapping[Outcome, Literal["max_tokens", "content_filter"]] = {
    Outcome.TRUNCATED: "max_tokens",
    Outcome.REFUSED: "content_filter",
}
"""Why an answer ended, in inspect's words. Any other answer ended by itself."""

CARD = ("view", "drops", "mends", "events", "memory_before", "memory_after")
"""What a sample has of the card of its turn, besides what was decided."""


def write(store: Store, run: Run, path: Path) -> int:
    """Write a run into a new log, and return the number of its samples."""
    samples = list(_samples(store, run))
    write_eval_log(_log(store, run, samples), path, "eval")
    return len(samples)


def _log(store: Store, run: Run, samples: list[EvalSample]) -> EvalLog:
    """Return the log of a run with these samples."""
    about, result = store.figures.about(run.id), store.figures.result(run)
    return EvalLog(
        status=STATUSES.get(run.status, "started"),
        eval=EvalSpec(
            eval_id=run.id,
            run_id=run.id,
            task_id=run.id,
            created=about["started"],
            task=run.world.name,
            task_version=run.versions.rules,
            task_args={
                "agents": len(run.setting.agents),
                "seed": run.setting.seed,
                "prompts": run.prompts.variant,
                "lang": run.prompts.lang,
                **run.setting.config.model_dump(mode="json"),
            },
            dataset=EvalDataset(name=run.name or run.id, samples=len(samples)),
            model=",".join(f"{spec}*{n}" for spec, n in Counter(run.models.values()).items()),
            config=EvalConfig(),
            packages={"hobbes": run.versions.hobbes},
            metadata={**about, **result},
        ),
        results=EvalResults(
            total_samples=len(samples),
            completed_samples=sum(sample.error is None for sample in samples),
            scores=list(_over_samples(samples)),
            metadata={"measures": store.figures.measures(run.id)},
        ),
        stats=EvalStats(
            started_at=about["started"],
            completed_at=about["ended"] or "",
            model_usage=_total(
                used
                for sample in samples
                if sample.metadata["turn"] >= run.forked_at
                for used in sample.model_usage.items()
            ),
        ),
        error=_error(result["halted"]) if result["halted"] else None,
        samples=samples,
    )


def _samples(store: Store, run: Run) -> Iterator[EvalSample]:
    """Yield the turns of all agents, turn by turn; the last turn may not have ended."""
    for number in track(range(run.turns + 1), "exporting", console=ERR, transient=True):
        full = full_turn(store, run, number) if number < run.turns else None
        for calls in store.calls.attempts(run.id, number).values():
            yield _sample(store, run, full, calls)


def _sample(store: Store, run: Run, full: FullTurn | None, calls: Sequence[Call]) -> EvalSample:
    """Return the turn of an agent, with all its calls. Without a record, there is nothing but the calls."""
    call = deciding(calls) or calls[-1]
    number, agent = call.address.turn, call.address.agent
    card: Card = {}
    if full and (agent == OBSERVER or agent in full.turn.record.intents):
        card = agent_card(store, run, number, agent, lambda *_: full)
    failed = call.outcome not in DECISIONS
    decided: Card = {name: card[name] for name in ("intent", "rulings") if name in card}
    if failed:
        decided = {f"default_{name}": default for name, default in decided.items()}
    return EvalSample(
        id=f"{number}/{agent}",
        epoch=1,
        input=_question(calls[0], system=True),
        target="",
        messages=[message for one in calls for message in _messages(one, system=one is calls[0])],
        output=_output(call),
        scores=dict(_scores(run, full, call, card)),
        metadata={
            "turn": number,
            "agent": agent,
            "attempt": call.address.attempt,
            **decided,
            **{name: card[name] for name in CARD if name in card},
        },
        model_usage=_total((one.reply.model, used) for one in calls if (used := _usage(one))),
        total_time=sum(one.reply.milliseconds for one in calls) / 1000,
        error=_error(f"{call.outcome}: {_why(call)}") if failed else None,
    )


def _messages(call: Call, *, system: bool) -> list[ChatMessage]:
    """Return the question of a call and its answer, if it has one."""
    return [*_question(call, system=system), *(choice.message for choice in _output(call).choices)]


def _question(call: Call, *, system: bool) -> list[ChatMessage]:
    """Return the texts that were sent; the system text only where that is asked for, as it stays the same."""
    at = call.address
    texts: list[ChatMessage] = []
    if system and call.prompt.system:
        texts.append(ChatMessageSystem(id=f"{at}/system", content=call.prompt.system, source="input"))
    about = {"attempt": at.attempt, "question": call.question}
    return [
        *texts,
        ChatMessageUser(id=f"{at}/prompt", content=call.prompt.turn, source="input", metadata=about),
    ]


def _output(call: Call) -> ModelOutput:
    """Return what came back of a call: at most one answer."""
    reply = call.reply
    answer = ChatMessageAssistant(
        id=f"{call.address}/answer",
        content=[_reasoning(reply), ContentText(text=reply.text)] if reply.reasoning else reply.text,
        source="generate",
        model=reply.model,
        metadata={
            "attempt": call.address.attempt,
            "outcome": call.outcome.value,
            "found_as": call.found_as.value,
            "reasoning_source": reply.reasoning_source.value,
            **reply.details._asdict(),
        },
    )
    choice = ChatCompletionChoice(message=answer, stop_reason=STOP_REASONS.get(call.outcome, "stop"))
    return ModelOutput(
        model=reply.model,
        choices=[choice] if reply.text or reply.reasoning else [],
        completion=reply.text,
        usage=_usage(call),
        time=reply.milliseconds / 1000,
        error=reply.error or None,
    )


def _reasoning(reply: Reply) -> ContentReasoning:
    """Return the reasoning of a reply; inspect has a field of its own for a provider's summary."""
    if reply.reasoning_source is ReasoningSource.SUMMARY:
        return ContentReasoning(reasoning="", summary=reply.reasoning)
    return ContentReasoning(reasoning=reply.reasoning)


def _usage(call: Call) -> ModelUsage | None:
    """Return the tokens of a call, None if the server did not count them."""
    counts = call.reply.tokens_in, call.reply.tokens_out
    if counts == (None, None):
        return None
    into, out = (count or 0 for count in counts)
    details = call.reply.details
    return ModelUsage(
        input_tokens=max(0, into - (details.tokens_cached or 0) - (details.tokens_cache_written or 0)),
        output_tokens=out,
        total_tokens=into + out,
        input_tokens_cache_read=details.tokens_cached,
        input_tokens_cache_write=details.tokens_cache_written,
        reasoning_tokens=details.tokens_reasoning,
        total_cost=details.provider_usd,
    )


def _total(used: Iterable[tuple[str, ModelUsage]]) -> dict[str, ModelUsage]:
    """Return the tokens of each model."""
    total: dict[str, ModelUsage] = {}
    for model, usage in used:
        total[model] = total.get(model, ModelUsage()) + usage
    return total


def _scores(run: Run, full: FullTurn | None, call: Call, card: Card) -> Iterator[tuple[str, Score]]:
    """Yield the scores of a sample by name."""
    agent = call.address.agent
    yield "outcome", Score(value=call.outcome.value, answer=call.reply.text, explanation=_why(call))
    for name in ("drops", "mends") if card else ():
        codes = Counter(found["code"] for found in card[name])
        listed = "\n".join(f"{code}: {n}" for code, n in codes.items())
        yield name, Score(value=codes.total(), explanation=listed or "none")
    if card and full and full.played and agent != OBSERVER:
        owner = run.world.owner(full.played.before, agent)
        score = run.world.scores(full.played.after)[owner]
        yield "score", Score(value=score, explanation=f"the score of {owner} after the turn")


def _why(call: Call) -> str:
    """Return why a call ended as it did."""
    return call.reply.error or {**READING_CODES, **FAILURE_CODES}.get(f"read/{call.outcome}", "")


def _over_samples(samples: Sequence[EvalSample]) -> Iterator[EvalScore]:
    """Yield the figures of all samples together."""
    values: dict[str, list[Any]] = {"outcome": [], "drops": [], "mends": [], "score": []}
    for sample in samples:
        for name, score in (sample.scores or {}).items():
            values[name].append(score.value)
    for name, of_samples in values.items():
        n = len(of_samples)
        figures: dict[str, float] = {}
        if n and name == "outcome":
            figures = {
                "failed": sum(sample.error is not None for sample in samples) / n,
                **Counter(of_samples),
            }
        elif n:
            figures = {"mean": sum(of_samples) / n}
        yield EvalScore(
            name=name,
            scorer=name,
            scored_samples=n,
            unscored_samples=len(samples) - n,
            metrics={metric: EvalMetric(name=metric, value=value) for metric, value in figures.items()},
        )


def _error(message: str) -> EvalError:
    """Return an error that has no traceback."""
    return EvalError(message=message, traceback="", traceback_ansi="")
