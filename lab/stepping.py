"""`hobbes step WORLD`: the engine alone, JSON Lines in and out, no file."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.world import AnyWorld, settle
from nodes.journal import Reply
from nodes.reading import read

EMPTY: dict[str, Any] = {"intents": {}, "drops": [], "mends": [], "events": [], "draws": [], "ledgers": {}}


def step_lines(world: AnyWorld, lines: Iterable[str]) -> Iterator[str]:
    """Answer each line; one that is no request is answered with an error, and the next is read."""
    for line in lines:
        if line.strip():
            try:
                yield json.dumps(step(world, _request(line)))
            except ValueError as error:
                yield json.dumps({"error": str(error)})


def _request(line: str) -> dict[str, Any]:
    """Read a line; ValueError says what it is not."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(request, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  the asker's mistake, told as such
    unknown = sorted(request.keys() - {"config", "agents", "seed", "state", "answers"})
    if unknown:
        raise ValueError(f"unknown {', '.join(unknown)}; a request has config, agents, seed, state, answers")
    return request


def step(world: AnyWorld, request: Mapping[str, Any]) -> dict[str, Any]:
    """Give the state after the answers (before them, if there are none), with everyone's view of it."""
    agents, seed = request.get("agents", world.names(world.default_agents)), request.get("seed", 1)
    _check(
        isinstance(agents, list | tuple) and all(isinstance(a, str) for a in agents),
        "agents: a list of names",
    )
    _check(type(seed) is int, "seed: a whole number")
    config = request.get("config", {})
    _check(isinstance(config, dict), "config: an object")
    setting = settle(world, agents, seed, config)
    state = world.setup(setting.config, setting.agents, setting.seed)
    if request.get("state") is not None:
        _check(isinstance(request["state"], dict), "state: an object or null")
        state = world.load(setting, request["state"])
    happened = EMPTY
    if request.get("answers") is not None:
        _check(isinstance(request["answers"], dict), "answers: an object, one answer an agent")
        _check(not world.over(state), "answers: the game is over")
        state, happened = _play(world, state, request["answers"])
    return {
        "state": world.state.to_json(state),
        "views": {agent: world.observe(state, agent) for agent in world.actors(state)},
        **happened,
        "over": world.over(state),
        "scores": world.scores(state),
    }


def _play(world: AnyWorld, state: Any, answers: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401
    """Resolve one turn; an answer is the text of a model, or the object that the text would be."""
    actors = world.actors(state)
    strangers = sorted(answers.keys() - set(actors))
    _check(not strangers, f"answers: {', '.join(strangers)} cannot act now; these can: {', '.join(actors)}")
    intents, drops, mends = {}, [], []
    for agent in actors:
        if agent not in answers:
            continue
        said = answers[agent]
        reading = read(agent, Reply(said if isinstance(said, str) else json.dumps(said), "step"))
        judged = world.validate(state, agent, reading.said)
        intents[agent] = judged.intent
        drops += [*reading.drops, *judged.drops]
        mends += [*reading.mends, *judged.mends]
    resolved = world.resolve(state, intents)
    return resolved.state, {
        "intents": {agent: world.intent.to_json(intent) for agent, intent in intents.items()},
        "drops": [drop.to_json() for drop in drops],
        "mends": [mend.to_json() for mend in (*mends, *resolved.mends)],
        "events": [event.to_json() for event in resolved.events],
        "draws": [draw.to_json() for draw in resolved.draws],
        "ledgers": resolved.ledgers,
    }


def _check(holds: bool, problem: str) -> None:  # noqa: FBT001  a condition and what it means if it fails
    """Refuse a request."""
    if not holds:
        raise ValueError(problem)
