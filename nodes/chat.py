"""A chat model as a player: any server with OpenAI's chat completions or Responses, by langchain-openai."""

import asyncio
import os
import re
import ssl
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, Literal, TypeAlias

import aiohttp
import httpx2
import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    convert_to_openai_messages,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import Field, SecretStr

from hobbes.engine.answer import FoundAs, Outcome
from hobbes.engine.record import Drop
from hobbes.nodes.breaker import Breaker, TryFailedError
from hobbes.nodes.call_failures import (
    ABOUT_THE_REQUEST,
    CONTEXT_OVERFLOW,
    TRIES,
    failure_of,
    wait,
    with_retries,
)
from hobbes.nodes.caps import Meter
from hobbes.nodes.completions import message_of
from hobbes.nodes.dialects import (
    ANTHROPIC_CACHE_MARK,
    OPENAI_CACHE_MARK,
    OPTIONAL_PARAMETERS,
    OTHER_NAME,
    outcome_of_finish,
)
from hobbes.nodes.follow_up import follow_up_prompt
from hobbes.nodes.journal import (
    POLICY_MODEL,
    PROGRAM_MODELS,
    REFUSED_NOTE,
    WRITTEN_BY_PEOPLE,
    Address,
    CallDetails,
    Prompt,
    ReasoningSource,
    Reply,
)
from hobbes.nodes.models import OPENAI, ModelSettings, server_address
from hobbes.nodes.pace import Pace
from hobbes.nodes.prompt_set import PromptSet
from hobbes.nodes.prompting import approximate_tokens, turn_text
from hobbes.nodes.rate_limits import RateLimiter
from hobbes.nodes.reading import read
from hobbes.nodes.responses import completion_of, responses_request
from hobbes.nodes.secrecy import MAX_SEARCHED_ANSWER, MAX_STORED_LENGTH, safe_line, storable

ADDRESS_HEADER = "x-hobbes-address"
"""The request header with the address of the call: `turn/agent/attempt`."""

MAX_BODY_BYTES = 10_000_000
"""The most bytes of a response, compressed or not: ten for each character that reading accepts."""

MAX_BODY_PARTS = 200_000
"""The most strings, arrays, objects and commas in the JSON of a response. Each takes some 100 bytes."""

_PART = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)
"""Matches a string of JSON, the beginning of an array or an object, or a comma."""

OWN_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
        ADDRESS_HEADER,
    }
)
"""All headers that a server with a base URL of its own is sent."""

Hook: TypeAlias = Callable[[httpx2.Request], Awaitable[None]]
"""Sees a request before it is sent."""


class ChatModel(ChatOpenAI):
    """ChatOpenAI that keeps the model's reasoning and takes half of the processor time.

    ChatOpenAI drops the fields in which most servers send reasoning. It also checks each request against
    openai's types, parses the response into a pydantic model, dumps that again, and switches to a thread to
    read it. So the methods are replaced that LangChain gives to chat models for asking their servers.
    `ChatPlayer` alone makes one, and says with each call what is sent; of its own fields nothing is.
    """

    http_async_client: "PlainClient" = Field(exclude=True)
    disable_streaming: bool | Literal["tool_calling"] = True  # a stream would be another way to a server

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **options: Any,  # noqa: ANN401  as LangChain has it
    ) -> ChatResult:
        """Return the answer to messages. Raise openai.OpenAIError if there is none.

        `extra_body` and `extra_headers` mean what they mean to ChatOpenAI, and `mark` marks the end of the
        first message for a cache.
        """
        del stop, run_manager  # no words stop an answer, and there is nothing to stream
        extra, headers, mark = (options.get(name, {}) for name in ("extra_body", "extra_headers", "mark"))
        texts: Any = convert_to_openai_messages(messages)  # a list, as `messages` is one
        if mark:
            kind = "input_text" if self.use_responses_api else "text"
            texts[0]["content"] = [{"type": kind, "text": texts[0]["content"], **mark}]
        body = {"messages": texts, "model": self.model_name, "stream": False, **extra}
        responses = self.use_responses_api
        response = await self.root_async_client.post(
            "/responses" if responses else "/chat/completions",
            cast_to=httpx2.Response,
            body=responses_request(body) if responses else body,
            options={"headers": headers},
        )
        # With status 200 servers also send HTML pages, errors, and completions of any shape.
        try:
            content = response.json()
            message = message_of(completion_of(content) if responses else content)
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise openai.APIResponseValidationError(response, response.text) from error
        return ChatResult(generations=[ChatGeneration(message=message)])


class ResponseTooLongError(openai.OpenAIError):
    """A response is too long to read. It is an OpenAIError, because the client passes those on unchanged."""


