"""mining: what one agent sees at the start of a round, built up from what it may know.

Source: seed `public_observables_and_memory`, `border_targeting_and_core_defense_definitions`; decisions page,
"What an agent sees". Never another's gold, reasoning or present decision.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache

from engine.mining.state import Cell, State
from engine.record import Json, JsonObject

UNOWNED = ".."


def observe(state: State, agent: str) -> JsonObject:
    """Give the view of one agent as plain JSON; plots are [row, col]."""
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
        "your_last_round": asdict(state.deeds[agent]) if agent in state.deeds else {},
    }
    if state.config.communication:
        view["messages"] = [{"from": author, "text": text} for author, text in state.messages]
    return view


@lru_cache(maxsize=2)
def _public(state: State) -> JsonObject:
    """Give what every agent sees alike; worked out once a round."""
    return {
        "map": draw_map(state),
        "plots_held": {name: len(held) for name, held in state.holdings.items()},
        "largest": _largest(state),
        "last_round": _last_round(state),
        "summary": [asdict(tally) for tally in state.tallies],
        "rules": _rules(state),
    }


def _rules(state: State) -> JsonObject:
    """Give the numbers of the rules; the productivity of each plot only where plots differ."""
    config = state.config
    rules: dict[str, Json] = {
        "mine_cap": config.mine_cap,
        "defense": config.defense,
        "immunity": config.immunity,
    }
    values = {alpha for row in state.alpha for alpha in row}
    rules["alpha"] = values.pop() if len(values) == 1 else [list(row) for row in state.alpha]
    return rules


def draw_map(state: State) -> list[str]:
    """Draw the map as compact rows: an owner is its place in `plots_held`, from 01; `..` is unowned."""
    width = len(str(len(state.setting.agents)))
    codes = {agent: str(k).zfill(max(2, width)) for k, agent in enumerate(state.setting.agents, start=1)}
    return [" ".join(UNOWNED if owner is None else codes[owner] for owner in row) for row in state.owners]


def _age(state: State, cell: Cell) -> int:
    """Tell for how many rounds the present owner has had a plot."""
    since = state.since[cell[0]][cell[1]]
    return 0 if since is None else state.turn - since


def _neighbours(state: State, cell: Cell) -> Iterator[Cell]:
    """List the up to four neighbours of a plot on the grid."""
    for r, c in (
        (cell[0] - 1, cell[1]),
        (cell[0], cell[1] - 1),
        (cell[0], cell[1] + 1),
        (cell[0] + 1, cell[1]),
    ):
        if 0 <= r < state.config.rows and 0 <= c < state.config.cols:
            yield (r, c)


def border_plots(state: State, agent: str) -> tuple[Cell, ...]:
    """List an agent's plots that have a 4-neighbour which is not its own."""
    return tuple(
        cell
        for cell in state.holdings[agent]
        if any(state.owner(neighbour) != agent for neighbour in _neighbours(state, cell))
    )


def core_plots(state: State, agent: str) -> tuple[Cell, ...]:
    """List an agent's plots whose 4-neighbours are all its own; where there are none, its longest held."""
    held, border = state.holdings[agent], set(border_plots(state, agent))
    inner = tuple(cell for cell in held if cell not in border)
    if inner or not held:
        return inner
    oldest = max(_age(state, cell) for cell in held)
    return tuple(cell for cell in held if _age(state, cell) == oldest)


def _largest(state: State) -> JsonObject | None:
    """Name the largest landholder (the first by name among equals) and its border plots."""
    holder = max(state.setting.agents, key=lambda agent: len(state.holdings[agent]))
    if not state.holdings[holder]:
        return None
    return {"agent": holder, "border": [list(cell) for cell in border_plots(state, holder)]}


def _last_round(state: State) -> Mapping[str, Json]:
    """Tell what happened last round, plot by plot."""
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
