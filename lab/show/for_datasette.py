"""`hobbes datasette`: what Datasette needs to know to show the run database of a home.

The descriptions of tables and columns come from docs/data.md, which a test compares with the schema.
"""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from shlex import join
from typing import Any

from hobbes.engine.worlds import WORLDS
from hobbes.lab.errors import LabError
from hobbes.lab.store.canned import queries
from hobbes.lab.store.schema import agent_turns_table

FILE = "datasette.json"
"""The name of the metadata file in the home."""

PAGE = Path(__file__).resolve().parents[2] / "docs" / "data.md"
"""The page of this checkout, or its copy in the wheel."""

DATABASE = "runs"
"""What Datasette calls the file runs.db."""

SETTINGS = ("sql_time_limit_ms", "10000"), ("max_returned_rows", "10000"), ("suggest_facets", "off")
"""A long run has many records and rows; suggesting facets would read them again for each page."""

SHOWN: dict[str, dict[str, Any]] = {
    "runs": {"sort_desc": "started", "facets": ["world", "status", "prompts"]},
    "calls": {"facets": ["outcome", "model", "agent"]},
    "measures": {"facets": ["name"]},
    "experiments": {"sort_desc": "started"},
    "cells": {"facets": ["experiment", "arm"]},
    "probes": {"sort_desc": "started"},
    "probe_answers": {"facets": ["probe", "column", "outcome"]},
    "intents": {"facets": ["agent"]},
    "reports": {"facets": ["kind", "rater", "ratee"]},
    "drops": {"facets": ["code", "stage", "agent"]},
    "mends": {"facets": ["code", "stage", "agent"]},
    "events": {"facets": ["type", "agent"]},
    "messages": {"facets": ["sender", "receiver"]},
    "draws": {"facets": ["event"]},
    "memories": {"facets": ["agent"]},
}
"""How tables are shown at first."""


def prepare(home: Path) -> str:
    """Write the metadata into a home, and return the command that shows its runs.

    Raise LabError if Datasette is not installed, or if the file cannot be written.
    """
    if find_spec("datasette") is None:
        raise LabError("there is no datasette; install it in the checkout: pip install -e '.[datasette]'")
    path = home / FILE
    try:
        path.write_text(json.dumps(metadata(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}; make the folder writable") from error
    settings = [word for setting in SETTINGS for word in ("--setting", *setting)]
    return join(["datasette", str(home / "runs.db"), "--metadata", str(path), *settings])


def metadata() -> dict[str, Any]:
    """Return the metadata of a run database: descriptions, facets, orders and canned queries."""
    tables = {**_descriptions(), **_plain_tables()}
    return {
        "title": "hobbes",
        "description": "Language models play small societies without a state. Each table is described on its "
        "page; the queries below answer common questions.",
        "databases": {
            DATABASE: {
                "tables": {
                    name: {**tables.get(name, {}), **SHOWN.get(name, {})} for name in {**tables, **SHOWN}
                },
                "queries": {
                    name: {**query._asdict(), "params": query.parameters, "hide_sql": True}
                    for name, query in queries().items()
                },
            }
        },
    }


def _descriptions() -> dict[str, dict[str, Any]]:
    """Return the descriptions of tables and their columns from the page about the data."""
    database, _, _ = PAGE.read_text(encoding="utf-8").partition("\n## Exports\n")
    parts = re.split(r"^### `(\w+)`\n", database, flags=re.MULTILINE)
    return {
        name: {
            "description": _plain(text.strip().partition("\n")[0]),
            "columns": {
                column: _plain(meaning)
                for column, meaning in re.findall(
                    r"^\| `(\w+)` \| [\w ]+ \| (.*) \|$", text, flags=re.MULTILINE
                )
            },
        }
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
        if "\nKey: " in text
    }


def _plain_tables() -> dict[str, dict[str, Any]]:
    """Return the descriptions of the plain tables of the worlds, and of their columns."""
    address = {"run": "the run", "turn": "the turn", "agent": "the agent"}
    return {
        agent_turns_table(world): {
            "description": f"What each agent of {world.name} did and has, turn by turn.",
            "columns": address | {name: told for name, (_, told) in world.agent_turns.columns.items()},
        }
        for world in WORLDS.values()
        if world.agent_turns
    }


def _plain(text: str) -> str:
    """Return a text without the marks of Markdown."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "")
