"""The list of runs, for `hobbes runs` and the first page: what differs between runs comes first.

Each fork follows its parent.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from hobbes.engine.record import canonical
from hobbes.errors import UsageError
from hobbes.experiment.experiment_file import overview
from hobbes.nodes.journal import no_prompts
from hobbes.show.terminal import GAP, OUT, percent, plain, table
from hobbes.store.home import Store
from hobbes.store.probe_tables import probes_listed
from hobbes.store.run_rows import FACTS, SIGN, Row, Selection, listed, names, players_with_counts, shown, tree

MAX_ROWS = 100
"""How many rows the page shows at a time."""

BETWEEN = re.compile(rf",\s*(?=[\w/-]+\s*(?:{SIGN}))")
"""What stands between two conditions on the page."""

MAX_SETTINGS = 6
"""How many settings of a run are shown."""

MAX_VALUE_LENGTH = 24
"""How many characters of a changed setting are shown."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the list."""

    run: Row
    depth: int
    """How many forks lead to it from a run of the list."""
    cells: Mapping[str, str]
    """What stands in each column, empty for nothing."""

    @property
    def name(self) -> str:
        """The name of the run, or its id without one."""
        return str(self.run["name"] or self.run["id"])


def page(store: Store, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the first page shows; `at` is its address, which may have `where`, `sort` and `first`.

    What is wrong with these is shown beside them.
    """
    where, first = str(at.get("where", "")), at.get("first", 0)
    conditions = tuple(condition.strip() for condition in BETWEEN.split(where) if condition.strip())
    selection = Selection(conditions, str(at.get("sort", "")).strip())
    try:
        rows, problem = listed(store, selection), ""
    except UsageError as error:
        rows, problem = [], str(error).replace("--", "")
    runs = shown(rows, selection)
    there = entries(runs)
    here = {"where": where, "sort": selection.sort}
    options = [word for condition in conditions for word in ("--where", condition)]
    return {
        "here": {name: value for name, value in here.items() if value},
        "where": where,
        "sort": selection.sort,
        "problem": problem,
        "outside": len(runs),
        "in_experiments": len(rows) - len(runs),
        "facts": [*FACTS],
        "choices": [name for name in names() if "/" not in name],
        "columns": columns_of(there),
        "entries": there[first : first + MAX_ROWS],
        "next": first + MAX_ROWS if first + MAX_ROWS < len(there) else None,
        "experiments": overview(store),
        "probes": probes_listed(store),
        "command": store.command("runs", *options, *([f"--sort={selection.sort}"] if selection.sort else [])),
    }


def entries(runs: Sequence[Row]) -> list[Entry]:
    """Return the rows of the list."""
    return [Entry(run, depth, _cells(run)) for run, depth in tree(runs)]


def columns_of(rows: Sequence[Entry]) -> list[str]:
    """Return the columns in which something stands in one of these rows."""
    columns = dict.fromkeys(column for entry in rows for column in entry.cells)
    return [column for column in columns if any(entry.cells.get(column) for entry in rows)]


def _cells(run: Row) -> dict[str, str]:
    """Return what the list says of a run, what is asked for first."""
    rounds, turns = (run["config"] or {}).get("rounds"), run["turns"]
    is_over = run["status"] == "finished"
    settings = [f"{name}={_short(value)}" for name, value in run["changed"].items() if name != "rounds"]
    more = len(settings) - MAX_SETTINGS
    score = FACTS["score"](run)
    prompts = " ".join(filter(None, (run["prompts"], run["lang"] if run["lang"] != "en" else "")))
    cells = {
        "world": run["world"] or "",
        "players": ", ".join(players_with_counts(run)),
        "settings": ", ".join([*settings[:MAX_SETTINGS], *([f"{more} more"] if more > 0 else [])]),
        "prompts": "" if no_prompts((run["models"] or {}).values()) else prompts,
        "status": "tainted" if run["tainted"] else "" if is_over else run["status"],
        "turns": "" if turns is None else str(turns) if is_over or rounds is None else f"{turns} of {rounds}",
        "ending": (run["ending"] or "") if is_over and turns != rounds else "",
        "score": "" if score is None else str(score),
        "failed": percent(run["failures"]["share"]) if run["failures"]["total"] else "",
        "rejected": str(run["rejected"] or ""),
        "tags": " ".join(run["tags"]),
        "forked": "" if run["turn"] is None else f"at turn {run['turn']}",
    }
    asked = {name: _shown(value) for name, value in run["asked"].items() if name not in {*cells, "name"}}
    return {**asked, **cells}


def _shown(value: Any) -> str:  # noqa: ANN401  any JSON
    """Return a value that a list is asked for; empty if a run has none."""
    return "" if value is None else _short(round(value, 3) if isinstance(value, float) else value)


def _short(value: Any) -> str:  # noqa: ANN401  any JSON
    """Return a setting in few characters."""
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 1]}…"


def show(rows: Sequence[Entry]) -> RenderableType:
    """Return the runs as a table; if that is wider than the terminal, as paragraphs."""
    columns = columns_of(rows)
    branches = [f"{'  ' * (entry.depth - 1)}└ " if entry.depth else "" for entry in rows]
    cells = [
        [f"{branch}{entry.name}", *(entry.cells.get(column, "") for column in columns)]
        for branch, entry in zip(branches, rows, strict=True)
    ]
    whole = table("", ["run", *columns], cells)
    if Measurement.get(OUT, OUT.options.update(max_width=10_000), whole).maximum <= OUT.width:
        return whole
    return Group(*(part for entry in rows for part in _paragraph(entry)))


def _paragraph(entry: Entry) -> tuple[RenderableType, RenderableType]:
    """Return the name of a run, and below it the other facts."""
    plainly = {"world", "players", "settings", "prompts", "status", "ending", "tags"}
    facts = [
        value if column in plainly else f"{column} {value}" for column, value in entry.cells.items() if value
    ]
    return Text("", style="bold").append_text(plain(entry.name)), Padding(
        plain("  ".join(facts)), (0, 0, 0, GAP)
    )
