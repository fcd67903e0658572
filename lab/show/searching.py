"""`hobbes trace --event --agent --grep`: what a run holds of something, turn by turn."""

import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from hobbes.engine.names import did_you_mean
from hobbes.engine.record import MESSAGE, JsonObject, canonical
from hobbes.lab.errors import UsageError
from hobbes.lab.show.tracing import names_in, turns_so_far
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run
from hobbes.nodes.journal import ReasoningSource

AROUND = 60
"""How many characters are shown before and after what was found in a text."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for: events of these types and of these agents (all if empty), a pattern in texts."""

    events: Collection[str]
    agents: Collection[str]
    pattern: re.Pattern[str] | None


def search_for(
    store: Store, run: Run, events: Collection[str], agents: Collection[str], grep: str | None
) -> Search:
    """Return a search; raise UsageError if the run cannot have what it asks for."""
    for event in events:
        if event not in run.world.events:
            there = did_you_mean(event, run.world.events, f"it has: {', '.join(run.world.events)}")
            raise UsageError(f"--event: {run.world.name} has no events of the type {event!r}{there}")
    names = names_in(store, run) if agents else set()
    for agent in agents:
        if agent not in names:
            there = did_you_mean(agent, names, f"choose from: {', '.join(sorted(names))}")
            raise UsageError(f"--agent: nobody in run {run.id} is called {agent!r}{there}")
    return Search(events, agents, None if grep is None else _pattern(grep))


def _pattern(grep: str) -> re.Pattern[str]:
    """Return a pattern; raise UsageError if it is not valid, or could mean something else to grep."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            return re.compile(grep, re.MULTILINE)  # grep reads line by line
    except (re.error, OverflowError, RecursionError, FutureWarning) as error:
        raise UsageError(f"--grep: {grep!r} is not a valid regular expression: {error}") from error


def found(store: Store, run: Run, search: Search) -> Iterator[dict[str, Any]]:
    """Yield what a search finds, in order: turn, agent, where it was found, and the event or the text.

    Without a type of event, answers and reasoning are searched, too.
    """
    for number, record, *_ in turns_so_far(store, run, search.agents):
        if search.pattern is not None and not search.events:
            intents = record.intents if record else {}
            for agent, answer, reasoning, source in store.calls.answers(run.id, number):
                if search.agents and agent not in search.agents:
                    continue
                reflection: Any = intents.get(agent, {}).get("reflection", {})
                texts = (
                    ("reasoning", source, reasoning),
                    ("reasoning", ReasoningSource.ANSWER, reflection.get("reasoning", "")),
                    ("answer", None, answer),
                )
                for where, of, text in texts:
                    if match := search.pattern.search(text):
                        found_at = {"turn": number, "agent": agent, "found_in": where, "source": of}
                        yield {**found_at, "text": _around(match)}
                        break  # the reasoning is often a part of the answer
        for event in record.events if record else ():
            if search.events and event.type not in search.events:
                continue
            fields = event.to_json()
            where = "message" if event.type == MESSAGE else "event"
            if search.pattern is None or search.pattern.search(_line(fields)):
                yield {"turn": number, "agent": event.agent, "found_in": where, "event": fields}


def _line(event: JsonObject) -> str:
    """Return an event as the line in which a pattern is looked for."""
    texts = (value if isinstance(value, str) else canonical(value) for value in event.values())
    return " ".join(texts)


def _around(match: re.Match[str]) -> str:
    """Return what was found with some text around it."""
    start, end = match.start() - AROUND, match.end() + AROUND
    cut = match.string[max(start, 0) : end]
    return f"{'…' * (start > 0)}{cut}{'…' * (end < len(match.string))}"
