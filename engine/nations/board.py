"""nations: the drawing of a turn, with territories, armies, and what each agent did to whom.

With a map, territories lie as they touch, and armies on capitals. Without one, agents lie in a ring.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, isqrt
from typing import TypeAlias

from hobbes.engine.board import (
    SIDE,
    Arrow,
    Badge,
    Bar,
    Board,
    Kind,
    Line,
    Place,
    disc_size,
    join_names,
    spread,
    title_of,
)
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.nations.land import Edge, by_number
from hobbes.engine.nations.state import State, starting_territories
from hobbes.engine.nations.validation import Intent
from hobbes.engine.picture import Picture
from hobbes.engine.record import Event
from hobbes.engine.telling import counted

KINDS = (
    Kind("attack", "harm", "mils sent against an agent; they destroy income"),
    Kind("gift", "help", "money, resources or land that an agent gave to another"),
    Kind("ceded", "taken", "changed hands in this turn; the corner has the former owner's colour"),
    Kind("capital", "chief", "a capital, which cannot be ceded"),
)

MAX_DRAWN = 600
"""How many territories of a map are drawn. If there are more, it is not drawn."""

MAX_NAMED = 2
"""How many territories are named on an arrow; if there are more, their number is."""

MIN_SIZE = 45
"""The least share of its room that the disc of an army fills, in percent."""

Position: TypeAlias = tuple[float, float]


def board(played: PlayedTurn[State, Intent]) -> Board:
    """Return territories and armies after a turn, with what each agent did."""
    after, events = played.after, played.events
    count = Counter(event.type for event in events)
    given = count["grant"] + count["resource_grant"]
    happened = [(count["attack"], "attack"), (given, "grant"), (count["cede"], "cession")]
    few = sum(map(len, after.territories.values())) <= MAX_DRAWN
    layout = _on_map if after.config.map != "none" and few else _in_ring
    width, height, places = layout(played)
    shown = {place.name for place in places}
    edges = [(_land(a), _land(b)) for a, b in after.land.edges]
    return Board(
        title_of(played.before.turn, happened),
        after.setting.agents,
        width,
        height,
        tuple(places),
        arrows=tuple(_arrows(events)),
        lines=tuple(Line(*edge) for edge in edges if shown.issuperset(edge)),
        bars=tuple(_bars(played)),
        measure="welfare",
        kinds=KINDS,
        sizes="an agent's army, in mils",
    )


def _land(territory: str) -> str:
    """Return the name of a territory's place on the board."""
    return f"land {territory}"


def _army(agent: str) -> str:
    """Return the name of an agent's place on the board."""
    return f"army {agent}"


def _in_ring(played: PlayedTurn[State, Intent]) -> tuple[float, float, list[Place]]:
    """Return the size of a board without a map, and its places: agents, with how much land each has."""
    state, ring = played.after, spread(len(played.after.setting.agents))
    places = [
        _army_of(state, agent, at, (ring.room, ring.room), f"land {len(state.territories[agent])}")
        for agent, at in zip(state.setting.agents, ring.middles, strict=True)
    ]
    return SIDE, ring.height, places