class BoundedStream(httpx2.AsyncByteStream):
    """The pieces of a body, up to MAX_BODY_BYTES bytes. `source` is what they come from in the end."""

    def __init__(self, pieces: AsyncIterable[bytes], source: httpx2.AsyncByteStream) -> None:
        self._pieces = pieces
        self._source = source

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the pieces. Raise ResponseTooLongError beyond the limit."""
        size = 0
        async for piece in self._pieces:
            size += len(piece)
            if size > MAX_BODY_BYTES:
                raise ResponseTooLongError(f"more than {MAX_BODY_BYTES} bytes")
            yield piece

    async def aclose(self) -> None:
        """Close the source."""
        await self._source.aclose()


async def _read_bounded(response: httpx2.Response) -> None:
    """Read the body of a response within its bounds, both compressed and decompressed.

    httpx2 decompresses a megabyte at a time, so memory stays bounded. A response that is compressed more than
    once is refused. Only the last layer could be counted, and a few kilobytes in three layers can keep the
    process busy for seconds. Text is UTF-8, whatever the header says: it could name any codec of Python.
    """
    encoding = response.headers.pop("content-encoding", "")
    if "," in encoding:
        raise ResponseTooLongError("compressed more than once")
    source: Any = response.stream  # of an asynchronous client, which the type leaves open
    compressed = httpx2.Response(
        200, headers={"content-encoding": encoding}, stream=BoundedStream(source, source)
    )
    response.stream = BoundedStream(compressed.aiter_bytes(), source)
    response.encoding = "utf-8"
    await response.aread()
    if next(islice(_PART.finditer(response.content), MAX_BODY_PARTS, None), None):
        raise ResponseTooLongError(f"more than {MAX_BODY_PARTS} parts of JSON")


class PlainClient(openai.DefaultAioHttpClient):
    """An HTTP client that bounds bodies, follows no redirect, and knows a response that is not HTTP.

    Nobody chose the server to which a redirect would send the prompt. The transport translates most errors of
    aiohttp but lets some through: the banner of another protocol, headers that are too long or too many, two
    lengths, and undecodable text (a ValueError) in a status line.
    """

    def __init__(self, *hooks: Hook, **options: Any) -> None:  # noqa: ANN401  as it is
        """Make a client of httpx2 with these options; the hooks see each request before it is sent."""
        events: dict[str, list[Callable[..., Any]]] = {"request": [*hooks], "response": [_read_bounded]}
        super().__init__(event_hooks=events, follow_redirects=False, **options)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # noqa: ANN401  as it is
        """Send a request. Raise httpx2.RemoteProtocolError for a response that is not HTTP."""
        try:
            return await super().send(request, **options)
        except (aiohttp.ClientError, ValueError) as error:
            raise httpx2.RemoteProtocolError(str(error), request=request) from error


def _only_own_headers(key: str) -> Hook:
    """Return a hook that takes every header out of a request which was not made for its server.

    The client adds what it finds in the environment, for OpenAI: organization, project and custom headers.
    """

    async def hook(request: httpx2.Request) -> None:
        for name in [name for name in request.headers if name not in OWN_HEADERS]:
            del request.headers[name]
        request.headers["authorization"] = f"Bearer {key}"

    return hook


@cache
def _certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Return the certificates that are trusted where SSL_CERT_FILE and SSL_CERT_DIR have these values.

    It takes 20 ms to read them, which is much for each of many games.
    """
    return httpx2.create_ssl_context()


def _trusted() -> ssl.SSLContext:
    """Return the certificates that are trusted. Raise OSError if they cannot be read."""
    return _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


def _http_client(settings: ModelSettings, base: httpx2.URL, key: str) -> PlainClient:
    """Return the HTTP client of a model. Raise ValueError if a proxy or CA file cannot be used."""
    try:
        return PlainClient(
            *([_only_own_headers(key)] if settings.base_url else []),
            verify=_trusted(),
            # The default pool closes a connection after 5 idle seconds; a turn may take longer.
            limits=httpx2.Limits(
                max_connections=settings.parallel,
                max_keepalive_connections=settings.parallel,
                keepalive_expiry=300,
            ),
            timeout=httpx2.Timeout(settings.timeout, connect=10.0),
            params=base.params,  # not in base_url: openai's client would append the path after the query
        )
    except OSError as error:
        raise ValueError(f"SSL_CERT_FILE or SSL_CERT_DIR cannot be used: {error.strerror}") from None
    except (httpx2.InvalidURL, ValueError):  # the message could quote a password
        raise ValueError(
            "a proxy in the environment (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY) is not a valid "
            "URL; write http://HOST:PORT"
        ) from None


