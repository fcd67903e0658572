"""Who may see the pages of `hobbes view`. This is decided before a byte of a request's body is read.

A name in the header Host that is not ours is refused, since a page of another site may have its own name lead
here. If other machines can reach the pages, a secret token is needed as well.
"""

import re
import secrets
import socket
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hobbes.wire.body_limits import CLOSE

TOKEN = "token"  # noqa: S105  a name
"""The name of the token in an address."""

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^][:/?#@\s]+))(?::[0-9]*)?")
"""The header Host: an IPv6 address in brackets, or any other host, and perhaps a port."""

READING = frozenset({"GET", "HEAD"})
"""The methods that change nothing."""

USE_ADDRESS = "open the address that `hobbes view` printed"


def names_of(host: str, *, open_to_others: bool) -> frozenset[str]:
    """Return the names under which pages are served, besides the address at which a request arrives."""
    return LOCAL_NAMES | {host.lower()} | ({socket.gethostname().lower()} if open_to_others else set())


class Guard:
    """Refuses requests to other hosts, those that would change something, and those without the token.

    An address with the token sets a cookie, which is enough from then on, and leads to the same address
    without it, so that it stays neither in the address bar nor in what is copied from there.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str], token: str | None) -> None:
        self._app = app
        self._names = names
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        cookie = f"hobbes-{scope['server'][1]}"  # a browser sends the cookies of all ports of a host
        if _host(request) not in {*self._names, scope["server"][0]}:
            await _refusal(400, USE_ADDRESS)(scope, receive, send)
        elif request.method not in READING:
            await _refusal(405, "the pages are read only")(scope, receive, send)
        elif self._token is not None and self._is_token(request.query_params.get(TOKEN)):
            await self._without_token(request, cookie)(scope, receive, send)
        elif self._token is None or self._is_token(request.cookies.get(cookie)):
            await self._app(scope, receive, send)
        else:
            await _refusal(403, f"{USE_ADDRESS}, with its token")(scope, receive, send)

    def _is_token(self, text: str | None) -> bool:
        """Return whether a text is the token, in a time that tells nothing about the token."""
        return secrets.compare_digest((text or "").encode(), (self._token or "").encode())

    def _without_token(self, request: Request, cookie: str) -> Response:
        """Return what sets the cookie and leads to the address without the token."""
        # Strict: no link on another site's page opens a page.
        set_cookie = f"{cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        to = quote(str(request.url.remove_query_params(TOKEN)), safe=":/%?=&@[]+,")
        # Not a redirect: after one, a browser sends no cookie if the link was on another site's page.
        headers = {"set-cookie": set_cookie, "refresh": f"0; url={to}"}
        return PlainTextResponse(f"hobbes: the pages are at {to}\n", headers=headers)


def _host(request: Request) -> str | None:
    """Return the host that a request names, in lower case, without its port; None if it names none."""
    named = HOST.fullmatch(request.headers.get("host", "").lower())
    return (named[1] or named[2]) if named else None


def _refusal(status: int, why: str) -> Response:
    return PlainTextResponse(f"hobbes: {why}\n", status, headers=CLOSE)
