"""OpenAI's Responses API: requests and responses, in the words of the chat protocol.

https://developers.openai.com/api/docs/api-reference/responses. The rest of hobbes speaks of chat completions.
langchain-openai has a translation for itself only; it drops temperatures and `stop` without a word.
"""

from collections.abc import Mapping
from typing import Any

from hobbes.nodes.dialects import OPTIONAL_PARAMETERS


def responses_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request of the chat protocol as one of the Responses API, of which nothing is stored."""
    body: dict[str, Any] = {"store": False}
    for name, value in request.items():
        if name == "messages":
            body["input"] = value
        elif name == "response_format":
            # The schema lies one level higher.
            body["text"] = {"format": {"type": value["type"], **value.get("json_schema", {})}}
        else:
            outer, _, inner = OPTIONAL_PARAMETERS.get(name, name).partition(".")
            body[outer] = {**body.get(outer, {}), inner: value} if inner else value
    return body


def completion_of(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return a response of the Responses API as a chat completion.

    The encrypted reasoning is left out. Anything of another shape raises whatever Python raises.
    """
    output = [item for item in response["output"] if isinstance(item, dict)]
    messages = [item for item in output if item.get("type") == "message"]
    parts = [part for item in messages for part in item["content"]]
    thoughts = [
        {"type": f"reasoning.{kind}", kind: part["text"]}
        for item in output
        if item.get("type") == "reasoning"
        for field, kind in (("content", "text"), ("summary", "summary"))
        for part in item.get(field) or ()
    ]
    why = response.get("incomplete_details") or {}
    message = {
        "role": messages[0]["role"] if messages else "assistant",
        "content": "".join(part["text"] for part in parts if part["type"] == "output_text"),
        "refusal": "".join(part["refusal"] for part in parts if part["type"] == "refusal") or None,
        "reasoning_details": thoughts,
        "tool_calls": [item for item in output if item.get("type") == "function_call"],
    }
    return {
        **response,
        "choices": [{"message": message, "finish_reason": why.get("reason") or response["status"]}],
    }
