"""What people note: tags and a text for a run, a turn, an agent's turn or an event.

They are kept in a file of their own beside the run database, so that a run stays as it was.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hobbes.errors import HobbesError, UsageError
from hobbes.graphs.database import connect
from hobbes.store.checked_connection import DAMAGE
from hobbes.store.runs import now

NAME = "notes.db"
"""The name of the file."""

MAX_TAG, MAX_TEXT = 60, 100_000
"""How many characters a tag and a text have at most."""

SCHEMA = """
create table if not exists notes (
  id integer primary key, run text not null, turn integer, agent text, event integer,
  star integer not null default 0, note text not null, written text not null
) strict;
create unique index if not exists notes_by_place
  on notes (run, ifnull(turn, -1), ifnull(agent, ''), ifnull(event, -1));
create table if not exists tags (
  note integer not null references notes (id) on delete cascade, tag text not null, primary key (note, tag)
) strict, without rowid;
"""


class Place(NamedTuple):
    """What a note is about: a run (its id), or a turn of it, or in this turn an agent or an event."""

    run: str
    turn: int | None = None
    agent: str | None = None
    event: int | None = None
    """The number of an event of the turn, as in the table `events`."""


@dataclass(frozen=True, slots=True)
class Note:
    """What is noted of a place."""

    run: str
    turn: int | None
    agent: str | None
    event: int | None
    tags: tuple[str, ...] = ()
    note: str = ""
    written: str = ""
    """When it was last changed, in UTC."""

    @property
    def place(self) -> Place:
        """What it is about."""
        return Place(self.run, self.turn, self.agent, self.event)

    def to_json(self) -> dict[str, Any]:
        """Return the note as plain JSON."""
        return {**asdict(self), "tags": list(self.tags)}


class Notes:
    """The notes of a home."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, run: str | None = None, tag: str = "") -> list[Note]:
        """Return the notes of a run, or of all; those with a tag. They stand in the order of their places."""
        sql = (
            "select run, turn, agent, event, note, written,"
            " (select group_concat(tag, char(10)) from (select tag from tags where note = id order by tag))"
            " from notes where run = ifnull(:run, run)"
            " and (:tag = '' or exists (select 1 from tags where note = id and tag = :tag))"
            " order by run desc, ifnull(turn, -1), agent, event"
        )
        with open_notes(self._folder, writes=False) as connection:
            # A home without the file is read as an empty database.
            if not connection.execute("select 1 from sqlite_master where name = 'notes'").fetchone():
                return []
            rows = connection.execute(sql, {"run": run, "tag": tag}).fetchall()
        return [
            Note(run, turn, agent, event, tuple((tags or "").split()), note, written)
            for run, turn, agent, event, note, written, tags in rows
        ]

    def at(self, place: Place) -> Note:
        """Return the note of a place; an empty one if there is none."""
        return next((note for note in self.of(place.run) if note.place == place), Note(*place))

    def keep(self, place: Place, *, tags: Iterable[str], text: str) -> Note:
        """Write the note of a place, in place of an earlier one; remove it if nothing is noted any more.

        Raise UsageError for a tag or a text that cannot be kept, HobbesError if the file cannot be written.
        """
        wanted = sorted({checked_tag(tag) for tag in tags})
        if len(text) > MAX_TEXT:
            raise UsageError(f"the note has {len(text)} characters; the most is {MAX_TEXT}")
        note = Note(*place, tuple(wanted), text.strip(), now())
        with open_notes(self._folder, writes=True) as connection:
            connection.executescript(SCHEMA)
            with connection:
                connection.execute("pragma foreign_keys = on")
                connection.execute(
                    "delete from notes where run is ? and turn is ? and agent is ? and event is ?", place
                )
                if wanted or note.note:
                    # Notes once had a star; in older files the column has no default.
                    written = connection.execute(
                        "insert into notes (run, turn, agent, event, star, note, written)"
                        " values (?, ?, ?, ?, 0, ?, ?)",
                        (*place, note.note, note.written),
                    )
                    connection.executemany(
                        "insert into tags values (?, ?)", [(written.lastrowid, tag) for tag in wanted]
                    )
        return note

    def remove(self, run: str) -> None:
        """Remove all notes of a run."""
        for note in self.of(run):
            self.keep(note.place, tags=(), text="")


@contextmanager
def open_notes(folder: Path, *, writes: bool) -> Iterator[sqlite3.Connection]:
    """Open the file of a home. Without `writes`, none is created: a missing one is read as an empty one.

    Raise HobbesError if it cannot be used.
    """
    path = folder / NAME
    try:
        with closing(connect(path if writes or path.exists() else Path(":memory:"))) as connection:
            connection.execute(f"pragma query_only = {not writes}")
            yield connection
    except DAMAGE as error:
        if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError | sqlite3.IntegrityError):
            raise  # a bug
        raise HobbesError(f"cannot use the notes in {path}: {error}") from error


def checked_tag(tag: str) -> str:
    """Return a tag; raise UsageError if it is empty, too long, or has blanks or commas in it."""
    if not tag or len(tag) > MAX_TAG or any(letter.isspace() or letter == "," for letter in tag):
        raise UsageError(
            f"tag {tag[:MAX_TAG]!r}: write at most {MAX_TAG} characters, without blanks and commas"
        )
    return tag
