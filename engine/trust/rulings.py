"""trust: the rulings of the observer, which answers the units that beg.

The requests of a turn are known once its answers are validated. A scripted observer decides by a rule. The
answer of a person or a model is read here, and what is wrong with it becomes a rejection or a correction.
Rulings are stored in the intents. `resolve` uses those of a person or a model, and works out those of a
scripted observer again.

Source: docs/rules/trust.md#requests, docs/rules/trust.md#rulings.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, create_model

from hobbes.engine.chance import RngStream, happens
from hobbes.engine.memory import reason as sentence
from hobbes.engine.policy import Policies, Policy
from hobbes.engine.record import Draw, Drop, Findings, Json, JsonObject, Mend
from hobbes.engine.said import clean_text, whole
from hobbes.engine.trust.actions import ObserverAnswer, RulingSaid
from hobbes.engine.trust.acts import carry_out
from hobbes.engine.trust.state import OBSERVER_PATTERN, Ruling, State, TrustConfig
from hobbes.engine.trust.validation import REASON_LIMIT, Intent
from hobbes.engine.world import OBSERVER, Observer, Ruled

Requests: TypeAlias = Sequence[Mapping[str, Any]]

BUDGET, PATIENCE = 40, 4
"""The numbers of plain `sparing`. A unit that has begged PATIENCE times before is heard half of the time.

Source: docs/rules/trust.md#sparing.
"""

REASONS: Mapping[str, str] = {
    "ruling/always": "I grant what is asked.",
    "ruling/never": "I never grant anything.",
    "ruling/heard": "I heard you. The more often a unit has begged, the less I do; this was your request "
    "number {detail}.",
    "ruling/not-heard": "I did not hear you. The more often a unit has begged, the less I do; this was your "
    "request number {detail}.",
    "ruling/true-and-needed": "Your reason tells how many sats you have, and you ask for no more than you "
    "lack to the threshold.",
    "ruling/true": "Your reason tells how many sats you have, but you ask for more than you lack to the "
    "threshold.",
    "ruling/needed": "You ask for no more than you lack to the threshold, but your reason does not tell how "
    "many sats you have.",
    "ruling/neither": "Your reason does not tell how many sats you have, and you ask for more than you lack "
    "to the threshold.",
    "ruling/budget": "My budget does not allow more.",
    "ruling/budget-shared": "My budget does not allow more after what {detail} got in this round.",
    "ruling/unanswered": "Nobody answered.",
}
"""What scripted observers say. Source: docs/rules/trust.md#budget, docs/rules/trust.md#reading."""

WEIGHED: Mapping[tuple[bool, bool], str] = {
    (True, True): "ruling/true-and-needed",
    (True, False): "ruling/true",
    (False, True): "ruling/needed",
    (False, False): "ruling/neither",
}
"""What a reading observer says, by whether the reason is true and the amount needed."""


class Share(NamedTuple):
    """What a unit should get if the budget allows, and the sentence that says why."""

    sats: int
    code: str
    detail: str = ""


SCRIPTED = ("never", "always", "sparing", "reading")


class Rulings(NamedTuple):
    """The rulings on the requests of a turn, by unit, with their random draws, rejections and corrections."""

    rulings: Mapping[str, Ruling]
    draws: tuple[Draw, ...] = ()
    drops: tuple[Drop, ...] = ()
    mends: tuple[Mend, ...] = ()


CODES: Mapping[str, str] = {
    "observer/not-rulings": "the observer's `rulings` are not an object",
    "observer/no-ruling": "a request got no ruling, and is declined",
    "observer/bad-ruling": "a ruling is not an object; the request is declined",
    "observer/bad-grant": "a grant is not a whole number; the request is declined",
    "observer/bad-reason": "a ruling without a reason in words; the request is declined",
    "observer/unknown-field": "a field that the schema does not have; the rest stands",
    "observer/not-asked": "a ruling on a unit that did not ask",
    "observer/cut-to-request": "a grant was cut to the range from 0 to the amount asked",
    "observer/reason/too-long": f"the reason of a ruling was cut to {REASON_LIMIT} characters",
    "observer/reason/unsafe-characters": "control and invisible characters were removed from a reason",
}
"""What the codes of an observer's answer mean. Source: docs/rules/trust.md#reading-a-ruling."""


def is_scripted(observer: str) -> bool:
    """Return whether an observer decides by a rule, so that nobody has to be asked.

    Source: docs/rules/trust.md#choice-of-observer.
    """
    return observer.startswith(SCRIPTED)


