"""The floors: the same work in the plainest way, which says what the machine and the libraries cost anyway.

They keep nothing that hobbes is for: no views, no validation, no reasons, no resume.
"""

import asyncio
import hashlib
import json
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

SIZE, STAMINA, KINDS = 10, 10, ("claim", "raid", "defend", "mine")

Moves = Mapping[int, list[tuple[str, int]]]
"""The moves of each agent: what it does, and on which plot."""


class Board(TypedDict):
    """The state of a plain mining game: the round, the owner of each plot (-1: none), and everyone's gold."""

    turn: int
    owner: list[int]
    gold: list[int]


def board(agents: int) -> Board:
    """Return an empty board."""
    return {"turn": 0, "owner": [-1] * SIZE**2, "gold": [0] * agents}


def random_moves(here: Board, rng: random.Random) -> dict[int, list[tuple[str, int]]]:
    """Return random moves for each agent."""
    plots = range(SIZE**2)
    return {
        agent: [(rng.choice(KINDS), rng.choice(plots)) for _ in range(STAMINA)]
        for agent in range(len(here["gold"]))
    }


def played(here: Board, moves: Moves, rng: random.Random) -> Board:
    """Return the board after a round: claims, raids against defences, mining."""
    owner, gold = list(here["owner"]), list(here["gold"])
    claims: dict[int, list[int]] = {}
    raids: dict[int, list[int]] = {}
    defence: dict[int, int] = {}
    for agent, made in moves.items():
        for kind, plot in made:
            holder = owner[plot]
            if kind == "claim" and holder == -1:
                claims.setdefault(plot, []).append(agent)
            elif kind == "raid" and holder not in {-1, agent}:
                raids.setdefault(plot, []).append(agent)
            elif kind == "defend" and holder == agent:
                defence[plot] = defence.get(plot, 0) + 1
            elif kind == "mine" and holder == agent:
                gold[agent] += 1
    for plot, by in claims.items():
        owner[plot] = rng.choice(by)
    for plot, by in raids.items():
        if len(by) > defence.get(plot, 0):
            owner[plot] = rng.choice(by)
    return {"turn": here["turn"] + 1, "owner": owner, "gold": gold}


def linked(digest: str, here: Board, moves: Moves) -> str:
    """Return the next link of a chain of digests over moves and boards."""
    record = json.dumps([list(moves.items()), here], sort_keys=True)
    return hashlib.sha256((digest + record).encode()).hexdigest()


def plain_rounds(agents: int, rounds: int, *, choosing: bool) -> Iterator[Board]:
    """Yield the boards of a plain game; where moves are chosen as it is played, with a chain of digests."""
    rng, here, digest = random.Random(1), board(agents), ""  # noqa: S311  no secrets
    moves = [random_moves(here, rng) for _ in range(rounds)]
    yield here
    for given in moves:
        made = random_moves(here, rng) if choosing else given
        here = played(here, made, rng)
        digest = linked(digest, here, made) if choosing else digest
        yield here


def rounds_per_second(playing: Callable[[], Iterable[object]], repeats: int) -> float:
    """Return how many rounds per second are yielded, each round at the best speed of all repeats.

    A machine that does something else for a moment slows down a few rounds of one repeat. The first round of
    each repeat is left out, since everything is made ready in it.
    """
    best: dict[int, float] = {}
    for _ in range(repeats):
        began = time.perf_counter()
        for k, _ in enumerate(playing()):
            ended = time.perf_counter()
            best[k] = min(best.get(k, math.inf), ended - began)
            began = ended
    del best[0]
    return len(best) / sum(best.values())


def langgraph_decisions_per_second(agents: int, rounds: int, folder: Path) -> float:
    """Return the decisions per second of one LangGraph node that plays a round, with a checkpoint per round.

    The checkpoints are written with durability "sync" and SQLite's synchronous=NORMAL, as in hobbes.
    """
    rng = random.Random(1)  # noqa: S311  no secrets

    async def turn(here: Board) -> Board:
        return played(here, random_moves(here, rng), rng)

    graph: Any = StateGraph(Board)
    graph.add_node("turn", turn)
    graph.add_edge(START, "turn")
    graph.add_conditional_edges("turn", lambda here: END if here["turn"] >= rounds else "turn", ["turn", END])

    async def playing() -> float:
        async with AsyncSqliteSaver.from_conn_string(str(folder / "floor.db")) as saver:
            await saver.setup()
            await saver.conn.execute("PRAGMA synchronous=NORMAL")
            config = {"configurable": {"thread_id": "floor"}, "recursion_limit": rounds + 1}
            compiled = graph.compile(checkpointer=saver)
            began = time.perf_counter()
            await compiled.ainvoke(board(agents), config, durability="sync")
            return agents * rounds / (time.perf_counter() - began)

    return asyncio.run(playing())
