"""A logged run as the engine reads it: its history for measures, and its verification."""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.record import Draw, Event, canonical
from engine.world import Played
from lab.journal import as_json, rows_of
from lab.records import Records, Run, Turn
from nodes.journal import link
from nodes.state import first_digest, identity


def history(records: Records, run: Run) -> list[Played[Any, Any]]:
    """Give the turns of a run as its world's own values."""
    played = []
    before = run.world.setup(run.setting.config, run.setting.agents, run.setting.seed)
    for turn in records.turns(run.id):
        played.append(played_turn(run, before, turn))
        before = played[-1].after
    return played


def scores(records: Records, run: Run) -> Iterator[tuple[int, Mapping[str, int]]]:
    """Give the scores after each logged turn."""
    for turn in records.turns(run.id):
        yield turn.turn, run.world.scores(run.world.load(run.setting, turn.record["state"]))


def played_turn(run: Run, before: Any, turn: Turn) -> Played[Any, Any]:  # noqa: ANN401  a world's own state
    """Give a logged turn as its world's own values, from the state that it began with."""
    world, record = run.world, turn.record
    return Played(
        before,
        intents={agent: world.intent.from_json(said) for agent, said in record["intents"].items()},
        after=world.load(run.setting, record["state"]),
        events=tuple(map(_event, record["events"])),
        draws=tuple(Draw(**draw) for draw in record["draws"]),
    )


def _event(data: dict[str, Any]) -> Event:
    """Give an event from its flat object."""
    return Event(data["type"], data["agent"], {k: v for k, v in data.items() if k not in {"type", "agent"}})


def faults(records: Records, run: Run) -> Iterator[tuple[int, str]]:
    """Resolve every logged turn again with the engine alone, hash the chain again, and compare the tables.

    Give each turn that does not come out as it was logged, with what is wrong there.
    """
    before = run.world.setup(run.setting.config, run.setting.agents, run.setting.seed)
    digest, next_turn = first_digest(run.world, identity(run.world, run.setting)), 0
    for turn in records.turns(run.id):
        if turn.turn != next_turn or next_turn == run.turns:  # others may be playing it on
            break
        try:
            found = [*_differing(run, before, turn), *_telling_otherwise(records, run, turn)]
            before = run.world.load(run.setting, turn.record["state"])
        except Exception as error:  # noqa: BLE001  whatever a damaged record leads the engine to
            yield turn.turn, f"the record is damaged: {type(error).__name__}: {error}"
            return
        yield from ((turn.turn, fault) for fault in found)
        digest = link(digest, turn.record)
        if digest != turn.digest:
            yield turn.turn, "the chain of digests is broken"
            digest = turn.digest
        next_turn += 1
    if next_turn < run.turns:
        yield next_turn, "the turn is missing"
    elif digest != run.digest:
        yield next_turn - 1, "the run's digest is not the last link of the chain"


def _differing(run: Run, before: Any, turn: Turn) -> Iterator[str]:  # noqa: ANN401  a world's own state
    """Name the parts of a record that the engine gives otherwise."""
    world, record = run.world, turn.record
    intents = {agent: world.intent.from_json(said) for agent, said in record["intents"].items()}
    resolved = world.resolve(before, intents)
    again: dict[str, Any] = {
        "state": world.state.to_json(resolved.state),
        "events": [event.to_json() for event in resolved.events],
        "draws": [draw.to_json() for draw in resolved.draws],
    }
    return (f"{part} differs" for part, value in again.items() if canonical(value) != canonical(record[part]))


def _telling_otherwise(records: Records, run: Run, turn: Turn) -> Iterator[str]:
    """Name the tables that do not say what the record says."""
    where = "where run = ? and turn = ?"
    address = (run.id, turn.turn)
    (state,) = records.db.execute(f"select state from turns {where}", address).fetchone()  # noqa: S608  names are ours
    if state != as_json(turn.record["state"]):
        yield "the column turns.state tells otherwise"
    for table, rows in rows_of(turn.record).items():
        told = records.db.execute(f"select * from {table} {where}", address)  # noqa: S608  names are ours
        if set(told) != {(*address, *row) for row in rows}:
            yield f"the table {table} tells otherwise"
