"""trust: the table of payoffs, and the effects of each action in a round.

An act reads what units intended and what was carried out. It never reads what another act paid, because all
actions take effect at once. Each act yields effects, and sats change by the sum of the effects.

Source: docs/rules/trust.md#simultaneous-actions, docs/rules/trust.md#payoffs.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from hobbes.engine.chance import happens
from hobbes.engine.record import Draw
from hobbes.engine.trust.actions import Kind
from hobbes.engine.trust.state import Deed, Effect, Ruling, State, TrustConfig, Unit
from hobbes.engine.trust.validation import Intent

DID_NOTHING = "do nothing"
"""The cause of what `do_nothing` costs."""

PAYOFFS: Mapping[str, tuple[str, int]] = {
    "high five returned": ("high_five", +1),
    "left hanging": ("left_hanging", -1),
    "attack": ("attack", +1),
    "attacked": ("attack", -1),
    "attack blocked": ("blocked", -1),
    "block": ("block", -1),
    "blocked an attack": ("block_reward", +1),
    "beg": ("beg", -1),
    DID_NOTHING: ("do_nothing", -1),
    "replicate": ("replicate_cost", -1),
    "born": ("clone_start", +1),
}
"""Each outcome: the config field that says how many sats, and whether they are gained or lost.

Source: docs/rules/trust.md#payoffs.
"""


def payoff(config: TrustConfig, unit: str, outcome: str) -> Effect:
    """Return what an outcome pays a unit. Source: docs/rules/trust.md#payoffs."""
    number, sign = PAYOFFS[outcome]
    return Effect(unit, outcome, sign * getattr(config, number))


class Play(NamedTuple):
    """Everything that the acts of a round read. No act changes it."""

    state: State
    intents: Mapping[str, Intent]
    deeds: Mapping[str, Deed]
    by_kind: Mapping[Kind, list[Deed]]
    rulings: Mapping[str, Ruling]
    shock: int
    """The sats that a shock gives every unit this round; negative if it takes them."""

    @property
    def config(self) -> TrustConfig:
        """The rules of this run."""
        return self.state.setting.config

    def did(self, kind: Kind) -> list[Deed]:
        """Return the deeds of one kind."""
        return self.by_kind.get(kind, [])

    def returned(self, deed: Deed) -> bool:
        """Return whether the target of a high five also carried out a high five at the unit that gave it.

        Source: docs/rules/trust.md#high-five.
        """
        other = self.deeds.get(deed.target or "")
        return other is not None and other.did == "high_five" and other.target == deed.unit

    def blocks(self, unit: str | None) -> bool:
        """Return whether a unit blocks this round.

        Source: docs/rules/trust.md#attack, docs/rules/trust.md#block.
        """
        return unit is not None and unit in self.deeds and self.deeds[unit].did == "block"


def by_kind(deeds: Mapping[str, Deed]) -> dict[Kind, list[Deed]]:
    """Return the deeds by kind; within a kind they are sorted by unit."""
    found: dict[Kind, list[Deed]] = {}
    for deed in deeds.values():
        found.setdefault(deed.did, []).append(deed)
    return found


def carry_out(state: State, intents: Mapping[str, Intent]) -> tuple[dict[str, Deed], tuple[Draw, ...]]:
    """Turn each intent into a deed: any action may fumble; a high five may miss, or be misread by its target.

    Units are taken by id. A fumble is drawn before a miss, so a high five that fumbles cannot miss.

    Source: docs/rules/trust.md#miss, docs/rules/trust.md#fumble, docs/rules/trust.md#misreading.
    """
    deeds: dict[str, Deed] = {}
    draws: list[Draw] = []
    fumble, miss = state.config.fumble, state.config.miss
    for unit in sorted(intents):
        intent = intents[unit]
        fumbled = intent.chosen and _draw(state, unit, "fumble", fumble, draws)
        did: Kind = "do_nothing" if fumbled else intent.action
        if did == "high_five" and _draw(state, unit, "miss", miss, draws):
            did = "attack"
        misread = did == "high_five" and _draw(state, unit, "misread", state.config.misread, draws)
        deeds[unit] = Deed(unit, intent.action, did, intent.target, intent.chosen, fumbled, misread)
    return deeds, tuple(draws)


