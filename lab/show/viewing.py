"""`hobbes view`: the runs of a home as web pages on this machine.

An address of a page is a decision's own: /run/turn/agent. The pages run one script, which is our own; what
another site's page asks for is refused, since it would be read there. A person who is asked can answer here.
`lab.wire.guarding` says who may see the pages, `lab.wire.receiving` how much a request may send.
"""

import asyncio
import re
import secrets
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from hobbes.engine.world import OBSERVER
from hobbes.lab.errors import LabError, UsageError
from hobbes.lab.loop import play_out
from hobbes.lab.play.answering import answer_from_form, form_for, the_question
from hobbes.lab.play.playing import Clock, check_it_goes_on, go_on, keep_answer, late_runs, utc
from hobbes.lab.play.seats import path_of, seats_of
from hobbes.lab.play.stepping import MAX_DIGITS
from hobbes.lab.show import seats
from hobbes.lab.show.live import Shown, events
from hobbes.lab.show.pages import Pages
from hobbes.lab.show.posting import Forms
from hobbes.lab.show.seats import ADDRESS
from hobbes.lab.show.templating import POLICY, SCRIPT, SCRIPT_ADDRESS, compile_templates
from hobbes.lab.show.terminal import remark
from hobbes.lab.show.try_form import BackgroundProbes, asked_now
from hobbes.lab.store.command_line import command
from hobbes.lab.store.home import Store, is_writable, open_store
from hobbes.lab.store.pure import with_turns
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

CLOCK_SECONDS = 1.0
"""How often it is looked whether the time of people is over."""


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
    "/{run}/try": lambda pages, at: pages.try_prompt(_run(pages, at), *_place(at), name=at.get("name", "")),
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
    "/{run}/now": lambda pages, at: pages.now([pages.store.runs.find(at["run"])]),
}
"""What is sent as server-sent events while runs are played."""

OPEN = re.compile(rf"{re.escape(SCRIPT_ADDRESS)}|{seats.OWN.pattern}")
"""The paths that need no token of the whole site."""


def _run(pages: Pages, at: At, which: str = "run") -> Run:
    """Return the run that an address names."""
    return with_turns(pages.store, pages.store.runs.find(at.get(which, "")))


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


def site(home: Path, host: str, token: str | None = None, clock: Clock = utc) -> Starlette:
    """Return the web site of a home. With a token, it is shown only to those who know the token.

    A seat of a run has a token of its own, which shows nothing else.
    """
    form_token, probes_asked = secrets.token_urlsafe(), BackgroundProbes(home)

    def pages(opened: Store) -> Pages:
        asking = probes_asked.asking()
        return Pages(opened, link, live=True, form_token=form_token, started=_started(), asking=asking)

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

    def answer(request: Request, body: bytes) -> Response:
        """Take a person's answer to a waiting run, and continue the run behind the page."""
        fields = forms.ours(body)
        with open_store(home) as opened:
            try:
                run = _kept(opened, request.path_params["run"], fields)
            except LabError as error:
                waiting = opened.runs.find(request.path_params["run"])
                return HTMLResponse(pages(opened).run(waiting, None, dict(fields), str(error)), 400)
        play_behind(clock, home, run)
        return RedirectResponse(link(run.id), 303)

    def play(written: Sequence[Callable[[], Run]], base: str) -> list[str]:
        """Play runs behind the pages as soon as they are written, and return the addresses of their pages."""
        if len(_started()) + len(written) > MAX_PLAYED:
            now = len(_started())
            raise LabError(
                f"{now} of {MAX_PLAYED} runs are being played behind the pages; wait for one to end"
            )
        addresses = []
        for write in written:
            run = write()
            _show_links_of(home, run, base)
            _start(_play_apart, home, run)
            addresses.append(link(run.id))
        return addresses

    forms = Forms(home, form_token, pages, play, probes_asked)
    routes = [Route(path, partial(live, show)) for path, show in LIVE.items()]
    routes += [Route(path, partial(page, show)) for path, show in PAGES.items()]
    routes.append(Route(SCRIPT_ADDRESS, lambda _: Response(SCRIPT, media_type="text/javascript")))
    routes += [
        Route(f"/{{run}}/{what}", seats.posted(take), methods=["POST"])
        for what, take in (
            ("answer", answer),
            ("fork", forms.fork),
            ("try", forms.try_prompt),
            ("pin", forms.pin),
            ("note", forms.note),
        )
    ]
    return Starlette(
        routes=[*seats.routes(home, partial(play_behind, clock), clock), *routes],
        middleware=[Middleware(Guard, names_of(host, open_to_others=token is not None), token, OPEN)],
        lifespan=partial(_watching_the_clock, home, clock),
        exception_handlers={ClientDisconnect: no_response, LabError: _told},
    )


