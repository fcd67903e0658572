"""What one agent sees at the start of a turn, built up from what it may know.

The seed's `previous_turn_summary` and the agent's history are its memory. Whoever asks the agent adds the
memory to the view.

Source: docs/rules/nations.md#view-at-turn-0, docs/rules/nations.md#memory.
"""

from collections.abc import Mapping
from functools import lru_cache

from hobbes.engine.nations.accounts import Account
from hobbes.engine.nations.actions import EVERYBODY
from hobbes.engine.nations.state import NationsConfig, Pairs, State, listed
from hobbes.engine.record import Json, JsonObject


def observe(state: State, agent: str) -> JsonObject:
    """Return one agent's view as plain JSON; at turn 0, only what is structural and static.

    What the settings switch off is left out.

    Source: docs/rules/nations.md#view-at-turn-0, docs/rules/nations.md#view-from-turn-1,
    docs/rules/nations.md#what-a-view-leaves-out,
    docs/rules/nations.md#partial-observability, docs/rules/nations.md#turns-left,
    docs/rules/nations.md#memory, docs/rules/nations.md#personas,
    docs/rules/nations.md#plain-and-bounded-view.
    """
    config = state.config
    view: dict[str, Json] = {
        "world": "nations",
        "turn": state.turn,
        "self": agent,
        **(_own_board(state, agent) if config.observability == "own" else _board(state)),
    }
    if (persona := config.personas.get(agent, "none")) != "none":
        view["persona"] = persona
    if config.bad_actors:
        view["objective"] = _objective(state, agent)
    if config.messages:
        view["message_limit"] = config.message_limit
    if not config.hide_horizon:
        view["turns_left"] = config.rounds - state.turn
    if config.map != "none":
        view["map"] = _map(state, agent)
    if state.turn > 0:
        account = state.accounts.get(agent)
        view["account"] = {} if account is None else _account(state, account)
        if config.observability == "full":
            view["news"] = _news(state)
        if config.messages:
            view["messages"] = _messages_to(state, agent)
        if config.reports == "published":
            view["reports"] = _published(state)
    return view


def private(config: NationsConfig) -> tuple[str, ...]:
    """Return what one agent alone may know of a state, as paths; the treatments say what is public.

    Source: docs/rules/nations.md#messages-to-an-agent, docs/rules/nations.md#published-reports,
    docs/rules/nations.md#partial-observability, docs/rules/nations.md#own-observability.
    """
    paths = ["messages[1=agent].2"]
    if config.reports == "private":
        paths += ["keeps_word[agent]", "aggressor[agent]"]
    if config.observability != "full":
        paths += ["accounts[agent]", "welfare[agent]", "handed_over[agent]"]
        paths += ["attacked[agent]", "granted[agent]", "ceded[agent]"]
    if config.observability == "own":
        paths += ["territories[agent]", "army[agent]"]
    return tuple(paths)


def _board_of(state: State, agents: tuple[str, ...]) -> JsonObject:
    """Return all names, the constants, and the territories, armies and supplies of some agents.

    Source: docs/rules/nations.md#view-at-turn-0, docs/rules/nations.md#what-a-view-leaves-out.
    """
    constants = state.constants.model_dump()
    if not state.constants.c_violence_penalty:
        del constants["c_violence_penalty"]
    board: dict[str, Json] = {
        "agents": list(state.setting.agents),
        "territories": {agent: list(state.territories[agent]) for agent in agents},
        "army": {agent: state.army[agent] for agent in agents},
        "constants": constants,
    }
    if state.config.resources:
        board["resources"] = {
            "need_per_territory": state.config.resource_need,
            "supply": {agent: state.supply(agent) for agent in agents},
        }
    return board


@lru_cache(maxsize=2)
def _board(state: State) -> JsonObject:
    """Return the board that every agent sees alike; cached, so that it is made once a turn."""
    return _board_of(state, state.setting.agents)


def _own_board(state: State, agent: str) -> JsonObject:
    """Return the board of an agent that sees nothing of others.

    Source: docs/rules/nations.md#own-observability.
    """
    return _board_of(state, (agent,))


def _map(state: State, agent: str) -> JsonObject:
    """Return which territories touch, and of the agents whose board the agent sees, what it may cede to them.

    Source: docs/rules/nations.md#map, docs/rules/nations.md#ceding-under-a-map,
    docs/rules/nations.md#own-observability.
    """
    edges: list[Json] = [list(edge) for edge in state.land.edges]
    capitals = state.land.capitals
    if state.config.observability == "own":
        return {"edges": edges, "capitals": {agent: capitals[agent]} if agent in capitals else {}}
    may_cede = {receiver: list(held) for receiver, held in state.may_cede[agent].items()}
    return {"edges": edges, "capitals": dict(capitals), "may_cede": may_cede}


