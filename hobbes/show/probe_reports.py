"""A probe for people: in the terminal, as Markdown, and as pages. All three show one document.

A row of its table is a situation, a column a prompt or a model. A cell leads to its answers, beside those of
the column that it is compared with.
"""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from hobbes.engine.memory import reason
from hobbes.engine.telling import counted, quoted
from hobbes.engine.turn import meanings
from hobbes.errors import MissingError
from hobbes.probe.probe_plan import RECORDED
from hobbes.probe.sentences import points, sentences, situation_in_words
from hobbes.probe.table import Answer, CellAnswers, ColumnResult, ProbeResult, read_probe
from hobbes.prove.word_diff import word_diff
from hobbes.show.answer_table import INKS
from hobbes.show.charts import draw_share, type_share
from hobbes.show.documents import Cell, Document, Line, Link, Picture, Section, shorten
from hobbes.show.terminal import OUT, next_step, print_json, say
from hobbes.show.trace import MAX_SHOWN, Pieces
from hobbes.store.home import Store

IN_TABLE, IN_ANSWER = 100, 600
"""How many characters of a reasoning are quoted."""

OF_TABLE = (
    "A bar is filled by the share of the answers that have the act. Where the column it is compared with has "
    "another, a line marks that, and the number is the change in points. Blue is more than there, orange "
    f"(in a terminal, red) less, grey as much. {RECORDED}: the prompt of the run. The rows in which an act "
    "changes most come first. Quoted is the reasoning of the first answer."
)


def document(result: ProbeResult, link: Callable[..., str] | None = None) -> Document:
    """Return a probe for people. With `link`, situations lead to their cards, and cells to their answers."""
    told = result.with_short_names()
    names = [one.column.name for one in told.columns]
    reworded = {one.column.name for one in told.columns if one.column.paraphrase}
    sections = [Section("What was found", [*_answerers(told), *sentences(told)])]
    order = by_change(told)
    if diffs := [diff for name in names if name not in reworded for diff in _changed(told, name, order[0])]:
        sections.append(Section("What was changed", diffs=diffs))
    rows = [[*_row(told, number, link)] for number in order]
    to = partial(link, "probes", told.name, situation=order[0]) if link else None
    short = result.short_names.items()
    heads = [Link(one, to(column=one), title=full) if to else one for full, one in short]
    sections.append(Section("Situations", [OF_TABLE], ("situation", *heads), rows))
    sections.append(Section("Each column", [_costs(one) for one in told.columns]))
    return Document(f"{told.name}, a probe of {told.world.name}", sections)


def _answerers(told: ProbeResult) -> Iterator[str]:
    """Yield who answered, and what people have to know about the answers."""
    answers = (one for cell in told.cells.values() for one in cell.answers if one.acts is not None)
    if players := {one.call.reply.player for one in answers}:
        yield f"Answered by {', '.join(sorted(players))}."
    yield from dict.fromkeys(one.column.about for one in told.columns if one.column.about)


def by_change(told: ProbeResult) -> list[int]:
    """Return the numbers of the situations, that one first in which an act changes most."""
    return sorted(range(1, len(told.situations) + 1), key=lambda n: -told.most_changed(n)[0])


def _costs(one: ColumnResult) -> str:
    """Return what a column cost, and what became of its calls."""
    tokens, usd = one.spent.tokens, one.spent.usd
    cost = f"tokens {'unknown' if tokens is None else f'{tokens:,}'}, "
    cost += f"dollars {'unknown' if usd is None else f'{usd:,.4f}'}"
    ended = f"failures: {_counts(one.failures)}; rejections: {_counts(one.rejections)}"
    return f"{one.column.name}: {counted(one.answers, 'answer')}; {ended}; {cost}."


def _row(told: ProbeResult, number: int, link: Callable[..., str] | None) -> Iterator[Cell]:
    """Yield the cells of a row: its situation, with what the agent did in the run, then each column's."""
    at, recorded = told.situations[number - 1], told.recorded[number - 1]
    card = Link(f"{number}, turn {at.turn}:", link(at.run, at.turn, at.agent) if link else "")
    situation: list[Line] = [[card, situation_in_words(told, number)]]
    if recorded is not None:
        situation.append([f"In the run ({at.run}): {', '.join(recorded) or 'no act'}."])
    if link and at.turn > 0:
        board = link(at.run, f"{at.turn - 1}.svg", part="plane")
        situation += [[f"The board before turn {at.turn}:"], [Link("the board", board, shown=True)]]
    yield situation
    changes = told.changes(number)
    size = {act: max((abs(of.get(act, 0)) for of in changes.values()), default=0) for act in told.acts}
    acts = sorted(told.acts, key=size.__getitem__, reverse=True)
    cells = {one.column.name: told.cell(number, one.column.name) for one in told.columns}
    there = [act for act in acts if any(cell.having(act) for cell in cells.values())]
    for name, cell in cells.items():
        address = link("probes", told.name, situation=number, column=name) if link else ""
        yield [*_cell(cell, there, changes.get(name, {})), *([[Link("answers", address)]] if link else [])]


