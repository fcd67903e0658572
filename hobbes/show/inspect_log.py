"""`hobbes export --format inspect`: a run as a log that `inspect view` opens.

Each agent of a run is a sample, and so is its observer. docs/inspect.md says what a sample has.
This module needs inspect-ai, which is optional.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from inspect_ai import log, model, scorer

from hobbes.engine.answer import DECISIONS, FAILURE_CODES, READING_CODES, Outcome
from hobbes.engine.world import OBSERVER
from hobbes.nodes.journal import Call, ReasoningSource, Reply
from hobbes.nodes.reading import deciding
from hobbes.show.terminal import export_bar
from hobbes.show.trace import Card, agent_card, full_turn
from hobbes.store.history import state_before
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

STATUSES: Mapping[str, log.EvalStatus] = {"finished": "success", "halted": "error"}
"""What inspect calls the status of a run. Any other run is one that has started."""

STOP_REASONS: Mapping[Outcome, Literal["max_tokens", "content_filter"]] = {
    Outcome.TRUNCATED: "max_tokens",
    Outcome.REFUSED: "content_filter",
}
"""Why an answer ended, in inspect's words. Any other answer ended by itself."""

CARD = ("view", "drops", "mends", "events", "memory_before", "memory_after")
"""What a sample has of the card of its turn, besides what was decided."""


class SampleTurn(NamedTuple):
    """A turn in a sample: what an agent was asked in it, and its card."""

    calls: Sequence[Call]
    call: Call
    """The one that counts, or else the last one."""
    card: Card
    """Empty for a turn that has not ended."""

    @property
    def failed(self) -> bool:
        """Whether the call failed, so that the default action was taken."""
        return self.call.outcome not in DECISIONS


def write(store: Store, run: Run, path: Path) -> int:
    """Write a run into a new log, and return the number of its samples."""
    turns: dict[str, list[SampleTurn]] = {}
    with export_bar(range(run.turns + 1)) as numbers:
        for agent, turn in _turns(store, run, numbers):
            turns.setdefault(agent, []).append(turn)
    log.write_eval_log(_log(store, run, turns), path, "eval")
    return len(turns)


def _turns(store: Store, run: Run, numbers: Iterable[int]) -> Iterator[tuple[str, SampleTurn]]:
    """Yield the turns of all agents, turn by turn; the last turn may not have ended."""
    for number in numbers:
        full = full_turn(store, run, number) if number < run.turns else None
        for agent, calls in store.calls.attempts(run.id, number).items():
            card: Card = {}
            if full and (agent == OBSERVER or agent in full.turn.record.intents):
                card = agent_card(store, run, number, agent, full)
            yield agent, SampleTurn(calls, deciding(calls) or calls[-1], card)


def _log(store: Store, run: Run, turns: Mapping[str, Sequence[SampleTurn]]) -> log.EvalLog:
    last = state_before(store, run, run.turns) if run.turns else None
    samples = [_sample(run, agent, of_agent, last) for agent, of_agent in turns.items()]
    used = [
        turn for of_agent in turns.values() for turn in of_agent if turn.call.address.turn >= run.forked_at
    ]
    about, result = store.figures.about(run.id), store.figures.result(run)
    return log.EvalLog(
        status=STATUSES.get(run.status, "started"),
        eval=log.EvalSpec(
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
            dataset=log.EvalDataset(name=run.label, samples=len(samples)),
            model=",".join(f"{spec}*{n}" for spec, n in Counter(run.models.values()).items()),
            config=log.EvalConfig(),
            packages={"hobbes": run.versions.hobbes},
            metadata={**about, **result},
        ),
        results=log.EvalResults(
            total_samples=len(samples),
            completed_samples=len(samples),
            metadata={"measures": store.figures.measures(run.id)},
        ),
        stats=log.EvalStats(
            started_at=about["started"], completed_at=about["ended"] or "", model_usage=_total(used)
        ),
        error=log.EvalError(message=result["halted"], traceback="", traceback_ansi="")
        if result["halted"]
        else None,
        samples=samples,
    )


def _sample(run: Run, agent: str, turns: Sequence[SampleTurn], last: Any) -> log.EvalSample:  # noqa: ANN401  a world's own state
    """Return the turns of an agent. `last` is the state after the last turn; None if none has ended."""
    first = turns[0].calls[0]
    return log.EvalSample(
        id=agent,
        uuid=f"{run.id}-{agent}",
        epoch=1,
        input=_question(run, first, system=True),
        target="",
        messages=[
            message
            for turn in turns
            for call in turn.calls
            for message in _messages(run, call, system=call is first)
        ],
        output=_output(run, turns[-1].call),
        scores=_scores(run, agent, turns, last),
        metadata={
            "run": run.label,
            "agent": agent,
            "player": run.models.get(agent) or turns[-1].call.reply.player,
            "turns": [_about(turn) for turn in turns],
        },
        model_usage=_total(turns),
        total_time=sum(call.reply.milliseconds for turn in turns for call in turn.calls) / 1000,
    )


