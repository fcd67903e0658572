"""The tables of the run database, made with sqlite-utils, and the migrations from earlier versions."""

from typing import Any

from engine.turn import TurnRecord
from lab.store.sqlite import Database, Migrations

TEMPLATES = ("system_template", "turn_template", "answer_schema")
"""The columns of `runs` for the templates of its prompts, which are stored when the run starts."""

migrations = Migrations("hobbes")


@migrations()
def m001_runs_turns_and_their_rows(db: Database) -> None:
    """Create the tables of the first version."""
    db.table("texts").create({"hash": str, "text": str}, pk="hash")
    db.table("runs").create(
        {
            "id": str,
            "name": str,
            "world": str,
            "config": str,
            "agents": str,
            "seed": int,
            "models": str,
            "prompts": str,
            "lang": str,
            "system_template": str,
            "turn_template": str,
            "answer_schema": str,
            "status": str,
            "started": str,
            "ended": str,
            "turns": int,
            "digest": str,
            "outcomes": str,
            "scores": str,
            "tainted": int,
            "seconds": float,
            "error": str,
        },
        pk="id",
        foreign_keys=[(column, "texts", "hash") for column in TEMPLATES],
        defaults={"turns": 0, "seconds": 0},
    )
    db.table("runs").create_index(["name"], unique=True)
    for table, columns, key in (
        ("turns", {"state": str, "record": str, "digest": str, "ledgers": str, "ended": str}, ()),
        (
            "calls",
            {
                "agent": str,
                "attempt": int,
                "outcome": str,
                "stage": str,
                "model": str,
                "system": str,
                "prompt": str,
                "answer": str,
                "reasoning": str,
                "error": str,
                "tokens_in": int,
                "tokens_out": int,
                "milliseconds": int,
                "arrived": str,
            },
            ("agent", "attempt"),
        ),
        ("intents", {"agent": str, "intent": str}, ("agent",)),
        ("drops", {"n": int, "agent": str, "stage": str, "code": str, "said": str, "detail": str}, ("n",)),
        ("mends", {"n": int, "agent": str, "stage": str, "code": str, "said": str, "kept": str}, ("n",)),
        ("events", {"n": int, "type": str, "agent": str, "event": str}, ("n",)),
        (
            "draws",
            {
                "n": int,
                "event": str,
                "subject": str,
                "participants": str,
                "digest": str,
                "winner": str,
            },
            ("n",),
        ),
        (
            "reports",
            {"rater": str, "ratee": str, "kind": str, "score": int},
            ("rater", "ratee", "kind"),
        ),
        ("messages", {"n": int, "sender": str, "receiver": str, "text": str}, ("n",)),
        ("minds", {"agent": str, "mind": str}, ("agent",)),
        ("measures", {"name": str, "scope": str, "value": float}, ("name", "scope")),
    ):
        address = {"run": str} if table == "measures" else {"run": str, "turn": int}
        keys: list[Any] = [("run", "runs", "id")]
        if table == "calls":
            keys += [("system", "texts", "hash"), ("prompt", "texts", "hash")]
        db.table(table).create(address | columns, pk=(*address, *key), foreign_keys=keys)
    for table in ("drops", "mends"):
        db.table(table).create_index(["run", "code"])
    db.table("events").create_index(["run", "type"])
    db.table("calls").create_index(["run", "outcome"])


@migrations()
def m002_tries_and_questions(db: Database) -> None:
    """Add how often a call was sent, and which question it asked; earlier calls get 1 for both."""
    db.table("calls").add_column("tries", int, not_null_default=1)
    db.table("calls").add_column("question", int, not_null_default=1)


@migrations()
def m003_caps(db: Database) -> None:
    """Add the caps of a run."""
    db.table("runs").add_column("caps", str)


@migrations()
def m004_observers(db: Database) -> None:
    """Add the prompt template of an observer, and the question to a person while a run waits."""
    db.table("runs").add_column("observer_text", str)
    db.table("runs").add_column("question", str)


@migrations()
def m005_what_measures_rest_on(db: Database) -> None:
    """Add to each measure its number of decisions and of failed calls."""
    for column in ("decisions", "failures"):
        db.table("measures").add_column(column, int)


@migrations()
def m006_versions_and_memories(db: Database) -> None:
    """Add the versions of a run's record, rules and hobbes, and seals; rename minds to memories.

    Earlier runs get version 1 of record and rules. Tables of the record that are newer than this migration
    have no migration: `make_tables_of_the_record` creates them.
    """
    db.rename_table("minds", "memories")
    db.conn.execute("alter table memories rename column mind to memory")
    db.conn.execute("alter table calls rename column stage to found_as")
    for column in ("record_version", "rules_version"):
        db.table("runs").add_column(column, int, not_null_default=1)
    db.table("runs").add_column("hobbes", str, not_null_default="0.1")
    for table in ("runs", "calls"):
        db.table(table).add_column("seal", str)


@migrations()
def m007_models_of_a_file(db: Database) -> None:
    """Add the settings of models that have a name in a models file, and which player answered a call."""
    db.table("runs").add_column("model_settings", str)
    db.table("calls").add_column("player", str)


@migrations()
def m008_forks(db: Database) -> None:
    """Add the run that a run was forked from, the turn, and how the turns before it were played."""
    db.conn.execute("alter table runs add column parent text references runs(id)")
    db.table("runs").add_column("turn", int)
    db.table("runs").add_column("earlier", str)


@migrations()
def m009_content_of_prompts(db: Database) -> None:
    """Add the content hash of the variant of prompts; that of earlier runs is unknown."""
    db.table("runs").add_column("prompts_hash", str)


@migrations()
def m010_experiments(db: Database) -> None:
    """Add experiments, and their cells: which run played which arm with which seed."""
    db.table("experiments").create({"name": str, "world": str, "file": str, "started": str}, pk="name")
    db.table("cells").create(
        {"experiment": str, "arm": str, "seed": int, "run": str},
        pk=("experiment", "arm", "seed"),
        foreign_keys=[("experiment", "experiments", "name"), ("run", "runs", "id")],
    )


def make_tables_of_the_record(db: Database) -> None:
    """Create the tables of a turn's record that are missing."""
    present = set(db.table_names())
    for table in TurnRecord.tables():
        if table.name not in present:
            columns = {name: int if kind == "integer" else str for name, kind in table.columns.items()}
            address: dict[str, Any] = {"run": str, "turn": int}
            db.table(table.name).create(
                address | columns, pk=(*address, *table.key), foreign_keys=[("run", "runs", "id")]
            )
