"""trust as a world: its functions under the contract's names."""

from string import ascii_lowercase

from hobbes.engine.trust import state, validation
from hobbes.engine.trust.board import PICTURE
from hobbes.engine.trust.metrics import MEASURES
from hobbes.engine.trust.policies import POLICIES
from hobbes.engine.trust.rules import ending, resolve
from hobbes.engine.trust.rulings import TRUST_OBSERVER
from hobbes.engine.trust.state import State, TrustConfig
from hobbes.engine.trust.telling import TELLING
from hobbes.engine.trust.validation import Intent, validate
from hobbes.engine.trust.view import observe, private
from hobbes.engine.world import World, in_letters


def names(n: int) -> tuple[str, ...]:
    """Return n names: unit-a to unit-z, then unit-aa, unit-ab and so on.

    Source: docs/rules/trust.md#unit-names.
    """
    return tuple(f"unit-{in_letters(k, ascii_lowercase)}" for k in range(n))


TRUST: World[TrustConfig, State, Intent] = World(
    name="trust",
    rules_version=4,
    config=TrustConfig,
    action=validation.action_of,
    bounds=validation.bounds,
    setup=state.setup,
    actors=state.actors,
    owner=state.owner,
    observe=observe,
    private=private,
    validate=validate,
    resolve=resolve,
    over=state.over,
    scores=state.scores,
    ending=ending,
    measures=MEASURES,
    state=state.CODEC,
    intent=validation.CODEC,
    policies=POLICIES,
    names=names,
    default_agents=2,
    picture=PICTURE,
    telling=TELLING,
    observer=TRUST_OBSERVER,
)
"""The world; its default prompt does not depend on the config. Source: docs/rules/trust.md#default-prompt."""
