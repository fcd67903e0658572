"""Servers of many kinds, each imitated by the documentation of its provider: what a call keeps of a response.

The page that describes a shape stands beside it. All pages were read in November 2026.
"""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hobbes.engine.mining.world import MINING
from hobbes.nodes.chat import ChatPlayer
from hobbes.nodes.journal import Address, Prompt, Reply
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.prompt_set import PromptSet
from hobbes.nodes.prompting import approximate_tokens, fixed_words
from hobbes.play.render import token_counts
from hobbes.play.start import RunOptions
from hobbes.store.home import Store
from hobbes.store.prices import usd
from hobbes.wire.recorder import environment, in_thread
from tests.small_runs import played

DAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
THOUGHT = "Nobody has claimed the corner. I claim it."
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
    model: str
    url: str | None
    """Under which name and where the provider serves such a model."""
    usd: float | None
    """What the call costs on 23 November 2026, worked out by hand from the provider's price list."""


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
        "gpt-6-luna",
        None,
        (208 * 0.10 + 1792 * 0.01 + 900 * 0.50) / 1e6,
    ),
    "anthropic": Served(  # sends no reasoning, and leaves the details of a usage empty
        "https://platform.claude.com/docs/en/api/openai-sdk",
        chat(
            {"content": ANSWER, "refusal": None},
            {
                "prompt_tokens": 1500,
                "completion_tokens": 300,
                "total_tokens": 1800,
                "prompt_tokens_details": None,
                "completion_tokens_details": None,
            },
            id="msg_01Aq9w938a90dw8q",
            service_tier=None,
            system_fingerprint="",
        ),
        "",
        "",
        (1500, 300, None, None, None),
        "stop",
        {"provider_id": "msg_01Aq9w938a90dw8q", "service_tier": "", "fingerprint": ""},
        "claude-sonnet-5-5",
        "https://api.anthropic.com/v1",
        (1500 * 2 + 300 * 10) / 1e6,
    ),
    "google": Served(  # thought summaries are asked for in extra_body; only the total counts thoughts
        "https://ai.google.dev/gemini-api/docs/openai",
        chat(
            {"content": f"<thought>**Claiming**\n{THOUGHT}</thought>{ANSWER}"},
            {"prompt_tokens": 1200, "completion_tokens": 100, "total_tokens": 1700},
        ),
        f"**Claiming**\n{THOUGHT}",
        "summary",
        (1200, 500, None, None, 400),
        "stop",
        {},
        "gemini-3.8-flash",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        (1200 * 0.75 + 500 * 3.75) / 1e6,
    ),
    "mistral": Served(
        "https://docs.mistral.ai/inference/conversations/reasoning",
        chat(
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}], "closed": True},
                    {"type": "text", "text": ANSWER},
                ],
                "tool_calls": None,
                "prefix": False,
            },
            {"prompt_tokens": 1000, "completion_tokens": 600, "total_tokens": 1600},
            id="cmpl-e5cc70bb28c444948073e77776eb30ef",
        ),
        THOUGHT,
        "trace",
        (1000, 600, None, None, None),
        "stop",
        {"provider_id": "cmpl-e5cc70bb28c444948073e77776eb30ef"},
        "mistral-large-4-0",
        "https://api.mistral.ai/v1",
        (1000 * 0.70 + 600 * 2.10) / 1e6,
    ),
    "openrouter": Served(
        "https://openrouter.ai/docs/use-cases/reasoning-tokens, /docs/use-cases/usage-accounting",
        chat(
            {
                "content": ANSWER,
                "reasoning": THOUGHT,
                "reasoning_details": [
                    {"type": "reasoning.summary", "summary": THOUGHT, "format": "openai-responses-v1"},
                    {"type": "reasoning.encrypted", "data": "gAAAAAB", "format": "openai-responses-v1"},
                ],
            },
            {
                "prompt_tokens": 194,
                "completion_tokens": 50,
                "total_tokens": 244,
                "cost": 0.00095,
                "is_byok": False,
                "cost_details": {"upstream_inference_cost": None},
                "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 128},
                "completion_tokens_details": {"reasoning_tokens": 32},
            },
            id="gen-1234567890",
            provider="OpenAI",
        ),
        THOUGHT,
        "summary",
        (194, 50, 64, 128, 32),
        "stop",
        {"provider_id": "gen-1234567890", "provider_usd": 0.00095},
        "openai/gpt-6-luna",
        "https://openrouter.ai/api/v1",
        0.00095,
    ),
    "vllm": Served(
        "https://docs.vllm.ai/en/v0.26.0/features/reasoning_outputs/",
        chat(
            {"content": f"\n\n{ANSWER}", "reasoning": THOUGHT, "tool_calls": [], "refusal": None},
            {
                "prompt_tokens": 800,
                "completion_tokens": 200,
                "total_tokens": 1000,
                "prompt_tokens_details": {"cached_tokens": 784},
            },
            id="chatcmpl-8f1d",
            service_tier=None,
            system_fingerprint=None,
            prompt_logprobs=None,
        ),
        THOUGHT,
        "trace",
        (800, 200, 784, None, None),
        "stop",
        {"provider_id": "chatcmpl-8f1d"},
        "Qwen/Qwen3-8B",
        "http://localhost:8000/v1",
        None,
    ),
    "ollama": Served(
        "https://docs.ollama.com/api/openai-compatibility; openai/openai.go of ollama/ollama",
        chat(
            {"content": ANSWER, "reasoning": THOUGHT},
            {"prompt_tokens": 700, "completion_tokens": 150, "total_tokens": 850},
            id="chatcmpl-123",
            system_fingerprint="fp_ollama",
        ),
        THOUGHT,
        "trace",
        (700, 150, None, None, None),
        "stop",
        {"fingerprint": "fp_ollama"},
        "gpt-oss:20b",
        "http://localhost:11434/v1",
        None,
    ),
    "llama.cpp": Served(
        "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        chat(
            {"content": ANSWER, "reasoning_content": THOUGHT},
            {
                "prompt_tokens": 900,
                "completion_tokens": 120,
                "total_tokens": 1020,
                "prompt_tokens_details": {"cached_tokens": 236},
            },
            id="chatcmpl-zDrD",
            system_fingerprint="b8681-Debian",
            timings={"cache_n": 236, "prompt_n": 664, "predicted_n": 120},
        ),
        THOUGHT,
        "trace",
        (900, 120, 236, None, None),
        "stop",
        {"fingerprint": "b8681-Debian"},
        "qwen3",
        "http://localhost:8080/v1",
        None,
    ),
}


