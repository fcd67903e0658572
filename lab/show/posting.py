"""What the forms of `hobbes view` post: a fork to be played, a test or a note.

Every form carries the token of the pages that are served now. So only somebody who
can read them can post it.
"""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hobbes.lab.errors import LabError
from hobbes.lab.play.forking import fork
from hobbes.lab.play.playing import names_of
from hobbes.lab.show import page_forms
from hobbes.lab.show.noting import place_of
from hobbes.lab.show.pages import Pages
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.run import Run
from hobbes.lab.wire.receiving import form_of, posted_fields

NOTE_FIELDS = ("turn", "agent", "star", "tags", "note")
"""The fields of the form of a note."""


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of the pages of a home. `play` plays runs that it writes, and returns their addresses."""

    home: Path
    token: str
    pages: Callable[[Store], Pages]
    play: Callable[[Sequence[Callable[[], Run]]], list[str]]

    def fork(self, request: Request, body: bytes) -> Response:
        """Play a fork if its cost was shown, or if no model is asked; else show what it would cost."""
        fields = page_forms.parse_form(self.ours(body), (page_forms.SHOWN, *page_forms.FORK_FIELDS))
        turn = page_forms.whole_number("turn", fields["turn"])
        with open_store(self.home) as opened:
            run = opened.runs.find(request.path_params["run"])
            problem = ""
            try:
                plan = page_forms.plan_fork(opened, run, fields)
                if not plan.cost.calls or fields[page_forms.SHOWN] == page_forms.fingerprint(fields):
                    return RedirectResponse(self._played(opened, run, plan), 303)
            except LabError as error:
                problem = str(error)
            page = self.pages(opened).fork(run, turn, fields["agent"], fields, problem)
            return HTMLResponse(page, 400 if problem else 200)

    def _played(self, store: Store, run: Run, plan: page_forms.ForkPlan) -> str:
        """Play a fork, or several, and return the address of its page, or that of its parent."""
        names = names_of(store, plan.options.name, plan.times if plan.times > 1 else None)
        written = [partial(fork, store, run, replace(plan.options, name=name), plan.caps) for name in names]
        addresses = self.play(written)
        return addresses[0] if len(addresses) == 1 else self.pages(store).link(run.id)

    def pin(self, request: Request, body: bytes) -> Response:
        """Write a test, and say where it is."""
        fields = page_forms.parse_form(self.ours(body), page_forms.PIN_FIELDS)
        turn = page_forms.whole_number("turn", fields["turn"])
        with open_store(self.home, writes=False) as opened, opened.as_of_now():
            run, files, problem = opened.runs.find(request.path_params["run"]), None, ""
            try:
                files = page_forms.write_test(opened, run, fields)
            except LabError as error:
                problem = str(error)
            page = self.pages(opened).pin(run, turn, fields["agent"], fields, problem, files)
            return HTMLResponse(page, 400 if problem else 200)

    def note(self, request: Request, body: bytes) -> Response:
        """Write a note, and go back to the page on which it was written."""
        fields = page_forms.parse_form(self.ours(body), NOTE_FIELDS)
        turn = page_forms.whole_number("turn", fields["turn"]) if fields["turn"] else None
        with open_store(self.home, writes=False) as opened:
            place = place_of(opened, request.path_params["run"], turn, fields["agent"] or None)
            tags = fields["tags"].replace(",", " ").split()
            opened.notes.keep(place, star=bool(fields["star"]), tags=tags, text=fields["note"])
            page = [part for part in place[:3] if part is not None]
            return RedirectResponse(f"{self.pages(opened).link(*page)}#note", 303)

    def ours(self, body: bytes) -> list[tuple[str, str]]:
        """Return the fields of a form without the token of the pages. Raise LabError for another token."""
        posted = posted_fields(body)
        (token,) = [value for name, value in posted if name == page_forms.TOKEN][:1] or [""]
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            raise LabError("this form is not from a page that is served now; load its page again")
        posted.remove((page_forms.TOKEN, token))
        return posted


def posted(take: Callable[[Request, bytes], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a form, which takes nothing that another site's page posts."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(take, request, await form_of(request))

    return endpoint
