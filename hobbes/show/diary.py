"""The diary of a run, of an agent or of several: what was thought, said and done, turn by turn.

An observer has none: what it answered is told with the requests of agents.

`/RUN/diary` of `hobbes view`, and `hobbes trace RUN AGENT`.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from hobbes.engine.answer import DECISIONS
from hobbes.engine.record import MESSAGE, Event
from hobbes.engine.telling import Done
from hobbes.engine.turn import TurnRecord
from hobbes.engine.world import deeds_told
from hobbes.errors import UsageError
from hobbes.nodes.journal import ReasoningSource
from hobbes.nodes.reading import deciding
from hobbes.show.narrative import EVERYBODY, by, not_read, refused
from hobbes.show.timeline import sample
from hobbes.show.trace import check_names, named_by
from hobbes.store.history import events_until
from hobbes.store.home import Store
from hobbes.store.marked_turns import Marks, TurnOfAgent
from hobbes.store.recorded_run import Run
from hobbes.store.turns import LoggedTurn

KINDS = ("thought", "said", "done")
"""What an entry has of an agent's turn."""

FAILED, REJECTED = "failed call", "rejection"
"""The marks of an entry that every world has, besides its landmarks."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message; without `to`, to all."""

    turn: int
    to: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Promised:
    """What an agent had last written to another one, or to all, before that one could know of its deed.

    `last` is None if there was nothing. `earlier` is how many messages it had written to it, or to all,
    before that one.
    """

    to: str
    last: Said | None
    earlier: int


@dataclass(frozen=True, slots=True)
class Deed:
    """What an agent did, of one type: in words that follow its name. To do nothing has no type.

    `marks` are the landmarks that it is. A landmark that was done to others has them in `to`, and what had
    been written to each in `promised`; that is empty if nobody in the run had written anything by then.
    """

    type: str
    words: str
    marks: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    promised: tuple[Promised, ...] = ()

    @property
    def after_did(self) -> str:
        """The words as they follow the label `did`."""
        return self.words.removeprefix("did ")