PROVIDERS["openai by responses"] = Served(
    "https://developers.openai.com/api/docs/api-reference/responses/object, /docs/guides/reasoning",
    {
        "id": "resp_67ccd2bed1ec8190b14f964abc054267",
        "object": "response",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "m",
        "output": [
            {
                "id": "rs_6876cf02e0bc8192b74af0fb64b715ff",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": THOUGHT}],
                "encrypted_content": "gAAAAABmUJ1secret",
            },
            {
                "id": "msg_67ccd2bf17f0819081ff3bb2cf6508e6",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": ANSWER, "annotations": []}],
            },
        ],
        "service_tier": "flex",
        "store": False,
        "usage": {
            "input_tokens": 3000,
            "input_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 512},
            "output_tokens": 700,
            "output_tokens_details": {"reasoning_tokens": 640},
            "total_tokens": 3700,
        },
    },
    THOUGHT,
    "summary",
    (3000, 700, 1024, 512, 640),
    "completed",
    {"provider_id": "resp_67ccd2bed1ec8190b14f964abc054267", "service_tier": "flex"},
    "gpt-6.1-terra",
    None,
    (1464 * 0.50 + 1024 * 0.025 + 512 * 0.625 + 700 * 2.50) / 1e6,
)


@pytest.mark.parametrize("mark", ["cache_control", "prompt_cache_breakpoint"])
def test_what_a_provider_keeps_is_read_from_its_cache_in_each_further_call(mark: str, opened: Store) -> None:
    """A server that keeps marked texts, as Anthropic and OpenAI do: four calls write once and read thrice."""
    kept: set[str] = set()
    own = mark == "prompt_cache_breakpoint"

    async def respond(request: Request) -> JSONResponse:
        body = await request.json()
        system, turn = body["input" if own else "messages"]
        (part,) = system["content"]
        assert mark in part
        texts = [approximate_tokens(text) for text in (part["text"], turn["content"])]
        read, written = (texts[0], 0) if part["text"] in kept else (0, texts[0])
        kept.add(part["text"])
        counts = {"cached_tokens": read, "cache_write_tokens": written}
        if own:
            body = PROVIDERS["openai by responses"].body
            usage = {"input_tokens": sum(texts), "output_tokens": 5, "input_tokens_details": counts}
            return JSONResponse({**body, "usage": usage})
        usage = {"prompt_tokens": sum(texts), "completion_tokens": 5, "prompt_tokens_details": counts}
        return JSONResponse(chat({"content": ANSWER}, usage))

    app = Starlette(routes=[Route(f"/v1/{path}", respond, methods=["POST"]) for path in ENDPOINTS])
    with in_thread(app) as base, environment(OPENAI_API_KEY="none"):
        settings = f'model = "m"\nbase_url = "{base}"\ncache = true\napi = "{"responses" if own else "chat"}"'
        (opened.home / "models.toml").write_text(f"[m]\n{settings}\n")
        run = played(opened, RunOptions("mining", 2, models="m", values={"rounds": 2}))
    (call,) = opened.calls.of_turn(run.id, 1, "miner-02")
    system = approximate_tokens(call.prompt.system)
    tokens = opened.figures.tokens(run)
    assert (tokens["cached"], tokens["cache_written"]) == (3 * system, system)
    shares = token_counts(call.prompt, fixed_words(run.prompts, call.prompt.turn))
    assert shares["cacheable"] == shares["shared"]
    assert call.reply.tokens_in is not None
    assert system / call.reply.tokens_in == pytest.approx(shares["cacheable"], abs=0.05)


