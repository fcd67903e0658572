"""Games of scripted policies, played by the engine's steps alone: no graph, and no database."""

from collections.abc import Iterator, Mapping
from typing import Any

from hobbes.engine.memory import Memory
from hobbes.engine.turn import Turn, answer_fields, play_turn, views
from hobbes.engine.world import AnyWorld, Setting
from hobbes.nodes.players import PolicyPlayer, parse_spec
from hobbes.nodes.reading import read


def pure_turns(world: AnyWorld, setting: Setting[Any], models: Mapping[str, str]) -> Iterator[Turn[Any, Any]]:
    """Yield the turns of a game. Their records, and so the digest, are those of the same run on the graph.

    `models` has the spec of each agent's policy. The observer, if the world has one, has to be a rule of the
    world. A failed call leads to the default action, whatever `on_failure` says.
    """
    players = {
        agent: PolicyPlayer(world, parse_spec(world.policies, spec), setting.seed)
        for agent, spec in models.items()
    }
    state = world.setup(setting.config, setting.agents, setting.seed)
    memories: Mapping[str, Memory] = {}
    while not world.over(state):
        answers = {}
        for actor, view in views(world, state, memories).items():
            reply = players[world.owner(state, actor)].answer(state.turn, actor, view)
            answers[actor] = read(actor, reply, answer_fields(world, setting, actor))
        turn = play_turn(world, state, memories, answers)
        yield turn
        state, memories = turn.resolved.state, turn.memories