def _cell(cell: CellAnswers, acts: Sequence[str], changes: Mapping[str, float]) -> Iterator[Line]:
    """Yield the lines of a cell: a bar for each act, what failed, and the reasoning of the first answer."""
    for act, share in cell.shares(acts).items():
        change = changes.get(act, 0.0)
        ink = INKS["good" if change > 0 else "bad" if change else "even"]
        draw = partial(draw_share, share, change, ink)
        bar = Picture(f"{share:.0%}", draw, characters=type_share(share, change))
        words = f"{act} {cell.having(act)}/{cell.decisions}"
        yield [bar, f"{words} {points(change)}" if change else words]
    if not acts:
        yield ["no act"]
    if failed := len(cell.answers) - cell.decisions:
        yield [f"{failed} failed"]
    if why := next((one.why for one in cell.answers if one.acts is not None and one.why), ""):
        yield [_quoted(why, IN_TABLE)]


def _changed(told: ProbeResult, column: str, situation: int) -> list[tuple[str, Pieces]]:
    """Return how the prompt of a column differs from that which it is compared with, if it does."""
    against = told.against(told.column(column))
    both = [told.cell(situation, name).answers for name in (against, column) if name]
    if against is None or not all(both):
        return []
    pieces = word_diff(*("\n\n".join(answers[0].call.prompt) for answers in both))
    return [(f"The prompt of {column}, from that of {against}:", shorten(pieces))] if pieces else []


def _counts(counts: Mapping[str, int]) -> str:
    """Return how often each thing occurred."""
    return ", ".join(f"{name} {n}" for name, n in counts.items()) or "none"


def document_of_answers(
    result: ProbeResult, situation: int, column: str, number: int | None = None
) -> Document:
    """Return the answers of a cell beside those it is compared with, below the words that differ.

    With a number, it is only this answer, whose reasoning is whole.
    """
    told, column = result.with_short_names(), result.short_names[result.column(column).name]
    at, names = told.situations[situation - 1], [told.against(told.column(column)), column]
    sections = [Section("Situation", [situation_in_words(told, situation)])]
    if diffs := _changed(told, column, situation):
        sections.append(Section("What was changed", diffs=diffs))
    by_number = [{one.number: one for one in told.cell(situation, name).answers} for name in names if name]
    most = MAX_SHOWN if number else IN_ANSWER
    rows: list[list[Cell]] = [
        [str(n), *([*_answer(told, of[n], most)] if n in of else "-" for of in by_number)]
        for n in ([number] if number else range(1, told.times + 1))
    ]
    sections.append(Section("Answers", (), ("answer", *filter(None, names)), rows))
    title = f"{told.name}, situation {situation}: {at.run}, turn {at.turn}, {at.agent}"
    return Document(title, sections)


def _answer(told: ProbeResult, one: Answer, most: int) -> Iterator[Line]:
    """Yield an answer in words: its acts, its reasoning, what the rules accept of it, and what not."""
    if one.acts is None:
        yield [f"failed, {one.call.outcome}: {one.call.reply.error or _quoted(one.call.reply.text, most)}"]
        return
    yield [", ".join(one.acts) or "no act"]
    if one.why:
        yield [_quoted(one.why, most)]
    yield ["; ".join(told.world.telling.meant(one.intent))]
    if one.drops:
        known = meanings(told.world)
        yield [f"Rejected: {'; '.join(reason(known, drop.code, drop.detail) for drop in one.drops)}"]


def _quoted(text: str, most: int) -> str:
    """Return at most so many characters of what was said, in quotation marks."""
    return quoted(textwrap.shorten(text, most, placeholder="…"))


def _numbered(told: ProbeResult, situation: int, column: str, number: int | None) -> tuple[Answer, ...]:
    """Return the answers of a cell, or the one with a number; raise MissingError if that is unknown."""
    every = told.cell(situation, column).answers
    found = tuple(one for one in every if number in {None, one.number})
    if number is not None and not found:
        numbers = ", ".join(str(one.number) for one in every) or "none"
        raise MissingError(f"this cell has no answer {number}; its answers: {numbers}")
    return found


def show_probe(store: Store, name: str, *, as_json: bool, markdown: bool = False) -> ProbeResult:
    """Print what a probe says, and return it."""
    result = read_probe(store, name)
    if as_json:
        print_json(result.to_json())
    elif markdown:
        say(document(result).markdown())
    else:
        OUT.print(document(result))
        next_step(store.command("probe", "show", name, by_change(result)[0]))
    return result


def show_answers(  # noqa: PLR0913  which answers, and how
    store: Store, name: str, situation: str, column: str | None, answer: int | None, *, as_json: bool
) -> None:
    """Print the answers of a cell, or the one with a number and the command that plays on from it."""
    told = read_probe(store, name)
    number = told.number(situation)
    shown = told.short_names[told.column(column or told.most_changed(number)[1]).name]
    if as_json:
        print_json(told_cell(store, told, number, shown, answer))
        return
    more = store.command("probe", "show", name, number, shown, 1)
    if answer is not None:
        (one,) = _numbered(told, number, shown, answer)
        more = " ".join(play_on(store, told, number, one).split())
    OUT.print(document_of_answers(told, number, shown, answer))
    against = told.against(told.column(shown))
    others = [short for full, short in told.short_names.items() if full != against and short != shown]
    if column is None and against and others:
        commands = [store.command("probe", "show", name, number, one) for one in others]
        say("\n".join([f"Beside {told.short_names[against]} stands {shown}. For the others:", *commands]))
    if more:
        next_step(more)


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
        "column": told.column(column).name,
        "answers": [{**one.to_json(), "play_on": play_on(store, told, situation, one)} for one in answers],
    }
