"""An agent's memory: what it keeps from turn to turn, and what its view shows of that."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from hobbes.engine.record import Drop, Json, JsonObject, Mend, canonical, excerpt
from hobbes.engine.reflection import Reflection

WRITTEN_AS: Mapping[str, str] = {
    "notes": "notes",
    "previous_turn_summary": "summary_last_turn",
    "history_summary": "history_summary",
    "keeps_word_report": "keeps_word_report",
    "aggressor_report": "aggressor_report",
}
"""The field of an answer that fills each field of a memory."""

MAX_FEEDBACK = 10
"""How many rejections and corrections an agent is told of, so that its view stays bounded."""
FEEDBACK_EXCERPT = 100
"""How many characters an agent is told of each thing that was rejected or corrected."""


@dataclass(frozen=True)
class Memory:
    """One agent's memory. It is shown to this agent only, unless a world publishes the reports.

    `feedback` is what was rejected and corrected in the agent's last answer. It is empty if the setting
    `feedback` is off.
    """

    notes: str = ""
    previous_turn_summary: str = ""
    history_summary: str = ""
    keeps_word_report: Mapping[str, int] = field(default_factory=dict)
    aggressor_report: Mapping[str, int] = field(default_factory=dict)
    feedback: tuple[Mapping[str, Any], ...] = ()

    def after(self, reflection: Reflection, feedback: tuple[JsonObject, ...] = ()) -> "Memory":
        """Return the memory after a turn with this reflection.

        A field that the agent left empty keeps its old value, so that a lost answer erases nothing. Only the
        summary of the previous turn and the feedback do not: they are about the turn just played.
        """
        return Memory(
            reflection.notes or self.notes,
            reflection.summary_last_turn,
            reflection.history_summary or self.history_summary,
            reflection.keeps_word_report or self.keeps_word_report,
            reflection.aggressor_report or self.aggressor_report,
            feedback,
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Memory":
        """Return the memory of its JSON. Raise TypeError for a field that no memory has."""
        return cls(**{**data, "feedback": tuple(data.get("feedback", ()))})

    def to_json(self) -> JsonObject:
        """Return the memory as plain JSON, with ratings sorted by name. It must not be changed.

        So a view shows the same text before and after a memory is stored, whose JSON is sorted, too.
        """
        return self._json

    @cached_property
    def _json(self) -> JsonObject:
        # It is needed twice: for the record of a turn, and for the view of the next one.
        return {
            "notes": self.notes,
            "previous_turn_summary": self.previous_turn_summary,
            "history_summary": self.history_summary,
            "keeps_word_report": dict(sorted(self.keeps_word_report.items())),
            "aggressor_report": dict(sorted(self.aggressor_report.items())),
            "feedback": list(self.feedback),
        }

    def as_shown(self, fields: Collection[str], sentences: Mapping[str, str] | None) -> JsonObject:
        """Return the memory as its agent's view shows it.

        Only what an answer can fill is shown; `fields` are those of an answer. The feedback is shown with
        these `sentences`, one for each code, if the world gives any feedback.
        """
        told = self.to_json()
        filled = {name: told[name] for name in _fillable_fields(frozenset(fields))}
        if sentences is None:
            return filled
        return {**filled, "feedback": [in_words(sentences, entry) for entry in self.feedback]}


@cache
def _fillable_fields(fields: frozenset[str]) -> tuple[str, ...]:
    """Return the fields of a memory that an answer with these fields can fill."""
    return tuple(name for name, written_as in WRITTEN_AS.items() if written_as in fields)


EMPTY_MEMORY = Memory()


def feedback_by_agent(drops: Iterable[Drop], mends: Iterable[Mend]) -> dict[str, tuple[JsonObject, ...]]:
    """Return what each agent is told about its answer: every rejection and correction, with its code.

    Notes are not told. Beyond MAX_FEEDBACK only the number of the rest is told. It is data, with its keys
    sorted as in the stored memory; `reason` says it in words.
    """
    told: dict[str, list[JsonObject]] = {}
    for drop in drops:
        detail = {"detail": drop.detail} if drop.detail else {}
        told.setdefault(drop.agent, []).append({"code": drop.code, **detail, "rejected": _short(drop.said)})
    for mend in mends:
        if mend.said == mend.kept:  # a note
            continue
        one = {"code": mend.code, "corrected": _short(mend.said), "kept": _short(mend.kept)}
        told.setdefault(mend.agent, []).append(one)
    return {agent: _bounded(entries) for agent, entries in told.items()}


def in_words(sentences: Mapping[str, str], entry: JsonObject) -> JsonObject:
    """Return an entry of the feedback with the reason in words (`why`); only the last one may have none.

    Of a call that brought no answer, nothing stands as rejected.
    """
    if "code" not in entry:
        return entry
    told = {name: value for name, value in entry.items() if (name, value) != ("rejected", None)}
    return {**told, "why": reason(sentences, str(entry["code"]), str(entry.get("detail", "")))}


def reason(sentences: Mapping[str, str], code: str, detail: str) -> str:
    """Return why something was rejected or corrected, in words: the sentence of its code.

    A code without a sentence stands for itself. The detail stands where the sentence says `{detail}`, or else
    at its end.
    """
    sentence, plain = sentences.get(code, code), " ".join(detail.split())
    if "{detail}" in sentence:
        return sentence.replace("{detail}", plain)
    return f"{sentence}: {plain}" if plain else sentence


def _short(said: Json) -> Json:
    # With sorted keys, as in the stored memory.
    short: Json = json.loads(canonical(excerpt(said, FEEDBACK_EXCERPT)))
    return short


def _bounded(entries: list[JsonObject]) -> tuple[JsonObject, ...]:
    rest = len(entries) - MAX_FEEDBACK
    return (*entries[:MAX_FEEDBACK], *([{"more": rest}] if rest > 0 else []))
