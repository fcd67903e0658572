"""How pages are made from their templates, which are in `templates/`: what they may use, and their style.

Model text is foreign. Every value in a template is escaped, invisible characters are spelled out, and the
content security policy lets the browser run only our own script, which is a file, and load nothing from
elsewhere.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hobbes.engine.answer import DECISIONS
from hobbes.engine.telling import counted
from hobbes.lab.play.answering import columns_and_rows, in_words, is_map, table_of
from hobbes.lab.play.forms import Field, Kind, hint, text_of_value
from hobbes.lab.proof.comparing import beside
from hobbes.lab.show.cards import counts, details
from hobbes.lab.show.comparison_table import FAILED_CALLS_HINT, title_of
from hobbes.lab.show.diary import found_in
from hobbes.lab.show.documents import in_html
from hobbes.lab.show.palette import PALETTE, with_names
from hobbes.lab.show.strokes import STYLE_HASH as BOARD_STYLE_HASH
from hobbes.lab.show.terminal import (
    cost_text,
    escape_invisible,
    json_lines,
    percent,
    players_texts,
    ratees_of,
    shade_of,
    tokens_text,
)
from hobbes.lab.show.told import NOTHING_DONE
from hobbes.lab.show.tracing import beginning, reasoning_title, short_reasoning, usage_line

MAX_CHOICES = 24
"""How many choices the graph and the map of a timeline have at most."""

TEMPLATES = Path(__file__).with_name("templates")
STYLE = (TEMPLATES / "style.css").read_text(encoding="utf-8") + "".join(
    f".c{k} {{ background: {colour}; }} .g{k} {{ stroke: {colour}; }} .i{k} {{ fill: {colour}; }}\n"
    for k, colour in enumerate(PALETTE)
)
STYLE += "".join(  # a choice of the graph or the map shows what it names, without the script, too
    f'main:not(:has([name="{what}"][value="{k}"]:checked)) [data-{what}="{k}"] {{ display: none; }}\n'
    for what in ("graph", "map")
    for k in range(MAX_CHOICES)
)
SCRIPT_ADDRESS = "/static/hobbes.js"
"""The address of the script."""

SCRIPT = (TEMPLATES / "hobbes.js").read_text(encoding="utf-8")
"""The script of all pages, which is served or exported as a file."""

_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "connect-src": "'self'",
    "style-src": f"'sha256-{_STYLE_HASH}' 'sha256-{BOARD_STYLE_HASH}'",
    "img-src": "data:",
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


INPUTS: Mapping[Kind, str] = {
    Kind.WHOLE: "number",
    Kind.NUMBER: "number",
    Kind.YES_NO: "checkbox",
    Kind.PAIRS: "textarea",
    Kind.NUMBERS: "textarea",
}
"""The type of the input for each kind of field; text for all others."""

ATTRIBUTES = {
    "minimum": "min",
    "maximum": "max",
    "minLength": "minlength",
    "maxLength": "maxlength",
}
"""The limits in a schema that a browser checks, too, with the names of their HTML attributes."""


class Control(NamedTuple):
    """The HTML element in which a field of a form is filled in."""

    attributes: dict[str, object]
    value: str
    """What stands in it."""
    choices: tuple[str, ...] = ()
    """The options of a select; empty for any other element."""


def control(field: Field, written: str | None = None) -> Control:
    """Return the element of a field, with what somebody has `written` in it, or else the default."""
    value = text_of_value(field, field.default) if written is None else written
    if field.is_box:
        ticked = bool(field.default if written is None else written)
        attributes = {"type": "checkbox", "value": "yes", **({"checked": "checked"} if ticked else {})}
        return Control({"name": field.name, **attributes}, value)
    if field.kind in {Kind.CHOICE, Kind.YES_NO}:
        required = {"required": "required"} if field.required and not field.nullable else {}
        return Control({"name": field.name, **required}, value, _choices(field))
    may_be_empty = field.nullable or (
        not field.required and (field.left_out or field.kind in {Kind.TEXT, Kind.TEXTS, Kind.TEXT_OR_PAIRS})
    )
    attributes = {"type": INPUTS.get(field.kind, "text"), "value": value}
    required = {} if may_be_empty else {"required": "required"}
    return Control({"name": field.name, **attributes, **_limits(field), **required}, value)


def _choices(field: Field) -> tuple[str, ...]:
    """Return the options of a select; the first is empty if the field may be, or has no default."""
    may_be_empty = field.nullable or field.left_out or not field.defaulted
    choices = [text_of_value(field, choice) for choice in field.choices or (True, False)]
    return tuple(dict.fromkeys([*([""] if may_be_empty else []), *choices]))


def _limits(field: Field) -> dict[str, object]:
    """Return the attributes by which a browser checks what is written."""
    limits: dict[str, object] = {}
    if field.kind is not Kind.TEXTS:
        limits |= {ATTRIBUTES[limit]: bound for limit, bound in field.limits.items() if limit in ATTRIBUTES}
    if INPUTS.get(field.kind) == "number":
        step = field.limits.get("multipleOf", 1 if field.kind is Kind.WHOLE else "any")
        # A browser counts steps from the minimum on: a minimum between two steps would allow wrong numbers.
        begins_at_a_step = step == "any" or not field.limits.get("minimum", 0) % step
        limits["step"] = step if begins_at_a_step else 1
    return limits


def hint_of(field: Field) -> str:
    """Return what may be written for a field, where its control does not show it."""
    return hint(field) if field.kind in {Kind.PAIRS, Kind.NUMBERS, Kind.JSON} else ""


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
        "signs": {"failed": "✗", "rejected": "⊘", "landmark": "⚑", "note": "★"},
        "counts": counts,
        "details": details,
        "found_in": found_in,
        "json": lambda value: json.dumps(value, ensure_ascii=False),
        "lines": json_lines,
        "percent": percent,
        "tokens_text": tokens_text,
        "cost_text": cost_text,
        "players_texts": players_texts,
        "ratees_of": ratees_of,
        "shade_of": shade_of,
        "both": beside,
        "columns_and_rows": columns_and_rows,
        "control_of": control,
        "in_words": in_words,
        "is_map": is_map,
        "table_of": table_of,
        "hint_of": hint_of,
        "title_of": title_of,
        "failed_calls_hint": FAILED_CALLS_HINT,
        "reasoning_title": reasoning_title,
        "beginning": beginning,
        "short_reasoning": short_reasoning,
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


def part(name: str, *values: object) -> str:
    """Return the HTML that a macro of `parts.html`, such as `table`, makes of its arguments."""
    parts = environment().get_template("parts.html").make_module({"looks": {}})  # no style sheet, no colours
    return str(getattr(parts, name)(*values))
