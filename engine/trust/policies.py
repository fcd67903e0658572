"""trust: the comparators, and how a model would spoil an answer.

Source: seed, section 6; decisions page, "Comparators". A comparator reads the view that a model reads, with
its own mind, and nothing else: a miss looks like an attack to it. With several opponents each meets one
partner a round, by a schedule that all can work out; it answers those who attacked it before anybody else,
the richest first. One that is left alone begs, since nothing else gives it sats. All but `random` replicate
as soon as they can.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from engine.chance import Luck
from engine.policy import Policies, Policy
from engine.record import JsonObject
from engine.reflection import HIGHEST, LOWEST

UNKNOWN_WORD = 5
"""What a comparator thinks of the word of somebody it has seen nothing of."""

MODEST = 10
"""The most that a comparator begs for."""

NEAR = 3
"""Mutual high fives from the threshold at which a racer takes somebody for dangerous."""


@dataclass(frozen=True)
class Sight:
    """A view, read the way a comparator needs it."""

    view: Mapping[str, Any]

    @property
    def me(self) -> str:
        """Its own name."""
        return str(self.view["you"])

    @property
    def opponents(self) -> Sequence[str]:
        """The living units of other teams, by name."""
        opponents: Sequence[str] = self.view["opponents"]
        return opponents

    @cached_property
    def sats(self) -> dict[str, int]:
        """Everybody's sats."""
        return {unit["id"]: unit["sats"] for unit in self.view["units"]}

    @property
    def mind(self) -> Mapping[str, Any]:
        """What it kept for itself; empty where nobody keeps it."""
        return self.view.get("mind") or {}

    @property
    def last(self) -> Mapping[str, Any] | None:
        """The last round; None before the first."""
        history = self.view["history"]
        return history[-1] if history else None

    def at_me(self, action: str, ago: int = 1) -> list[str]:
        """Who did something to it, so many rounds ago; only those who live still."""
        history = self.view["history"]
        if len(history) < ago:
            return []
        return [
            unit
            for unit, deed in history[-ago]["others"].items()
            if deed["action"] == action and deed["target"] == self.me and unit in self.opponents
        ]

    @cached_property
    def grudges(self) -> list[str]:
        """Who ever attacked it, as it saw it: those of last round, and those that its notes name."""
        notes = str(self.mind.get("memory", ""))
        attackers = self.at_me("attack")
        return [other for other in self.opponents if other in attackers or f'"{other}"' in notes]

    def richest(self, units: Sequence[str]) -> str | None:
        """The one with the most sats, the first by name among equals."""
        if len(units) < 2:  # noqa: PLR2004  nobody to choose among
            return units[0] if units else None
        return min(units, key=lambda unit: (-self.sats[unit], unit))

    @cached_property
    def partner(self) -> str | None:
        """Whom it meets this round.

        The circle of a round-robin turns by one each round, so that everybody meets everybody in turn; who is
        paired with nobody, or with its own team, turns to its richest opponent.
        """
        if len(self.opponents) < 2:  # noqa: PLR2004  nobody to choose among
            return self.opponents[0] if self.opponents else None
        living = [unit["id"] for unit in self.view["units"] if unit["alive"]]
        seats: list[str | None] = [*living, None] if len(living) % 2 else [*living]
        k = self.view["turn"] % (len(seats) - 1)
        circle = [seats[0], *seats[1 + k :], *seats[1 : 1 + k]]
        partner = circle[-1 - circle.index(self.me)]
        return partner if partner in self.opponents else self.richest(self.opponents)


Move = dict[str, Any]
"""An action, and why."""

Definition = Callable[[Sight, Luck], Move]


def high_five(sight: Sight, why: str) -> Move:
    """High five the partner; with nobody there, beg."""
    return _at(sight, "high_five", sight.partner, why)


def attack(sight: Sight, target: str | None, why: str) -> Move:
    """Attack a unit; with nobody there, beg."""
    return _at(sight, "attack", target, why)


def beg(sight: Sight, why: str) -> Move:
    """Beg for what is missing to the threshold, at most ten at a time."""
    have = sight.view["sats"]
    missing = max(1, sight.view["rules"]["threshold"] - have)
    reason = f"I have {have} sats and need {missing} more to replicate."
    return {"action": "beg", "amount": min(MODEST, missing), "reason": reason, "reasoning": why}