def _draw(state: State, unit: str, event: str, percent: int, draws: list[Draw]) -> bool:
    """Return whether an event happens to a unit this round, and append the random draw to `draws`.

    An event with a chance of 0 is not drawn.

    Source: docs/rules/trust.md#random-draws.
    """
    if not percent:
        return False
    draws.append(happens(state.setting.seed, state.turn, unit, event, percent))
    return draws[-1].winner == "yes"


def high_fives(play: Play) -> Iterator[Effect]:
    """Two units that high-five each other both gain; a high five that is not returned costs its unit.

    Source: docs/rules/trust.md#high-five.
    """
    for deed in play.did("high_five"):
        yield payoff(play.config, deed.unit, "high five returned" if play.returned(deed) else "left hanging")


def attacks(play: Play) -> Iterator[Effect]:
    """An attack takes sats from its target; a blocked attack costs the attacker and pays the blocker.

    Source: docs/rules/trust.md#attack, docs/rules/trust.md#block.
    """
    for deed in play.did("attack"):
        if deed.target is None:
            continue
        if play.blocks(deed.target):
            yield payoff(play.config, deed.unit, "attack blocked")
            yield payoff(play.config, deed.target, "blocked an attack")
        else:
            yield payoff(play.config, deed.unit, "attack")
            yield payoff(play.config, deed.target, "attacked")


def blocks(play: Play) -> Iterator[Effect]:
    """A block costs sats once, however many attacks it stops. Source: docs/rules/trust.md#block."""
    return (payoff(play.config, deed.unit, "block") for deed in play.did("block"))


def begs(play: Play) -> Iterator[Effect]:
    """Begging always costs sats; what the observer grants comes from outside the game.

    Source: docs/rules/trust.md#beg.
    """
    for deed in play.did("beg"):
        yield payoff(play.config, deed.unit, "beg")
        if play.rulings[deed.unit].granted:
            yield Effect(deed.unit, "granted", play.rulings[deed.unit].granted)


def pauses(play: Play) -> Iterator[Effect]:
    """Doing nothing costs sats after some rounds in a row; `do_nothing_rounds` says from which on.

    Source: docs/rules/trust.md#do-nothing.
    """
    for deed in play.did("do_nothing"):
        # `idle` counts the rounds before this one.
        if play.state.units_by_id[deed.unit].idle + 1 >= play.config.do_nothing_rounds:
            yield payoff(play.config, deed.unit, DID_NOTHING)


def gifts(play: Play) -> Iterator[Effect]:
    """Sats that a unit sends move to its target. Source: docs/rules/trust.md#send."""
    for deed in play.did("send"):
        if deed.target is not None:
            yield Effect(deed.unit, "sent", -play.intents[deed.unit].amount)
            yield Effect(deed.target, "received", play.intents[deed.unit].amount)


def replicates(play: Play) -> Iterator[Effect]:
    """Replicating costs sats, even if the unit dies this round. Source: docs/rules/trust.md#replicate."""
    return (payoff(play.config, deed.unit, "replicate") for deed in play.did("replicate"))


def shocks(play: Play) -> Iterator[Effect]:
    """A shock gives sats to all units or takes them; units that mostly high five lose half, rounded up.

    Source: docs/rules/trust.md#shock.
    """
    if not play.shock:
        return
    half = -((abs(play.shock) + 1) // 2)
    for unit in play.state.living:
        hardy = play.shock < 0 and high_fives_mostly(play, unit)
        yield Effect(unit.id, "shock", half if hardy else play.shock)


def high_fives_mostly(play: Play, unit: Unit) -> bool:
    """Return whether a unit carried out a high five in more than half of the last `shock_rounds` rounds.

    This round is one of them. A missed high five was carried out as an attack, so it does not count.
    """
    rounds = play.config.shock_rounds
    earlier = [turn for turn in unit.high_fived if turn > play.state.turn - rounds]
    return 2 * (len(earlier) + (play.deeds[unit.id].did == "high_five")) > rounds


ACTS: Mapping[Kind, Callable[[Play], Iterator[Effect]]] = {
    "high_five": high_fives,
    "attack": attacks,
    "block": blocks,
    "beg": begs,
    "do_nothing": pauses,
    "send": gifts,
    "replicate": replicates,
}
"""The act of each kind of deed, in the order in which their effects are listed. The order changes no sum.

Source: docs/rules/trust.md#simultaneous-actions.
"""


def effects(play: Play) -> Iterator[Effect]:
    """Yield the effects of all acts that were carried out, then those of a shock."""
    for kind, act in ACTS.items():
        if kind in play.by_kind:
            yield from act(play)
    yield from shocks(play)
