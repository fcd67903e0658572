"""The scripted policies, how their answers are spoiled with noise, and how random orders replace theirs.

A policy reads the same view as a model, with the agent's own memory, and nothing else. All but `default` send
short messages and rate the others by what they saw.

Source: docs/rules/nations.md#what-a-policy-reads.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hobbes.engine.chance import RngStream
from hobbes.engine.nations.actions import EVERYBODY, RESOURCES, action_model
from hobbes.engine.policy import Policies
from hobbes.engine.record import JsonObject
from hobbes.engine.reflection import MAX_RATING, MIN_RATING
from hobbes.engine.telling import counted

UNKNOWN_WORD = 5
"""How a policy rates the word of an agent that it has not seen act.

Source: docs/rules/nations.md#how-policies-rate.
"""


@dataclass(frozen=True)
class Sight:
    """A view, with the questions that a policy asks of it."""

    view: Mapping[str, Any]

    @property
    def me(self) -> str:
        """The agent's own name."""
        return str(self.view["self"])

    @cached_property
    def others(self) -> list[str]:
        """The other agents, by name."""
        return [agent for agent in self.view["agents"] if agent != self.me]

    @property
    def land(self) -> list[str]:
        """The agent's own territories."""
        return list(self.view["territories"][self.me])

    @property
    def army(self) -> int:
        """The agent's own mils."""
        return int(self.view["army"][self.me])

    def constant(self, name: str) -> int:
        """Return one of the numbers of the rules."""
        return int(self.view["constants"][name])

    @property
    def spendable(self) -> int:
        """The money that is left after upkeep if nobody attacks."""
        gross = len(self.land) * self.constant("c_money_per_territory")
        return max(0, gross - self.army * self.constant("c_mil_upkeep_price"))

    @property
    def account(self) -> Mapping[str, Any]:
        """The agent's own account of the last turn; empty at turn 0."""
        return self.view.get("account") or {}

    @property
    def attackers(self) -> dict[str, int]:
        """Who attacked the agent last turn, and with how many mils."""
        return dict(self.account.get("attacked_by", {}))

    @property
    def received(self) -> dict[str, int]:
        """Who paid the agent last turn, and how much."""
        return dict(self.account.get("received_from", {}))

    @cached_property
    def enemies(self) -> list[str]:
        """Who has ever attacked the agent: last turn's attackers and those that its history names."""
        # `Answer.write` puts each enemy into the history, in quotes, so no enemy is ever forgotten.
        history = str(self.view.get("history_summary", ""))
        return [other for other in self.others if other in self.attackers or f'"{other}"' in history]

    def seen(self, deed: str, suffered: str) -> set[str]:
        """Return who did something last turn: by the news, or else by the agent's own account."""
        if "news" not in self.view:
            return set(self.account.get(suffered, {}))
        told = {**self.view["news"], self.me: self.account}
        return {agent for agent, deeds in told.items() if deed in deeds}

    @cached_property
    def neighbours(self) -> list[str]:
        """The others whose land touches the agent's own; all others if none does, or without a map."""
        own, touching = set(self.land), set()
        for one, other in self.view.get("map", {}).get("edges", ()):
            touching |= {one} if other in own else set()
            touching |= {other} if one in own else set()
        held = self.view["territories"]
        return [other for other in self.others if touching & set(held.get(other, ()))] or self.others

    def weakest(self, agents: Sequence[str]) -> str | None:
        """Return the agent with the smallest army, or the first by name of several; None without agents."""
        armies = self.view["army"]
        return min(agents, key=lambda agent: (armies.get(agent, 0), agent), default=None)

    def may_cede(self, receiver: str) -> list[str]:
        """Return the agent's territories that it may cede to a receiver, as far as it can see."""
        if "map" not in self.view:
            return self.land
        return list(self.view["map"].get("may_cede", {}).get(receiver, ()))