def requests(state: State, intents: Mapping[str, Intent]) -> Requests:
    """Return the requests of a turn, sorted by unit, without those of units that fumble.

    Source: docs/rules/trust.md#requests.
    """
    begging = {
        unit: intent
        for unit, intent in intents.items()
        if intent.action == "beg" and unit in state.units_by_id and state.units_by_id[unit].alive
    }
    if not begging:
        return []
    # Draws are keyed by unit and event, so these are the fumbles that `resolve` draws again.
    deeds, _ = carry_out(state, begging)
    return [
        {
            "unit": deed.unit,
            "amount": begging[deed.unit].amount,
            "reason": begging[deed.unit].reason,
            "sats": state.units_by_id[deed.unit].sats,
            "begged_before": state.units_by_id[deed.unit].begged,
            "granted_before": state.units_by_id[deed.unit].granted,
        }
        for deed in deeds.values()
        if deed.did == "beg"
    ]


def scripted_rulings(state: State, asked: Requests) -> Rulings:
    """Return the rulings of the run's scripted observer. Source: docs/rules/trust.md#never-and-always."""
    observer = state.config.observer
    if observer == "always":
        return Rulings({r["unit"]: _scripted_ruling(r, r["amount"], "ruling/always") for r in asked})
    if observer == "never":
        return Rulings({r["unit"]: _scripted_ruling(r, 0, "ruling/never") for r in asked})
    if observer.startswith("reading"):
        return _reading(state, asked)
    return _sparing(state, asked)


def budget_of(config: TrustConfig) -> int | None:
    """Return the sats that the observer can grant in a whole game; None if it has no budget.

    Source: docs/rules/trust.md#budget.
    """
    return _numbers(config.observer)[0]


@lru_cache
def _numbers(observer: str) -> tuple[int | None, int]:
    """Return the budget and the patience of an observer. Source: docs/rules/trust.md#sparing."""
    found = OBSERVER_PATTERN.fullmatch(observer)
    if found is None or not observer.startswith(("sparing", "reading")):
        return None, PATIENCE
    return int(found["budget"] or found["purse"] or BUDGET), int(found["patience"] or PATIENCE)


def budget_left(state: State) -> int | None:
    """Return the sats that the observer can still grant in this game; None if it has no budget."""
    budget = budget_of(state.config)
    return None if budget is None else max(0, budget - sum(unit.granted for unit in state.units))


def _sparing(state: State, asked: Requests) -> Rulings:
    """Grant within a budget for the whole game, with a lower chance after each earlier request of a unit.

    With a patience of P, a request after k earlier ones is heard with a chance of P / (P + k).

    Source: docs/rules/trust.md#sparing.
    """
    _, patience = _numbers(state.config.observer)
    shares: dict[str, Share] = {}
    draws: list[Draw] = []
    for request in asked:
        unit, before = request["unit"], request["begged_before"]
        percent = 100 * patience // (patience + before) if patience else 0
        draws.append(happens(state.setting.seed, state.turn, unit, "sparing", percent))
        heard = draws[-1].winner == "yes"
        code = "ruling/heard" if heard else "ruling/not-heard"
        shares[unit] = Share(request["amount"] if heard else 0, code, str(before + 1))
    return Rulings(_within_budget(state, asked, shares), tuple(draws))


