"""trust: what one unit sees at the start of a round, built up from what it may know.

A unit knows what it meant itself. Of the others it knows their sats and what could be seen.

Source: docs/rules/trust.md#view, docs/rules/trust.md#private-facts.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache

from engine.record import Json, JsonObject
from engine.trust.state import Deed, Round, State, Unit

PRIVATE = (
    *("units[id=agent].idle", "units[id=agent].begged"),
    *("units[id=agent].granted", "units[id=agent].high_fived"),
    *("history[*].deeds[unit=agent].meant", "history[*].deeds[unit=agent].chosen"),
    *("history[*].effects[unit=agent].cause", "rulings[agent]"),
)
"""What one unit alone may know of a state. Source: docs/rules/trust.md#private-facts."""


def observe(state: State, agent: str) -> JsonObject:
    """Return the view of one unit as plain JSON.

    Source: docs/rules/trust.md#view, docs/rules/trust.md#private-facts, docs/rules/trust.md#view-of-a-ruling.
    """
    unit, config = state.unit[agent], state.config
    ruling = state.rulings.get(agent)
    view: dict[str, Json] = {
        "world": "trust",
        "you": agent,
        "turn": state.turn,
        "rounds": config.rounds,
        "sats": unit.sats,
        "idle": unit.idle,
        "begged": unit.begged,
        "may_replicate": unit.alive and unit.sats >= config.threshold,
        "units": [_public(other) for other in state.units],
        "opponents": list(state.opponents(agent)),
        "history": [seen_by(past, agent) for past in state.history],
        "observer": None if ruling is None else asdict(ruling),
        "rules": {
            "threshold": config.threshold,
            "replicate_cost": config.replicate_cost,
            "high_five": config.high_five,
            "victory": config.victory,
        },
    }
    if config.alliances:
        view["allies"] = [other.id for other in state.living if state.allied(agent, other.id)]
    return view


def _public(unit: Unit) -> JsonObject:
    """Return what everyone may know of a unit. Source: docs/rules/trust.md#view."""
    return {"id": unit.id, "team": unit.team, "sats": unit.sats, "alive": unit.alive}


@lru_cache(maxsize=256)
def seen_by(past: Round, agent: str) -> JsonObject:
    """Return a past round as a unit knows it: its own deed as meant, those of others as seen.

    Rounds are compared by identity, so the cache finds one again as long as a state holds it.

    Source: docs/rules/trust.md#private-facts.
    """
    mine = past.deed_of.get(agent)
    return {
        "turn": past.turn,
        "you": None
        if mine is None
        else {
            "action": own_words(mine),
            "target": mine.target,
            "effects": [[effect.cause, effect.sats] for effect in past.effects if effect.unit == agent],
        },
        "others": {
            deed.unit: {**_seen(deed), "change": past.change[deed.unit]}
            for deed in past.deeds
            if deed.unit != agent
        },
    }


def own_words(deed: Deed) -> str:
    """Return the name of a deed as its author remembers it.

    Source: docs/rules/trust.md#view-of-a-miss, docs/rules/trust.md#view-of-a-fumble,
    docs/rules/trust.md#view-of-a-default-action.
    """
    if deed.missed:
        return f"{deed.meant} (missed)"
    if deed.failed:
        return f"{deed.meant} (failed)"
    return deed.meant if deed.chosen else f"{deed.meant} (not chosen)"


def _seen(deed: Deed) -> JsonObject:
    """Return a deed as everyone else sees it, without a target if nothing was done.

    Source: docs/rules/trust.md#view-of-a-miss, docs/rules/trust.md#view-of-a-fumble.
    """
    return {"action": deed.did, "target": None if deed.did == "do_nothing" else deed.target}


def picture(state: State) -> Sequence[Sequence[str]]:
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
