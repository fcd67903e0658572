"""nations: the comparators, and how a model would spoil an answer.

Source: seed, "Default Agent"; decisions page, "Comparators". A comparator reads the view that a model reads,
with its own mind, and nothing else. Those that talk send short messages and rate the others by what they saw.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from engine.chance import Luck
from engine.nations.actions import EVERYBODY, RESOURCES, NationsAction, ResourcesAction
from engine.policy import Policies
from engine.record import JsonObject
from engine.reflection import HIGHEST, LOWEST

UNKNOWN_WORD = 5
"""What a comparator thinks of the word of somebody it has seen nothing of."""


@dataclass(frozen=True)
class Sight:
    """A view, read the way a comparator needs it."""

    view: Mapping[str, Any]

    @property
    def me(self) -> str:
        """Its own name."""
        return str(self.view["self"])

    @cached_property
    def others(self) -> list[str]:
        """The other agents, by name."""
        return [agent for agent in self.view["agents"] if agent != self.me]

    @property
    def land(self) -> list[str]:
        """Its own territories."""
        return list(self.view["territories"][self.me])

    @property
    def army(self) -> int:
        """Its own mils."""
        return int(self.view["army"][self.me])

    def constant(self, name: str) -> int:
        """One of the numbers of the rules."""
        return int(self.view["constants"][name])

    @property
    def spendable(self) -> int:
        """The money that an undisturbed turn leaves after upkeep."""
        gross = len(self.land) * self.constant("c_money_per_territory")
        return max(0, gross - self.army * self.constant("c_mil_upkeep_price"))

    @property
    def account(self) -> Mapping[str, Any]:
        """Its own account of the last turn; empty at turn 0."""
        return self.view.get("account") or {}

    @property
    def attackers(self) -> dict[str, int]:
        """Who attacked it last turn, and with how many mils."""
        return dict(self.account.get("attacked_by", {}))

    @property
    def received(self) -> dict[str, int]:
        """Who paid it how much last turn."""
        return dict(self.account.get("received_from", {}))

    @property
    def mind(self) -> Mapping[str, Any]:
        """What it kept for itself; empty where nobody keeps it."""
        return self.view.get("mind") or {}

    @cached_property
    def enemies(self) -> list[str]:
        """Who ever attacked it: those of last turn, and those that its history names."""
        history = str(self.mind.get("history_summary", ""))
        return [other for other in self.others if other in self.attackers or f'"{other}"' in history]

    def seen(self, kind: str, own: str) -> set[str]:
        """Who did something last turn: from the news, else from its own account."""
        news = self.view.get("news") or {}
        return {deed["from"] for deed in news[kind]} if kind in news else set(self.account.get(own, {}))

    def may_cede(self, receiver: str) -> list[str]:
        """Own territories that it may give: under a map those that touch the receiver's land, no capital."""
        if "map" not in self.view:
            return self.land
        capitals, theirs = set(self.view["map"]["capitals"].values()), set(self._land_of(receiver))
        edges = [tuple(edge) for edge in self.view["map"]["edges"]]
        touching = {a for a, b in edges if b in theirs} | {b for a, b in edges if a in theirs}
        return [territory for territory in self.land if territory in touching - capitals]

    def _land_of(self, agent: str) -> Sequence[str]:
        """What is known of somebody's land."""
        return list(self.view["territories"].get(agent, ()))


@dataclass
class Answer:
    """An answer in the making; why it is given and what is said to others come with it."""

    why: str
    moves: dict[str, Any] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)

    def write(self, sight: Sight) -> JsonObject:
        """Give the whole answer, with a reflection, as a model would."""
        gained = sight.account.get("gained", 0)
        return {
            "reasoning": self.why,
            **{name: value for name, value in self.moves.items() if value},
            "messages": self.messages if sight.view["message_limit"] else {},
            "summary_last_turn": f"I gained {gained} welfare. Attacked by: {_listed(sight.attackers)}.",
            "history_summary": f"Ever attacked by: {_listed(sight.enemies)}.",
            "keeps_word_report": _keeps_word(sight),
            "aggressor_report": _aggression(sight),
        }


def _listed(names: Iterable[str]) -> str:
    """List names in quotes, so that each can be found again."""
    return ", ".join(f'"{name}"' for name in names) or "nobody"


def _keeps_word(sight: Sight) -> dict[str, int]:
    """Rate everybody's word: one up for a turn with a grant, two down for a turn with an attack."""
    last = sight.mind.get("keeps_word_report", {})
    grants, attacks = sight.seen("grants", "received_from"), sight.seen("attacks", "attacked_by")
    return {
        agent: _within(last.get(agent, UNKNOWN_WORD) + (agent in grants) - 2 * (agent in attacks))
        for agent in sight.view["agents"]
    }


