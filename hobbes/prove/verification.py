"""`hobbes verify`: a run's recorded answers are read, validated and resolved again, with the engine alone.

Nothing that is derived is trusted: records, tables, ledgers, outcomes, scores, taint and measures are worked
out again from the answers and compared. The prompts of models are compared with the templates of the run.
What cannot be derived (what a provider said of itself) is covered by the hashes of its rows. docs/verify.md
says what nobody can find out.
"""

import json
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hobbes.engine import turn as turns
from hobbes.engine.answer import DECISIONS, ParsedAnswer
from hobbes.engine.measures import work_out
from hobbes.engine.memory import Memory
from hobbes.engine.record import canonical, sha256
from hobbes.engine.telling import counted
from hobbes.engine.turn import Layer, TurnRecord
from hobbes.engine.world import OBSERVER, AnyWorld
from hobbes.errors import DamagedError, HobbesError
from hobbes.nodes.follow_up import Answer, answer_that_counts
from hobbes.nodes.journal import FOLLOW_UP_QUESTION, TURN_QUESTION, Address, Call, PlayerKind, is_program
from hobbes.nodes.prompt_set import PromptError
from hobbes.nodes.prompting import content_hash, system_text, turn_text, view_in
from hobbes.nodes.reading import read
from hobbes.prove.record_difference import first_differing_part
from hobbes.store.calls import is_changed
from hobbes.store.figures import columns_at_end
from hobbes.store.history import StoredHistory, first_of
from hobbes.store.home import Store
from hobbes.store.recorded_run import STATUSES, Run
from hobbes.store.row_hashes import CALL_COLUMNS
from hobbes.store.runs import RUNS, changed_columns
from hobbes.store.schema import COUNTS, agent_turns_table
from hobbes.store.turns import LoggedTurn

EXPECTED: Mapping[Layer, str] = {
    "engine": "what the engine gives",
    "memory": "the memories that follow from the answers",
}
"""What a part of the record should equal, by the layer that makes it; otherwise, what the layer gives."""


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
        yield Fault(
            None,
            f"the run's digest is {run.digest}, not {digest}: this is another run, or another copy of it",
        )
    yield from (Fault(None, fault) for fault in (*_check_status(run), *_check_columns(store, run)))
    views = Counter[bool]()
    at = yield from _check_turns(store, run, views)
    if views[False]:
        yield Remark(
            f"the view has changed since: policies were shown another one in {views[False]} of "
            f"{counted(views.total(), 'call')}; these are as they were written, and nothing was tampered with"
        )
    if at is None:
        return
    if at.turn < run.turns:
        yield Fault(at.turn, "the turn is missing")
        return
    if at.digest != run.digest:
        yield Fault(at.turn - 1 if at.turn else None, "the run's digest is not the last link of the chain")
    beyond = list(_check_end(store, run))
    yield from beyond
    try:
        yield from _check_ending(store, run, at)
    except Exception as error:
        if at.sound and not beyond:
            raise  # a bug of ours
        if not isinstance(error, DamagedError):  # that has been said of its turn
            yield Fault(None, f"no figures follow from this record: {type(error).__name__}: {error}")


class _Position(NamedTuple):
    """Where verification stands: what the next turn begins with."""

    state: Any
    memories: Mapping[str, Memory]
    digest: str
    turn: int = 0
    sound: bool = True
    """Whether no turn before has a fault."""

    def after(self, run: Run, turn: LoggedTurn) -> "_Position":
        """Go on from what was recorded, so that one fault does not become a fault of every later turn."""
        state = run.world.state.load(run.at(self.turn + 1).setting, turn.record.state)
        digest = run.digest_before(self.turn + 1, turn.digest)
        return _Position(state, turn.record.memories, digest, self.turn + 1, self.sound)


