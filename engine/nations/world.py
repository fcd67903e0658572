"""nations as a world: its functions under the names of the contract."""

from collections.abc import Mapping
from string import ascii_uppercase

from hobbes.engine.nations import state, validation
from hobbes.engine.nations.board import PICTURE
from hobbes.engine.nations.metrics import MEASURES
from hobbes.engine.nations.policies import POLICIES
from hobbes.engine.nations.resolution import resolve
from hobbes.engine.nations.state import NationsConfig, State
from hobbes.engine.nations.telling import TELLING
from hobbes.engine.nations.validation import Intent, validate
from hobbes.engine.nations.view import observe, private, remembering
from hobbes.engine.world import World, in_letters


def names(n: int) -> tuple[str, ...]:
    """Return the default names of n agents: AgentA to AgentZ, then AgentAA, AgentAB and so on.

    Source: docs/rules/nations.md#agents.
    """
    return tuple(f"Agent{in_letters(k, ascii_uppercase)}" for k in range(n))


def scores(state: State) -> Mapping[str, int]:
    """Return each agent's score: its welfare, or for a bad actor its land or its damage to its target.

    Source: docs/rules/nations.md#score, docs/rules/nations.md#bad-actors.
    """
    scored = {}
    for agent in state.setting.agents:
        bad = state.config.bad_actors.get(agent)
        if bad is None:
            scored[agent] = state.welfare[agent]
        elif bad.target is None:
            scored[agent] = len(state.territories[agent])
        else:
            mils = state.attacked.get(agent, {}).get(bad.target, 0)
            scored[agent] = mils * state.constants.c_damage_per_attack_mil
    return scored


NATIONS: World[NationsConfig, State, Intent] = World(
    name="nations",
    rules_version=4,
    config=NationsConfig,
    action=validation.action_of,
    bounds=validation.bounds,
    setup=state.setup,
    observe=observe,
    remembering=remembering,
    private=private,
    validate=validate,
    resolve=resolve,
    scores=scores,
    measures=MEASURES,
    state=state.CODEC,
    intent=validation.CODEC,
    policies=POLICIES,
    names=names,
    picture=PICTURE,
    telling=TELLING,
    viewer_key="self",
)
"""The world under the contract. Source: docs/rules/nations.md#end-of-the-run."""
