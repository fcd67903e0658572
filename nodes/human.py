"""A person as a mind: the run stops, says what is asked, and goes on when somebody has answered."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.types import interrupt

from engine.record import Drop, canonical
from nodes.journal import Address, PlayerKind, Prompt, Reply


class HumanPlayer:
    """Asks whoever is there, on LangGraph's interrupt: a waiting run survives its process."""

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Give the view alone."""
        return Prompt("", canonical(view))

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Stop the run here; what it is resumed with is the answer."""
        said = interrupt({"address": str(address), "asked": prompt.turn})
        text = said if isinstance(said, str) else canonical(said)
        return Reply(text, PlayerKind.HUMAN, tokens_in=0, tokens_out=0)

    def again(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> None:
        """A person is asked once."""
