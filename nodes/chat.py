"""A chat model as a mind: any server that speaks OpenAI's chat completions, through langchain-openai."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import aiohttp
import httpx2
import langsmith
import openai
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from engine.answer import FoundAs, Outcome
from engine.record import Drop
from nodes.calling import (
    ABOUT_THE_REQUEST,
    TRIES,
    Breaker,
    TryFailedError,
    failure_of,
    finished,
    persistently,
)
from nodes.journal import POLICY_MODEL, Address, PlayerKind, Prompt, Reply
from nodes.prompting import PromptSet, turn_text
from nodes.reading import read
from nodes.second import second_prompt
from nodes.secrecy import safe_line, without_secrets

ADDRESS_HEADER = "x-hobbes-address"
"""The header that says which call this is: `turn/agent/attempt`."""

TIMEOUT = 120.0
"""Seconds after which a call has timed out."""

LONGEST_BODY = 10_000_000
"""Bytes of a response, packed or not, beyond which it is given up: ten for each character that is read."""

TOO_MANY_TOKENS = 2**40
"""Tokens that no call has: a run's sum of fewer is a number that SQLite can hold."""

AT_ONCE = 100
"""Requests to one model that may be under way at a time."""

PORTS = range(1, 2**16)
"""The ports that a server can have."""

NO_ADDRESS = "OPENAI_BASE_URL is no address of a server: write http://HOST:PORT/v1 or https://…"
"""What is told instead of an address that is none: it may have a key in it."""

JSON_OBJECT: Mapping[str, Any] = {"response_format": {"type": "json_object"}}
"""The parameters that a request has if nothing else is said."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put what a model thought; ChatOpenAI drops both."""


OPTIONAL = ("response_format", "temperature", "max_completion_tokens", "max_tokens")
"""Parameters that a server may refuse: asked without them, a model answers, too."""

OTHER_NAME = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
"""Under which name a server may know a parameter that it refuses."""


class LeanChat(ChatOpenAI):
    """ChatOpenAI with a leaner way to ask, which keeps what the model thought or refused.

    Through the same openai client, with its headers, timeouts, connections and errors. ChatOpenAI's own way
    walks every message against openai's types, makes a pydantic model of the response, dumps it again, hops
    to a thread to read it and tells callbacks of it all: half of a call's processor time. No tools and no
    other response formats here.
    """

    async def complete(
        self, messages: list[BaseMessage], address: Address, parameters: Mapping[str, Any]
    ) -> AIMessage:
        """Send the messages and give the answer; openai.OpenAIError says what went wrong."""
        response = await self.root_async_client.post(
            "/chat/completions",
            cast_to=httpx2.Response,
            body={**self._get_request_payload(messages), **parameters},
            options={"headers": {ADDRESS_HEADER: str(address)}},
        )
        # Servers answer 200 with pages, with errors, and with completions of any shape, too.
        try:
            return self._answer(response.json())
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise openai.APIResponseValidationError(response, response.text) from error

    def _answer(self, completion: dict[str, Any]) -> AIMessage:
        """Give what a completion says; of another shape, it raises whatever Python does."""
        choice = completion["choices"][0]
        if choice.get("error") or finished(choice) is Outcome.PROVIDER_ERROR:
            raise ValueError("a server behind this one broke off")
        result = self._create_chat_result(completion)
        message, said = result.generations[0].message, choice["message"]
        if not isinstance(message, AIMessage):
            raise TypeError("no assistant's message")
        metadata = {**message.response_metadata, **(result.generations[0].generation_info or {})}
        kept = {"reasoning": _thought(said), "refusal": _refusal(said), "tools": said.get("tool_calls")}
        return message.model_copy(
            update={
                "additional_kwargs": {**message.additional_kwargs, **kept},
                "response_metadata": {**(result.llm_output or {}), **metadata},
            }
        )


def _thought(message: Mapping[str, Any]) -> str:
    """Give the reasoning of a message: under whichever name it came, in a part, or in think tags."""
    named = [message.get(field) for field in REASONING_FIELDS]
    parts = [part.get("thinking") for part in _parts(message) if part.get("type") == "thinking"]
    tagged, closed, _ = str(message.get("content")).rpartition("</think>")
    texts = [*named, *parts, tagged.partition("<think>")[2] or tagged if closed else None]
    return next((text for text in texts if isinstance(text, str) and text), "")


def _refusal(message: Mapping[str, Any]) -> object:
    """Give what a message refuses, in its own field or in a part."""
    return message.get("refusal") or next((p["refusal"] for p in _parts(message) if p.get("refusal")), None)


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the parts of a content that comes in parts."""
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


class ResponseTooLongError(openai.OpenAIError):
    """A response is longer than any that is read. It is the client's own kind, which the client lets pass."""


