"""trust: the scripted policies, how noise spoils their answers, and how random actions replace theirs.

A policy reads the view that a model reads and its own memory, and nothing else, so a miss looks like an
attack to it. With several opponents it meets one partner per round.

Source: docs/rules/trust.md#what-a-policy-knows, docs/rules/trust.md#partner,
docs/rules/trust.md#policies-replicate.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from hobbes.engine.chance import RngStream
from hobbes.engine.policy import Policies, Policy
from hobbes.engine.record import JsonObject
from hobbes.engine.reflection import MAX_RATING, MIN_RATING
from hobbes.engine.trust.state import TrustConfig, near_threshold

UNKNOWN_WORD = 5
"""The rating of how well a unit keeps its word, before a policy has seen it act."""

MAX_REQUEST = 10
"""The most sats that a policy begs for at a time. Source: docs/rules/trust.md#beggar."""


@dataclass(frozen=True)
class Sight:
    """A view, with what policies read from it. Source: docs/rules/trust.md#what-a-policy-knows."""

    view: Mapping[str, Any]

    @property
    def me(self) -> str:
        """The unit's own name."""
        return str(self.view["you"])

    @property
    def may_replicate(self) -> bool:
        """Whether the unit may replicate now; never where nobody can."""
        return bool(self.view.get("may_replicate"))

    @property
    def threshold(self) -> int | None:
        """The sats with which a unit may replicate; None where nobody can."""
        threshold: int | None = self.view["rules"].get("threshold")
        return threshold

    @property
    def opponents(self) -> Sequence[str]:
        """The names of the living units of other teams."""
        opponents: Sequence[str] = self.view["opponents"]
        return opponents

    @property
    def sats(self) -> dict[str, int]:
        """The sats of every unit."""
        sats: dict[str, int] = self.view["units"]
        return sats

    @property
    def memory(self) -> Mapping[str, Any]:
        """The unit's own memory; empty if the caller keeps none."""
        return self.view.get("memory") or {}

    @property
    def last(self) -> Mapping[str, Any] | None:
        """The last round; None before the first."""
        history = self.view["history"]
        return history[-1] if history else None

    def attackers(self, rounds_ago: int = 1) -> list[str]:
        """Return the living opponents that were seen to attack this unit that many rounds ago."""
        history, me, opponents = self.view["history"], self.me, self.opponents
        if len(history) < rounds_ago:
            return []
        return [
            unit
            for unit, (did, target, _) in history[-rounds_ago]["others"].items()
            if did == "attack" and target == me and unit in opponents
        ]

    @cached_property
    def grudges(self) -> list[str]:
        """The living opponents that ever attacked this unit: those of last round and those in its notes."""
        notes = str(self.memory.get("notes", ""))
        attackers = self.attackers()
        return [other for other in self.opponents if other in attackers or f'"{other}"' in notes]

    def richest(self, units: Sequence[str]) -> str | None:
        """Return the unit with the most sats; among equals, the first by name."""
        if len(units) < 2:  # noqa: PLR2004  there is no choice
            return units[0] if units else None
        return min(units, key=lambda unit: (-self.sats[unit], unit))

    @cached_property
    def partner(self) -> str | None:
        """The unit that this one meets this round; None if it has no opponent.

        The units sit in a circle that turns by one seat each round, as in a round-robin tournament, so every
        pair meets in turn. A unit that is paired with nobody or with its own team meets its richest opponent.

        Source: docs/rules/trust.md#partner.
        """
        if len(self.opponents) < 2:  # noqa: PLR2004  there is no choice
            return self.opponents[0] if self.opponents else None
        living = [unit for unit, sats in self.sats.items() if sats > 0]
        # An odd number gets an empty seat; the first seat stays, and the others move around it.
        seats: list[str | None] = [*living, None] if len(living) % 2 else [*living]
        turned = self.view["turn"] % (len(seats) - 1)
        circle = [seats[0], *seats[1 + turned :], *seats[1 : 1 + turned]]
        partner = circle[-1 - circle.index(self.me)]
        return partner if partner in self.opponents else self.richest(self.opponents)


Move = dict[str, Any]
"""An action and the reasoning behind it."""


