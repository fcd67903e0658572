"""The diary of a run, of an agent or of several: what was thought, said and done, turn by turn.

An observer has none: what it answered is told with the requests of agents.

`/RUN/diary` of `hobbes view`, and `hobbes trace RUN AGENT`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, TypeAlias

import orjson

from hobbes.engine.answer import DECISIONS
from hobbes.engine.names import did_you_mean
from hobbes.engine.record import MESSAGE, Event
from hobbes.engine.telling import Done, counted
from hobbes.engine.turn import TurnRecord
from hobbes.engine.world import AnyWorld
from hobbes.errors import UsageError
from hobbes.nodes.journal import ReasoningSource
from hobbes.nodes.reading import deciding
from hobbes.show.narrative import EVERYBODY, by, not_read, refused
from hobbes.show.trace import CORRECTED, FAILED, REJECTED, check_names, named_in
from hobbes.store.home import Store
from hobbes.store.marked_turns import PlainRecord, without_effects
from hobbes.store.recorded_run import Run
from hobbes.store.turns import LoggedTurn

COLUMNS = ("thought", "said", "done")
"""What a page has beside each other of an agent's turn."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message; without `to`, to all."""

    turn: int
    to: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Promised:
    """An agent `to` whom a deed was done, and the last message before that turn to it or to all, if any."""

    to: str
    last: Message | None


@dataclass(frozen=True, slots=True)
class Deed:
    """What an agent did, of one type: in words that follow its name. To do nothing has no type.

    What it did to others than those who are chosen is only counted, and has no type either. `events` are
    those that a reader looks for and that it is. One that was done to others has them in `to`, and what had
    been written to each in `promised`; that is empty if nobody in the run had written anything by then.
    """

    type: str
    words: str
    events: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    promised: tuple[Promised, ...] = ()

    @property
    def after_did(self) -> str:
        """The words as they follow the label `did`."""
        return self.words.removeprefix("did ")

    @property
    def written(self) -> dict[Message | None, list[str]]:
        """Each last message once, and to whom it was that."""
        written: dict[Message | None, list[str]] = {}
        for one in self.promised:
            written.setdefault(one.last, []).append(one.to)
        return written


