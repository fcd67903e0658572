"""fishery: from an answer to an intent. A catch that cannot be read is a catch of 0 that nobody chose."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hobbes.engine.record import Findings, Json, JsonObject
from hobbes.engine.reflection import Reflection, reflect
from hobbes.engine.said import clean_text, whole
from hobbes.engine.world import Codec, Validated
from tests.fishery.actions import FisheryAction
from tests.fishery.state import MAX_TONNES, Ruling, State

TEXT = 200
"""The most characters of a message or of a reason."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What a boat wants to do this round; `chosen` is false if its answer was lost or its catch rejected."""

    catch: int = 0
    message: str = ""
    request: int | None = None
    why: str = ""
    chosen: bool = True
    ruling: Ruling | None = None
    """The regulator's answer, once there is one, if this boat asked."""
    reflection: Reflection = field(default_factory=Reflection)


CODEC = Codec(Intent)

CODES: Mapping[str, str] = {
    "fishery/unknown-field": "a field that the schema does not have; the rest stands",
    "fishery/bad-catch": "the catch is not a whole number of tonnes; it counts as 0",
    "fishery/cut-to-quota": "the catch was cut to the quota",
    "fishery/bad-request": f"a request is not a whole number from 0 to {MAX_TONNES:,}",
    "fishery/no-request": "a reason without a request",
    "fishery/no-messages": "a message where messages are not allowed",
    "fishery/not-text": "a message or a reason is not text",
    **{f"fishery/{name}/too-long": f"a {name} was cut to {TEXT} characters" for name in ("message", "why")},
    **{f"fishery/{name}/unsafe-characters": f"a {name} was cleaned" for name in ("message", "why")},
}
"""What the codes of an answer mean."""

NO_DECISION = Intent(chosen=False)
"""The default action: to stay in the harbour."""


def validate(state: State, agent: str, answer: JsonObject | None) -> Validated[Intent]:
    """Return the intent of an answer, and what was rejected or corrected."""
    if answer is None:
        return Validated(NO_DECISION)
    findings = Findings(agent)
    for name in sorted(answer.keys() - FisheryAction.model_fields.keys()):
        findings.drop("schema", "fishery/unknown-field", {name: answer[name]})
    catch = _catch(state, findings, answer.get("catch"))
    request = _request(findings, answer.get("request"))
    why = _text(findings, "why", answer)
    if why and request is None:
        findings.drop("rule", "fishery/no-request", {"why": why})
        why = ""
    message = _text(findings, "message", answer)
    if message and not state.config.talk:
        findings.drop("rule", "fishery/no-messages", {"message": message})
        message = ""
    reflection = reflect(findings, answer, state.setting.agents)
    intent = Intent(catch or 0, message, request, why, chosen=catch is not None, reflection=reflection)
    return Validated(intent, tuple(findings.drops), tuple(findings.mends))


def _catch(state: State, findings: Findings, said: Json) -> int | None:
    """A catch is a whole number of tonnes; what exceeds the quota is cut to it."""
    catch = whole(said)
    if catch is None or catch < 0:
        findings.drop("schema", "fishery/bad-catch", {"catch": said}, "counts as 0")
        return None
    if catch > state.quota:
        findings.mend("rule", "fishery/cut-to-quota", {"catch": catch}, {"catch": state.quota})
    return min(catch, state.quota)


def _request(findings: Findings, said: Json) -> int | None:
    """A request is the quota that a boat asks for."""
    request = whole(said)
    if said is not None and (request is None or not 0 <= request <= MAX_TONNES):
        findings.drop("schema", "fishery/bad-request", {"request": said})
        return None
    return request


def _text(findings: Findings, name: str, answer: JsonObject) -> str:
    """A message or a reason is clean text of bounded length."""
    said = answer.get(name)
    if said is None or isinstance(said, str):
        return clean_text(findings, f"fishery/{name}", said or "", TEXT).strip()
    findings.drop("schema", "fishery/not-text", {name: said})
    return ""
