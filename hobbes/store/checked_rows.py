"""What the columns of a table hold, the one reader of them, and the one error for a damaged row.

Whoever can write the file of a home can write anything into it. A row is damaged if a value does not belong
into its column, or if the row is not as it was written: its hash or its link in the chain of digests differs.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model

from hobbes.engine.world import in_one_line
from hobbes.errors import DamagedError

Row: TypeAlias = dict[str, Any]
"""A row of a table, by the names of its columns."""

_adapter = cache(TypeAdapter[Any])


def damage_error(run: object, where: str, problem: str) -> DamagedError:
    """Return the error for a damaged row; `where` begins with a comma, or is empty for a whole run."""
    return DamagedError(
        f"run {run}{where}: {problem}; `hobbes verify {run}` lists what was changed; "
        "put back an earlier copy of runs.db, or play the run again"
    )


class Table:
    """The columns of a table, each with the type of its values: those that hold JSON, and all others."""

    def __init__(
        self,
        name: str,
        columns: Mapping[str, Any],
        json_columns: Mapping[str, Any],
        damage: Callable[[Mapping[str, Any], str], DamagedError],
    ) -> None:
        """`damage` makes the error for a row from what is wrong with it."""
        self.json_columns = tuple(json_columns)
        self.name = name
        self._types = {**columns, **json_columns}
        strict = ConfigDict(strict=True, protected_namespaces=())
        fields: dict[str, Any] = {column: (kind, ...) for column, kind in self._types.items()}
        self._rows = cache(lambda: create_model(name, __config__=strict, **fields))  # when a row is read
        self.damage = damage

    def value(self, row: Mapping[str, Any], column: str) -> Any:  # noqa: ANN401  a column's value
        """Return the value of a column, JSON as values of its type. Raise DamagedError if it has another."""
        try:
            return _adapter(self._types[column]).validate_python(row[column], strict=True)
        except ValidationError as error:
            problem = f"the column {self.name}.{column} is damaged: {in_one_line(error, depth=3)}"
            raise self.damage(row, problem) from error

    def plain(self, row: Mapping[str, Any], column: str) -> Any:  # noqa: ANN401  a column's value
        """Return the value of a column, JSON as plain values. Raise DamagedError as `value` does."""
        value = self.value(row, column)
        return value if value is None or column not in self.json_columns else json.loads(row[column])

    def values(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all columns, as `value` does; one validator reads a row in half the time."""
        try:
            return dict(self._rows().model_validate(row))
        except ValidationError as error:
            for problem in error.errors():
                self.value(row, str(problem["loc"][0]))
            raise