@dataclass(frozen=True, slots=True)
class Entry:
    """One agent in one turn. `source` says where the thought comes from, `marks` what a reader looks for.

    `lost` says, of an agent whose call failed, why nothing of its answer counts. What it did then, it did by
    default. `tags` are those of the note on the decision.
    """

    turn: int
    agent: str
    outcome: str | None
    lost: str = ""
    thought: str = ""
    source: str = ""
    said: tuple[Said, ...] = ()
    done: tuple[Deed, ...] = ()
    marks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the entry as plain JSON."""
        return {**asdict(self), "said": [{"to": one.to, "text": one.text} for one in self.said]}

    @property
    def words(self) -> Iterator[str]:
        """Yield all that the entry tells."""
        yield self.thought
        yield from (one.text for one in self.said)
        yield from (one.words for one in self.done)


@dataclass(frozen=True, slots=True)
class Choice:
    """What of a diary is shown: entries with one of the `kinds`, with a mark, tag, event, with words.

    The diary of one agent also has what others wrote and did to it; that of several has what passed between
    them, and what each did to nobody. Without agents it is that of all.
    """

    agents: tuple[str, ...] = ()
    kinds: Collection[str] = KINDS
    mark: str = ""
    tag: str = ""
    events: Collection[str] = ()
    words: re.Pattern[str] | None = None

    def kept(self, entry: Entry) -> Entry | None:
        """Return an entry with the kinds that are shown, None if it is not shown."""
        for wanted, there in ((self.mark, entry.marks), (self.tag, entry.tags)):
            if wanted and wanted not in there:
                return None
        if self.events and not any(one.type in self.events for one in entry.done):
            return None
        shown = replace(
            entry,
            thought=entry.thought if "thought" in self.kinds else "",
            said=entry.said if "said" in self.kinds else (),
            done=entry.done if "done" in self.kinds else (),
        )
        if self.words is not None and not any(map(self.words.search, shown.words)):
            return None
        return shown if any(shown.words) or FAILED in shown.marks else None


Tags: TypeAlias = Mapping[TurnOfAgent, tuple[str, ...]]
"""The tags of the notes on the decisions of a run."""


def tags_in(store: Store, run: Run) -> Tags:
    """Return the tags of the notes on the decisions of a run."""
    notes = store.notes.of(run.id)
    return {(note.turn, note.agent): note.tags for note in notes if note.turn is not None and note.agent}


class First(NamedTuple):
    """The first turn of a landmark or of a rejection, and who all had it in that turn.

    `is_own` says that it is only the first one of these agents.
    """

    mark: str
    turn: int
    agents: tuple[str, ...]
    is_own: bool


def firsts(marks: Marks, names: Collection[str], agents: Collection[str] = ()) -> list[First]:
    """Return where each landmark and a rejection of a run first occur; with agents, among what these did.

    The agents of a turn are in the order of `names`.
    """
    found = []
    for mark, places in {**marks.landmarks, REJECTED: marks.rejections}.items():
        among = [place for place in places if not agents or place[1] in agents]
        if among:
            first = min(turn for turn, _ in among)
            had_it = tuple(name for name in names if (first, name) in among)
            found.append(First(mark, first, had_it, bool(agents)))
    return found


def chosen(run: Run, names: Collection[str], words: Sequence[str]) -> tuple[str, ...]:
    """Return the agents that somebody has named, none for `all`. Raise MissingError for an unknown one."""
    if [*words] == [EVERYBODY] and EVERYBODY not in names:
        return ()
    check_names(run, names, words)
    return tuple(dict.fromkeys(words))


Written: TypeAlias = dict[tuple[str, str | None], tuple[Said, int]]
"""What each agent wrote last and how many messages it wrote, by agent and addressee."""


def diary(store: Store, run: Run, choice: Choice, tags: Tags, first: int = 0) -> Iterator[Entry]:
    """Yield the entries of a diary from a turn on, in order. Raise DamagedError at a damaged turn.

    `tags` are those of the run.
    """
    written: Written = {}
    for turn, event in events_until(store, run, first - 1, MESSAGE) if first else ():
        _keep(written, turn, event)
    for logged in store.turns.of(run, first):
        turn, record = logged.turn, logged.record
        told = _Turn(store, run, turn, record, choice.agents, written, tags)
        for agent in dict.fromkeys([*record.intents, *(event.agent for event in record.events)]):
            if len(choice.agents) > 1 and agent not in choice.agents:
                continue
            if (entry := choice.kept(told.entry(agent))) is not None:
                yield entry
        for event in record.events:
            _keep(written, turn, event)


def of_turn(store: Store, run: Run, logged: LoggedTurn) -> dict[str, Entry]:
    """Return the entries of those who were asked in a turn, without what was promised before, and tags."""
    told = _Turn(store, run, logged.turn, logged.record, (), {}, {})
    return {agent: told.entry(agent) for agent in logged.record.intents}


def _keep(written: Written, turn: int, event: Event) -> None:
    """Keep a message as the last one of its agent."""
    if event.type == MESSAGE:
        message = _message(turn, event)
        of = event.agent, message.to
        written[of] = message, 1 + (written[of][1] if of in written else 0)


def _message(turn: int, event: Event) -> Said:
    """Return what the event of a message says."""
    to = event.facts.get("to", EVERYBODY)
    return Said(turn, None if to == EVERYBODY else str(to), str(event.facts["text"]))


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn of a run, of which entries are made. `written` is what was written before it."""

    store: Store
    run: Run
    number: int
    record: TurnRecord
    chosen: tuple[str, ...]
    written: Written
    tags: Tags

    def entry(self, agent: str) -> Entry:
        """Return the entry of an agent, with what concerns those that are chosen."""
        events = [event for event in by(self.record.events, agent) if self._concerns(event)]
        done = tuple(self._deed(agent, one) for one in deeds_told(self.run.world, events, self.record.events))
        said = tuple(_message(self.number, event) for event in events if event.type == MESSAGE)
        marks = dict.fromkeys(mark for one in done for mark in one.marks)
        if self.chosen and agent not in self.chosen:
            return Entry(self.number, agent, None, said=said, done=done, marks=tuple(marks))
        outcome, lost = self.record.outcomes.get(agent), ""
        if outcome is not None and outcome not in DECISIONS:
            marks[FAILED] = None
            lost = f"its orders {not_read(self.run.world, outcome)}"
        drops = [drop.to_json() for drop in self.record.drops if drop.agent == agent]
        if drops:
            marks[REJECTED] = None
        if not by(self.record.events, agent):
            why = [] if lost else refused(self.run.world, drops)  # that nothing was read, `lost` says
            done = (Deed("", "; ".join(["did nothing", *why])),)
        tags = self.tags.get((self.number, agent), ())
        return Entry(self.number, agent, outcome, lost, *self._thought(agent), said, done, tuple(marks), tags)

    def _thought(self, agent: str) -> tuple[str, str]:
        """Return what an agent thought, and where that comes from: its answer, or else the call."""
        intent: Any = self.record.intents.get(agent, {})
        own = intent.get("reflection", {}).get("reasoning")
        if own:
            return own, ReasoningSource.ANSWER.value
        call = deciding(self.store.calls.attempts(self.run.id, self.number, agent).get(agent, []))
        return ("", "") if call is None else (call.reply.reasoning, call.reply.reasoning_source)

    def _concerns(self, event: Event) -> bool:
        """Return whether an event concerns those that are chosen."""
        if not self.chosen or self.chosen == (event.agent,):
            return True
        if event.type == MESSAGE:
            return event.facts.get("to", EVERYBODY) in {EVERYBODY, *self.chosen}
        others = self._others(event)
        return not {*self.chosen}.isdisjoint(others) or (not others and event.agent in self.chosen)

    def _others(self, event: Event) -> list[str]:
        """Return whom an event names besides its agent."""
        return [other for _, other in named_by(event, {*self.run.setting.agents, *self.record.intents})]

    def _deed(self, agent: str, done: Done) -> Deed:
        """Return a deed with its landmarks and, if it has any, what its agent had last written before."""
        own = [event.to_json() for event in done.events if event.type == done.type]
        marks = [mark.name for mark in self.run.world.landmarks if any(map(mark.is_at, own))]
        others = dict.fromkeys(other for event in done.events for other in self._others(event) if marks)
        promised = [self._promised(agent, other) for other in others if self.written]
        return Deed(done.type, done.words, tuple(marks), tuple(others), tuple(promised))

    def _promised(self, agent: str, other: str) -> Promised:
        """Return what an agent had written to another one, or to all, before this turn."""
        wrote = [self.written[agent, to] for to in (other, None) if (agent, to) in self.written]
        last = max((last for last, _ in wrote), key=lambda one: one.turn, default=None)
        return Promised(other, last, max(sum(n for _, n in wrote) - 1, 0))


