"""Pages as a visitor without a browser uses them: the forms of a page, and what is posted of them."""

import threading
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import httpx2
from starlette.testclient import TestClient

from hobbes.lab.show.viewing import PLAYING

LOCAL = "http://127.0.0.1"
"""Where the pages of a test are."""


class Form(HTMLParser):
    """What a browser posts of a form that nobody has changed: of the first or second one of a page."""

    def __init__(self, page: str, place: int = 1) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._at = ""
        self.feed("".join(page.split('<form method="post"')[place:][:1]).partition("</form>")[0])
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        can_be_off = found.get("type") in {"checkbox", "radio"}
        if tag == "input" and "form" not in found and (not can_be_off or "checked" in found):
            self.fields[found["name"]] = found.get("value", "")
        elif tag in {"select", "textarea"}:
            self._at = found["name"]
            self.fields[self._at] = ""
        elif tag == "option" and "selected" in found:
            self.fields[self._at] = found.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._at and self.lasttag == "textarea":
            self.fields[self._at] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self.fields[self._at] = self.fields[self._at].removeprefix("\n")  # it is none of its text
        if tag in {"select", "textarea"}:
            self._at = ""


def post(
    pages: TestClient, address: str, fields: Mapping[str, Any], origin: str | None = LOCAL
) -> httpx2.Response:
    """Post fields as a browser does, which breaks lines in its own way."""
    sent = {
        name: text.replace("\r\n", "\n").replace("\n", "\r\n") if isinstance(text, str) else text
        for name, text in fields.items()
    }
    headers = {"origin": origin} if origin else {}
    return pages.post(address, data=sent, headers=headers, follow_redirects=False)


def played_on() -> None:
    """Wait until nothing is played behind the pages."""
    for thread in threading.enumerate():
        if thread.name.startswith(PLAYING):
            thread.join()
