"""A document for people: a title and sections, as they are printed, on a page, and in Markdown.

What it is made of may be foreign text, so all of it is escaped: it adds no markup, HTML or control character.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from typing import TypeAlias

from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.text import Text

from hobbes.show.both_runs import word_diff_text
from hobbes.show.charts import STYLE_ELEMENT
from hobbes.show.terminal import escape_invisible, table
from hobbes.show.trace import Pieces

MAX_DIFF_LINES = 12
"""How many lines a word diff of prompts has at most."""

MAX_TALL = 160
"""How many characters a table is wide, also where no line is wrapped, if its cells have several lines."""

SIGNS = {"✓": "good", "↑": "good", "↓": "good", "✗": "bad", "≈": "even", "?": "even", "○": "even"}
"""What a cell of a table says that begins with a sign and a space: it is the class of the cell on a page."""

STYLES = {"good": "bold blue", "bad": "bold red", "even": "default"}
"""The style of such a cell in a terminal."""

CHANGES = {r"^[█·│].* \+[1-9]\d*$": "good", r"^[█·│].* -[1-9]\d*$": "bad"}
"""What a line of a cell says that begins with a bar and ends with a change: it has that style."""

BREAK = "<br>"
"""Ends a line of a cell in Markdown. Foreign text never has it, because it is escaped."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, and what it shows in words.

    One that has `characters` stands in a cell of a table. They show the same where there are no pictures.
    """

    label: str
    svg: Callable[[], str]
    """Draws it as an SVG image, with the style sheet of all charts."""
    characters: str = ""

    def __html__(self) -> str:
        """Return it as a part of a page, which has a style sheet. A large one may have links in it."""
        role = "img" if self.characters else "group"
        begins = f'<svg class="chart" role="{role}" aria-label="{escape(self.label)}"'
        return self.svg().replace(STYLE_ELEMENT, "").replace("<svg", begins, 1)


@dataclass(frozen=True, slots=True)
class Link:
    """Words that lead to an address, where there is one. A picture there may be `shown` in their place."""

    words: str
    address: str = ""
    shown: bool = False
    title: str = ""  # shows on hover

    def __html__(self) -> str:
        """Return it as a part of a page."""
        address, words = escape(self.address), escape(escape_invisible(self.words))
        title = f' title="{escape(self.title)}"' if self.title else ""
        if address and self.shown:
            return f'<a class="wide" href="{address}"><img loading="lazy" src="{address}" alt="{words}"></a>'
        return f'<a href="{address}"{title}>{words}</a>' if address else words


Line: TypeAlias = Sequence[str | Link | Picture]

Cell: TypeAlias = str | Link | Picture | list[Line]
"""A cell may have several lines, each of which has words, links and small pictures side by side."""

Place: TypeAlias = Callable[[Picture], str]
"""Returns where a picture is, empty if its characters stand in its place."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document: texts, pictures, a table if it has columns, and word diffs."""

    title: str
    texts: Sequence[str] = ()
    columns: Sequence[str | Link] = ()
    rows: Sequence[Sequence[Cell]] = ()
    pictures: Sequence[Picture] = ()
    diffs: Sequence[tuple[str, Pieces]] = ()
    """Word diffs, each below what it is of."""

    def markdown(self, place: Place | None = None) -> str:
        """Return the texts, the pictures, the table and the word diffs in Markdown."""
        parts = [f"{_paragraph(text)}\n\n" for text in self.texts]
        if place and self.pictures:
            parts += (f"![{escape_markdown(one.label)}]({place(one)})\n" for one in self.pictures)
            parts.append("\n")
        rows = chain([self.columns, ["---"] * len(self.columns)], self.rows) if self.columns else ()
        parts += (f"| {' | '.join(_cell(cell, place) for cell in row)} |\n" for row in rows)
        parts += ["\n"] * bool(self.columns)
        parts += (
            f"{_paragraph(label)}\n\n{_fence(word_diff_text(pieces).plain.rstrip())}\n\n"
            for label, pieces in self.diffs
        )
        return "".join(parts)

    def printed(self, style: str) -> Iterator[RenderableType]:
        """Yield the title, the texts, the table and the word diffs as they are printed."""
        yield Text(_in_one_line(self.title), style=style)
        for text in self.texts:
            yield Text("\n".join(_in_one_line(line) for line in text.splitlines() if line.strip()))
        if self.columns:
            yield _table(self.columns, self.rows)
        for label, pieces in self.diffs:
            words = word_diff_text(pieces)
            words.rstrip()
            yield from (Text(_in_one_line(label)), words)