def _about(turn: SampleTurn) -> Card:
    """Return what is known of a turn besides its messages."""
    call, card = turn.call, turn.card
    lost = call.reply.error or {**READING_CODES, **FAILURE_CODES}.get(f"read/{call.outcome}", "")
    decided: Card = {name: card[name] for name in ("intent", "rulings") if name in card}
    if turn.failed:
        decided = {f"default_{name}": default for name, default in decided.items()}
    return {
        "turn": call.address.turn,
        "attempt": call.address.attempt,
        "outcome": call.outcome.value,
        **({"why": lost} if turn.failed else {}),
        **decided,
        **{name: card[name] for name in CARD if name in card},
    }


def _messages(run: Run, call: Call, *, system: bool) -> list[model.ChatMessage]:
    return [*_question(run, call, system=system), *(choice.message for choice in _output(run, call).choices)]


def _question(run: Run, call: Call, *, system: bool) -> list[model.ChatMessage]:
    """Return the texts that were sent; the system text only where that is asked for, as it stays the same."""
    at = f"{run.id}/{call.address}"
    texts: list[model.ChatMessage] = []
    if system and call.prompt.system:
        texts.append(model.ChatMessageSystem(id=f"{at}/system", content=call.prompt.system, source="input"))
    about = {"turn": call.address.turn, "attempt": call.address.attempt, "question": call.question}
    return [
        *texts,
        model.ChatMessageUser(id=f"{at}/prompt", content=call.prompt.turn, source="input", metadata=about),
    ]


def _output(run: Run, call: Call) -> model.ModelOutput:
    """Return what came back of a call: at most one answer."""
    reply = call.reply
    answer = model.ChatMessageAssistant(
        id=f"{run.id}/{call.address}/answer",
        content=[_reasoning(reply), model.ContentText(text=reply.text)] if reply.reasoning else reply.text,
        source="generate",
        model=reply.model,
        metadata={
            "turn": call.address.turn,
            "attempt": call.address.attempt,
            "outcome": call.outcome.value,
            "found_as": call.found_as.value,
            "reasoning_source": reply.reasoning_source.value,
            **reply.details._asdict(),
        },
    )
    choice = model.ChatCompletionChoice(message=answer, stop_reason=STOP_REASONS.get(call.outcome, "stop"))
    return model.ModelOutput(
        model=reply.model,
        choices=[choice] if reply.text or reply.reasoning else [],
        completion=reply.text,
        usage=_usage(call),
        time=reply.milliseconds / 1000,
        error=reply.error or None,
    )


def _reasoning(reply: Reply) -> model.ContentReasoning:
    """Return the reasoning of a reply; inspect has a field of its own for a provider's summary."""
    if reply.reasoning_source is ReasoningSource.SUMMARY:
        return model.ContentReasoning(reasoning="", summary=reply.reasoning)
    return model.ContentReasoning(reasoning=reply.reasoning)


def _usage(call: Call) -> model.ModelUsage | None:
    """Return the tokens of a call, None if the server did not count them."""
    counts = call.reply.tokens_in, call.reply.tokens_out
    if counts == (None, None):
        return None
    into, out = (count or 0 for count in counts)
    details = call.reply.details
    return model.ModelUsage(
        input_tokens=max(0, into - (details.tokens_cached or 0) - (details.tokens_cache_written or 0)),
        output_tokens=out,
        total_tokens=into + out,
        input_tokens_cache_read=details.tokens_cached,
        input_tokens_cache_write=details.tokens_cache_written,
        reasoning_tokens=details.tokens_reasoning,
        total_cost=details.provider_usd,
    )


def _total(turns: Iterable[SampleTurn]) -> dict[str, model.ModelUsage]:
    """Return the tokens of each model in all calls of some turns."""
    total: dict[str, model.ModelUsage] = {}
    for call in (call for turn in turns for call in turn.calls):
        if used := _usage(call):
            total[call.reply.model] = total.get(call.reply.model, model.ModelUsage()) + used
    return total


def _scores(run: Run, agent: str, turns: Sequence[SampleTurn], last: Any) -> dict[str, scorer.Score]:  # noqa: ANN401  a world's own state
    """Return the scores of a sample by name, that of the agent first: tools take the first one.

    An observer has none of its own. Without a completed turn there are none at all.
    """
    ended = [turn for turn in turns if turn.card]
    if not ended:
        return {}
    scores = {}
    if agent != OBSERVER:
        owner = run.world.owner(last, agent)
        about = f"the {run.world.measures.score} of {owner} after the last turn"
        scores["score"] = scorer.Score(value=run.world.scores(last).get(owner), explanation=about)
    outcomes = Counter(turn.call.outcome.value for turn in turns if turn.failed)
    scores["failed"] = _score_of(outcomes)
    for name in ("drops", "mends"):
        scores[name] = _score_of(Counter(found["code"] for turn in ended for found in turn.card[name]))
    return scores


def _score_of(codes: Counter[str]) -> scorer.Score:
    """Return how many there were as a score, explained by how many of each kind."""
    return scorer.Score(
        value=codes.total(), explanation="\n".join(f"{code}: {n}" for code, n in codes.items()) or "none"
    )