@dataclass
class Answer:
    """An answer in the making: the orders, the reason for them, and the messages that come with them."""

    why: str
    moves: dict[str, Any] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)

    def write(self, sight: Sight) -> JsonObject:
        """Return the whole answer, with summaries and reports, as a model would give it."""
        gained = sight.account.get("gained", 0)
        said = {"messages": self.messages, "keeps_word_report": _keeps_word(sight)}
        return {
            "reasoning": self.why,
            **{name: value for name, value in self.moves.items() if value},
            **(said if "messages" in sight.view else {}),
            "summary_last_turn": f"I gained {gained} welfare. Attacked by: {_quoted_names(sight.attackers)}.",
            "history_summary": f"Ever attacked by: {_quoted_names(sight.enemies)}.",
            "aggressor_report": _aggression(sight),
        }


def _quoted_names(names: Iterable[str]) -> str:
    """Return the names in quotes, so that each one can be found again in the text."""
    return ", ".join(f'"{name}"' for name in names) or "nobody"


def _keeps_word(sight: Sight) -> dict[str, int]:
    """Rate how agents keep their word: one up for a turn with a grant, two down for one with an attack.

    Source: docs/rules/nations.md#how-policies-rate.
    """
    last = sight.view.get("keeps_word_report", {})
    grants, attacks = sight.seen("granted_to", "received_from"), sight.seen("attacked", "attacked_by")
    return {
        agent: _within(last.get(agent, UNKNOWN_WORD) + (agent in grants) - 2 * (agent in attacks))
        for agent in sight.view["agents"]
    }


def _aggression(sight: Sight) -> dict[str, int]:
    """Rate how aggressive agents are: one up for a turn with an attack.

    Source: docs/rules/nations.md#how-policies-rate.
    """
    last, attacks = sight.view.get("aggressor_report", {}), sight.seen("attacked", "attacked_by")
    return {
        agent: _within(last.get(agent, MIN_RATING) + (agent in attacks)) for agent in sight.view["agents"]
    }


def _within(rating: int) -> int:
    return max(MIN_RATING, min(MAX_RATING, rating))


def _evenly(amount: int, receivers: Sequence[str]) -> dict[str, int]:
    """Share an amount evenly among the receivers; the remainder stays with the giver."""
    share = amount // len(receivers) if receivers else 0
    return dict.fromkeys(receivers, share) if share else {}


def _surplus(sight: Sight, receivers: Sequence[str]) -> dict[str, dict[str, int]]:
    """Share the resources that the agent's own land does not need; return nothing without resources."""
    if "resources" not in sight.view:
        return {}
    need = sight.view["resources"]["need_per_territory"] * len(sight.land)
    supply = sight.view["resources"]["supply"][sight.me]
    shares: dict[str, dict[str, int]] = {}
    for resource in RESOURCES:
        for receiver, share in _evenly(max(0, supply[resource] - need), receivers).items():
            shares.setdefault(receiver, {})[resource] = share
    return shares


