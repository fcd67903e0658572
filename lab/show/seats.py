"""The page of a seat: what a person who plays an agent may see, and the form of the answer; nothing else.

It is made from the question alone, which holds the agent's view, so nothing that another agent wrote can be
on it unless the view shows it. The address ends in the seat's token (`lab.play.seats`). Whoever has it needs
no other, and can open no other page with it.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from hobbes.engine.record import Json, canonical
from hobbes.engine.turn import view_of
from hobbes.engine.world import OBSERVER
from hobbes.lab.errors import LabError
from hobbes.lab.play.answering import answer_from_form, form_for, requests
from hobbes.lab.play.forms import pair_field
from hobbes.lab.play.playing import Clock, check_it_goes_on, keep_answer
from hobbes.lab.play.seats import is_token, questions_at
from hobbes.lab.show.boards import board_svg
from hobbes.lab.show.palette import looks_of
from hobbes.lab.show.seat_form import seat_form
from hobbes.lab.show.templating import SCRIPT_ADDRESS, environment
from hobbes.lab.show.terminal import remark
from hobbes.lab.show.told import board_of_view
from hobbes.lab.store.history import memories_before, state_before
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.run import PersonQuestion, Run
from hobbes.lab.wire.receiving import form_of, posted_fields
from hobbes.nodes.prompting import system_text

PATH = "/seat/{run}/{seat}/{token}"
"""The address of a seat's page."""

OWN = re.compile(r"/seat/[^/]+/[^/]+/[^/]+")
"""What such an address looks like. No other page has so many parts."""

ADDRESS = "address"
"""The name in the form of the question that is answered; a field's own name begins with a slash."""

TEXT = "text"
"""The name in the form of a raw answer."""

RELOAD = 2
"""After how many seconds the page of a person who waits for the others looks again."""

STUCK = "The run cannot go on now. Tell whoever runs it, and send your answer again later."
"""What a person is told if the reason is none of their business."""

UNSHOWN = "hobbes: this page cannot be shown now; tell whoever runs the run, and load it again later\n"
"""What a person is told if a page cannot be shown for such a reason."""

TOO_LATE = "this has been answered, or is too late; below is what you are asked now"


PlayOn = Callable[[Path, Run], None]
"""Continues a run behind the pages."""


def routes(home: Path, play_on: PlayOn, clock: Clock) -> list[Route]:
    """Return the pages of seats, and where their forms are posted to."""

    def shown(request: Request) -> Response:
        with open_store(home, writes=False) as opened, opened.as_of_now():
            run, seat = _seat(home, opened, request)
            return HTMLResponse(_shown(opened, run, seat, clock()))

    def answer(request: Request, body: bytes) -> Response:
        fields = posted_fields(body)
        with open_store(home) as opened:
            run, seat = _seat(home, opened, request)
            try:
                check_it_goes_on(run)
            except LabError as error:
                remark(f"hobbes: {error}")
                return HTMLResponse(_shown(opened, run, seat, clock(), STUCK, fields), 503)
            try:
                run = _kept(opened, run, seat, fields, clock)
            except LabError as error:
                run = opened.runs.find(run.id)
                return HTMLResponse(_shown(opened, run, seat, clock(), str(error), fields), 400)
        if not run.questions:
            play_on(home, run)
        return RedirectResponse(request.url.path, 303)

    return [Route(PATH, shown), Route(PATH, posted(answer), methods=["POST"])]


