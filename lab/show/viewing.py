"""`hobbes view`: the runs of a home as web pages on this machine.

An address of a page is a decision's own: /run/turn/agent. The pages run one script, which is our own; what
another site's page asks for is refused, since it would be read there.
`lab.wire.guarding` says who may see the pages, `lab.wire.receiving` how much a request may send.
"""

import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from hobbes.lab.errors import LabError, UsageError
from hobbes.lab.loop import play_out
from hobbes.lab.play.playing import go_on
from hobbes.lab.play.stepping import MAX_DIGITS
from hobbes.lab.show.live import Shown, events
from hobbes.lab.show.pages import Pages
from hobbes.lab.show.posting import Forms, posted
from hobbes.lab.show.templating import POLICY, SCRIPT, SCRIPT_ADDRESS, compile_templates
from hobbes.lab.show.terminal import remark
from hobbes.lab.store.command_line import command
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.run import Run
from hobbes.lab.wire.guarding import TOKEN, Guard, names_of
from hobbes.lab.wire.listening import is_open, listener, url
from hobbes.lab.wire.receiving import no_response, server_config

HEADERS = {
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}
"""The headers of every response, also of the errors of Starlette and uvicorn."""


def link(*parts: object, **query: object) -> str:
    """Return the address of a page, with what it is asked for."""
    path = "/" + "/".join(quote(str(part), safe="") for part in parts)
    return f"{path}?{urlencode(query)}" if query else path


PLAYING = "playing "
"""The beginning of the name of a thread that plays a run behind the pages, or waits for its process."""

MAX_PLAYED = 8
"""How many runs may be played behind the pages when a fork is added, which has a process of its own."""


class _Turn(IntegerConvertor):
    """The number of a turn in an address. One that Python does not convert leads to no page."""

    regex = f"[0-9]{{1,{MAX_DIGITS}}}"


register_url_convertor("number", _Turn())

At: TypeAlias = Mapping[str, Any]
"""What an address names: run, turn, agent; or a and b."""

PAGES: Mapping[str, Callable[[Pages, At], str]] = {
    "/": lambda pages, at: pages.runs(at),
    "/compare": lambda pages, at: pages.compare(
        _run(pages, at, "a"), _run(pages, at, "b"), _number(at, "turn"), at.get("agent")
    ),
    "/search": lambda pages, at: pages.search(at),
    "/notes": lambda pages, at: pages.notes(at),
    "/experiments": lambda pages, _: pages.experiments(),
    "/experiments/{name}": lambda pages, at: pages.experiment(at["name"]),
    "/probes": lambda pages, _: pages.probes(),
    "/probes/{name}": lambda pages, at: pages.probe(
        at["name"], _number(at, "situation"), at.get("column", ""), at.get("diff", "")
    ),
    "/{run}": lambda pages, at: pages.run(_run(pages, at), _number(at, "first")),
    "/{run}/results": lambda pages, at: pages.results(_run(pages, at), _number(at, "first")),
    "/{run}/judgements": lambda pages, at: pages.judgements(_run(pages, at), _number(at, "turn")),
    "/{run}/rejections": lambda pages, at: pages.rejections(_run(pages, at), at),
    "/{run}/diary": lambda pages, at: pages.diary(_run(pages, at), at),
    "/{run}/fork": lambda pages, at: pages.fork(_run(pages, at), *_place(at)),
    "/{run}/pin": lambda pages, at: pages.pin(_run(pages, at), *_place(at)),
    # A turn at a glance, which the script puts into the page of its run.
    "/{run}/{turn:number}.html": lambda pages, at: pages.moment(_run(pages, at), at["turn"]),
    # No agent can have a name that makes this the address of its page.
    "/{run}/{turn:number}.svg": lambda pages, at: pages.board(_run(pages, at), at["turn"]),
    "/{run}/{turn:number}": lambda pages, at: pages.turn(_run(pages, at), at["turn"]),
    "/{run}/{turn:number}/{agent}": lambda pages, at: pages.agent(_run(pages, at), at["turn"], at["agent"]),
}

LIVE: Mapping[str, Callable[[Pages, At], Shown]] = {
    "/experiments/{name}/now": lambda pages, at: pages.now_in_experiment(at["name"]),
    "/{run}/now": lambda pages, at: pages.now([pages.store.runs.stored(at["run"])]),
}
"""What is sent as server-sent events while runs are played."""


def _run(pages: Pages, at: At, which: str = "run") -> Run:
    """Return the run that an address names."""
    return pages.store.runs.find(at.get(which, ""))


def _number(at: At, name: str) -> int | None:
    """Return the number that an address asks for under a name, None if it asks for none."""
    try:
        return int(at[name]) if name in at else None
    except ValueError as error:
        what = "situation" if name == "situation" else "turn"
        raise UsageError(f"`{name}` in the address is not the number of a {what}") from error