def _objective(state: State, agent: str) -> JsonObject:
    """Return what the agent is scored by.

    Source: docs/rules/nations.md#objective.
    """
    bad = state.config.bad_actors.get(agent)
    return {"goal": "welfare"} if bad is None else bad.model_dump(exclude_none=True)


@lru_cache(maxsize=2)
def _always_zero(state: State) -> frozenset[str]:
    """Return the parts of an account and of results that the settings switch off.

    Source: docs/rules/nations.md#what-a-view-leaves-out.
    """
    constants = state.constants
    damage, penalty = constants.c_damage_per_attack_mil, constants.c_violence_penalty
    on = {
        "damage": damage,
        "damage_by": damage,
        "violence_penalty": penalty,
        "beyond_income": damage or penalty,
        "upkeep": constants.c_mil_upkeep_price,
        "unpaid": constants.c_mil_upkeep_price,
        "counted_twice": constants.c_mil_upkeep_price,
        "trade": constants.c_trade_factor,
        "resources": state.config.resources,
    }
    return frozenset(name for name, used in on.items() if not used)


def _account(state: State, account: Account) -> JsonObject:
    """Return an agent's account without the parts that the settings switch off.

    A target that destroyed none of the agent's mils is left out: that it destroyed those of another attacker
    is not for the agent to know.

    Source: docs/rules/nations.md#account-of-a-turn, docs/rules/nations.md#what-a-view-leaves-out.
    """
    off = _always_zero(state)
    lines = {"money": account.money, "welfare": account.welfare, "mils": account.mils}
    kept: dict[str, Json] = {
        name: [[label, amount] for label, amount in part if label not in off] for name, part in lines.items()
    }
    kept["lost_to"] = {target: mils for target, mils in account.lost_to.items() if mils}
    return {name: kept.get(name, value) for name, value in account.to_json().items() if name not in off}


def _messages_to(state: State, agent: str) -> list[Json]:
    """Return what others wrote to the agent or to all, and what it wrote to itself.

    Source: docs/rules/nations.md#messages-to-an-agent.
    """
    return [
        {"from": author, "to": addressee, "text": text}
        for author, addressee, text in state.messages
        if addressee == agent or (addressee == EVERYBODY and author != agent)
    ]


@lru_cache(maxsize=2)
def _news(state: State) -> JsonObject:
    """Return everyone's results of the last turn; cached, so that they are made once a turn.

    Source: docs/rules/nations.md#full-observability.
    """
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
        "results": {agent: _result(state, account) for agent, account in told.items()},
    }
    if state.config.resources:
        news["resource_grants"] = [
            {"from": giver, "to": receiver, "resource": resource, "amount": amount}
            for giver, receiver, resource, amount in listed(state.handed_over)
        ]
    return news


def picture(state: State) -> list[list[str]]:
    """Return the board for people: a row for each agent.

    Source: docs/rules/nations.md#picture.
    """
    rows = [
        (agent, len(state.territories[agent]), state.army[agent], state.welfare[agent])
        for agent in state.setting.agents
    ]
    return [["", "land", "mils", "welfare"], *([str(word) for word in row] for row in rows)]


def _result(state: State, account: Account) -> JsonObject:
    """Return what a turn brought one agent: the lines that add up to what it gained, and its total.

    Source: docs/rules/nations.md#full-observability.
    """
    lines = {**dict(account.money), "trade": dict(account.welfare)["trade"]}
    kept = {label: amount for label, amount in lines.items() if label not in _always_zero(state)}
    return {**kept, "gained": account.gained, "total": account.total}


@lru_cache(maxsize=2)
def _published(state: State) -> JsonObject:
    """Return the averages of the last reports.

    Source: docs/rules/nations.md#published-reports.
    """
    agents = state.setting.agents
    word = {"keeps_word": _averages(agents, state.keeps_word)} if state.config.messages else {}
    return {**word, "aggressor": _averages(agents, state.aggressor)}


def _averages(agents: tuple[str, ...], reports: Pairs) -> Mapping[str, float]:
    """Return the average rating of each agent by the others, in tenths, rounded down.

    An agent's rating of itself does not count.

    Source: docs/rules/nations.md#published-reports.
    """
    averages = {}
    for agent in agents:
        ratings = [report[agent] for rater, report in reports.items() if rater != agent and agent in report]
        if ratings:
            averages[agent] = 10 * sum(ratings) // len(ratings) / 10
    return averages