def posted(take: Callable[[Request, bytes], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a form, which takes nothing that another site's page posts."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(take, request, await form_of(request))

    return endpoint


def _seat(home: Path, opened: Store, request: Request) -> tuple[Run, str]:
    """Return the run and the seat that an address names; raise HTTPException if its token is another's."""
    at = request.path_params
    if not is_token(home, at["run"], at["seat"], at["token"]):
        raise HTTPException(403, "hobbes: this is not the link of a seat; use the one that you were given\n")
    try:
        return opened.runs.find(at["run"]), at["seat"]
    except LabError as error:
        raise HTTPException(404, "hobbes: this run is no longer there\n") from error


def _shown(  # noqa: PLR0913, PLR0917  what the page has, and what is wrong with an answer
    opened: Store,
    run: Run,
    seat: str,
    now: datetime,
    error: str = "",
    written: Iterable[tuple[str, str]] = (),
) -> str:
    """Return the page of a seat, with the answer that was posted and refused because of an error, if any."""
    questions = questions_at(opened, run, seat)
    asked = _question(opened, run, questions[0], now) if questions else {"question": None, "looks": {}}
    over = run.status in {"finished", "halted"}
    posted = list(written)
    values = {
        "script": SCRIPT_ADDRESS,
        "live": False,
        "reload": None if questions or over else RELOAD,
        "run": run,
        "seat": seat,
        "error": error,
        "written": dict(posted),
        "posted": posted,
    }
    return environment().get_template("seat.html").render(values | asked)


def _kept(opened: Store, run: Run, seat: str, posted: Iterable[tuple[str, str]], clock: Clock) -> Run:
    """Keep what a person at a seat has posted, and return the run as it is then.

    Raise LabError if it is too late, if the answer is wrong, or if the run cannot go on.
    """
    addresses = [value for name, value in posted if name == ADDRESS]
    questions = [one for one in questions_at(opened, run, seat) if [one.address] == addresses]
    if not questions:
        raise LabError(TOO_LATE)
    texts = [value for name, value in posted if name == TEXT]
    fields = [(name, value) for name, value in posted if name not in {ADDRESS, TEXT}]
    answer = texts[0] if texts else answer_from_form(form_for(run, questions[0]), fields)
    try:
        return keep_answer(opened, run, questions[0], answer, clock)
    except LabError as error:
        if questions[0] in opened.runs.find(run.id).questions:
            raise
        raise LabError(TOO_LATE) from error  # what the error says is meant for the terminal


def _question(opened: Store, run: Run, question: PersonQuestion, now: datetime) -> dict[str, object]:
    """Return what a page shows of a question."""
    view = _view(opened, run, question)
    named, agent = _named_agents(run, view), question.agent != OBSERVER
    board, mapped = board_of_view(run, view, named)
    form, choices = form_for(run, question), run.world.choices(run.setting.config, view) if agent else None
    seconds = run.setting.config.seconds_per_turn
    until = datetime.fromisoformat(question.since) + timedelta(seconds=seconds) if seconds else None
    return {
        "question": question,
        "view": {name: value for name, value in view.items() if name != mapped},
        "board": board_svg(board),
        "knew": run.world.telling.knew(view) if agent else None,
        "form": form,
        "play": seat_form(form, choices, view.get(mapped), _owners(run)) if choices else None,
        "pair_field": pair_field,
        "until": until.strftime("%H:%M:%S UTC") if until else None,
        "left": max(0, ceil((until - now).total_seconds())) if until else None,
        "looks": looks_of(named),
        "rules": system_text(run.prompts, run.setting) if agent else "",
    }


def _view(opened: Store, run: Run, question: PersonQuestion) -> dict[str, Json]:
    """Return the view that a question holds, in the order in which the world tells it."""
    stored: dict[str, Json] = json.loads(question.asked)
    if question.agent == OBSERVER:
        return {"requests": requests(question)}
    before = state_before(opened, run, run.turns), memories_before(opened, run, run.turns)
    view = view_of(run.world, *before, question.agent)
    return dict(view) if canonical(view) == question.asked else stored


def _named_agents(run: Run, view: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the agents whom a view names."""
    text = json.dumps(view)
    return tuple(agent for agent in run.setting.agents if json.dumps(agent) in text)


def _owners(run: Run) -> dict[str, str]:
    """Return the agent behind each word of a map."""
    agents = run.setting.agents
    return {agent: agent for agent in agents} | {
        word: agent for agent, word in run.world.in_picture(agents).items()
    }