def _reading(state: State, asked: Requests) -> Rulings:
    """Weigh amounts and reasons: half a request is granted for each of two things, a true reason and a need.

    The reason must tell the unit's sats, and the amount must not be more than it lacks to the threshold.

    Source: docs/rules/trust.md#reading.
    """
    shares: dict[str, Share] = {}
    for request in asked:
        sats, amount = request["sats"], request["amount"]
        true = str(sats) in re.findall(r"\d+", request["reason"])
        needed = amount <= max(0, state.config.threshold - sats)
        shares[request["unit"]] = Share(amount * (true + needed) // 2, WEIGHED[true, needed])
    return Rulings(_within_budget(state, asked, shares))


def _within_budget(state: State, asked: Requests, shares: Mapping[str, Share]) -> dict[str, Ruling]:
    """Grant each request its share, while the budget lasts, in the order of the units' names.

    If the budget cuts a grant short, the reason says so and names those who were served before in this round.
    It does not say what is left: that is in the view, and only if the budget is known.

    Source: docs/rules/trust.md#budget.
    """
    left, served = budget_left(state) or 0, list[str]()
    ruled: dict[str, Ruling] = {}
    for request in asked:
        unit, share = request["unit"], shares[request["unit"]]
        grant = min(share.sats, left)
        code, detail = share.code, share.detail
        if grant < share.sats:
            code, detail = ("ruling/budget-shared", ", ".join(served)) if served else ("ruling/budget", "")
        ruled[unit] = _scripted_ruling(request, grant, code, detail)
        served += [unit] if grant else []
        left -= grant
    return ruled


def _scripted_ruling(request: Mapping[str, Any], grant: int, code: str, detail: str = "") -> Ruling:
    """Return the ruling of a scripted observer, with the sentence of its code as the reason."""
    return _ruling(request, grant, sentence(REASONS, code, detail))


def code_of(said: str) -> tuple[str, str] | None:
    """Return the code and the detail of a sentence of scripted observers; None for anybody else's words.

    Views show the code beside the sentence, so that a prompt in another language can translate it. The record
    has only the sentence, as for a person or a model.

    Source: docs/rules/trust.md#view-of-a-ruling.
    """
    for code, words in REASONS.items():
        before, _, after = words.partition("{detail}")
        if said == words or ("{detail}" in words and said.startswith(before) and said.endswith(after)):
            return code, said.removeprefix(before).removesuffix(after)
    return None


def _ruling(request: Mapping[str, Any], grant: int, reason: str) -> Ruling:
    return Ruling(request["amount"], grant, reason, request["reason"])


def read_answer(asked: Requests, answer: JsonObject | None) -> Rulings:
    """Read the answer of a person or a model: `{"rulings": {unit: {"grant": n, "reason": "..."}}}`.

    Nothing in an answer raises. A request without a ruling is declined, and a rejection says so.

    Source: docs/rules/trust.md#reading-a-ruling.
    """
    findings = Findings(OBSERVER)
    said = _rulings_field(findings, answer)
    known = {request["unit"] for request in asked}
    for unit, value in said.items():
        if unit not in known:
            findings.drop("rule", "observer/not-asked", {unit: value})
    ruled = {r["unit"]: _read_one_ruling(findings, r, said.get(r["unit"])) for r in asked}
    return Rulings(ruled, drops=tuple(findings.drops), mends=tuple(findings.mends))


def _rulings_field(findings: Findings, answer: JsonObject | None) -> Mapping[str, Json]:
    """Return the rulings of an answer by unit, and reject all other fields."""
    for name, value in (answer or {}).items():
        if name != "rulings":
            findings.drop("schema", "observer/unknown-field", {name: value})
    said = (answer or {}).get("rulings")
    if said is not None and not isinstance(said, Mapping):
        findings.drop("schema", "observer/not-rulings", {"rulings": said})
    return said if isinstance(said, Mapping) else {}


def _read_one_ruling(findings: Findings, request: Mapping[str, Any], said: Json) -> Ruling:
    """Read one ruling: a whole number from 0 to the amount asked, and a reason; else nothing is granted."""
    unit = request["unit"]
    if said is None:
        findings.drop("schema", "observer/no-ruling", {unit: None}, "counts as declined")
        return _ruling(request, 0, "")
    if not isinstance(said, Mapping):
        findings.drop("schema", "observer/bad-ruling", {unit: said}, "counts as declined")
        return _ruling(request, 0, "")
    for name, value in said.items():
        if name not in ("grant", "reason"):
            findings.drop("schema", "observer/unknown-field", {unit: {name: value}})
    grant, reason = whole(said.get("grant")), said.get("reason", "")
    reason = clean_text(findings, "observer/reason", reason, REASON_LIMIT) if isinstance(reason, str) else ""
    if not reason.strip():
        findings.drop("schema", "observer/bad-reason", {unit: said.get("reason")}, "counts as declined")
        return _ruling(request, 0, "")
    if grant is None:
        findings.drop("schema", "observer/bad-grant", {unit: said.get("grant")}, "counts as declined")
        return _ruling(request, 0, reason)
    if not 0 <= grant <= request["amount"]:
        kept = max(0, min(grant, request["amount"]))
        findings.mend("rule", "observer/cut-to-request", {unit: grant}, {unit: kept})
        grant = kept
    return _ruling(request, grant, reason)


def with_rulings(intents: Mapping[str, Intent], ruled: Mapping[str, Ruling]) -> dict[str, Intent]:
    """Return the intents with the rulings in them. Source: docs/rules/trust.md#rulings."""
    return {
        unit: replace(intent, ruling=ruled[unit]) if unit in ruled else intent
        for unit, intent in intents.items()
    }


def rule_again(state: State, intents: Mapping[str, Intent]) -> Rulings:
    """Return the ruling on each request of a round that is being resolved.

    A scripted observer decides again, whatever the intents hold. Any other observer has answered before, and
    its rulings are in the intents; a request without one is declined.

    Source: docs/rules/trust.md#rulings, docs/rules/trust.md#human-or-model-observer.
    """
    asked = requests(state, intents)
    if not asked:
        return Rulings({})
    if is_scripted(state.config.observer):
        return scripted_rulings(state, asked)
    return Rulings(
        {r["unit"]: intents[r["unit"]].ruling or _scripted_ruling(r, 0, "ruling/unanswered") for r in asked}
    )


def rule_on_requests(state: State, intents: Mapping[str, Intent], answer: JsonObject | None) -> Ruled[Intent]:
    """Return the intents with the rulings in them: those of the scripted observer, or those of the answer.

    Source: docs/rules/trust.md#rulings.
    """
    asked = requests(state, intents)
    scripted = is_scripted(state.config.observer)
    ruled = scripted_rulings(state, asked) if scripted else read_answer(asked, answer)
    return Ruled(with_rulings(intents, ruled.rulings), ruled.drops, ruled.mends)


def _grants(amount: Callable[[Mapping[str, Any]], int], why: str) -> Policy:
    """Return a policy that stands in for a model as observer and rules on each request separately."""

    def policy(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  not every policy needs rng
        asked: Any = view["requests"]
        return {"rulings": {r["unit"]: {"grant": amount(r), "reason": why} for r in asked}}

    return policy


def _spoil(view: JsonObject, answer: JsonObject, rng: RngStream, noise: float) -> JsonObject:  # noqa: ARG001  the shape of a Change
    """Spoil each ruling with probability `noise`, and with the same probability the answer as a whole."""
    said: Any = answer["rulings"]
    ruled = {
        unit: rng.pick(SPOILED, f"noise/{unit}/kind") if rng.happens(noise, f"noise/{unit}") else ruling
        for unit, ruling in said.items()
    }
    beside = {**ruled, "unit-nobody": {"grant": 3}}
    others: Sequence[JsonObject] = (
        {"rulings": beside},
        {"rulings": "as they wish"},
        {"rulings": ruled, "mood": "mild"},
    )
    return rng.pick(others, "noise/all/kind") if rng.happens(noise, "noise/all") else {"rulings": ruled}


SPOILED: Sequence[Any] = (
    None,
    5,
    {"grant": -1, "reason": "You owe me."},
    {"grant": 10**6, "reason": 7},
    {"grant": "all", "reason": "All of it.", "why": "yes"},
    {"grant": 1, "reason": "because " * 50},
    {"grant": 1, "reason": "\u202eosla\u202c \x1b[4mbecause\x1b[0m"},
)
"""Bad rulings of the kinds that models give."""

STAND_INS = Policies(
    {
        "all": _grants(lambda asked: asked["amount"], "Who asks shall have it."),
        "none": _grants(lambda _: 0, "Whoever begs learns nothing."),
        "half-once": _grants(
            lambda asked: 0 if asked["begged_before"] else asked["amount"] // 2, "Half, once."
        ),
    },
    default="half-once",
    spoil=_spoil,
)
"""The policies that answer in place of a model as observer, behind the stand-in server.

Source: docs/rules/trust.md#stand-in-observers.
"""


def answer_model(asked: Requests) -> type[BaseModel]:
    """Return the model of an answer to these requests: one ruling per unit, bounded by what it asked for."""
    if not asked:
        return ObserverAnswer
    strict = ConfigDict(extra="forbid", strict=True)
    said = {request["unit"]: _ruling_field(request) for request in asked}
    on_each = create_model("Rulings", __config__=strict, **said)
    rulings = (on_each, Field(default_factory=dict, validate_default=True))
    return create_model("ObserverAnswer", __config__=strict, rulings=rulings)


def _ruling_field(request: Mapping[str, Any]) -> Any:  # noqa: ANN401  as pydantic declares fields
    """Return the field of the ruling on a request; of one that is left out, the reason is missing."""
    amount, words = request["amount"], RulingSaid.model_fields["reason"].description
    grant = (int, Field(0, ge=0, le=amount, description="sats to grant"))
    reason = (str, Field(max_length=REASON_LIMIT, description=words))
    model = create_model("RulingSaid", __base__=RulingSaid, grant=grant, reason=reason)
    asked = f"asks for {amount}: {request['reason']}"
    return model, Field(default_factory=dict, validate_default=True, description=asked)


def stored_rulings(intents: Mapping[str, Intent]) -> dict[str, Json]:
    """Return the rulings that intents hold, by the unit that begged."""
    return {
        unit: {"asked": one.ruling.asked, "granted": one.ruling.granted, "reason": one.ruling.reason}
        for unit, one in intents.items()
        if one.ruling is not None
    }


TRUST_OBSERVER: Observer[State, Intent] = Observer(
    asks=lambda state: "" if is_scripted(state.config.observer) else state.config.observer,
    requests=requests,
    ruling=answer_model,
    rule=rule_on_requests,
    ruled=stored_rulings,
    stand_ins=STAND_INS,
    reasons=REASONS,
)
"""The observer of trust. Only a person or a model has to be asked.

Source: docs/rules/trust.md#human-or-model-observer.
"""
