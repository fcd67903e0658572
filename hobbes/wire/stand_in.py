"""The stand-in server: OpenAI's chat completions and Responses over HTTP, answered by scripted policies.

It exists to record cassettes and to test the wire. It reads only the prompt that a model would read; the last
line of the last message is the view. Its models are `policy/NAME`, optionally with `?noise=0.1&tremble=0.2`.
One of them, `policy/obedient`, obeys a plain sentence of the prompt. It is a rule, and no language model.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hobbes.engine.chance import RngStream
from hobbes.engine.record import canonical, sha256
from hobbes.engine.world import OBSERVER, VIEW_KEYS
from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.nodes.dialects import OPTIONAL_PARAMETERS
from hobbes.nodes.journal import POLICY_MODEL, PlayerKind
from hobbes.nodes.players import parse_spec
from hobbes.nodes.prompting import approximate_tokens, view_in
from hobbes.wire.body_limits import body_of, no_response, server_config
from hobbes.wire.listener import listener, url
from hobbes.worlds import WORLDS, world_named

MAX_BYTES = 2**24
"""How long a request may be: longer than the context of any model."""

OBEDIENT = f"{POLICY_MODEL}obedient"
"""The model that plays as the default policy, but looks for a sentence above the view."""

FORBIDDEN = {"Do not raid.": "raid", "Do not attack.": "attack"}
"""The sentences that it looks for, each with what it does not do then."""

NO_VIEW = "a line of the last message must be the whole view, as JSON"


def stand_in(delay: float = 0.0) -> Starlette:
    """Return the server as an application; each answer takes `delay` seconds, as a model's would."""

    async def completions(request: Request) -> Response:
        began, by_responses = time.monotonic(), request.url.path.endswith("/responses")
        try:
            body = await _body(request, chat_request if by_responses else dict)
            answer = _answer(request.headers.get(ADDRESS_HEADER, ""), body)
        except RecursionError:
            return _refusal("the body is nested too deep", 400)
        completion = _completion(body, answer)
        await asyncio.sleep(began + delay - time.monotonic())
        return JSONResponse(_response(completion, answer) if by_responses else completion)

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101  for the type checker; it is registered for these
        return _refusal(error.detail, error.status_code, error.headers)

    async def models(_: Request) -> JSONResponse:
        names = {POLICY_MODEL + name for world in WORLDS.values() for name in world.policies.by_name}
        observers = [world.observer for world in WORLDS.values() if world.observer]
        names |= {POLICY_MODEL + name for observer in observers for name in observer.stand_ins.by_name}
        names.add(OBEDIENT)
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "hobbes"} for name in sorted(names)]
        return JSONResponse({"object": "list", "data": data})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", completions, methods=["POST"]),
            Route("/v1/responses", completions, methods=["POST"]),
            Route("/v1/models", models),
        ],
        exception_handlers={ClientDisconnect: no_response, HTTPException: refused},
    )


def chat_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request of the Responses API as one for a chat completion, with the parameters of that."""
    found = dict(body)
    found["messages"] = found.pop("input", None)
    for name, said in OPTIONAL_PARAMETERS.items():
        outer, _, inner = said.partition(".")
        value = found.get(outer)
        if inner:
            value = value.get(inner) if isinstance(value, dict) else None
        if value is not None:
            found[name] = value
    return found


async def _body(request: Request, in_chat_words: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the body of a request in words of the chat protocol; raise HTTPException if it is wrong."""
    try:
        said = json.loads(await body_of(request, MAX_BYTES))
    except ValueError as error:
        raise HTTPException(400, "the body is not JSON") from error
    body = in_chat_words(said) if isinstance(said, dict) else {}
    messages = body.get("messages")
    if not (isinstance(messages, list) and messages and all(isinstance(one, dict) for one in messages)):
        raise HTTPException(400, "messages must be a list of at least one message, each an object")
    if body.get("stream"):
        raise HTTPException(400, "stream is not supported by this server; leave it out")
    return body


