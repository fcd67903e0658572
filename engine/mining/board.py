"""mining: what a round looks like: the grid after it, with its claims, raids, defences and gold."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping

from hobbes.engine.board import DARKEST, Arrow, Badge, Bar, Board, Kind, Place, join_names, numbers, title_of
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.mining.rules import plot_of
from hobbes.engine.mining.state import Cell, State
from hobbes.engine.mining.validation import Intent
from hobbes.engine.mining.view import draw_map, map_codes
from hobbes.engine.picture import Picture
from hobbes.engine.record import Event
from hobbes.engine.telling import counted

KINDS = (
    Kind("raid", "harm", "a raid, from the raider's nearest plot"),
    Kind("claimed", "new", "claimed in this turn; a number: how many agents tried"),
    Kind("captured", "taken", "captured in this turn; the corner has the former owner's colour"),
    Kind("defended", "guarded", "defended in this turn; a number: with so many points"),
    Kind("immune", "safe", "cannot be raided in the next turn"),
    Kind("rich", "worth", "gold for each stamina spent on mining"),
    Kind("mined", "gain", "gold that was mined here"),
)

EDGE = 0.5
"""How much room the numbers of rows and columns have at the edge, in plots."""

AGES = (1, 5, 20)
"""For how many rounds at most a plot of each shade has been held; those of the darkest longer."""


def board(played: PlayedTurn[State, Intent]) -> Board:
    """Return the grid after a round, with what happened in it."""
    state, count = played.after, Counter(event.type for event in played.events)
    raids = [event for event in played.events if event.type == "raid"]
    returned = _at_plots(played, "return")
    happened = [
        (count["claim"], "claim"),
        (len(raids), "raid"),
        (sum(raid.facts["result"] == "captured" for raid in raids), "capture"),
        (count["defend"], "defended plot"),
    ]
    return Board(
        title_of(played.before.turn, happened),
        state.setting.agents,
        width=EDGE + state.config.cols,
        height=EDGE + state.config.rows,
        places=(
            *_places(played),
            *numbers(state.config.rows, state.config.cols, (EDGE, EDGE), (1, 1)),
        ),
        arrows=tuple(_raid(played.before, raid, returned) for raid in raids),
        bars=tuple(_bars(played)),
        measure="gold",
        kinds=KINDS,
        shading="how long a plot has been held: at most 1, 5 or 20 turns, or longer",
    )


def _at_plots(played: PlayedTurn[State, Intent], kind: str) -> Mapping[Cell, list[Event]]:
    at: dict[Cell, list[Event]] = {}
    for event in played.events:
        if event.type == kind:
            at.setdefault(plot_of(event), []).append(event)
    return at


def _places(played: PlayedTurn[State, Intent]) -> Iterator[Place]:
    """Yield each plot, row by row."""
    before, after = played.before, played.after
    codes = map_codes(after.setting.agents)
    at = {kind: _at_plots(played, kind) for kind in ("claim", "defend", "mine")}
    plain = min(map(min, after.alpha))
    for cell, owner in after.owner.items():
        row, column = cell
        was = before.owner[cell]
        badges, words = [], [f"plot {row},{column}: {owner or 'nobody'}'s"]
        if owner:
            words.append(f"held since turn {after.turn - after.held[cell]}")
        if claims := at["claim"].get(cell):
            badges.append(Badge("claimed", f"{len(claims)}" if len(claims) > 1 else ""))
            losers = [claim.agent for claim in claims if not claim.facts["won"]]
            words.append("claimed" + (f", also wanted by {join_names(losers)}" if losers else ""))
        if was not in {None, owner}:
            badges.append(Badge("captured"))
            words.append(f"captured from {was}")
        for defence in at["defend"].get(cell, ()):
            points = defence.facts["points"]
            badges.append(Badge("defended", f"{points}" if points != 1 else ""))
            words.append(f"defended with {points}")
        if cell in after.protected:
            badges.append(Badge("immune"))
            words.append(f"immune until turn {after.protected[cell]}")
        if (alpha := after.alpha[row][column]) > plain:
            badges.append(Badge("rich", f"x{alpha}"))
            words.append(f"{alpha} gold per stamina")
        if gold := sum(int(str(order.facts["gold"])) for order in at["mine"].get(cell, ())):
            badges.append(Badge("mined", f"+{gold}"))
            words.append(f"{gold} gold mined")
        yield Place(
            _name(cell),
            EDGE + column + 0.5,
            EDGE + row + 0.5,
            1,
            1,
            words=", ".join(words),
            owner=owner,
            was=was if was != owner else None,
            text=codes[owner] if owner else "",
            shade=_shade(after.held[cell]),
            badges=tuple(badges),
        )


def _name(cell: Cell) -> str:
    return f"{cell[0]},{cell[1]}"


def _shade(held: int) -> int:
    """Return the shade of a plot that has been held for so many rounds: the longer, the darker."""
    return next((shade for shade, most in enumerate(AGES) if held <= most), DARKEST)


def _raid(before: State, raid: Event, returned: Container[Cell]) -> Arrow:
    """Return the arrow of a raid. It comes from the raider's plot that was nearest, if it had one.

    An authority gave back the `returned` plots.
    """
    cell, result = plot_of(raid), str(raid.facts["result"])
    near = min(
        before.holdings[raid.agent],
        key=lambda own: (abs(own[0] - cell[0]) + abs(own[1] - cell[1]), own),
        default=None,
    )
    ended = result if result != "captured" or cell not in returned else "captured, and returned"
    return Arrow(
        "raid",
        raid.agent,
        None if near is None else _name(near),
        _name(cell),
        words=f"{raid.agent} raids plot {_name(cell)} of {raid.facts['owner'] or 'nobody'}: {ended}",
        succeeded=result == "captured",
    )


def _bars(played: PlayedTurn[State, Intent]) -> Iterator[Bar]:
    before, after = played.before, played.after
    punished = {event.agent for event in played.events if event.type == "punish"}
    for agent in after.setting.agents:
        plots = len(after.holdings[agent])
        more = plots - len(before.holdings[agent])
        note = counted(plots, "plot") + (f" ({more:+})" if more else "")
        note += ", punished" if agent in punished else ""
        gold = after.gold[agent]
        yield Bar(
            agent, f"{map_codes(after.setting.agents)[agent]} {agent}", gold, gold - before.gold[agent], note
        )


PICTURE: Picture[State, Intent] = Picture(
    lambda state: [row.split(" ") for row in draw_map(state)], map_codes, board
)
"""The map, and the board of a round."""
