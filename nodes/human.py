"""A person as a player: the run stops, shows the question, and goes on when somebody has answered."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.types import interrupt

from engine.record import Drop, canonical
from nodes.journal import Address, PlayerKind, Prompt, Reply


class HumanPlayer:
    """Asks a person through LangGraph's interrupt, so that a waiting run survives the end of its process."""

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Return the view as JSON; a person gets no system text."""
        return Prompt("", canonical(view))

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Stop the run. The value that it is resumed with is the answer."""
        said = interrupt({"address": str(address), "asked": prompt.turn})
        text = said if isinstance(said, str) else canonical(said)
        return Reply(text, PlayerKind.HUMAN, tokens_in=0, tokens_out=0, player=PlayerKind.HUMAN)

    def follow_up(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> None:
        """Return None: a person is asked only once per turn."""
