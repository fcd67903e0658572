"""What servers send back: completions of the chat protocol, read into LangChain's messages.

Servers put the same facts into different fields (nodes/dialects.py). langchain-openai reads those of OpenAI
alone, and drops reasoning, costs, and the tokens that others tell in fields of their own.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata

from hobbes.engine.answer import Outcome
from hobbes.engine.record import Json, excerpt
from hobbes.nodes.dialects import (
    REASONING_FIELDS,
    REASONING_TAGS,
    TOKENS_CACHE_WRITTEN,
    TOKENS_CACHED,
    TOKENS_IN,
    TOKENS_OUT,
    TOKENS_REASONING,
    Path,
    outcome_of_finish,
)
from hobbes.nodes.journal import CallDetails, ReasoningSource
from hobbes.nodes.secrecy import MAX_SEARCHED_ANSWER, MAX_SEARCHED_LENGTH, safe_line, storable

TOO_MANY_TOKENS = 2**40
"""Token counts from here on are not believed. Smaller ones add up to a number that SQLite can hold."""

MAX_USAGE_LENGTH = 10_000
"""A usage of more characters is not kept: a part of it would be no JSON."""


def message_of(completion: dict[str, Any]) -> AIMessage:
    """Return the message of a completion. Anything of another shape raises whatever Python raises."""
    choice = completion["choices"][0]
    message = choice["message"]
    if completion.get("error") or choice.get("error") or outcome_of_finish(choice) is Outcome.PROVIDER_ERROR:
        raise ValueError("a server behind this one broke off the answer")
    if message["role"] != "assistant":
        raise ValueError("the message is not an assistant's")
    tokens_in, tokens_out, details = _usage(completion)
    reasoning, source = _reasoning_of(message)
    return AIMessage(
        _text_of(message),
        additional_kwargs={
            "reasoning": reasoning,
            "reasoning_source": source.value,
            "refusal": excerpt(_refusal(message), MAX_SEARCHED_LENGTH),
            "tool_calls": excerpt(list(message.get("tool_calls") or ()), MAX_SEARCHED_LENGTH),
            "tokens": [tokens_in, tokens_out],
            "details": details._replace(finish_reason=_line(choice.get("finish_reason")))._asdict(),
        },
        usage_metadata=_usage_metadata(tokens_in, tokens_out, details),
        response_metadata={
            "model_name": completion.get("model"),
            "finish_reason": choice.get("finish_reason"),
        },
    )


def _text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message. Its content may be a list of parts, of which some are text."""
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "".join(
            part if isinstance(part, str) else part["text"]
            for part in content
            if isinstance(part, str) or (part.get("type") == "text" and isinstance(part.get("text"), str))
        )
    return _beginning(content)


def _beginning(text: str) -> str:
    """Return as much of a text as is looked at, and one character more if there are more."""
    return text[: MAX_SEARCHED_ANSWER + 1]


def _usage(completion: Mapping[str, Any]) -> tuple[int | None, int | None, CallDetails]:
    """Return the tokens of the prompt and of the answer, None where unknown, and all else that is told.

    Some servers (Google, xAI) leave the reasoning out of the tokens of the answer, and have it in the total.
    """
    usage = completion.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    into, out = _first_count(usage, TOKENS_IN), _first_count(usage, TOKENS_OUT)
    total = _count(usage.get("total_tokens"))
    reasoned = _first_count(usage, TOKENS_REASONING)
    if into is not None and out is not None and total is not None and total > into + out:
        reasoned = total - into - out if reasoned is None else reasoned
        out = total - into
    return (
        into,
        out,
        CallDetails(
            tokens_cached=_first_count(usage, TOKENS_CACHED),
            tokens_cache_written=_first_count(usage, TOKENS_CACHE_WRITTEN),
            tokens_reasoning=reasoned,
            service_tier=_line(completion.get("service_tier")),
            fingerprint=_line(completion.get("system_fingerprint")),
            provider_id=_line(completion.get("id")),
            provider_usd=_cost(usage),
            usage=_storable_usage(usage),
        ),
    )


