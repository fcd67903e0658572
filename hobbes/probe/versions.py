"""Versions of a prompt: people edit its files and ask again, and each version is a column of a probe."""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from hobbes.errors import HaltedRunError, UsageError
from hobbes.nodes.caps import Caps, Meter
from hobbes.nodes.journal import TURN_QUESTION, Prompt
from hobbes.probe.asker import asking, meter_of, missing
from hobbes.probe.probe_plan import NOTHING_COMPARED, RECORDED, Column, Plan, columns_kept, plan
from hobbes.probe.situations import ProbeFile
from hobbes.probe.table import ProbeResult, read_probe
from hobbes.store.home import Store
from hobbes.store.probe_tables import answers_of, kept_probe

Texts = Mapping[int, Prompt]
"""The prompt of a column in each situation, by its number."""


def plan_version(store: Store, asked: ProbeFile, caps: Caps) -> Plan:
    """Return the plan of a probe that may have been asked before, in other ways or about other texts.

    No text is asked about twice: a prompt with the texts of a column of the probe is that column, and one
    with the texts of the run itself gets no column. Any other prompt is a new column. Without `times`, each
    cell is asked as often as before.
    """
    before = kept_probe(store, asked.name) if asked.name else None
    times = asked.times or (before.times if before else None)
    planned = plan(store, asked.model_copy(update={"times": times}), caps)
    known = columns_kept(before) if before else {}
    asked_before: dict[str, dict[int, Prompt]] = {}
    for one in answers_of(store, before) if before else ():
        if one.call.question == TURN_QUESTION:
            asked_before.setdefault(one.column, {})[one.situation] = one.call.prompt
    versions: dict[str, Column] = {}
    notes: list[str] = []
    own: Texts = {}
    for column in planned.columns:
        texts = {cell.situation: cell.prompt for cell in planned.cells if cell.column == column.name}
        if column.is_recorded:
            own = texts
        elif texts == own and not column.settings:
            notes.append(f"{column.name} has the words of {RECORDED}, so it is not asked")
            continue
        taken = {version.name for version in versions.values()}
        version = _version(column, texts, known, asked_before, taken)
        versions[column.name] = version
        if known and version.name not in known:
            notes.append(f"new column: {version.name}")
        elif version.name != column.name:
            notes.append(f"{column.name} is the column {version.name}, which has these words")
    if len({*known, *versions}) == 1 and not notes:
        notes.append(NOTHING_COMPARED)
    merged = {**known, **{version.name: version for version in versions.values()}}
    cells = tuple(
        replace(cell, column=versions[cell.column].name) for cell in planned.cells if cell.column in versions
    )
    return replace(planned, columns=tuple(merged.values()), cells=cells, notes=tuple(notes))


def _version(
    column: Column,
    texts: Texts,
    known: Mapping[str, Column],
    asked_before: Mapping[str, Texts],
    taken: Collection[str],
) -> Column:
    """Return the column of the probe that asks the same, or else a new one with a name of its own."""
    for name, other in known.items():
        if name not in taken and _asks_the_same(column, texts, other, asked_before.get(name, {})):
            return other
    name = column.name
    if name in known and known[name].model != column.model:
        name += f" {column.model or 'own model'}"
    names = (name if n == 1 else f"{name} v{n}" for n in count(1))
    return replace(column, name=next(name for name in names if name not in {*known, *taken}))


def _asks_the_same(column: Column, texts: Texts, other: Column, before: Texts) -> bool:
    """Return whether a column of the probe is asked in the same way as another one, and with its texts."""
    if other != replace(column, name=other.name, prompts=other.prompts):
        return False
    if column.is_recorded or not before:
        return other.prompts == column.prompts
    return all(texts.get(situation) == prompt for situation, prompt in before.items())


class Tried(NamedTuple):
    """What a probe says after a version was asked about, and why that did not end, if it did not."""

    result: ProbeResult | None
    problem: str = ""


Watched = Callable[[Meter, int], AbstractContextManager[Callable[[], None]]]
"""Shows how the asking goes on: given the meter and the number of answers, yields what each answer calls."""


class Session:
    """Asks about one version after another, under caps that hold for all of them together.

    Raise UsageError if the files as they are now cannot be asked about.
    """

    def __init__(self, store: Store, asked: ProbeFile, caps: Caps, watched: Watched) -> None:
        self._store = store
        self._asked = asked
        self._caps = caps
        self._watched = watched
        self._last: ProbeResult | None = None
        self._meter = meter_of(plan_version(store, asked, caps), {}, caps)

    async def ask(self) -> Tried:
        """Ask about the files as they are now, and return what the probe says then."""
        store, caps = self._store, self._caps
        problem = ""
        try:
            planned = plan_version(store, self._asked, caps)
            with asking(store, planned, caps, self._meter) as asker:
                count = sum(missing(planned, asker.kept).values())
                with self._watched(self._meter, count) as on_answer:
                    await asker.ask_all(on_answer)
        except HaltedRunError as error:
            problem = str(error.__cause__)
        except UsageError as error:
            problem = str(error)
        self._last = self._result()
        return Tried(self._last, problem)

    def news(self) -> ProbeResult | None:
        """Return what the probe says now, None if it has said so already or if nothing was asked."""
        result = self._result()
        return None if result == self._last else result

    def _result(self) -> ProbeResult | None:
        name = self._asked.name or ""
        return read_probe(self._store, name) if kept_probe(self._store, name) else None
