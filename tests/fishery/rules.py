"""fishery: a round. The weather comes first, then the catches, then the new quota; then the stock regrows."""

from collections.abc import Mapping

from engine.chance import happens
from engine.record import Draw, Event, Mend, message
from engine.world import Resolved
from tests.fishery.observer import ruling_of
from tests.fishery.state import FisheryConfig, State
from tests.fishery.validation import NOBODYS, Intent

EVENTS: Mapping[str, str] = {
    "message": "a boat wrote to all others: text",
    "storm": "a storm halved all catches; its agent is empty",
    "landed": "a boat landed fish: tonnes",
    "quota": "the regulator set the quota; its agent is empty: quota, why",
    "regrown": "the stock regrew; its agent is empty: tonnes, stock",
}
"""The types of events, each with its fields."""


def resolve(state: State, intents: Mapping[str, Intent]) -> Resolved[State]:
    """Return what a round leads to."""
    acting = {boat: intents.get(boat, NOBODYS) for boat in state.setting.agents}
    storm, draws = weather(state)
    meant = {boat: intent.catch // (2 if storm else 1) for boat, intent in acting.items()}
    caught = shared_out(state.stock, meant)
    left = state.stock - sum(caught.values())
    regrown = growth(state.config, left)
    ruling = ruling_of(acting)
    after = State(
        state.setting,
        state.turn + 1,
        stock=left + regrown,
        quota=state.quota if ruling is None else ruling.quota,
        landed={boat: state.landed[boat] + tonnes for boat, tonnes in caught.items()},
        messages={boat: intent.message for boat, intent in acting.items() if intent.message},
        ruling=ruling,
    )
    events = [message(boat, text) for boat, text in after.messages.items()]
    events += [Event("storm", "", {})] if storm else []
    events += [Event("landed", boat, {"tonnes": tonnes}) for boat, tonnes in caught.items() if tonnes]
    events += [Event("quota", "", {"quota": ruling.quota, "why": ruling.why})] if ruling else []
    events += [Event("regrown", "", {"tonnes": regrown, "stock": after.stock})]
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
