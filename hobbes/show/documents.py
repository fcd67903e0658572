"""A document for people: a title and sections, in Markdown. The terminal and the pages show this Markdown.

What it is made of may be foreign text, so all of it is escaped: it adds no markup, HTML or control character.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import chain, count, pairwise
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.text import Text

from hobbes.show.both_runs import MARKS, word_diff_text
from hobbes.show.terminal import escape_invisible, table
from hobbes.show.trace import Pieces

GONE, NEW = r"\[-.*?-\]", r"\{\+.*?\+\}"
"""How a word diff marks what was taken out and what is new."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, and what it shows in words."""

    label: str
    svg: Callable[[], str]
    """Draws it as an SVG image."""

    def url(self) -> str:
        """Return the picture as a data URL."""
        return f"data:image/svg+xml;base64,{b64encode(self.svg().encode()).decode()}"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document: texts, pictures, a table if it has columns, and word diffs."""

    title: str
    texts: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    pictures: Callable[[], Iterable[Picture]] = tuple
    """Makes the pictures, for a document that shows them: a board has to be looked up in its run."""
    own: bool = False
    """Whether the page of an experiment has charts of its own in place of the pictures."""
    diffs: Sequence[tuple[str, Pieces]] = ()
    """Word diffs, each below what it is of."""

    def words(self) -> str:
        """Return the texts in Markdown."""
        return "".join(f"{_paragraph(text)}\n\n" for text in self.texts)

    def figures(self) -> str:
        """Return the table and the word diffs in Markdown."""
        rows = chain([self.columns, ["---"] * len(self.columns)], self.rows) if self.columns else ()
        table = "".join(f"| {' | '.join(map(escape_markdown, row))} |\n" for row in rows)
        return f"{table}\n" * bool(table) + "".join(
            f"{_paragraph(label)}\n\n{_fence(word_diff_text(pieces).plain.rstrip())}\n\n"
            for label, pieces in self.diffs
        )


@dataclass(frozen=True, slots=True)
class Document:
    """A title, sections, and the details below them."""

    title: str
    first: Sequence[Section]
    details: Sequence[Section] = ()

    def markdown(self, name: str = "") -> str:
        """Return the document in Markdown. With a name, it shows the `pictures` of this name."""
        files = _files(name) if name else None
        parts = [f"# {escape_markdown(self.title)}\n\n"]
        parts += (_in_markdown(section, "##", files) for section in self.first)
        parts += ["## Details\n\n"] * bool(self.details)
        parts += (_in_markdown(section, "###", files) for section in self.details)
        return "".join(parts)

    def pictures(self, name: str) -> dict[str, str]:
        """Return the pictures as SVG images, by the names of their files."""
        drawn = (picture for section in (*self.first, *self.details) for picture in section.pictures())
        return {file: picture.svg() for picture, file in zip(drawn, _files(name), strict=False)}


def _files(name: str) -> Iterator[str]:
    """Yield the names of the files of pictures."""
    return (f"{name}-{number}.svg" for number in count(1))


def _in_markdown(section: Section, heading: str, files: Iterator[str] | None) -> str:
    """Return a section in Markdown, with the next of the files for each of its pictures."""
    drawn = zip(section.pictures(), files, strict=False) if files else ()
    pictures = "".join(f"![{escape_markdown(one.label)}]({file})\n\n" for one, file in drawn)
    return f"{heading} {escape_markdown(section.title)}\n\n{section.words()}{pictures}{section.figures()}"


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
        yield table("", [head.content.plain for head in heads], rows)


class _Printed(Markdown):
    elements: ClassVar = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _WordDiff,
        "table_open": _Table,
    }


def printed(document: Document) -> RenderableType:
    """Return a document as it is printed."""
    return _Printed(document.markdown(), justify="default")


def in_html(markdown: str, *, script: bool = True, stacked: bool = False) -> Markup:
    """Return Markdown as HTML. Where no script runs, what is wide can be scrolled by keys.

    The rows of a `stacked` table become lists where the page is narrow.
    """
    wide, of_table = "" if script else ' tabindex="0"', ' class="stacked"' if stacked else ""
    env = {"table": f'<div class="wide"{wide}><table{of_table}>'}
    tokens = _reader().parse(markdown, env)
    _name_cells(tokens)
    return Markup(_reader().renderer.render(tokens, _reader().options, env))  # noqa: S704  HTML was escaped


@cache
def _reader() -> MarkdownIt:
    """Return the reader of Markdown. It takes HTML for text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("table_open", lambda *given: given[-1]["table"])
    reader.add_render_rule("table_close", lambda *_: "</table></div>\n")
    reader.add_render_rule("fence", lambda _, tokens, place, *__: _diff_in_html(tokens[place].content))
    return reader


def _name_cells(tokens: Iterable[Token]) -> None:
    """Give each cell of a table the name of its column, which stands before it where a page is narrow."""
    names: list[str] = []
    column = 0
    for token, inside in pairwise(tokens):
        if token.type == "thead_open":
            names = []
        elif token.type == "tr_open":
            column = 0
        elif token.type == "th_open":
            names.append("".join(part.content for part in inside.children or ()))
            token.attrSet("scope", "col")
        elif token.type == "td_open":
            token.attrSet("data-label", names[column])
            column += 1


def _diff_in_html(words: str) -> str:
    """Return a word diff as HTML, in the colours of one."""
    tags = {"[": "del", "{": "ins"}
    marked = re.sub(
        f"{GONE}|{NEW}",
        lambda found: f"<{tags[found[0][0]]}>{found[0]}</{tags[found[0][0]]}>",
        escape(words, quote=False),
        flags=re.DOTALL,
    )
    return f'<pre class="diff">{marked}</pre>\n'