ChatModel.model_rebuild()  # PlainClient is there now


class ChatPlayer:
    """Asks a chat model as its settings say.

    If the server refuses a parameter, it is left out or sent under its other name for the rest of the run.
    `name` is what error messages call the model. `answered` says whether the model has answered before in
    this run. `limiter` counts its requests; without one, they are counted alone. `meter` has the caps of the
    run, which are checked before each request is sent, since one may be reached while it waited. Raise
    ValueError if the key, the base URL, a proxy or a CA file cannot be used.
    """

    at_once = False

    def __init__(  # noqa: PLR0913  everything that a player depends on
        self,
        settings: ModelSettings,
        system: str,
        prompts: PromptSet,
        *,
        name: str = "",
        answered: bool = False,
        limiter: RateLimiter | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._model = settings.model
        self._timeout = settings.timeout
        self._system = system
        self._prompts = prompts
        self._configured = settings.parameters(prompts.schema)
        self._parameters = dict(self._configured)
        self._required = settings.required
        self._refused: set[str] = set()
        self._name = name = name or f"openai:{settings.model}"
        self.breaker = Breaker(name, answered=answered)
        self._meter = meter or Meter()
        self._pace = Pace(limiter or RateLimiter(), name, settings, self._wait)
        self._tokens_limited = settings.tokens_per_minute is not None
        base, key = server_address(settings), settings.api_key() or "none"
        self._mark = cache_mark(settings, base)
        self._http = _http_client(settings, base, key)
        self._chat = ChatModel(
            model=settings.model,
            base_url=str(base.copy_with(query=None)),  # without it, LangChain reads further variables
            api_key=SecretStr(key),
            max_retries=0,
            use_responses_api=settings.api == "responses",
            cache=False,
            openai_proxy="",  # without it, LangChain reads OPENAI_PROXY
            http_socket_options=(),  # without it, LangChain warns of proxies that the HTTP client does use
            timeout=self._http.timeout,  # None would switch it off for each request
            http_async_client=self._http,
            # It is never used; without it, langchain-openai makes one that reads all certificates again.
            http_client=httpx2.Client(verify=_trusted(), trust_env=False),
        )

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Return the run's system text with the turn text of a view."""
        return Prompt(self._system, turn_text(self._prompts, view))

    def follow_up(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> Prompt:
        """Return the follow-up question, in the language of the run's prompts."""
        return follow_up_prompt(self._prompts, prompt, answer, drops)

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Return the model's reply. A failed call, whatever the reason, is a reply with its `failure` set.

        Raise HaltedError if the provider is gone before the call has an outcome.
        """
        began, tries = time.monotonic(), 0
        tokens = self._estimated(prompt)

        async def one_try() -> tuple[AIMessage, str]:
            nonlocal tries
            async with self._pace.slot(tokens) as sent:
                self.breaker.check()
                self._meter.check()
                tries += 1
                message, without = await self._try(prompt, address)
                counts = message.additional_kwargs["tokens"]
                sent.tokens = tokens if None in counts else sum(counts)
                return message, without

        try:
            async with self.breaker.call():
                began = time.monotonic()  # waiting for the provider's first answer is no part of the call
                message, without = await with_retries(one_try, self._timeout, self._wait)
        except TryFailedError as failure:
            reply = Reply("", self._named(self._model), failure=failure.outcome, error=failure.message)
        else:
            reply = self._answered(message, without)
        return reply._replace(tries=tries, milliseconds=round((time.monotonic() - began) * 1000))

    async def _wait(self, seconds: float) -> None:
        """Wait, but not beyond the run's own seconds. Raise HaltedError if a cap is reached by then."""
        if seconds:
            await wait.get()(min(seconds, self._meter.seconds_left()))
        self._meter.check()

    def _estimated(self, prompt: Prompt) -> int:
        """Return about how many tokens a prompt has; 0 if no limit asks for it, since counting takes time."""
        if not self._tokens_limited:
            return 0
        return approximate_tokens(prompt.system) + approximate_tokens(prompt.turn)

    async def _try(self, prompt: Prompt, address: Address) -> tuple[AIMessage, str]:
        """Return the answer of one try, with a note on unsent parameters; otherwise raise TryFailedError."""
        sent = dict(self._parameters)
        try:
            # The client's own timeout starts again with each byte, and some servers send blanks to wait.
            async with asyncio.timeout(self._timeout):
                message = await self._chat.ainvoke(
                    [SystemMessage(prompt.system), HumanMessage(prompt.turn)],
                    {"metadata": {"address": str(address)}},
                    extra_body=sent,
                    extra_headers={ADDRESS_HEADER: str(address)},
                    mark=self._mark,
                )
            return message, self._unsent(sent)
        except (openai.OpenAIError, TimeoutError) as error:
            failure = failure_of(error)
            if refused := _refused_parameter(error, failure, sent):
                self._do_without(refused)
                raise TryFailedError(failure.message, tries=TRIES, pause=0, about="request") from error
            raise failure from error

    def _do_without(self, refused: str) -> None:
        """Leave a refused parameter out from now on, or use its other name if that was not refused.

        Raise HaltedError, now and for each further call, if it is required.
        """
        if refused in self._required:
            self.breaker.stop_reason = f"{self._name} refuses {refused}, which is required"
        self.breaker.check()
        self._refused.add(refused)
        value, other = self._parameters.pop(refused, None), OTHER_NAME.get(refused)
        if value is not None and other and other not in self._refused:
            self._parameters[other] = value

    def _unsent(self, sent: Mapping[str, Any]) -> str:
        """Return a note on the parameters that were left out of a request; empty if none was."""
        changes = [
            f"with {other} for {name}" if (other := OTHER_NAME.get(name)) in sent else f"without {name}"
            for name in self._configured
            if name not in sent
        ]
        return f"sent {', '.join(changes)}{REFUSED_NOTE}" if changes else ""

    def _answered(self, message: AIMessage, without: str) -> Reply:
        """Return the reply for an answer. `error` notes what was unusual about it."""
        metadata, kept = message.response_metadata, message.additional_kwargs
        tokens_in, tokens_out = kept["tokens"]
        tools = (
            f"tool calls and no content: {kept['tool_calls']}"
            if kept["tool_calls"] and not message.text
            else ""
        )
        odd = [without, tools or str(kept["refusal"] or ""), *_cut_short(message.text, kept["reasoning"])]
        return Reply(
            storable(message.text),
            self._named(safe_line(str(metadata.get("model_name") or self._model))),
            storable(kept["reasoning"]),
            Outcome.REFUSED if kept["refusal"] else ended(outcome_of_finish(metadata), message.text),
            safe_line("; ".join(note for note in odd if note)),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            reasoning_source=ReasoningSource(kept["reasoning_source"]),
            details=CallDetails(**kept["details"]),
        )

    def _named(self, name: str) -> str:
        """Return the server's name for the model, marked if it is the name of a person or a program.

        Those cost nothing and pass every cap, so no server may call its model so.
        """
        program = name.startswith(PROGRAM_MODELS) and not self._model.startswith(POLICY_MODEL)
        return f"openai:{name}" if name in WRITTEN_BY_PEOPLE or program else name

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _refused_parameter(error: Exception, failure: TryFailedError, sent: Mapping[str, Any]) -> str | None:
    """Return the parameter that the server refuses; None if the error is about something else."""
    if not isinstance(error, openai.APIStatusError) or error.status_code not in ABOUT_THE_REQUEST:
        return None
    if failure.message.startswith(CONTEXT_OVERFLOW):  # its text may name max_tokens, which is not refused
        return None
    text = f"{error.param} {failure.message}"
    named = (
        name
        for name, in_responses in OPTIONAL_PARAMETERS.items()
        if name in sent and re.search(rf"\b({name}|{re.escape(in_responses)})\b", text)
    )
    return next(named, None)


def cache_mark(settings: ModelSettings, base: httpx2.URL) -> dict[str, Any]:
    """Return what marks the end of a text that a provider is to keep in its cache; empty without a mark.

    OpenAI's own server has a mark of its own, any other server that of Anthropic.
    """
    if not settings.cache:
        return {}
    openai_own = settings.api == "responses" or base.host == httpx2.URL(OPENAI).host
    return OPENAI_CACHE_MARK if openai_own else ANTHROPIC_CACHE_MARK


def _cut_short(answer: str, reasoning: str) -> Iterator[str]:
    """Yield that an answer or a reasoning is not kept as a whole."""
    for what, text in (("answer", answer), ("reasoning", reasoning)):
        if len(text) > MAX_SEARCHED_ANSWER:
            yield f"the {what} is too long; its first {MAX_STORED_LENGTH} characters are kept"


def ended(finish: Outcome | None, text: str) -> Outcome | None:
    """Return the outcome of a message that is not a complete answer; None if it is one.

    If the finish reason is unknown, the text must parse without repair: it may have been cut.
    """
    if finish is None and text:
        parsed = read("", Reply(text, ""), ())
        return Outcome.TRUNCATED if parsed.found_as is FoundAs.REPAIRED else None
    return None if finish is Outcome.ANSWERED else finish
