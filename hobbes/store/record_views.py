"""The record of a turn as tables: views of the column `turns.record`, each declared by its columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from hobbes.engine.record import MESSAGE
from hobbes.engine.reflection import REPORTS

Kind: TypeAlias = Literal["text", "integer", "json"]
"""The type of a column; `json` is JSON as text."""

EACH = "*"
"""A step of a place: into each member of an object, or each element of a list."""


class Column(NamedTuple):
    """A column of a view: its type, and where its value comes from.

    `source` is the number of a step of the row's place, for the name or number that stands there; or a JSON
    path that begins at the row's value (`$`); or None for the number of the row among the rows of its turn.
    `otherwise` is the value if there is nothing at the path.
    """

    kind: Kind
    source: str | int | None
    otherwise: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A view that shows a part of the record as a table.

    Every view also has the columns `run` and `turn`, which come first in its rows and its key.

    `part`      the name of the part
    `columns`   the further columns
    `key`       the names of the further columns of the key
    `meaning`   what a row is, for people
    `places`    where the rows stand in the part, each as the steps to them
    `only`      what stands at these JSON paths of a row's value; others are no rows
    """

    name: str
    part: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]
    meaning: str
    places: tuple[tuple[str, ...], ...] = ((EACH,),)
    only: Mapping[str, str] = field(default_factory=dict)


PLACE = 0
"""The step that says which member or element of its part a row is."""

AGENT = Column("text", "$.agent")

INTENTS = View(
    "intents",
    "intents",
    {"agent": Column("text", PLACE), "intent": Column("json", "$")},
    ("agent",),
    "what each agent intended, after validation",
)
REPORTS_GIVEN = View(
    "reports",
    "intents",
    {
        "rater": Column("text", PLACE),
        "ratee": Column("text", 3),
        "kind": Column("text", 2),
        "score": Column("integer", "$"),
    },
    ("rater", "ratee", "kind"),
    "the ratings that agents gave each other in the turn, from 1 to 10",
    places=tuple((EACH, "reflection", kind, EACH) for kind in REPORTS),
)
DROPS = View(
    "drops",
    "drops",
    {
        "n": Column("integer", PLACE),
        "agent": AGENT,
        "stage": Column("text", "$.stage"),
        "code": Column("text", "$.code"),
        "said": Column("json", "$.said"),
        "detail": Column("text", "$.detail"),
    },
    ("n",),
    "the rejections: the parts of answers that were refused, with the reason",
)
MENDS = View(
    "mends",
    "mends",
    {
        "n": Column("integer", PLACE),
        "agent": AGENT,
        "stage": Column("text", "$.stage"),
        "code": Column("text", "$.code"),
        "said": Column("json", "$.said"),
        "kept": Column("json", "$.kept"),
    },
    ("n",),
    "the corrections: the parts of answers that were changed, before and after",
)
EVENTS = View(
    "events",
    "events",
    {
        "n": Column("integer", PLACE),
        "type": Column("text", "$.type"),
        "agent": AGENT,
        "event": Column("json", "$"),
    },
    ("n",),
    "what happened in the world",
)
MESSAGES = View(
    "messages",
    "events",
    {
        "n": Column("integer", None),
        "sender": AGENT,
        "receiver": Column("text", "$.to", "all"),
        "text": Column("text", "$.text"),
    },
    ("n",),
    "the messages that agents wrote to one another",
    only={"$.type": MESSAGE},
)
DRAWS = View(
    "draws",
    "draws",
    {
        "n": Column("integer", PLACE),
        "event": Column("text", "$.event"),
        "subject": Column("json", "$.subject"),
        "participants": Column("json", "$.participants"),
        "digest": Column("text", "$.digest"),
        "winner": Column("text", "$.winner"),
    },
    ("n",),
    "the random draws: who took part, the digest that decided, and who won",
)
MEMORIES = View(
    "memories",
    "memories",
    {"agent": Column("text", PLACE), "memory": Column("json", "$")},
    ("agent",),
    "what each agent keeps after the turn: notes, summaries, reports",
)

VIEWS = (INTENTS, REPORTS_GIVEN, DROPS, MENDS, EVENTS, MESSAGES, DRAWS, MEMORIES)
"""All views, in the order in which the parts of a record are made."""
