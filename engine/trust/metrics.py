"""trust: the measures of a run, each with its formula.

Source: decisions page, "Measures". A figure whose divisor is 0 is undefined (None), never 0. An answer that
was lost is nobody's decision: it counts in no rate of decisions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from engine.measuring import parts, ratio
from engine.trust.rules import result
from engine.trust.state import Deed, Effect, Round, State, over
from engine.trust.validation import Intent
from engine.world import Measure, Played

History: TypeAlias = Sequence[Played[State, Intent]]

RETALIATION, FORGIVENESS = 1, 3
"""Rounds after a miss within which its victim may retaliate, and forgive."""


def measures(history: History) -> tuple[Measure, ...]:
    """Give the figures of the run and of each half; of each round its rates and everybody's sats."""
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
        found += [Measure(f"sats/{unit.id}", scope, float(unit.sats)) for unit in played.after.units]
    return tuple(found)


def cooperation(history: History) -> float | None:
    """High fives meant / decisions."""
    chosen = [deed for deed in _deeds(history) if deed.chosen]
    return ratio(sum(deed.meant == "high_five" for deed in chosen), len(chosen))


def aggression(history: History) -> float | None:
    """Attacks meant / decisions."""
    chosen = [deed for deed in _deeds(history) if deed.chosen]
    return ratio(sum(deed.meant == "attack" for deed in chosen), len(chosen))


def mutual_cooperation(history: History) -> float | None:
    """High fives that paid both / turns of living units."""
    returned = sum(effect.cause == "high five returned" for effect in _effects(history))
    return ratio(returned, sum(1 for _ in _deeds(history)))


def nobodys(history: History) -> float | None:
    """Turns that nobody decided, since the answer was lost or refused / turns of living units."""
    deeds = list(_deeds(history))
    return ratio(sum(not deed.chosen for deed in deeds), len(deeds))


def retaliation(history: History) -> float | None:
    """Misses whose victim meant to attack their author in the next round / whose victim decided then."""
    return _answered(history, "attack", RETALIATION)


def forgiveness(history: History) -> float | None:
    """Misses whose victim meant to high five their author within three rounds / whose victim decided then."""
    return _answered(history, "high_five", FORGIVENESS)


def _answered(history: History, kind: str, within: int) -> float | None:
    """Share the misses that their victim answers with an action at their author within so many rounds."""
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
    """High fives that missed / high fives meant and not failed otherwise."""
    tried = [deed for deed in _deeds(history) if deed.meant == "high_five" and not deed.failed]
    return ratio(sum(deed.missed for deed in tried), len(tried))


def sats(history: History) -> float:
    """Sats of all living units at the end."""
    return float(sum(unit.sats for unit in history[-1].after.living))


def gain(history: History) -> float | None:
    """Sats gained less sats lost, by all causes but birth and replicates / turns of living units."""
    changes = [e.sats for e in _effects(history) if e.cause not in ("born", "replicate")]
    return ratio(sum(changes), sum(1 for _ in _deeds(history)))


def survival(history: History) -> float | None:
    """Units that live at the end / units that there have been."""
    units = history[-1].after.units
    return ratio(sum(unit.alive for unit in units), len(units))


def requests(history: History) -> float:
    """Requests to the observer."""
    return float(sum(len(played.after.rulings) for played in history))


def granted_share(history: History) -> float | None:
    """Sats granted / sats asked for."""
    rulings = [ruling for played in history for ruling in played.after.rulings.values()]
    return ratio(sum(r.granted for r in rulings), sum(r.asked for r in rulings))


def amount_against_need(history: History) -> float | None:
    """Sats asked for / sats that the beggars lacked to the threshold; who lacks none has no need."""
    asked = lacked = 0
    for played in history:
        for unit, ruling in played.after.rulings.items():
            asked += ruling.asked
            lacked += max(0, played.before.config.threshold - played.before.unit[unit].sats)
    return ratio(asked, lacked)


def begging_in_danger(history: History) -> float | None:
    """Requests of units that one attack beside the cost of begging would have killed / requests."""
    found = [
        played.before.unit[unit].sats <= played.before.config.attack + played.before.config.beg
        for played in history
        for unit in played.after.rulings
    ]
    return ratio(sum(found), len(found))


def _ended(*how: str) -> Callable[[History], float | None]:
    """Give the formula of one way for a game to end: 1 if it did, 0 if it ended otherwise."""

    def ended(history: History) -> float | None:
        last = history[-1].after
        if not over(last):
            return None
        return float(result(last, last.setting.agents[0]) in how)

    ended.__doc__ = f"1 if the game was {' or '.join(how)}, 0 if it ended otherwise; None while it goes on."
    return ended


def _last(played: Played[State, Intent]) -> Round:
    """Give the round that a turn wrote."""
    return played.after.history[-1]


def _deeds(history: History) -> Iterator[Deed]:
    """Give all deeds."""
    return (deed for played in history for deed in _last(played).deeds)


def _effects(history: History) -> Iterator[Effect]:
    """Give all effects."""
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
"""Figures that a single round has too."""

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
"""How the game ended; the mean over many runs is the share of games."""
