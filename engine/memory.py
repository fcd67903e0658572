"""What an agent keeps from turn to turn: private notes, summaries, and what it thinks of the others."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.record import JsonObject
from engine.reflection import Reflection


@dataclass(frozen=True, slots=True)
class Memory:
    """One agent's memory; nobody else reads it, unless a world publishes reports."""

    notes: str = ""
    last_summary: str = ""
    history_summary: str = ""
    keeps_word_report: Mapping[str, int] = field(default_factory=dict)
    aggressor_report: Mapping[str, int] = field(default_factory=dict)

    def after(self, reflection: Reflection) -> "Memory":
        """Return the memory after a turn.

        What was not given anew stays, so that a lost answer erases nothing. Only the last summary is of the
        turn just played: if none was given, it is empty.
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