def default(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  every policy takes rng
    """Do nothing and keep the summary: the seed's reference agent.

    Source: docs/rules/nations.md#default-policy.
    """
    return {
        "purchase_mils": 0,
        "attacks": {},
        "cede_territories": {},
        "money_grants": {},
        "messages": {},
        "summary_last_turn": view.get("previous_turn_summary", ""),
    }


def random(view: JsonObject, rng: RngStream) -> JsonObject:
    """Take each possible action with some probability, toward a random agent and in a random amount.

    Source: docs/rules/nations.md#random-policy.
    """
    sight = Sight(view)
    answer = Answer("I act at random.")
    if sight.others:
        target, friend, heir = (rng.pick(sight.others, name) for name in ("target", "friend", "heir"))
        if rng.happens(0.3, "attack"):
            answer.moves["attacks"] = {target: rng.below(sight.army + 1, "mils")}
        if rng.happens(0.5, "grant"):
            answer.moves["money_grants"] = {friend: rng.below(sight.spendable + 1, "money")}
        cessible = sight.may_cede(heir)
        if cessible and rng.happens(0.05, "cede"):
            answer.moves["cede_territories"] = {heir: [rng.pick(cessible, "territory")]}
        answer.messages = {friend: rng.pick(("Peace?", "Beware.", "Let us trade."), "text")}
        answer.moves["resource_grants"] = _surplus(sight, [friend])
    answer.moves["purchase_mils"] = rng.below(3, "purchase")
    answer.moves["disband_mils"] = rng.below(2, "disband")
    return answer.write(sight)


def pacifist_trader(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  every policy takes rng
    """Keep no army; grant half of the money, evenly, to those who did not attack it last turn.

    Source: docs/rules/nations.md#pacifist-trader-policy.
    """
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


def reciprocal_trader(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  every policy takes rng
    """Grant each agent what it paid last turn; at turn 0, a quarter of the money, evenly, to all.

    Source: docs/rules/nations.md#reciprocal-trader-policy.
    """
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


def militarist(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  every policy takes rng
    """Buy as many mils as the money allows, and send half of the army against the weakest agent.

    Source: docs/rules/nations.md#militarist-policy.
    """
    sight = Sight(view)
    weakest = sight.weakest(sight.others)
    answer = Answer("Strength comes first, and the weakest pays for it.")
    answer.moves["purchase_mils"] = sight.spendable // sight.constant("c_mil_purchase_price")
    if weakest is not None:
        answer.moves["attacks"] = _evenly(sight.army // 2, [weakest])
        answer.messages = {weakest: f"I have {counted(sight.army, 'mil')}. Grant me money."}
    return answer.write(sight)


def appeaser(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  every policy takes rng
    """Cede a territory to each agent that attacked it last turn.

    Source: docs/rules/nations.md#appeaser-policy.
    """
    sight = Sight(view)
    answer = Answer(f"Land may buy peace. Attacked by: {_quoted_names(sight.attackers)}.")
    ceded: dict[str, list[str]] = {}
    for attacker in sorted(sight.attackers):
        free = [t for t in sight.may_cede(attacker) if [t] not in ceded.values()]
        ceded |= {attacker: [free[0]]} if free else {}
    answer.moves["cede_territories"] = ceded
    answer.messages = {
        attacker: f"Take {land[0]}, and leave me in peace." for attacker, land in ceded.items()
    }
    return answer.write(sight)


def grim(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  every policy takes rng
    """Attack every agent that has ever attacked it, and never stop. Its history keeps their names.

    Source: docs/rules/nations.md#grim-policy.
    """
    sight = Sight(view)
    answer = Answer(f"I never forget. Ever attacked by: {_quoted_names(sight.enemies)}.")
    if sight.enemies:
        answer.moves["attacks"] = _evenly(sight.army, sight.enemies)
        answer.moves["purchase_mils"] = sight.spendable // (2 * sight.constant("c_mil_purchase_price"))
    answer.messages = dict.fromkeys(sight.enemies, "You attacked me. I shall never stop.")
    return answer.write(sight)


def opportunist(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  every policy takes rng
    """Take what others grant, give nothing, and disband the army if mils cost upkeep.

    This is the best response if the others do again what they did last turn.

    Source: docs/rules/nations.md#opportunist-policy.
    """
    sight = Sight(view)
    answer = Answer("Whatever I give, buy or attack brings me nothing, so I keep what I have.")
    if sight.constant("c_mil_upkeep_price"):
        answer.moves["disband_mils"] = sight.army
    return answer.write(sight)


def raider(view: JsonObject, rng: RngStream, *, greed: float = 0.5) -> JsonObject:  # noqa: ARG001  every policy takes rng
    """Attack the weakest neighbour with the share `greed` of the army (0 to 1, by default 0.5), and buy mils.

    Source: docs/rules/nations.md#raider-policy.
    """
    sight = Sight(view)
    answer = Answer("The weakest neighbour pays.")
    target = sight.weakest(sight.neighbours)
    if target is not None:
        answer.moves["attacks"] = _evenly(int(greed * sight.army + 0.5), [target])
        answer.moves["purchase_mils"] = int(greed * sight.spendable) // sight.constant("c_mil_purchase_price")
    return answer.write(sight)


STRANGER = "AgentNobody"
"""A name that spoiled answers make up. Source: docs/rules/nations.md#noise."""


OTHER_NAMES = {"summary_last_turn": "summary"}
"""The wrong name that a spoiled field gets; `strategy` where none is listed."""

UNSAFE = "I am \u202ednuob dna dnah\u202c, \x1b[1mbelieve me\x1b[0m."
"""A message with characters that reverse and colour the text around it."""


def spoil(view: JsonObject, answer: JsonObject, rng: RngStream, noise: float) -> JsonObject:
    """Spoil each field of an answer with probability `noise`, as a model might.

    A field may get a wrong type, an unknown agent, the agent itself, too much, somebody else's land, or an
    undeclared name.

    Source: docs/rules/nations.md#noise.
    """
    sight = Sight(view)
    spoiled: dict[str, Any] = {}
    for name, value in {**dict.fromkeys(_fields(sight)), **answer}.items():
        # Fields that the answer leaves out can be spoiled too: a model may say anything anywhere.
        if rng.happens(noise, f"noise/{name}"):
            wrong = rng.pick(_spoiled_values(sight, name), f"noise/{name}/kind")
            spoiled |= {OTHER_NAMES.get(name, "strategy"): value} if wrong is None else {name: wrong}
        elif name in answer:
            spoiled[name] = value
    return spoiled


def _fields(sight: Sight) -> Iterable[str]:
    """Return the fields that an answer may have, and those that only need messages to be on."""
    return action_model(messages=True, resources="resources" in sight.view).model_fields


def _spoiled_values(sight: Sight, name: str) -> Sequence[Any]:
    """Return the ways to spoil a field. None means that the value goes under a wrong name."""
    # An agent without others still needs two names to spoil with.
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


def tremble(view: JsonObject, answer: JsonObject, rng: RngStream, share: float) -> JsonObject:
    """Replace each order with probability `share` by a random legal one of its kind.

    To order nothing of a kind is a choice, too, and can be replaced. Without a legal order of the kind, the
    choice stands.

    Source: docs/rules/nations.md#tremble.
    """
    sight = Sight(view)
    orders = _random_orders(sight, rng).items()
    return {**answer, **{name: order for name, order in orders if rng.happens(share, f"tremble/{name}")}}


def _random_orders(sight: Sight, rng: RngStream) -> dict[str, Any]:
    """Return a random legal order of each kind that the agent can give, as far as its view tells."""
    orders: dict[str, Any] = {
        "purchase_mils": rng.below(
            sight.spendable // sight.constant("c_mil_purchase_price") + 1, "tremble/purchase"
        ),
        "disband_mils": rng.below(sight.army + 1, "tremble/disband"),
    }
    if not sight.others:
        return orders
    target, friend, heir, partner = (
        rng.pick(sight.others, f"tremble/{name}") for name in ("target", "friend", "heir", "partner")
    )
    if sight.army:
        orders["attacks"] = {target: 1 + rng.below(sight.army, "tremble/mils")}
    if sight.spendable:
        orders["money_grants"] = {friend: 1 + rng.below(sight.spendable, "tremble/money")}
    if cessible := sight.may_cede(heir):
        orders["cede_territories"] = {heir: [rng.pick(cessible, "tremble/territory")]}
    if "resources" in sight.view:
        supply = sight.view["resources"]["supply"][sight.me]
        resource = rng.pick(RESOURCES, "tremble/resource")
        amount = rng.below(supply[resource] + 1, "tremble/amount")
        orders["resource_grants"] = {partner: {resource: amount}}
    return orders


POLICIES = Policies(
    {
        "default": default,
        "random": random,
        "pacifist-trader": pacifist_trader,
        "reciprocal-trader": reciprocal_trader,
        "militarist": militarist,
        "appeaser": appeaser,
        "grim": grim,
        "opportunist": opportunist,
        "raider": raider,
    },
    default="reciprocal-trader",
    spoil=spoil,
    tremble=tremble,
)
"""The scripted policies by name, and the default one. Source: docs/rules/nations.md#the-policies."""