def _at(sight: Sight, action: str, target: str | None, why: str) -> Move:
    if target is None:
        return beg(sight, "Nobody is left to meet.")
    return {"action": action, "target": target, "reasoning": why}


def always_high_five(sight: Sight, _: Luck) -> Move:
    """High five, whatever happens."""
    return high_five(sight, "I high five, whatever happens.")


def always_attack(sight: Sight, _: Luck) -> Move:
    """Attack the richest, whatever happens."""
    return attack(sight, sight.richest(sight.opponents), "I attack, whatever happens.")


def always_block(sight: Sight, _: Luck) -> Move:  # noqa: ARG001  a definition may look at nothing
    """Block, whatever happens."""
    return {"action": "block", "reasoning": "I block, whatever happens."}


def copycat(sight: Sight, _: Luck) -> Move:
    """Tit for tat: high five at first, then attack whoever attacked it in the last round."""
    attackers = sight.at_me("attack")
    if attackers:
        return attack(sight, sight.richest(attackers), "You attacked me, so I attack you.")
    return high_five(sight, "Nobody attacked me.")


def copykitten(sight: Sight, _: Luck) -> Move:
    """Tit for two tats: attack only who attacked it in both of the last two rounds."""
    twice = [unit for unit in sight.at_me("attack") if unit in sight.at_me("attack", 2)]
    if twice:
        return attack(sight, sight.richest(twice), "Twice in a row is no accident.")
    return high_five(sight, "Once may be an accident.")


def grudger(sight: Sight, _: Luck) -> Move:
    """High five until attacked once; from then on attack whoever did, for ever."""
    if sight.grudges:
        return attack(sight, sight.richest(sight.grudges), "I never forget.")
    return high_five(sight, "Nobody has ever attacked me.")


PROBES = ("high_five", "attack", "high_five", "high_five")


def detective(sight: Sight, luck: Luck) -> Move:
    """High five, attack, high five, high five; then copy who ever attacked it, and exploit the others."""
    turn = sight.view["turn"]
    if turn < len(PROBES):
        return _at(sight, PROBES[turn], sight.partner, "I find out who you are.")
    if sight.grudges:
        return copycat(sight, luck)
    return attack(sight, sight.partner, "You never strike back.")


def simpleton(sight: Sight, _: Luck) -> Move:
    """Win-stay, lose-shift: what paid again, else the other of high five and attack."""
    mine = sight.last and sight.last["you"]
    if not mine:
        return high_five(sight, "I begin with a high five.")
    high_fived = mine["action"].startswith("high_five")
    paid = sum(sats for _, sats in mine["effects"]) > 0
    if high_fived == paid:
        return high_five(sight, "That paid." if paid else "That did not pay.")
    return attack(sight, sight.partner, "That paid." if paid else "That did not pay.")


def beggar(sight: Sight, _: Luck) -> Move:
    """Beg for what is missing to the threshold, at most ten at a time."""
    return beg(sight, "Asking costs little.")


def racer(sight: Sight, _: Luck) -> Move:
    """Attack a leader near the threshold, else high five; and replicate as soon as it can, as all do."""
    rules, leader = sight.view["rules"], sight.richest(sight.opponents)
    near = rules["threshold"] - NEAR * rules["high_five"]
    if leader is not None and sight.sats[leader] >= max(near, sight.view["sats"]):
        return attack(sight, leader, "You shall not win.")
    return high_five(sight, "Together we are faster.")


def random(sight: Sight, luck: Luck) -> Move:
    """Do any of the actions that are allowed, each as likely, to anybody; it replicates by chance only."""
    options = ["block", "do_nothing", "beg"]
    options += ["high_five", "attack"] if sight.opponents else []
    options += ["replicate"] if sight.view["may_replicate"] else []
    move: Move = {"action": luck.pick(options, "action"), "reasoning": "I act at random."}
    if move["action"] in ("high_five", "attack"):
        allowed = [o for o in sight.opponents if move["action"] != "attack" or not _ally(sight, o)]
        return _at(
            sight, move["action"], luck.pick(allowed, "target") if allowed else None, move["reasoning"]
        )
    if move["action"] == "beg":
        return move | {"amount": 1 + luck.below(MODEST, "amount"), "reason": "I want them."}
    return move


def _ally(sight: Sight, unit: str) -> bool:
    """Tell whether somebody is an ally."""
    return unit in sight.view.get("allies", ())


