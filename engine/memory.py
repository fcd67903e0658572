"""An agent's memory: the notes, summaries and ratings of others that it keeps from turn to turn."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.record import JsonObject
from engine.reflection import Reflection


@dataclass(frozen=True, slots=True)
class Memory:
    """One agent's memory. It is shown to this agent only, unless a world publishes the reports."""

    notes: str = ""
    last_summary: str = ""
    history_summary: str = ""
    keeps_word_report: Mapping[str, int] = field(default_factory=dict)
    aggressor_report: Mapping[str, int] = field(default_factory=dict)

    def after(self, reflection: Reflection) -> "Memory":
        """Return the memory after a turn with this reflection.

        A field that the agent left empty keeps its old value, so that a lost answer erases nothing. Only the
        last summary does not: it is about the turn just played, so it is empty if none was given.
        """
        return Memory(
            reflection.memory or self.notes,
            reflection.summary_last_turn,
            reflection.history_summary or self.history_summary,
            reflection.keeps_word_report or self.keeps_word_report,
            reflection.aggressor_report or self.aggressor_report,
        )

    def to_json(self) -> JsonObject:
        """Return the memory as plain JSON."""
        return {
            "notes": self.notes,
            "last_summary": self.last_summary,
            "history_summary": self.history_summary,
            "keeps_word_report": dict(self.keeps_word_report),
            "aggressor_report": dict(self.aggressor_report),
        }


EMPTY_MEMORY = Memory()
