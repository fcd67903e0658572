"""A logged run as the engine reads it: its history for measures, and its verification."""

from collections.abc import Iterator
from typing import Any

from engine.record import Draw, Event, canonical
from engine.world import Played
from lab.records import Records, Run, Turn
from nodes.journal import link
from nodes.state import first_digest, first_state


def history(records: Records, run: Run) -> list[Played[Any, Any]]:
    """Give the turns of a run as its world's own values."""
    world, played = run.world, []
    before = world.setup(run.setting.config, run.setting.agents, run.setting.seed)
    for turn in records.turns(run.id):
        after = world.load(run.setting, turn.record["state"])
        intents = {agent: world.intent.from_json(said) for agent, said in turn.record["intents"].items()}
        events, draws = turn.record["events"], turn.record["draws"]
        played.append(
            Played(before, intents, after, tuple(map(_event, events)), tuple(Draw(**draw) for draw in draws))
        )
        before = after
    return played


def _event(data: dict[str, Any]) -> Event:
    """Give an event from its flat object."""
    return Event(data["type"], data["agent"], {k: v for k, v in data.items() if k not in {"type", "agent"}})


def faults(records: Records, run: Run) -> Iterator[tuple[int, str]]:
    """Resolve every logged turn again with the engine alone, and hash the chain again.

    Give each turn that does not come out as it was logged, with what is wrong there.
    """
    world = run.world
    start = first_state(world, run.setting, run.models)
    before, digest = world.load(run.setting, start["world"]), first_digest(start["run"])
    for expected, turn in enumerate(records.turns(run.id)):
        if turn.turn != expected:
            yield expected, "the turn is missing"
            return
        intents = {agent: world.intent.from_json(said) for agent, said in turn.record["intents"].items()}
        resolved = world.resolve(before, intents)
        again = {
            "state": world.state.to_json(resolved.state),
            "events": [event.to_json() for event in resolved.events],
            "draws": [draw.to_json() for draw in resolved.draws],
        }
        yield from ((turn.turn, f"{part} differs") for part in _differing(again, turn))
        digest = link(digest, turn.record)
        if digest != turn.digest:
            yield turn.turn, "the chain of digests is broken"
            digest = turn.digest
        before = world.load(run.setting, turn.record["state"])


def _differing(again: dict[str, Any], turn: Turn) -> Iterator[str]:
    """Name the parts that come out otherwise than they were logged."""
    return (part for part, value in again.items() if canonical(value) != canonical(turn.record[part]))
