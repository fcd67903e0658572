"""fishery as a world: its functions under the contract's names."""

from pathlib import Path

from hobbes.engine.picture import Picture
from hobbes.engine.telling import Telling
from hobbes.engine.world import World
from tests.fishery import observer, rules, state, validation
from tests.fishery.actions import FisheryAction
from tests.fishery.metrics import MEASURES
from tests.fishery.observer import REGULATOR
from tests.fishery.policies import POLICIES
from tests.fishery.rules import EVENTS, resolve
from tests.fishery.state import FisheryConfig, State
from tests.fishery.validation import Intent
from tests.fishery.view import PRIVATE, observe, picture

PROMPTS = Path(__file__).parent / "prompts" / "plain"

FISHERY: World[FisheryConfig, State, Intent] = World(
    name="fishery",
    rules_version=1,
    config=FisheryConfig,
    action=lambda _: FisheryAction,
    setup=state.setup,
    observe=observe,
    private=lambda _: PRIVATE,
    validate=validation.validate,
    resolve=resolve,
    over=state.over,
    scores=lambda state: state.landed,
    measures=MEASURES,
    ending=state.ending,
    state=state.CODEC,
    intent=validation.CODEC,
    policies=POLICIES,
    names=lambda n: tuple(f"boat-{k:02}" for k in range(1, n + 1)),
    default_agents=3,
    picture=Picture(picture),
    prompts=lambda _: str(PROMPTS),
    telling=Telling(events=EVENTS, codes={**validation.CODES, **observer.CODES, **rules.CODES}),
    observer=REGULATOR,
)