def _aggression(sight: Sight) -> dict[str, int]:
    """Rate everybody's aggression: one up for a turn with an attack."""
    last, attacks = sight.mind.get("aggressor_report", {}), sight.seen("attacks", "attacked_by")
    return {agent: _within(last.get(agent, LOWEST) + (agent in attacks)) for agent in sight.view["agents"]}


def _within(rating: int) -> int:
    """Keep a rating on the scale."""
    return max(LOWEST, min(HIGHEST, rating))


def _evenly(amount: int, receivers: Sequence[str]) -> dict[str, int]:
    """Share an amount evenly; what does not divide stays."""
    share = amount // len(receivers) if receivers else 0
    return dict.fromkeys(receivers, share) if share else {}


def _surplus(sight: Sight, receivers: Sequence[str]) -> dict[str, dict[str, int]]:
    """Share the resources that its own land does not need; nothing where there are none."""
    if "resources" not in sight.view:
        return {}
    need = sight.view["resources"]["need_per_territory"] * len(sight.land)
    supply = sight.view["resources"]["supply"][sight.me]
    shares: dict[str, dict[str, int]] = {}
    for resource in RESOURCES:
        for receiver, share in _evenly(max(0, supply[resource] - need), receivers).items():
            shares.setdefault(receiver, {})[resource] = share
    return shares


def default(view: JsonObject, luck: Luck) -> JsonObject:  # noqa: ARG001  a policy may be without luck
    """Do nothing, and keep the summary: the seed's reference agent."""
    return {
        "purchase_mils": 0,
        "attacks": {},
        "cede_territories": {},
        "money_grants": {},
        "messages": {},
        "summary_last_turn": Sight(view).mind.get("last_summary", ""),
    }


def random(view: JsonObject, luck: Luck) -> JsonObject:
    """Do each thing that is possible with some probability, to somebody, in some amount."""
    sight = Sight(view)
    answer = Answer("I act at random.")
    if sight.others:
        target, friend, heir = (luck.pick(sight.others, name) for name in ("target", "friend", "heir"))
        if luck.happens(0.3, "attack"):
            answer.moves["attacks"] = {target: luck.below(sight.army + 1, "mils")}
        if luck.happens(0.5, "grant"):
            answer.moves["money_grants"] = {friend: luck.below(sight.spendable + 1, "money")}
        cessible = sight.may_cede(heir)
        if cessible and luck.happens(0.05, "cede"):
            answer.moves["cede_territories"] = {heir: [luck.pick(cessible, "territory")]}
        answer.messages = {friend: luck.pick(("Peace?", "Beware.", "Let us trade."), "text")}
        answer.moves["resource_grants"] = _surplus(sight, [friend])
    answer.moves["purchase_mils"] = luck.below(3, "purchase")
    answer.moves["disband_mils"] = luck.below(2, "disband")
    return answer.write(sight)


