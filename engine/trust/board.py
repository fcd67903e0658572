"""trust: what a round looks like: the units with their sats, and what each did to whom."""

from collections import Counter
from collections.abc import Iterator

from hobbes.engine.board import (
    SIDE,
    Arrow,
    Badge,
    Bar,
    Board,
    Kind,
    Line,
    Place,
    Spread,
    disc_size,
    spread,
    title_of,
)
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.picture import Picture, Rows
from hobbes.engine.record import Event
from hobbes.engine.telling import counted
from hobbes.engine.trust.state import State, Unit
from hobbes.engine.trust.validation import Intent
from hobbes.engine.trust.view import own_words

KINDS = (
    Kind("high five", "meet", "a high five; it pays only if it is returned"),
    Kind("attack", "harm", "an attack takes sats, unless it is blocked"),
    Kind("send", "help", "sats sent to another unit"),
    Kind("replicate", "help", "the new unit of a unit that replicated"),
    Kind("alliance", "bound", "an alliance"),
    Kind("new alliance", "joined", "an alliance that began in this turn"),
    Kind("ended alliance", "parted", "an alliance that ended in this turn"),
    Kind("missed", "slip", "went otherwise than meant: a high five that came out as an attack, or a fumble"),
    Kind("blocks", "guarded", "blocked in this turn"),
    Kind("born", "new", "a new unit"),
    Kind("died", "gone", "has no sats left"),
)

MIN_SIZE = 35
"""How much of its room the disc of a unit fills at least, in percent."""


def board(played: PlayedTurn[State, Intent]) -> Board:
    """Return the units after a round, with what each did."""
    after = played.after
    units = [unit for unit in after.units if _is_shown(played, unit)]
    events = played.events
    types = Counter(event.type for event in events)
    types["attack"] -= types["miss"]  # each missed high five is also an attack
    lines = tuple(_alliances(played.before, after))
    types += Counter(line.kind for line in lines)
    happened = [
        (types[kind], word)
        for kind, word in (
            ("high_five", "high five"),
            ("miss", "missed high five"),
            ("attack", "attack"),
            ("beg", "request"),
            ("replicate", "replication"),
            ("death", "death"),
            ("new alliance", "new alliance"),
            ("ended alliance", "ended alliance"),
        )
    ]
    ring = spread(len(units))
    return Board(
        title_of(played.before.turn, happened),
        after.setting.agents,
        width=SIDE,
        height=ring.height,
        places=tuple(_places(played, units, ring)),
        arrows=tuple(_arrows(after, events)),
        lines=lines,
        bars=tuple(_bars(played, units)),
        measure="sats",
        goal=after.config.threshold if after.config.replication else None,
        kinds=KINDS,
        sizes="a unit and its sats",
    )


def _is_shown(played: PlayedTurn[State, Intent], unit: Unit) -> bool:
    """Return whether a unit is shown: each agent's own, and of the others those that lived in this round."""
    then = played.before.units_by_id.get(unit.id)
    return unit.id == unit.team or unit.alive or (then is not None and then.alive)


def _places(played: PlayedTurn[State, Intent], units: list[Unit], ring: Spread) -> Iterator[Place]:
    """Yield each unit: the more sats it has, the larger."""
    before = played.before.units_by_id
    begged = {event.agent: event.facts for event in played.events if event.type == "beg"}
    slipped = {event.agent for event in played.events if event.type in {"miss", "fumble"}}
    blocked = {event.agent for event in played.events if event.type == "block"}
    goal = max([played.after.config.threshold, *(unit.sats for unit in units)])
    for unit, (x, y) in zip(units, ring.middles, strict=True):
        note, words = "", [f"{unit.id}: {counted(unit.sats, 'sat')}"]
        if unit.team != unit.id:
            words.append(f"of {unit.team}")
        if not unit.alive:
            note = "dead"
            words.append("dead")
        if asked := begged.get(unit.id):
            note = f"asks {asked['amount']}, gets {asked['granted']}"
            words.append(note)
        badges = [
            Badge(kind)
            for kind, there in (
                ("missed", unit.id in slipped),
                ("blocks", unit.id in blocked),
                ("born", unit.id not in before),
                ("died", not unit.alive),
            )
            if there
        ]
        words += [badge.kind for badge in badges if badge.kind != "died"]
        yield Place(
            unit.id,
            x,
            y,
            ring.room,
            ring.room,
            words=", ".join(words),
            owner=unit.team,
            shape="disc",
            size=disc_size(unit.sats, goal, MIN_SIZE),
            text=str(unit.sats),
            label=unit.id,
            note=note,
            shade=3 if unit.alive else 0,
            badges=tuple(badges),
        )


def _alliances(before: State, after: State) -> Iterator[Line]:
    """Yield the alliances before and after a round, by the agents' own units."""
    for pair in sorted({*before.alliances, *after.alliances}, key=sorted):
        one, other = sorted(pair)
        if pair not in after.alliances:
            kind, when = "ended alliance", "their alliance ended"
        elif pair not in before.alliances:
            kind, when = "new alliance", "allied from now on"
        else:
            kind, when = "alliance", f"allied since turn {after.alliances[pair]}"
        yield Line(one, other, kind, f"{one} and {other}: {when}")


def _arrows(after: State, events: tuple[Event, ...]) -> Iterator[Arrow]:
    missed = {event.agent for event in events if event.type == "miss"}
    for event in events:
        unit, target = event.agent, str(event.facts.get("target"))
        team = after.units_by_id[unit].team
        match event.type:
            case "high_five":
                returned = bool(event.facts["returned"])
                ended = "returned" if returned else "not returned"
                words = f"{unit} high fives {target}: {ended}"
                yield Arrow("high five", team, unit, target, words, "high five", succeeded=returned)
            case "attack" if event.facts["target"] is not None:
                blocked = bool(event.facts["blocked"])
                words = f"{unit} attacks {target}" + (": blocked" if blocked else "")
                words += ", a missed high five" if unit in missed else ""
                label = "missed" if unit in missed else "attack"
                yield Arrow("attack", team, unit, target, words, label, succeeded=not blocked)
            case "send":
                words = f"{unit} sends {event.facts['amount']} sats to {target}"
                yield Arrow("send", team, unit, target, words, f"{event.facts['amount']}")
            case "replicate" if event.facts["clone"] is not None:
                clone = str(event.facts["clone"])
                yield Arrow("replicate", team, unit, clone, f"{unit} replicates: {clone} is born", "born")
            case _:
                continue


def _bars(played: PlayedTurn[State, Intent], units: list[Unit]) -> Iterator[Bar]:
    before = played.before.units_by_id
    deeds = played.after.history[-1].deed_of if played.after.history else {}
    for unit in units:
        deed = deeds.get(unit.id)
        note = ""
        if deed is not None:
            note = own_words(deed).replace("_", " ") + (f" → {deed.target}" if deed.target else "")
        then = before[unit.id].sats if unit.id in before else 0
        yield Bar(unit.team, unit.id, unit.sats, unit.sats - then, note)


def picture(state: State) -> Rows:
    """Return one row per unit for people: its name, its sats, and what it truly did last round.

    Source: docs/rules/trust.md#picture-for-people.
    """
    last = state.history[-1].deed_of if state.history else {}
    return [
        [
            unit.id,
            str(unit.sats) if unit.alive else "dead",
            own_words(last[unit.id]) if unit.id in last else "-",
        ]
        for unit in state.units
    ]


PICTURE: Picture[State, Intent] = Picture(picture, board=board)
