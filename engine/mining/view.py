"""mining: what one agent sees at the start of a round, built up from what it may know.

Source: docs/rules/mining.md#what-an-agent-sees.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from functools import lru_cache

from engine.mining.state import Cell, Deeds, State
from engine.record import Json, JsonObject

UNOWNED = ".."

PRIVATE = ("gold[agent]", "deeds[agent]", "fined[agent]")
"""What one agent alone may know of a state. Source: docs/rules/mining.md#what-a-view-never-shows."""


def observe(state: State, agent: str) -> JsonObject:
    """Return the view of one agent as plain JSON, with plots as [row, col].

    Source: docs/rules/mining.md#view, docs/rules/mining.md#what-a-view-never-shows.
    """
    mine = state.holdings[agent]
    view: dict[str, Json] = {
        "world": "mining",
        "you": agent,
        "turn": state.turn,
        "stamina": state.stamina(agent),
        **_public(state),
        "your_plots": [[r, c, _age(state, (r, c))] for r, c in mine],
        "your_core": [list(cell) for cell in core_plots(state, agent)],
        "gold": state.gold[agent],
        "your_last_round": _own_deeds(state, agent),
    }
    if state.config.communication:
        view["messages"] = [{"from": author, "text": text} for author, text in state.messages]
    return view


def _own_deeds(state: State, agent: str) -> Mapping[str, int]:
    """Return what an agent did last round. The result is empty if there was no round yet."""
    deeds = state.deeds.get(agent)
    return {} if deeds is None else {name: getattr(deeds, name) for name in Deeds.__slots__}


@lru_cache(maxsize=2)
def _public(state: State) -> JsonObject:
    """Return what all agents see alike. The cache makes this once per round, not once per agent.

    Source: docs/rules/mining.md#totals.
    """
    return {
        "map": draw_map(state),
        "plots_held": {name: len(held) for name, held in state.holdings.items()},
        "largest": _largest(state),
        "last_round": _last_round(state),
        "summary": [asdict(tally) for tally in state.tallies],
        "rules": _rules(state),
    }


def _rules(state: State) -> JsonObject:
    """Return the numbers of the rules. Alpha is one number, or one per plot if plots differ.

    Source: docs/rules/mining.md#numbers-of-the-rules.
    """
    config = state.config
    rules: dict[str, Json] = {
        "mine_cap": config.mine_cap,
        "defense": config.defense,
        "immunity": config.immunity,
    }
    values = {alpha for row in state.alpha for alpha in row}
    rules["alpha"] = values.pop() if len(values) == 1 else [list(row) for row in state.alpha]
    return rules


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


def _age(state: State, cell: Cell) -> int:
    """Return for how many rounds the current owner has held a plot."""
    since = state.since[cell[0]][cell[1]]
    return 0 if since is None else state.turn - since


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


def border_plots(state: State, agent: str) -> tuple[Cell, ...]:
    """Return an agent's plots that touch a plot which is not its own.

    Source: docs/rules/mining.md#border-plots.
    """
    near = neighbours(state.config.rows, state.config.cols)
    own = set(state.holdings[agent])
    return tuple(cell for cell in state.holdings[agent] if not own.issuperset(near[cell]))


def core_plots(state: State, agent: str) -> tuple[Cell, ...]:
    """Return an agent's plots that are not border plots or, if all are, those that it has held longest.

    Source: docs/rules/mining.md#core-plots.
    """
    held, border = state.holdings[agent], set(border_plots(state, agent))
    inner = tuple(cell for cell in held if cell not in border)
    if inner or not held:
        return inner
    oldest = max(_age(state, cell) for cell in held)
    return tuple(cell for cell in held if _age(state, cell) == oldest)


def _largest(state: State) -> JsonObject | None:
    """Return the largest landholder (of equals the first by name) and its border plots, or None.

    Source: docs/rules/mining.md#largest-landholder.
    """
    holder = max(state.setting.agents, key=lambda agent: len(state.holdings[agent]))
    if not state.holdings[holder]:
        return None
    return {"agent": holder, "border": [list(cell) for cell in border_plots(state, holder)]}


def _last_round(state: State) -> Mapping[str, Json]:
    """Return what happened last round, plot by plot.

    Source: docs/rules/mining.md#last-round.
    """
    news = state.news
    return {
        "contested": [
            {"plot": list(claim.cell), "by": list(claim.claimants), "won_by": claim.winner}
            for claim in news.claims
            if len(claim.claimants) > 1
        ],
        "defended": [list(cell) for cell in news.defended],
        "raided": [
            {"plot": list(r.cell), "owner": r.owner, "by": list(r.raiders), "taken_by": r.taken_by}
            for r in news.raids
        ],
    }
