"""The chat model is one of LangChain's: callbacks, streams, events and serializers take it as such."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import AIMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hobbes.graphs.mining import graph
from hobbes.nodes.chat import ChatModel, PlainClient
from hobbes.wire.recorder import environment, in_thread
from hobbes.wire.stand_in import stand_in

USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "total_tokens": 13,
    "prompt_tokens_details": {"cached_tokens": 5},
}


@contextmanager
def served() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve one answer to everything; yield the address and the bodies of the requests."""
    bodies: list[dict[str, Any]] = []

    async def completions(request: Request) -> JSONResponse:
        bodies.append(await request.json())
        choice = {"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
        return JSONResponse({"model": "m", "choices": [choice], "usage": USAGE})

    with in_thread(Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])) as base:
        yield base, bodies


def asked(base: str, ask: Callable[[ChatModel], Awaitable[Any]]) -> Any:
    async def asking() -> Any:
        async with PlainClient() as client:
            return await ask(
                ChatModel(model="m", base_url=base, api_key=SecretStr("none"), http_async_client=client)
            )

    return asyncio.run(asking())


def test_it_is_asked_by_a_text_alone_and_says_what_the_answer_cost() -> None:
    with served() as (base, bodies):
        message: AIMessage = asked(base, lambda model: model.ainvoke("hi"))
    assert bodies == [{"messages": [{"role": "user", "content": "hi"}], "model": "m", "stream": False}]
    assert message.text == "hello"
    assert message.usage_metadata == {
        "input_tokens": 9,
        "output_tokens": 4,
        "total_tokens": 13,
        "input_token_details": {"cache_read": 5, "cache_creation": 0},
        "output_token_details": {"reasoning": 0},
    }


def test_a_message_is_kept_by_langgraphs_own_serializer_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with served() as (base, _):
        message: AIMessage = asked(base, lambda model: model.ainvoke("hi"))
    stock = JsonPlusSerializer()
    assert stock.loads_typed(stock.dumps_typed(message)) == message
    assert caplog.messages == []


def test_a_stream_is_the_whole_answer() -> None:
    async def ask(model: ChatModel) -> str:
        return "|".join([chunk.text async for chunk in model.astream("hi")])

    with served() as (base, bodies):
        assert asked(base, ask) == "hello"
    assert [body["stream"] for body in bodies] == [False]


CONTEXT: Any = {"models": "openai:policy/guided", "agents": 2, "config": {"rounds": 1}}


@contextmanager
def stand_in_asked() -> Iterator[None]:
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base, OPENAI_API_KEY="none"):
        yield


def test_callbacks_of_a_graph_see_the_tokens_of_its_agents_calls() -> None:
    handler = UsageMetadataCallbackHandler()
    with stand_in_asked():
        asyncio.run(graph.ainvoke({}, {"callbacks": [handler]}, context=CONTEXT))
    assert handler.usage_metadata["policy/guided"]["input_tokens"] > 0


def test_the_events_of_a_graph_have_the_call_of_each_agent_with_its_address() -> None:
    async def events() -> list[Any]:
        streamed = graph.astream_events({}, context=CONTEXT, version="v2")
        return [event async for event in streamed if event["event"] == "on_chat_model_end"]

    with stand_in_asked():
        found = asyncio.run(events())
    assert sorted(event["metadata"]["address"] for event in found) == ["0/miner-01/1", "0/miner-02/1"]
    assert all(event["metadata"]["langgraph_node"] == "agent_reason" for event in found)
