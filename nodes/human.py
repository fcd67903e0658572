"""A person as a player: the run stops, shows the question, and goes on when somebody has answered."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hobbes.engine.answer import Outcome
from hobbes.engine.record import Drop, canonical
from hobbes.nodes.journal import Address, PlayerKind, Prompt, Reply


class HumanPlayer:
    """Asks a person through LangGraph's interrupt, so that a waiting run survives the end of its process.

    `late` are the calls that a person did not answer in time, by address, each with the reason as it is
    recorded. They are not asked again: they have failed. `schema` is the JSON schema of an answer, from which
    Studio makes a form.
    """

    at_once = False

    def __init__(self, late: Mapping[str, str], schema: str) -> None:
        self._late = late
        self._schema = schema

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Return the view as JSON; a person gets no system text."""
        return Prompt("", canonical(view))

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Stop the run. The value that it is resumed with is the answer."""
        if (why := self._late.get(str(address))) is not None:
            return persons_reply("", failure=Outcome.TIMED_OUT, error=why)
        from langgraph.types import interrupt  # noqa: PLC0415  slow to import, and only people need it

        question = {"address": str(address), "asked": json.loads(prompt.turn)}
        said = interrupt(question, response_schema=json.loads(self._schema))
        return persons_reply(said if isinstance(said, str) else canonical(said))

    def follow_up(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> None:
        """Return None: a person is told what would be rejected before the answer is taken."""


def persons_reply(text: str, **more: Any) -> Reply:  # noqa: ANN401  as Reply types them
    """Return the reply of a person, who costs nothing."""
    return Reply(text, PlayerKind.HUMAN, tokens_in=0, tokens_out=0, player=PlayerKind.HUMAN, **more)
