"""A chat model as a mind: any server that speaks OpenAI's chat completions, through langchain-openai."""

import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import langsmith
import openai
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from nodes.journal import Address, Prompt, Reply
from nodes.prompting import PromptSet, turn_text

ADDRESS_HEADER = "x-hobbes-address"
"""The header that says which call this is: `turn/agent/attempt`."""

TIMEOUT = 120.0
"""Seconds after which a call has timed out."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put what a model thought; ChatOpenAI drops both."""


class LeanChat(ChatOpenAI):
    """ChatOpenAI with a leaner way to ask, which keeps what the model thought or refused.

    Through the same openai client, with its headers, timeouts, connections and errors. ChatOpenAI's own way
    walks every message against openai's types, makes a pydantic model of the response, dumps it again, hops
    to a thread to read it and tells callbacks of it all: half of a call's processor time. No tools and no
    other response formats here.
    """

    async def complete(self, messages: list[BaseMessage], address: Address) -> AIMessage:
        """Send the messages and give the answer; openai.OpenAIError says what went wrong."""
        payload = self._get_request_payload(messages)
        body = payload.pop("extra_body")
        response = await self.root_async_client.post(
            "/chat/completions",
            cast_to=httpx2.Response,
            body={**payload, **body},
            options={"headers": {ADDRESS_HEADER: str(address)}},
        )
        # Servers answer 200 with pages, with errors, and with completions of any shape, too.
        try:
            return self._answer(response.json())
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise openai.APIResponseValidationError(response, response.text) from error

    def _answer(self, completion: dict[str, Any]) -> AIMessage:
        """Give what a completion says; of another shape, it raises whatever Python does."""
        result = self._create_chat_result(completion)
        message, said = result.generations[0].message, completion["choices"][0]["message"]
        if not isinstance(message, AIMessage):
            raise TypeError("no assistant's message")
        metadata = {**message.response_metadata, **(result.generations[0].generation_info or {})}
        kept = {"reasoning": _thought(said), "refusal": said.get("refusal")}
        return message.model_copy(
            update={
                "additional_kwargs": {**message.additional_kwargs, **kept},
                "response_metadata": {**(result.llm_output or {}), **metadata},
            }
        )


def _thought(message: Mapping[str, Any]) -> str:
    """Give the reasoning of a message, under whichever name it came."""
    texts = (message.get(field) for field in REASONING_FIELDS)
    return next((text for text in texts if isinstance(text, str) and text), "")


class ChatMind:
    """Asks a chat model. The key and the base URL are read from the environment by the client itself.

    ValueError: they can be sent to nobody.
    """

    def __init__(self, model: str, system: str, prompts: PromptSet) -> None:
        self._model = model
        self._system = system
        self._prompts = prompts
        _check_environment()
        langsmith.configure(enabled=False)  # an exported LANGSMITH_TRACING would upload every prompt
        self._http = openai.DefaultAioHttpClient(
            # The default pool closes a connection after 5 idle seconds; a turn may take longer.
            limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=1000, keepalive_expiry=300),
            timeout=httpx2.Timeout(TIMEOUT, connect=10.0),
        )
        self._chat = LeanChat(
            model=model,
            api_key=SecretStr(os.environ.get("OPENAI_API_KEY") or "none"),
            max_retries=0,
            disable_streaming=True,
            use_responses_api=False,
            cache=False,
            http_async_client=self._http,
            extra_body={"response_format": {"type": "json_object"}},
        )

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Give the run's system text and this agent's turn text."""
        return Prompt(self._system, turn_text(self._prompts, view))

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Ask the model; whatever the server does, the reply says how the call ended."""
        began = time.monotonic()
        try:
            # The client's own timeout begins anew with each byte: some servers send blanks while they think.
            async with asyncio.timeout(TIMEOUT):
                message = await self._chat.complete(
                    [SystemMessage(prompt.system), HumanMessage(prompt.turn)], address
                )
        except (openai.OpenAIError, TimeoutError) as error:
            return self._failed(error, began)
        return self._answered(message, began)

    def _failed(self, error: Exception, began: float) -> Reply:
        """Give the reply of a call that failed."""
        failure = "timed-out" if _timed_out(error) else "provider-error"
        causes = dict.fromkeys(str(cause) or type(cause).__name__ for cause in _causes(error))
        told = _storable(": ".join(causes))[:500]
        return Reply("", self._model, failure=failure, error=told, milliseconds=_since(began))

    def _answered(self, message: AIMessage, began: float) -> Reply:
        """Give the reply of a call that came back."""
        metadata = message.response_metadata
        usage: Mapping[str, Any] = message.usage_metadata or {}
        return Reply(
            _storable(message.text),
            _storable(str(metadata.get("model_name") or self._model)),
            _storable(message.additional_kwargs.get("reasoning", "")),
            _failure(metadata.get("finish_reason"), message.additional_kwargs.get("refusal")),
            tokens_in=_count(usage.get("input_tokens")),
            tokens_out=_count(usage.get("output_tokens")),
            milliseconds=_since(began),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _check_environment() -> None:
    """Refuse a base URL that is no address, and a key that no header can hold; the key is not told."""
    try:
        httpx2.URL(os.environ.get("OPENAI_BASE_URL", ""))
    except (httpx2.InvalidURL, ValueError) as error:
        raise ValueError(f"OPENAI_BASE_URL is no address: {error}") from error
    key = os.environ.get("OPENAI_API_KEY", "")
    if not (key.isascii() and key.isprintable()):
        raise ValueError("OPENAI_API_KEY has a character that no key has")


def _failure(finish_reason: str | None, refusal: object) -> str:
    """Name what kept an answer from being one, or nothing."""
    if refusal or finish_reason == "content_filter":
        return "refused"
    return "truncated" if finish_reason == "length" else ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Give an error and what caused it, from the outside in."""
    while error is not None:
        yield error
        error = error.__cause__


def _timed_out(error: Exception) -> bool:
    """Tell whether a call took too long; the transport says so of refused connections, too."""
    refused = any(isinstance(cause, ConnectionError) for cause in _causes(error))
    return isinstance(error, openai.APITimeoutError | TimeoutError) and not refused


def _count(tokens: object) -> int | None:
    """Give a number of tokens, None if it is no such number."""
    return tokens if type(tokens) is int and 0 <= tokens < 2**63 else None


def _storable(text: str) -> str:
    """Replace halves of surrogate pairs, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _since(began: float) -> int:
    """Give the milliseconds since then."""
    return round((time.monotonic() - began) * 1000)
