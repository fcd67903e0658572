"""`hobbes search` and `/search` of `hobbes view`: words in all texts of a home."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from rich.text import Text

from hobbes.engine.names import did_you_mean
from hobbes.errors import UsageError
from hobbes.show.palette import looks_of
from hobbes.show.run_list import number_in
from hobbes.show.terminal import OUT, next_step, plain, styled_name
from hobbes.store.experiment_tables import experiment_file
from hobbes.store.home import Store
from hobbes.store.text_index import KINDS, Filters, Found, Hit, find_texts
from hobbes.worlds import WORLDS

MAX_HITS = 50
"""How many texts a page lists."""

CHOICES: Mapping[str, tuple[str, ...]] = {"kind": KINDS, "world": (*WORLDS,)}
"""The filters of which one chooses."""

MAX_DIGITS = 18
"""The most digits of a turn that is looked for: SQLite has no larger numbers."""

TURNS = re.compile(rf"[0-9]{{1,{MAX_DIGITS}}}(-[0-9]{{1,{MAX_DIGITS}}})?")
"""A turn, or the first and the last of several."""


def find(store: Store, query: str, filters: Filters, first: int, most: int) -> Found:
    """Return what a query finds: `most` texts from the first, from 0.

    Raise UsageError for a query without words, and for a filter that names nothing.
    """
    filters = _check_filters(store, filters)
    if not query.strip():
        command = store.command("search", "WORDS", *words_of("", filters))
        raise UsageError(f"a search needs words: {command}")
    return find_texts(store, query, filters, first, most)


def _check_filters(store: Store, filters: Filters) -> Filters:
    """Return the filters with the id of the run that they name."""
    for name, choices in CHOICES.items():
        if (value := getattr(filters, name)) and value not in choices:
            there = did_you_mean(value, choices, f"choose from: {', '.join(choices)}")
            raise UsageError(f"there is no {name} {value!r}{there}")
    if filters.experiment:
        experiment_file(store, filters.experiment)
    if filters.turn and not TURNS.fullmatch(filters.turn):
        raise UsageError(f"turn {filters.turn!r}: write a turn, such as 3, or the first and the last: 3-7")
    return filters._replace(run=store.runs.find(filters.run).id) if filters.run else filters


def search(store: Store, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of a search shows; `at` is its address: `q`, the filters, and `first`.

    Raise UsageError for a filter that names nothing.
    """
    query = str(at.get("q", "")).strip()
    asked = Filters(**{name: str(at.get(name, "")).strip() for name in Filters._fields})
    first = number_in(at, "first")
    found = find(store, query, asked, first, MAX_HITS) if query else None
    total = found.total if found else 0
    return {
        "query": query,
        "asked": asked,
        "choices": CHOICES,
        "first": first,
        "most": MAX_HITS,
        "found": found,
        "hits": [(hit, jump(hit), looks_of(hit.agents)) for hit in found.hits] if found else [],
        "addresses": address_of,
        "kind_of": kind_of,
        "next": first + MAX_HITS if first + MAX_HITS < total else None,
        "command": store.command("search", *words_of(query, asked)) if query else None,
    }


def address_of(query: str, filters: Filters) -> dict[str, str]:
    """Return what the address of a search asks for."""
    return {"q": query, **{name: value for name, value in filters._asdict().items() if value}}


IN = {"prompts": "prompt", "answers": "answer", "reasoning": "reasoning", "messages": "message"} | {
    "memories": "memory"
}
"""The kinds of texts by the words of `hobbes search --in`."""


def words_of(query: str, filters: Filters) -> Iterator[str]:
    """Yield the words of the command that searches the same."""
    yield from query.split() if '"' not in query else [query]
    for name, value in filters._asdict().items():
        if value:
            words = {kind: word for word, kind in IN.items()}
            yield from ("--in", words[value]) if name == "kind" else (f"--{name}", value)


def jump(hit: Hit) -> str:
    """Return the end of the address with which a browser scrolls to what was found, and marks it."""
    match = next((text for text, marked in hit.pieces if marked), "")
    return f"#:~:text={quote(match, safe='').replace('-', '%2D')}" if match else ""


def kind_of(hit: Hit) -> str:
    """Return what a text is called: its kind, or a view if a program was sent it."""
    return "view" if hit.is_view else hit.kind


def as_json(query: str, found: Found) -> dict[str, Any]:
    """Return what a search finds as plain JSON."""
    hits = [{name: value for name, value in asdict(hit).items() if name != "agents"} for hit in found.hits]
    return {"q": query, **asdict(found), "hits": hits}


def show(store: Store, kind: str, found: Found) -> None:
    """Print what a search in texts of a kind, or of all, finds: counts, and each text with its address."""
    kinds = ", ".join(f"{one} {n}" for one, n in found.kinds.items() if one != kind)
    among = (f"; others: {kinds}" if kind else f": {kinds}") if kinds else ""
    OUT.print(Text(f"{found.total} text{'s' * (found.total != 1)}{among}", style="bold"))
    for hit in found.hits:
        others = f", and in {hit.others} other place{'s' * (hit.others > 1)}" if hit.others else ""
        source = f" ({hit.source})" if hit.source else ""
        OUT.print()
        OUT.print(
            Text.assemble(
                (kind_of(hit), "bold"),
                f"{source}  ",
                plain(f"{hit.name or hit.run} {hit.turn} "),
                styled_name(hit.agent, looks_of(hit.agents)),
                plain(f" to {hit.to}" if hit.to else ""),
                (others, "dim"),
            )
        )
        pieces = [(plain(text), marked) for text, marked in hit.pieces]
        OUT.print(Text("  ").append_text(Text().join(_marked(*piece) for piece in pieces)))
    if found.hits:
        first = found.hits[0]
        next_step(store.command("trace", first.name or first.run, first.turn, first.agent))


def _marked(text: Text, found: bool) -> Text:  # noqa: FBT001  a piece of a hit
    """Return a piece of a text in one line, marked if it was found."""
    piece = Text(" ".join(text.plain.split("\n")))
    piece.stylize("bold yellow" if found else "")
    return piece
