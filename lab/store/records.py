"""The records of turns, which are stored compressed.

They have the format of SQLite's functions for archives: SQL reads one with `sqlar_uncompress(record, size)`.
The shell `sqlite3` has this function. For Python, there is one of the same name and meaning here.

The table `packed_turns` holds the records, and the view `turns` shows them as text. docs/data.md tells how
others read them.
"""

import zlib
from functools import lru_cache
from typing import TypeAlias

SqlValue: TypeAlias = str | bytes | int | float | None
"""What SQLite may hold in any column."""

RECORD = "iif(json_valid(record), record, '{}')"
"""SQL for the record of a turn; a damaged one is empty."""

VIEW = f"""CREATE VIEW turns AS
select run, turn, json_extract({RECORD}, '$.state') as state, record, digest, ledgers, ended
from (
  select run, turn, digest, ledgers, ended, case typeof(record)
    when 'blob' then cast(sqlar_uncompress(record, size) as text) else record
  end as record
  from packed_turns
)"""  # noqa: S608  names are ours
"""The SQL that creates the view of the turns."""


def compressed(whole: bytes) -> bytes:
    """Return bytes compressed, or as they are if they would not get shorter."""
    # The usual level, 6, takes more than twice as long, and makes a home 7% smaller.
    return min(whole, zlib.compress(whole, level=3), key=len)


@lru_cache(maxsize=1)  # the views need a record twice: SQLite looks whether it is JSON, and reads it
def uncompressed(stored: SqlValue, size: SqlValue) -> SqlValue:
    """Return what was compressed, which has `size` bytes; None if it is damaged.

    What is not compressed stays as it is. That is so if it has `size` bytes, or if `size` is 0.
    """
    if not isinstance(stored, bytes) or size in {0, len(stored)}:
        return stored
    try:
        whole = zlib.decompress(stored)
    except zlib.error:
        return None
    return whole if len(whole) == size else None


def packed(record: str) -> tuple[bytes, int]:
    """Return the text of a record compressed, and its size in bytes."""
    whole = record.encode()
    return compressed(whole), len(whole)


def unpacked(stored: SqlValue, size: SqlValue) -> SqlValue:
    """Return the text of a stored record; a damaged one is returned as it is stored."""
    whole = uncompressed(stored, size)
    try:
        return whole.decode() if isinstance(whole, bytes) else stored
    except UnicodeDecodeError:
        return stored
