"""What `hobbes serve` and `hobbes view` accept from their clients: only so much, and only for so long.

uvicorn closes a connection that is idle after a response (`timeout_keep_alive`). It has no limit for a
connection on which no request begins, for one that sends half of a request, or for the size of a body. Its
`limit_concurrency` answers requests with 503 but keeps accepting connections. These limits are here.
"""

import asyncio
from typing import Any

import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

REQUEST_SECONDS = 10.0
"""How long the headers of a request may take to arrive, and then its body."""

MAX_CONNECTIONS = 800
"""How many connections a server keeps open: most systems let a process open 1,024 files."""

CLOSE = {"connection": "close"}
"""The header of a refusal; without it, uvicorn would go on to receive the rest of the refused body."""


class LimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # uvicorn chooses it at its start
    """HTTP that closes a connection beyond MAX_CONNECTIONS, or whose next request does not arrive in time.

    A request has arrived when its headers are complete; `body_of` limits the time of its body. Between two
    requests, uvicorn's own limit holds.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.close()
        else:
            self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        """Stop to wait once a request has begun; wait on if it is half of one."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._deadline is None:
            self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait."""
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End the connection once its response is complete; one with a stream of events ends now."""
        super().shutdown()
        if self.cycle is not None and (b"accept", b"text/event-stream") in self.cycle.scope["headers"]:
            self.transport.close()

    def _wait_for_request(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def server_config(app: ASGIApp, **options: Any) -> uvicorn.Config:  # noqa: ANN401  uvicorn's
    """Return uvicorn's configuration of an application, with the limits of this module."""
    # On the level "warning", uvicorn prints a line for each malformed request that anybody sends.
    quiet: dict[str, Any] = {"log_level": "error", "access_log": False}
    return uvicorn.Config(app, http=LimitedProtocol, ws="none", **quiet, **options)


async def body_of(request: Request, most: int) -> bytes:
    """Return the body of a request.

    Raise HTTPException 413 once it has more than `most` bytes, whatever length its headers announce, and 408
    if it does not arrive within REQUEST_SECONDS.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise HTTPException(413, f"hobbes: the body is longer than {most} bytes", CLOSE)
    except TimeoutError as error:
        raise HTTPException(408, "hobbes: the body did not arrive in time", CLOSE) from error
    return bytes(body)


async def no_response(_: Request, __: Exception) -> Response:
    """Return a response to a client that disconnected while it sent its request: nobody receives it."""
    return Response(status_code=400)