def reply_to(store: Store, run: Run, entry: Entry) -> tuple[int, str] | None:
    """Return where somebody could first reply to a landmark of an entry: the turn, and to whom it was done.

    None without a landmark that was done to others, or if none of these acted in the next turn.
    """
    turn, others = entry.turn + 1, [other for deed in entry.done for other in deed.to]
    acted = next((logged.record.intents for logged in store.turns.of(run, turn) if others), {})
    return next(((turn, other) for other in others if other in acted), None)


MAX_ENTRIES = 200
"""How many entries a page of a diary has, about."""

MAX_JUMPS = 25
"""How many turns a page of a diary links to at most."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address of a page asks for: whose diary, filtered how, and from which turn on."""

    agent: str = ""
    other: str = ""
    kind: str = ""
    mark: str = ""
    tag: str = ""
    words: str = ""
    first: int = 0

    @property
    def is_filtered(self) -> bool:
        """Whether only some entries are shown."""
        return bool(self.kind or self.mark or self.tag or self.words)

    def query(self, **changed: object) -> dict[str, object]:
        """Return what differs from the diary of all, as an address has it, with some of it changed."""
        return {name: value for name, value in {**asdict(self), **changed}.items() if value}


def asked_for(run: Run, names: Collection[str], tags: Tags, at: Mapping[str, Any]) -> Asked:
    """Return what an address asks for; raise UsageError if a part of it is wrong."""
    first = str(at.get("first", "0"))
    if not re.fullmatch("[0-9]{1,15}", first):
        raise UsageError("`first` in the address is not the number of a turn")
    agent, other, kind, mark, tag, words = (str(at.get(one.name, "")) for one in fields(Asked)[:-1])
    found = Asked(agent, other, kind, mark, tag, words, int(first))
    chosen(run, names, [name for name in (found.agent, found.other) if name])
    check_choices(run, tags, asdict(found), "`{}` in the address")
    if found.other and found.other == found.agent:
        raise UsageError("`agent` and `other` in the address must be two agents")
    if found.other and not found.agent:
        raise UsageError("`other` in the address needs an `agent`")
    return found


