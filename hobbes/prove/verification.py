"""`hobbes verify`: a run's recorded answers are read, validated and resolved again, with the engine alone.

Nothing that is derived is trusted: records, tables, ledgers, outcomes, scores, taint and measures are worked
out again from the answers and compared. The prompts of models are compared with the templates of the run.
What cannot be derived (what a provider said of itself) is covered by the hashes of its rows. docs/verify.md
says what nobody can find out.
"""

import json
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hobbes.engine import turn as turns
from hobbes.engine.answer import DECISIONS, ParsedAnswer
from hobbes.engine.measures import work_out
from hobbes.engine.record import canonical, sha256
from hobbes.engine.telling import counted
from hobbes.engine.turn import TurnRecord
from hobbes.engine.world import OBSERVER
from hobbes.errors import DamagedError, HobbesError
from hobbes.nodes.journal import Address, Call, PlayerKind, is_program
from hobbes.nodes.prompting import content_hash
from hobbes.prove.record_difference import first_differing_part
from hobbes.prove.recorded_calls import call_faults, counted_answer, prompt_faults
from hobbes.store.calls import is_changed
from hobbes.store.figures import columns_at_end
from hobbes.store.history import StoredHistory, TurnStart, first_of
from hobbes.store.home import Store
from hobbes.store.recorded_run import STATUSES, Run
from hobbes.store.row_hashes import CALL_COLUMNS
from hobbes.store.runs import RUNS, changed_columns
from hobbes.store.schema import COUNTS, agent_turns_table
from hobbes.store.turns import LoggedTurn


class Fault(NamedTuple):
    """Something that is not as it was recorded; `turn` is None if it concerns the run as a whole."""

    turn: int | None
    fault: str


class Remark(NamedTuple):
    """Something that was not compared, and why; nothing is wrong with it."""

    remark: str


def verify(store: Store, run: Run, digest: str | None = None) -> Iterator[Fault | Remark]:
    """Yield everything about a run that does not follow from its answers; HobbesError for another version.

    `digest` is one that was kept elsewhere; the run must have it. A run that is played meanwhile must be
    found and verified within one `Store.as_of_now`.
    """
    run.check_versions()
    if digest not in {None, run.digest}:
        other = "this is another run, or another copy of it"
        yield Fault(None, f"the run's digest is {run.digest}, not {digest}: {other}")
    yield from (Fault(None, fault) for fault in (*_check_status(run), *_check_columns(store, run)))
    at = _Position(store, run, TurnStart(first_of(run), {}), run.digest_before(0, ""))
    faults = list(_check_turns(at))
    yield from faults
    if at.views[False]:
        yield Remark(
            "the view has changed since: policies were shown another one in "
            f"{at.views[False]} of {counted(at.views.total(), 'call')}; "
            "these are as they were written, and nothing was tampered with"
        )
    if at.is_damaged:
        return
    if at.turn < run.turns:
        yield Fault(at.turn, "the turn is missing")
        return
    if at.digest != run.digest:
        yield Fault(at.turn - 1 if at.turn else None, "the run's digest is not the last link of the chain")
    beyond = list(_check_beyond(store, run))
    yield from beyond
    try:
        yield from _check_ending(at)
    except Exception as error:
        if not (faults or beyond):
            raise  # a bug of ours
        if not isinstance(error, DamagedError):  # that has been said of its turn
            yield Fault(None, f"no figures follow from this record: {type(error).__name__}: {error}")


@dataclass
class _Position:
    """Where verification stands: the run, and what its next turn begins with."""

    store: Store
    run: Run
    start: TurnStart
    digest: str
    turn: int = 0
    is_damaged: bool = False
    """Whether a record cannot be played, so that nothing after it can be checked."""
    views: Counter[bool] = field(default_factory=Counter)
    """The calls of programs, by whether they showed the view that this hobbes would show."""

    def go_on(self, turn: LoggedTurn) -> None:
        """Go on from what was recorded, so that one fault does not become a fault of every later turn."""
        after = self.turn + 1
        state = self.run.world.state.load(self.run.at(after).setting, turn.record.state)
        self.start = TurnStart(state, turn.record.memories)
        self.digest = self.run.digest_before(after, turn.digest)
        self.turn = after


def _check_turns(at: _Position) -> Iterator[Fault]:
    """Yield the faults of each turn, and of one in progress, up to a turn that is missing or damaged."""
    store, run = at.store, at.run
    try:
        for column in changed_columns(store.runs.row_unchecked(run.id)):
            yield Fault(None, f"the column runs.{column} was changed after the run had begun")
        for turn in store.turns.unchecked(run):
            if turn.turn != at.turn or at.turn == run.turns:
                break
            yield from (Fault(turn.turn, fault) for fault in _check_turn(at, turn))
            yield from (Fault(turn.turn, fault) for fault in _check_parent(store, run, turn.turn))
            at.go_on(turn)
        if at.turn == run.turns and run.status != "finished":
            yield from (Fault(at.turn, fault) for fault in _check_turn_in_progress(at))
    except Exception as error:  # noqa: BLE001  whatever a damaged record leads the engine to
        at.is_damaged = True
        what = "" if isinstance(error, HobbesError) else f"the record is damaged: {type(error).__name__}: "
        yield Fault(at.turn, f"{what}{error}")


