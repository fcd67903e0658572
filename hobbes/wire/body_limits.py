"""What `hobbes serve` accepts in the body of a request: only so much, and only for so long.

uvicorn has no limits for bodies.
"""

import asyncio
from typing import Any

import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

REQUEST_SECONDS = 10.0
"""How long the body of a request may take to arrive."""

CLOSE = {"connection": "close"}
"""The header of a refusal; without it, uvicorn would go on to receive the rest of the refused body."""


def server_config(app: ASGIApp, **options: Any) -> uvicorn.Config:  # noqa: ANN401  uvicorn's
    """Return uvicorn's configuration of an application that prints nothing of requests."""
    # On the level "warning", uvicorn prints a line for each malformed request that anybody sends.
    quiet: dict[str, Any] = {"log_level": "error", "access_log": False}
    return uvicorn.Config(app, ws="none", **quiet, **options)


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