def high_five(sight: Sight, why: str) -> Move:
    """Return a high five at the partner, or a request if nobody is left."""
    return _aim(sight, "high_five", sight.partner, why)


def attack(sight: Sight, target: str | None, why: str) -> Move:
    """Return an attack on a unit, or a request if nobody is left."""
    return _aim(sight, "attack", target, why)


def beg(sight: Sight, why: str) -> Move:
    """Return a request for what the unit lacks to the threshold, at most `MAX_REQUEST` sats at a time.

    Where nobody can replicate, it is a request for `MAX_REQUEST` sats.
    """
    sats = sight.view["sats"]
    have = f"I have {sats} {'sat' if sats == 1 else 'sats'}"
    if sight.threshold is None:
        amount, reason = MAX_REQUEST, f"{have} and want {MAX_REQUEST} more to live on."
    else:
        missing = max(1, sight.threshold - sats)
        amount, reason = min(MAX_REQUEST, missing), f"{have} and need {missing} more to replicate."
    return {"action": "beg", "amount": amount, "reason": reason, "reasoning": why}


def _aim(sight: Sight, action: str, target: str | None, why: str) -> Move:
    """Return an action at a target; if there is no target, beg, because nothing else brings sats."""
    if target is None:
        return beg(sight, "Nobody is left to meet.")
    return {"action": action, "target": target, "reasoning": why}


def always_high_five(sight: Sight, _: RngStream) -> Move:
    """High five every round. Source: docs/rules/trust.md#always-high-five."""
    return high_five(sight, "I high five, whatever happens.")


def always_attack(sight: Sight, _: RngStream) -> Move:
    """Attack the richest opponent every round; alone, do nothing.

    Source: docs/rules/trust.md#always-attack.
    """
    if not sight.opponents:
        return {"action": "do_nothing", "reasoning": "Nobody is left to attack."}
    return attack(sight, sight.richest(sight.opponents), "I attack, whatever happens.")


def always_block(sight: Sight, _: RngStream) -> Move:  # noqa: ARG001  this policy looks at nothing
    """Block every round. Source: docs/rules/trust.md#always-block."""
    return {"action": "block", "reasoning": "I block, whatever happens."}


def copycat(sight: Sight, _: RngStream) -> Move:
    """Play tit for tat: attack a unit that attacked this one in the last round, else high five.

    Source: docs/rules/trust.md#copycat.
    """
    attackers = sight.attackers()
    if attackers:
        return attack(sight, sight.richest(attackers), "You attacked me, so I attack you.")
    return high_five(sight, "Nobody attacked me.")


def copykitten(sight: Sight, _: RngStream) -> Move:
    """Play tit for two tats: attack a unit that attacked this one in both of the last two rounds.

    Source: docs/rules/trust.md#copykitten.
    """
    twice = [unit for unit in sight.attackers() if unit in sight.attackers(rounds_ago=2)]
    if twice:
        return attack(sight, sight.richest(twice), "Twice in a row is no accident.")
    return high_five(sight, "Once may be an accident.")


def grudger(sight: Sight, _: RngStream) -> Move:
    """High five until a unit attacks; from then on attack that unit. Source: docs/rules/trust.md#grudger."""
    if sight.grudges:
        return attack(sight, sight.richest(sight.grudges), "I never forget.")
    return high_five(sight, "Nobody has ever attacked me.")


PROBES = ("high_five", "attack", "high_five", "high_five")
"""The first actions of a detective. Source: docs/rules/trust.md#detective."""


def detective(sight: Sight, rng: RngStream) -> Move:
    """Probe the others first; then play copycat if any of them ever attacked, else attack.

    Source: docs/rules/trust.md#detective.
    """
    turn = sight.view["turn"]
    if turn < len(PROBES):
        return _aim(sight, PROBES[turn], sight.partner, "I find out who you are.")
    if sight.grudges:
        return copycat(sight, rng)
    return attack(sight, sight.partner, "You never strike back.")


def simpleton(sight: Sight, _: RngStream) -> Move:
    """Win-stay, lose-shift: repeat what paid, else switch between high five and attack.

    Source: docs/rules/trust.md#simpleton.
    """
    mine = sight.last and sight.last["you"]
    if not mine:
        return high_five(sight, "I begin with a high five.")
    action, _, changes = mine
    high_fived = action.startswith("high_five")
    paid = sum(changes.values()) > 0
    if high_fived == paid:
        return high_five(sight, "That paid." if paid else "That did not pay.")
    return attack(sight, sight.partner, "That paid." if paid else "That did not pay.")