def _check_status(run: Run) -> Iterator[str]:
    """Name a status that there is not, or that does not go with what a person is asked."""
    if run.status not in STATUSES:
        yield f"the column runs.status says {run.status!r}, which no run can be"
    elif bool(run.questions) != (run.status == "waiting"):
        holds = "holds a question" if run.questions else "holds none"
        yield f"the run is {run.status}, but the column runs.question {holds}"


def _check_columns(store: Store, run: Run) -> Iterator[str]:
    """Name columns of a run's row that no run has like this, whether or not the row was rehashed."""
    row = store.runs.row_unchecked(run.id)
    for column in RUNS.json_columns:
        if twice := _key_twice(row[column] or "null"):
            yield f"the column runs.{column} has the key {twice!r} twice"
    if json.loads(row["agents"]) != [*run.setting.agents]:
        yield "the column runs.agents does not have the agents in the order of their names"
    if (row["parent"] is None) != (row["turn"] is None):
        yield "a fork has a parent and a turn, and other runs have neither, but this one has one of them"
    untils = [one.until for one in run.earlier]
    if untils and not (untils == sorted({*untils}) and untils[0] > 0 and untils[-1] <= run.forked_at):
        yield "the column runs.earlier tells of other turns than those before the fork"
    if run.turns < run.forked_at:
        own, shared = counted(run.turns, "turn"), run.forked_at
        yield f"the run has {own}, fewer than the {shared} that it has from its parent"
    for prompts in (run.prompts, *(one.prompts for one in run.earlier)):
        # What an observer is told is stored without its template, so its worlds have no hash to compare.
        if run.world.observer is None and prompts.hash not in {"", content_hash(prompts)}:
            yield "the column runs.prompts_hash is not the hash of the templates of the prompts"


def _key_twice(text: str) -> str:
    """Return a key that an object of a JSON text has twice, of which readers take either; empty if none."""
    twice: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        twice.extend(key for key in keys if keys.count(key) > 1)
        return dict(pairs)

    json.loads(text, object_pairs_hook=note)
    return next(iter(twice), "")


def _check_parent(store: Store, run: Run, turn: int) -> Iterator[str]:
    """Name what of a turn fits no fork of the parent, if the parent is still there.

    The turns before the fork are the parent's. The first turn of the fork has calls of its own, which arrived
    later than the parent's.
    """
    if turn > run.forked_at or not (run.parent and store.runs.has(run.parent)):
        return
    for table, columns in (("turns", ("record", "digest")), ("calls", CALL_COLUMNS[1:])):
        ours, theirs = (store.turns.rows_unchecked(table, columns, one, turn) for one in (run.id, run.parent))
        if turn < run.forked_at and ours != theirs:
            yield f"the table {table} differs from that of its parent, run {run.parent}"
        elif turn == run.forked_at and table == "calls" and ours and ours == theirs:
            yield f"the fork begins with this turn, but its calls are those of its parent, run {run.parent}"


def _check_turn(at: _Position, turn: LoggedTurn) -> Iterator[str]:
    """Name everything about a turn that does not follow from its answers and the turn before."""
    world, (state, memories) = at.run.world, at.start
    attempts = yield from _attempts(at)
    actors = world.actors(state)
    yield from (f"there is no call of {agent}" for agent in actors if agent not in attempts)
    judged = turns.judge(world, state, _answers(at, attempts))
    asked, ruling = {*actors}, None
    if world.observer and world.observer.asks(state) and turns.question_of(world, state, judged.intents):
        asked.add(OBSERVER)
        if OBSERVER in attempts:
            ruling = counted_answer(world, state, OBSERVER, attempts[OBSERVER])
        else:
            yield f"there is no call of {OBSERVER}"
    yield from (f"there is a call of {agent}, who was not asked" for agent in attempts.keys() - asked)
    played = turns.resolve(world, state, memories, turns.rule(world, state, judged, ruling))
    yield from _record_difference(turn, played.record, at.digest)
    if turn.ledgers_text != canonical(played.resolved.ledgers):
        yield "the column turns.ledgers differs from what the rules give"
    yield from prompt_faults(at.run.at(turn.turn), at.start, attempts)
    if turn.is_changed:
        yield "the turn's row was changed after it had been written"