ENDPOINTS = ("chat/completions", "responses")


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
    app = Starlette(routes=[Route(f"/v1/{path}", completions, methods=["POST"]) for path in ENDPOINTS])
    with in_thread(app) as base, environment(OPENAI_API_KEY="none"):
        return asyncio.run(asking(base)), requests[-1]


@pytest.mark.parametrize("name", PROVIDERS)
def test_all_that_a_provider_says_of_a_call_is_kept(name: str) -> None:
    served = PROVIDERS[name]
    by_responses = "output" in served.body
    reply, request = answered(served.body, api="responses" if by_responses else "chat")
    details = reply.details
    assert (reply.failure, reply.text.rpartition(">")[2].strip()) == (None, ANSWER)
    assert (reply.reasoning, reply.reasoning_source) == (served.reasoning, served.source)
    assert served.tokens == (reply.tokens_in, reply.tokens_out, *details[:3])
    assert details.finish_reason == served.finish
    assert {field: getattr(details, field) for field in served.kept} == served.kept
    assert json.loads(details.usage or "null") == served.body.get("usage")
    settings = ModelSettings(model=served.model, base_url=served.url)
    if by_responses:
        assert (request["store"], request["reasoning"]) == (False, {"summary": "auto"})
        assert "gAAAAABmUJ1secret" not in repr(reply)
    cost = usd(reply._replace(model=served.model), settings, DAY)
    assert cost == (None if served.usd is None else pytest.approx(served.usd))
