"""The stand-in server's Responses API: requests in words of the chat protocol, and responses from there."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from hobbes.nodes.responses import RESPONSES_NAMES

STATUSES: Mapping[str, tuple[str, str | None]] = {
    "stop": ("completed", None),
    "tool_calls": ("completed", None),
    "length": ("incomplete", "max_output_tokens"),
    "content_filter": ("incomplete", "content_filter"),
}
"""The status of a response for a finish reason, and why it is incomplete; another reason is passed on."""


def chat_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request of the Responses API as one for a chat completion, with the parameters of that."""
    found = dict(body)
    found["messages"] = found.pop("input", None)
    for name, said in RESPONSES_NAMES.items():
        outer, _, inner = said.partition(".")
        value = found.get(outer)
        if inner:
            value = value.get(inner) if isinstance(value, dict) else None
        if value is not None:
            found[name] = value
    return found


def in_responses_words(response: Response) -> Response:
    """Return a response of the chat protocol as one of the Responses API; any other is returned as it is."""
    if isinstance(response, JSONResponse):
        found = json.loads(bytes(response.body))
        if isinstance(found, dict) and "choices" in found:
            response.body = response.render(_response_of(found))
            response.headers["content-length"] = str(len(response.body))
    return response


def _response_of(completion: dict[str, Any]) -> dict[str, Any]:
    """Return a chat completion as a response."""
    choice = completion.pop("choices")[0]
    status, why = STATUSES.get(choice["finish_reason"], ("incomplete", choice["finish_reason"]))
    usage = completion.pop("usage", None)
    told = {} if usage is None else {"usage": _usage(usage)}
    return {
        **completion,
        **told,
        "object": "response",
        "status": status,
        "error": choice.get("error"),
        "incomplete_details": {"reason": why} if why else None,
        "output": list(_output(choice["message"])),
    }


def _output(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the items of a response for a message: reasoning, content, and the tools that it calls."""
    content = message["content"]
    parts: list[dict[str, Any]] = (
        content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    )
    thought = message.get("reasoning_content") or message.get("reasoning")
    details = message.get("reasoning_details", ())
    yield {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text} for text in [thought] if text]
        + [{"type": "summary_text", "text": one["summary"]} for one in details],
        "content": [
            {"type": "reasoning_text", "text": one["text"]}
            for part in parts
            for one in part.get("thinking", ())
        ],
        "encrypted_content": "gAAAAAB",
    }
    texts = [
        {"type": "output_text", "text": part["text"], "annotations": []} for part in parts if "text" in part
    ]
    refusal = [{"type": "refusal", "refusal": text} for text in [message.get("refusal")] if text]
    yield {"type": "message", "role": "assistant", "status": "completed", "content": refusal or texts}
    for call in message.get("tool_calls", ()):
        yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return a usage under the names of the Responses API."""
    return {
        "input_tokens": usage["prompt_tokens"],
        "output_tokens": usage["completion_tokens"],
        "total_tokens": usage["total_tokens"],
    }