@dataclass(frozen=True, slots=True)
class Entry:
    """One agent in one turn. `source` says where the thought comes from, `events` what a reader looks for.

    `lost` says, of an agent whose call failed, why nothing of its answer counts. What it did then, it did by
    default. `refused` says what of its answer was rejected or corrected.
    """

    turn: int
    agent: str
    outcome: str | None
    lost: str = ""
    thought: str = ""
    source: str = ""
    said: tuple[Message, ...] = ()
    done: tuple[Deed, ...] = ()
    refused: tuple[str, ...] = ()
    events: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the entry as plain JSON."""
        return {**asdict(self), "said": [{"to": one.to, "text": one.text} for one in self.said]}


@dataclass(frozen=True, slots=True)
class Choice:
    """What of a diary is shown: entries with an event.

    The diary of one agent also has what others wrote and did to it; that of several has what passed between
    them, and what each did to nobody. Without agents it is that of all.
    """

    agents: tuple[str, ...] = ()
    event: str = ""

    def address(self, first: int = 0) -> dict[str, object]:
        """Return what the address of a page asks for: of one or two agents, from a turn on."""
        query = {**dict(zip(("agent", "other"), self.agents, strict=False)), "event": self.event}
        return {name: value for name, value in {**query, "first": first}.items() if value}

    def keeps(self, entry: Entry) -> bool:
        """Return whether an entry is shown."""
        types = {*(deed.type for deed in entry.done), *([MESSAGE] if entry.said else [])}
        if self.event and self.event not in {*entry.events, *types}:
            return False
        tells = entry.thought or entry.said or entry.done or entry.refused
        return bool(tells) or FAILED in entry.events


def chosen(run: Run, names: Collection[str], words: Sequence[str]) -> tuple[str, ...]:
    """Return the agents that somebody has named, none for `all`. Raise MissingError for an unknown one."""
    if [*words] == [EVERYBODY] and EVERYBODY not in names:
        return ()
    check_names(run, names, words)
    return tuple(dict.fromkeys(words))


Written: TypeAlias = dict[tuple[str, str | None], Message]
"""What each agent wrote last, by agent and addressee."""


def diary(store: Store, run: Run, choice: Choice, first: int = 0, last: int | None = None) -> Iterator[Entry]:
    """Yield the entries of a diary from the first turn to the last. Raise DamagedError at a damaged one."""
    written: Written = {}
    for logged in store.turns.of(run, 0, last):
        plain: PlainRecord = orjson.loads(logged.text)  # to make a whole record takes ten times as long
        for agent in _who_may_have(run.world, plain, choice.event) if logged.turn >= first else ():
            if len(choice.agents) > 1 and agent not in choice.agents:
                continue
            told = _Turn(store, run, logged.turn, logged.record, choice.agents, written)
            if choice.keeps(entry := told.entry(agent)):
                yield entry
        for message in (event for event in plain["events"] if event["type"] == MESSAGE):
            last_one = _message(logged.turn, Event.from_json(message))
            written[message["agent"], last_one.to] = last_one


def _who_may_have(world: AnyWorld, record: PlainRecord, event: str) -> Iterable[str]:
    """Return the agents of a turn whose entries may have an event; without one, all that have an entry."""
    refused_of = {REJECTED: record["drops"], CORRECTED: record["mends"]}
    if event == FAILED:
        return [agent for agent, outcome in record["outcomes"].items() if outcome not in DECISIONS]
    if event in refused_of:
        return dict.fromkeys(one["agent"] for one in refused_of[event])
    types = {event, *(mark.event for mark in world.telling.landmarks if mark.name == event)}
    acted = [one["agent"] for one in record["events"] if not event or one["type"] in types]
    if event:
        return dict.fromkeys(acted)
    # An observer, who has no intent, is told where its answer was not taken as it was.
    others = (one["agent"] for one in chain(*refused_of.values()))
    return dict.fromkeys([*record["intents"], *acted, *others])


def of_turn(store: Store, run: Run, logged: LoggedTurn) -> dict[str, Entry]:
    """Return the entries of those who were asked in a turn, without what was promised before."""
    told = _Turn(store, run, logged.turn, logged.record, (), {})
    return {agent: told.entry(agent) for agent in logged.record.intents}


def thought_of(store: Store, run: Run, number: int, record: TurnRecord, agent: str) -> tuple[str, str]:
    """Return what an agent thought, and where that comes from: its answer, or else the call."""
    intent: Any = record.intents.get(agent, {})
    own = intent.get("reflection", {}).get("reasoning")
    if own:
        return own, ReasoningSource.ANSWER.value
    call = deciding(store.calls.attempts(run.id, number, agent).get(agent, []))
    return ("", "") if call is None else (call.reply.reasoning, call.reply.reasoning_source)


def others_in(run: Run, record: TurnRecord, event: Event) -> list[str]:
    """Return whom an event of a turn names besides its agent."""
    return [other for _, other in named_in(event.facts, {*run.setting.agents, *record.intents})]


def _message(turn: int, event: Event) -> Message:
    to = event.facts.get("to", EVERYBODY)
    return Message(turn, None if to == EVERYBODY else str(to), str(event.facts["text"]))


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn of a run, of which entries are made. `written` is what was written before it."""

    store: Store
    run: Run
    number: int
    record: TurnRecord
    chosen: tuple[str, ...]
    written: Written

    def entry(self, agent: str) -> Entry:
        """Return the entry of an agent, with what concerns those that are chosen."""
        events = [event for event in by(self.record.events, agent) if self._concerns(event)]
        deeds = self.run.world.telling.deeds_told(events, self.record.events)
        done = (*(self._deed(agent, deed) for deed in deeds), *self._to_others(agent))
        said = tuple(_message(self.number, event) for event in events if event.type == MESSAGE)
        looked_for = dict.fromkeys(event for one in done for event in one.events)
        if self.chosen and agent not in self.chosen:
            return Entry(self.number, agent, None, said=said, done=done, events=tuple(looked_for))
        outcome, lost = self.record.outcomes.get(agent), ""
        if outcome is not None and outcome not in DECISIONS:
            lost = f"its orders {not_read(self.run.world, outcome)}"
        drops = [drop.to_json() for drop in self.record.drops if drop.agent == agent]
        mends = [mend.to_json() for mend in self.record.mends if mend.agent == agent]
        wrong = [event for event, is_so in ((FAILED, lost), (REJECTED, drops), (CORRECTED, mends)) if is_so]
        if agent in self.record.intents and not by(self.record.events, agent):
            done = (Deed("", "did nothing"),)
        thought, source = thought_of(self.store, self.run, self.number, self.record, agent)
        return Entry(
            self.number,
            agent,
            outcome,
            lost,
            thought,
            source,
            said,
            done,
            tuple(refused(self.run.world, outcome, [*drops, *mends])),
            (*looked_for, *wrong),
        )

    def _concerns(self, event: Event) -> bool:
        if not self.chosen or self.chosen == (event.agent,):
            return True
        if event.type == MESSAGE:
            return event.facts.get("to", EVERYBODY) in {EVERYBODY, *self.chosen}
        others = others_in(self.run, self.record, event)
        return not {*self.chosen}.isdisjoint(others) or (not others and event.agent in self.chosen)

    def _to_others(self, agent: str) -> Iterator[Deed]:
        """Yield how often a chosen agent did what a reader looks for first to others than the chosen."""
        telling, own = self.run.world.telling, by(self.record.events, agent)
        left_out = [event.to_json() for event in own if agent in self.chosen and not self._concerns(event)]
        types = Counter(event["type"] for event in without_effects(self.run.world, left_out))
        for kind in (mark.event for mark in telling.landmarks[:1] if types[mark.event]):
            yield Deed("", f"did {counted(types[kind], telling.name_of(kind))} on others")

    def _deed(self, agent: str, done: Done) -> Deed:
        """Return a deed with the events it is and, if it is one, what its agent had last written before."""
        own = [event.to_json() for event in done.events if event.type == done.type]
        events = [mark.name for mark in self.run.world.telling.landmarks if any(map(mark.is_at, own))]
        named = [others_in(self.run, self.record, event) for event in done.events if events]
        others = dict.fromkeys(chain.from_iterable(named))
        promised = [self._promised(agent, other) for other in others if self.written]
        return Deed(done.type, done.words, tuple(events), tuple(others), tuple(promised))

    def _promised(self, agent: str, other: str) -> Promised:
        """Return what an agent had written to another one, or to all, before this turn."""
        wrote = [self.written[agent, to] for to in (other, None) if (agent, to) in self.written]
        return Promised(other, max(wrote, key=attrgetter("turn"), default=None))


