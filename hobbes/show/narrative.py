"""What is told of one agent's turn before anything raw: what it did, why, what it knew, and what it wanted.

All of it is computed from the record and from what the world declares in `World.telling`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from hobbes.engine.answer import DECISIONS
from hobbes.engine.board import Board, join_names
from hobbes.engine.memory import WRITTEN_AS
from hobbes.engine.picture import of_picture
from hobbes.engine.record import MESSAGE, Event, Json
from hobbes.engine.telling import Knew, counted, quoted
from hobbes.engine.turn import meanings
from hobbes.engine.world import AnyWorld
from hobbes.nodes.dialects import REASONING_TAGS
from hobbes.nodes.reading import end_of_reasoning
from hobbes.prove.record_difference import shortened
from hobbes.show.trace import REASONING_SOURCES, Card, FullTurn, counts
from hobbes.store.recorded_run import Run

NOTES: Mapping[str, str] = {
    "previous_turn_summary": "",  # about a turn, which the caller names
    "history_summary": "about all turns",
    "notes": "notes",
    "keeps_word_report": "who keeps its word, from 1 to 10",
    "aggressor_report": "who is aggressive, from 1 to 10",
}
"""What an agent notes to itself: the fields of its memory, and what each is about."""

EVERYBODY = "all"
"""Stands for all agents: as the addressee of a message, and as whose diary is shown."""

NOTHING_DONE = "nothing was done to it since its last turn"
"""What is said of an agent to which others did nothing."""

MAX_REFUSED = 60
"""How many characters of what was rejected or corrected stand beside the reason."""

MAX_OTHERS = 4
"""Of how many others the sentence of a card tells what they did to its agent."""

TREMBLING = re.compile(r"[?&]tremble=[0.]*[1-9]")
"""Matches the spec of a policy some of whose acts are random, while its reasons stay as they were."""


Noted: TypeAlias = tuple[str, str]
"""What an agent noted to itself, behind the words for what it is about."""


@dataclass(frozen=True, slots=True)
class Narrative:
    """One agent's turn in words.

    `sentence` says what it did and what came of it. `why` is its reasoning, and `source` where that comes
    from. `meant` is what it wanted to do, and `refused` what was rejected or corrected of that. `wrote` is
    what it noted to itself in this turn, and of what it had noted before, which is `noted`, that it did so
    again.
    """

    sentence: str
    why: str
    source: str
    knew: Knew
    meant: Sequence[str]
    refused: Sequence[str]
    wrote: Sequence[Noted]
    noted: Sequence[Noted]


def narrative_of(run: Run, full: FullTurn | None, card: Card) -> Narrative:
    """Return the words of a card. Of a call alone, or of an observer's, they only say how it ended."""
    not_kept = refused(run.world, card["outcome"], [*card["drops"], *card["mends"]])
    if full is None or "intent" not in card:
        return Narrative(f"{_ended(run.world, card)}.", *_why(card), Knew(), (), not_kept, (), ())
    turn, reflection = card["turn"], card["intent"].get("reflection", {})
    wrote, before = {name: reflection.get(WRITTEN_AS[name]) for name in NOTES}, card["memory_before"]
    again = "the same words as before"
    wrote = {name: again if text and text == before[name] else text for name, text in wrote.items()}
    why, source = _why(card)
    player = run.at(turn).models[run.world.owner(full.played.before, card["agent"])]
    if source and TREMBLING.search(player):
        source += "; a tremble may have replaced the act by a random one"
    return Narrative(
        _sentence(run, full, card),
        why,
        source,
        _knew(run.world, full, card),
        _meant(run.world, full, card),
        not_kept,
        _noted(wrote, _before(turn)),
        _noted(before, f"in turn {turn - 1}, {_before(turn - 1)}"),
    )


def _noted(memory: Mapping[str, Any], summary: str) -> list[Noted]:
    """Return what an agent noted to itself; `summary` says what its summary of a turn is about."""
    return [
        (about or summary, text if isinstance(text, str) else counts(text))
        for name, about in NOTES.items()
        if (text := memory[name])
    ]


def _before(turn: int) -> str:
    """Return what an agent was asked to sum up in a turn: the turn before."""
    return f"about turn {turn - 1}" if turn > 0 else "before anything was played"


def _knew(world: AnyWorld, full: FullTurn, card: Card) -> Knew:
    """Return what an agent knew, and for readers also what it was not told of what others did to it."""
    knew = world.telling.knew(card["view"])
    truth = world.telling.in_truth(full.played.before, card["agent"])
    befell = knew.befell and [
        one._replace(words=f"{one.words} (in truth {truth[one.by]}; it was not told)")
        if one.by in truth
        else one
        for one in knew.befell
    ]
    return replace(knew, befell=befell and sorted(befell, key=lambda one: not one.harm))


def _meant(world: AnyWorld, full: FullTurn, card: Card) -> Sequence[str]:
    """Return what an agent wanted to do, and how much more its answer had that was rejected."""
    if card["outcome"] not in DECISIONS:
        return ["unknown: its orders were not read"]
    meant, rejected = world.telling.meant(full.played.intents[card["agent"]]), len(card["drops"])
    if not rejected or not meant:
        return meant
    return [*meant, f"{counted(rejected, 'more part')} {'was' if rejected == 1 else 'were'} rejected"]


_OPENED = re.compile(rf"\s*<(?:{'|'.join(REASONING_TAGS)})>\s*(.+)", re.DOTALL)
"""Matches an answer that begins with a reasoning between tags."""

_FIELD = re.compile(r'"reasoning"\s*:\s*"((?:[^"\\]|\\.)*+)', re.DOTALL)
"""Matches the field of an answer with its reasoning, also where the answer is cut off in it."""


