"""The building blocks of terminal output: tables, cards, pictures.

Model text is foreign: it is printed as plain text, with control characters spelled out.
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
from lab.show.looks import PALETTE, Look, Looks, looks_of

NARROWEST = 20
"""The fewest columns that are written for; with fewer, for instance COLUMNS=0, rich would print nothing."""


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints text as it is, in a terminal of any width."""
    made = Console(stderr=stderr, highlight=False)
    made.width = max(made.width, NARROWEST)
    return made


OUT = console()
"""Results."""
ERR = console(stderr=True)
"""Everything else."""

Rows: TypeAlias = Sequence[Sequence[str]]
"""The picture of a world: rows of short words."""

SHADES = ("#0072B2", "#56B4E9", "#999999", "#E69F00", "#D55E00")
"""Five colours of PALETTE, for values from low to high."""

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def spelled_out(text: str) -> str:
    """Return foreign text with invisible characters, such as control characters, spelled out."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def plain(value: object) -> Text:
    """Return foreign text without markup and with control characters spelled out."""
    return Text(spelled_out(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))


def named(name: str, looks: Looks) -> Text:
    """Return a name, with its mark and in its colour if it has a look; no line ends between the two."""
    look = looks.get(name)
    if look is None:
        return plain(name)
    return Text(f"{look.mark}{spelled_out(name)}", style=PALETTE[look.colour])


def print_json(value: object) -> None:
    """Print one JSON document on stdout, with invisible characters escaped."""
    ascii_only = sys.stdout.encoding.lower() != "utf-8"
    text = json.dumps(value, ensure_ascii=ascii_only, indent=2)
    print(_CONTROL.sub(lambda found: json.dumps(found.group())[1:-1], text))  # noqa: T201  the one place that prints JSON


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], looks: Looks | None = None
) -> RenderableType:
    """Return a table; columns of numbers are aligned right, and names that have a look get it."""
    filled = [["" if cell is None else cell for cell in row] for row in rows]
    made = Table(header_style="bold", box=None, pad_edge=False)
    for k, column in enumerate(columns):
        numbers = all(isinstance(row[k], int | float) or row[k] == "" for row in filled)
        made.add_column(
            named(column, looks or {}), justify="right" if numbers and filled else "left", overflow="fold"
        )
    for row in filled:
        made.add_row(*(_cell(cell, looks or {}) for cell in row))
    # rich would wrap a title of its own to the width of the table.
    return Group(Text(title, style="italic"), made) if title else made


def _cell(cell: object, looks: Looks) -> Text:
    """Return what stands in a cell of a table."""
    if isinstance(cell, Text):
        return cell
    return named(cell, looks) if isinstance(cell, str) else plain(_short(cell))


def matrix(title: str, ratings: Mapping[str, Mapping[str, int]], looks: Looks) -> RenderableType:
    """Return ratings, rater by ratee: low ones blue, high ones orange, an agent's own in brackets."""
    ratees = ratees_of(ratings)
    rows = [
        [rater, *(_rating(report.get(ratee), own=rater == ratee) for ratee in ratees)]
        for rater, report in ratings.items()
    ]
    return table(title, ("rater \\ ratee", *ratees), rows, looks)


