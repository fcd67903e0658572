"""`hobbes view`: the runs of a home as web pages on this machine.

An address of a page is a decision's own: /run/turn/agent. The pages run no script; what another site's page
asks for is refused, since it would be read there. A person who is asked can answer here.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from lab.errors import LabError, UsageError
from lab.play.answering import as_posted, asked_form
from lab.play.playing import go_on, keep_answer
from lab.show.pages import POLICY, Pages
from lab.show.terminal import ERR, plain
from lab.store.database import Run, Store, command, open_store
from lab.wire.listening import listener

HEADERS = {
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}


def link(*parts: object) -> str:
    """Return the address of a page."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


EVERYWHERE = "0.0.0.0"  # noqa: S104  only if somebody asks for it
"""The address that stands for all addresses of this machine: the pages are then open to the network."""

ADDRESS = "address"
"""The name in the form of the question that is answered; a field's own name begins with a slash."""

PLAYING = "playing "
"""The beginning of the name of a thread that continues a run behind the pages."""

At: TypeAlias = Mapping[str, Any]
"""What an address names: run, turn, agent; or a and b."""

PAGES: Mapping[str, Callable[[Pages, At], str]] = {
    "/": lambda pages, _: pages.runs(),
    "/compare": lambda pages, at: pages.compare(_run(pages, at, "a"), _run(pages, at, "b")),
    "/{run}": lambda pages, at: pages.run(_run(pages, at)),
    "/{run}/{turn:int}": lambda pages, at: pages.turn(_run(pages, at), at["turn"]),
    "/{run}/{turn:int}/{agent}": lambda pages, at: pages.agent(_run(pages, at), at["turn"], at["agent"]),
}


def _run(pages: Pages, at: At, which: str = "run") -> Run:
    """Return the run that an address names."""
    return pages.store.find(at.get(which, ""))


def site(home: Path, host: str) -> Starlette:
    """Return the web site of a home."""

    def page(show: Callable[[Pages, At], str]) -> Callable[[Request], Response]:
        """Return the endpoint of a page. Starlette calls it in a thread, with its own connection."""

        def endpoint(request: Request) -> Response:
            at = {**request.query_params, **request.path_params}
            try:
                with open_store(home, writes=False) as opened, opened.as_of_now():
                    return HTMLResponse(show(Pages(opened, link, live=True), at), headers=HEADERS)
            except LabError as error:
                return _told(error, 404 if isinstance(error, UsageError) else 500)

        return endpoint

    def answer(request: Request, body: bytes) -> Response:
        """Take a person's answer to a waiting run, and continue the run behind the page."""
        if request.headers.get("origin") != f"http://{request.headers.get('host')}":
            return _told("another site's page may not answer", 403)
        try:
            with open_store(home) as opened:
                run = _kept(opened, request.path_params["run"], body)
        except LabError as error:
            return _told(error, 400)
        Thread(target=_play_on, args=(home, run), name=f"{PLAYING}{run.id}", daemon=True).start()
        return RedirectResponse(link(run.id), 303, headers=HEADERS)

    async def answered(request: Request) -> Response:
        return await run_in_threadpool(answer, request, await request.body())

    routes = [Route(path, page(show)) for path, show in PAGES.items()]
    hosts = ["*"] if host == EVERYWHERE else [host, "localhost", "127.0.0.1"]
    return Starlette(
        routes=[*routes, Route("/{run}/answer", answered, methods=["POST"])],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)],
    )


def _told(why: object, status: int) -> Response:
    """Return a page that says in one line what is wrong."""
    return PlainTextResponse(f"hobbes: {why}\n", status, headers=HEADERS)


def _kept(opened: Store, name: str, body: bytes) -> Run:
    """Keep an answer to what a run asks now. Raise LabError if it is too late, or the run cannot go on."""
    fields = parse_qsl(body.decode(errors="replace"), keep_blank_values=True)
    addresses = [value for name, value in fields if name == ADDRESS]
    posted = [(name, value) for name, value in fields if name != ADDRESS]
    run = opened.find(name)
    run.check_versions()
    asked = asked_form(run)
    if run.question is None or addresses != [run.question["address"]]:
        raise LabError(f"run {run.id}: somebody else has answered that; its page shows what it asks now")
    keep_answer(opened, run, as_posted(asked, posted))
    return opened.find(run.id)


def _play_on(home: Path, run: Run) -> None:
    """Continue a run from an answer. If it stops, the reason is printed here and shown on its page."""
    with open_store(home) as opened:
        try:
            asyncio.run(go_on(opened, run, lambda _: None))
        except LabError as error:
            opened.update(run.id, error=str(error))
            ERR.print(plain(f"hobbes: {error}"), soft_wrap=True)


def view(home: Path, host: str, port: int) -> None:
    """Serve the pages until stopped; the first line on stdout says where."""
    with listener(host, port) as listening:
        print(f"http://{host}:{listening.getsockname()[1]}/", flush=True)  # noqa: T201  for people and scripts
        config = uvicorn.Config(site(home, host), log_level="warning", access_log=False)
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:  # Ctrl-C comes out of it
            tell_what_was_played(home)


def tell_what_was_played(home: Path) -> None:
    """Print, for each run that is being played behind a page, how to continue it."""
    for thread in enumerate_threads():
        if thread.name.startswith(PLAYING):
            run = thread.name.removeprefix(PLAYING)
            hint = f"run {run} was being played; `{command(home, 'resume', run)}` goes on"
            ERR.print(plain(hint), soft_wrap=True)
