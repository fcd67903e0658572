"""trust: what one unit sees at the start of a round, built up from what it may know.

A unit knows what it meant itself. Of the others it knows their sats and what could be seen.

Source: docs/rules/trust.md#view, docs/rules/trust.md#private-facts.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache

from hobbes.engine.record import Json, JsonObject
from hobbes.engine.trust.observer import budget_left, budget_of
from hobbes.engine.trust.state import Deed, Round, State, TrustConfig


def shows_budget(config: TrustConfig) -> bool:
    """Return whether views show what is left of the observer's budget.

    Source: docs/rules/trust.md#budget.
    """
    return config.observer_budget_known and budget_of(config) is not None


def private(config: TrustConfig) -> tuple[str, ...]:
    """Return what one unit alone may know of a state: of its grants only if no view shows what is left.

    Source: docs/rules/trust.md#private-facts, docs/rules/trust.md#budget.
    """
    return (
        *("units[id=agent].idle", "units[id=agent].begged", "units[id=agent].high_fived"),
        *(() if shows_budget(config) else ("units[id=agent].granted",)),
        *("history[*].deeds[unit=agent].meant", "history[*].deeds[unit=agent].chosen"),
        *("history[*].deeds[unit=agent].failed", "history[*].effects[unit=agent].cause", "rulings[agent]"),
    )


def observe(state: State, agent: str) -> JsonObject:
    """Return the view of one unit as plain JSON; what the settings make no use of is left out.

    Source: docs/rules/trust.md#view, docs/rules/trust.md#private-facts, docs/rules/trust.md#view-of-a-ruling,
    docs/rules/trust.md#horizon, docs/rules/trust.md#budget.
    """
    unit, config = state.unit[agent], state.config
    ruling = state.rulings.get(agent)
    view: dict[str, Json] = {
        "world": "trust",
        "you": agent,
        "turn": state.turn,
        "sats": unit.sats,
        "did_nothing": unit.idle,
        "begged": unit.begged,
        "may_replicate": unit.alive and unit.sats >= config.threshold,
        "units": _units(state),
        "opponents": list(state.opponents(agent)),
        "history": [seen_by(past, agent) for past in state.history],
        "observer": None if ruling is None else asdict(ruling),
        **_numbers(state),
    }
    if config.alliances:
        view["allies"] = [other.id for other in state.living if state.allied(agent, other.id)]
    return view


@lru_cache(maxsize=8)
def _units(state: State) -> list[JsonObject]:
    """Return what everyone may know of each unit; its team only in team play, where it is not its own.

    It is the same in all views of a state, so it is made once.

    Source: docs/rules/trust.md#view.
    """
    teams = state.config.victory == "team"
    return [
        {"id": u.id, **({"team": u.team} if teams else {}), "sats": u.sats, "alive": u.alive}
        for u in state.units
    ]


@lru_cache(maxsize=8)
def _numbers(state: State) -> JsonObject:
    """Return the numbers that everyone may know: of the rules, of the rounds, and of the observer's budget.

    Source: docs/rules/trust.md#view, docs/rules/trust.md#horizon, docs/rules/trust.md#budget.
    """
    config = state.config
    known: dict[str, Json] = {"rules": {"threshold": config.threshold, "high_five": config.high_five}}
    if not config.hide_horizon:
        known["rounds"] = config.rounds
    if shows_budget(config):
        known["observer_budget"] = budget_left(state)
    return known


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