def _usage_metadata(into: int | None, out: int | None, details: CallDetails) -> UsageMetadata | None:
    """Return the tokens of a call as LangChain has them; None where those of prompt or answer are unknown."""
    if into is None or out is None:
        return None
    read, written = details.tokens_cached or 0, details.tokens_cache_written or 0
    return UsageMetadata(
        input_tokens=into,
        output_tokens=out,
        total_tokens=into + out,
        input_token_details=InputTokenDetails(cache_read=read, cache_creation=written),
        output_token_details=OutputTokenDetails(reasoning=details.tokens_reasoning or 0),
    )


def _storable_usage(usage: Mapping[str, Any]) -> str | None:
    """Return the JSON of a usage as it is kept; None if it is empty, too long, no JSON, or holds a secret."""
    try:
        text = json.dumps(usage, allow_nan=False)
    except ValueError:
        return None
    return text if usage and len(text) <= MAX_USAGE_LENGTH and storable(text) == text else None


def _first_count(usage: Mapping[str, Any], paths: tuple[Path, ...]) -> int | None:
    """Return the first token count at one of these places of a usage; None if there is none."""
    found = (_count(_at(usage, path)) for path in paths)
    return next((count for count in found if count is not None), None)


def _at(value: object, path: Path) -> object:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _count(tokens: object) -> int | None:
    return tokens if type(tokens) is int and 0 <= tokens < TOO_MANY_TOKENS else None


def _cost(usage: Mapping[str, Any]) -> float | None:
    """Return what a call cost by the provider's own account, in dollars; None if it does not say.

    OpenRouter charges for a key of one's own only its fee; what the provider behind it takes comes on top.
    """
    cost = _dollars(usage.get("cost"))
    behind = _dollars(_at(usage, ("cost_details", "upstream_inference_cost")))
    return cost + behind if usage.get("is_byok") and cost is not None and behind is not None else cost


def _dollars(amount: object) -> float | None:
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return None
    return float(amount) if 0 <= amount < TOO_MANY_TOKENS else None


def _line(value: object) -> str:
    return safe_line(value) if isinstance(value, str) else ""


def _reasoning_of(message: Mapping[str, Any]) -> tuple[str, ReasoningSource]:
    """Return the reasoning of a message, as far as it is looked at, and its source; empty without any."""
    for text, source in _reasonings(message):
        if isinstance(text, str) and text:
            return _beginning(text), source
    return "", ReasoningSource.NONE


def _reasonings(message: Mapping[str, Any]) -> Iterator[tuple[object, ReasoningSource]]:
    """Yield what stands in each place for a reasoning, with its source."""
    yield from _reasoning_in_details(message.get("reasoning_details"))
    for field in REASONING_FIELDS:
        yield message.get(field), ReasoningSource.TRACE
    yield "".join(_reasoning_in_part(part) for part in _parts(message)), ReasoningSource.TRACE
    yield from _reasoning_in_tags(_text_of(message))


def _reasoning_in_details(details: object) -> Iterator[tuple[str, ReasoningSource]]:
    """Yield the reasoning in OpenRouter's list: the model's own, then a summary; both may be empty."""
    parts = [part for part in details if isinstance(part, dict)] if isinstance(details, list) else []
    for kind, source in (("text", ReasoningSource.TRACE), ("summary", ReasoningSource.SUMMARY)):
        texts = (part.get(kind) for part in parts if part.get("type") == f"reasoning.{kind}")
        yield "\n".join(text for text in texts if isinstance(text, str)), source


def _reasoning_in_part(part: Mapping[str, Any]) -> str:
    """Return the text of a content part that is reasoning, which may be a list of texts (Mistral)."""
    thinking = part.get("thinking") if part.get("type") == "thinking" else None
    if not isinstance(thinking, list):
        return thinking if isinstance(thinking, str) else ""
    texts = (text.get("text") for text in thinking if isinstance(text, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _reasoning_in_tags(text: str) -> Iterator[tuple[str, ReasoningSource]]:
    """Yield the reasoning before the last closing tag of a text, whose first tag may be missing."""
    for tag, source in REASONING_TAGS.items():
        before, closed, _ = text.rpartition(f"</{tag}>")
        if closed:
            yield before.partition(f"<{tag}>")[2] or before, source


def _refusal(message: Mapping[str, Any]) -> Json:
    return message.get("refusal") or next((p["refusal"] for p in _parts(message) if p.get("refusal")), None)


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