def _on_map(played: PlayedTurn[State, Intent]) -> tuple[float, float, list[Place]]:
    """Return the size of a board with a map, and its places: armies lie on capitals.

    An agent without a capital lies below the map.
    """
    state, at = played.after, _positions(played.after)
    was, owners = _owners(played.before), _owners(state)
    capital_of = {capital: agent for agent, capital in state.land.capitals.items()}
    width = max([4, *(x + 1 for x, _ in at.values())])
    height = max([0, *(y + 1 for _, y in at.values())])
    places = [
        _territory(t, position, was.get(t), owners.get(t), capital_of.get(t)) for t, position in at.items()
    ]
    without = [agent for agent in state.setting.agents if agent not in state.land.capitals]
    middles = {agent: at[capital] for agent, capital in state.land.capitals.items()}
    middles |= {agent: (k % width, height + k // width) for k, agent in enumerate(without)}
    for agent in state.setting.agents:
        x, y = middles[agent]
        places.append(_army_of(state, agent, (x + 0.5, y + 0.5), (2, 0.85)))  # its name may be long
    return width, height + ceil(len(without) / width), places


def _positions(state: State) -> Mapping[str, Position]:
    start = [t for held in starting_territories(state.setting).values() for t in held]
    match state.config.map:
        case "grid":
            width = isqrt(max(0, len(start) - 1)) + 1
            return {territory: (k % width, k // width) for k, territory in enumerate(start)}
        case "ring":
            return dict(zip(start, _loop(len(start)), strict=True))
        case _:
            return _layers(start, state.land.edges)


def _loop(n: int) -> Sequence[Position]:
    """Return n positions around a square, clockwise from the top left."""
    side = ceil(n / 4)
    ways = ((0, 0, 1, 0), (side, 0, 0, 1), (side, side, -1, 0), (0, side, 0, -1))
    return [(x + dx * k, y + dy * k) for x, y, dx, dy in ways for k in range(side)][:n]


def _layers(territories: Sequence[str], edges: Sequence[Edge]) -> Mapping[str, Position]:
    """Return positions for any graph: a column for each distance from the first territory.

    A part that nothing joins to the rest begins below it.
    """
    near: dict[str, list[str]] = {territory: [] for territory in territories}
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    found: dict[str, Position] = {}
    top = 0
    for first in territories:
        if first in found:
            continue
        layer, column, bottom = [first], 0, top
        while layer:
            found |= {territory: (column, top + k) for k, territory in enumerate(layer)}
            bottom = max(bottom, top + len(layer))
            reached = dict.fromkeys(other for territory in layer for other in near[territory])
            layer, column = [other for other in reached if other not in found], column + 1
        top = bottom
    return found


def _owners(state: State) -> Mapping[str, str]:
    return {territory: agent for agent, held in state.territories.items() for territory in held}


def _territory(
    territory: str, at: Position, was: str | None, owner: str | None, capital_of: str | None
) -> Place:
    """Return the place of a territory on the map, by who owned it before the turn and who owns it now."""
    ceded = was is not None and was != owner
    words = f"{territory}: {owner or 'nobody'}'s"
    words += f", ceded by {was}" if ceded else ""
    words += f", capital of {capital_of}" if capital_of else ""
    badges = [Badge("ceded")] if ceded else []
    badges += [Badge("capital")] if capital_of else []
    return Place(
        _land(territory),
        at[0] + 0.5,
        at[1] + 0.5,
        1,
        1,
        words=words,
        owner=owner,
        was=was if ceded else None,
        text="" if capital_of else territory,
        shade=1 if capital_of else 2,
        badges=tuple(badges),
    )


def _army_of(state: State, agent: str, at: Position, room: tuple[float, float], note: str = "") -> Place:
    """Return the place of an agent in a room so wide and high: the larger its army, the larger its disc."""
    mils, most = state.army[agent], max([1, *state.army.values()])
    land = len(state.territories[agent])
    return Place(
        _army(agent),
        *at,
        *room,
        words=f"{agent}: land {land}, mils {mils}, welfare {state.welfare[agent]}",
        owner=agent,
        shape="disc",
        size=disc_size(mils, most, MIN_SIZE),
        text=str(mils),
        label=agent,
        note=note,
    )


def _arrows(events: tuple[Event, ...]) -> Iterator[Arrow]:
    """Yield what agents did to one another; all that one gave to another is one arrow."""
    given: dict[tuple[str, str], list[str]] = {}
    ceded: dict[tuple[str, str], list[str]] = {}
    for event in events:
        agent, told = event.agent, event.facts
        to = str(told.get("target", told.get("to")))
        match event.type:
            case "attack":
                fell = f", {told['lost']} of its own fall" if told["lost"] else ""
                mils = counted(int(str(told["mils"])), "mil")
                words = f"{agent} attacks {to} with {mils}: {told['damage']} damage{fell}"
                yield Arrow("attack", agent, _army(agent), _army(to), words, mils)
            case "grant":
                given.setdefault((agent, to), []).append(f"{told['amount']} money")
            case "resource_grant":
                given.setdefault((agent, to), []).append(f"{told['amount']} {told['resource']}")
            case "cede":
                ceded.setdefault((agent, to), []).append(str(told["territory"]))
            case _:
                continue
    for agent, to in sorted({*given, *ceded}):
        goods, land = given.get((agent, to), []), sorted(ceded.get((agent, to), []), key=by_number)
        short = [*goods, *(land if len(land) <= MAX_NAMED else [f"{len(land)} territories"])]
        words = f"{agent} gives {to} {join_names([*goods, *land])}"
        yield Arrow("gift", agent, _army(agent), _army(to), words, ", ".join(short))


def _bars(played: PlayedTurn[State, Intent]) -> Iterator[Bar]:
    before, after = played.before, played.after
    for agent in after.setting.agents:
        parts = []
        for what, then, now in (
            ("land", len(before.territories[agent]), len(after.territories[agent])),
            ("mils", before.army[agent], after.army[agent]),
        ):
            parts.append(f"{what} {now}" + (f" ({now - then:+})" if now != then else ""))
        welfare = after.welfare[agent]
        yield Bar(agent, agent, welfare, welfare - before.welfare[agent], ", ".join(parts))


def picture(state: State) -> list[list[str]]:
    """Return the board for people: a row for each agent.

    Source: docs/rules/nations.md#picture.
    """
    rows = [
        (agent, len(state.territories[agent]), state.army[agent], state.welfare[agent])
        for agent in state.setting.agents
    ]
    return [["", "land", "mils", "welfare"], *([str(word) for word in row] for row in rows)]


PICTURE: Picture[State, Intent] = Picture(picture, board=board)
