"""Seals: hashes of rows when they were written, which detect a later change of any column."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from hobbes.engine.record import canonical, sha256
from hobbes.lab.store.schema import TEMPLATES

CALL_COLUMNS = (
    "run",
    "turn",
    "agent",
    "attempt",
    "question",
    "tries",
    "outcome",
    "found_as",
    "model",
    "player",
    "system",
    "prompt",
    "answer",
    "reasoning",
    "error",
    "tokens_in",
    "tokens_out",
    "milliseconds",
    "arrived",
)
"""The columns of a call that its seal covers, in the order in which they are hashed."""

RUN_COLUMNS = (
    "id",
    "world",
    "config",
    "agents",
    "seed",
    "models",
    "model_settings",
    "prompts",
    "lang",
    "system_template",
    "turn_template",
    "answer_schema",
    "observer_text",
    "started",
    "record_version",
    "rules_version",
    "hobbes",
    "parent",
    "turn",
    "earlier",
    "prompts_hash",
)
"""The columns of a run that never change, and that its seal covers."""

WAY = ("config", "models", "model_settings", "prompts", "prompts_hash", "lang", *TEMPLATES, "observer_text")
"""The columns of a run that say how its turns are played; a fork may change them from its turn on."""

LATER = ("model_settings", "player", "parent", "turn", "earlier", "prompts_hash")
"""Columns that earlier rows were sealed without; they are empty there."""

SEAL = 16
"""Characters of the seal of one column."""

CALL_SEAL = 32
"""Characters of the seal of a call: 128 bits, because every decision of a run has one."""


def sealed(values: Iterable[Any]) -> str:
    """Return the seal of a row: a hash of its values when it was written.

    It detects a later change of any column, unless the seal was rewritten, too.
    """
    return sha256(canonical([repr(one) if _is_damage(one) else one for one in values]))


def _is_damage(value: object) -> bool:
    """Return whether no row is written with a value: bytes, or a number too large for SQLite."""
    return isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value))


def seal_of(call: Mapping[str, Any]) -> str:
    """Return the seal of the row of a call."""
    return sealed([call[column] for column in _covered(call, CALL_COLUMNS)])[:CALL_SEAL]


def _covered(row: Mapping[str, Any], columns: Iterable[str]) -> list[str]:
    """Return those columns that the seal of a row covers: those added later only where they are not empty."""
    return [column for column in columns if row[column] is not None or column not in LATER]


def sealed_by_column(row: Mapping[str, Any]) -> str:
    """Return a seal that also shows which column was changed later: JSON, the seal of each column."""
    return canonical({column: sealed([row[column]])[:SEAL] for column in _covered(row, row)})
