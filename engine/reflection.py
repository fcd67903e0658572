"""The reflection fields: what an agent says beside its moves, such as summaries and ratings of others.

Every world has these fields (docs/rules/nations.md#summaries, docs/rules/nations.md#reports). They change no
world's state; they become the agent's memory.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from hobbes.engine.record import Findings, Json, JsonObject
from hobbes.engine.said import TEXT_LIMIT, clean_text, cut_to_words, whole
from hobbes.engine.schemas import by_name, number_of, text_of

TEXTS = ("reasoning", "summary_last_turn", "history_summary", "notes")
REPORTS = ("keeps_word_report", "aggressor_report")

MIN_RATING, MAX_RATING = 1, 10
"""The range of a rating."""

BRIEF = 600
"""The characters in which a model that is held to a schema gives its reasons, so as to come to its acts."""

CODES: Mapping[str, str] = {
    "reflection/not-text": "a summary, the notes or the reasoning is not text",
    "reflection/not-ratings": "a report is not an object of whole numbers",
    "reflection/unknown-agent": "a report rates somebody who does not play",
    "reflection/rating-out-of-range": f"a rating is outside {MIN_RATING} to {MAX_RATING}",
    "reflection/unsafe-characters": "control and invisible characters were removed from a text",
    "reflection/too-long": f"a text was cut to {TEXT_LIMIT:,} characters",
}
"""What the codes of these fields mean. They are among the codes of every world."""

WORD_LIMIT_CODES: Mapping[str, str] = {
    "reflection/too-many-words": "the reasoning was cut after the words that are kept",
}
"""The codes that are added in a world that limits the words of a reasoning."""

Rating = Annotated[int, Field(ge=MIN_RATING, le=MAX_RATING)]


class ReflectionFields(BaseModel):
    """The schema of these fields, for the action models of the worlds."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    reasoning: str = Field("", description="Why you decide so, briefly")
    summary_last_turn: str = Field(
        "", description="Your summary of the turn just completed; next turn, it is your previous_turn_summary"
    )
    history_summary: str = Field("", description="Your compressed history of all turns so far")
    notes: str = Field("", description="Private notes to yourself, given back to you next turn")
    keeps_word_report: dict[str, Rating] = Field(
        default_factory=dict, description="How well each agent keeps its word, 1 to 10"
    )
    aggressor_report: dict[str, Rating] = Field(
        default_factory=dict, description="How aggressive each agent is, 1 to 10"
    )


def bounded_reflection(rated: Collection[str] | None) -> dict[str, JsonObject]:
    """Return the JSON schemas of these fields with their bounds. `rated` may be rated; None: anybody."""
    report = by_name(rated, number_of(MIN_RATING, MAX_RATING))
    texts = {**dict.fromkeys(TEXTS, text_of(TEXT_LIMIT)), "reasoning": text_of(BRIEF)}
    return {**texts, **dict.fromkeys(REPORTS, report)}


def with_fields(answer: type[BaseModel], names: Collection[str], **changed: Any) -> type[BaseModel]:  # noqa: ANN401  as pydantic declares fields
    """Return the model of an answer that has only these fields, of which some are `changed`."""
    kept = {name: (field.annotation, field) for name, field in answer.model_fields.items() if name in names}
    fields: dict[str, Any] = {**kept, **changed}
    return create_model(answer.__name__, __config__=answer.model_config, __doc__=answer.__doc__, **fields)


@cache
def fields_of(answer: type[BaseModel]) -> frozenset[str]:
    """Return the names of the fields that an answer of this model may have."""
    return frozenset(answer.model_fields)


@dataclass(frozen=True, slots=True)
class Reflection:
    """One agent's reflection in one turn. An empty field means that the agent did not fill it in."""

    reasoning: str = ""
    summary_last_turn: str = ""
    history_summary: str = ""
    notes: str = ""
    keeps_word_report: Mapping[str, int] = field(default_factory=dict)
    aggressor_report: Mapping[str, int] = field(default_factory=dict)


def reflect(
    findings: Findings,
    answer: JsonObject,
    agents: Collection[str],
    fields: Collection[str] = (*TEXTS, *REPORTS),
    reasoning_words: int | None = None,
) -> Reflection:
    """Return the reflection fields of an answer; what does not fit becomes a drop or a mend.

    `agents` are those that may be rated, `fields` those that an answer may have, and `reasoning_words` is the
    most words of reasoning, if the world limits them.
    """
    given: dict[str, Any] = {}
    for name, value in answer.items():
        if name not in fields:
            continue
        if name in TEXTS:
            given[name] = _text(findings, name, value)
        elif name in REPORTS:
            given[name] = _report(findings, name, value, agents)
    if reasoning_words is not None and "reasoning" in given:
        given["reasoning"] = cut_to_words(findings, "reflection", given["reasoning"], reasoning_words)
    return Reflection(**given)


def _text(findings: Findings, name: str, value: Json) -> str:
    """Return a text field, cleaned and bounded; a value that is not a text is dropped."""
    if not isinstance(value, str):
        findings.drop("schema", "reflection/not-text", {name: value})
        return ""
    return clean_text(findings, "reflection", value)


def _report(findings: Findings, name: str, value: Json, agents: Collection[str]) -> dict[str, int]:
    """Return a report. A wrong type drops the whole field, an unknown agent or bad rating only its entry."""
    if not isinstance(value, dict) or None in map(whole, value.values()):
        findings.drop("schema", "reflection/not-ratings", {name: value})
        return {}
    report: dict[str, int] = {}
    for agent, said in value.items():
        rating = whole(said)
        if agent not in agents:
            findings.drop("rule", "reflection/unknown-agent", {name: {agent: said}})
        elif rating is None or not MIN_RATING <= rating <= MAX_RATING:
            findings.drop("rule", "reflection/rating-out-of-range", {name: {agent: said}})
        else:
            report[agent] = rating
    return report
