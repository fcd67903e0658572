"""trust: the measures of a run, each with its formula.

A formula says what one turn adds to a measure; `engine.measures` adds up the turns.

A figure whose divisor is 0 is undefined (None), never 0. A default action is not a decision, so it counts in
no rate of decisions.

Source: docs/rules/trust.md#undefined-figures, docs/rules/trust.md#share-of-default-actions.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from hobbes.engine.trust.rules import result
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
    """Return whether a unit begins a round with an opponent near the threshold.

    Source: docs/rules/trust.md#aggression-near-the-threshold.
    """
    enough = near_threshold(state.config.threshold, state.config.high_five)
    return any(state.units_by_id[opponent].sats >= enough for opponent in state.opponents(unit))


@share
def mutual_cooperation(played: TrustTurn) -> tuple[int, int]:
    """High fives that were returned / turns of living units.

    Source: docs/rules/trust.md#mutual-cooperation.
    """
    this_round = _round_of(played)
    return sum(effect.cause == "high five returned" for effect in this_round.effects), len(this_round.deeds)


class _Cooperation:
    """Counts the rounds in which nobody replicated, and keeps the last one with a high five returned.

    Source: docs/rules/trust.md#end-of-cooperation.
    """

    def __init__(self) -> None:
        self.rounds = 0
        self.last = 0

    def add(self, played: TrustTurn) -> None:
        """Add a round."""
        this_round = _round_of(played)
        if any(deed.did == "replicate" for deed in this_round.deeds):
            return
        self.rounds += 1
        if any(effect.cause == "high five returned" for effect in this_round.effects):
            self.last = self.rounds


@keeping(_Cooperation)
def end_of_cooperation(seen: _Cooperation) -> float | None:
    """Rounds up to and with the last one with a high five returned; undefined if that went on to the end.

    Rounds in which a unit replicated do not count. If no high five was ever returned, it is 0.

    Source: docs/rules/trust.md#end-of-cooperation.
    """
    return None if seen.last == seen.rounds else float(seen.last)


@share
def default_actions(played: TrustTurn) -> tuple[int, int]:
    """Default actions / turns of living units. Source: docs/rules/trust.md#share-of-default-actions."""
    deeds = _round_of(played).deeds
    return sum(not deed.chosen for deed in deeds), len(deeds)


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

    Source: docs/rules/trust.md#retaliation, docs/rules/trust.md#forgiveness.
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


class _Spirals:
    """Counts the spirals: the longest series of rounds of a pair with a retaliation in all but the first.

    Source: docs/rules/trust.md#spirals-of-retaliation.
    """

    def __init__(self) -> None:
        self.ended = Counter[Spiral]()
        self.open: dict[frozenset[str], int] = {}
        """The length so far of the spiral of each pair that retaliated in the last round."""
        self.state_before: State | None = None
        """The state after the last round."""

    def add(self, played: TrustTurn) -> None:
        """Add a round."""
        this_round = _round_of(played)
        pairs = _retaliating_pairs(_last_of(self.state_before), this_round) if self.state_before else set()
        self.ended.update(self._ended_spirals(self.open.keys() - pairs, this_round))
        self.open = {pair: self.open.get(pair, 1) + 1 for pair in pairs}
        self.state_before = played.after

    @property
    def all(self) -> Counter[Spiral]:
        """All spirals, with those that the end of the run ends."""
        return self.ended + Counter(self._ended_spirals(self.open.keys(), None))

    def _ended_spirals(self, pairs: Iterable[frozenset[str]], following: Round | None) -> Iterator[Spiral]:
        """Yield the spirals of pairs that are over after the last round; `following` is the next one."""
        for pair in pairs:
            assert self.state_before is not None  # noqa: S101  a pair has retaliated in it
            yield Spiral(self.open[pair], _cause_of_end(self.state_before, following, pair))


@keeping(_Spirals)
def spirals(found: _Spirals) -> float:
    """Number of spirals of retaliation. Source: docs/rules/trust.md#spirals-of-retaliation."""
    return float(found.all.total())


@keeping(_Spirals)
def spiral_length(found: _Spirals) -> float | None:
    """Rounds of all spirals / spirals. Source: docs/rules/trust.md#spirals-of-retaliation."""
    return ratio(sum(spiral.length * n for spiral, n in found.all.items()), found.all.total())


