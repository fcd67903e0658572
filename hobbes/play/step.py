"""`hobbes step WORLD`: the engine alone; it reads and writes JSON Lines and touches no file."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from hobbes.engine import turn as turns
from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.memory import Memory
from hobbes.engine.world import OBSERVER, AnyWorld, in_one_line, make_setting
from hobbes.nodes.journal import Reply
from hobbes.nodes.reading import read
from hobbes.nodes.turn_state import memories_from


class StepRequest(BaseModel):
    """A request, as docs/json.md describes it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    config: dict[str, Any] = {}
    agents: list[str] | None = None
    seed: int = 1
    state: dict[str, Any] | None = None
    memories: dict[str, dict[str, Any]] = {}
    answers: dict[str, Any] | None = None
    ruling: str | dict[str, Any] | None = None


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


def step_lines(world: AnyWorld, lines: Iterable[str | bytes]) -> Iterator[str]:
    """Yield one line of JSON for each line; a line that is not a valid request gives `{"error": …}`."""
    for line in lines:
        if line.strip():
            try:
                yield json.dumps(step(world, _request(line)))
            except ValueError as error:
                yield json.dumps({"error": str(error)})


def _request(line: str | bytes) -> StepRequest:
    try:
        return StepRequest.model_validate_json(line)
    except ValidationError as error:
        keys = ", ".join(StepRequest.model_fields)
        raise ValueError(f"{in_one_line(error)}; the keys of a request are {keys}") from error


def step(world: AnyWorld, request: StepRequest) -> dict[str, Any]:
    """Return the state after the answers, with every agent's view of it, and what happened in the turn.

    Without answers, return the state as it is. The request may have the memories and the observer's ruling.
    Raise ValueError, with one line, if the request is wrong.
    """
    agents = request.agents if request.agents is not None else world.names(world.default_agents)
    setting = make_setting(world, agents, request.seed, request.config)
    state = world.setup(setting.config, setting.agents, setting.seed)
    if request.state is not None:
        state = world.state.load(setting, request.state)
    memories = _memories(world, state, request.memories)
    happened = NOTHING
    if request.answers is None:
        if request.ruling is not None:
            raise ValueError("ruling: without answers, no turn is played; give both or neither")
    else:
        if world.over(state):
            raise ValueError("answers: the game is over; leave them out")
        answers = _parse_answers(world, state, request.answers)
        ruling = None if request.ruling is None else _parse_ruling(world, state, answers, request.ruling)
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
