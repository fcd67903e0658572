"""Documents, whose texts may be foreign, and charts."""

import re
from html import unescape
from io import StringIO

from rich.console import Console

from hobbes.show.charts import STYLE_ELEMENT
from hobbes.show.documents import Cell, Document, Link, Picture, Section
from hobbes.show.web.page_templates import fill

FOREIGN = (
    "# One\n- <script>alert(1)</script>\n1. ![p](http://x/p) [a](http://x) _b_ **c** `d` ~~e~~ | &lt; \\ f"
)


def on_page(section: Section) -> str:
    """Return what a page has of a section."""
    page = fill("report.html", document=Document("A report", [section]), live=False, script=False)
    return page.partition(f"<h2>{section.title}</h2>")[2].partition("</main>")[0]


def test_foreign_text_stays_text_in_a_terminal_and_on_a_page() -> None:
    document = Document("A report", [Section("Part", [FOREIGN], ("a", "b"), [(FOREIGN, "x|y")])])
    console = Console(width=200, file=StringIO())
    console.print(document)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert [line.strip() for line in shown.splitlines()][2:6] == ["Part", "", *FOREIGN.splitlines()[:2]]
    assert FOREIGN.splitlines()[2] in shown
    page = on_page(document.first[0])
    assert {*re.findall(r"<(\w+)", page)} == {"p", "br", "div", "table", "thead", "tbody", "tr", "th", "td"}
    assert FOREIGN.splitlines()[2] in unescape(page)


def test_a_picture_in_a_cell_is_drawn_on_a_page_and_typed_elsewhere_and_a_link_is_its_words() -> None:
    picture = Picture("1 (0 to 2)", lambda: "<svg/>", characters="├─●─┤")
    row: list[Cell] = ["✓ supported", picture, Link("seed 1", "/compare?a=1&b=2")]
    section = Section("Part", (), ("verdict", "around 0", "a pair"), [row])
    assert "| ✓ supported | `├─●─┤` | [seed 1](/compare?a=1&b=2) |" in section.markdown()
    page = on_page(section)
    assert '<td data-label="verdict" class="good">✓ supported</td>' in page
    drawn = '<svg class="chart" role="img" aria-label="1 (0 to 2)"/>'
    assert f'<td data-label="around 0">{drawn}</td>' in page
    assert '<a href="/compare?a=1&amp;b=2">seed 1</a>' in page


def test_a_cell_of_several_lines_keeps_them_and_a_bar_has_the_colour_of_its_change() -> None:
    bar = Picture("60%", lambda: "<svg/>", characters="████░░")
    cell: Cell = [[bar, "raid 3/5 -20"], ["a <br>"], [Link("turn 2", "/a/2.svg", shown=True)]]
    section = Section("Part", (), ("situation", "a"), [["one", cell]])
    assert "| one | `████░░` raid 3/5 -20<br>a &lt;br&gt;<br>![turn 2](/a/2.svg) |" in section.markdown()
    console = Console(width=80, file=StringIO(), force_terminal=True, color_system="standard")
    console.print(Document("A probe", [section]))
    first, second = console.file.getvalue().splitlines()[-4:-2]  # type: ignore[attr-defined]
    assert re.search(r"\x1b\[1;31m████░░ raid 3/5 -20", first)
    assert second.strip() == "a <br>"
    page = on_page(section)
    assert 'aria-label="60%"/> raid 3/5 -20<br>a &lt;br&gt;<br><a class="wide" href="/a/2.svg"><img' in page


def test_a_picture_stands_on_a_page_as_it_is_drawn_without_a_style_sheet_of_its_own() -> None:
    picture = Picture('"b" & c', lambda: f"<svg>{STYLE_ELEMENT}</svg>")
    section = Section("Part", pictures=[picture])
    drawn = '<svg class="chart" role="group" aria-label="&quot;b&quot; &amp; c"></svg>'
    assert f'<span class="wide" tabindex="0">{drawn}</span>' in on_page(section)
    assert "![" not in section.markdown()
