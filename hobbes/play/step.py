"""`hobbes step WORLD`: the engine alone; it reads and writes JSON Lines and touches no file."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hobbes.engine import turn as turns
from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.memory import Memory
from hobbes.engine.world import OBSERVER, AnyWorld, make_setting
from hobbes.nodes.journal import Reply
from hobbes.nodes.reading import read
from hobbes.nodes.turn_state import memories_from

MAX_DIGITS = sys.int_info.default_max_str_digits
"""The most digits of a whole number that Python converts."""


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_object_or_null(value: object) -> bool:
    return isinstance(value, dict | None)


PARTS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "config": (_is_object, "an object"),
    "agents": (
        lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
        "a list of names",
    ),
    "seed": (lambda value: type(value) is int, "a whole number"),
    "state": (_is_object_or_null, "an object or null"),
    "memories": (
        lambda value: _is_object(value) and all(map(_is_object, value.values())),
        "an object, one memory per agent",
    ),
    "answers": (_is_object_or_null, "an object, one answer per agent"),
    "ruling": (lambda value: isinstance(value, str | dict), "a string or an object"),
}
"""The fields of a request, each with a check of its type and a description of it."""

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
"""The fields of the result if the request has no answers."""


def step_lines(world: AnyWorld, lines: Iterable[str]) -> Iterator[str]:
    """Yield one line of JSON for each line; a line that is not a valid request gives `{"error": …}`."""
    for line in lines:
        if line.strip():
            try:
                yield json.dumps(step(world, _request(line)))
            except ValueError as error:
                yield json.dumps({"error": str(error)})


def _request(line: str) -> dict[str, Any]:
    try:
        line.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"not UTF-8 at character {error.start + 1}") from error
    try:
        request = json.loads(line, parse_int=_whole)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(request, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  the mistake is in the input
    if unknown := sorted(request.keys() - PARTS.keys()):
        raise ValueError(f"unknown key {', '.join(unknown)}; the keys are {', '.join(PARTS)}")
    return request


def _whole(digits: str) -> float:
    """Return a whole number; one with more digits than Python converts is infinite."""
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


def step(world: AnyWorld, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state after the answers, with every agent's view of it, and what happened in the turn.

    Without answers, return the state as it is. The request may have the memories and the observer's ruling.
    Raise ValueError, with one line, if the request is wrong.
    """
    for name, value in request.items():
        fits, kind = PARTS[name]
        if not fits(value):
            raise ValueError(f"{name} must be {kind}")
    agents, seed = request.get("agents", world.names(world.default_agents)), request.get("seed", 1)
    setting = make_setting(world, agents, seed, request.get("config", {}))
    state = world.setup(setting.config, setting.agents, setting.seed)
    if request.get("state") is not None:
        state = world.state.load(setting, request["state"])
    memories = _memories(world, state, request.get("memories", {}))
    happened = NOTHING
    if request.get("answers") is None:
        if "ruling" in request:
            raise ValueError("ruling: without answers, no turn is played; give both or neither")
    else:
        if world.over(state):
            raise ValueError("answers: the game is over; leave them out")
        answers = _parse_answers(world, state, request["answers"])
        ruling = _parse_ruling(world, state, answers, request["ruling"]) if "ruling" in request else None
        played = turns.play_turn(world, state, memories, answers, ruling)
        state, memories, happened = played.resolved.state, dict(played.memories), _turn_json(played)
    return {
        "state": world.state.to_json(state),
        "views": turns.views(world, state, memories),
        "memories": {agent: memory.to_json() for agent, memory in memories.items()},
        **happened,
        "over": world.over(state),
        "scores": world.scores(state),
    }


def _memories(
    world: AnyWorld,
    state: Any,  # noqa: ANN401  a world's own state
    memories: Mapping[str, Mapping[str, Any]],
) -> dict[str, Memory]:
    """Return the memories of a request. Raise ValueError for a stranger or another shape."""
    if strangers := sorted(agent for agent in memories if not _has_played(world, state, agent)):
        raise ValueError(f"memories: there is no agent {', '.join(strangers)}")
    return memories_from(memories)


def _has_played(world: AnyWorld, state: Any, agent: str) -> bool:  # noqa: ANN401  a world's own state
    """Return whether an agent plays or has played; one that has died is still remembered."""
    try:
        return world.owner(state, agent) in state.setting.agents
    except LookupError:
        return False


def _parse_answers(world: AnyWorld, state: Any, answers: Mapping[str, Any]) -> dict[str, ParsedAnswer]:  # noqa: ANN401
    """Return the parsed answers, in the order of the agents; raise ValueError for agents that do not act."""
    agents = world.actors(state)
    if strangers := sorted(answers.keys() - set(agents)):
        raise ValueError(
            f"answers: {', '.join(strangers)} cannot act now; the agents that can: {', '.join(agents)}"
        )
    return {agent: _parse_answer(world, state, agent, answers[agent]) for agent in agents if agent in answers}


def _parse_ruling(
    world: AnyWorld,
    state: Any,  # noqa: ANN401  a world's own state
    answers: Mapping[str, ParsedAnswer],
    value: object,
) -> ParsedAnswer:
    """Return the parsed ruling of the observer; raise ValueError if the observer is not asked for one."""
    if world.observer is None:
        raise ValueError(f"ruling: {world.name} has no observer")
    if not world.observer.asks(state):
        raise ValueError("ruling: a rule of the world rules here; leave it out, or set observer to human")
    if turns.question_of(world, state, turns.judge(world, state, answers).intents) is None:
        raise ValueError("ruling: nobody asks the observer in this turn; leave it out")
    return _parse_answer(world, state, OBSERVER, value)


def _parse_answer(world: AnyWorld, state: Any, agent: str, value: object) -> ParsedAnswer:  # noqa: ANN401  a world's own state
    """Return the parsed answer; it is given as text or as the object that the text would contain."""
    text = value if isinstance(value, str) else json.dumps(value)
    return read(agent, Reply(text, "step"), turns.answer_fields(world, state.setting, agent))


def _turn_json(played: "turns.Turn[Any, Any]") -> dict[str, Any]:
    observer = played.world.observer
    result = {
        **played.record.to_json(),
        "rulings": observer.ruled(played.judged.intents) if observer else {},
        "ledgers": played.resolved.ledgers,
    }
    return {name: result[name] for name in NOTHING}
