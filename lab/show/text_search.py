"""`/search` of `hobbes view`: words in all texts of a home."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from hobbes.engine.answer import Outcome
from hobbes.engine.worlds import WORLDS
from hobbes.lab.errors import UsageError
from hobbes.lab.store.home import Store
from hobbes.lab.store.textindex import KINDS, Filters, Hit, open_index

MAX_HITS = 50
"""How many texts a page lists."""

RELOAD = 1
"""After how many seconds a page reloads while texts are being indexed."""

CHOICES: Mapping[str, tuple[str, ...]] = {"kind": KINDS, "world": (*WORLDS,), "outcome": (*Outcome,)}
"""The filters of which one chooses."""


def search(store: Store, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of a search shows; `at` is its address: `q`, the filters, and `first`.

    Some of the texts that are not in the index yet are added to it first. The page reloads until all are.
    Raise UsageError for a filter that names nothing.
    """
    query = str(at.get("q", "")).strip()
    named = Filters(**{name: str(at.get(name, "")).strip() for name in Filters._fields})
    first = _first(at)
    shown: dict[str, Any] = {
        "query": query,
        "asked": named,
        "choices": CHOICES,
        "first": first,
        "most": MAX_HITS,
    }
    if not query:
        return {**shown, "kinds": {}, "hits": [], "total": 0, "next": None, "indexed": None, "reload": None}
    filters = _check_filters(store, named)
    with open_index(store) as index:
        complete = index.update()
        understood = index.understood(query)
        kinds = index.counts(understood, filters)
        hits = list(index.hits(understood, filters, first, MAX_HITS))
        indexed, there = index.progress()
    total = kinds.get(filters.kind, 0) if filters.kind else sum(kinds.values())
    return {
        **shown,
        "kinds": kinds,
        "hits": [(hit, jump(hit)) for hit in hits],
        "total": total,
        "next": first + MAX_HITS if first + MAX_HITS < total else None,
        "indexed": None if complete else indexed / there,
        "reload": None if complete else RELOAD,
    }


def _first(at: Mapping[str, Any]) -> int:
    """Return the number of the first text that an address asks for, from 0."""
    try:
        first = int(at.get("first", 0))
    except ValueError:
        first = -1
    if not 0 <= first < 2**31:
        raise UsageError("`first` in the address is not the number of a text")
    return first


def _check_filters(store: Store, filters: Filters) -> Filters:
    """Return the filters with the id of the run that they name."""
    for name, choices in CHOICES.items():
        if (value := getattr(filters, name)) and value not in choices:
            raise UsageError(f"there is no {name} {value!r}; choose from: {', '.join(choices)}")
    return filters._replace(run=store.runs.find(filters.run).id) if filters.run else filters


def jump(hit: Hit) -> str:
    """Return the end of the address with which a browser scrolls to what was found, and marks it."""
    match = next((text for text, marked in hit.pieces if marked), "")
    return f"#:~:text={quote(match, safe='').replace('-', '%2D')}" if match else ""
