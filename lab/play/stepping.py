"""`hobbes step WORLD`: the engine alone, JSON Lines in and out, no file."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from engine import turn as turns
from engine.answer import ParsedAnswer
from engine.memory import Memory
from engine.world import OBSERVER, AnyWorld, Codec, settle
from nodes.journal import Reply
from nodes.reading import read

MEMORY = Codec(Memory)


def _is_object(said: object) -> bool:
    return isinstance(said, dict)


def _is_object_or_null(said: object) -> bool:
    return said is None or isinstance(said, dict)


def _is_list_of_names(said: object) -> bool:
    return isinstance(said, list | tuple) and all(isinstance(name, str) for name in said)


def _is_object_of_objects(said: object) -> bool:
    return isinstance(said, dict) and all(isinstance(one, dict) for one in said.values())


PARTS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "config": (_is_object, "an object"),
    "agents": (_is_list_of_names, "a list of names"),
    "seed": (lambda said: type(said) is int, "a whole number"),
    "state": (_is_object_or_null, "an object or null"),
    "memories": (_is_object_of_objects, "an object, one memory per agent"),
    "answers": (_is_object_or_null, "an object, one answer per agent"),
    "ruling": (lambda said: isinstance(said, str | dict), "a text or an object"),
}
"""The parts of a request, each with the check of its shape and what it should be."""

NOTHING: Mapping[str, Any] = {
    "outcomes": {},
    "intents": {},
    "drops": [],
    "mends": [],
    "events": [],
    "draws": [],
    "rulings": {},
    "ledgers": {},
}
"""What happened where no answers were given."""


def step_lines(world: AnyWorld, lines: Iterable[str]) -> Iterator[str]:
    """Answer each line; one that is not a request is answered with an error, and the next is read."""
    for line in lines:
        if line.strip():
            try:
                yield json.dumps(step(world, _request(line)))
            except ValueError as error:
                yield json.dumps({"error": str(error)})


def _request(line: str) -> dict[str, Any]:
    """Read a line; ValueError says what is wrong with it."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(request, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  the asker's mistake, told as such
    if unknown := sorted(request.keys() - PARTS.keys()):
        raise ValueError(f"unknown {', '.join(unknown)}; a request has {', '.join(PARTS)}")
    return request


def step(world: AnyWorld, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state after the answers (before them, if there are none), with every agent's view of it.

    Memories and the observer's ruling go in as they would in a run; memories come out. ValueError says, in
    one line, what is wrong with the request.
    """
    for name, said in request.items():
        fits, kind = PARTS[name]
        if not fits(said):
            raise ValueError(f"{name}: {kind}")
    agents, seed = request.get("agents", world.names(world.default_agents)), request.get("seed", 1)
    setting = settle(world, agents, seed, request.get("config", {}))
    state = world.setup(setting.config, setting.agents, setting.seed)
    if request.get("state") is not None:
        state = world.load(setting, request["state"])
    memories = {agent: MEMORY.from_json(told) for agent, told in request.get("memories", {}).items()}
    happened = NOTHING
    if request.get("answers") is not None:
        if world.over(state):
            raise ValueError("answers: the game is over")
        answers = _parsed(world, state, request["answers"])
        played = turns.play(world, state, memories, answers, _ruling(world, request.get("ruling")))
        state, memories, happened = played.resolved.state, dict(played.memories), _happened(played)
    return {
        "state": world.state.to_json(state),
        "views": turns.views(world, state, memories),
        "memories": {agent: memory.to_json() for agent, memory in memories.items()},
        **happened,
        "over": world.over(state),
        "scores": world.scores(state),
    }


def _parsed(world: AnyWorld, state: Any, answers: Mapping[str, Any]) -> dict[str, ParsedAnswer]:  # noqa: ANN401
    """Return the parsed answers of agents that act now, in their order."""
    agents = world.actors(state)
    if strangers := sorted(answers.keys() - set(agents)):
        raise ValueError(f"answers: {', '.join(strangers)} cannot act now; these can: {', '.join(agents)}")
    return {agent: _read(agent, answers[agent]) for agent in agents if agent in answers}


def _ruling(world: AnyWorld, said: object) -> ParsedAnswer | None:
    """Return the parsed ruling of an observer, None if there is none."""
    if said is not None and world.observer is None:
        raise ValueError(f"ruling: {world.name} has no observer")
    return None if said is None else _read(OBSERVER, said)


def _read(agent: str, said: object) -> ParsedAnswer:
    """Read an answer: the text of a model, or the object that the text would be."""
    return read(agent, Reply(said if isinstance(said, str) else json.dumps(said), "step"))


def _happened(played: "turns.Turn[Any, Any]") -> dict[str, Any]:
    """Return what happened in a turn."""
    told, observer = played.record.told, played.world.observer
    beside = {
        "rulings": observer.ruled(played.judged.intents) if observer else {},
        "ledgers": played.resolved.ledgers,
    }
    return {name: beside[name] if name in beside else told[name] for name in NOTHING}
