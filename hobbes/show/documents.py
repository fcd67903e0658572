"""A document for people: a title and sections. Files have it in Markdown, which the terminal shows, too.

What it is made of may be foreign text, so all of it is escaped: it adds no markup, HTML or control character.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import chain
from typing import ClassVar, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.text import Text

from hobbes.show.both_runs import MARKS, word_diff_text
from hobbes.show.charts import STYLE_ELEMENT
from hobbes.show.terminal import escape_invisible, table
from hobbes.show.trace import Pieces

GONE, NEW = r"\[-.*?-\]", r"\{\+.*?\+\}"
"""How a word diff marks what was taken out and what is new."""

MAX_DIFF_LINES = 12
"""How many lines a word diff of prompts has at most."""

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

    def markdown(self, place: Place | None = None) -> str:
        """Return the document in Markdown."""
        parts = [f"# {escape_markdown(self.title)}\n\n"]
        parts += (f"## {escape_markdown(one.title)}\n\n{one.markdown(place)}" for one in self.first)
        parts += ["## Methods\n\n"] * bool(self.methods)
        parts += (f"### {escape_markdown(one.title)}\n\n{one.markdown(place)}" for one in self.methods)
        return "".join(parts)

    def files(self, name: str) -> tuple[str, dict[str, str]]:
        """Return the document in Markdown, and its pictures as SVG images by the names of their files."""
        drawn: dict[str, str] = {}

        def place(picture: Picture) -> str:
            if picture.characters:
                return ""
            drawn[file := f"{name}-{len(drawn) + 1}.svg"] = picture.svg()
            return file

        return self.markdown(place), drawn


def escape_markdown(text: str) -> str:
    """Return foreign text as one line of Markdown, without markup, HTML and invisible characters."""
    line = escape(escape_invisible(" ".join(text.split())), quote=False)
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


class _Heading(Heading):
    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "default")


class _WordDiff(CodeBlock):
    """The block of a word diff, in the colours of one."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield its words."""
        words = Text(str(self.text).rstrip())
        for pattern, change in ((GONE, "-"), (NEW, "+")):
            words.highlight_regex(re.compile(pattern, re.DOTALL), MARKS[change][-1])
        yield words


class _Table(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield a table that loses no character where it is narrow."""
        heads = self.header.row.cells if self.header and self.header.row else []
        rows = [[cell.content for cell in row.cells] for row in (self.body.rows if self.body else ())]
        is_tall = any("\n" in content.plain for content in chain.from_iterable(rows))
        for content in chain.from_iterable(rows):
            content.append("\n" * is_tall)  # a blank line between two rows
            if sign := sign_of(content.plain):
                content.stylize(STYLES[sign])
            for pattern, change in CHANGES.items():
                content.highlight_regex(re.compile(pattern, re.MULTILINE), STYLES[change])
        yield table("", [head.content.plain for head in heads], rows)


class _Printed(Markdown):
    def __init__(self, document: Document) -> None:
        super().__init__("", justify="default")
        self.parsed = _reader().parse(document.markdown())

    elements: ClassVar = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _WordDiff,
        "table_open": _Table,
    }


def printed(document: Document) -> RenderableType:
    """Return a document as it is printed."""
    return _Printed(document)


@cache
def _reader() -> MarkdownIt:
    """Return the reader of Markdown. It takes HTML for text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.inline.ruler.before("html_inline", "break", _read_break)
    return reader


def _read_break(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  the shape of a rule
    """Read where a line of a cell ends."""
    if not state.src.startswith(BREAK, state.pos):
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos += len(BREAK)
    return True


def sign_of(cell: str) -> str:
    """Return what the sign says with which a cell begins, empty if it begins with none."""
    return SIGNS.get(cell[0], "") if cell[1:2] == " " else ""