def _cell(cell: Cell, place: Place | None) -> str:
    """Return a cell of a table in Markdown."""
    if isinstance(cell, list):
        return BREAK.join(" ".join(_cell(part, place) for part in line) for line in cell)
    if isinstance(cell, Picture):
        address = place(cell) if place else ""
        return f"![{escape_markdown(cell.label)}]({address})" if address else f"`{cell.characters}`"
    if isinstance(cell, Link) and cell.address:
        title = f' "{escape_markdown(cell.title)}"' if cell.title else ""
        return f"{'!' * cell.shown}[{escape_markdown(cell.words)}]({cell.address}{title})"
    return escape_markdown(cell.words if isinstance(cell, Link) else cell)


@dataclass(frozen=True, slots=True)
class Document:
    """A title, sections, and below them the methods: all that explains and checks them."""

    title: str
    first: Sequence[Section]
    methods: Sequence[Section] = ()

    def _by_level(self) -> list[tuple[int, Section]]:
        """Return all sections, each with the level of its title; the methods stand below one of their own."""
        methods = [(2, Section("Methods")), *((3, one) for one in self.methods)] if self.methods else []
        return [*((2, one) for one in self.first), *methods]

    def markdown(self, place: Place | None = None) -> str:
        """Return the document in Markdown."""
        parts = [f"# {escape_markdown(self.title)}\n\n"]
        for level, one in self._by_level():
            parts.append(f"{'#' * level} {escape_markdown(one.title)}\n\n{one.markdown(place)}")
        return "".join(parts)

    def __rich__(self) -> RenderableType:
        """Return the document as it is printed."""
        parts: list[RenderableType] = [Text(_in_one_line(self.title), style="markdown.h1")]
        parts += (part for level, one in self._by_level() for part in one.printed(f"markdown.h{level}"))
        return Group(*[line for part in parts for line in ("", part)][1:])

    def files(self, name: str) -> tuple[str, dict[str, str]]:
        """Return the document in Markdown, and its pictures as SVG images by the names of their files."""
        drawn: dict[str, str] = {}

        def place(picture: Picture) -> str:
            if picture.characters:
                return ""
            drawn[file := f"{name}-{len(drawn) + 1}.svg"] = picture.svg()
            return file

        return self.markdown(place), drawn


def _in_one_line(text: str) -> str:
    """Return foreign text as one line, with invisible characters spelled out."""
    return escape_invisible(" ".join(text.split()))


def escape_markdown(text: str) -> str:
    """Return foreign text as one line of Markdown, without markup, HTML and invisible characters."""
    line = escape(_in_one_line(text), quote=False)
    return re.sub(r"[\\`*\[\]|~]|(?<!\w)_|_(?!\w)", r"\\\g<0>", line)


def _paragraph(text: str) -> str:
    """Return foreign text as a paragraph. Its lines stay lines, and none begins a heading or a list."""
    lines = (escape_markdown(line) for line in text.splitlines() if line.strip())
    return "\\\n".join(re.sub(r"^(\d+(?=[.)])|(?=[#+=-](?![\d.])))", r"\1\\", line) for line in lines)


def _fence(text: str) -> str:
    """Return foreign text as a block of code."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def shorten(pieces: Pieces) -> Pieces:
    """Return the beginning of a word diff."""
    shown: Pieces = []
    left = MAX_DIFF_LINES
    for change, piece in pieces:
        kept = "".join(piece.splitlines(keepends=True)[:left])
        shown.append((change, kept))
        left -= kept.count("\n")
        if len(kept) < len(piece) or left <= 0:
            shown.append((" ", " …"))
            break
    return shown


def _table(columns: Sequence[str | Link], rows: Sequence[Sequence[Cell]]) -> RenderableType:
    """Return a table as it is printed. Rows of several lines have a blank line between them."""
    cells = [[_printed_cell(cell) for cell in row] for row in rows]
    is_tall = any("\n" in cell.plain for cell in chain.from_iterable(cells))
    for cell in chain.from_iterable(cells):
        cell.append("\n" * is_tall)
        if sign := sign_of(cell.plain):
            cell.stylize(STYLES[sign])
        for pattern, change in CHANGES.items():
            cell.highlight_regex(re.compile(pattern, re.MULTILINE), STYLES[change])
    shown = table("", [_printed_cell(column).plain for column in columns], cells)
    return Constrain(shown, MAX_TALL) if is_tall else shown


def _printed_cell(cell: Cell) -> Text:
    """Return a cell of a table as it is printed."""
    match cell:
        case list():
            return Text("\n").join(Text(" ").join(map(_printed_cell, line)) for line in cell)
        case Picture():
            return Text(cell.characters)
        case Link():
            return Text(_in_one_line(cell.words))
    return Text(_in_one_line(cell))


def sign_of(cell: str) -> str:
    """Return what the sign says with which a cell begins, empty if it begins with none."""
    return SIGNS.get(cell[0], "") if cell[1:2] == " " else ""
