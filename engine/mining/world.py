"""mining as a world: its functions under the names of the contract."""

from hobbes.engine.mining import state, validation
from hobbes.engine.mining.board import PICTURE
from hobbes.engine.mining.metrics import MEASURES
from hobbes.engine.mining.policies import POLICIES
from hobbes.engine.mining.rules import resolve
from hobbes.engine.mining.state import MiningConfig, State
from hobbes.engine.mining.telling import TELLING
from hobbes.engine.mining.validation import Intent, validate
from hobbes.engine.mining.view import PRIVATE, observe
from hobbes.engine.world import World

MINING: World[MiningConfig, State, Intent] = World(
    name="mining",
    rules_version=4,
    config=MiningConfig,
    action=validation.action_of,
    bounds=validation.bounds,
    setup=state.setup,
    observe=observe,
    private=lambda _: PRIVATE,
    validate=validate,
    resolve=resolve,
    scores=lambda state: state.gold,
    measures=MEASURES,
    state=state.CODEC,
    intent=validation.CODEC,
    policies=POLICIES,
    names=lambda n: tuple(f"miner-{k:02}" for k in range(1, n + 1)),
    default_agents=10,
    picture=PICTURE,
    prompts=lambda config: "guided" if config.guidance else "unguided",
    telling=TELLING,
)
"""The world `mining`.

Source: docs/rules/mining.md#agents, docs/rules/mining.md#end-and-score, docs/rules/mining.md#guidance.
"""