def _check_turns(store: Store, run: Run, views: Counter[bool]) -> Generator[Fault, None, _Position | None]:
    """Yield the faults of each turn; return where the run stands after them, None if a record is damaged.

    `views` counts the calls of programs, by whether they showed the view that this hobbes would show.
    """
    at = _Position(first_of(run), {}, run.digest_before(0, ""))
    try:
        for column in changed_columns(store.runs.row_unchecked(run.id)):
            yield Fault(None, f"the column runs.{column} was changed after the run had begun")
        for turn in store.turns.unchecked(run):
            if turn.turn != at.turn or at.turn == run.turns:
                break
            for fault in (*_check_turn(store, run, at, turn, views), *_check_parent(store, run, turn.turn)):
                at = at._replace(sound=False)
                yield Fault(turn.turn, fault)
            at = at.after(run, turn)
        if at.turn == run.turns:
            yield from (Fault(at.turn, fault) for fault in _check_turn_in_progress(store, run, at, views))
    except HobbesError as error:
        yield Fault(at.turn, str(error))
        return None
    except Exception as error:  # noqa: BLE001  whatever a damaged record leads the engine to
        yield Fault(at.turn, f"the record is damaged: {type(error).__name__}: {error}")
        return None
    return at


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
        counted = Counter(key for key, _ in pairs)
        twice.extend(key for key, times in counted.items() if times > 1)
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


def _check_turn(
    store: Store, run: Run, at: _Position, turn: LoggedTurn, views: Counter[bool]
) -> Iterator[str]:
    """Name everything about a turn that does not follow from its answers and the turn before."""
    attempts = yield from _attempts(store, run, at, views)
    actors = run.world.actors(at.state)
    yield from (f"there is no call of {agent}" for agent in actors if agent not in attempts)
    judged = turns.judge(run.world, at.state, _answers(run, at, attempts))
    question, ruling = turns.question_of(run.world, at.state, judged.intents), None
    if question and run.world.observer and run.world.observer.asks(at.state):
        if OBSERVER in attempts:
            ruling = counted_answer(run.world, at.state, OBSERVER, attempts[OBSERVER])
        else:
            yield f"there is no call of {OBSERVER}"
    asked = {*actors, *([OBSERVER] if ruling else [])}
    yield from (f"there is a call of {agent}, who was not asked" for agent in attempts.keys() - asked)
    judged = turns.rule(run.world, at.state, judged, ruling)
    played = turns.resolve(run.world, at.state, at.memories, judged)
    yield from _record_difference(turn, played.record, at.digest)
    if turn.ledgers_text != canonical(played.resolved.ledgers):
        yield "the column turns.ledgers differs from what the rules give"
    yield from _check_prompts(run.at(turn.turn), at, attempts)
    if turn.is_changed:
        yield "the turn's row was changed after it had been written"


def _check_turn_in_progress(store: Store, run: Run, at: _Position, views: Counter[bool]) -> Iterator[str]:
    """Name what is wrong with the calls of a turn that has not ended, and with what a person is asked."""
    if run.status == "finished":
        return
    attempts = yield from _attempts(store, run, at, views)
    actors = run.world.actors(at.state)
    asked = {*actors, *([OBSERVER] if run.world.observer else [])}
    yield from (f"there is a call of {agent}, who was not asked" for agent in attempts.keys() - asked)
    yield from _check_prompts(run, at, attempts)
    if run.status != "waiting":
        return
    people = {agent for agent in actors if run.models[run.world.owner(at.state, agent)] == PlayerKind.HUMAN}
    # A person who failed to answer is asked again only after a halt.
    decided = {agent for agent, calls in attempts.items() if calls[-1].outcome in DECISIONS}
    again = {one.agent for one in run.questions} - decided
    due = {
        agent: turns.view_of(run.world, at.state, at.memories, agent)
        for agent in actors
        if agent in people and (agent not in attempts or agent in again)
    }
    yield from (f"there is no call of {agent}" for agent in actors if agent not in {*attempts, *due})
    if not due:
        intents = turns.judge(run.world, at.state, _answers(run, at, attempts)).intents
        due = {OBSERVER: turns.question_of(run.world, at.state, intents) or {}}
    expected = [
        (str(Address(at.turn, agent, len(attempts.get(agent, ())) + 1)), canonical(asks))
        for agent, asks in due.items()
    ]
    if [(one.address, one.asked) for one in run.questions] != expected:
        yield "the column runs.question is not what people have to be asked"


