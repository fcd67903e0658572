"""A probe for people: in the terminal, as Markdown, and as pages."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hobbes.engine.memory import reason
from hobbes.engine.telling import counted
from hobbes.engine.turn import meanings
from hobbes.errors import MissingError
from hobbes.experiment.statistics import ALPHA
from hobbes.probe.column_comparison import MIN_SITUATIONS
from hobbes.probe.paraphrases import sentences_on_wordings
from hobbes.probe.probe_plan import NOTHING_COMPARED, RECORDED, Cost, Plan
from hobbes.probe.table import Answer, ColumnResult, Difference, ProbeResult, read_probe
from hobbes.prove.word_diff import word_diff
from hobbes.show.documents import Cell, Document, Link, Section, printed, shorten
from hobbes.show.terminal import OUT, next_step, print_json
from hobbes.show.trace import Pieces, beginning
from hobbes.store.home import Store

MARK = "●"
"""Stands beside an act that the decision in the game has."""

ANY_ACT = "any act"
"""Stands for the acts of a situation in which none occurs."""


OF_CELLS = (
    "A cell says in how many of its decisions the act occurs; before the arrow, in how many of the column "
    f"that it is compared with. {RECORDED}: with the prompt of the game. {MARK}: the decision in the game "
    "has the act."
)

OF_DIFFERENCES = (
    "Shares are means over the situations. An interval is over situations and answers: other situations of "
    f"their kind would differ. With fewer than {MIN_SITUATIONS} situations it is over the answers alone. "
    "p is that of an exact test within situations (Cochran, Mantel and Haenszel, mid-p). Holm's method "
    "corrects it for the number of rows; a difference is found if p (Holm) is below "
    f"{ALPHA}. An act that in each situation all answers have, or none, cannot differ: it has no row."
)

DIFFERENCES = ("column", "against", "act", "situations", "before", "now", "difference", "95% interval")


def document(told: ProbeResult, link: Callable[..., str] | None = None) -> Document:
    """Return a probe for people. With `link`, situations lead to their cards, and cells to their answers."""
    return Document(f"{told.name}, a probe of {told.world.name}", [*sections(told, link)])


def sections(told: ProbeResult, link: Callable[..., str] | None = None) -> Iterator[Section]:
    """Yield the parts of a probe."""
    names = [one.column.name for one in told.columns]
    yield Section("What was found", list(sentences(told)))
    if diffs := list(_changes(told)):
        yield Section("What was changed", diffs=diffs)
    yield Section("Situations", [OF_CELLS], ("situation", "act", *names), list(_rows(told, link)))
    rows = [_difference(one) for one in told.differences]
    if rows:
        yield Section("Differences", [OF_DIFFERENCES], (*DIFFERENCES, "p", "p (Holm)"), rows)
    columns = ("column", "answers", "failures", "rejections", "calls", "tokens", "dollars")
    yield Section("Each column", (), columns, [_costs(one) for one in told.columns])


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
    for column in (one.column for one in told.columns if told.against(one.column)):
        found = [one for one in told.differences if one.column == column.name and one.is_found]
        yield from map(difference_in_words, found)
        if not found:
            rows = any(one.column == column.name for one in told.differences)
            why = f": no p (Holm) is below {ALPHA}" * rows
            yield f"{column.name}: no difference from {told.against(column)} was found{why}."
    yield from sentences_on_wordings(told)
    if any(told.is_chance(one.column) for one in told.columns):
        yield (
            "The models of the stand-in server read no words, so differences between prompts of one of them "
            "are chance."
        )
    if len(told.columns) == 1:
        yield f"There is only the column {told.columns[0].column.name}, so {NOTHING_COMPARED}."


def difference_in_words(one: Difference) -> str:
    """Return a difference that was found, and whether it is shown for other situations of the kind."""
    difference, many = one.difference, one.situations >= MIN_SITUATIONS
    is_shown = many and (difference.low > 0 or difference.high < 0)
    p, others = p_in_words(one.p_holm), "" if is_shown else "; not shown for others"
    over = "situations of this kind" if many else "the answers"
    return (
        f"{one.column}: {one.act} in {one.now:.0%} of the answers, against {one.before:.0%} in "
        f"{one.against}. {points(difference.mean)} points in these situations (p {p}, Holm){others}. The "
        f"95% interval over {over} is {points(difference.low)} to {points(difference.high)}."
    )


def points(share: float) -> str:
    """Return a difference of shares in percentage points."""
    return f"{round(100 * share):+d}"


def p_in_words(p: float) -> str:
    """Return a p for people."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"  # noqa: PLR2004  as papers have it


