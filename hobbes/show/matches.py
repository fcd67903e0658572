"""`hobbes trace --event --agent --grep`: search the events, answers and reasoning of a run."""

import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hobbes.engine.names import did_you_mean
from hobbes.engine.record import MESSAGE, JsonObject, canonical
from hobbes.errors import UsageError
from hobbes.nodes.journal import ReasoningSource
from hobbes.show.trace import check_names, names_in, turns_so_far
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

CONTEXT = 60
"""How many characters are shown before and after a match."""


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for in a run."""

    events: Collection[str]
    """Types of events; all if empty."""
    agents: Collection[str]
    """Names of agents; all if empty."""
    pattern: re.Pattern[str] | None
    """What texts must match; None if any text will do."""


def search_for(
    store: Store, run: Run, events: Collection[str], agents: Collection[str], grep: str | None
) -> Search:
    """Return a search; raise UsageError if the run cannot have what it asks for."""
    declared = run.world.telling.events
    for event in events if declared else ():
        if event not in declared:
            there = did_you_mean(event, declared, f"it has: {', '.join(declared)}")
            raise UsageError(f"--event: {run.world.name} has no events of the type {event!r}{there}")
    check_names(run, names_in(store, run) if agents else (), agents)
    return Search(events, agents, None if grep is None else _compile(grep))


def _compile(grep: str) -> re.Pattern[str]:
    """Compile a pattern; raise UsageError if it is not valid, or could mean something else to grep."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            return re.compile(grep, re.MULTILINE)  # grep reads line by line
    except (re.error, OverflowError, RecursionError, FutureWarning) as error:
        raise UsageError(f"--grep: {grep!r} is not a valid regular expression: {error}") from error


def search_run(store: Store, run: Run, search: Search) -> Iterator[dict[str, Any]]:
    """Yield each match with its turn, agent and place (`found_in`), and its event or an excerpt of its text.

    If the search names no type of event, it covers answers and reasoning, too.
    """
    for number, record, *_ in turns_so_far(store, run, search.agents):
        if search.pattern is not None and not search.events:
            yield from _in_texts(store, run, number, record.intents if record else {}, search)
        for event in record.events if record else ():
            if search.events and event.type not in search.events:
                continue
            fields = event.to_json()
            found_in = "message" if event.type == MESSAGE else "event"
            if search.pattern is None or search.pattern.search(_searched_line(fields)):
                yield {"turn": number, "agent": event.agent, "found_in": found_in, "event": fields}


def _in_texts(
    store: Store, run: Run, turn: int, intents: Mapping[str, Any], search: Search
) -> Iterator[dict[str, Any]]:
    """Yield the first match in each agent's reasoning or answer of a turn."""
    for agent, answer, reasoning, source in store.calls.answers(run.id, turn):
        if search.agents and agent not in search.agents:
            continue
        reflection = intents.get(agent, {}).get("reflection", {})
        texts = (
            ("reasoning", source, reasoning),
            ("reasoning", ReasoningSource.ANSWER, reflection.get("reasoning", "")),
            ("answer", None, answer),
        )
        for found_in, text_source, text in texts:
            if search.pattern and (match := search.pattern.search(text)):
                place = {"turn": turn, "agent": agent, "found_in": found_in, "source": text_source}
                yield {**place, "text": _excerpt(match)}
                break  # the reasoning is often a part of the answer


def _searched_line(event: JsonObject) -> str:
    """Return an event as the line that is searched."""
    texts = (value if isinstance(value, str) else canonical(value) for value in event.values())
    return " ".join(texts)


def _excerpt(match: re.Match[str]) -> str:
    """Return a match with the text around it."""
    start, end = match.start() - CONTEXT, match.end() + CONTEXT
    excerpt = match.string[max(start, 0) : end]
    return f"{'…' * (start > 0)}{excerpt}{'…' * (end < len(match.string))}"