def _place(at: At) -> tuple[int, str]:
    """Return the turn and the agent that an address asks for; turn 0 and nobody if it does not say."""
    return _number(at, "turn") or 0, at.get("agent", "")


def site(home: Path, host: str, token: str | None = None) -> Starlette:
    """Return the web site of a home. With a token, it is shown only to those who know the token."""
    form_token = secrets.token_urlsafe()

    def pages(opened: Store) -> Pages:
        return Pages(opened, link, live=True, form_token=form_token, started=_started())

    def page(show: Callable[[Pages, At], str], request: Request) -> Response:
        """Return a page. Starlette calls this in a thread, with a connection of its own."""
        at = {**request.query_params, **request.path_params}
        with open_store(home, writes=False) as opened, opened.as_of_now():
            text = show(pages(opened), at)
        return Response(text, media_type="image/svg+xml" if text.startswith("<svg") else "text/html")

    def live(show: Callable[[Pages, At], Shown], request: Request) -> Response:
        """Return a stream of what happens now. Raise LabError if there is no such run or experiment."""

        def shown() -> Shown:
            with open_store(home, writes=False) as opened, opened.as_of_now():
                return show(pages(opened), request.path_params)

        shown()
        return StreamingResponse(events(shown), media_type="text/event-stream")

    def play(written: Sequence[Callable[[], Run]]) -> list[str]:
        """Play runs behind the pages as soon as they are written, and return the addresses of their pages."""
        if len(_started()) + len(written) > MAX_PLAYED:
            now = len(_started())
            raise LabError(
                f"{now} of {MAX_PLAYED} runs are being played behind the pages; wait for one to end"
            )
        addresses = []
        for write in written:
            run = write()
            _start(_play_apart, home, run)
            addresses.append(link(run.id))
        return addresses

    forms = Forms(home, form_token, pages, play)
    routes = [Route(path, partial(live, show)) for path, show in LIVE.items()]
    routes += [Route(path, partial(page, show)) for path, show in PAGES.items()]
    routes.append(Route(SCRIPT_ADDRESS, lambda _: Response(SCRIPT, media_type="text/javascript")))
    routes += [
        Route(f"/{{run}}/{what}", posted(take), methods=["POST"])
        for what, take in (
            ("fork", forms.fork),
            ("pin", forms.pin),
            ("note", forms.note),
        )
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, names_of(host, open_to_others=token is not None), token)],
        exception_handlers={ClientDisconnect: no_response, LabError: _told},
    )


def _told(request: Request, error: Exception) -> Response:
    """Return a page that says in one line what is wrong."""
    missing = 404 if isinstance(error, UsageError) else 500
    return PlainTextResponse(f"hobbes: {error}\n", 400 if request.method == "POST" else missing)


def _started() -> frozenset[str]:
    """Return the runs that are played behind the pages."""
    names = (thread.name for thread in enumerate_threads())
    return frozenset(name.removeprefix(PLAYING) for name in names if name.startswith(PLAYING))


def _start(play: Callable[[Path, Run], None], home: Path, run: Run) -> None:
    """Play a run behind the pages."""
    Thread(target=play, args=(home, run), name=f"{PLAYING}{run.id}", daemon=True).start()


def _play_on(home: Path, run: Run) -> None:
    """Play a run. If it stops, the reason is printed here and shown on its page."""
    with open_store(home) as opened:
        try:
            play_out(go_on(opened, run, lambda _: None))
        except LabError as error:
            opened.runs.update(run.id, error=str(error))
            remark(f"hobbes: {error}")


def _play_apart(home: Path, run: Run) -> None:
    """Play a run in a process of its own, so that the pages stay quick, and wait for its end.

    The process ends with this one, which alone hears Ctrl-C.
    """
    process = get_context("spawn").Process(target=_play_by_id, args=(home, run.id), daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    process.join()


def _play_by_id(home: Path, run: str) -> None:
    with open_store(home) as opened:
        stored = opened.runs.find(run)
    _play_on(home, stored)


def server(home: Path, host: str, token: str | None = None) -> uvicorn.Config:
    """Return uvicorn's configuration of the web site of a home, and prepare this process for it."""
    compile_templates()
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
                "read all runs, play forks, and write tests "
                "into this folder; nothing is encrypted"
            )
        try:
            uvicorn.Server(server(home, host, token)).run(sockets=[listening])
        finally:  # Ctrl-C comes out of it
            tell_what_was_played(home)


def tell_what_was_played(home: Path) -> None:
    """Print, for each run that is being played behind a page, how to continue it."""
    for run in _started():
        remark(f"run {run} was being played; `{command(home, 'resume', run)}` goes on")