@keeping(_Spirals)
def longest_spiral(found: _Spirals) -> float | None:
    """Rounds of the longest spiral. Source: docs/rules/trust.md#spirals-of-retaliation."""
    return max((float(spiral.length) for spiral in found.all), default=None)


def _spirals_ended_by(how: str) -> Formula[TrustTurn, float | None]:
    """Return the formula for one way in which a spiral may end: spirals that ended in it / spirals.

    Source: docs/rules/trust.md#spirals-of-retaliation.
    """

    def ended_by(found: _Spirals) -> float | None:
        ended = sum(n for spiral, n in found.all.items() if spiral.ended_by == how)
        return ratio(ended, found.all.total())

    ended_by.__doc__ = f"Spirals ended by {ENDED_BY[how]} / spirals."
    return keeping(_Spirals)(ended_by)


def _retaliating_pairs(earlier: Round, later: Round) -> set[frozenset[str]]:
    """Return the pairs of which a unit was attacked by the other and attacks it on purpose in the next round.

    Source: docs/rules/trust.md#spirals-of-retaliation.
    """
    attacked = {(deed.target, deed.unit) for deed in earlier.deeds if deed.did == "attack" and deed.target}
    return {
        frozenset((deed.unit, str(deed.target)))
        for deed in later.deeds
        if deed.meant == deed.did == "attack" and (deed.unit, deed.target) in attacked
    }


def _cause_of_end(last: State, following: Round | None, pair: frozenset[str]) -> str:
    """Return what ended a spiral: `last` is the state after its last round, `following` the round after that.

    If both units were attacked in that round, a high five counts before a block, and a block before the rest.

    Source: docs/rules/trust.md#spirals-of-retaliation.
    """
    if any(not last.units_by_id[unit].alive for unit in pair):
        return "death"
    if following is None:
        return "end"
    attacked = {d.target for d in _last_of(last).deeds if d.did == "attack" and {d.unit, d.target} == pair}
    # A high five at somebody else is no answer to the attack.
    replies = {
        deed.meant for deed in following.deeds if deed.unit in attacked and deed.target in (None, *pair)
    }
    return next((kind for kind in ("high_five", "block") if kind in replies), "other")


@dataclass(slots=True)
class _Alliances:
    """Counts declared alliances and their rounds, who left one first, and what those who left did next.

    Source: docs/rules/trust.md#measures-of-alliances.
    """

    made: int = 0
    rounds: int = 0
    """The rounds in which an alliance was in force, added up over all alliances."""
    first: frozenset[str] | None = None
    """The agents that were the first to leave an alliance."""
    agents: tuple[str, ...] = ()
    decided: int = 0
    """How often a unit that had left chose an action in the next round."""
    next_meant: Counter[Kind] = field(default_factory=Counter)
    """What such units meant to do to their former allies."""

    def add(self, played: TrustTurn) -> None:
        """Add a round."""
        before, after = played.before, played.after
        self.agents = before.setting.agents
        self.made += sum(one.step == "ally" for one in after.declared)
        self.rounds += len(before.pacts)
        left = frozenset(before.units_by_id[one.unit].team for one in after.declared if one.step == "leave")
        self.first = self.first or left or None
        deeds = _round_of(played).deed_of
        for one in before.declared:
            deed = deeds.get(one.unit)
            if one.step == "leave" and deed is not None and deed.chosen:
                self.decided += 1
                if deed.target is not None and before.units_by_id[deed.target].team == one.target:
                    self.next_meant[deed.meant] += 1


@keeping(_Alliances)
def alliances_made(found: _Alliances) -> float:
    """Number of alliances that agents declared. Source: docs/rules/trust.md#measures-of-alliances."""
    return float(found.made)


@keeping(_Alliances)
def alliance_length(found: _Alliances) -> float | None:
    """Rounds of all declared alliances / alliances; one that still holds counts up to the end.

    Source: docs/rules/trust.md#measures-of-alliances.
    """
    return ratio(found.rounds, found.made)


@keeping(_Alliances)
def left_first(found: _Alliances) -> Mapping[str, float | None]:
    """1 for the agent that was the first to leave an alliance, 0 for others; undefined if nobody left one.

    Source: docs/rules/trust.md#measures-of-alliances.
    """
    first = found.first
    return {agent: None if first is None else float(agent in first) for agent in found.agents}


