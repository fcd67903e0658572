"""Hashes of rows when they were written, which detect a later change of any column."""

from collections.abc import Mapping, Sequence
from typing import Any

from hobbes.engine.record import Json, canonical, sha256
from hobbes.store.schema import CALL, TEMPLATES

CALL_COLUMNS = ("run", "turn", "agent", "attempt", "question", *CALL)
"""The columns of a call that its hash covers, in the order in which they are hashed."""

TURN_COLUMNS = ("run", "turn", "record", "digest", "ledgers", "ended")
"""The columns of a turn that its hash covers, in the order in which they are hashed."""

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
    *TEMPLATES,
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
"""The columns of a run that never change, each with a hash of its own."""

COLUMN_HASH = 8
"""Characters of the hash of one column: 32 bits, which tell any change but one in four billion."""

ROW_HASH = 32
"""Characters of the hash of a call or a turn: 128 bits, because every decision of a run has one."""


def call_hash(call: Mapping[str, Any]) -> str:
    """Return the hash of the row of a call."""
    return sha256(canonical([call[column] for column in CALL_COLUMNS]))[:ROW_HASH]


def turn_hash(row: Sequence[Json]) -> str:
    """Return the hash of the row of a turn, whose values are in the order of TURN_COLUMNS."""
    return sha256(canonical([*row]))[:ROW_HASH]


def column_hashes(run: Mapping[str, Any]) -> list[str]:
    """Return the hash of each column of a run's row that never changes, so that a change names its column.

    They are in the order of RUN_COLUMNS.
    """
    return [sha256(canonical([run[column]]))[:COLUMN_HASH] for column in RUN_COLUMNS]
