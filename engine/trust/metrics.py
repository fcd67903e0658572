"""trust: the measures of a run, each with its formula.

A formula says what one turn adds to a measure; `engine.measures` adds up the turns.

A figure whose divisor is 0 is undefined (None), never 0. A default action is not a decision, so it counts in
no rate of decisions.

Source: docs/rules/trust.md#undefined-figures, docs/rules/trust.md#cooperation-and-aggression.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from hobbes.engine.measures import (
    Formula,
    Formulas,
    Measures,
    PlayedTurn,
    at_end,
    keeping,
    ratio,
    share,
    total,
)
from hobbes.engine.trust.actions import Kind
from hobbes.engine.trust.agent_turns import AGENT_TURNS
from hobbes.engine.trust.arithmetic import arithmetic
from hobbes.engine.trust.rules import result, winners
from hobbes.engine.trust.state import Deed, Round, State, near_threshold, over
from hobbes.engine.trust.validation import Intent

TrustTurn: TypeAlias = PlayedTurn[State, Intent]

RETALIATION, FORGIVENESS = 1, 3
"""The rounds after a miss in which its victim may retaliate, and those in which it may forgive."""


@share
def cooperation(played: TrustTurn) -> tuple[int, int]:
    """Intended high fives / actions that were chosen; to replicate is such an action.

    Source: docs/rules/trust.md#cooperation-and-aggression.
    """
    return _share_of("high_five", _chosen_deeds(played))


@share
def aggression(played: TrustTurn) -> tuple[int, int]:
    """Intended attacks / actions that were chosen. Source: docs/rules/trust.md#cooperation-and-aggression."""
    return _share_of("attack", _chosen_deeds(played))


@share
def aggression_near_threshold(played: TrustTurn) -> tuple[int, int]:
    """Intended attacks / actions that were chosen, by units with an opponent near the threshold.

    Source: docs/rules/trust.md#aggression-near-the-threshold.
    """
    chosen = _chosen_deeds(played)
    return _share_of("attack", [deed for deed in chosen if _faces_one_near(played.before, deed.unit)])


@share
def aggression_elsewhere(played: TrustTurn) -> tuple[int, int]:
    """Intended attacks / actions that were chosen, by units without an opponent near the threshold.

    Source: docs/rules/trust.md#aggression-near-the-threshold.
    """
    chosen = _chosen_deeds(played)
    return _share_of("attack", [deed for deed in chosen if not _faces_one_near(played.before, deed.unit)])


def _share_of(kind: Kind, chosen: Sequence[Deed]) -> tuple[int, int]:
    """Return how many of the deeds were meant to be of a kind, and how many there are."""
    return sum(deed.meant == kind for deed in chosen), len(chosen)


def _faces_one_near(state: State, unit: str) -> bool:
    """Return whether a unit begins a round with an opponent near the threshold."""
    enough = near_threshold(state.config.threshold, state.config.high_five)
    return any(state.units_by_id[opponent].sats >= enough for opponent in state.opponents(unit))


@share
def mutual_cooperation(played: TrustTurn) -> tuple[int, int]:
    """High fives that were returned / turns of living units.

    Source: docs/rules/trust.md#mutual-cooperation.
    """
    this_round = _round_of(played)
    return sum(effect.cause == "high five returned" for effect in this_round.effects), len(this_round.deeds)


@dataclass(slots=True)
class _Miss:
    """A miss, and what its victim chose in the rounds after it."""

    deed: Deed
    rounds_left: int
    decided: bool = False
    answered: bool = False


class _Replies:
    """Counts the misses whose victim aimed an action of a kind at their author within some rounds.

    A miss counts only if its victim decided anything in those rounds.
    """

    def __init__(self, kind: Kind, within: int) -> None:
        self.kind = kind
        self.within = within
        self.answered = self.counted = 0
        self.open: list[_Miss] = []

    def add(self, played: TrustTurn) -> None:
        """Add a round: replies to earlier misses, then its own misses."""
        this_round = _round_of(played)
        for miss in self.open:
            self._see_reply(miss, this_round.deed_of.get(str(miss.deed.target)))
        self.open = [miss for miss in self.open if miss.rounds_left]
        self.open += [
            _Miss(deed, self.within) for deed in this_round.deeds if deed.missed and deed.target is not None
        ]

    def _see_reply(self, miss: _Miss, reply: Deed | None) -> None:
        """Count what the victim of a miss did in a round; None if it was dead."""
        miss.rounds_left -= 1
        if reply is None or not reply.chosen:
            return
        self.counted += not miss.decided
        miss.decided = True
        if not miss.answered and (reply.meant, reply.target) == (self.kind, miss.deed.unit):
            self.answered += 1
            miss.answered = True


