"""Boards as pictures and rounds as plays.

A picture is one line of text: the rows from the top, separated by `/`. A letter is the owner of a plot, and
`.` is an unowned plot. So `board("AA./B.C")` is two rows of three plots, held by the agents A, B and C.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from hobbes.engine.measures import PlayedTurn
from hobbes.engine.mining.state import MiningConfig, State, setup
from hobbes.engine.mining.validation import Intent, as_answer
from hobbes.engine.mining.world import MINING
from hobbes.engine.record import Json, JsonObject
from hobbes.engine.world import Resolved, Validated
from tests import turns

Answer: TypeAlias = Mapping[str, Any]

LONG_AGO = 0
NOW = 10
SEED = 1


def board(
    picture: str,
    *,
    agents: str = "",
    gold: Mapping[str, int] | None = None,
    turn: int = NOW,
    **config: object,
) -> State:
    """Return a board on which all plots have been held since round 0. `agents` adds agents without land."""
    rows = picture.split("/")
    names = tuple(sorted((set(picture) | set(agents)) - {"/", "."}))
    rules = MiningConfig.model_validate({"rows": len(rows), "cols": len(rows[0]), **config})
    state = setup(rules, names, SEED)
    owners = tuple(tuple(None if plot == "." else plot for plot in row) for row in rows)
    ages = tuple(tuple(None if plot == "." else LONG_AGO for plot in row) for row in rows)
    return replace(
        state,
        turn=turn,
        owners=owners,
        first_owner=owners,
        since=ages,
        claimed=ages,
        gold={**state.gold, **(gold or {})},
    )


def picture(state: State) -> str:
    """Return a board as the picture that `board` reads."""
    return "/".join("".join(owner or "." for owner in row) for row in state.owners)


@dataclass(frozen=True)
class Round:
    """One round that was played: the state before it, the checked answers, and the result."""

    before: State
    validated: Mapping[str, Validated[Intent]]
    resolved: Resolved[State]

    @property
    def after(self) -> State:
        return self.resolved.state

    @property
    def picture(self) -> str:
        return picture(self.after)

    @property
    def gold(self) -> dict[str, int]:
        return dict(self.after.gold)

    @property
    def drawn(self) -> list[tuple[str, Json, tuple[str, ...]]]:
        return [(draw.event, draw.subject, draw.participants) for draw in self.resolved.draws]

    @property
    def played(self) -> PlayedTurn[State, Intent]:
        intents = {agent: validated.intent for agent, validated in self.validated.items()}
        return PlayedTurn(self.before, intents, self.after, self.resolved.events, self.resolved.draws)

    def does(self, agent: str) -> list[dict[str, Json]]:
        """Return the actions that are left of an answer, as an agent would say them."""
        return [as_answer(action) for action in self.validated[agent].intent.actions]

    def spends(self, agent: str) -> int:
        return sum(action.stamina for action in self.validated[agent].intent.actions)

    def drops(self, agent: str) -> list[str]:
        return [drop.code for drop in self.validated[agent].drops]

    def mends(self, agent: str) -> list[str]:
        return [mend.code for mend in self.validated[agent].mends]

    def events(self, kind: str) -> list[JsonObject]:
        return [event.to_json() for event in self.resolved.events if event.type == kind]

    def results(self, kind: str = "raid") -> dict[str, Json]:
        """Return the result of each raider's raid."""
        return {event.agent: event.facts["result"] for event in self.resolved.events if event.type == kind}


def play(state: State, **answers: Answer) -> Round:
    """Play a round with these answers. An agent that is not named gives no answer."""
    turn = turns.play(MINING, state, {agent: answers.get(agent) for agent in state.setting.agents})
    return Round(state, turns.validated(turn), turn.resolved)


def history(state: State, *rounds: Mapping[str, Answer]) -> list[PlayedTurn[State, Intent]]:
    """Play rounds one after the other and return them in the form that measures read."""
    played: list[PlayedTurn[State, Intent]] = []
    for answers in rounds:
        one = play(state, **answers)
        played.append(one.played)
        state = one.after
    return played


def mine(*orders: tuple[int, int, int]) -> Sequence[Json]:
    """Return orders to mine, each given as (row, column, stamina)."""
    return [{"cell": [row, col], "s": stamina} for row, col, stamina in orders]
