"""trust: the measures of a run, each with its formula.

A figure whose divisor is 0 is undefined (None), never 0. A default action is not a decision, so it counts in
no rate of decisions.

Source: docs/rules/trust.md#undefined-figures, docs/rules/trust.md#share-of-default-actions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from engine.measuring import parts, ratio
from engine.trust.rules import result
from engine.trust.state import Deed, Effect, Round, State, Unit, near_threshold, over
from engine.trust.validation import Intent
from engine.world import Measure, Played

History: TypeAlias = Sequence[Played[State, Intent]]

RETALIATION, FORGIVENESS = 1, 3
"""The rounds after a miss in which its victim may retaliate, and those in which it may forgive."""


def measures(history: History) -> tuple[Measure, ...]:
    """Return the figures of the run and of its halves, and the rates and each unit's sats of each turn.

    Source: docs/rules/trust.md#scopes-of-measures, docs/rules/trust.md#undefined-figures,
    docs/rules/trust.md#sats-and-gain, docs/rules/trust.md#spirals-of-retaliation.
    """
    if not history:
        return ()
    found = [
        Measure(name, scope, formula(part))
        for scope, part in parts(history)
        for name, formula in FORMULAS.items()
    ]
    found += [Measure(name, "run", formula(history)) for name, formula in OF_RUNS.items()]
    for played in history:
        scope = f"turn/{played.before.turn}"
        found += [Measure(name, scope, RATES[name]([played])) for name in RATES]
        found += [Measure(f"sats/{unit.id}", scope, sats_of(unit)) for unit in played.after.units]
    return tuple(found)


def cooperation(history: History) -> float | None:
    """Intended high fives / actions that were chosen.

    Source: docs/rules/trust.md#cooperation-and-aggression.
    """
    chosen = [deed for deed in _deeds(history) if deed.chosen]
    return ratio(sum(deed.meant == "high_five" for deed in chosen), len(chosen))


def aggression(history: History) -> float | None:
    """Intended attacks / actions that were chosen. Source: docs/rules/trust.md#cooperation-and-aggression."""
    chosen = [deed for deed in _deeds(history) if deed.chosen]
    return ratio(sum(deed.meant == "attack" for deed in chosen), len(chosen))


def aggression_near_threshold(history: History) -> float | None:
    """Intended attacks / actions that were chosen, by units with an opponent near the threshold.

    Source: docs/rules/trust.md#aggression-near-the-threshold.
    """
    return _aggression_where(history, near=True)


def aggression_elsewhere(history: History) -> float | None:
    """Intended attacks / actions that were chosen, by units without an opponent near the threshold.

    Source: docs/rules/trust.md#aggression-near-the-threshold.
    """
    return _aggression_where(history, near=False)


def _aggression_where(history: History, *, near: bool) -> float | None:
    """Return the share of attacks among the decisions of units that have, or have not, an opponent near.

    Source: docs/rules/trust.md#aggression-near-the-threshold.
    """
    chosen = [
        deed
        for played in history
        for deed in _last(played).deeds
        if deed.chosen and _faces_one_near(played.before, deed.unit) == near
    ]
    return ratio(sum(deed.meant == "attack" for deed in chosen), len(chosen))


def _faces_one_near(state: State, unit: str) -> bool:
    """Return whether a unit begins a round with an opponent near the threshold.

    Source: docs/rules/trust.md#aggression-near-the-threshold.
    """
    enough = near_threshold(state.config.threshold, state.config.high_five)
    return any(state.unit[opponent].sats >= enough for opponent in state.opponents(unit))


def mutual_cooperation(history: History) -> float | None:
    """High fives that were returned / turns of living units.

    Source: docs/rules/trust.md#mutual-cooperation.
    """
    returned = sum(effect.cause == "high five returned" for effect in _effects(history))
    return ratio(returned, sum(1 for _ in _deeds(history)))


def default_actions(history: History) -> float | None:
    """Default actions / turns of living units. Source: docs/rules/trust.md#share-of-default-actions."""
    deeds = list(_deeds(history))
    return ratio(sum(not deed.chosen for deed in deeds), len(deeds))


def retaliation(history: History) -> float | None:
    """Misses answered by an intended attack next round / misses after which the victim chose an action.

    Source: docs/rules/trust.md#retaliation.
    """
    return _answered(history, "attack", RETALIATION)


def forgiveness(history: History) -> float | None:
    """Misses answered by an intended high five soon after / misses after which the victim chose an action.

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


@dataclass(frozen=True, slots=True)
class Spiral:
    """A spiral of retaliation: its length in rounds, and what ended it.

    Source: docs/rules/trust.md#spirals-of-retaliation.
    """

    length: int
    ended_by: str


ENDED_BY: Mapping[str, str] = {
    "death": "the death of one of the two",
    "end": "the end of the run",
    "high_five": "a high five of the attacked unit",
    "block": "a block of the attacked unit",
    "other": "anything else",
}
"""What may end a spiral. Source: docs/rules/trust.md#spirals-of-retaliation."""


