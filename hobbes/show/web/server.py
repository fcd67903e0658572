"""`hobbes view`: the runs of a home as web pages on this machine.

An address of a page is a decision's own: /run/turn/agent. The pages run one script, which is our own; what
another site's page asks for is refused, since it would be read there.
`hobbes.wire.guard` says who may see the pages, `hobbes.wire.body_limits` how much a request may send.
"""

import re
import secrets
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hobbes.errors import HobbesError, UsageError
from hobbes.show.terminal import remark
from hobbes.show.web.home_pages import compare_page, runs_page, search_page
from hobbes.show.web.page_templates import POLICY, STATIC, fill
from hobbes.show.web.run_pages import RunPages
from hobbes.store.home import Store, open_store
from hobbes.store.policy_games import with_turns
from hobbes.store.recorded_run import Run
from hobbes.wire.body_limits import server_config
from hobbes.wire.guard import TOKEN, Guard, names_of
from hobbes.wire.listener import is_open, listener, url

HEADERS = {
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}
"""The headers of every response, also of the errors of Starlette and uvicorn."""

NOT_KEPT = {"cache-control": "no-store"}
"""The header of a page, which changes when somebody plays."""

KEPT = {"cache-control": "private, max-age=31536000, immutable"}
"""The header of what has an address of its own for each content."""


class _Turn(IntegerConvertor):
    """The number of a turn in an address. One that Python does not convert leads to no page."""

    regex = f"[0-9]{{1,{sys.int_info.default_max_str_digits}}}"


register_url_convertor("number", _Turn())

At: TypeAlias = Mapping[str, Any]
"""What an address names: run, turn, agent; or a and b."""

NUMBERS = frozenset({"first", "situation", "turn"})
"""What an address may ask for by a number."""


def _experiment(store: Store, at: At) -> str:
    from hobbes.show.web.experiment_pages import experiment_page  # noqa: PLC0415  the first page need not wait

    return experiment_page(store, at["name"])


def _probe(store: Store, at: At) -> str:
    from hobbes.show.web.experiment_pages import probe_page  # noqa: PLC0415  the first page need not wait

    return probe_page(store, at["name"], at.get("situation"), at.get("column", ""))


def _run_pages(store: Store, at: At) -> RunPages:
    return RunPages(store, _run(store, at))


def _run(store: Store, at: At, which: str = "run") -> Run:
    """Return the run that an address names. Raise UsageError if it names none."""
    if not at.get(which):
        raise UsageError("choose a first and a second run, as a and b in the list of runs")
    return with_turns(store, store.runs.find(at[which]))


PAGES: Mapping[str, Callable[[Store, At], str]] = {
    "/": runs_page,
    "/compare": lambda store, at: compare_page(store, _run(store, at, "a"), _run(store, at, "b")),
    "/search": search_page,
    "/experiments/{name}": _experiment,
    "/probes/{name}": _probe,
    "/{run}": lambda store, at: _run_pages(store, at).at_a_turn(at.get("turn")),
    "/{run}/{turn:number}": lambda store, at: _run_pages(store, at).at_a_turn(at["turn"]),
    "/{run}/diary": lambda store, at: _run_pages(store, at).diary(at),
    # A turn at a glance, which the script puts into the page of its run.
    "/{run}/{turn:number}.html": lambda store, at: _run_pages(store, at).moment(at["turn"]),
    # No agent can have a name that makes this the address of its page.
    "/{run}/{turn:number}.svg": lambda store, at: _run_pages(store, at).board(at),
    "/{run}/{turn:number}/{agent}": lambda store, at: _run_pages(store, at).card(at["turn"], at["agent"]),
}


def _asked_for(query: Mapping[str, str]) -> At:
    """Return the query of an address. Raise UsageError for a number that is negative or not whole."""
    at: dict[str, Any] = {**query}
    for name in NUMBERS & at.keys():
        if not re.fullmatch("[0-9]{1,9}", at[name]):
            raise UsageError(f"`{name}` in the address is not a number from 0")
        at[name] = int(at[name])
    return at


def site(home: Path, host: str, token: str | None = None) -> Starlette:
    """Return the web site of a home. With a token, it is shown only to those who know the token."""

    def page(show: Callable[[Store, At], str], request: Request) -> Response:
        """Return a page. Starlette calls this in a thread, with a connection of its own."""
        at = {**_asked_for(request.query_params), **request.path_params}
        with open_store(home, writes=False) as opened, opened.as_of_now():
            text = show(opened, at)
        kind = "image/svg+xml" if text.startswith("<svg") else "text/html"
        return Response(text, headers=NOT_KEPT, media_type=kind)

    routes = [Route(path, partial(page, show)) for path, show in PAGES.items()]
    routes += [Route(address, partial(_kept, *content)) for address, content in STATIC.items()]
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(Guard, names_of(host, open_to_others=token is not None), token),
            Middleware(GZipMiddleware, compresslevel=5),
        ],
        exception_handlers={HobbesError: _error_page, HTTPException: _error_page},
    )


def _kept(text: str, kind: str, _: Request) -> Response:
    """Return what has an address of its own for each content."""
    return Response(text, headers=KEPT, media_type=kind)


def _error_page(request: Request, error: Exception) -> Response:
    """Return what is wrong in one line: to a browser as a page with ways back, to others as text."""
    status = 404 if isinstance(error, UsageError | HTTPException) else 500
    words = f"there is no page at {request.url.path}" if isinstance(error, HTTPException) else str(error)
    if "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse(f"hobbes: {words}\n", status, headers=NOT_KEPT)
    text = fill("error.html", words=words)
    return Response(text, status, headers=NOT_KEPT, media_type="text/html")


def server(home: Path, host: str, token: str | None = None) -> uvicorn.Config:
    """Return uvicorn's configuration of the web site of a home."""
    return server_config(site(home, host, token), headers=list(HEADERS.items()))


def view(home: Path, host: str, port: int) -> None:
    """Serve the pages until stopped; the first line on stdout says where.

    If other machines can reach them, the pages need a token, which is in that line.
    """
    with listener(host, port) as listening:
        token = secrets.token_urlsafe() if is_open(listening) else None
        query = f"?{TOKEN}={token}" if token else ""
        print(f"{url(host, listening)}/{query}", flush=True)  # noqa: T201  for people and scripts
        if token:
            remark(
                "other machines reach the pages by this machine's name or address; whoever has the token can "
                "read all runs; nothing is encrypted"
            )
        uvicorn.Server(server(home, host, token)).run(sockets=[listening])
