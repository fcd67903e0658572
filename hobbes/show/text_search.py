"""`hobbes search` and `/search` of `hobbes view`: words in all texts of a home."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from rich.text import Text

from hobbes.engine.names import did_you_mean
from hobbes.engine.telling import counted
from hobbes.errors import UsageError
from hobbes.show.terminal import OUT, next_step, plain
from hobbes.store.home import Store
from hobbes.store.text_index import KINDS, Filters, Found, Hit, find_texts

MAX_HITS = 50
"""How many texts a page lists."""

KIND_NAMED = dict(zip(("prompts", "answers", "reasoning", "messages", "memories"), KINDS, strict=True))
"""The kinds of texts by the words of `hobbes search --in`."""


def find(store: Store, query: str, filters: Filters, first: int, most: int) -> Found:
    """Return what a query finds: `most` texts from the first, from 0.

    Raise UsageError for a query without words, and for a filter that names nothing.
    """
    if filters.kind and filters.kind not in KINDS:
        there = did_you_mean(filters.kind, KINDS, f"choose from: {', '.join(KINDS)}")
        raise UsageError(f"there is no kind {filters.kind!r}{there}")
    if filters.run:
        filters = filters._replace(run=store.runs.find(filters.run).id)
    if not query.strip():
        command = store.command("search", "WORDS", *words_of("", filters))
        raise UsageError(f"a search needs words: {command}")
    return find_texts(store, query, filters, first, most)


def search(store: Store, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of a search shows; `at` is its address: `q`, the filters, and `first`.

    Raise UsageError for a filter that names nothing.
    """
    query = str(at.get("q", "")).strip()
    filters = Filters(**{name: str(at.get(name, "")).strip() for name in Filters._fields})
    first = at.get("first", 0)
    found = find(store, query, filters, first, MAX_HITS) if query else None
    return {
        "query": query,
        "filters": filters,
        "kinds": KINDS,
        "first": first,
        "found": found,
        "hits": [(hit, jump(hit)) for hit in found.hits] if found else [],
        "here": {"q": query, **{name: value for name, value in filters._asdict().items() if value}},
        "next": first + MAX_HITS if found and first + MAX_HITS < found.total else None,
        "command": store.command("search", *words_of(query, filters)) if query else None,
    }


def words_of(query: str, filters: Filters) -> Iterator[str]:
    """Yield the words of the command that searches the same."""
    yield from query.split() if '"' not in query else [query]
    for name, value in filters._asdict().items():
        if value:
            words = {kind: word for word, kind in KIND_NAMED.items()}
            yield from ("--in", words[value]) if name == "kind" else (f"--{name}", value)


def jump(hit: Hit) -> str:
    """Return the end of the address with which a browser scrolls to what was found, and marks it."""
    match = next((text for text, marked in hit.pieces if marked), "")
    return f"#:~:text={quote(match, safe='').replace('-', '%2D')}" if match else ""


def show(store: Store, found: Found) -> None:
    """Print what a search finds: how many texts, and each with its address."""
    OUT.print(Text(counted(found.total, "text"), style="bold"))
    for hit in found.hits:
        others = f", and in {counted(hit.others, 'other place')}" if hit.others else ""
        source = f" ({hit.source})" if hit.source else ""
        to = f" to {hit.to}" if hit.to else ""
        place = plain(f"{hit.name or hit.run} {hit.turn} {hit.agent}{to}")
        OUT.print()
        OUT.print(Text.assemble((hit.kind, "bold"), f"{source}  ", place, (others, "dim")))
        OUT.print(
            Text("  ").append_text(Text().join(_piece(text, marked=is_hit) for text, is_hit in hit.pieces))
        )
    if found.hits:
        first = found.hits[0]
        next_step(store.command("trace", first.name or first.run, first.turn, first.agent))


def _piece(text: str, *, marked: bool) -> Text:
    """Return a piece of a text in one line, marked if it was found."""
    return Text(plain(text).plain.replace("\n", " "), style="bold yellow" if marked else "")