def spirals(history: History) -> float:
    """Number of spirals of retaliation. Source: docs/rules/trust.md#spirals-of-retaliation."""
    return float(len(list(_spirals(history))))


def spiral_length(history: History) -> float | None:
    """Rounds of all spirals / spirals. Source: docs/rules/trust.md#spirals-of-retaliation."""
    lengths = [spiral.length for spiral in _spirals(history)]
    return ratio(sum(lengths), len(lengths))


def longest_spiral(history: History) -> float | None:
    """Rounds of the longest spiral. Source: docs/rules/trust.md#spirals-of-retaliation."""
    return max((float(spiral.length) for spiral in _spirals(history)), default=None)


def _spirals_ended_by(how: str) -> Callable[[History], float | None]:
    """Return the formula for one way in which a spiral may end: spirals that ended in it / spirals.

    Source: docs/rules/trust.md#spirals-of-retaliation.
    """

    def ended_by(history: History) -> float | None:
        ends = [spiral.ended_by for spiral in _spirals(history)]
        return ratio(ends.count(how), len(ends))

    ended_by.__doc__ = f"Spirals ended by {ENDED_BY[how]} / spirals."
    return ended_by


def _spirals(history: History) -> Iterator[Spiral]:
    """Yield every spiral: for each pair, the longest rows of rounds with a retaliation in each but the first.

    Source: docs/rules/trust.md#spirals-of-retaliation.
    """
    answers: list[set[frozenset[str]]] = [set()]
    answers += [_retaliating(*two) for two in pairwise(map(_last, history))]
    for k, pairs in enumerate(answers):
        for pair in pairs - (answers[k - 1] if k else set()):
            last = next((j for j in range(k, len(answers)) if pair not in answers[j]), len(answers)) - 1
            yield Spiral(last - k + 2, _ended_by(history, last, pair))


def _retaliating(earlier: Round, later: Round) -> set[frozenset[str]]:
    """Return the pairs of which a unit was attacked by the other and attacks it on purpose in the next round.

    Source: docs/rules/trust.md#spirals-of-retaliation.
    """
    attacked = {(deed.target, deed.unit) for deed in earlier.deeds if deed.did == "attack" and deed.target}
    return {
        frozenset((deed.unit, str(deed.target)))
        for deed in later.deeds
        if deed.meant == deed.did == "attack" and (deed.unit, deed.target) in attacked
    }


def _ended_by(history: History, last: int, pair: frozenset[str]) -> str:
    """Return what ended a spiral after its last round.

    If both units were attacked in that round, a high five counts before a block, and a block before the rest.

    Source: docs/rules/trust.md#spirals-of-retaliation.
    """
    if any(not history[last].after.unit[unit].alive for unit in pair):
        return "death"
    if last + 1 == len(history):
        return "end"
    attacked = {
        d.target for d in _last(history[last]).deeds if d.did == "attack" and {d.unit, d.target} == pair
    }
    # A high five at somebody else is no answer to the attack.
    replies = {
        deed.meant
        for deed in _last(history[last + 1]).deeds
        if deed.unit in attacked and deed.target in (None, *pair)
    }
    return next((kind for kind in ("high_five", "block") if kind in replies), "other")


def misses(history: History) -> float | None:
    """High fives that missed / intended high fives that did not fumble.

    Source: docs/rules/trust.md#misses.
    """
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
    """Return the formula for one way in which a game may end: 1 if it ended in it, 0 if otherwise.

    Source: docs/rules/trust.md#endings.
    """

    def ended(history: History) -> float | None:
        last = history[-1].after
        if not over(last):
            return None
        # Any agent will do: if one has won, all others have lost, and a draw or timeout is everybody's.
        return float(result(last, last.setting.agents[0]) in how)

    ended.__doc__ = (
        f"1 if the game was {' or '.join(how)}, 0 if it ended otherwise; undefined while it goes on."
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
    "aggression_near_threshold": aggression_near_threshold,
    "aggression_elsewhere": aggression_elsewhere,
    "mutual_cooperation": mutual_cooperation,
    "default_actions": default_actions,
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

OF_RUNS: Mapping[str, Callable[[History], float | None]] = {
    **ENDINGS,
    "spirals": spirals,
    "spiral_length": spiral_length,
    "longest_spiral": longest_spiral,
    **{f"spiral_ended_by_{how}": _spirals_ended_by(how) for how in ENDED_BY},
}
"""The figures that only a whole run has. Source: docs/rules/trust.md#scopes-of-measures."""

BY_NAME: Mapping[str, Callable[..., object]] = {**FORMULAS, **OF_RUNS, "sats/AGENT": sats_of}
"""The formula of each measure."""
