"""Servers of many kinds, each imitated by the documentation of its provider: what a call keeps of a response.

The page that describes a shape stands beside it. All pages were read in November 2026.
"""

import asyncio
import json
from typing import Any, NamedTuple

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hobbes.engine.mining.world import MINING
from hobbes.lab.wire.recording import environment, in_thread
from hobbes.nodes.chat import ChatPlayer
from hobbes.nodes.journal import Address, Prompt, Reply
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.prompting import PromptSet

ANSWER = '{"claim": [[0, 0]]}'


class Served(NamedTuple):
    """A response of a provider, and what is kept of it. None stands for what is not told."""

    page: str
    body: dict[str, Any]
    reasoning: str
    source: str
    tokens: tuple[int | None, int | None, int | None, int | None, int | None]
    """In, out, cached, written to a cache, reasoning."""
    finish: str
    kept: dict[str, object]
    """Further details of the call."""


def chat(message: dict[str, Any], usage: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a completion with the fields that all servers have."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
        **more,
    }


PROVIDERS: dict[str, Served] = {
    "openai": Served(
        "https://developers.openai.com/api/docs/guides/prompt-caching",
        chat(
            {"content": ANSWER, "refusal": None, "annotations": []},
            {
                "prompt_tokens": 2000,
                "completion_tokens": 900,
                "total_tokens": 2900,
                "prompt_tokens_details": {"cached_tokens": 1792, "cache_write_tokens": 0, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 832, "audio_tokens": 0},
            },
            id="chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
            service_tier="default",
            system_fingerprint="fp_44709d6fcb",
        ),
        "",
        "",
        (2000, 900, 1792, 0, 832),
        "stop",
        {
            "service_tier": "default",
            "fingerprint": "fp_44709d6fcb",
            "provider_id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        },
    ),
}


def answered(body: dict[str, Any], **settings: Any) -> tuple[Reply, dict[str, Any]]:
    """Ask a server that sends this; give the reply, and the body of the request."""
    requests: list[dict[str, Any]] = []

    async def completions(request: Request) -> JSONResponse:
        requests.append(await request.json())
        return JSONResponse(body)

    async def asking(base: str) -> Reply:
        player = ChatPlayer(
            ModelSettings(model="m", base_url=base, **settings),
            "system",
            PromptSet("mining", "guided", "en", "", "", ""),
        )
        try:
            return await player.reply(Address(0, "a"), Prompt("system", json.dumps(view)))
        finally:
            await player.close()

    view = MINING.observe(MINING.setup(MINING.config(rounds=1), ("a", "b"), 1), "a")
    app = Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])
    with in_thread(app) as base, environment(OPENAI_API_KEY="none"):
        return asyncio.run(asking(base)), requests[-1]


@pytest.mark.parametrize("name", PROVIDERS)
def test_all_that_a_provider_says_of_a_call_is_kept(name: str) -> None:
    served = PROVIDERS[name]
    reply, _ = answered(served.body)
    details = reply.details
    assert (reply.failure, reply.text.rpartition(">")[2].strip()) == (None, ANSWER)
    assert (reply.reasoning, reply.reasoning_source) == (served.reasoning, served.source)
    assert served.tokens == (reply.tokens_in, reply.tokens_out, *details[:3])
    assert details.finish_reason == served.finish
    assert {field: getattr(details, field) for field in served.kept} == served.kept
    assert json.loads(details.usage or "null") == served.body.get("usage")
