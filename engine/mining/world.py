"""mining as a world: its functions under the contract's names."""

from engine.mining import state, validation
from engine.mining.actions import MiningAction
from engine.mining.metrics import measures
from engine.mining.policies import POLICIES
from engine.mining.rules import EVENTS, resolve
from engine.mining.state import MiningConfig, State
from engine.mining.sums import sums
from engine.mining.validation import Intent, validate
from engine.mining.view import draw_map, observe
from engine.world import World

MINING: World[MiningConfig, State, Intent] = World(
    name="mining",
    config=MiningConfig,
    action=lambda _: MiningAction,
    setup=state.setup,
    actors=lambda state: state.setting.agents,
    owner=lambda _, agent: agent,
    observe=observe,
    validate=validate,
    resolve=resolve,
    over=lambda state: state.turn >= state.config.rounds,
    scores=lambda state: state.gold,
    measures=measures,
    sums=sums,
    load=state.load,
    state=state.CODEC,
    intent=validation.CODEC,
    policies=POLICIES,
    names=lambda n: tuple(f"miner-{k:02}" for k in range(1, n + 1)),
    default_agents=10,
    picture=lambda state: [row.split(" ") for row in draw_map(state)],
    prompts=lambda config: "guided" if config.guidance else "unguided",
    events=EVENTS,
)
