"""`hobbes view`: the runs of a home as web pages on this machine.

An address of a page is a decision's own: /run/turn/agent. The pages only show: they run no script, and what
they are asked for by another site's page is refused, since it would be read there.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from lab.errors import LabError, UsageError
from lab.listening import listener
from lab.pages import POLICY, Pages
from lab.records import records

HEADERS = {
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}


def link(*parts: object) -> str:
    """Give the address of a page."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def site(home: Path, host: str) -> Starlette:
    """Make the web site of a home."""

    def page(show: Callable[[Pages, Mapping[str, Any]], str]) -> Callable[[Request], Response]:
        """Make an endpoint of a page; Starlette calls it in a thread, with a connection of its own."""

        def endpoint(request: Request) -> Response:
            try:
                with records(home) as opened, opened.as_of_now():
                    return HTMLResponse(
                        show(Pages(opened, link, live=True), request.path_params), headers=HEADERS
                    )
            except LabError as error:
                status = 404 if isinstance(error, UsageError) else 500
                return PlainTextResponse(f"hobbes: {error}\n", status, headers=HEADERS)

        return endpoint

    def run(pages: Pages, at: Mapping[str, Any]) -> str:
        return pages.run(pages.records.find(at["run"]))

    def turn(pages: Pages, at: Mapping[str, Any]) -> str:
        return pages.turn(pages.records.find(at["run"]), at["turn"])

    def agent(pages: Pages, at: Mapping[str, Any]) -> str:
        return pages.agent(pages.records.find(at["run"]), at["turn"], at["agent"])

    return Starlette(
        routes=[
            Route("/", page(lambda pages, _: pages.runs())),
            Route("/{run}", page(run)),
            Route("/{run}/{turn:int}", page(turn)),
            Route("/{run}/{turn:int}/{agent}", page(agent)),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[host, "localhost", "127.0.0.1"])],
    )


def view(home: Path, host: str, port: int) -> None:
    """Serve the pages until stopped; the first line on stdout says where."""
    with listener(host, port) as listening:
        print(f"http://{host}:{listening.getsockname()[1]}/", flush=True)  # noqa: T201  for people and scripts
        config = uvicorn.Config(site(home, host), log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listening])
