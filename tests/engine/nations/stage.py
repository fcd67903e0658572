"""Helpers of the nations tests: a board, a turn, a run with memories, a digest."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from hobbes.engine import turn as steps
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.nations.state import NationsConfig, State
from hobbes.engine.nations.validation import Intent, validate
from hobbes.engine.nations.world import NATIONS
from hobbes.engine.record import Drop, Event, Mend, canonical
from hobbes.engine.world import Setting, make_setting
from tests.turns import play, play_policies

A, B, C, D = "AgentA", "AgentB", "AgentC", "AgentD"

Answers = Mapping[str, Mapping[str, Any]]


def setting(agents: Sequence[str] | int = 3, **config: Any) -> Setting[NationsConfig]:
    """Return the setting that a run would have. `agents` are names, or their number."""
    names = NATIONS.names(agents) if isinstance(agents, int) else agents
    return make_setting(NATIONS, names, 1, config)


def board(agents: Sequence[str] | int = 3, **config: Any) -> State:
    settled = setting(agents, **config)
    return NATIONS.setup(settled.config, settled.agents, settled.seed)


@dataclass(frozen=True)
class Turn:
    """One turn as it was played."""

    before: State
    after: State
    intents: Mapping[str, Intent]
    drops: tuple[Drop, ...]
    mends: tuple[Mend, ...]
    events: tuple[Event, ...]
    ledgers: Mapping[str, Any]

    @property
    def codes(self) -> list[str]:
        """The codes of all drops, then of all mends."""
        return [*(drop.code for drop in self.drops), *(mend.code for mend in self.mends)]

    def account(self, agent: str) -> dict[str, Any]:
        """Return an agent's account as the ledgers show it."""
        shown: dict[str, Any] = self.ledgers["accounts"][agent]
        return shown

    def played(self) -> PlayedTurn[State, Intent]:
        """Return the turn as measures read it."""
        return PlayedTurn(self.before, self.intents, self.after, self.events, ())


def turn(state: State, answers: Answers) -> Turn:
    """Let agents answer and resolve the turn. An agent without an answer does nothing."""
    return told(play(NATIONS, state, {agent: answers.get(agent) for agent in state.setting.agents}))


def told(played: "steps.Turn[State, Intent]") -> Turn:
    judged, resolved = played.judged, played.resolved
    return Turn(
        played.before,
        resolved.state,
        judged.intents,
        judged.drops,
        (*judged.mends, *resolved.mends),
        resolved.events,
        resolved.ledgers,
    )


def one(state: State, agent: str, answer: Mapping[str, Any]) -> tuple[Intent, list[str]]:
    """Return what one agent's answer comes to, and the codes of its drops and mends."""
    found = validate(state, agent, answer)
    return found.intent, [*(drop.code for drop in found.drops), *(mend.code for mend in found.mends)]


def run(state: State, policies: Sequence[str], turns: int, noise: float = 0.0) -> list[Turn]:
    """Play policies, dealt to the agents in order, each with its own memory."""
    return [told(played) for played in islice(play_policies(NATIONS, state, policies, noise), turns)]


def digest(played: Sequence[Turn]) -> str:
    """Return a hash of everything that was recorded about some turns."""
    chain = hashlib.sha256()
    for done in played:
        record: dict[str, Any] = {
            "state": NATIONS.state.to_json(done.after),
            "views": {agent: NATIONS.observe(done.after, agent) for agent in done.after.setting.agents},
            "intents": {agent: NATIONS.intent.to_json(intent) for agent, intent in done.intents.items()},
            "drops": [drop.to_json() for drop in done.drops],
            "mends": [mend.to_json() for mend in done.mends],
            "events": [event.to_json() for event in done.events],
            "ledgers": done.ledgers,
        }
        chain.update(canonical(record).encode())
    return chain.hexdigest()
