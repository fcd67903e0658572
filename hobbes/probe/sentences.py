"""A probe in words: what was found, what a situation was, what asking costs."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hobbes.engine.telling import counted
from hobbes.engine.turn import view_of
from hobbes.experiment.cost_estimate import Estimate
from hobbes.experiment.statistics import ALPHA
from hobbes.nodes.players import is_stand_in
from hobbes.probe.column_comparison import MIN_SITUATIONS
from hobbes.probe.paraphrases import sentences_on_wordings
from hobbes.probe.probe_plan import NOTHING_COMPARED, Plan
from hobbes.probe.table import Difference, ProbeResult

MAX_BEFELL = 2
"""Of how many things that others did to an agent a situation tells, those first that were against it."""


def sentences(told: ProbeResult) -> Iterator[str]:
    """Yield what a probe found, in words: first what failed."""
    if told.failed:
        outcomes = Counter(str(one.call.outcome) for one in told.failed)
        ended = ", ".join(f"{outcome} {n}" for outcome, n in outcomes.items())
        error = next((one.call.reply.error for one in told.failed if one.call.reply.error), "")
        calls = counted(sum(one.answers for one in told.columns), "call")
        yield (
            f"{len(told.failed)} of {calls} failed ({ended}). A failed call is no decision."
            f"{f' The first error: {error}' if error else ''}"
        )
    if not told.acts:
        yield "No answer has an act that is counted."
        return
    for column in (one.column for one in told.columns):
        found = [one for one in told.differences if one.column == column.name and one.is_found]
        yield from map(difference_in_words, found)
        if (against := told.against(column)) and not found:
            why = f" (no p below {ALPHA})"
            if needed := told.answers_needed(column, against):
                why = f": the test needs {needed} answers or more in each cell (--times {needed})"
            yield f"{column.name}: no difference from {against} was found{why}."
    yield from sentences_on_wordings(told)
    players = (one.call.reply.player for cell in told.cells.values() for one in cell.answers)
    if len(told.columns) > 1 and any(map(is_stand_in, players)):
        yield (
            "The models of the stand-in server read no words, except that policy/obedient obeys two "
            "sentences (docs/start.md); any other difference between prompts of one of them is chance."
        )
    if len(told.columns) == 1:
        yield f"There is only the column {told.columns[0].column.name}, so {NOTHING_COMPARED}."


def difference_in_words(one: Difference) -> str:
    """Return a difference that was found, and in a second sentence what holds for other situations."""
    difference = one.difference
    p = f"{one.p_holm:.3f}" if one.p_holm >= 0.001 else "< 0.001"  # noqa: PLR2004  as papers have it
    within = f"{points(difference.low)} to {points(difference.high)}"
    if one.situations < MIN_SITUATIONS:
        others = f"{one.situations} are too few to say; over their answers, the 95% interval is {within}"
    elif difference.low > 0 or difference.high < 0:
        others = f"the 95% interval is {within}"
    else:
        others = f"it is not shown: the 95% interval is {within}"
    return (
        f"{one.column}: {one.act} in {one.now:.0%} of the answers, against {one.before:.0%} in the "
        f"column {one.against}: {points(difference.mean)} points in these situations (p {p}, Holm). For "
        f"other situations of this kind, {others}."
    )


def points(share: float) -> str:
    """Return a difference of shares in percentage points."""
    return f"{round(100 * share):+d}"


def situation_in_words(told: ProbeResult, number: int) -> str:
    """Return what an agent was in: what it had, and what others had done to it, in one sentence."""
    at, where, world = told.situations[number - 1], told.places[number - 1], told.world
    knew = world.telling.knew(view_of(world, where.state, where.memories, at.agent))
    befell = [f"{one.by} {one.words}" for one in sorted(knew.befell or (), key=lambda one: not one.harm)]
    rest = [f"and {len(befell) - MAX_BEFELL} more"] if len(befell) > MAX_BEFELL else []
    has = f"{at.agent} has {knew.has}" if knew.has else at.agent
    return "; ".join([has, *befell[:MAX_BEFELL], *rest]) + (f" ({at.note})" if at.note else "")


def plan_in_words(planned: Plan, cost: Estimate) -> str:
    """Return what a probe asks now and what that will cost, in one line."""
    cells = len(planned.cells)
    out = "unknown" if cost.tokens_out is None else f"{cost.tokens_out:,}"
    usd = "unknown" if cost.usd is None else f"{cost.usd:,.2f}"
    words = [f"{counted(cells, 'cell')}, {counted(cost.calls, 'answer')} to ask"]
    words += [f"about {cost.tokens_in:,} tokens in, {out} out; dollars: {usd}"] if cost.calls else []
    words += [f"{there:,} are there already"] if (there := cells * planned.times - cost.calls) else []
    return "; ".join([*words, *planned.notes])


def plan_json(planned: Plan, cost: Estimate) -> dict[str, Any]:
    """Return what a probe asks now and what that will cost, as plain JSON."""
    return {
        "probe": planned.name,
        "cells": len(planned.cells),
        "calls": cost.calls,
        "tokens": {"in": cost.tokens_in, "out": cost.tokens_out},
        "usd": cost.usd,
        "notes": planned.notes,
    }
