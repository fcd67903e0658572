"""What one agent sees at the start of a turn, built up from what it may know.

Source: docs/rules/nations.md#view-at-turn-0, docs/rules/nations.md#memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from hobbes.engine.arithmetic import Line
from hobbes.engine.nations.accounts import Account
from hobbes.engine.nations.actions import EVERYBODY
from hobbes.engine.nations.state import NationsConfig, Pairs, State
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
        **(_board_of(state, (agent,)) if config.observability == "own" else _board(state)),
    }
    if (persona := config.personas.get(agent, "none")) != "none":
        view["persona"] = persona
    if config.bad_actors:
        view["objective"] = _objective(state, agent)
    if not config.hide_horizon:
        view["turns_left"] = config.rounds - state.turn
    if config.map != "none":
        view["map"] = _map(state, agent)
    if config.messages:
        view["messages"] = _messages_to(state, agent)
    if state.turn > 0:
        account = state.accounts.get(agent)
        view["account"] = {} if account is None else _account(account)
        if config.observability == "full":
            view["news"] = _news(state, agent)
        if config.reports == "published":
            view["reports"] = _published_averages(state)
    return view


def remembering(view: JsonObject, memory: JsonObject) -> JsonObject:
    """Return the view with the agent's memory in it: nothing at turn 0, from then on both summaries.

    Feedback and reports are left out while they are empty.

    Source: docs/rules/nations.md#memory.
    """
    if view["turn"] == 0:
        return view
    summaries = ("previous_turn_summary", "history_summary")
    return {**view, **{name: told for name, told in memory.items() if told or name in summaries}}


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

    Source: docs/rules/nations.md#view-at-turn-0, docs/rules/nations.md#what-a-view-leaves-out,
    docs/rules/nations.md#own-observability.
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


def _deeds_and_changes(account: Account) -> JsonObject:
    """Return what a turn brought an agent, and what the agent did in it. What is 0 or empty is left out."""
    received = ("received", dict(account.welfare)["trade"])
    mils = _nonzero_lines(_changes_of_army(account))
    return {
        **_nonzero_lines((*account.money, received)),
        "total": account.total,
        **({"mils": mils} if mils else {}),
        **_nonempty_parts(account, ("attacked", "granted_to", "ceded_to")),
    }


def _changes_of_army(account: Account) -> Iterable[Line]:
    """Return what added mils to an army or took them away. No mil counts twice: what fell is not unpaid."""
    lines = dict(account.mils)
    lines["unpaid"] += lines.pop("counted_twice")
    del lines["start"]
    return lines.items()


def _account(account: Account) -> JsonObject:
    """Return an agent's own account: also its resources, where its mils fell, and what others did to it.

    A target that destroyed none of the agent's mils is left out of `lost_to`: that it destroyed those of
    another attacker is not for the agent to know.

    Source: docs/rules/nations.md#account-of-a-turn, docs/rules/nations.md#what-a-view-leaves-out.
    """
    own: dict[str, Json] = {
        "lost_to": _nonzero_lines(account.lost_to.items()),
        "resources": {resource: dict(lines) for resource, lines in account.resources.items()},
    }
    return {
        "gained": account.gained,
        **_deeds_and_changes(account),
        **_nonempty_parts(account, ("attacked_by", "received_from", "ceded_by")),
        **{name: lines for name, lines in own.items() if lines},
    }


def _nonzero_lines(lines: Iterable[Line]) -> dict[str, Json]:
    return {label: amount for label, amount in lines if amount}


def _nonempty_parts(account: Account, names: Sequence[str]) -> dict[str, Json]:
    return {name: account.as_json[name] for name in names if account.as_json[name]}


def _messages_to(state: State, agent: str) -> JsonObject:
    """Return what others wrote to the agent or to all, and what it wrote to itself: author, addressee, text.

    Source: docs/rules/nations.md#messages-to-an-agent.
    """
    read: dict[str, dict[str, str]] = {}
    for author, addressee, text in state.messages:
        if addressee == agent or (addressee == EVERYBODY and author != agent):
            read.setdefault(author, {})[addressee] = text
    return read


def _news(state: State, agent: str) -> JsonObject:
    """Return what every other agent did last turn, and what it brought them.

    Source: docs/rules/nations.md#full-observability.
    """
    return {other: told for other, told in _news_of_all(state).items() if other != agent}


@lru_cache(maxsize=2)
def _news_of_all(state: State) -> dict[str, JsonObject]:
    """Return what everybody did last turn; cached, so that it is made once a turn."""
    told = {agent: _deeds_and_changes(account) for agent, account in state.accounts.items()}
    for giver, goods in state.handed_over.items():
        told[giver] = {**told[giver], **({"resources_to": goods} if goods else {})}
    return told


@lru_cache(maxsize=2)
def _published_averages(state: State) -> JsonObject:
    """Return the averages of the last reports.

    Source: docs/rules/nations.md#published-reports.
    """
    agents = state.setting.agents
    word = {"keeps_word": _averages(agents, state.keeps_word)} if state.config.messages else {}
    return {**word, "aggressor": _averages(agents, state.aggressor)}


def _averages(agents: tuple[str, ...], reports: Pairs) -> Mapping[str, float]:
    """Return the average rating of each agent by the others, in tenths, rounded down.

    An agent's rating of itself does not count.
    """
    averages = {}
    for agent in agents:
        ratings = [report[agent] for rater, report in reports.items() if rater != agent and agent in report]
        if ratings:
            averages[agent] = 10 * sum(ratings) // len(ratings) / 10
    return averages
