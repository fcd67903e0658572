"""mining: what one agent sees at the start of a round, built up from what it may know.

Source: docs/rules/mining.md#what-an-agent-sees.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from hobbes.engine.mining.actions import KINDS
from hobbes.engine.mining.state import Cell, Deeds, MiningConfig, News, State, Tally
from hobbes.engine.record import Json, JsonObject

UNOWNED = ".."

PRIVATE = ("gold[agent]", "past[*].deeds[agent]", "fined[agent]", "messages[2=agent]")
"""What one agent alone may know of a state. Source: docs/rules/mining.md#what-a-view-never-shows."""


def observe(state: State, agent: str) -> JsonObject:
    """Return the view of one agent as plain JSON, with plots as [row, col].

    Source: docs/rules/mining.md#view, docs/rules/mining.md#what-a-view-never-shows.
    """
    return {
        "world": "mining",
        "you": agent,
        "turn": state.turn,
        **_public(state),
        "stamina": state.stamina(agent),
        "gold": state.gold[agent],
        "your_plots": [[*cell, state.held[cell]] for cell in state.holdings[agent]],
        **({"your_core": [list(cell) for cell in core_plots(state, agent)]} if state.config.guidance else {}),
        "your_rounds": _own_rounds(state, agent),
        **({"messages": _messages(state, agent)} if state.config.talk else {}),
    }


def _messages(state: State, agent: str) -> list[Json]:
    """Return the messages of the last round that an agent reads; those to it alone name it.

    Source: docs/rules/mining.md#messages, docs/rules/mining.md#private-messages.
    """
    return [
        {"from": told.author, "text": told.text, **({"to": agent} if told.to else {})}
        for told in state.messages
        if told.to in {None, agent}
    ]


def _own_rounds(state: State, agent: str) -> JsonObject:
    """Return what an agent did in the rounds that it may look back on: a list for each figure.

    Source: docs/rules/mining.md#own-rounds, docs/rules/mining.md#own-actions.
    """
    config, rounds = state.config, [log.deeds[agent] for log in state.past]
    names = [*KINDS, "gold"]
    if config.authority == "raid_tax":
        names += ["tax_paid", "tax_received"] if config.raid_tax_to == "victim" else ["tax_paid"]
    actions: list[Json] = [[list(action) for action in deeds.actions] for deeds in rounds]
    return {**_lists(rounds, names), **({"actions": actions} if config.own_history else {})}


def _lists(rounds: Sequence[Deeds | Tally], names: Iterable[str]) -> dict[str, Json]:
    """Return a list for each figure, with one number for each round."""
    return {name: [getattr(figures, name) for figures in rounds] for name in names}


@lru_cache(maxsize=2)
def _public(state: State) -> JsonObject:
    """Return what all agents see alike. The cache makes this once per round, not once per agent.

    Source: docs/rules/mining.md#view, docs/rules/mining.md#totals, docs/rules/mining.md#horizon,
    docs/rules/mining.md#protected-plots, docs/rules/mining.md#last-round.
    """
    config = state.config
    view: dict[str, Json] = {
        "map": draw_map(state),
        "plots_held": {name: len(held) for name, held in state.holdings.items()},
        **({"largest": _largest(state)} if config.guidance else {}),
        "last_round": _news(config, state.news),
        "summary": _summary(state),
        "rules": _rules(state),
    }
    if config.immunity > 1:
        view["protected"] = [[*cell, turn] for cell, turn in state.protected.items()]
    if config.visibility == "full":
        view["earlier_rounds"] = [{"turn": log.turn, **_news(config, log.news)} for log in state.past[:-1]]
    if not config.hide_horizon:
        view["turns_left"] = config.rounds - state.turn
    return view


def _rules(state: State) -> JsonObject:
    """Return the numbers of the rules. Alpha is one number, or rows of numbers if plots may differ.

    Source: docs/rules/mining.md#numbers-of-the-rules.
    """
    config, values = state.config, {alpha for row in state.alpha for alpha in row}
    alike = isinstance(config.alpha, int) and len(values) == 1
    return {
        "mine_cap": config.mine_cap,
        "gold_per_stamina": values.pop() if alike else [list(row) for row in state.alpha],
    }


