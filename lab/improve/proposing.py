"""The model that proposes advice. Each of its proposals is kept, so that none is asked for twice."""

import json
import os
from collections import defaultdict, deque
from functools import partial
from pathlib import Path
from typing import Any

from hobbes.lab.errors import HaltedRunError, LabError, UsageError
from hobbes.lab.loop import play_out
from hobbes.lab.play.playing import Beginning, check_players
from hobbes.lab.store.home import Store
from hobbes.lab.store.prices import Prices, prices_of, usd
from hobbes.nodes.caps import Caps, Meter, Spent
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import Address, Prompt, Reply
from hobbes.nodes.models import Models, ModelSettings
from hobbes.nodes.players import RunPlayers, parse_spec
from hobbes.nodes.prompting import system_text

FILE = "proposals.jsonl"
"""The file of a result folder that keeps the proposals, one per line."""

ASKED = "proposer"
"""In place of an agent in the address of a call."""


class Proposer:
    """Asks a chat model for advice, as gepa words it, unless the answer has been kept."""

    def __init__(  # noqa: PLR0913, PLR0917  what a player is made of
        self, store: Store, new: Beginning, spec: str, models: Models, folder: Path, caps: Caps
    ) -> None:
        """Read what has been kept. Raise UsageError if the spec is no chat model that can be asked."""
        try:
            check_players(store, new.world, new.setting, {ASKED: spec}, models, caps)
            settings = parse_spec(new.world.policies, spec, models).settings
        except ValueError as error:
            raise UsageError(f"proposer: {error}") from error
        if settings is None:
            raise UsageError(f"proposer: {spec} writes no texts; name a chat model, such as openai:NAME")
        self._settings = settings.model_copy(update={"response_format": "none"})
        self._spec, self._new, self._file = spec, new, folder / FILE
        self._rules = f"Agents play a game. They are told:\n\n{system_text(new.prompts, new.setting)}"
        self._usd_of = partial(_usd, prices_of(store.home), self._settings)
        self._kept: dict[str, deque[Reply]] = defaultdict(deque)
        self._asked = 0
        self.spent = Spent()
        """What the proposals have cost that were used so far."""
        self.failure: LabError | None = None
        """Why there is no proposal; gepa goes on after an error, so whoever is asked next has to raise it."""
        for row in _rows(self._file):
            self._kept[row.pop("prompt")].append(Reply(**row))

    def __call__(self, prompt: str | list[dict[str, object]]) -> str:
        """Return the model's text; empty, with `failure` set, if there is none."""
        question = Prompt(self._rules, str(prompt))
        self._asked += 1
        kept = self._kept[question.hash]
        try:
            reply = kept.popleft() if kept else self._ask(question)
        except LabError as error:
            self.failure = error
            return ""
        known = reply.tokens_in is not None and reply.tokens_out is not None
        self.spent.calls += 1
        self.spent.add(
            (reply.tokens_in or 0) + (reply.tokens_out or 0) if known else None, self._usd_of(reply)
        )
        return reply.text

    def _ask(self, question: Prompt) -> Reply:
        """Ask the model and keep what it says. Raise LabError if the call fails."""
        reply = play_out(self._reply(question))
        if reply.failure is not None:
            raise LabError(
                f"the proposer {self._spec} failed: {reply.error or reply.failure}; the same command goes on"
            )
        row = {
            "prompt": question.hash,
            "text": reply.text,
            "model": reply.model,
            "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out,
        }
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(row, ensure_ascii=False)}\n")
            file.flush()
            os.fsync(file.fileno())
        return reply

    async def _reply(self, question: Prompt) -> Reply:
        """Return the reply of the model. Raise HaltedRunError if its provider is gone."""
        new, meter = self._new, Meter(Caps(), Spent(), self._usd_of)
        models = {self._spec: self._settings}
        players = RunPlayers(new.world, new.setting, new.prompts, meter, models=models)
        try:
            return await players.named(self._spec).reply(Address(0, ASKED, self._asked), question)
        except HaltedError as error:
            raise HaltedRunError(f"{error}; the same command goes on") from error
        finally:
            await players.close()


def _usd(prices: Prices, settings: ModelSettings, reply: Reply) -> float | None:
    """Return what a reply cost in dollars, None if that is unknown."""
    return usd(prices, reply, settings)


def _rows(file: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of proposals, without a last one that was not written to its end."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").split("\n")
    if lines[-1]:
        file.write_text("".join(f"{line}\n" for line in lines[:-1]), encoding="utf-8")
    return [json.loads(line) for line in lines[:-1]]