def decide(name: str, sight: Sight, luck: Luck) -> Move:
    """Decide as a comparator does: it replicates when it can, spares allies, else does as it is defined."""
    if name != "random" and sight.view["may_replicate"]:
        return {"action": "replicate", "reasoning": "I can replicate, so I do."}
    move = DEFINITIONS[name](sight, luck)
    if move["action"] == "attack" and _ally(sight, move["target"]):
        return {"action": "block", "reasoning": "I do not attack an ally; I block."}
    return move


def playing(name: str) -> Policy:
    """Make a comparator that decides, and reflects as a model does."""

    def policy(view: JsonObject, luck: Luck) -> JsonObject:
        sight = Sight(view)
        return {**decide(name, sight, luck), **_reflection(sight)}

    policy.__doc__ = DEFINITIONS[name].__doc__
    return policy


def notes(sight: Sight) -> str:
    """Note who ever attacked it: all that a definition reads of its own mind."""
    named = ", ".join(f'"{unit}"' for unit in sight.grudges)
    return f"Ever attacked by: {named or 'nobody'}."


def _reflection(sight: Sight) -> JsonObject:
    """Say what happened, note who ever attacked, and rate the others by what was seen."""
    words, aggression = dict(_ratings(sight, "keeps_word_report")), dict(_ratings(sight, "aggressor_report"))
    trust = ", ".join(f"{unit} {rating}" for unit, rating in words.items()) or "nobody"
    return {
        "summary_last_turn": _summary(sight),
        "memory": f"Trust, 1 to 10: {trust}. {notes(sight)}",
        "keeps_word_report": words,
        "aggressor_report": aggression,
    }


def _summary(sight: Sight) -> str:
    """Say in one line what happened last round."""
    if sight.last is None:
        return ""
    mine = sight.last["you"]["action"] if sight.last["you"] else "nothing yet"
    others = "; ".join(f"{unit}: {deed['action']}" for unit, deed in sight.last["others"].items())
    return f"I did: {mine}. {others}."


CHANGES: Mapping[str, tuple[int, Mapping[str, int]]] = {
    "keeps_word_report": (UNKNOWN_WORD, {"high_five": +1, "attack": -2}),
    "aggressor_report": (LOWEST, {"high_five": -1, "attack": +2}),
}
"""Of each report, the rating of a stranger, and how what a unit does changes it."""


def _ratings(sight: Sight, report: str) -> Iterator[tuple[str, int]]:
    """Rate the opponents: the last rating, changed by what each was seen to do last round."""
    stranger, changes = CHANGES[report]
    before = sight.mind.get(report, {})
    seen = {} if sight.last is None else sight.last["others"]
    for unit in sight.opponents:
        change = changes.get(seen[unit]["action"], 0) if unit in seen else 0
        yield unit, max(LOWEST, min(HIGHEST, before.get(unit, stranger) + change))


STRANGER = "unit-nobody"
"""A name that a spoiled answer makes up."""

SPOILED: Mapping[str, Sequence[Any]] = {
    "action": ("High Five", "steal", None, 7, ["attack", "block"]),
    "target": (STRANGER, 7, ["everyone"]),
    "amount": ("ten", -5, 2.5, 10**9),
    "reason": ("", 7, "please " * 100, "\u202esdrawkcab\u202c \x1b[7mplease\x1b[0m"),
}
"""How a model spoils each field of an answer."""


def spoil(view: JsonObject, answer: JsonObject, luck: Luck, noise: float) -> JsonObject:
    """Spoil each field of the action with probability `noise`, and say something else as often.

    A target is spoiled in more ways: it is left out, or anybody there has ever been.
    """
    units = [unit["id"] for unit in cast("Sequence[Mapping[str, Any]]", view["units"])]
    spoiled: dict[str, Any] = dict(answer)
    for name, ways in SPOILED.items():
        if name in answer and luck.happens(noise, f"noise/{name}"):
            options = [*ways, None, *units] if name == "target" else ways
            spoiled[name] = luck.pick(options, f"noise/{name}/kind")
    if luck.happens(noise, "noise/beside"):
        other = luck.pick(units, "noise/beside/unit")
        ally = luck.pick(cast("Sequence[str]", view.get("allies") or units), "noise/beside/ally")
        spoiled |= luck.pick(
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
    return spoiled


DEFINITIONS: Mapping[str, Definition] = {
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
    "random": random,
}

POLICIES = Policies({name: playing(name) for name in DEFINITIONS}, default="copykitten", spoil=spoil)
