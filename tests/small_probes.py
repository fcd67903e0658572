"""A stand-in server that heeds a word of its prompt, and small probes for tests."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hobbes.engine.chance import chance
from hobbes.loop import play_out
from hobbes.nodes.caps import NO_CAPS, Caps
from hobbes.nodes.chat import ADDRESS_HEADER
from hobbes.nodes.prompt_set import ROOT
from hobbes.nodes.prompting import view_in
from hobbes.play.start import RunOptions
from hobbes.probe.asker import asking
from hobbes.probe.probe_plan import Plan
from hobbes.probe.situations import ProbeFile
from hobbes.probe.table import ProbeResult, read_probe
from hobbes.probe.versions import plan_version
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.wire.recorder import environment, in_thread
from tests.small_runs import played_once

WORD = "peaceful"
"""The word that the stand-in heeds."""

RATES = {True: 10, False: 70}
"""How many percent of the answers attack, by whether the system text has the word."""


class Heeding:
    """A server of trust whose model attacks seldom if the system text has the word; it notes who is asked.

    It answers so many requests at once: none before all of them are there.
    """

    def __init__(self, at_once: int = 1) -> None:
        self.asked: list[str] = []
        self._all_there = asyncio.Barrier(at_once)
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._completion, methods=["POST"])])

    async def _completion(self, request: Request) -> Response:
        body = await request.json()
        system, turn = (message["content"] for message in body["messages"])
        address = request.headers[ADDRESS_HEADER]
        self.asked.append(address)
        await self._all_there.wait()
        view = view_in(turn) or {}
        draw = int(chance(1, view["turn"], f"{body['model']} {address}", "attack"), 16)
        return completion(body["model"], move(view, attacks=draw % 100 < RATES[WORD in system]))


def completion(model: str, text: str) -> Response:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    whole = {"id": "1", "object": "chat.completion", "created": 0, "model": model}
    return JSONResponse({**whole, "choices": [choice], "usage": usage})


def move(view: Mapping[str, Any], *, attacks: bool) -> str:
    """Return the answer of a unit: an attack on the other one, or a block."""
    (other,) = {"unit-a", "unit-b"} - {view["you"]}
    done = {"action": "attack", "target": other} if attacks else {"action": "block"}
    return json.dumps({"reasoning": f"<b>{other}</b> made me", **done})


MODEL = "openai:any"


def asked(store: Store, caps: Caps = NO_CAPS, **ways: Any) -> ProbeResult:
    ask(store, planned(store, caps, **ways), caps)
    return read_probe(store, ways["name"])


def planned(store: Store, caps: Caps = NO_CAPS, **ways: Any) -> Plan:
    return plan_version(store, ProbeFile(**{"model": [MODEL], **ways}), caps)


def ask(store: Store, what: Plan, caps: Caps = NO_CAPS) -> None:
    with asking(store, what, caps) as asker:
        play_out(asker.ask_all(lambda: None))


@contextmanager
def heeding(at_once: int = 1) -> Iterator[Heeding]:
    """Serve the stand-in, so that every chat model is it."""
    server = Heeding(at_once)
    with in_thread(server.app) as url, environment(OPENAI_BASE_URL=url, OPENAI_API_KEY="none"):
        yield server


def duel(store: Store) -> Run:
    models = "policy:random?tremble=0.5"
    return played_once(store, RunOptions("trust", 2, models=models, values={"rounds": 6}, name="duel"))


def variant(folder: Path, advice: str) -> str:
    """Return the path of a copy of the prompts of trust with a sentence of advice at the end."""
    source = ROOT / "trust" / "plain"
    copy = folder / advice.split(" ", 1)[0].lower()
    copy.mkdir()
    for file in source.glob("*.en.md"):
        more = f"\n{advice}\n" if file.name.startswith("system") else ""
        (copy / file.name).write_text(file.read_text(encoding="utf-8") + more, encoding="utf-8")
    return str(copy)
