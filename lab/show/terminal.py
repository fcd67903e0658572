"""What people look at in a terminal: tables, cards, maps.

Model text is foreign: it is printed as plain text, its control characters spelled out.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from engine.reflection import HIGHEST

OUT = Console(highlight=False)
"""Results."""
ERR = Console(stderr=True, highlight=False)
"""Everything else."""

# Okabe and Ito's eight colours, which colour-blind people can tell apart; the code in a cell tells the rest.
PALETTE = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")

Rows: TypeAlias = Sequence[Sequence[str]]
"""A world's picture: rows of short words."""

SHADES = ("#0072B2", "#56B4E9", "#999999", "#E69F00", "#D55E00")
"""Colours of the same eight, for ratings from low to high."""

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def spelled_out(text: str) -> str:
    """Give foreign text with what nobody sees spelled out: control characters, marks of direction."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def plain(said: object) -> Text:
    """Give foreign text as text: no markup, control characters spelled out."""
    return Text(spelled_out(said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)))


def print_json(value: object) -> None:
    """Print one JSON document on stdout."""
    everywhere = sys.stdout.encoding.lower() != "utf-8"  # then only what every terminal knows
    print(json.dumps(value, ensure_ascii=everywhere, indent=2))  # noqa: T201  the one place for scripts' output


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> RenderableType:
    """Give a table; numbers stand right."""
    filled = [["" if cell is None else cell for cell in row] for row in rows]
    made = Table(header_style="bold", box=None, pad_edge=False)
    for k, column in enumerate(columns):
        numbers = all(isinstance(row[k], int | float) or row[k] == "" for row in filled)
        made.add_column(column, justify="right" if numbers and filled else "left", overflow="fold")
    for row in filled:
        made.add_row(*(cell if isinstance(cell, Text) else plain(_short(cell)) for cell in row))
    # A title of the table itself would be broken to the table's width.
    return Group(Text(title, style="italic"), made) if title else made


def matrix(title: str, ratings: Mapping[str, Mapping[str, int]]) -> RenderableType:
    """Give ratings as rater by ratee: low ones blue, high ones orange, the own one in brackets."""
    ratees = rated(ratings)
    rows = [
        [plain(rater), *(_rating(report.get(ratee), own=rater == ratee) for ratee in ratees)]
        for rater, report in ratings.items()
    ]
    return table(title, ("rater \\ ratee", *ratees), rows)


def rated(ratings: Mapping[str, Mapping[str, int]]) -> list[str]:
    """List who is rated by anybody."""
    return sorted({ratee for report in ratings.values() for ratee in report})


def _rating(rating: int | None, *, own: bool) -> Text:
    """Paint one rating; nothing where none was given."""
    if rating is None:
        return Text("·", style="dim")
    shade = SHADES[(rating - 1) * len(SHADES) // HIGHEST]
    return Text(f"({rating})" if own else f"{rating}", style=shade)


def percent(share: float | None) -> str:
    """Give a share for people; nothing where there is none."""
    return "" if share is None else f"{share:.1%}"


def _short(cell: object) -> object:
    """Round a figure for people."""
    return round(cell, 3) if isinstance(cell, float) else cell


def coloured(*pictures: Rows) -> list[list[list[tuple[str, int | None]]]]:
    """Give a world's pictures, their words of one width, each with its colour; an empty place has none."""
    found = {word for rows in pictures for row in rows for word in row}
    colours = {word: k % len(PALETTE) for k, word in enumerate(sorted(w for w in found if w.strip(".")))}
    width = max(map(len, found), default=0)
    return [[[(f"{w:>{width}}", colours.get(w)) for w in row] for row in rows] for rows in pictures]


def picture(rows: Rows) -> Text:
    """Paint a world's picture."""
    text = Text()
    (painted,) = coloured(rows)
    for row in painted:
        for word, colour in row:
            text.append(f" {word}", style="dim" if colour is None else PALETTE[colour])
        text.append("\n")
    return text


def summary(result: Mapping[str, Any], measures: Mapping[str, float | None]) -> RenderableType:
    """Give the end of a run for people: what it came to, and its measures."""
    facts = Table.grid(padding=(0, 2))
    for name in ("run", "world", "turns", "digest", "over", "calls"):
        facts.add_row(Text(name, style="bold"), plain(result[name]))
    for name in ("scores", "outcomes", "drops", "mends"):
        told = ", ".join(f"{key} {value}" for key, value in result[name].items())
        facts.add_row(Text(name, style="bold"), plain(told or "none"))
    facts.add_row(Text("tokens", style="bold"), plain(tokens_told(result["tokens"])))
    facts.add_row(Text("failures", style="bold"), plain(_failures(result["failures"])))
    cost = "unknown" if result["usd"] is None else f"{result['usd']:.4f}"
    facts.add_row(Text("dollars", style="bold"), plain(cost))
    facts.add_row(Text("seconds", style="bold"), plain(f"{result['seconds']:.1f}"))
    verdict = "tainted: too many decisions were nobody's" if result["tainted"] else "no"
    facts.add_row(Text("tainted", style="bold"), Text(verdict, style="bold red" if result["tainted"] else ""))
    nobodys = (
        f", {percent(share)} of their decisions nobody's" if (share := result["failures"]["share"]) else ""
    )
    title = f"measures of the run{nobodys}"
    return Group(facts, Text(""), table(title, ("measure", "value"), measures.items()))


def tokens_told(tokens: Mapping[str, int | None]) -> str:
    """Say what tokens were spent, and for how many answers nobody knows."""
    known = f"in {_or_unknown(tokens['in'])}, out {_or_unknown(tokens['out'])}"
    return f"{known}, and {tokens['untold']} answers told none" if tokens["untold"] else known


def _or_unknown(number: int | None) -> str:
    return "unknown" if number is None else f"{number}"


def _failures(told: Mapping[str, Any]) -> str:
    """Say how many decisions were nobody's, why, and of whom."""
    if not told["total"]:
        return "none"
    causes, agents = (
        ", ".join(f"{key} {count}" for key, count in told[by].items()) for by in ("by_cause", "by_agent")
    )
    return f"{told['total']} ({percent(told['share'])} of all decisions): {causes}; {agents}"


def card(title: str, parts: Iterable[tuple[str, RenderableType]]) -> RenderableType:
    """Give a card: a titled panel a part."""
    panels = [Panel(body, title=name, title_align="left", border_style="dim") for name, body in parts]
    return Group(Text(title, style="bold"), *panels)


def json_text(value: object) -> Text:
    """Give JSON to read: an object's fields a line each, what is in them in one line."""
    return plain(json_lines(value))


def json_lines(value: object) -> str:
    """Give JSON as lines, one for each field of an object."""
    if not isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return "\n".join(f"{key}: {json.dumps(inner, ensure_ascii=False)}" for key, inner in value.items())