def _check_turn_in_progress(at: _Position) -> Iterator[str]:
    """Name what is wrong with the calls of a turn that has not ended, and with what a person is asked."""
    run, world, state = at.run, at.run.world, at.start.state
    attempts = yield from _attempts(at)
    actors = world.actors(state)
    asked = {*actors, *([OBSERVER] if world.observer else [])}
    yield from (f"there is a call of {agent}, who was not asked" for agent in attempts.keys() - asked)
    yield from prompt_faults(run, at.start, attempts)
    if run.status != "waiting":
        return
    people = [agent for agent in actors if run.models[world.owner(state, agent)] == PlayerKind.HUMAN]
    # A person who failed to answer is asked again only after a halt.
    decided = {agent for agent, calls in attempts.items() if calls[-1].outcome in DECISIONS}
    again = {one.agent for one in run.questions} - decided
    due = {
        agent: turns.view_of(world, *at.start, agent)
        for agent in people
        if agent not in attempts or agent in again
    }
    yield from (f"there is no call of {agent}" for agent in actors if agent not in {*attempts, *due})
    if not due:
        intents = turns.judge(world, state, _answers(at, attempts)).intents
        due = {OBSERVER: turns.question_of(world, state, intents) or {}}
    expected = [
        (str(Address(at.turn, agent, len(attempts.get(agent, ())) + 1)), canonical(asks))
        for agent, asks in due.items()
    ]
    if [(one.address, one.asked) for one in run.questions] != expected:
        yield "the column runs.question is not what people have to be asked"


def _attempts(at: _Position) -> Generator[str, None, dict[str, list[Call]]]:
    """Return all calls of a turn by agent; name what is odd about them, and count views of programs."""
    world, calls = at.run.world, at.store.calls
    shown = {agent: canonical(view) for agent, view in turns.views(world, *at.start).items()}
    attempts: dict[str, list[Call]] = {}
    for row in calls.rows_unchecked(at.run.id, at.turn):
        agent, view, changed = row["agent"], shown.get(row["agent"], ""), is_changed(row)
        known = {row["prompt"]: view} if is_program(row["player"] or "") else {}
        if changed:
            yield f"the call of {agent}, attempt {row['attempt']}, was changed after it had been written"
        elif known:
            at.views[row["prompt"] == sha256(view)] += 1
        attempts.setdefault(agent, []).append(calls.read(row, known))
    for agent, of_agent in attempts.items():
        yield from call_faults(world, at.start.state, agent, of_agent)
    return attempts


def _answers(at: _Position, attempts: Mapping[str, list[Call]]) -> dict[str, ParsedAnswer]:
    world = at.run.world
    return {
        agent: counted_answer(world, at.start.state, agent, attempts[agent])
        for agent in world.actors(at.start.state)
        if agent in attempts
    }


def _record_difference(turn: LoggedTurn, record: TurnRecord, previous: str) -> Iterator[str]:
    """Name the first part of a record that does not follow from the answers, and a broken chain."""
    difference = first_differing_part(turn.record, record)
    if difference is not None:
        whose = f" ({difference.agent})" if difference.agent else ""
        part = f"the part {difference.part} of the record{whose}"
        yield f"{part} does not follow from the answers: {difference.in_words()}"
    elif turn.text != record.text:
        yield "the text of the record is not the one that was hashed"
    if sha256(previous + turn.text) != turn.digest:
        yield "the chain of digests is broken"


def _check_beyond(store: Store, run: Run) -> Iterator[Fault]:
    """Name the rows of turns that the run does not have; calls of the next turn may be there."""
    for table in ("turns", "calls"):
        after = run.turns + (table == "calls" and run.status != "finished")
        if (turn := store.turns.first_beyond(table, run.id, after)) is not None:
            yield Fault(turn, f"the table {table} has rows of a turn that the run does not have")


def _check_ending(at: _Position) -> Iterator[Fault | Remark]:
    """Name what a run is said to have come to and does not follow from its turns."""
    store, run = at.store, at.run
    row = store.runs.row_unchecked(run.id)
    results = ("outcomes", "scores", "ending", "tainted", *COUNTS)
    if run.status != "finished":
        figures = store.figures.of_scopes(run.id) or store.figures.agent_turns(run)
        if figures or any(row[name] is not None for name in (*results, "measures_version")):
            yield Fault(None, f"the run is {run.status}, but it has the figures of a finished one")
        return
    if not run.world.over(at.start.state):
        yield Fault(None, f"the run is finished, but the game is not over after turn {run.turns - 1}")
    due = columns_at_end(run, store.calls.counts(run.id), at.start.state, store.turns.counts(run.id))
    for name in results:
        if row[name] != due[name]:
            yield Fault(None, f"the column runs.{name} differs from what the turns give")
    yield from _check_figures(store, run)


def _check_figures(store: Store, run: Run) -> Iterator[Fault | Remark]:
    """Name the tables of figures that differ from what today's formulas give, if these made them."""
    then, today = run.versions.measures, run.world.measures.version
    if then != today:
        formulas = f"other formulas (version {then or 'unknown'}, now {today})"
        anew = f"`{store.command('measure', run.label)}` works measures and plain table out anew"
        yield Remark(f"measured by {formulas}, so its figures were not compared; {anew}")
        return
    due = work_out(run.world.measures, StoredHistory(store, run))
    counts = store.figures.counts_of_scopes(run.id)
    measures = {(one.name, one.scope): (one.value, *counts[one.scope]) for one in due.measures}
    if store.figures.of_scopes(run.id) != measures:
        yield Fault(None, "the table measures differs from what the turns give")
    if store.figures.agent_turns(run) != sorted(due.agent_turns, key=lambda row: row[:2]):
        yield Fault(None, f"the table {agent_turns_table(run.world)} differs from what the turns give")
