"""How pages are made from their templates, which are in `templates/`: what they may use, and their style.

Model text is foreign. Every value in a template is escaped, invisible characters are spelled out, and the
content security policy lets the browser run only our own script, and load nothing from elsewhere. Served
pages share one style sheet and one script; a page in a file holds both.
"""

import base64
import hashlib
import json
from collections.abc import Callable
from functools import cache
from math import ceil
from pathlib import Path
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hobbes.engine.answer import DECISIONS
from hobbes.engine.telling import counted
from hobbes.show.documents import sign_of
from hobbes.show.narrative import NOTHING_DONE
from hobbes.show.palette import PALETTE, with_names
from hobbes.show.strokes import STYLE as BOARD_STYLE
from hobbes.show.strokes import STYLE_ELEMENT
from hobbes.show.terminal import (
    columns_and_rows,
    cost_text,
    escape_invisible,
    json_lines,
    percent,
    players_texts,
    ratees_of,
    shade_of,
)
from hobbes.show.trace import CORRECTED, FAILED, REJECTED, beginning, details, usage_line

MAX_CHOICES = 24
"""How many choices the graph of a timeline has at most."""

TEMPLATES = Path(__file__).with_name("templates")
STYLE = (TEMPLATES / "style.css").read_text(encoding="utf-8") + "".join(
    f".c{k} {{ background: {colour}; }} .g{k} {{ stroke: {colour}; }} .i{k} {{ fill: {colour}; }}\n"
    for k, colour in enumerate(PALETTE)
)
STYLE += "".join(  # a choice of the graph shows what it names, without the script, too
    f'main:not(:has([name="graph"][value="{k}"]:checked)) [data-graph="{k}"] {{ display: none; }}\n'
    for k in range(MAX_CHOICES)
)
STYLE += BOARD_STYLE
SCRIPT = (TEMPLATES / "hobbes.js").read_text(encoding="utf-8")
"""The script of all pages."""


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _allowed(text: str) -> str:
    """Return what allows a style sheet or a script in a content security policy."""
    return f"'sha256-{base64.b64encode(_digest(text)).decode()}'"


STYLE_ADDRESS = f"/static/{_digest(STYLE).hex()[:16]}.css"
SCRIPT_ADDRESS = f"/static/{_digest(SCRIPT).hex()[:16]}.js"
STATIC = {STYLE_ADDRESS: (STYLE, "text/css"), SCRIPT_ADDRESS: (SCRIPT, "text/javascript")}
"""What is at addresses that change with it, and may be kept for ever."""

_NOTHING_ELSE = "default-src 'none'; base-uri 'none'"
POLICY = (
    f"{_NOTHING_ELSE}; script-src 'self'; connect-src 'self'; form-action 'self'; img-src 'self' data:; "
    f"style-src 'self' {_allowed(BOARD_STYLE)}"
)
"""The content security policy of the site: what is served here, and the style of an SVG that stands alone."""

FILE_POLICY = (
    f"{_NOTHING_ELSE}; script-src {_allowed(SCRIPT)}; style-src {_allowed(STYLE)}; img-src data:; "
    "form-action 'none'"
)
"""That of a page in a file: only the style sheet and the script that are in it."""


def _to_text(value: object) -> object:
    """Return a value of a template as text: floats rounded, invisible characters spelled out.

    What says of itself how it is shown on a page is left as it is.
    """
    if hasattr(value, "__html__"):
        return value
    if isinstance(value, float):
        return round(value, 3)
    return "" if value is None else escape_invisible(str(value))


@cache
def environment() -> Environment:
    """Return the environment of the templates, which escapes every value."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_to_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    functions: tuple[Callable[..., object], ...] = (
        *(beginning, columns_and_rows, cost_text, details, percent, players_texts, ratees_of),
        *(shade_of, sign_of, usage_line, with_names),
    )
    templates.filters["counted"] = counted
    templates.globals |= {
        "style": Markup(STYLE),  # noqa: S704  our own file
        "script_text": Markup(SCRIPT),  # noqa: S704  our own file
        "style_address": STYLE_ADDRESS,
        "script_address": SCRIPT_ADDRESS,
        "policy": POLICY,
        "file_policy": FILE_POLICY,
        "decisions": DECISIONS,
        "signs": {FAILED: "✗", REJECTED: "⊘", CORRECTED: "✎"},
        "json": lambda value: json.dumps(value, ensure_ascii=False),
        "lines": json_lines,
        "nothing_done": NOTHING_DONE,
        **{function.__name__: function for function in functions},
    }
    return templates


def link(*parts: object, **query: object) -> str:
    """Return the address of a page, with what it is asked for; that of the list of runs has no parts."""
    path = "/" + "/".join(quote(str(part), safe="") for part in parts)
    return f"{path}?{urlencode(query)}" if query else path


def fill(name: str, **values: object) -> str:
    """Return a template filled with values, of which each page needs some.

    By default, a page is `live`: it is served, and links to the list of runs. Others hold style and script.
    """
    needed = dict[str, object](command=None, reload=None, left_out=(), looks={}, live=True, link=link)
    needed["script"] = True
    page = environment().get_template(name).render(needed | values)
    return page.replace(STYLE_ELEMENT, "")  # a page has it in its own style sheet


def reload_after(took: float) -> int:
    """Return after how many seconds a page reloads that took so many to make: at most a fifth of the time."""
    return max(2, ceil(4 * took))