MAX_ENTRIES = 200
"""How many entries a page of a diary has, about."""


def choice_at(run: Run, names: Collection[str], at: Mapping[str, Any]) -> Choice:
    """Return what an address chooses; raise UsageError if a part of it is wrong."""
    agent, other, event = (str(at.get(name, "")) for name in ("agent", "other", "event"))
    agents = chosen(run, names, [name for name in (agent, other) if name])
    check_event(run, event, "`event` in the address")
    if other and other == agent:
        raise UsageError("`agent` and `other` in the address must be two agents")
    if other and not agent:
        raise UsageError("`other` in the address needs an `agent`")
    return Choice(agents, event)


def events_of(run: Run) -> list[str]:
    """Return what may be chosen of a diary: events, and what went wrong."""
    return [*run.world.telling.event_names, FAILED, REJECTED, CORRECTED]


def check_event(run: Run, event: str, option: str) -> None:
    """Raise UsageError for an event that no entry of a run can have; `option` is where it was given."""
    if event and run.world.telling.events and event not in (there := events_of(run)):
        near = did_you_mean(event, there, f"choose from: {', '.join(there)}")
        raise UsageError(f"{option}: {run.world.name} has no {event!r}{near}")


def diary_page(store: Store, run: Run, choice: Choice, first: int) -> dict[str, Any]:
    """Return what a page of a diary shows, from its first turn on."""
    shown, following = list[Entry](), None
    for entry in diary(store, run, choice, first):
        if len(shown) >= MAX_ENTRIES and entry.turn != shown[-1].turn:
            following = entry.turn
            break
        shown.append(entry)
    return {
        "choice": choice,
        "first": first,
        "turns": {turn: list(of_turn) for turn, of_turn in groupby(shown, attrgetter("turn"))},
        "events": events_of(run),
        "columns": [part for part in COLUMNS if any(getattr(entry, part) for entry in shown)],
        "next": following,
    }
