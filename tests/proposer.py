"""A server that plays and proposes: its players obey one sentence, its proposer knows a fixed list.

    python -m tests.proposer

serves it on port 8770, for the commands of docs/improve.md.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hobbes.engine.chance import chance
from hobbes.nodes.prompting import view_in
from hobbes.play.start import RunOptions
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.wire.recorder import environment, in_thread
from tests.small_probes import completion, move
from tests.small_runs import played

PLAYER, PROPOSER = "player", "proposer"
"""The names of the models."""

CURE = "Leave others in peace."
"""The sentence that the players obey."""

USELESS = (
    "Think before you act.",
    "Be brave.",
    "Look far ahead.",
    "Stay calm.",
    "Trust your judgement.",
    "Do what seems wise.",
    "Keep your aim in mind.",
)
"""Sentences that change nothing."""

FALSE = "Each attack costs 7 sats."
"""A sentence that states a rule which the engine does not have."""

CERTAIN = {True: 0, False: 100}
"""How many percent of the answers attack, by whether the system text has the cure."""

NOISY = {True: 10, False: 70}
"""The same of players that do not always do the same."""


class Village:
    """The server. Each answer draws anew, by the text of its question and how often it was asked before."""

    def __init__(self, name: str, sentences: Sequence[str], rates: Mapping[bool, int]) -> None:
        self._name = name
        self._sentences = sentences
        self._rates = rates
        self.asked: Counter[str] = Counter()
        """How often each model was asked."""
        self._questions: Counter[str] = Counter()
        self.down_from = math.inf
        """After how many answers it is down."""
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._completion, methods=["POST"])])

    async def _completion(self, request: Request) -> Response:
        body = await request.json()
        if self.asked.total() >= self.down_from:
            return JSONResponse({"error": {"message": "no such model"}}, status_code=404)
        model, (system, turn) = body["model"], (message["content"] for message in body["messages"])
        self.asked[model] += 1
        self._questions[system + turn] += 1
        if model == PROPOSER:  # the same proposals whatever the prompts say
            text = self._proposal(int(chance(1, self.asked[model], self._name, "proposal"), 16))
        else:
            times, question = self._questions[system + turn], f"{self._name} {system} {turn}"
            draw = int(chance(1, times, question, "answer"), 16)
            text = move(view_in(turn) or {}, attacks=draw % 100 < self._rates[CURE in system])
        return completion(model, text)

    def _proposal(self, draw: int) -> str:
        """Return one of the sentences, as gepa asks for it."""
        return f"I suggest:\n```\n{self._sentences[draw % len(self._sentences)]}\n```"


@contextmanager
def village(name: str, *sentences: str, rates: Mapping[bool, int] = CERTAIN) -> Iterator[Village]:
    """Serve the stand-in, whose draws depend on the name, so that every chat model is it."""
    server = Village(name, sentences, rates)
    with in_thread(server.app) as url, environment(OPENAI_BASE_URL=url, OPENAI_API_KEY="none"):
        yield server


FILE = """
name = "calm"
world = "trust"
agents = 2
rounds = 3
model = "openai:player"
prompts = "plain"
seeds = {seeds}
goal = "minimise aggression"
proposer = "openai:proposer"
max_calls = {max_calls}
{more}

[screen]
runs = ["before"]
turns = [0, 1]
times = 3
"""


def written(folder: Path, more: str = "", max_calls: int = 240, seeds: int = 8) -> Path:
    path = folder / "calm.toml"
    path.write_text(FILE.format(more=more, max_calls=max_calls, seeds=seeds), encoding="utf-8")
    return path


def situations(store: Store, seed: int = 3) -> Run:
    """Play the game whose situations score candidates."""
    asked = RunOptions("trust", 2, seed=seed, models=f"openai:{PLAYER}", values={"rounds": 3}, name="before")
    return played(store, asked)


if __name__ == "__main__":
    uvicorn.run(Village("docs", (CURE, FALSE, *USELESS), NOISY).app, port=8770, log_level="warning")