def _difference(one: Difference) -> tuple[str, ...]:
    """Return the cells of a difference."""
    return (
        *(one.column, one.against, one.act, str(one.situations)),
        *(f"{one.before:.0%}", f"{one.now:.0%}", points(one.difference.mean)),
        f"{points(one.difference.low)} to {points(one.difference.high)}",
        *(p_in_words(one.p), p_in_words(one.p_holm)),
    )


def _costs(one: ColumnResult) -> tuple[str, ...]:
    """Return what a column cost, and what became of its calls."""
    tokens, usd = one.spent.tokens, one.spent.usd
    return (
        *(one.column.name, str(one.answers), _counts(one.failures), _counts(one.rejections)),
        *(str(one.spent.calls), "unknown" if tokens is None else f"{tokens:,}"),
        "unknown" if usd is None else f"{usd:,.4f}",
    )


def situation_in_words(told: ProbeResult, number: int) -> str:
    """Return a situation in words: its number, run, turn and agent, and its note."""
    one = told.situations[number - 1]
    note = f" ({one.note})" if one.note else ""
    return f"{number}: {one.run}, turn {one.turn}, {one.agent}{note}"


def _changes(told: ProbeResult) -> Iterator[tuple[str, Pieces]]:
    """Yield how the prompt of each column differs from that of the one it is compared with.

    They are those of the first situation that was asked in both columns.
    """
    for name, against in ((one.column.name, told.against(one.column)) for one in told.columns):
        for n in range(1, len(told.situations) + 1) if against else ():
            both = [told.cell(n, column).answers for column in (against or name, name)]
            if all(both):
                if pieces := word_diff(*("\n\n".join(answers[0].call.prompt) for answers in both)):
                    yield f"The prompt of {name}, from that of {against}:", shorten(pieces)
                break


def _rows(told: ProbeResult, link: Callable[..., str] | None) -> Iterator[tuple[Cell, ...]]:
    """Yield a row for each situation and act that occurs in it; one of `any act` if none does."""
    names = [one.column.name for one in told.columns]
    for n, situation in enumerate(told.situations, start=1):
        recorded, cells = told.recorded[n - 1] or (), [told.cell(n, name) for name in names]
        card = link(situation.run, situation.turn, situation.agent) if link else ""
        answers = [link("probes", told.name, situation=n, column=name) if link else "" for name in names]
        words: Cell = Link(situation_in_words(told, n), card)
        acts = [act for act in told.acts if act in recorded or any(cell.having(act) for cell in cells)]
        for act in acts or [ANY_ACT]:
            marked = f"{act} {MARK}" if act in recorded else act
            texts = [cell_in_words(told, n, name, act) for name in names]
            yield words, marked, *map(Link, texts, answers)
            words = ""


def cell_in_words(told: ProbeResult, situation: int, column: str, act: str) -> str:
    """Return in how many decisions of a cell an act occurs, with those of the column it is compared with."""
    of_column, cell = told.column(column), told.cell(situation, column)
    against = told.against(of_column)
    now = f"{cell.having(act)}/{cell.decisions}"
    if against is not None:
        before = told.cell(situation, against)
        now = f"{before.having(act)}/{before.decisions} → {now}"
    failed = len(cell.answers) - cell.decisions
    return f"{now}{f', {failed} failed' if failed else ''}"


def _counts(counts: Mapping[str, int]) -> str:
    """Return how often each thing occurred."""
    return ", ".join(f"{name} {n}" for name, n in counts.items()) or "none"


def document_of_cell(  # noqa: PLR0913  which answers, and how
    store: Store, told: ProbeResult, situation: int, column: str, number: int | None = None, *, commands: bool
) -> Document:
    """Return the answers of a cell, or the one with a number, with `commands` that play on from them."""
    sections = []
    for one in _numbered(told, situation, column, number):
        done = f"failed, {one.call.outcome}" if one.acts is None else ", ".join(one.acts) or "no act"
        parts = {
            "": beginning(one.call.reply.text) or one.call.reply.error,
            "By the rules: ": by_the_rules(told, one),
            "Reasoning: ": beginning(one.call.reply.reasoning),
            "Rejected: ": _rejections(told, one),
            "Play on from here: ": play_on(store, told, situation, one) if commands else "",
        }
        texts = [f"{name}{text}" for name, text in parts.items() if text]
        sections.append(Section(f"Answer {one.number}: {done}", texts))
    return Document(f"{told.name}, {column}, {situation_in_words(told, situation)}", sections)


