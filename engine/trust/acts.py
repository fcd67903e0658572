"""trust: the table of payoffs, and what each act does in a round.

Source: seed, section 3; decisions page, "Resolution". An act reads what was intended and carried out, never
what another act paid: all is at once. An act gives effects, and sats are the sum of effects.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from engine.chance import happens
from engine.record import Draw
from engine.trust.actions import Kind
from engine.trust.state import Deed, Effect, Ruling, State, TrustConfig, Unit
from engine.trust.validation import Intent

PAYOFFS: Mapping[str, tuple[str, int]] = {
    "high five returned": ("high_five", +1),
    "left hanging": ("left_hanging", -1),
    "attack": ("attack", +1),
    "attacked": ("attack", -1),
    "attack blocked": ("blocked", -1),
    "block": ("block", -1),
    "blocked an attack": ("block_reward", +1),
    "beg": ("beg", -1),
    "idle": ("idle", -1),
    "replicate": ("replicate_cost", -1),
    "born": ("clone_start", +1),
}
"""What each outcome pays: the number of the config, and whether it is gained or lost."""


def paid(config: TrustConfig, unit: str, outcome: str) -> Effect:
    """Give what an outcome pays a unit."""
    number, sign = PAYOFFS[outcome]
    return Effect(unit, outcome, sign * getattr(config, number))


@dataclass(frozen=True, eq=False)
class Play:
    """What the acts of a round read."""

    state: State
    intents: Mapping[str, Intent]
    deeds: Mapping[str, Deed]
    rulings: Mapping[str, Ruling]
    shock: int
    """Sats that a shock gives everyone this round; less than 0 if it takes them."""

    @property
    def config(self) -> TrustConfig:
        """The rules of this run."""
        return self.state.config

    @cached_property
    def by_kind(self) -> Mapping[Kind, list[Deed]]:
        """What was carried out, by kind, units by id."""
        found: dict[Kind, list[Deed]] = {}
        for deed in self.deeds.values():
            found.setdefault(deed.did, []).append(deed)
        return found

    def did(self, kind: Kind) -> list[Deed]:
        """List what was carried out of a kind."""
        return self.by_kind.get(kind, [])

    def returned(self, deed: Deed) -> bool:
        """Tell whether a high five's target carried out a high five at its author."""
        other = self.deeds.get(deed.target or "")
        return other is not None and other.did == "high_five" and other.target == deed.unit

    def blocks(self, unit: str | None) -> bool:
        """Tell whether a unit blocks this round."""
        return unit is not None and unit in self.deeds and self.deeds[unit].did == "block"


def carry_out(state: State, intents: Mapping[str, Intent]) -> tuple[dict[str, Deed], tuple[Draw, ...]]:
    """Give what comes of each intent: any may fail and be nothing, a high five may miss and be an attack."""
    deeds: dict[str, Deed] = {}
    draws: list[Draw] = []
    for unit in sorted(intents):
        intent = intents[unit]
        did: Kind = intent.action
        if did != "do_nothing" and _drawn(state, unit, "fumble", state.config.fumble, draws):
            did = "do_nothing"
        if did == "high_five" and _drawn(state, unit, "miss", state.config.miss, draws):
            did = "attack"
        deeds[unit] = Deed(unit, intent.action, did, intent.target, intent.chosen)
    return deeds, tuple(draws)


def _drawn(state: State, unit: str, event: str, percent: int, draws: list[Draw]) -> bool:
    """Draw whether something happens to a unit this round; what cannot be is not drawn."""
    if not percent:
        return False
    draws.append(happens(state.setting.seed, state.turn, unit, event, percent))
    return draws[-1].winner == "yes"


def high_fives(play: Play) -> Iterator[Effect]:
    """Two high fives at each other: +3 each. One that is not returned: -2, whatever else happens."""
    for deed in play.did("high_five"):
        yield paid(play.config, deed.unit, "high five returned" if play.returned(deed) else "left hanging")


def attacks(play: Play) -> Iterator[Effect]:
    """An attack takes 4 from its target; at a block it costs 3, and the blocker gains 2 for each."""
    for deed in play.did("attack"):
        if deed.target is None:
            continue
        if play.blocks(deed.target):
            yield paid(play.config, deed.unit, "attack blocked")
            yield paid(play.config, deed.target, "blocked an attack")
        else:
            yield paid(play.config, deed.unit, "attack")
            yield paid(play.config, deed.target, "attacked")


def blocks(play: Play) -> Iterator[Effect]:
    """A block costs 1, once, whoever comes."""
    return (paid(play.config, deed.unit, "block") for deed in play.did("block"))


def begs(play: Play) -> Iterator[Effect]:
    """To beg costs 1, always; what the observer grants comes from outside the game."""
    for deed in play.did("beg"):
        yield paid(play.config, deed.unit, "beg")
        if play.rulings[deed.unit].granted:
            yield Effect(deed.unit, "granted", play.rulings[deed.unit].granted)


def idleness(play: Play) -> Iterator[Effect]:
    """To do nothing costs 3 from the third turn in a row on."""
    for deed in play.did("do_nothing"):
        if play.state.unit[deed.unit].idle + 1 >= play.config.idle_turns:
            yield paid(play.config, deed.unit, "idle")


def gifts(play: Play) -> Iterator[Effect]:
    """Sats sent to an ally go from the one to the other."""
    for deed in play.did("send"):
        if deed.target is not None:
            yield Effect(deed.unit, "sent", -play.intents[deed.unit].amount)
            yield Effect(deed.target, "received", play.intents[deed.unit].amount)


def replicates(play: Play) -> Iterator[Effect]:
    """To replicate costs 50."""
    return (paid(play.config, deed.unit, "replicate") for deed in play.did("replicate"))


def shocks(play: Play) -> Iterator[Effect]:
    """A shock gives or takes from all; a high-fiver loses half of it, rounded up."""
    for unit in play.state.living:
        if play.shock:
            hardy = play.shock < 0 and high_fives_mostly(play, unit)
            yield Effect(unit.id, "shock", -((1 - play.shock) // 2) if hardy else play.shock)


def high_fives_mostly(play: Play, unit: Unit) -> bool:
    """Tell whether a unit carried out a high five in most of the last five rounds, this one included."""
    rounds = play.config.shock_rounds
    earlier = [turn for turn in unit.high_fived if turn > play.state.turn - rounds]
    return 2 * (len(earlier) + (play.deeds[unit.id].did == "high_five")) > rounds


Act: TypeAlias = Callable[[Play], Iterator[Effect]]

ACTS: tuple[Act, ...] = (high_fives, attacks, blocks, begs, idleness, gifts, replicates, shocks)
"""All acts of a round, in the order in which their effects are listed; no order changes a sum."""
