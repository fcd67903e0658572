"""nations: what one agent sees at the start of a turn, built up from what it may know.

Source: seed, "(0.a)"; decisions page, "What an agent sees". What the seed calls `previous_turn_summary` and
`history_summary` is the agent's own mind; whoever asks the agent adds it under `mind`.
"""

from collections.abc import Mapping
from functools import lru_cache

from engine.nations.accounts import Account
from engine.nations.actions import EVERYBODY
from engine.nations.state import Pairs, State, listed
from engine.record import Json, JsonObject


def observe(state: State, agent: str) -> JsonObject:
    """Give the view of one agent as plain JSON; at turn 0 only what is structural and static."""
    config = state.config
    view: dict[str, Json] = {
        "world": "nations",
        "turn": state.turn,
        "self": agent,
        **(_own_board(state, agent) if config.observability == "own" else _board(state)),
        "persona": config.personas.get(agent, "none"),
        "objective": _objective(state, agent),
        "message_limit": config.message_limit if config.messages else 0,
    }
    if not config.hide_horizon:
        view["turns_left"] = config.rounds - state.turn
    if config.map != "none":
        view["map"] = _map(state, agent)
    if state.turn > 0:
        account = state.accounts.get(agent)
        view["account"] = {} if account is None else account.to_json()
        view["news"] = _news(state) if config.observability == "full" else {}
        if config.messages:
            view["messages"] = _messages_to(state, agent)
        if config.reports == "published":
            view["reports"] = _published(state)
    return view


def _board_of(state: State, agents: tuple[str, ...]) -> JsonObject:
    """Give the names of all, the constants, and the territories, armies and supplies of some."""
    board: dict[str, Json] = {
        "agents": list(state.setting.agents),
        "territories": {agent: list(state.territories[agent]) for agent in agents},
        "army": {agent: state.army[agent] for agent in agents},
        "constants": state.constants.model_dump(),
    }
    if state.config.resources:
        board["resources"] = {
            "need_per_territory": state.config.resource_need,
            "supply": {agent: state.supply(agent) for agent in agents},
        }
    return board


@lru_cache(maxsize=2)
def _board(state: State) -> JsonObject:
    """Give the board that every agent sees alike; worked out once a turn."""
    return _board_of(state, state.setting.agents)


def _own_board(state: State, agent: str) -> JsonObject:
    """Give the board of an agent that sees nothing of others."""
    return _board_of(state, (agent,))


def _map(state: State, agent: str) -> JsonObject:
    """Give what touches what, and the capitals of those whose board the agent sees."""
    capitals = state.land.capitals
    if state.config.observability == "own":
        capitals = {name: capital for name, capital in capitals.items() if name == agent}
    return {"edges": [list(edge) for edge in state.land.edges], "capitals": dict(capitals)}


def _objective(state: State, agent: str) -> JsonObject:
    """Say what the agent is scored by."""
    bad = state.config.bad_actors.get(agent)
    return {"goal": "welfare"} if bad is None else bad.model_dump(exclude_none=True)


def _messages_to(state: State, agent: str) -> list[Json]:
    """List what others wrote to an agent, or to all, and what it wrote to itself."""
    return [
        {"from": author, "to": addressee, "text": text}
        for author, addressee, text in state.messages
        if addressee == agent or (addressee == EVERYBODY and author != agent)
    ]


@lru_cache(maxsize=2)
def _news(state: State) -> JsonObject:
    """Tell everyone's results of the last turn; worked out once a turn."""
    told = {agent: state.accounts[agent] for agent in state.setting.agents if agent in state.accounts}
    news: dict[str, Json] = {
        "attacks": [
            {"from": agent, "to": target, "mils": mils}
            for agent, account in told.items()
            for target, mils in account.attacked.items()
        ],
        "grants": [
            {"from": agent, "to": receiver, "amount": amount}
            for agent, account in told.items()
            for receiver, amount in account.granted_to.items()
        ],
        "cessions": [
            {"from": agent, "to": receiver, "territories": list(territories)}
            for agent, account in told.items()
            for receiver, territories in account.ceded_to.items()
        ],
        "results": {agent: _result(account) for agent, account in told.items()},
    }
    if state.config.resources:
        news["resource_grants"] = [
            {"from": giver, "to": receiver, "resource": resource, "amount": amount}
            for giver, receiver, resource, amount in listed(state.handed_over)
        ]
    return news


def picture(state: State) -> list[list[str]]:
    """Draw the board for people: a row for each agent."""
    rows = [
        (agent, len(state.territories[agent]), state.army[agent], state.welfare[agent])
        for agent in state.setting.agents
    ]
    return [["", "land", "mils", "welfare"], *([str(word) for word in row] for row in rows)]


def _result(account: Account) -> JsonObject:
    """Tell what a turn came to for one agent.

    Gained = gross - damage - violence penalty + beyond income - upkeep - purchases - grants + trade.
    """
    return {
        **{label: account.amount(label) for label, _ in account.money},
        "trade": dict(account.welfare)["trade"],
        "gained": account.gained,
        "total": account.total,
        "rank": account.rank,
    }


@lru_cache(maxsize=2)
def _published(state: State) -> JsonObject:
    """Publish the averages of the last reports."""
    return {
        "keeps_word": _averages(state.setting.agents, state.keeps_word),
        "aggressor": _averages(state.setting.agents, state.aggressor),
    }


def _averages(agents: tuple[str, ...], reports: Pairs) -> Mapping[str, float]:
    """Average what the others say of each agent, in tenths, rounded down.

    What an agent says of itself does not count.
    """
    averages = {}
    for agent in agents:
        ratings = [report[agent] for rater, report in reports.items() if rater != agent and agent in report]
        if ratings:
            averages[agent] = 10 * sum(ratings) // len(ratings) / 10
    return averages