@keeping(partial(_Replies, "attack", RETALIATION))
def retaliation(replies: _Replies) -> float | None:
    """Misses answered by an intended attack next round / misses after which the victim chose an action.

    Source: docs/rules/trust.md#retaliation.
    """
    return ratio(replies.answered, replies.counted)


@keeping(partial(_Replies, "high_five", FORGIVENESS))
def forgiveness(replies: _Replies) -> float | None:
    """Misses answered by an intended high five soon after / misses after which the victim chose an action.

    Source: docs/rules/trust.md#forgiveness.
    """
    return ratio(replies.answered, replies.counted)


class _Spirals:
    """Counts the spirals: the longest series of rounds of a pair with a retaliation in all but the first."""

    def __init__(self) -> None:
        self.number = 0
        self.longest = 0
        self.open: dict[frozenset[str], int] = {}
        """The length so far of the spiral of each pair that retaliated in the last round."""
        self.last: Round | None = None

    def add(self, played: TrustTurn) -> None:
        """Add a round."""
        this_round = _round_of(played)
        pairs = _retaliating_pairs(self.last, this_round) if self.last else set()
        self.number += len(pairs - self.open.keys())
        self.open = {pair: self.open.get(pair, 1) + 1 for pair in pairs}
        self.longest = max(self.longest, *self.open.values(), 0)
        self.last = this_round


@keeping(_Spirals)
def spirals(seen: _Spirals) -> float:
    """Number of spirals of retaliation. Source: docs/rules/trust.md#spirals-of-retaliation."""
    return float(seen.number)


@keeping(_Spirals)
def longest_spiral(seen: _Spirals) -> float | None:
    """Rounds of the longest spiral. Source: docs/rules/trust.md#spirals-of-retaliation."""
    return float(seen.longest) if seen.number else None


def _retaliating_pairs(earlier: Round, later: Round) -> set[frozenset[str]]:
    """Return the pairs of which a unit was attacked by the other and attacks it on purpose the next round."""
    attacked = {(deed.target, deed.unit) for deed in earlier.deeds if deed.did == "attack" and deed.target}
    return {
        frozenset((deed.unit, str(deed.target)))
        for deed in later.deeds
        if deed.meant == deed.did == "attack" and (deed.unit, deed.target) in attacked
    }


@share
def misses(played: TrustTurn) -> tuple[int, int]:
    """High fives that missed / intended high fives that did not fumble.

    Source: docs/rules/trust.md#misses.
    """
    tried = [deed for deed in _round_of(played).deeds if deed.meant == "high_five" and not deed.failed]
    return sum(deed.missed for deed in tried), len(tried)


@at_end
def sats(played: TrustTurn) -> float:
    """Sats of all living units at the end. Source: docs/rules/trust.md#sats-and-gain."""
    return float(sum(unit.sats for unit in played.after.living))


@at_end
def sats_of(played: TrustTurn) -> Mapping[str, float]:
    """Sats of each unit after the turn. Source: docs/rules/trust.md#sats-and-gain."""
    return {unit.id: float(unit.sats) for unit in played.after.units}


@share
def gain(played: TrustTurn) -> tuple[int, int]:
    """All effects but replicate costs and the sats of new units / turns of living units.

    Source: docs/rules/trust.md#sats-and-gain.
    """
    this_round = _round_of(played)
    # Replicating pays for a win or for a new unit. It would hide what units gain from one another.
    gained = sum(e.sats for e in this_round.effects if e.cause not in ("born", "replicate"))
    return gained, len(this_round.deeds)