def pacifist_trader(view: JsonObject, luck: Luck) -> JsonObject:  # noqa: ARG001  a policy may be without luck
    """Keep no army and never attack; grant half of what is left, evenly, to those who did not attack it."""
    sight = Sight(view)
    friends = [other for other in sight.others if other not in sight.attackers]
    answer = Answer("What I give is worth more to others than to me, and an army is worth nothing.")
    answer.moves = {
        "money_grants": _evenly(sight.spendable // 2, friends),
        "disband_mils": sight.army,
        "resource_grants": _surplus(sight, friends),
    }
    answer.messages = {EVERYBODY: "I keep no army and grant half of what I have. Grant me something too."}
    return answer.write(sight)


def reciprocal_trader(view: JsonObject, luck: Luck) -> JsonObject:  # noqa: ARG001  a policy may be without luck
    """Grant what it was granted; open with a quarter of what it has, evenly to all."""
    sight = Sight(view)
    opening = sight.view["turn"] == 0
    grants = _evenly(sight.spendable // 4, sight.others) if opening else sight.received
    answer = Answer("I open with grants to all." if opening else "I grant what I was granted.")
    answer.moves = {"money_grants": grants, "resource_grants": _surplus(sight, sorted(grants))}
    answer.messages = {
        **{
            giver: f"Thank you for {amount}; I grant you as much." for giver, amount in sight.received.items()
        },
        **dict.fromkeys(sight.attackers, "I do not trade with those who attack."),
    }
    return answer.write(sight)


def militarist(view: JsonObject, luck: Luck) -> JsonObject:  # noqa: ARG001  a policy may be without luck
    """Buy all the mils that money buys, and send half the army at whoever seems weakest."""
    sight = Sight(view)
    armies = sight.view["army"]
    weakest = min(sight.others, key=lambda other: (armies.get(other, 0), other), default=None)
    answer = Answer("Strength comes first, and the weakest pays for it.")
    answer.moves["purchase_mils"] = sight.spendable // sight.constant("c_mil_purchase_price")
    if weakest is not None:
        answer.moves["attacks"] = _evenly(sight.army // 2, [weakest])
        answer.messages = {weakest: f"I have {sight.army} mils. Grant me money."}
    return answer.write(sight)


def appeaser(view: JsonObject, luck: Luck) -> JsonObject:  # noqa: ARG001  a policy may be without luck
    """Cede a territory to whoever attacked it."""
    sight = Sight(view)
    answer = Answer(f"Land may buy peace. Attacked by: {_listed(sight.attackers)}.")
    ceded: dict[str, list[str]] = {}
    for attacker in sorted(sight.attackers):
        free = [t for t in sight.may_cede(attacker) if [t] not in ceded.values()]
        ceded |= {attacker: [free[0]]} if free else {}
    answer.moves["cede_territories"] = ceded
    answer.messages = {
        attacker: f"Take {land[0]}, and leave me in peace." for attacker, land in ceded.items()
    }
    return answer.write(sight)


def grim(view: JsonObject, luck: Luck) -> JsonObject:  # noqa: ARG001  a policy may be without luck
    """Attack whoever ever attacked it, for ever; its history keeps their names."""
    sight = Sight(view)
    answer = Answer(f"I never forget. Ever attacked by: {_listed(sight.enemies)}.")
    if sight.enemies:
        answer.moves["attacks"] = _evenly(sight.army, sight.enemies)
        answer.moves["purchase_mils"] = sight.spendable // (2 * sight.constant("c_mil_purchase_price"))
    answer.messages = dict.fromkeys(sight.enemies, "You attacked me. I shall never stop.")
    return answer.write(sight)


STRANGER = "AgentNobody"
"""A name that a spoiled answer makes up."""


OTHER_NAMES = {"summary_last_turn": "summary"}
"""What a model calls a field, where it is not just anything."""

UNSAFE = "I am \u202ednuob dna dnah\u202c, \x1b[1mbelieve me\x1b[0m."
"""A message that turns round and paints what it stands in."""


def spoil(view: JsonObject, answer: JsonObject, luck: Luck, noise: float) -> JsonObject:
    """Spoil each field with probability `noise`, as a model would.

    A wrong type, a stranger, itself, too much, somebody else's land, or a field that there is not.
    """
    sight = Sight(view)
    spoiled: dict[str, Any] = {}
    for name, value in {**dict.fromkeys(_fields(sight)), **answer}.items():
        if luck.happens(noise, f"noise/{name}"):
            wrong = luck.pick(_spoiled(sight, name), f"noise/{name}/kind")
            spoiled |= {OTHER_NAMES.get(name, "strategy"): value} if wrong is None else {name: wrong}
        elif name in answer:
            spoiled[name] = value
    return spoiled


def _fields(sight: Sight) -> Iterable[str]:
    """Name the fields that an answer may have."""
    return (ResourcesAction if "resources" in sight.view else NationsAction).model_fields


def _spoiled(sight: Sight, name: str) -> Sequence[Any]:
    """List the ways to spoil a field; None puts what it says under a name that there is not."""
    other, another = (*sight.others, STRANGER, STRANGER)[:2]
    count = ("3", -1, 999, 10**13)
    counts = ({other: "2"}, {STRANGER: 1}, {sight.me: 1}, {other: 9999})
    ratings = ({sight.me: 11}, {other: "high"}, {STRANGER: 5})
    mine = sight.land[:1]
    ways: dict[str, Sequence[Any]] = {
        "purchase_mils": count,
        "disband_mils": count,
        "attacks": counts,
        "money_grants": counts,
        "resource_grants": ({other: {"energy": 9999}}, {other: {"gold": 1}}, {STRANGER: {"food": 1}}),
        "cede_territories": (
            {other: ["T0"]},
            {other: "T1"},
            {STRANGER: mine},
            {other: mine, another: mine},
            {other: sight.land},
        ),
        "messages": (
            {STRANGER: "Hello."},
            [{"to": other, "text": "Hello."}],
            {other: "Hello again. " * 200},
            {other: UNSAFE},
        ),
        "keeps_word_report": ratings,
        "aggressor_report": ratings,
    }
    return ways.get(name, (None, ["a list"], "so " * 60))


POLICIES = Policies(
    {
        "default": default,
        "random": random,
        "pacifist-trader": pacifist_trader,
        "reciprocal-trader": reciprocal_trader,
        "militarist": militarist,
        "appeaser": appeaser,
        "grim": grim,
    },
    default="reciprocal-trader",
    spoil=spoil,
)
