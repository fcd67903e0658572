"""fishery: the regulator, who sets one quota for all when boats ask for another.

Rulings are stored in the intents of the boats that asked, so `resolve` needs nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hobbes.engine.chance import RngStream
from hobbes.engine.policy import Policies, Policy
from hobbes.engine.record import Findings, JsonObject
from hobbes.engine.said import clean_text, whole
from hobbes.engine.world import OBSERVER, Observer, Ruled
from tests.fishery.actions import RulingSaid
from tests.fishery.state import MAX_TONNES, Ruling, State
from tests.fishery.validation import TEXT, Intent

Intents = Mapping[str, Intent]

SCRIPTED = ("keep", "average")

CODES: Mapping[str, str] = {
    "observer/unknown-field": "a field that the schema does not have; the rest stands",
    "observer/bad-quota": "the quota is not a whole number; the old one stays",
    "observer/quota-out-of-range": f"the quota was cut to the range from 0 to {MAX_TONNES:,}",
    "observer/not-text": "the reason is not text; the quota stands",
    "observer/why/too-long": f"the reason was cut to {TEXT} characters",
    "observer/why/unsafe-characters": "control and invisible characters were removed from the reason",
}
"""What the codes of the regulator's answer mean."""


def requests(state: State, intents: Intents) -> list[JsonObject]:
    """Return what boats ask for, sorted by boat, with what the regulator should know."""
    return [
        {"boat": boat, "asks": intent.request, "why": intent.why, "quota": state.quota, "stock": state.stock}
        for boat, intent in sorted(intents.items())
        if intent.request is not None
    ]


def rule(state: State, intents: Intents, answer: JsonObject | None) -> Ruled[Intent]:
    """Return the intents with the ruling in them: by the config's rule, or as it was answered."""
    asked, findings = requests(state, intents), Findings(OBSERVER)
    if not asked:
        return Ruled(intents)
    scripted = state.config.observer in SCRIPTED
    ruling = decide(state, asked) if scripted else read_ruling(state, findings, answer)
    ruled = {
        boat: intent if intent.request is None else replace(intent, ruling=ruling)
        for boat, intent in intents.items()
    }
    return Ruled(ruled, tuple(findings.drops), tuple(findings.mends))


def decide(state: State, asked: Sequence[Mapping[str, Any]]) -> Ruling:
    """Keep the quota, or set it to the mean of the requests, rounded down."""
    if state.config.observer == "keep":
        return Ruling(state.quota, "The quota stays.")
    return Ruling(sum(request["asks"] for request in asked) // len(asked), "The mean of what you ask.")


def read_ruling(state: State, findings: Findings, answer: JsonObject | None) -> Ruling:
    """Read `{"quota": n, "why": "..."}`; without an answer or a usable quota the old one stays."""
    if answer is None:
        return Ruling(state.quota)
    for name in sorted(answer.keys() - RulingSaid.model_fields.keys()):
        findings.drop("schema", "observer/unknown-field", {name: answer[name]})
    quota, why = whole(answer.get("quota")), answer.get("why", "")
    if quota is None:
        findings.drop("schema", "observer/bad-quota", {"quota": answer.get("quota")}, "the quota stays")
        quota = state.quota
    elif not 0 <= quota <= MAX_TONNES:
        kept = max(0, min(quota, MAX_TONNES))
        findings.mend("rule", "observer/quota-out-of-range", {"quota": quota}, {"quota": kept})
        quota = kept
    if not isinstance(why, str):
        findings.drop("schema", "observer/not-text", {"why": why})
        why = ""
    return Ruling(quota, clean_text(findings, "observer/why", why, TEXT))


def ruling_of(intents: Intents) -> Ruling | None:
    """Return the ruling of a round, which is the same in every intent that has one."""
    return next((intent.ruling for _, intent in sorted(intents.items()) if intent.ruling), None)


def ruled(intents: Intents) -> JsonObject:
    """Return the ruling as plain JSON."""
    ruling = ruling_of(intents)
    return {} if ruling is None else {"quota": ruling.quota, "why": ruling.why}


def _rules(quota: Callable[[Sequence[int]], int], why: str) -> Policy:
    """Return a policy that stands in for a model as regulator."""

    def policy(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  the shape of a Policy
        asked: Any = view["requests"]
        return {"quota": quota([request["asks"] for request in asked]), "why": why}

    return policy


def _tremble(view: JsonObject, answer: JsonObject, rng: RngStream, share: float) -> JsonObject:
    """Replace the quota with probability `share` by a random one, up to the whole stock."""
    asked: Any = view["requests"]
    quota = rng.below(asked[0]["stock"] + 1, "tremble/quota")
    return {**answer, "quota": quota} if rng.happens(share, "tremble") else answer


BAD: Sequence[JsonObject] = (
    {},
    {"quota": "all"},
    {"quota": -5},
    {"quota": 9, "why": 7},
    {"quota": 9, "fine": 3},
)
"""Bad rulings of kinds that models give."""

REGULATOR: Observer[State, Intent] = Observer(
    asks=lambda state: "" if state.config.observer in SCRIPTED else state.config.observer,
    requests=requests,
    ruling=lambda _: RulingSaid,
    rule=rule,
    ruled=ruled,
    stand_ins=Policies(
        {"strict": _rules(min, "The least of it."), "lenient": _rules(max, "As you wish.")},
        default="strict",
        spoil=lambda _, answer, rng, noise: (
            rng.pick(BAD, "noise/kind") if rng.happens(noise, "noise/ruling") else answer
        ),
        tremble=_tremble,
    ),
)
"""The regulator as the contract of a world wants it; only a person or a model has to be asked."""