def _attempts(
    store: Store, run: Run, at: _Position, views: Counter[bool]
) -> Generator[str, None, dict[str, list[Call]]]:
    """Return all calls of a turn by agent; name what is odd about them, and count views of programs."""
    shown = {agent: canonical(view) for agent, view in turns.views(run.world, at.state, at.memories).items()}
    attempts: dict[str, list[Call]] = {}
    for row in store.calls.rows_unchecked(run.id, at.turn):
        agent, known = row["agent"], {}
        if changed := is_changed(row):
            yield f"the call of {agent}, attempt {row['attempt']}, was changed after it had been written"
        if is_program(row["player"] or ""):
            known = {row["prompt"]: shown.get(agent, "")}
            if not changed:
                views[row["prompt"] == sha256(shown.get(agent, ""))] += 1
        attempts.setdefault(agent, []).append(store.calls.read(row, known))
    for agent, calls in attempts.items():
        yield from _check_attempts(run.world, at.state, agent, calls)
    return attempts


def _answers(run: Run, at: _Position, attempts: Mapping[str, list[Call]]) -> dict[str, ParsedAnswer]:
    return {
        agent: counted_answer(run.world, at.state, agent, attempts[agent])
        for agent in run.world.actors(at.state)
        if agent in attempts
    }


def _check_prompts(run_at_turn: Run, at: _Position, attempts: Mapping[str, list[Call]]) -> Iterator[str]:
    """Name the prompts of models that the templates of the run do not give, whatever the view in them is.

    A whole view is believed: another version of hobbes may show an agent more or less. `replay` compares it.
    Where a prompt shows parts of a view only, they are those of the view in this turn.
    """
    if not any(call.prompt.system for calls in attempts.values() for call in calls):
        return  # policies and people get the view alone
    try:
        system = system_text(run_at_turn.prompts, run_at_turn.setting)
    except PromptError as error:
        yield f"the templates of the prompts cannot be filled in: {error}"
        return
    for agent, calls in attempts.items():
        of_agent = run_at_turn.prompts.observer if agent == OBSERVER else system
        for call in calls:
            first = agent != OBSERVER and call.question == TURN_QUESTION
            if call.prompt.system and (
                call.prompt.system != of_agent
                or (first and not _matches_template(run_at_turn, at, agent, call.prompt.turn))
            ):
                attempt = f"attempt {call.address.attempt}"
                yield f"the prompt of {agent}, {attempt}, is not what the templates of the run give"


def _matches_template(run_at_turn: Run, at: _Position, agent: str, text: str) -> bool:
    """Return whether a turn text is what the template of a run makes of a view."""
    try:
        view = view_in(text) or turns.view_of(run_at_turn.world, at.state, at.memories, agent)
        return turn_text(run_at_turn.prompts, view) == text
    except ValueError:
        return False


def _check_attempts(world: AnyWorld, state: Any, agent: str, calls: list[Call]) -> Iterator[str]:  # noqa: ANN401  a world's own state
    """Name what is odd about the attempts of one agent: numbers, readings, calls after a decision."""
    if [call.address.attempt for call in calls] != list(range(1, len(calls) + 1)):
        yield f"the attempts of {agent} are not numbered from 1 without a gap"
    fields = turns.answer_fields(world, state.setting, agent)
    for call in calls:
        parsed = read(agent, call.reply, fields)
        if (parsed.outcome, parsed.found_as) != (call.outcome, call.found_as):
            yield (
                f"the call of {agent}, attempt {call.address.attempt}, is recorded as {call.outcome} "
                f"({call.found_as}), but reading its answer gives {parsed.outcome} ({parsed.found_as})"
            )
    yield from _check_order(agent, calls)