def map_codes(agents: Collection[str]) -> dict[str, str]:
    """Return each agent's code on the map: its number among the agents, from 01.

    Source: docs/rules/mining.md#map.
    """
    width = max(2, len(str(len(agents))))
    return {agent: str(k).zfill(width) for k, agent in enumerate(agents, start=1)}


def draw_map(state: State) -> list[str]:
    """Return the map as one text per row: the code of each plot's owner, or `..` for an unowned plot.

    Source: docs/rules/mining.md#map.
    """
    codes = map_codes(state.setting.agents)
    return [" ".join(UNOWNED if owner is None else codes[owner] for owner in row) for row in state.owners]


@lru_cache(maxsize=8)
def neighbours(rows: int, cols: int) -> Mapping[Cell, tuple[Cell, ...]]:
    """Return the neighbours of each plot of a grid: above, left, right and below.

    Source: docs/rules/mining.md#border-plots.
    """
    grid = {(r, c) for r in range(rows) for c in range(cols)}
    return {
        (r, c): tuple(near for near in ((r - 1, c), (r, c - 1), (r, c + 1), (r + 1, c)) if near in grid)
        for r, c in grid
    }


def border_of(held: Collection[Cell], rows: int, cols: int) -> tuple[Cell, ...]:
    """Return those plots of one agent that touch a plot which is not its own.

    Source: docs/rules/mining.md#border-plots.
    """
    near, own = neighbours(rows, cols), set(held)
    return tuple([cell for cell in held if not own.issuperset(near[cell])])


def core_of(held: Mapping[Cell, int], rows: int, cols: int) -> tuple[Cell, ...]:
    """Return an agent's plots that are not border plots or, if all are, those that it has held longest.

    `held` has its plots, each with the rounds for which it has held it.

    Source: docs/rules/mining.md#core-plots.
    """
    border = border_of(held, rows, cols)
    if len(border) < len(held):
        return tuple([cell for cell in held if cell not in border])
    longest = max(held.values(), default=0)
    return tuple([cell for cell, rounds in held.items() if rounds == longest])


def core_plots(state: State, agent: str) -> tuple[Cell, ...]:
    """Return an agent's core plots."""
    held = {cell: state.held[cell] for cell in state.holdings[agent]}
    return core_of(held, state.config.rows, state.config.cols)


def largest_of(plots_held: Mapping[str, int]) -> list[str]:
    """Return the agents with the most plots; nobody if all have equally many.

    Source: docs/rules/mining.md#largest-landholder.
    """
    most = max(plots_held.values())
    largest = [agent for agent, held in plots_held.items() if held == most]
    return largest if len(largest) < len(plots_held) else []


def _largest(state: State) -> list[Json]:
    """Return the largest landholders, each with its border plots."""
    rows, cols, held = state.config.rows, state.config.cols, state.holdings
    return [
        {"agent": agent, "border": [list(cell) for cell in border_of(held[agent], rows, cols)]}
        for agent in largest_of({agent: len(plots) for agent, plots in held.items()})
    ]


def _news(config: MiningConfig, news: News) -> JsonObject:
    """Return what happened in a round, plot by plot.

    Source: docs/rules/mining.md#last-round.
    """
    return {
        "contested": [
            {"plot": list(claim.cell), "by": list(claim.claimants), "won_by": claim.winner}
            for claim in news.claims
            if len(claim.claimants) > 1
        ],
        "defended": [list(cell) for cell in news.defended],
        "raided": [
            {
                "plot": list(raid.cell),
                "owner": raid.owner,
                "by": list(raid.raiders),
                "taken_by": raid.taken_by,
                **({"returned": raid.returned} if config.authority == "adjudication" else {}),
            }
            for raid in news.raids
        ],
    }


def _summary(state: State) -> JsonObject:
    """Return the rolling summary: a list for each figure, which counts plots.

    Source: docs/rules/mining.md#rolling-summary.
    """
    names = ["claimed", "contested", "defended", "raided", "taken"]
    if state.config.authority == "adjudication":
        names.append("returned")
    return {"turn": [log.turn for log in state.past], **_lists([log.tally for log in state.past], names)}
