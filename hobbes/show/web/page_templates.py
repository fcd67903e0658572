"""How pages are made from their templates, which are in `templates/`: what they may use, and their style.

Model text is foreign. Every value in a template is escaped, invisible characters are spelled out, and the
content security policy lets the browser run only our own script, which is a file, and load nothing from
elsewhere.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hobbes.engine.answer import DECISIONS
from hobbes.engine.telling import counted
from hobbes.show import charts
from hobbes.show.boards import Cards
from hobbes.show.documents import in_html
from hobbes.show.narrative import NOTHING_DONE
from hobbes.show.palette import PALETTE, with_names
from hobbes.show.strokes import STYLE_HASH as BOARD_STYLE_HASH
from hobbes.show.terminal import (
    columns_and_rows,
    cost_text,
    escape_invisible,
    json_lines,
    percent,
    players_texts,
    ratees_of,
    shade_of,
    tokens_text,
)
from hobbes.show.trace import beginning, details, usage_line
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run

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
SCRIPT_ADDRESS = "/static/hobbes.js"
"""The address of the script."""

SCRIPT_FILE = "hobbes.js"
"""The name of the script in an export."""

SCRIPT = (TEMPLATES / "hobbes.js").read_text(encoding="utf-8")
"""The script of all pages, which is served or exported as a file."""

_STYLE_HASH, _CHART_STYLE_HASH = (
    base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in (STYLE, charts.STYLE)
)
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "connect-src": "'self'",
    "style-src": f"'sha256-{_STYLE_HASH}' 'sha256-{BOARD_STYLE_HASH}' 'sha256-{_CHART_STYLE_HASH}'",
    "img-src": "'self' data:",
    "form-action": "'self'",
    "base-uri": "'none'",
}
POLICY = "; ".join(f"{what} {allowed}" for what, allowed in _POLICY.items())
"""The content security policy: only our style sheets, our script, embedded images, and the same site."""


def _to_text(value: object) -> object:
    """Return a value of a template as text: floats rounded, invisible characters spelled out."""
    if isinstance(value, Markup):
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
    templates.filters["counted"] = counted
    templates.globals |= {
        "style": Markup(STYLE),  # noqa: S704  our own file
        "policy": POLICY,
        "decisions": DECISIONS,
        "signs": {"failed": "✗", "rejected": "⊘", "corrected": "✎", "landmark": "⚑"},
        "details": details,
        "json": lambda value: json.dumps(value, ensure_ascii=False),
        "lines": json_lines,
        "percent": percent,
        "tokens_text": tokens_text,
        "cost_text": cost_text,
        "players_texts": players_texts,
        "ratees_of": ratees_of,
        "shade_of": shade_of,
        "columns_and_rows": columns_and_rows,
        "beginning": beginning,
        "nothing_done": NOTHING_DONE,
        "usage_line": usage_line,
        "with_names": with_names,
        "in_html": in_html,
    }
    return templates


def compile_templates() -> None:
    """Compile all templates, so that no reader waits for it."""
    for name in environment().list_templates(extensions=["html"]):
        environment().get_template(name)


def reload_after(took: float) -> int:
    """Return after how many seconds a page reloads that took so many to make: at most a fifth of the time."""
    return max(2, ceil(4 * took))


def cards(link: Callable[..., str], run: Run, turn: int, agents: Iterable[str]) -> Cards:
    """Return the addresses of the cards of these agents in a turn."""
    return tuple((agent, link(run.id, turn, agent)) for agent in agents)


@dataclass(frozen=True)
class Pages:
    """Pages of the runs in a home folder.

    `link` returns the URL of a page from run, turn and agent, and from what the page is asked for by name;
    without arguments, it returns that of the list of runs. `live` pages are served: they link to the list of
    runs, reload while their run is being played, and list only a part of its turns.
    """

    store: Store
    link: Callable[..., str]
    live: bool

    def fill(self, name: str, **values: object) -> str:
        """Return a template filled with values."""
        always: dict[str, object] = {
            "command": None,
            "reload": None,
            "looks": {},
            "link": self.link,
            "live": self.live,
            "script": SCRIPT_ADDRESS if self.live else SCRIPT_FILE,
        }
        return environment().get_template(name).render({**always, **values})

    def command(self, *words: object) -> str | None:
        """Return the command that shows the same in a terminal; None on disk, where the home is not."""
        return self.store.command(*words) if self.live else None
