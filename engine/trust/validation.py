"""trust: from an answer to an intent.

Source: decisions page, "One action a turn". What is unreadable or not allowed becomes `do_nothing`, as a drop
with its reason; the intent says that nobody chose it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from engine.record import Findings, Json, JsonObject
from engine.reflection import Reflection, reflect
from engine.said import clean_text, whole
from engine.trust.actions import KINDS, MOST, NEEDS, Kind, TrustAction
from engine.trust.state import Ruling, State
from engine.world import Codec, Validated

REASON_LIMIT = 300
"""Characters of a reason, of who begs and of the observer."""

DECLARED = frozenset(TrustAction.model_fields)
"""What an answer may have."""

FIELDS = ("target", "amount", "reason")
"""What may belong to an action."""

NOT_GIVEN: tuple[Json, ...] = (None, "", 0)
"""What stands in a field that is not used, as models fill one in."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What a unit does this round; `chosen` is false where the answer was lost or refused."""

    action: Kind = "do_nothing"
    target: str | None = None
    amount: int = 0
    reason: str = ""
    chosen: bool = True
    ruling: Ruling | None = None
    """What the observer answered, once it has."""
    reflection: Reflection = field(default_factory=Reflection)


CODEC = Codec(Intent)

NOBODYS = Intent(chosen=False)
"""What counts for a unit whose answer was lost: it does nothing, and nobody chose that."""


@dataclass(frozen=True, slots=True)
class Order:
    """An action as it was said, every field read as far as it can be."""

    kind: Kind
    target: str | None
    amount: int | None
    reason: str


def validate(state: State, agent: str, answer: JsonObject | None) -> Validated[Intent]:
    """Give what an answer comes to: its one action if that is allowed, else nothing, with a drop."""
    if answer is None:
        return Validated(NOBODYS)
    findings = Findings(agent)
    intent = _intent(state, findings, answer)
    for name, value in answer.items():
        if name not in DECLARED:
            findings.drop("schema", "trust/unknown-field", {name: value})
    reflection = reflect(findings, answer, state.unit)
    return Validated(replace(intent, reflection=reflection), tuple(findings.drops), tuple(findings.mends))


def _intent(state: State, findings: Findings, answer: JsonObject) -> Intent:
    """Read the action and what belongs to it; refuse it whole if any of that is not allowed."""
    said = {name: answer[name] for name in ("action", *FIELDS) if name in answer}
    kind = _kind(answer.get("action"))
    if kind is None:
        findings.drop("schema", "trust/no-action", said, "an action is one of " + ", ".join(KINDS))
        return NOBODYS
    for name in FIELDS:
        if name not in NEEDS[kind] and name in answer and answer[name] not in NOT_GIVEN:
            findings.drop("rule", "trust/not-needed", {name: answer[name]}, f"{kind} has no {name}")
    order = _order(state, findings, kind, answer)
    if order is None:
        return NOBODYS
    refusal = next(filter(None, (check(state, findings.agent, order) for check in CHECKS[kind])), None)
    if refusal is not None:
        findings.drop("rule", refusal, said)
        return NOBODYS
    return Intent(kind, order.target, order.amount or 0, order.reason)


def _kind(said: Json) -> Kind | None:
    """Give the action of this name."""
    return next((kind for kind in KINDS if kind == said), None)


def _order(state: State, findings: Findings, kind: Kind, answer: JsonObject) -> Order | None:
    """Read what belongs to an action; None, and a drop, for what has the wrong type."""
    target: str | None = None
    amount, reason = None, ""
    if "target" in NEEDS[kind]:
        said = answer.get("target")
        if said not in NOT_GIVEN and not isinstance(said, str):
            findings.drop("schema", "trust/bad-target", {"action": kind, "target": said})
            return None
        target = said if isinstance(said, str) and said else _only_opponent(state, findings.agent)
    if "amount" in NEEDS[kind]:
        amount = whole(answer.get("amount"))
    if "reason" in NEEDS[kind] and isinstance(given := answer.get("reason"), str):
        reason = clean_text(findings, "trust/reason", given, REASON_LIMIT).strip()
    return Order(kind, target, amount, reason)


def _only_opponent(state: State, agent: str) -> str | None:
    """With one opponent the target may be left out."""
    opponents = state.opponents(agent)
    return opponents[0] if len(opponents) == 1 else None


def _there(state: State, agent: str, order: Order) -> str | None:
    """A target is named, exists, is alive, and is another."""
    if order.target is None:
        return "trust/no-target"
    if order.target not in state.unit:
        return "trust/unknown-target"
    if order.target == agent:
        return "trust/self-target"
    return None if state.unit[order.target].alive else "trust/dead-target"


def _no_ally(state: State, agent: str, order: Order) -> str | None:
    """Allies cannot attack one another."""
    return "trust/ally" if state.allied(agent, order.target or agent) else None


def _ally(state: State, agent: str, order: Order) -> str | None:
    """Sats may be sent to allies."""
    return None if state.allied(agent, order.target or agent) else "trust/not-an-ally"


def _amount(_: State, __: str, order: Order) -> str | None:
    """An amount is a whole number of sats, at least one."""
    return None if order.amount is not None and 1 <= order.amount <= MOST else "trust/bad-amount"


def _affordable(state: State, agent: str, order: Order) -> str | None:
    """Nobody sends more than it has."""
    return None if (order.amount or 0) <= state.unit[agent].sats else "trust/not-enough-sats"


def _reason(_: State, __: str, order: Order) -> str | None:
    """Who begs gives a reason."""
    return None if order.reason else "trust/no-reason"


def _at_threshold(state: State, agent: str, _: Order) -> str | None:
    """Who replicates has the sats for it at the start of the round."""
    return None if state.unit[agent].sats >= state.config.threshold else "trust/below-threshold"


Check = Callable[[State, str, Order], str | None]

CHECKS: Mapping[Kind, tuple[Check, ...]] = {
    "high_five": (_there,),
    "attack": (_there, _no_ally),
    "block": (),
    "do_nothing": (),
    "beg": (_amount, _reason),
    "replicate": (_at_threshold,),
    "send": (_there, _ally, _amount, _affordable),
}
"""What each action is checked for, in this order: the first that fails is the reason of the drop."""