def ratees_of(ratings: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return all agents that are rated, sorted."""
    return sorted({ratee for report in ratings.values() for ratee in report})


def _rating(rating: int | None, *, own: bool) -> Text:
    """Return a rating in its colour, or a dot if there is none."""
    if rating is None:
        return Text("·", style="dim")
    shade = SHADES[(rating - 1) * len(SHADES) // HIGHEST]
    return Text(f"({rating})" if own else f"{rating}", style=shade)


def percent(share: float | None) -> str:
    """Return a share in percent, or nothing if there is none."""
    return "" if share is None else f"{share:.1%}"


def _short(cell: object) -> object:
    """Return a float rounded, and anything else as it is."""
    return round(cell, 3) if isinstance(cell, float) else cell


def painted(looks: Looks, *pictures: Rows) -> list[list[list[tuple[str, Look | None]]]]:
    """Return pictures of a world: their words, padded to one width, each with the look of whom it shows.

    `looks` has the look of each word that shows somebody; such a word gets the mark in front.
    """

    def marked(word: str) -> str:
        return f"{looks[word].mark}{word}" if word in looks else word

    width = max((len(marked(word)) for rows in pictures for row in rows for word in row), default=0)
    return [
        [[(f"{marked(word):>{width}}", looks.get(word)) for word in row] for row in rows] for rows in pictures
    ]


def picture(rows: Rows, looks: Looks) -> Text:
    """Return the picture of a world; `looks` has the look of each word that shows somebody."""
    text = Text()
    (lines,) = painted(looks, rows)
    for line in lines:
        for word, look in line:
            style = PALETTE[look.colour] if look else "" if word.strip(" .") else "dim"
            text.append(f" {spelled_out(word)}", style=style)
        text.append("\n")
    return text


def summary(result: Mapping[str, Any], measures: Mapping[str, float | None]) -> RenderableType:
    """Return the results and measures of a run as they are printed at its end."""
    facts = Table.grid(padding=(0, 2))
    for name in ("run", "world", "turns", "digest", "over", "calls"):
        facts.add_row(Text(name, style="bold"), plain(result[name]))
    looks = looks_of(result["scores"])
    scores = [Text.assemble(named(agent, looks), f" {score}") for agent, score in result["scores"].items()]
    facts.add_row(Text("scores", style="bold"), Text(", ").join(scores) if scores else Text("none"))
    for name, key in (
        ("outcomes", "outcomes"),
        ("rejections", "drops"),
        ("corrections", "mends"),
    ):
        line = ", ".join(f"{one} {value}" for one, value in result[key].items())
        facts.add_row(Text(name, style="bold"), plain(line or "none"))
    facts.add_row(Text("tokens", style="bold"), plain(tokens_text(result["tokens"])))
    facts.add_row(Text("failed calls", style="bold"), plain(_failures(result["failures"])))
    cost = "unknown" if result["usd"] is None else f"{result['usd']:.4f}"
    facts.add_row(Text("dollars", style="bold"), plain(cost))
    facts.add_row(Text("seconds", style="bold"), plain(f"{result['seconds']:.1f}"))
    verdict = "yes: too many calls failed" if result["tainted"] else "no"
    facts.add_row(Text("tainted", style="bold"), Text(verdict, style="bold red" if result["tainted"] else ""))
    share = result["failures"]["share"]
    title = f"measures ({percent(share)} of calls failed)" if share else "measures"
    return Group(facts, Text(""), table(title, ("measure", "value"), measures.items()))


def tokens_text(tokens: Mapping[str, int | None]) -> str:
    """Return the tokens of a run in one line, with the number of answers without a token count."""
    known = f"in {_or_unknown(tokens['in'])}, out {_or_unknown(tokens['out'])}"
    return f"{known}; {tokens['untold']} answers without a token count" if tokens["untold"] else known


def _or_unknown(number: int | None) -> str:
    return "unknown" if number is None else f"{number}"


def _failures(failures: Mapping[str, Any]) -> str:
    """Return number, share, causes and agents of the failed calls in one line."""
    if not failures["total"]:
        return "none"
    causes, agents = (
        ", ".join(f"{key} {count}" for key, count in failures[by].items()) for by in ("by_cause", "by_agent")
    )
    return f"{failures['total']} ({percent(failures['share'])}): {causes}; {agents}"


def card(title: str | Text, parts: Iterable[tuple[str, RenderableType]]) -> RenderableType:
    """Return a card, with one panel per part."""
    panels = [Panel(body, title=name, title_align="left", border_style="dim") for name, body in parts]
    return Group(Text.assemble((title, "bold") if isinstance(title, str) else title), *panels)


def json_text(value: object) -> Text:
    """Return JSON to print, one line per field of an object."""
    return plain(json_lines(value))


def json_lines(value: object) -> str:
    """Return JSON as text, one line per field of an object."""
    if not isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return "\n".join(f"{key}: {json.dumps(inner, ensure_ascii=False)}" for key, inner in value.items())
