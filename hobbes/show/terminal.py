"""The building blocks of terminal output: tables, cards, pictures.

Model text is foreign: it is printed as plain text, with control characters spelled out.
"""

import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.panel import Panel
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from hobbes.engine.reflection import MAX_RATING
from hobbes.engine.said import UNSAFE
from hobbes.show.palette import PALETTE, Looks, with_names

T = TypeVar("T")

MIN_WIDTH = 20
"""The fewest columns that are written for; with fewer, for instance COLUMNS=0, rich would print nothing."""

UNLIMITED = 1_000_000
"""The columns of output that goes to a file or to another program: no line is wrapped, so `grep` works."""


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints text as it is, in a terminal of any width.

    Without a terminal, lines are not wrapped, unless COLUMNS says how wide they may be.
    """
    made = Console(stderr=stderr, highlight=False)
    wraps = made.is_terminal or "COLUMNS" in os.environ
    made.width = max(made.width, MIN_WIDTH) if wraps else UNLIMITED
    return made


OUT = console()
"""Results."""
ERR = console(stderr=True)
"""Everything else."""

Rows: TypeAlias = Sequence[Sequence[str]]
"""The picture of a world: rows of short words."""

GAP = 2
"""The columns between two columns of a table, and before what belongs to a line above."""

SHADES = ("#0072B2", "#56B4E9", "#999999", "#E69F00", "#D55E00")
"""Five colours of PALETTE, for values from good to bad."""

GOOD_IF_HIGH = "keeps_word"
"""How the name of the ratings begins that are good if they are high."""

_CONTROL = re.compile(f"[{UNSAFE}\u200c\u200d]")


def escape_invisible(text: str) -> str:
    """Return foreign text with invisible characters, such as control characters, spelled out."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def plain(value: object) -> Text:
    """Return foreign text without markup and with control characters spelled out."""
    return Text(escape_invisible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))


def say(text: str) -> None:
    """Print a foreign text on stdout; its lines are not wrapped."""
    OUT.print(plain(text), soft_wrap=True)


def remark(text: str) -> None:
    """Print a foreign text on stderr; its lines are not wrapped."""
    ERR.print(plain(text), soft_wrap=True)


def next_step(command: str) -> None:
    """Print what to do next on stdout."""
    OUT.print(Text(escape_invisible(f"\nnext: {command}"), style="dim"), soft_wrap=True)


@contextmanager
def export_bar(items: Collection[T]) -> Iterator[Iterator[T]]:
    """Yield an iterator over items with a progress bar, which ends with the block, also where that fails.

    The bar has no thread of its own: a loop that failed is left to the garbage collector, which may run in
    that thread and then wait for it.
    """
    from rich.progress import Progress  # noqa: PLC0415  most commands show none

    with Progress(console=ERR, transient=True, auto_refresh=False) as bar:
        yield iter(bar.track(items, description="exporting"))


def styled_name(name: str, looks: Looks) -> Text:
    """Return a name, with its mark and in its colour if it has a look; no line ends between the two."""
    look = looks.get(name)
    if look is None:
        return plain(name)
    return Text(f"{look.mark}{escape_invisible(name)}", style=PALETTE[look.colour])


def told_text(words: str, looks: Looks) -> Text:
    """Return words of ours in which each name has its mark and its colour."""
    return Text().join(styled_name(piece, looks) for piece in with_names(words, looks))


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print one JSON document on stdout, with invisible characters escaped; without `indent` on one line."""
    ascii_only = sys.stdout.encoding.lower() != "utf-8"
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    print(_CONTROL.sub(lambda found: json.dumps(found.group())[1:-1], text), flush=indent is None)  # noqa: T201  the one place that prints JSON


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], looks: Looks | None = None
) -> RenderableType:
    """Return a table; columns of numbers are aligned right, and names that have a look get it."""
    filled = [["" if cell is None else cell for cell in row] for row in rows]
    made = Table(header_style="bold", box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for k, column in enumerate(columns):
        numbers = bool(filled) and all(isinstance(row[k], int | float) or row[k] == "" for row in filled)
        head = styled_name(column, looks or {})
        made.add_column(head, justify="right" if numbers else "left", overflow="fold")
    for row in filled:
        made.add_row(*(_cell(cell, looks or {}) for cell in row))
    # rich would wrap a title of its own to the width of the table.
    return Group(Text(title, style="italic"), Trimmed(made)) if title else Trimmed(made)


def columns_and_rows(listed: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[object]]]:
    """Return objects as the columns and rows of a table, whatever their keys are."""
    columns = list(dict.fromkeys(key for one in listed for key in one))
    return columns, [[cell_of_json(one.get(column)) for column in columns] for one in listed]


def cell_of_json(value: object) -> object:
    """Return a value as a cell of a table: a text, a number, or JSON."""
    is_json = isinstance(value, bool | list | dict)
    return json.dumps(value, ensure_ascii=False) if is_json else value


class Trimmed:
    """A table whose lines end with their last word, without the blanks that fill the last column."""

    def __init__(self, made: Table) -> None:
        self._made = made

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that the table needs."""
        return Measurement.get(console, options, self._made)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the table."""
        for line in console.render_lines(self._made, options, pad=False):
            while line and not line[-1].text.rstrip(" "):
                line.pop()
            if line:
                line[-1] = Segment(line[-1].text.rstrip(" "), line[-1].style)
            yield from line
            yield Segment.line()


def _cell(cell: object, looks: Looks) -> Text:
    if isinstance(cell, Text):
        return cell
    if isinstance(cell, str):
        return styled_name(cell, looks)
    return plain(round(cell, 3) if isinstance(cell, float) else cell)


def matrix(title: str, ratings: Mapping[str, Mapping[str, int]], looks: Looks) -> RenderableType:
    """Return ratings, rater by ratee: good ones blue, bad ones orange, an agent's own in brackets."""
    ratees = ratees_of(ratings)
    rows = [
        [rater, *(_rating(title.strip(), report.get(ratee), own=rater == ratee) for ratee in ratees)]
        for rater, report in ratings.items()
    ]
    return table(title, ("rater \\ ratee", *ratees), rows, looks)