def beggar(sight: Sight, _: RngStream) -> Move:
    """Beg every round. Source: docs/rules/trust.md#beggar."""
    return beg(sight, "Asking costs little.")


def racer(sight: Sight, _: RngStream) -> Move:
    """Attack a leader that is near the threshold, else high five. Source: docs/rules/trust.md#racer."""
    leader = sight.richest(sight.opponents)
    if leader is not None and sight.threshold is not None:
        near = near_threshold(sight.threshold, sight.view["rules"]["high_five"])
        if sight.sats[leader] >= max(near, sight.view["sats"]):
            return attack(sight, leader, "You shall not win.")
    return high_five(sight, "Together we are faster.")


CHOICES = ("high_five", "block", "do_nothing", "attack")
"""The actions that an opportunist compares; of two that pay the same, it takes the earlier one."""

DEFAULTS = TrustConfig()
"""What an opportunist assumes of the numbers that no view shows. Source: docs/rules/trust.md#opportunist."""


def opportunist(sight: Sight, _: RngStream) -> Move:
    """Choose what pays most if the partner repeats its last action, misses included; begin with a high five.

    Source: docs/rules/trust.md#opportunist.
    """
    seen = {} if sight.last is None else sight.last["others"]
    if sight.partner is None or sight.partner not in seen:
        return high_five(sight, "I have not seen you act yet.")
    theirs = seen[sight.partner][0]
    mine = max(CHOICES, key=lambda choice: _expected_payoff(sight, choice, theirs))
    why = f"Your last action was {theirs}, and {mine} pays most against it."
    if mine in ("high_five", "attack"):
        return _aim(sight, mine, sight.partner, why)
    return {"action": mine, "reasoning": why}


def _expected_payoff(sight: Sight, mine: str, theirs: str) -> int:
    """Return the expected payoff of an action against another, misses included, in sats times 10,000."""
    return sum(
        my_chance * their_chance * _payoff(sight, my_deed, their_deed)
        for my_deed, my_chance in _outcomes(mine)
        for their_deed, their_chance in _outcomes(theirs)
    )


def _outcomes(action: str) -> list[tuple[str, int]]:
    """Return the deeds that an action may become, with their chances in percent: a high five may miss."""
    if action == "high_five":
        return [("attack", DEFAULTS.miss), ("high_five", 100 - DEFAULTS.miss)]
    return [(action, 100)]


def _payoff(sight: Sight, mine: str, theirs: str) -> int:
    """Return the sats that a unit gains by a deed if its partner does `theirs`.

    Source: docs/rules/trust.md#payoffs.
    """
    attacked = -DEFAULTS.attack if theirs == "attack" else 0
    match mine:
        case "high_five":
            returned = theirs == "high_five"
            return attacked + (sight.view["rules"]["high_five"] if returned else -DEFAULTS.left_hanging)
        case "attack":
            return attacked + (-DEFAULTS.blocked if theirs == "block" else DEFAULTS.attack)
        case "block":
            return (DEFAULTS.block_reward if attacked else 0) - DEFAULTS.block
        case _:
            costs = sight.view["did_nothing"] + 1 >= DEFAULTS.do_nothing_rounds
            return attacked - (DEFAULTS.do_nothing if costs else 0)


def random(sight: Sight, rng: RngStream, event: str = "") -> Move:
    """Choose an allowed action, except `send`, each with the same chance, and then a target or an amount.

    The names of its draws begin with `event`.

    Source: docs/rules/trust.md#random.
    """
    options = ["block", "do_nothing", "beg"]
    options += ["high_five", "attack"] if sight.opponents else []
    options += ["replicate"] if sight.may_replicate else []
    move: Move = {"action": rng.pick(options, f"{event}action"), "reasoning": "I act at random."}
    if move["action"] in ("high_five", "attack"):
        allowed = [o for o in sight.opponents if move["action"] != "attack" or not _is_ally(sight, o)]
        target = rng.pick(allowed, f"{event}target") if allowed else None
        return _aim(sight, move["action"], target, move["reasoning"])
    if move["action"] == "beg":
        return move | {"amount": 1 + rng.below(MAX_REQUEST, f"{event}amount"), "reason": "I want them."}
    return move


