"""fishery: a round. The weather comes first, then the catches, then the new quota; then the stock regrows."""

from collections.abc import Mapping

from hobbes.engine.chance import happens
from hobbes.engine.record import Draw, Event, Mend, message
from hobbes.engine.world import Resolved
from tests.fishery.observer import ruling_of
from tests.fishery.state import FisheryConfig, State
from tests.fishery.validation import NO_DECISION, Intent

EVENTS: Mapping[str, str] = {
    "message": "text: what a boat wrote to all others",
    "storm": "tonnes: what a storm took of a catch",
    "landed": "tonnes: what a boat landed",
    "request": "asked, quota, why: the quota that a boat asked for, and what the regulator ruled for all",
}
"""The types of events, each with its fields."""

CODES: Mapping[str, str] = {"fishery/too-few-fish": "boats that wanted more than the stock got shares of it"}
"""What the codes of a round mean."""


def resolve(state: State, intents: Mapping[str, Intent]) -> Resolved[State]:
    """Return what a round leads to."""
    acting = {boat: intents.get(boat, NO_DECISION) for boat in state.setting.agents}
    storm, draws = weather(state)
    meant = {boat: intent.catch // (2 if storm else 1) for boat, intent in acting.items()}
    caught = shared_out(state.stock, meant)
    left = state.stock - sum(caught.values())
    ruling = ruling_of(acting)
    after = State(
        state.setting,
        state.turn + 1,
        stock=left + growth(state.config, left),
        quota=state.quota if ruling is None else ruling.quota,
        landed={boat: state.landed[boat] + tonnes for boat, tonnes in caught.items()},
        messages={boat: intent.message for boat, intent in acting.items() if intent.message},
        ruling=ruling,
    )
    events = [message(boat, text) for boat, text in after.messages.items()]
    lost = {boat: acting[boat].catch - tonnes for boat, tonnes in meant.items()}
    events += [Event("storm", boat, {"tonnes": tonnes}) for boat, tonnes in lost.items() if tonnes]
    events += [Event("landed", boat, {"tonnes": tonnes}) for boat, tonnes in caught.items() if tonnes]
    events += [
        Event("request", boat, {"asked": intent.request, "quota": after.quota, "why": ruling.why})
        for boat, intent in acting.items()
        if ruling is not None and intent.request is not None
    ]
    mends = tuple(
        Mend(boat, "budget", "fishery/too-few-fish", {"catch": meant[boat]}, {"catch": caught[boat]})
        for boat in acting
        if caught[boat] < meant[boat]
    )
    return Resolved(after, tuple(events), draws, mends=mends)


def weather(state: State) -> tuple[bool, tuple[Draw, ...]]:
    """A storm halves all catches of a round, rounded down. With a chance of 0 nothing is drawn."""
    if not state.config.storm:
        return False, ()
    draw = happens(state.setting.seed, state.turn, "sea", "storm", state.config.storm)
    return draw.winner == "yes", (draw,)


def shared_out(stock: int, meant: Mapping[str, int]) -> dict[str, int]:
    """Boats that mean to catch more than there is get shares of it in proportion, rounded down."""
    total = sum(meant.values())
    return {boat: tonnes if total <= stock else tonnes * stock // total for boat, tonnes in meant.items()}


def growth(config: FisheryConfig, left: int) -> int:
    """The stock that is left grows by growth percent of itself, less the nearer it is to the capacity."""
    return max(0, config.growth * left * (config.capacity - left) // (100 * config.capacity))