@at_end
def survival(played: TrustTurn) -> float | None:
    """Units alive at the end / all units that there have been. Source: docs/rules/trust.md#survival."""
    units = played.after.units
    return ratio(sum(unit.alive for unit in units), len(units))


@total
def requests(played: TrustTurn) -> float:
    """Number of requests to the observer. Source: docs/rules/trust.md#begging."""
    return float(len(played.after.rulings))


@share
def granted_share(played: TrustTurn) -> tuple[int, int]:
    """Sats granted / sats asked for. Source: docs/rules/trust.md#begging."""
    rulings = played.after.rulings.values()
    return sum(r.granted for r in rulings), sum(r.asked for r in rulings)


@share
def amount_against_need(played: TrustTurn) -> tuple[int, int]:
    """Sats asked for / sats that the beggars lacked to the threshold; a unit at the threshold lacks 0.

    Source: docs/rules/trust.md#begging.
    """
    rulings, before = played.after.rulings, played.before
    asked = sum(ruling.asked for ruling in rulings.values())
    return asked, sum(max(0, before.config.threshold - before.units_by_id[unit].sats) for unit in rulings)


def _game_ended_as(meaning: str, *how: str) -> Formula[TrustTurn, float | None]:
    """Return the formula for one way in which a game may end, with its meaning."""

    def ended(played: TrustTurn) -> float | None:
        last = played.after
        if not over(last):
            return None
        # Any agent will do: if one has won, all others have lost, and a draw or timeout is everybody's.
        return float(result(last, last.setting.agents[0]) in how)

    ended.__doc__ = f"1 if {meaning}, 0 if the game ended otherwise; undefined while it goes on."
    return at_end(ended)


def _round_of(played: TrustTurn) -> Round:
    return played.after.history[-1]


def _chosen_deeds(played: TrustTurn) -> list[Deed]:
    return [deed for deed in _round_of(played).deeds if deed.chosen]


OF_TURNS: Formulas[TrustTurn] = {
    "cooperation": cooperation,
    "aggression": aggression,
    "aggression_near_threshold": aggression_near_threshold,
    "aggression_elsewhere": aggression_elsewhere,
    "mutual_cooperation": mutual_cooperation,
    "misses": misses,
    "sats": sats,
    "gain": gain,
    "survival": survival,
    "requests": requests,
    "granted_share": granted_share,
    "amount_against_need": amount_against_need,
}
"""The figures of a single turn. A run and its halves have them as well."""

ENDINGS: Formulas[TrustTurn] = {
    "won": _game_ended_as("an agent won the game (in a race: a unit replicated)", "won", "lost"),
    "drawn": _game_ended_as("the game was a draw", "drawn"),
    "timed_out": _game_ended_as("all rounds were played and nobody won", "timed out"),
}
"""How the game ended. The mean over many runs is the share of games that ended so.

Source: docs/rules/trust.md#endings.
"""

OF_RUNS: Formulas[TrustTurn] = {**ENDINGS, "spirals": spirals, "longest_spiral": longest_spiral}
"""The figures that only a whole run has. Source: docs/rules/trust.md#scopes-of-measures."""

UNITS: Mapping[str, str] = {
    **dict.fromkeys(("sats", "sats/AGENT"), "sats"),
    "gain": "sats per unit and round",
    "requests": "requests",
    "spirals": "spirals",
    "longest_spiral": "rounds",
}
"""The units of measures that are no shares."""

MEASURES: Measures[State, Intent] = Measures(
    version=2,
    each={**OF_TURNS, "sats/AGENT": sats_of},
    parts={**OF_TURNS, "retaliation": retaliation, "forgiveness": forgiveness},
    run=OF_RUNS,
    score="sats",
    units=UNITS,
    headline=("cooperation", "aggression", "gain", "survival"),
    cooperation={"cooperation": "high five", "mutual_cooperation": "returned high five"},
    shares=("cooperation", "aggression"),
    winners=winners,
    arithmetic=arithmetic,
    agent_turns=AGENT_TURNS,
)
"""The figures of a run and its halves, and those of each turn.

Source: docs/rules/trust.md#scopes-of-measures, docs/rules/trust.md#undefined-figures,
docs/rules/trust.md#sats-and-gain, docs/rules/trust.md#spirals-of-retaliation.
"""