def _is_ally(sight: Sight, unit: str) -> bool:
    return unit in sight.view.get("allies", ())


def decide(name: str, sight: Sight, rng: RngStream) -> Move:
    """Return the action of a policy: it replicates if it may, else it follows its definition.

    A policy that would attack an ally blocks, because the attack would be rejected.

    Source: docs/rules/trust.md#policies-replicate, docs/rules/trust.md#policies-follow-the-rules.
    """
    if name != "random" and sight.may_replicate:
        return {"action": "replicate", "reasoning": "I can replicate, so I do."}
    move = DEFINITIONS[name](sight, rng)
    if move["action"] == "attack" and _is_ally(sight, move["target"]):
        return {"action": "block", "reasoning": "I do not attack an ally; I block."}
    return move


def make_policy(name: str) -> Policy:
    """Return the policy of a definition; it also writes notes, ratings and messages, as a model does."""

    def policy(view: JsonObject, rng: RngStream) -> JsonObject:
        sight = Sight(view)
        move = decide(name, sight, rng)
        return {**move, **_words_to_others(sight, move), **_reflection(sight)}

    policy.__doc__ = DEFINITIONS[name].__doc__
    return policy


def _words_to_others(sight: Sight, move: Move) -> JsonObject:
    """Return what a policy says to others: to its partner why it acts, and its words about alliances.

    Source: docs/rules/trust.md#words-of-a-policy.
    """
    said: dict[str, Any] = {}
    if "messages" in sight.view and sight.opponents:
        said["messages"] = {sight.partner: move["reasoning"]}
    alliances = sight.view.get("alliances", {})
    if "proposed" in alliances:
        said["alliances"] = _words_on_alliances(sight, alliances["proposed"])
    return said


def _words_on_alliances(sight: Sight, proposed: Sequence[Sequence[str]]) -> dict[str, str]:
    """Leave allies that attacked in the last round, accept every proposal, and propose to a partner."""
    allies = sight.view["allies"]
    teams = sight.view.get("teams", {})
    own = teams.get(sight.me, sight.me)
    said = {unit: "leave" for unit in sight.attackers() if unit in allies}
    open_to = [unit for unit in sight.opponents if unit not in allies]
    said |= {unit: "accept" for unit, target in proposed if target == own and unit in open_to}
    if sight.partner in open_to and sight.partner not in said:
        said[sight.partner] = "propose"
    return said


def notes(sight: Sight) -> str:
    """Return the note on who ever attacked. Policies read nothing else of their memory.

    Source: docs/rules/trust.md#notes-of-a-policy.
    """
    named = ", ".join(f'"{unit}"' for unit in sight.grudges)
    return f"Ever attacked by: {named or 'nobody'}."


def _reflection(sight: Sight) -> JsonObject:
    """Return a summary of the last round, notes, and the ratings that the run asks for."""
    # The memory has exactly the reports that the run asks for.
    ratings = {report: dict(_ratings(sight, report)) for report in RATING_CHANGES if report in sight.memory}
    return {"summary_last_turn": _summary(sight), "notes": notes(sight), **ratings}


def _summary(sight: Sight) -> str:
    if sight.last is None:
        return ""
    mine = sight.last["you"][0] if sight.last["you"] else "nothing yet"
    others = "; ".join(f"{unit}: {did}" for unit, (did, *_) in sight.last["others"].items())
    return f"I did: {mine}. {others}."


RATING_CHANGES: Mapping[str, tuple[int, Mapping[str, int]]] = {
    "keeps_word_report": (UNKNOWN_WORD, {"high_five": +1, "attack": -2}),
    "aggressor_report": (MIN_RATING, {"high_five": -1, "attack": +2}),
}
"""For each report, the rating of an unknown unit, and how much each action changes a rating.

Source: docs/rules/trust.md#notes-of-a-policy.
"""


