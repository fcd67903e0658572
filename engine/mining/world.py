"""mining as a world: its functions under the names of the contract."""

from hobbes.engine import reflection
from hobbes.engine.mining import state, validation
from hobbes.engine.mining.actions import KINDS
from hobbes.engine.mining.agent_turns import AGENT_TURNS
from hobbes.engine.mining.arithmetic import arithmetic
from hobbes.engine.mining.board import board
from hobbes.engine.mining.metrics import BY_NAME, UNITS, Spells, measures
from hobbes.engine.mining.policies import POLICIES
from hobbes.engine.mining.rules import EVENTS, resolve
from hobbes.engine.mining.state import MiningConfig, State
from hobbes.engine.mining.telling import TELLING
from hobbes.engine.mining.validation import Intent, validate
from hobbes.engine.mining.view import PRIVATE, draw_map, map_codes, observe
from hobbes.engine.world import Landmark, World

MINING: World[MiningConfig, State, Intent] = World(
    name="mining",
    rules_version=4,
    config=MiningConfig,
    action=lambda setting: validation.model_for(setting.config),
    setup=state.setup,
    actors=lambda state: state.setting.agents,
    owner=lambda _, agent: agent,
    observe=observe,
    private=lambda _: PRIVATE,
    validate=validate,
    resolve=resolve,
    over=lambda state: state.turn >= state.config.rounds,
    scores=lambda state: state.gold,
    score="gold",
    measures=measures,
    measures_version=1,
    formulas=BY_NAME,
    units=UNITS,
    headline=("efficiency", "raid_rate", "turnover", "plots_hhi", "gold_gini"),
    arithmetic=arithmetic,
    load=state.load,
    state=state.CODEC,
    intent=validation.CODEC,
    policies=POLICIES,
    names=lambda n: tuple(f"miner-{k:02}" for k in range(1, n + 1)),
    default_agents=10,
    picture=lambda state: [row.split(" ") for row in draw_map(state)],
    in_picture=map_codes,
    landmarks=(
        Landmark("raid", "raid"),
        Landmark("capture", "raid", {"result": "captured"}),
    ),
    acts=validation.acts,
    board=board,
    prompts=lambda config: "guided" if config.guidance else "unguided",
    events=EVENTS,
    telling=TELLING,
    codes={**validation.CODES, **reflection.CODES},
    agent_turns=AGENT_TURNS,
    shares=tuple(f"share_{kind}" for kind in KINDS),
    inequality=("gold_gini", "plots_hhi"),
    durations=("half_life", "first_raid"),
    spells=Spells,
)
"""The world `mining`.

Source: docs/rules/mining.md#agents, docs/rules/mining.md#end-and-score, docs/rules/mining.md#guidance.
"""