class BoundedResponse(httpx2.Response):
    """A response that is not read beyond LONGEST_BODY: not as it comes, and not as it is unpacked."""

    @property
    def text(self) -> str:
        """The content as UTF-8: a header may name any codec of Python's, such as hex or zlib."""
        return self.content.decode("utf-8", "replace")

    async def aiter_raw(self, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        """Give the bytes as they come."""
        async with aclosing(_bounded(super().aiter_raw(chunk_size))) as pieces:
            async for piece in pieces:
                yield piece

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        """Give the bytes unpacked; httpx2 unpacks a megabyte at a time."""
        async with aclosing(_bounded(super().aiter_bytes(chunk_size))) as pieces:
            async for piece in pieces:
                yield piece


async def _bounded(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Give pieces as long as they are not too much together."""
    size = 0
    async with aclosing(pieces):
        async for piece in pieces:
            size += len(piece)
            if size > LONGEST_BODY:
                raise ResponseTooLongError(f"more than {LONGEST_BODY} bytes")
            yield piece


async def _bound(response: httpx2.Response) -> None:
    """Bound a response before it is read: the client has no place for a kind of response of one's own.

    What is packed more than once is not unpacked: only the last layer could be counted, and a few
    kilobytes in three layers can keep the process busy for seconds, and bring nothing.
    """
    if "," in response.headers.get("content-encoding", ""):
        raise ResponseTooLongError("packed more than once")
    response.__class__ = BoundedResponse


class PlainClient(openai.DefaultAioHttpClient):
    """An HTTP client for which an answer that is no HTTP is a failure of the connection, as any other.

    Its transport knows most errors of aiohttp, and lets the rest through: a banner of another protocol,
    headers too long or too many, two lengths, and text that is none (a ValueError) in a status line or in an
    address to go to.
    """

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:  # noqa: ANN401  as it comes
        """Send a request."""
        try:
            return await super().send(request, **how)
        except (aiohttp.ClientError, ValueError) as error:
            raise httpx2.RemoteProtocolError(str(error), request=request) from error


class ChatPlayer:
    """Asks a chat model. The key and the base URL are read from the environment by the client itself.

    `parameters` go with each request as they are, until the server refuses one: then it is left out, or goes
    under its other name, for the rest of the run. ValueError: they can be sent to nobody.
    """

    def __init__(
        self,
        model: str,
        system: str,
        prompts: PromptSet,
        parameters: Mapping[str, Any] = JSON_OBJECT,
        *,
        answered: bool = False,
    ) -> None:
        self._model = model
        self._system = system
        self._prompts = prompts
        self._asked = dict(parameters)
        self._parameters = dict(parameters)
        self._refused: set[str] = set()
        self._breaker = Breaker(f"openai:{model}", answered=answered)
        self._at_once = asyncio.Semaphore(AT_ONCE)
        base = server_address()
        langsmith.configure(enabled=False)  # an exported LANGSMITH_TRACING would upload every prompt
        self._http = PlainClient(
            # The default pool closes a connection after 5 idle seconds; a turn may take longer.
            limits=httpx2.Limits(
                max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE, keepalive_expiry=300
            ),
            timeout=httpx2.Timeout(TIMEOUT, connect=10.0),
            event_hooks={"response": [_bound]},
            params=base.params,  # openai's client would add the path after it, or lose what is there twice
        )
        self._chat = LeanChat(
            model=model,
            base_url=str(base.copy_with(query=None)) or None,
            api_key=SecretStr(os.environ.get("OPENAI_API_KEY") or "none"),
            max_retries=0,
            disable_streaming=True,
            use_responses_api=False,
            cache=False,
            http_async_client=self._http,
        )

    @property
    def gone(self) -> str:
        """Say that nobody answers any more; empty as long as somebody does."""
        return self._breaker.told

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Give the run's system text and this agent's turn text."""
        return Prompt(self._system, turn_text(self._prompts, view))

    def again(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> Prompt:
        """Give the second question, in the language of the first."""
        return second_prompt(self._prompts.lang, prompt, answer, drops)

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Ask the model; whatever the server does, the reply says how the call ended.

        HaltedError: the provider is gone, and this call was not made, or not to its end.
        """
        began, tries = time.monotonic(), 0
        self._breaker.begun()
        messages: list[BaseMessage] = [SystemMessage(prompt.system), HumanMessage(prompt.turn)]

        async def one_try() -> tuple[AIMessage, str]:
            nonlocal tries
            self._breaker.check()
            tries += 1
            return await self._try(messages, address)

        try:
            message, without = await persistently(one_try)
        except TryFailedError as failure:
            self._breaker.ended(failure)
            reply = Reply("", self._named(self._model), failure=failure.outcome, error=failure.told)
        else:
            self._breaker.ended(None)
            reply = self._answered(message, without)
        return replace(reply, tries=tries, milliseconds=round((time.monotonic() - began) * 1000))

    async def _try(self, messages: list[BaseMessage], address: Address) -> tuple[AIMessage, str]:
        """Ask once, and say what was not asked; TryFailedError says what came instead of an answer."""
        async with self._at_once:
            sent = dict(self._parameters)
            try:
                # The client's own timeout begins anew with each byte: some servers send blanks.
                async with asyncio.timeout(TIMEOUT):
                    return await self._chat.complete(messages, address, sent), self._unsent(sent)
            except (openai.OpenAIError, TimeoutError) as error:
                failure = failure_of(error)
                if refused := _refused_parameter(error, failure, sent):
                    self._do_without(refused)
                    raise TryFailedError(failure.told, tries=TRIES, pause=0, about="request") from error
                raise failure from error

    def _do_without(self, refused: str) -> None:
        """Leave a refused parameter out from now on, or give it the other name, if that was not refused."""
        self._refused.add(refused)
        value, other = self._parameters.pop(refused, None), OTHER_NAME.get(refused)
        if value is not None and other and other not in self._refused:
            self._parameters[other] = value

    def _unsent(self, sent: Mapping[str, Any]) -> str:
        """Say which parameters a request went without, for the server refuses them; empty if it had all."""
        told = [
            f"with {other} for {name}" if (other := OTHER_NAME.get(name)) in sent else f"without {name}"
            for name in self._asked
            if name not in sent
        ]
        return f"sent {', '.join(told)}: the server refuses it" if told else ""

    def _answered(self, message: AIMessage, without: str) -> Reply:
        """Give the reply of a call that came back; its error says what was odd about it."""
        metadata, kept = message.response_metadata, message.additional_kwargs
        usage: Mapping[str, Any] = message.usage_metadata or {}
        tools = f"tool calls and no content: {kept['tools']}" if kept["tools"] and not message.text else ""
        odd = [without, tools or str(kept["refusal"] or "")]
        return Reply(
            _storable(message.text),
            self._named(_storable(str(metadata.get("model_name") or self._model))),
            _storable(kept["reasoning"]),
            Outcome.REFUSED if kept["refusal"] else ended(finished(metadata), message.text),
            safe_line("; ".join(told for told in odd if told)),
            tokens_in=_count(usage.get("input_tokens")),
            tokens_out=_count(usage.get("output_tokens")),
        )

    def _named(self, told: str) -> str:
        """Name a model as its server does, but never as a person or a policy: those are free and uncapped."""
        policy = told.startswith(POLICY_MODEL) and not self._model.startswith(POLICY_MODEL)
        return f"openai:{told}" if told == PlayerKind.HUMAN or policy else told

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _refused_parameter(error: Exception, failure: TryFailedError, sent: Mapping[str, Any]) -> str | None:
    """Name the parameter of a request that its server refuses to know, None if it refuses something else."""
    if not isinstance(error, openai.APIStatusError) or error.status_code not in ABOUT_THE_REQUEST:
        return None
    if failure.told.startswith("context overflow"):  # it may name the parameter that would make it fit
        return None
    told = f"{error.param} {failure.told}"
    return next((name for name in OPTIONAL if name in sent and name in told), None)


def server_address() -> httpx2.URL:
    """Give the address of the server, empty for OpenAI's own; ValueError tells no part of it.

    One that no server can have is refused, one that names a user, and a key that no header can hold.
    """
    said = os.environ.get("OPENAI_BASE_URL", "")
    try:
        address = httpx2.URL(said)
    except (httpx2.InvalidURL, ValueError):
        raise ValueError(NO_ADDRESS) from None
    somewhere = address.scheme in {"http", "https"} and address.host and address.port in {None, *PORTS}
    if said and (not somewhere or any(character.isspace() for character in said)):
        raise ValueError(NO_ADDRESS)
    if address.userinfo:  # the transport refuses to send it beside a key
        raise ValueError("OPENAI_BASE_URL has a user in it; put the key into OPENAI_API_KEY alone")
    key = os.environ.get("OPENAI_API_KEY", "")
    if not (key.isascii() and key.isprintable()):
        raise ValueError("OPENAI_API_KEY has a character that no key has")
    return address


def ended(finish: Outcome | None, text: str) -> Outcome | None:
    """Return the outcome of a message that is no answer, None if it is one.

    If the finish reason is unknown, the text must parse without repair.
    """
    if finish is None and text:
        parsed = read("", Reply(text, ""))
        return Outcome.TRUNCATED if parsed.found_as is FoundAs.REPAIRED else None
    return None if finish is Outcome.ANSWERED else finish


def _count(tokens: object) -> int | None:
    """Give a number of tokens, None if it can be none."""
    return tokens if type(tokens) is int and 0 <= tokens < TOO_MANY_TOKENS else None


def _storable(text: str) -> str:
    """Replace halves of surrogate pairs, which no file can hold, and secrets, which none shall hold."""
    return without_secrets(text.encode("utf-8", "replace").decode())