def _told(request: Request, error: Exception) -> Response:
    """Return a page that says in one line what is wrong; that of a seat says only that something is."""
    if seats.OWN.fullmatch(request.url.path):
        remark(f"hobbes: {error}")  # to whoever serves the pages: it may say who else plays
        return PlainTextResponse(seats.UNSHOWN, 503)
    missing = 404 if isinstance(error, UsageError) else 500
    return PlainTextResponse(f"hobbes: {error}\n", 400 if request.method == "POST" else missing)


def _started() -> frozenset[str]:
    """Return the runs that are played behind the pages."""
    names = (thread.name for thread in enumerate_threads())
    return frozenset(name.removeprefix(PLAYING) for name in names if name.startswith(PLAYING))


def _start(play: Callable[[Path, Run], None], home: Path, run: Run) -> None:
    """Play a run behind the pages."""
    Thread(target=play, args=(home, run), name=f"{PLAYING}{run.id}", daemon=True).start()


def _kept(opened: Store, name: str, fields: Sequence[tuple[str, str]]) -> Run:
    """Keep an observer's answer to what a run asks now.

    Raise LabError if it is too late, or if the run cannot go on.
    """
    addresses = [value for name, value in fields if name == ADDRESS]
    posted = [(name, value) for name, value in fields if name != ADDRESS]
    run = opened.runs.find(name)
    run.check_versions()
    question = the_question(run, OBSERVER) if OBSERVER in {one.agent for one in run.questions} else None
    if question is None or addresses != [question.address]:
        the_question(run)
        raise LabError(f"run {run.id}: somebody else has answered that; its page shows what it asks now")
    return keep_answer(opened, run, question, answer_from_form(form_for(run, question), posted))


def play_behind(clock: Clock, home: Path, run: Run) -> None:
    """Continue a run behind the pages."""
    _start(partial(_play_on, clock), home, run)


@asynccontextmanager
async def _watching_the_clock(home: Path, clock: Clock, _: Starlette) -> AsyncIterator[None]:
    """Play on, while the site is served, each run in which the time of somebody is over."""

    async def watch() -> None:
        problem = ""
        while True:
            await asyncio.sleep(CLOCK_SECONDS)
            problem = await run_in_threadpool(told_late, home, clock, problem)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


def told_late(home: Path, clock: Clock, before: str) -> str:
    """Play on the runs in which the time of somebody is over, and return what is wrong, empty if nothing is.

    It is printed unless it is what was wrong `before`.
    """
    try:
        play_late(home, clock)
    except LabError as error:
        if str(error) != before:
            remark(f"hobbes: {error}")
        return str(error)
    return ""


def play_late(home: Path, clock: Clock) -> None:
    """Play on each run in which the time of somebody is over. Raise LabError if one of them cannot go on."""
    if not is_writable(home):
        return
    stuck = []
    with open_store(home) as opened:
        for run in late_runs(opened, clock()):
            if run.id in _started():
                continue
            try:
                check_it_goes_on(run)
            except LabError as error:
                opened.runs.update(run.id, error=str(error))
                stuck.append(f"run {run.id}: {error}")
            else:
                play_behind(clock, home, run)
    if stuck:
        raise LabError("; ".join(stuck))


def _play_on(clock: Clock, home: Path, run: Run) -> None:
    """Continue a run from an answer. If it stops, the reason is printed here and shown on its page."""
    with open_store(home) as opened:
        try:
            play_out(go_on(opened, run, lambda _: None, clock=clock))
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
    _play_on(utc, home, stored)


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
                "read all runs, answer for a person, play forks, ask models, and write tests and prompts "
                "into this folder; nothing is encrypted"
            )
        show_links(home, url(host, listening))
        try:
            uvicorn.Server(server(home, host, token)).run(sockets=[listening])
        finally:  # Ctrl-C comes out of it
            tell_what_was_played(home)


def show_links(home: Path, base: str) -> None:
    """Print the links of the people who play in runs that are not finished."""
    if not is_writable(home):
        return
    with open_store(home) as opened:
        for row in opened.figures.of_all_runs():
            if row["status"] == "finished":
                continue
            try:
                run = opened.runs.find(row["id"])
            except LabError:  # the page of a damaged run says what is wrong
                continue
            _show_links_of(home, run, base)


def _show_links_of(home: Path, run: Run, base: str) -> None:
    """Print the link of each person who plays in a run."""
    for seat in seats_of(run):
        remark(f"run {run.name or run.id}: {seat} answers at {base}{path_of(home, run, seat)}")


def tell_what_was_played(home: Path) -> None:
    """Print, for each run that is being played behind a page, how to continue it."""
    for run in _started():
        remark(f"run {run} was being played; `{command(home, 'resume', run)}` goes on")
    for probe in asked_now():
        remark(f"probe {probe} was being asked; ask again on its page, which asks only what is missing")
