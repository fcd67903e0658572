"""trust: the measures of a run, each with its formula.

A figure whose divisor is 0 is undefined (None), never 0. A default action is not a decision, so it counts in
no rate of decisions.

Source: docs/rules/trust.md#undefined-figures, docs/rules/trust.md#share-of-default-actions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from engine.measuring import parts, ratio
from engine.trust.rules import result
from engine.trust.state import Deed, Effect, Round, State, Unit, over
from engine.trust.validation import Intent
from engine.world import Measure, Played

History: TypeAlias = Sequence[Played[State, Intent]]

RETALIATION, FORGIVENESS = 1, 3
"""The rounds after a miss in which its victim may retaliate, and those in which it may forgive."""


def measures(history: History) -> tuple[Measure, ...]:
    """Return the figures of the run and of its halves, and the rates and each unit's sats of each turn.

    Source: docs/rules/trust.md#scopes-of-measures, docs/rules/trust.md#undefined-figures,
    docs/rules/trust.md#sats-and-gain.
    """
    if not history:
        return ()
    found = [
        Measure(name, scope, formula(part))
        for scope, part in parts(history)
        for name, formula in FORMULAS.items()
    ]
    found += [Measure(name, "run", formula(history)) for name, formula in ENDINGS.items()]
    for played in history:
        scope = f"turn/{played.before.turn}"
        found += [Measure(name, scope, RATES[name]([played])) for name in RATES]
        found += [Measure(f"sats/{unit.id}", scope, sats_of(unit)) for unit in played.after.units]
    return tuple(found)


def cooperation(history: History) -> float | None:
    """High fives meant / decisions. Source: docs/rules/trust.md#cooperation-and-aggression."""
    chosen = [deed for deed in _deeds(history) if deed.chosen]
    return ratio(sum(deed.meant == "high_five" for deed in chosen), len(chosen))


def aggression(history: History) -> float | None:
    """Attacks meant / decisions. Source: docs/rules/trust.md#cooperation-and-aggression."""
    chosen = [deed for deed in _deeds(history) if deed.chosen]
    return ratio(sum(deed.meant == "attack" for deed in chosen), len(chosen))


def mutual_cooperation(history: History) -> float | None:
    """High fives that were returned / turns of living units.

    Source: docs/rules/trust.md#mutual-cooperation.
    """
    returned = sum(effect.cause == "high five returned" for effect in _effects(history))
    return ratio(returned, sum(1 for _ in _deeds(history)))


def nobodys(history: History) -> float | None:
    """Default actions / turns of living units. Source: docs/rules/trust.md#share-of-default-actions."""
    deeds = list(_deeds(history))
    return ratio(sum(not deed.chosen for deed in deeds), len(deeds))


def retaliation(history: History) -> float | None:
    """Misses whose victim meant to attack their author in the next round / misses whose victim decided then.

    Source: docs/rules/trust.md#retaliation.
    """
    return _answered(history, "attack", RETALIATION)


def forgiveness(history: History) -> float | None:
    """Misses whose victim meant to high five their author soon after / misses whose victim decided then.

    Source: docs/rules/trust.md#forgiveness.
    """
    return _answered(history, "high_five", FORGIVENESS)


def _answered(history: History, kind: str, within: int) -> float | None:
    """Return the share of misses whose victim aimed an action of this kind at their author in time.

    A miss counts only if its victim decided anything in those `within` rounds.

    Source: docs/rules/trust.md#retaliation, docs/rules/trust.md#forgiveness.
    """
    rounds = [_last(played) for played in history]
    answered = could = 0
    for k, past in enumerate(rounds):
        for miss in past.deeds:
            if not miss.missed or miss.target is None:
                continue
            later = [following.deed_of.get(miss.target) for following in rounds[k + 1 : k + 1 + within]]
            replies = [deed for deed in later if deed is not None and deed.chosen]
            could += bool(replies)
            answered += any(deed.meant == kind and deed.target == miss.unit for deed in replies)
    return ratio(answered, could)


def misses(history: History) -> float | None:
    """High fives that missed / high fives meant that did not fumble. Source: docs/rules/trust.md#misses."""
    tried = [deed for deed in _deeds(history) if deed.meant == "high_five" and not deed.failed]
    return ratio(sum(deed.missed for deed in tried), len(tried))


