"""Agents of policies that say what a test lets them say."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hobbes.nodes.journal import Address, Reply
from hobbes.nodes.players import PolicyPlayer

Replies = Callable[[Callable[[Address], Any]], None]


@pytest.fixture
def replies(monkeypatch: pytest.MonkeyPatch) -> Replies:
    """Let policies answer as a function of the address says: a Reply, a text, or an object as JSON."""

    def patch(answer: Callable[[Address], Any]) -> None:
        async def reply(self: object, address: Address, prompt: object) -> Reply:
            del self, prompt
            said = answer(address)
            if isinstance(said, Reply):
                return said
            return Reply(said if isinstance(said, str) else json.dumps(said), "model")

        monkeypatch.setattr(PolicyPlayer, "reply", reply)

    return patch