def ratees_of(ratings: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return all agents that are rated, sorted."""
    return sorted({ratee for report in ratings.values() for ratee in report})


def shade_of(kind: str, rating: float) -> int:
    """Return the shade of a rating, from 0 for the best to 4 for the worst: to keep one's word is good."""
    shade = int(rating - 1) * len(SHADES) // MAX_RATING
    return len(SHADES) - 1 - shade if kind.replace(" ", "_").startswith(GOOD_IF_HIGH) else shade


def _rating(kind: str, rating: int | None, *, own: bool) -> Text:
    """Return a rating in its colour, or a dot if there is none."""
    if rating is None:
        return Text("·", style="dim")
    return Text(f"({rating})" if own else f"{rating}", style=SHADES[shade_of(kind, rating)])


def percent(share: float | None) -> str:
    """Return a share in percent, or nothing if there is none."""
    return "" if share is None else f"{share:.1%}"


def picture(rows: Rows, looks: Looks) -> Text:
    """Return the picture of a world: its words in columns of one width.

    `looks` has the look of each word that shows somebody; such a word gets the mark in front.
    """

    def marked(word: str) -> str:
        return f"{looks[word].mark}{word}" if word in looks else word

    width = max((len(marked(word)) for row in rows for word in row), default=0)
    text = Text()
    for row in rows:
        for word in row:
            style = PALETTE[looks[word].colour] if word in looks else "" if word.strip(" .") else "dim"
            text.append(f" {escape_invisible(marked(word)):>{width}}", style=style)
        text.append("\n")
    return text


def tokens_text(tokens: Mapping[str, int | None]) -> str:
    """Return the tokens of a run in one line, with the number of answers without a token count."""
    cached, thought = tokens["cached"], tokens["reasoning"]
    into, out = ("unknown" if tokens[way] is None else tokens[way] for way in ("in", "out"))
    known = f"in {into}{f' ({cached} cached)' if cached else ''}, out {out}"
    known += f" ({thought} reasoning)" if thought else ""
    return f"{known}; {tokens['untold']} answers without a token count" if tokens["untold"] else known


def players_texts(players: Mapping[str, int]) -> list[str]:
    """Return each player with the number of its agents, if it has several: `policy:guided*7`."""
    return [f"{spec}*{n}" if n > 1 else spec for spec, n in players.items()]


def cost_text(usd: float | None) -> str:
    """Return what runs have cost, in US dollars."""
    return "unknown" if usd is None else f"${usd:,.4f}"


def card(title: str | Text, parts: Iterable[tuple[str, RenderableType]]) -> RenderableType:
    """Return a card, with one panel per part."""
    head = Text.assemble((title, "bold") if isinstance(title, str) else title)
    if OUT.width == UNLIMITED:  # a panel is as wide as its longest line
        return Group(head, *(Group(Text(f"--- {name}", style="dim"), body) for name, body in parts))
    panels = [Panel(body, title=name, title_align="left", border_style="dim") for name, body in parts]
    return Group(head, *panels)


MAX_FIELD = 90
"""How many characters of JSON stand in one line, if it can be broken."""


def json_lines(value: object, indent: str = "") -> str:
    """Return JSON as text, one line per field of an object; what is long in it has lines of its own."""
    if isinstance(value, Mapping):
        return "\n".join(_field_lines(name, inner, indent) for name, inner in value.items())
    if isinstance(value, list):
        return "\n".join(f"{indent}- {json.dumps(item, ensure_ascii=False)}" for item in value)
    return json.dumps(value, ensure_ascii=False)


def _field_lines(name: str, value: object, indent: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > MAX_FIELD and isinstance(value, Mapping | list):
        return f"{indent}{name}:\n{json_lines(value, f'{indent}  ')}"
    return f"{indent}{name}: {text}"