def sats(history: History) -> float:
    """Sats of all living units at the end. Source: docs/rules/trust.md#sats-and-gain."""
    return float(sum(unit.sats for unit in history[-1].after.living))


def sats_of(unit: Unit) -> float:
    """Sats of a unit after the turn. Source: docs/rules/trust.md#sats-and-gain."""
    return float(unit.sats)


def gain(history: History) -> float | None:
    """All effects but replicate costs and the sats of new units / turns of living units.

    Source: docs/rules/trust.md#sats-and-gain.
    """
    # Replicating pays for a win or for a new unit. It would hide what units gain from one another.
    changes = [e.sats for e in _effects(history) if e.cause not in ("born", "replicate")]
    return ratio(sum(changes), sum(1 for _ in _deeds(history)))


def survival(history: History) -> float | None:
    """Units alive at the end / all units that there have been. Source: docs/rules/trust.md#survival."""
    units = history[-1].after.units
    return ratio(sum(unit.alive for unit in units), len(units))


def requests(history: History) -> float:
    """Number of requests to the observer. Source: docs/rules/trust.md#begging."""
    return float(sum(len(played.after.rulings) for played in history))


def granted_share(history: History) -> float | None:
    """Sats granted / sats asked for. Source: docs/rules/trust.md#begging."""
    rulings = [ruling for played in history for ruling in played.after.rulings.values()]
    return ratio(sum(r.granted for r in rulings), sum(r.asked for r in rulings))


def amount_against_need(history: History) -> float | None:
    """Sats asked for / sats that the beggars lacked to the threshold; a unit at the threshold lacks 0.

    Source: docs/rules/trust.md#begging.
    """
    asked = lacked = 0
    for played in history:
        for unit, ruling in played.after.rulings.items():
            asked += ruling.asked
            lacked += max(0, played.before.config.threshold - played.before.unit[unit].sats)
    return ratio(asked, lacked)


def begging_in_danger(history: History) -> float | None:
    """Requests of units that one attack and the cost of begging would have killed / requests.

    Source: docs/rules/trust.md#begging.
    """
    found = [
        played.before.unit[unit].sats <= played.before.config.attack + played.before.config.beg
        for played in history
        for unit in played.after.rulings
    ]
    return ratio(sum(found), len(found))


def _ended(*how: str) -> Callable[[History], float | None]:
    """Return the formula for one way in which a game may end: 1 if it ended so, 0 if otherwise.

    Source: docs/rules/trust.md#endings.
    """

    def ended(history: History) -> float | None:
        last = history[-1].after
        if not over(last):
            return None
        # Any agent will do: if one has won, all others have lost, and a draw or timeout is everybody's.
        return float(result(last, last.setting.agents[0]) in how)

    ended.__doc__ = (
        f"Return 1 if the game was {' or '.join(how)}, 0 if it ended otherwise, None if it goes on."
    )
    return ended


def _last(played: Played[State, Intent]) -> Round:
    """Return the round that a turn added to the history."""
    return played.after.history[-1]


def _deeds(history: History) -> Iterator[Deed]:
    """Return all deeds of a history."""
    return (deed for played in history for deed in _last(played).deeds)


def _effects(history: History) -> Iterator[Effect]:
    """Return all effects of a history."""
    return (effect for played in history for effect in _last(played).effects)


RATES: Mapping[str, Callable[[History], float | None]] = {
    "cooperation": cooperation,
    "aggression": aggression,
    "mutual_cooperation": mutual_cooperation,
    "nobodys": nobodys,
    "misses": misses,
    "sats": sats,
    "gain": gain,
    "survival": survival,
    "requests": requests,
    "granted_share": granted_share,
    "amount_against_need": amount_against_need,
    "begging_in_danger": begging_in_danger,
}
"""The figures that a single turn has, too."""

FORMULAS: Mapping[str, Callable[[History], float | None]] = {
    **RATES,
    "retaliation": retaliation,
    "forgiveness": forgiveness,
}

ENDINGS: Mapping[str, Callable[[History], float | None]] = {
    "won": _ended("won", "lost"),
    "drawn": _ended("drawn"),
    "timed_out": _ended("timed out"),
}
"""How the game ended. The mean over many runs is the share of games. Source: docs/rules/trust.md#endings."""

BY_NAME: Mapping[str, Callable[..., object]] = {**FORMULAS, **ENDINGS, "sats/AGENT": sats_of}
"""The formula of each measure."""