def _ratings(sight: Sight, report: str) -> Iterator[tuple[str, int]]:
    """Yield each opponent and its new rating: its old one, plus the change for its last action."""
    first_rating, changes = RATING_CHANGES[report]
    before = sight.memory.get(report, {})
    seen = {} if sight.last is None else sight.last["others"]
    for unit in sight.opponents:
        change = changes.get(seen[unit][0], 0) if unit in seen else 0
        yield unit, max(MIN_RATING, min(MAX_RATING, before.get(unit, first_rating) + change))


STRANGER = "unit-nobody"
"""A made-up name for spoiled answers."""

SPOILED: Mapping[str, Sequence[Any]] = {
    "action": ("High Five", "steal", None, 7, ["attack", "block"], "replicate"),
    "target": (STRANGER, 7, ["everyone"]),
    "amount": ("ten", -5, 2.5, 10**9),
    "reason": ("", 7, "please " * 100, "\u202esdrawkcab\u202c \x1b[7mplease\x1b[0m"),
}
"""Bad values for each field, of kinds that models give. Source: docs/rules/trust.md#noise."""


SPOILED_WORDS: Mapping[str, Sequence[Any]] = {
    "messages": ("none", 7, " ", "peace " * 400, "\u202eecaep\u202c \x1b[7mpeace\x1b[0m"),
    "alliances": ("none", "marry", "Propose", "propose", "accept", "leave"),
}
"""Bad words to other units; `none` stands in place of all of them. Source: docs/rules/trust.md#noise."""


def spoil(view: JsonObject, answer: JsonObject, rng: RngStream, noise: float) -> JsonObject:
    """Spoil each field of the action with probability `noise`, and as often add or replace fields.

    A spoiled target may also be missing, or any unit that there has ever been.

    Source: docs/rules/trust.md#noise.
    """
    units = list(cast("Mapping[str, int]", view["units"]))
    spoiled: dict[str, Any] = dict(answer)
    for name, ways in SPOILED.items():
        if name in answer and rng.happens(noise, f"noise/{name}"):
            options = [*ways, None, *units] if name == "target" else ways
            spoiled[name] = rng.pick(options, f"noise/{name}/kind")
    if rng.happens(noise, "noise/beside"):
        other = rng.pick(units, "noise/beside/unit")
        ally = rng.pick(cast("Sequence[str]", view.get("allies") or units), "noise/beside/ally")
        spoiled |= rng.pick(
            (
                {"strategy": "tit for tat"},
                {"amount": 3},
                {"action": "replicate"},
                {"action": "attack", "target": other},
                {"action": "send", "target": other, "amount": 3},
                {"action": "attack", "target": ally},
                {"action": "send", "target": ally, "amount": 999},
                {"action": "beg", "amount": 5, "reason": ""},
                {"action": "beg", "amount": -5, "reason": "I owe you."},
            ),
            "noise/beside/kind",
        )
    for name, ways in SPOILED_WORDS.items():
        if name in answer and rng.happens(noise, f"noise/{name}"):
            word = rng.pick(ways, f"noise/{name}/kind")
            spoiled[name] = {rng.pick(units, f"noise/{name}/unit"): word} if word != "none" else word
    return spoiled


def tremble(view: JsonObject, answer: JsonObject, rng: RngStream, share: float) -> JsonObject:
    """Replace the action with probability `share` by a random allowed one, as the policy `random` picks it.

    Source: docs/rules/trust.md#tremble.
    """
    if not rng.happens(share, "tremble"):
        return answer
    other_fields = {name: value for name, value in answer.items() if name not in SPOILED}
    return {**random(Sight(view), rng, "tremble/"), **other_fields}


DEFINITIONS: Mapping[str, Callable[[Sight, RngStream], Move]] = {
    "always-high-five": always_high_five,
    "always-attack": always_attack,
    "always-block": always_block,
    "copycat": copycat,
    "copykitten": copykitten,
    "grudger": grudger,
    "detective": detective,
    "simpleton": simpleton,
    "beggar": beggar,
    "racer": racer,
    "opportunist": opportunist,
    "random": random,
}

POLICIES = Policies(
    {name: make_policy(name) for name in DEFINITIONS}, default="copykitten", spoil=spoil, tremble=tremble
)
"""The scripted policies and the one that plays by default.

Source: docs/rules/trust.md#default-policy, docs/rules/trust.md#expected-outcomes.
"""