def choices(run: Run, tags: Tags) -> dict[str, Sequence[str]]:
    """Return what the diary of a run can be asked for, by the name of the filter."""
    marks = [*(mark.name for mark in run.world.landmarks), FAILED, REJECTED]
    return {"kind": KINDS, "mark": marks, "tag": sorted({tag for of_one in tags.values() for tag in of_one})}


def check_choices(run: Run, tags: Tags, asked: Mapping[str, Any], named: str) -> None:
    """Raise UsageError if a filter asks for what a run does not have; filters are `named` as people do it."""
    for name, there in choices(run, tags).items():
        if (value := asked.get(name)) and value not in there:
            listed = f"choose from: {', '.join(there)}" if there else "this run has none"
            raise UsageError(f"{named.format(name)} {value!r}: {listed}")


def turns_of_page(run: Run, of: Asked) -> int:
    """Return how many turns a page of a diary has that is not filtered."""
    return max(1, MAX_ENTRIES // (2 if of.other else len(run.setting.agents)))


def page_with(run: Run, of: Asked, turn: int) -> int:
    """Return the first turn of the page of a diary on which a turn is."""
    most = turns_of_page(run, of)
    return turn // most * most


def diary_page(  # noqa: PLR0913, PLR0917  what is known of the run
    store: Store, run: Run, of: Asked, marks: Marks, names: Collection[str], tags: Tags
) -> dict[str, Any]:
    """Return what a page of a diary shows, from its first turn on.

    `marks` are those of the run, `names` all who were asked in it, `tags` those of its notes.
    """
    agents = tuple(filter(None, (of.agent, of.other)))
    words = re.compile(re.escape(of.words), re.IGNORECASE) if of.words else None
    choice = Choice(agents, (of.kind,) if of.kind else KINDS, of.mark, of.tag, words=words)
    most, shown, following = turns_of_page(run, of), list[Entry](), None
    for entry in diary(store, run, choice, tags, of.first):
        is_new = not shown or entry.turn != shown[-1].turn
        is_full = len(shown) >= MAX_ENTRIES if of.is_filtered else entry.turn >= of.first + most
        if is_new and is_full:
            following = entry.turn
            break
        shown.append(entry)
    before = 0 if of.is_filtered else max(of.first - most, 0)
    return {
        "asked": of,
        "turns": {turn: list(of_turn) for turn, of_turn in groupby(shown, attrgetter("turn"))},
        "firsts": firsts(marks, names, agents),
        "words": words,
        "choices": choices(run, tags),
        "columns": [kind for kind in KINDS if any(getattr(entry, kind) for entry in shown)],
        "jumps": sample(run.turns, MAX_JUMPS),
        "next": following,
        "previous": before if of.first else None,
    }


def found_in(text: str, words: re.Pattern[str] | None) -> list[tuple[str, bool]]:
    """Return a text in pieces, each with whether it is what was looked for."""
    if words is None:
        return [(text, False)]
    pieces, end = [], 0
    for match in words.finditer(text):
        pieces += [(text[end : match.start()], False), (match[0], True)]
        end = match.end()
    return [*pieces, (text[end:], False)]
