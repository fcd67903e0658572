"""A stand-in server that codes: a code applies where one of its words stands in what the agent wrote."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hobbes.lab.coding.questions import decisions_of
from hobbes.lab.show.coding import code_by_hand, queue_of
from hobbes.lab.store.codings import Code, Codebook, keep_codebook, keep_queue
from hobbes.lab.store.home import Store
from hobbes.lab.wire.recording import environment, in_thread
from hobbes.nodes.chat import ADDRESS_HEADER

CODES = """\
[fear]
definition = "The agent expects to be raided or attacked, and acts to be safe."
examples = ["If I do not defend, miner-03 will take it."]

[revenge]
definition = "The agent pays somebody back for what was done to it."
"""
"""A codebook."""

WORDS: Mapping[str, str] = {"fear": "defend", "revenge": "raided"}
"""The word that each code stands for."""


class WordCoder:
    """A server whose model finds a code where its word is in what the agent wrote. It notes who was asked.

    `broken` are the addresses to which it answers with words in place of JSON.
    """

    def __init__(self, words: Mapping[str, str] = WORDS, broken: frozenset[str] = frozenset()) -> None:
        self.asked: list[str] = []
        self.words = words
        self.broken = broken
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._completion, methods=["POST"])])

    async def _completion(self, request: Request) -> Response:
        body = await request.json()
        address = request.headers[ADDRESS_HEADER]
        self.asked.append(address)
        _, shown = (message["content"] for message in body["messages"])
        wrote = shown.partition("# Its reasoning")[2].partition("Now code this decision")[0]
        codes = {code: word in wrote for code, word in self.words.items()}
        text = "I would rather not say." if address in self.broken else json.dumps(codes)
        message = {"role": "assistant", "content": text}
        return JSONResponse(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            }
        )


@contextmanager
def word_coder(coder: WordCoder | None = None) -> Iterator[WordCoder]:
    """Serve the stand-in, so that every chat model is it."""
    server = coder or WordCoder()
    with in_thread(server.app) as url, environment(OPENAI_BASE_URL=url, OPENAI_API_KEY="none"):
        yield server


def code_some(store: Store, name: str, turn: int) -> None:
    """Let two people code a turn of a run: one all of it, the other a decision, about which they disagree."""
    run = store.runs.find(name)
    book = Codebook((Code("fear", "The agent expects to be attacked.", ("They will come for us.",)),))
    decisions = [one for one, _ in decisions_of(store, [run], [turn], (), None)]
    keep_codebook(store, book)
    for coder, said in (("ada", "yes"), ("bob", "no")):
        keep_queue(store, book, coder, decisions)
        for number in range(1, len(decisions) + 1 if coder == "bob" else 2):
            code_by_hand(store, queue_of(store, coder), number, {"fear": said})
