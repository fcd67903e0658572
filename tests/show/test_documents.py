"""Documents, whose texts may be foreign, and charts."""

import re
from html import unescape
from io import StringIO

from rich.console import Console

from hobbes.show.documents import Document, Section, in_html, printed


def test_a_bar_in_a_name_does_not_end_a_cell_of_a_markdown_table() -> None:
    section = Section("Models", (), ("what", "value"), [("models", "small|fast")])
    assert r"| models | small\|fast |" in Document("A report", [section]).markdown()


FOREIGN = (
    "# One\n- <script>alert(1)</script>\n1. ![p](http://x/p) [a](http://x) _b_ **c** `d` ~~e~~ | &lt; \\ f"
)


def test_foreign_text_stays_text_in_a_terminal_and_on_a_page() -> None:
    document = Document("A report", [Section("Part", [FOREIGN], ("a", "b"), [(FOREIGN, "x|y")])])
    console = Console(width=200, file=StringIO())
    console.print(printed(document))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert [line.strip() for line in shown.splitlines()][2:6] == ["Part", "", *FOREIGN.splitlines()[:2]]
    assert FOREIGN.splitlines()[2] in shown
    page = in_html(document.markdown())
    assert {*re.findall(r"<(\w+)", page)} == {
        "h1",
        "h2",
        "p",
        "br",
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert FOREIGN.splitlines()[2] in unescape(page)
