"""`hobbes view`: the runs of a home as web pages on this machine.

An address of a page is a decision's own: /run/turn/agent. The pages run no script; what another site's page
asks for is refused, since it would be read there. A person who is asked can answer here.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from lab.answering import as_told, waiting
from lab.errors import LabError, UsageError
from lab.listening import listener
from lab.pages import POLICY, Pages
from lab.playing import go_on
from lab.records import Run, records
from lab.show import ERR, plain

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

    async def answer(request: Request) -> Response:
        """Answer what a waiting run asks a person, and play on behind the page."""
        if request.headers.get("origin") != f"http://{request.headers['host']}":
            return PlainTextResponse("hobbes: another site's page may not answer\n", 403, headers=HEADERS)
        form = dict(parse_qsl((await request.body()).decode(errors="replace"), keep_blank_values=True))
        reason = form.pop("reason", "")
        try:
            with records(home) as opened:
                run = opened.find(request.path_params["run"])
                said = as_told(waiting(run), [f"{unit}={amount}" for unit, amount in form.items()], reason)
                opened.update(run.id, status="unfinished")  # the page that is shown next is loaded anew
        except LabError as error:
            return PlainTextResponse(f"hobbes: {error}\n", 400, headers=HEADERS)
        task = BackgroundTask(_play_on, home, run, said)
        return RedirectResponse(link(run.id), 303, headers=HEADERS, background=task)

    return Starlette(
        routes=[
            Route("/", page(lambda pages, _: pages.runs())),
            Route("/{run}", page(run)),
            Route("/{run}/answer", answer, methods=["POST"]),
            Route("/{run}/{turn:int}", page(turn)),
            Route("/{run}/{turn:int}/{agent}", page(agent)),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[host, "localhost", "127.0.0.1"])],
    )


def _play_on(home: Path, run: Run, said: str) -> None:
    """Play a run on from what was answered; why it stops, if it does, is told where the pages are served."""
    try:
        with records(home) as opened:
            asyncio.run(go_on(opened, run, lambda _: None, said))
    except LabError as error:
        ERR.print(plain(f"hobbes: {error}"), soft_wrap=True)


def view(home: Path, host: str, port: int) -> None:
    """Serve the pages until stopped; the first line on stdout says where."""
    with listener(host, port) as listening:
        print(f"http://{host}:{listening.getsockname()[1]}/", flush=True)  # noqa: T201  for people and scripts
        config = uvicorn.Config(site(home, host), log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listening])
