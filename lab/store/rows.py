"""The rows of the run database as they are read: the one place that finds a damaged value.

SQLite takes any value in any column, and a file may be damaged or edited. So each value is checked when it is
read: its type, whether it may be null, and what its JSON must look like.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from itertools import product
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from hobbes.engine.answer import FoundAs, Outcome
from hobbes.engine.record import excerpt
from hobbes.engine.turn import TurnRecord
from hobbes.engine.world import in_one_line
from hobbes.lab.errors import DamagedError
from hobbes.lab.store.schema import columns_of
from hobbes.lab.store.seals import CALL_COLUMNS, LATER, RUN_COLUMNS
from hobbes.nodes.journal import FOLLOW_UP_QUESTION, TURN_QUESTION

REQUIRED: Mapping[str, Collection[str]] = {
    "runs": {*RUN_COLUMNS, "status", "turns", "digest", "seconds"} - {*LATER, "observer_text"},
    "turns": {"run", "turn", "state", "record", "digest", "ledgers", "ended"},
    "calls": {*CALL_COLUMNS} - {"player", "tokens_in", "tokens_out"},
    "measures": {"run", "name", "scope"},
    **{table.name: {*columns_of(table)} for table in TurnRecord.tables()},
}
"""The columns that are never null."""

T = TypeVar("T")


class _Reflection(BaseModel):
    reasoning: str
    keeps_word_report: dict[str, int]
    aggressor_report: dict[str, int]


class _Intent(BaseModel):
    reflection: _Reflection


class _Found(BaseModel):
    agent: str
    stage: str
    code: str


class _Event(BaseModel):
    type: str
    agent: str


class _Draw(BaseModel):
    event: str
    participants: list[str]
    digest: str
    winner: str


class _Memory(BaseModel):
    notes: str
    previous_turn_summary: str
    history_summary: str
    keeps_word_report: dict[str, int]
    aggressor_report: dict[str, int]


class _Record(BaseModel):
    """What readers rely on in the record of a turn, whatever its world is and whatever else it holds."""

    outcomes: dict[str, str] = {}
    intents: dict[str, _Intent]
    drops: list[_Found]
    mends: list[_Found]
    state: dict[str, Any]
    events: list[_Event]
    draws: list[_Draw]
    memories: dict[str, _Memory]


REMEDY = "put back an earlier copy of runs.db, or play the run again"
"""What can be done about damage."""

_OBJECT = TypeAdapter(dict[str, Any])

JSON: Mapping[tuple[str, str], TypeAdapter[Any]] = {
    ("runs", "config"): _OBJECT,
    ("runs", "agents"): TypeAdapter(list[str]),
    ("runs", "models"): TypeAdapter(dict[str, str]),
    ("runs", "model_settings"): _OBJECT,
    ("runs", "outcomes"): TypeAdapter(dict[str, int]),
    ("runs", "scores"): TypeAdapter(dict[str, int]),
    ("runs", "caps"): _OBJECT,
    ("runs", "question"): TypeAdapter(list[dict[str, str]] | dict[str, str]),
    ("runs", "earlier"): TypeAdapter(list[dict[str, Any]]),
    ("turns", "state"): _OBJECT,
    ("turns", "record"): _OBJECT,
    ("turns", "ledgers"): _OBJECT,
    **{
        (table.name, column): TypeAdapter(Any)
        for table in TurnRecord.tables()
        for column, kind in columns_of(table).items()
        if kind == "json"
    },
}
"""The columns that hold JSON, and the shape of each."""

FEW: Mapping[tuple[str, str], frozenset[object]] = {
    ("calls", "outcome"): frozenset(Outcome),
    ("calls", "found_as"): frozenset(FoundAs),
    ("calls", "question"): frozenset({TURN_QUESTION, FOLLOW_UP_QUESTION}),
}
"""The columns that hold one of a few values."""

COUNTED_FROM: Mapping[str, int] = {"turn": 0, "turns": 0, "attempt": 1}
"""The least value of columns that count something."""

CONSTRAINED = frozenset({*JSON, *FEW, *product(REQUIRED, COUNTED_FROM)})
"""The columns in which not every value of their type may stand."""

NAMES: Mapping[type, str] = {str: "a text", int: "a whole number", float: "a number"}
"""What the types of columns are called."""

EMPTY: Mapping[type, object] = {str: "", int: 0, float: 0.0}
"""What stands in for a damaged value that may not be null."""

Note: TypeAlias = Callable[[DamagedError], None]
"""Called with each damage that a reader leaves out."""


def damaged(run: object, where: str, problem: str) -> DamagedError:
    """Return the error for something damaged; `where` begins with a comma, or is empty for a whole run."""
    return DamagedError(f"run {run}{where}: {problem}; {REMEDY}")


class StoredRow:
    """A row whose values are checked when they are read. JSON is read as the value that it holds.

    A damaged value raises DamagedError. With `note`, the damage is noted instead, and the value is empty;
    only a value that its column may not hold still raises.
    """

    def __init__(
        self, table: str, kinds: Mapping[str, type], values: Mapping[str, Any], note: Note | None = None
    ) -> None:
        self._table = table
        self._kinds = kinds
        self._values = values
        self._note = note

    def __getitem__(self, column: str) -> Any:  # noqa: ANN401  a column's value
        """Return the value of a column."""
        value, kind = self._values[column], self._kinds[column]
        if type(value) is kind and kind is not float and (self._table, column) not in CONSTRAINED:
            return value  # the usual case; all the checks would take four times as long
        try:
            return self._read(column)
        except DamagedError as error:
            if (self._table, column) in FEW:
                raise
            self.leave_out(error)
        may_be_null = column not in REQUIRED[self._table] or (self._table, column) in JSON
        return None if may_be_null else EMPTY[self._kinds[column]]

    def stored(self, column: str) -> Any:  # noqa: ANN401  a column's value
        """Return a value as it is stored, JSON as text; None for a damaged one, which is noted."""
        try:
            self._read(column)
        except DamagedError as error:
            self.leave_out(error)
            return None
        return self._values[column]

    def unchecked(self, column: str) -> Any:  # noqa: ANN401  a column's value
        """Return a value as it is stored, JSON as text. It was read before, so that it is not damaged."""
        return self._values[column]

    def known(self, column: str) -> Any:  # noqa: ANN401  a column's value
        """Return the value of a column, None if it is damaged."""
        return None if self.stored(column) is None else self[column]

    def made(self, column: str, make: Callable[[Any], T]) -> T | None:
        """Return what is made of a value, None for null or damage; TypeError and ValueError are damage."""
        value = self[column]
        try:
            return None if value is None else make(value)
        except ValidationError as error:
            self.leave_out(self.damage(column, in_one_line(error, depth=3)))
        except (TypeError, ValueError) as error:
            self.leave_out(self.damage(column, str(error)))
        return None

    def leave_out(self, error: DamagedError) -> None:
        """Note damage, or raise it if nothing may be left out."""
        if self._note is None:
            raise error
        self._note(error)

    def damage(self, column: str, problem: str) -> DamagedError:
        """Return the error for a damaged column of this row."""
        what = f"the column {self._table}.{column} is damaged: {problem}"
        if self._table == "runs":
            return damaged(self._values.get("id"), "", what)
        named = [("turn", "turn "), ("agent", ""), ("attempt", "attempt ")]
        parts = [f", {word}{_short(self._values[name])}" for name, word in named if name in self._values]
        return damaged(self._values.get("run"), "".join(parts), what)

    def _read(self, column: str) -> Any:  # noqa: ANN401  a column's value
        """Return the value of a column; raise DamagedError if it is damaged."""
        value = self._values[column]
        if value is None and column not in REQUIRED[self._table]:
            return None
        problem = self._problem(column, value)
        if problem:
            raise self.damage(column, problem)
        shape = JSON.get((self._table, column))
        if shape is None:
            return value
        try:
            # The text of a record is hashed, so that a change of it is found; and it is long.
            once = None if column == "record" else _named_once
            return shape.validate_python(json.loads(value, object_pairs_hook=once), strict=True)
        except ValidationError as error:
            raise self.damage(column, in_one_line(error, depth=3)) from error
        except json.JSONDecodeError as error:
            raise self.damage(column, f"it is not JSON: {error}") from error
        except (ValueError, RecursionError) as error:
            raise self.damage(column, f"it cannot be read: {error}") from error

    def _problem(self, column: str, value: object) -> str | None:
        """Return what is wrong with the type or the range of a value, if anything."""
        kind = self._kinds[column]
        if not isinstance(value, (int, float) if kind is float else kind):
            return f"it is {_shown(value)}, not {NAMES[kind]}"
        if isinstance(value, float) and not math.isfinite(value):
            return f"it is {value}, not a finite number"
        few = FEW.get((self._table, column))
        if few is not None and value not in few:
            return f"it is {_shown(value)}, none of {', '.join(sorted(map(str, few)))}"
        least = COUNTED_FROM.get(column)
        if least is not None and isinstance(value, int) and value < least:
            return f"it is {value}, less than {least}"
        return None


def _short(value: object) -> str:
    """Return the beginning of a value that may be damaged."""
    return str(excerpt(str(value), 40))


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; raise ValueError if a key has two values, of which readers take either."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"it has the key {_shown(twice)} twice")
    return found


def _shown(value: object) -> str:
    """Return a damaged value for people, or the beginning of it."""
    return "null" if value is None else _short(repr(value))


def record_of(row: StoredRow) -> TurnRecord:
    """Return the record of a row of `turns`; raise DamagedError if it cannot be read."""
    told = row["record"]
    try:
        _Record.model_validate(told, strict=True)
        return TurnRecord.from_json(told)
    except ValidationError as error:
        raise row.damage("record", in_one_line(error, depth=3)) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise row.damage("record", f"{type(error).__name__} {error}") from error