def _numbered(told: ProbeResult, situation: int, column: str, number: int | None) -> tuple[Answer, ...]:
    """Return the answers of a cell, or the one with a number; raise MissingError if that is unknown."""
    every = told.cell(situation, column).answers
    found = tuple(one for one in every if number in {None, one.number})
    if number is not None and not found:
        numbers = ", ".join(str(one.number) for one in every) or "none"
        raise MissingError(f"this cell has no answer {number}; its answers: {numbers}")
    return found


def by_the_rules(told: ProbeResult, answer: Answer) -> str:
    """Return in words what the rules accept of an answer; empty for a failed call."""
    return "" if answer.acts is None else "; ".join(told.world.telling.meant(answer.intent))


def cost_in_words(cost: Cost) -> str:
    """Return what asking will cost, in one line."""
    out = "unknown" if cost.tokens_out is None else f"{cost.tokens_out:,}"
    usd = "unknown" if cost.usd is None else f"{cost.usd:,.2f}"
    tokens = f"; about {cost.tokens_in:,} tokens in, {out} out; dollars: {usd}"
    return f"{counted(cost.calls, 'answer')} to ask{tokens if cost.calls else ''}"


def plan_in_words(planned: Plan, cost: Cost) -> str:
    """Return what a probe asks now and what that will cost, in one line."""
    cells = len(planned.cells)
    there = cells * planned.times - cost.calls
    kept = [f"{there:,} are there already"] if there else []
    return "; ".join((f"{counted(cells, 'cell')}, {cost_in_words(cost)}", *kept, *planned.notes))


def plan_json(planned: Plan, cost: Cost) -> dict[str, Any]:
    """Return what a probe asks now and what that will cost, as plain JSON."""
    return {
        "probe": planned.name,
        "cells": len(planned.cells),
        "calls": cost.calls,
        "tokens": {"in": cost.tokens_in, "out": cost.tokens_out},
        "usd": cost.usd,
        "notes": planned.notes,
    }


def show_probe(store: Store, name: str, *, as_json: bool) -> ProbeResult:
    """Print what a probe says, and return it."""
    result = read_probe(store, name)
    if as_json:
        print_json(result.to_json())
    else:
        OUT.print(printed(document(result)))
        next_step(store.command("probe", "show", name, 1, result.columns[-1].column.name))
    return result


def show_answers(  # noqa: PLR0913  which answers, and how
    store: Store, name: str, situation: str, column: str, answer: int | None, *, as_json: bool
) -> None:
    """Print the answers of a cell, or the one with a number."""
    result = read_probe(store, name)
    number = result.number(situation)
    if as_json:
        print_json(told_cell(store, result, number, column, answer))
        return
    OUT.print(printed(document_of_cell(store, result, number, column, answer, commands=answer is not None)))
    if answer is None:
        next_step(store.command("probe", "show", name, number, column, 1))


def _rejections(told: ProbeResult, answer: Answer) -> str:
    """Return why parts of an answer were rejected, in words."""
    known = meanings(told.world)
    return "; ".join(reason(known, drop.code, drop.detail) for drop in answer.drops)


def play_on(store: Store, told: ProbeResult, situation: int, answer: Answer) -> str:
    """Return the command that forks the run with an answer; empty for a failed call."""
    if answer.acts is None:
        return ""
    at = told.situations[situation - 1]
    given = f"{at.agent}={answer.call.reply.text}"
    return store.command("fork", at.run, "--turn", at.turn, "--answer", given)


def told_cell(
    store: Store, told: ProbeResult, situation: int, column: str, number: int | None = None
) -> dict[str, Any]:
    """Return the answers of a cell, or the one with a number, as plain JSON."""
    answers = _numbered(told, situation, column, number)
    at = told.situations[situation - 1]
    return {
        "probe": told.name,
        "situation": situation,
        **at.model_dump(),
        "column": column,
        "answers": [{**one.to_json(), "play_on": play_on(store, told, situation, one)} for one in answers],
    }