def _why(card: Card) -> tuple[str, str]:
    """Return the reasoning of a card and where it comes from; of a lost answer, what its text has of it."""
    source = REASONING_SOURCES[card["reasoning_source"]]
    if card["outcome"] in DECISIONS:
        return card["reasoning"], source
    if card["reasoning"]:
        return card["reasoning"], f"{source}; the answer was discarded"
    found = reasoning_in(card["answer"])
    return found, "from the answer that was discarded" if found else ""


def reasoning_in(answer: str) -> str:
    """Return the reasoning in the text of an answer that was not read; empty if it has none.

    It follows a tag that was never closed, or stands in the field `reasoning`.
    """
    end = end_of_reasoning(answer)
    if not end and (opened := _OPENED.match(answer)):
        return opened[1]
    field = _FIELD.search(answer, end)
    if field is None:
        return ""
    try:
        return str(json.loads(f'"{field[1]}"', strict=False))
    except ValueError:  # it is cut off within an escape
        return field[1]


def _ended(world: AnyWorld, card: Card) -> str:
    """Return how a call ended, in words; of a failed one, why nothing of its answer counts."""
    agent, rules = card["agent"], "rulings" in card
    if card["outcome"] in DECISIONS:
        ruled = f"ruled on {counted(len(card['view']['requests']), 'request')}" if rules else "answered"
        return f"{agent} {ruled}"
    return f"The {'rulings' if rules else 'orders'} of {agent} {not_read(world, card['outcome'])}"


def not_read(world: AnyWorld, outcome: str) -> str:
    """Return that nothing of an answer counts, and why, in words that follow the name for it."""
    return f"were not read: {meanings(world)[f'read/{outcome}']}"


def _sentence(run: Run, full: FullTurn, card: Card) -> str:
    """Return what an agent did, what others did to it meanwhile, and what became of its score."""
    agent, events = card["agent"], full.turn.record.events
    own = by(events, agent)
    did = "; ".join(done.words for done in run.world.telling.deeds_told(own, events)) or _only_wrote(own)
    begins = agent if card["outcome"] in DECISIONS else f"{_ended(run.world, card)}. By default, it"
    others = dict.fromkeys(event.agent for event in events if event.agent != agent)
    deeds_to_it = [event for event in events if event.type != MESSAGE and agent in event.facts.values()]
    meanwhile = [
        f"{other} {'; '.join(done.words for done in run.world.telling.deeds_told(to_it, events))}"
        for other in others
        if (to_it := by(deeds_to_it, other))
    ]
    more = f" and {counted(len(meanwhile) - MAX_OTHERS, 'other')} too" if len(meanwhile) > MAX_OTHERS else ""
    told = f" Meanwhile {join_names(meanwhile[:MAX_OTHERS])}{more}." if meanwhile else ""
    return f"{begins} {did}.{told}{_change(run, full, agent)}"


def _only_wrote(events: Iterable[Event]) -> str:
    """Return that an agent did nothing, except for what it wrote."""
    to = dict.fromkeys(str(event.facts.get("to", EVERYBODY)) for event in events if event.type == MESSAGE)
    return f"did nothing but write to {join_names([*to])}" if to else "did nothing"


def _change(run: Run, full: FullTurn, agent: str) -> str:
    """Return what became of an agent's score; nothing for whoever has none."""
    before, after = (run.world.scores(state).get(agent) for state in (full.played.before, full.played.after))
    if before is None or after is None:
        return ""
    return f" Its {run.world.measures.score}: {before}" + (
        f" → {after} ({after - before:+})." if after != before else ", unchanged."
    )


def by(events: Iterable[Event], agent: str) -> list[Event]:
    """Return the events that an agent caused."""
    return [event for event in events if event.agent == agent]


def refused(world: AnyWorld, outcome: str | None, found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return rejections and corrections in words; each that occurs several times, once.

    That nothing was read is left out: `not_read` says it.
    """
    told = Counter(_refused(world, one) for one in found if one["code"] != f"read/{outcome}")
    return [f"{words} ({n} times)" if n > 1 else words for words, n in told.items()]


def _refused(world: AnyWorld, found: Mapping[str, Any]) -> str:
    """Return a rejection or a correction in words: its meaning, and what it is about."""
    what = "corrected" if "kept" in found else "rejected"
    detail = f" ({found['detail']})" if found.get("detail") else ""
    said = f"{_in_short(found['said'])}: " if found["said"] is not None else ""
    return f"{what}: {said}{meanings(world).get(found['code'], found['code'])}{detail}"


def _in_short(said: Json) -> str:
    """Return what was said in a few words; of an object with one field, `claim [7, 0]`."""
    if isinstance(said, dict) and len(said) == 1:
        [(field, value)] = said.items()
        return f"{field} {_shortened(value)}"
    return _shortened(said)


def _shortened(said: Json) -> str:
    text = quoted(" ".join(said.split())) if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return shortened(text, MAX_REFUSED)


def board_of_view(run: Run, view: Mapping[str, Any]) -> Board | None:
    """Return the map that a view shows as a board, None if it has none."""
    for name, value in view.items():
        if isinstance(value, list) and _is_map(value):
            rows = [str(line).split() for line in value]
            agents = run.setting.agents
            title = f"{name} at the start of turn {view['turn']}"
            return of_picture(title, agents, rows, run.world.picture.in_picture(agents), numbered=True)
    return None


def _is_map(value: Sequence[Json]) -> bool:
    """Return whether a list is a map in text: lines of equally many words."""
    words = {len(line.split()) if isinstance(line, str) else 0 for line in value}
    return len(value) > 1 and len(words) == 1 and max(words) > 1