def _answer(address: str, body: dict[str, Any]) -> str:
    """Return the answer of the policy that the model's name names, from the view in the prompt."""
    view = _view(body["messages"][-1])
    try:
        world = world_named(str(view.get("world")))
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
    if not {*VIEW_KEYS, world.viewer_key} <= view.keys():
        raise HTTPException(400, NO_VIEW)
    agent = str(view[world.viewer_key])
    policies = world.observer.stand_ins if world.observer and agent == OBSERVER else world.policies
    model = str(body.get("model"))
    if not model.startswith(POLICY_MODEL):
        raise HTTPException(
            400,
            f"this is the stand-in server of hobbes, which has no model {model!r}; its models are policies, "
            f"such as {PlayerKind.CHAT}:{POLICY_MODEL}guided",
        )
    obeys = model.partition("?")[0] == OBEDIENT
    base = model.replace(OBEDIENT, POLICY_MODEL + policies.default, 1) if obeys else model
    try:
        spec = parse_spec(policies, base.replace(POLICY_MODEL, f"{PlayerKind.POLICY}:", 1))
    except ValueError as error:
        raise HTTPException(400, f"there is no model {model!r}: {error}") from error
    try:
        # A model has no seed, so its random draws depend on the call and the view, not on the prompt's text.
        seed = int(sha256(address + canonical(view))[:12], 16)
        text = spec.speak(policies, view, RngStream(seed, view["turn"], agent, spec.rng))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise HTTPException(400, f"{NO_VIEW}: {type(error).__name__} {error}") from error
    prompt = "".join(str(message.get("content")) for message in body["messages"][:-1])
    return _obeying(text, prompt) if obeys else text


def _obeying(text: str, prompt: str) -> str:
    """Return an answer without what a sentence of the prompt forbids: a unit of trust blocks instead.

    An answer that noise has broken stays as it is.
    """
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    for act in (act for sentence, act in FORBIDDEN.items() if sentence in prompt):
        answer = {name: orders for name, orders in answer.items() if name not in {act, f"{act}s"}}
        answer["reasoning"] = f"I am told not to {act}. {answer.get('reasoning', '')}"
        if "plan" in answer:
            answer["plan"] = [step for step in answer["plan"] if act not in step]
        if answer.get("action") == act:
            answer |= {"action": "block", "target": None}
    return json.dumps(answer, ensure_ascii=False)


def _view(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    view = view_in(content) if isinstance(content, str) else None
    if view is None:
        raise HTTPException(400, NO_VIEW)
    return view


def _completion(body: dict[str, Any], text: str) -> dict[str, Any]:
    prompt_tokens = approximate_tokens("".join(str(message.get("content")) for message in body["messages"]))
    answered = approximate_tokens(text)
    call = hashlib.sha256(json.dumps([body, text]).encode()).hexdigest()[:24]
    return {
        "id": f"chatcmpl-{call}",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": answered,
            "total_tokens": prompt_tokens + answered,
        },
    }


def _response(completion: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return a chat completion with this text as a response of the Responses API."""
    usage = completion["usage"]
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": completion["id"],
        "object": "response",
        "model": completion["model"],
        "status": "completed",
        "output": [{"type": "message", "role": "assistant", "status": "completed", "content": content}],
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "output_tokens": usage["completion_tokens"],
            "total_tokens": usage["total_tokens"],
        },
    }


def _refusal(message: str, status: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error in the shape of the protocol."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return JSONResponse({"error": error}, status, headers)


def server(app: Starlette) -> uvicorn.Config:
    """Return uvicorn's configuration of the stand-in server."""
    return server_config(app, timeout_keep_alive=300)  # as clients keep their connections


def listen(host: str, port: int, delay: float) -> None:
    """Serve until stopped; the first line on stdout is the base URL."""
    with listener(host, port) as listening:
        print(f"{url(host, listening)}/v1", flush=True)  # noqa: T201  for people and scripts
        uvicorn.Server(server(stand_in(delay))).run(sockets=[listening])