@keeping(_Alliances)
def attack_after_leaving(found: _Alliances) -> float | None:
    """Intended attacks on a former ally right after leaving / leavings after which an action was chosen.

    Source: docs/rules/trust.md#measures-of-alliances.
    """
    return ratio(found.next_meant["attack"], found.decided)


@keeping(_Alliances)
def high_five_after_leaving(found: _Alliances) -> float | None:
    """Intended high fives at a former ally right after leaving / leavings after which an action was chosen.

    Source: docs/rules/trust.md#measures-of-alliances.
    """
    return ratio(found.next_meant["high_five"], found.decided)


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


@share
def begging_in_danger(played: TrustTurn) -> tuple[int, int]:
    """Requests of units that one attack and the cost of begging would have killed / requests.

    Source: docs/rules/trust.md#begging.
    """
    before, beggars = played.before, played.after.rulings
    deadly = before.config.attack + before.config.beg
    return sum(before.units_by_id[unit].sats <= deadly for unit in beggars), len(beggars)


def _game_ended_as(meaning: str, *how: str) -> Formula[TrustTurn, float | None]:
    """Return the formula for one way in which a game may end, with its meaning.

    Source: docs/rules/trust.md#endings.
    """

    def ended(played: TrustTurn) -> float | None:
        last = played.after
        if not over(last):
            return None
        # Any agent will do: if one has won, all others have lost, and a draw or timeout is everybody's.
        return float(result(last, last.setting.agents[0]) in how)

    ended.__doc__ = f"1 if {meaning}, 0 if the game ended otherwise; undefined while it goes on."
    return at_end(ended)


def _round_of(played: TrustTurn) -> Round:
    return _last_of(played.after)


def _last_of(state: State) -> Round:
    return state.history[-1]


def _chosen_deeds(played: TrustTurn) -> list[Deed]:
    return [deed for deed in _round_of(played).deeds if deed.chosen]


OF_TURNS: Formulas[TrustTurn] = {
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
"""The figures of a single turn. A run and its halves have them as well."""

FORMULAS: Formulas[TrustTurn] = {
    **OF_TURNS,
    "retaliation": retaliation,
    "forgiveness": forgiveness,
}

ENDINGS: Formulas[TrustTurn] = {
    "won": _game_ended_as("an agent won the game (in a race: a unit replicated)", "won", "lost"),
    "drawn": _game_ended_as("the game was a draw", "drawn"),
    "timed_out": _game_ended_as("all rounds were played and nobody won", "timed out"),
}
"""How the game ended. The mean over many runs is the share of games that ended so.

Source: docs/rules/trust.md#endings.
"""

OF_RUNS: Formulas[TrustTurn] = {
    **ENDINGS,
    "end_of_cooperation": end_of_cooperation,
    "spirals": spirals,
    "spiral_length": spiral_length,
    "longest_spiral": longest_spiral,
    **{f"spiral_ended_by_{how}": _spirals_ended_by(how) for how in ENDED_BY},
    "alliances_made": alliances_made,
    "alliance_length": alliance_length,
    "attack_after_leaving": attack_after_leaving,
    "high_five_after_leaving": high_five_after_leaving,
    "left_first/AGENT": left_first,
}
"""The figures that only a whole run has. Source: docs/rules/trust.md#scopes-of-measures."""

UNITS: Mapping[str, str] = {
    **dict.fromkeys(("sats", "sats/AGENT"), "sats"),
    "gain": "sats per unit and round",
    "requests": "requests",
    "spirals": "spirals",
    **dict.fromkeys(("end_of_cooperation", "spiral_length", "longest_spiral", "alliance_length"), "rounds"),
    "alliances_made": "alliances",
}
"""The units of measures that are no shares."""

MEASURES: Measures[State, Intent] = Measures(
    each={**OF_TURNS, "sats/AGENT": sats_of},
    parts=FORMULAS,
    run=OF_RUNS,
    score="sats",
    units=UNITS,
    headline=("cooperation", "aggression", "gain", "survival"),
    cooperation="cooperation",
    shares=("cooperation", "aggression"),
    durations=("end_of_cooperation",),
    arithmetic=arithmetic,
    agent_turns=AGENT_TURNS,
)
"""The figures of a run and its halves, and those of each turn.

Source: docs/rules/trust.md#scopes-of-measures, docs/rules/trust.md#undefined-figures,
docs/rules/trust.md#sats-and-gain, docs/rules/trust.md#spirals-of-retaliation.
"""
