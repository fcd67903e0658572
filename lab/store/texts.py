"""The texts of prompts, which are stored once each, and packed.

A prompt repeats most of an earlier one. So a text is packed with an earlier text, its base, as the dictionary
of zlib, which makes it about 20 times smaller. A base is packed without one, so that reading a text takes
two rows at most. Short texts stay as they are.

The table `packed_texts` holds the texts, and the view `texts` shows them unpacked, with the SQL function
`hobbes_text`. docs/data.md tells how others read them.
"""

import sqlite3
import zlib
from functools import lru_cache

from pluggy import HookimplMarker

from hobbes.engine.record import sha256
from hobbes.lab.store.records import uncompressed

SHORT = 256
"""A text of fewer characters is not packed."""

TEXTS_PER_BASE = 32
"""How many texts are packed with one base. The longer a base is used, the less it resembles a text."""

FEW = 8
"""How many texts are remembered as stored."""

UNPACKED = """case typeof(text) when 'text' then text else hobbes_text(
  text, (select bases.text from packed_texts as bases where bases.hash = packed_texts.base)
) end"""
"""SQL for the unpacked text of a row of `packed_texts`."""

STORE = (
    "insert into packed_texts (hash, text, base) values (?, ?, ?) on conflict (hash)"
    " do update set text = excluded.text, base = null where excluded.base is null"
)
"""SQL that stores a packed text if it is new. A base replaces what is there: the same text, which another
process may have packed with another base, or not at all."""

VIEW = f"CREATE VIEW texts AS\nselect hash, {UNPACKED} as text\nfrom packed_texts"
"""The SQL that creates the view of the unpacked texts."""


@HookimplMarker("datasette")
@HookimplMarker("sqlite_utils")
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Let a connection unpack texts and records; the hook of the plugins for Datasette and sqlite-utils."""
    conn.create_function("sqlar_uncompress", 2, uncompressed, deterministic=True)
    conn.create_function("hobbes_text", 2, unpacked, deterministic=True)


def packed(text: str, base: str = "") -> bytes:
    """Return a text packed with a base."""
    # The usual level, 6, takes half as long again, and makes a home less than 1% smaller.
    packing = zlib.compressobj(level=3, zdict=base.encode())
    return packing.compress(text.encode()) + packing.flush()


def unpacked(text: object, base: object) -> str | None:
    """Return a packed text, whose packed base is None if it has none; None for damaged bytes."""
    try:
        return _unpacked(text, b"" if base is None else _unpacked_base(base)).decode()
    except (zlib.error, TypeError, ValueError):
        return None


def _unpacked(text: object, dictionary: bytes) -> bytes:
    """Return the bytes of a packed text; raise zlib.error, TypeError or ValueError for damaged ones."""
    unpacking = zlib.decompressobj(zdict=dictionary)
    whole = unpacking.decompress(text)  # type: ignore[arg-type]  # SQLite may hold anything
    if not unpacking.eof:
        raise ValueError("the packed text is cut off")
    return whole


@lru_cache(maxsize=FEW)
def _unpacked_base(base: object) -> bytes:
    """Return the bytes of a packed base, which many texts share; raise as `_unpacked` does."""
    return _unpacked(base, b"")


class Texts:
    """Stores texts that resemble each other: `hash_of` packs them, and `store` writes them.

    Packing takes longer than writing, and while one process writes, others wait. So texts are packed first.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._base: tuple[str, str] | None = None
        self._left = 0
        self._due: list[tuple[str, str | bytes, str | None]] = []
        # The system text comes with every call of a model.
        self.hash_of = lru_cache(maxsize=FEW)(self._hash_of)

    def _hash_of(self, text: str) -> str:
        """Pack a text, which `store` will write, and return its hash."""
        name = sha256(text)
        if len(text) < SHORT:
            self._due.append((name, text, None))
        elif self._base and self._left:
            self._left -= 1
            self._due.append((name, packed(text, self._base[1]), self._base[0]))
        else:
            self._base, self._left = (name, text), TEXTS_PER_BASE
            self._due.append((name, packed(text), None))
        return name

    def store(self) -> None:
        """Store the texts that have been packed since the last call, if they are new."""
        self._connection.executemany(STORE, self._due)
        self._due = []

    def forget(self) -> None:
        """Forget which texts are stored, because a transaction was rolled back."""
        self.hash_of.cache_clear()
        self._base = None
        self._due = []