def _check_order(agent: str, calls: Sequence[Call]) -> Iterator[str]:
    """Name calls that nobody would have made: only a follow-up question comes after a decision, and once.

    An observer is asked again if it decided, a halted run was resumed, and the requests are others now.
    """
    decided = False
    for before, call in zip((None, *calls), calls, strict=False):
        attempt = f"attempt {call.address.attempt}"
        if call.question == FOLLOW_UP_QUESTION:
            if before is None or before.question != TURN_QUESTION:
                yield f"{agent} was asked the follow-up question, {attempt}, without a question before it"
            decided |= call.outcome in DECISIONS
        else:
            others = agent == OBSERVER and before is not None and before.prompt != call.prompt
            if decided and not others:
                yield f"{agent} was asked again, {attempt}, after it had decided"
            decided = call.outcome in DECISIONS


def counted_answer(world: AnyWorld, state: Any, agent: str, calls: Iterable[Call]) -> ParsedAnswer:  # noqa: ANN401  a world's own state
    """Return the parsed answer that counts of one agent's calls in a turn, in the order of their attempts."""
    fields = turns.answer_fields(world, state.setting, agent)
    last = {
        question: Answer(call.prompt, call.reply, read(agent, call.reply, fields))
        for question, call in last_calls(calls).items()
    }
    first, second = last[TURN_QUESTION], last.get(FOLLOW_UP_QUESTION)
    return (answer_that_counts(agent, first, second) if second else first).parsed


def last_calls(calls: Iterable[Call]) -> dict[int, Call]:
    """Return an agent's last call to each question of a turn."""
    last: dict[int, Call] = {}
    for call in calls:
        if call.question == TURN_QUESTION:  # after a halt; a follow-up question was about an earlier answer
            last.clear()
        last[call.question] = call
    return last


def _record_difference(turn: LoggedTurn, record: TurnRecord, previous: str) -> Iterator[str]:
    """Name the first part of a record that does not follow from the answers, and a broken chain."""
    difference = first_differing_part(turn.record, record)
    if difference is not None:
        expected = EXPECTED.get(difference.layer, f"what {difference.layer} gives")
        whose = f" ({difference.agent})" if difference.agent else ""
        which = f"the part {difference.part} of the record"
        yield f"{which} differs from {expected}{whose}: {difference.in_words()}"
    elif turn.text != record.text:
        yield "the text of the record is not the one that was hashed"
    if sha256(previous + turn.text) != turn.digest:
        yield "the chain of digests is broken"


def _check_end(store: Store, run: Run) -> Iterator[Fault]:
    """Name the rows of turns that the run does not have; calls of the next turn may be there."""
    for table in ("turns", "calls"):
        after = run.turns + (table == "calls" and run.status != "finished")
        if (turn := store.turns.first_beyond(table, run.id, after)) is not None:
            yield Fault(turn, f"the table {table} has rows of a turn that the run does not have")


def _check_ending(store: Store, run: Run, at: _Position) -> Iterator[Fault | Remark]:
    """Name what a run is said to have come to and does not follow from its turns."""
    row = store.runs.row_unchecked(run.id)
    results = ("outcomes", "scores", "ending", "tainted", *COUNTS)
    if run.status != "finished":
        figures = store.figures.of_scopes(run.id) or store.figures.agent_turns(run)
        if figures or any(row[name] is not None for name in (*results, "measures_version")):
            yield Fault(None, f"the run is {run.status}, but it has the figures of a finished one")
        return
    if not run.world.over(at.state):
        yield Fault(None, f"the run is finished, but the game is not over after turn {run.turns - 1}")
    due = columns_at_end(run, store.calls.counts(run.id), at.state, store.turns.counts(run.id))
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
