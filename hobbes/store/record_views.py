"""The record of a turn as tables: views of the column `turns.record`, each declared by its columns."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from hobbes.engine.record import MESSAGE
from hobbes.engine.reflection import REPORTS

Kind: TypeAlias = Literal["text", "integer", "json"]
"""The type of a column; `json` is JSON as text."""

RECORD = "iif(json_valid(record), record, '{}')"
"""SQL for the record of a turn; a damaged one is empty, so it has no rows in any view."""


class Column(NamedTuple):
    """A column of a view: its type, and the SQL of its value."""

    kind: Kind
    sql: str


class View(NamedTuple):
    """A view that shows a part of the record as a table.

    Every view also has the columns `run` and `turn`, which come first in its rows and its key.

    `columns`   the further columns
    `key`       the names of the further columns of the key
    `meaning`   what a row is, for people
    `rows`      the SQL of the rows; a run's are found by the primary key of `turns`
    """

    name: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]
    meaning: str
    rows: str

    @property
    def kinds(self) -> dict[str, Kind]:
        """All columns with their types, in their order."""
        further = {name: column.kind for name, column in self.columns.items()}
        return {"run": "text", "turn": "integer", **further}

    @property
    def sql(self) -> str:
        """The SQL that creates the view."""
        further = ", ".join(f"{column.sql} as {name}" for name, column in self.columns.items())
        return f"CREATE VIEW {self.name} AS\nselect turns.run, turns.turn, {further}\nfrom {self.rows}"


def _each(part: str) -> str:
    """Return the SQL of rows: `each` is a member of an object, or an element of a list, in the record."""
    return f"turns, json_each({RECORD}, '$.{part}') as each"


def _each_object(part: str) -> str:
    return f"{_each(part)} where each.type = 'object'"


def _texts(*fields: str) -> dict[str, Column]:
    return {field: Column("text", f"each.value ->> '$.{field}'") for field in fields}


def _json(*fields: str) -> dict[str, Column]:
    return {field: Column("json", f"each.value -> '$.{field}'") for field in fields}


AGENT = Column("text", "each.key")
"""The name under which a row stands."""

NUMBER = Column("integer", "each.key")
"""The place at which a row stands."""

WHOLE = Column("json", "each.value")

INTENTS = View(
    "intents",
    {"agent": AGENT, "intent": WHOLE},
    ("agent",),
    "what each agent intended, after validation",
    _each("intents"),
)
REPORTS_GIVEN = View(
    "reports",
    {
        "rater": AGENT,
        "ratee": Column("text", "rating.key"),
        "kind": Column("text", "field.key"),
        "score": Column("integer", "rating.value"),
    },
    ("rater", "ratee", "kind"),
    "the ratings that agents gave each other in the turn, from 1 to 10",
    f"{_each('intents')},"
    " json_each(iif(each.type = 'object', each.value, '{}'), '$.reflection') as field,"
    " json_each(iif(field.type = 'object', field.value, '{}')) as rating"
    f" where field.key in {REPORTS}",
)
DROPS = View(
    "drops",
    {"n": NUMBER, **_texts("agent", "stage", "code"), **_json("said"), **_texts("detail")},
    ("n",),
    "the rejections: the parts of answers that were refused, with the reason",
    _each_object("drops"),
)
MENDS = View(
    "mends",
    {"n": NUMBER, **_texts("agent", "stage", "code"), **_json("said", "kept")},
    ("n",),
    "the corrections: the parts of answers that were changed, before and after",
    _each_object("mends"),
)
EVENTS = View(
    "events",
    {"n": NUMBER, **_texts("type", "agent"), "event": WHOLE},
    ("n",),
    "what happened in the world",
    _each_object("events"),
)
MESSAGES = View(
    "messages",
    {
        "n": Column(
            "integer", "row_number() over (partition by turns.run, turns.turn order by each.key) - 1"
        ),
        "sender": Column("text", "each.value ->> '$.agent'"),
        "receiver": Column("text", "coalesce(each.value ->> '$.to', 'all')"),
        **_texts("text"),
    },
    ("n",),
    "the messages that agents wrote to one another",
    f"{_each_object('events')} and each.value ->> '$.type' = '{MESSAGE}'",
)
DRAWS = View(
    "draws",
    {"n": NUMBER, **_texts("event"), **_json("subject", "participants"), **_texts("digest", "winner")},
    ("n",),
    "the random draws: who took part, the digest that decided, and who won",
    _each_object("draws"),
)
MEMORIES = View(
    "memories",
    {"agent": AGENT, "memory": WHOLE},
    ("agent",),
    "what each agent keeps after the turn: notes, summaries, reports",
    _each("memories"),
)

VIEWS = (INTENTS, REPORTS_GIVEN, DROPS, MENDS, EVENTS, MESSAGES, DRAWS, MEMORIES)
"""All views, in the order in which the parts of a record are made."""
