"""trust: what one unit sees at the start of a round, built up from what it may know.

A unit knows what it meant itself. Of the others it knows their sats and what could be seen.

Source: docs/rules/trust.md#view, docs/rules/trust.md#private-facts.
"""

from functools import lru_cache

from hobbes.engine.record import Json, JsonObject
from hobbes.engine.trust import alliances, messages
from hobbes.engine.trust.rules import result
from hobbes.engine.trust.rulings import budget_left, budget_of, code_of
from hobbes.engine.trust.state import Deed, Round, Ruling, State, TrustConfig, over


def shows_budget(config: TrustConfig) -> bool:
    """Return whether views show what is left of the observer's budget.

    Source: docs/rules/trust.md#budget.
    """
    return config.observer_budget_known and budget_of(config) is not None


def private(config: TrustConfig) -> tuple[str, ...]:
    """Return what one unit alone may know of a state.

    That includes its grants only if no view shows what is left, and its requests only if others do not read
    them.

    Source: docs/rules/trust.md#private-facts, docs/rules/trust.md#budget, docs/rules/trust.md#known-requests.
    """
    asked = () if config.requests_known else ("asked", "request")
    return (
        *("units[id=agent].idle", "units[id=agent].begged", "units[id=agent].high_fived"),
        *(() if shows_budget(config) else ("units[id=agent].granted",)),
        *("history[*].deeds[unit=agent].meant", "history[*].deeds[unit=agent].chosen"),
        *("history[*].deeds[unit=agent].failed", "history[*].effects[unit=agent].cause"),
        *(f"rulings[agent].{name}" for name in ("granted", "reason", *asked)),
    )


def observe(state: State, agent: str) -> JsonObject:
    """Return the view of one unit as plain JSON; what the settings make no use of is left out.

    Source: docs/rules/trust.md#view, docs/rules/trust.md#private-facts, docs/rules/trust.md#view-of-a-ruling,
    docs/rules/trust.md#horizon, docs/rules/trust.md#budget, docs/rules/trust.md#final-standing.
    """
    unit, config = state.units_by_id[agent], state.config
    ruling = state.rulings.get(agent)
    view: dict[str, Json] = {
        "world": "trust",
        "you": agent,
        "turn": state.turn,
        **_numbers(state),
        "sats": unit.sats,
        "did_nothing": unit.idle,
        "begged": unit.begged,
        "units": {other.id: other.sats for other in state.units},
        "opponents": list(state.opponents(agent)),
        "history": [round_as_seen(past, agent) for past in state.history],
        "observer": None if ruling is None else _answer(ruling),
    }
    if config.replication:
        view["may_replicate"] = unit.alive and unit.sats >= config.threshold
    if config.victory == "team":
        view["teams"] = {other.id: other.team for other in state.units}
    if config.alliances:
        view["allies"] = [other.id for other in state.living if state.allied(agent, other.id)]
        view["alliances"] = alliances.visible_alliances(state, agent)
    if config.messages != "off":
        view["messages"] = messages.read_by(state, agent)
    if config.requests_known:
        view["requests"] = _requests(state, agent)
    if over(state):
        view["ended"] = {agent: result(state, agent) for agent in state.setting.agents}
    return view


def _answer(ruling: Ruling) -> JsonObject:
    """Return what a unit that begged reads. Source: docs/rules/trust.md#view-of-a-ruling."""
    code = code_of(ruling.reason)
    told: JsonObject = {"asked": ruling.asked, "granted": ruling.granted, "reason": ruling.reason}
    return told if code is None else {**told, "code": code[0], "detail": code[1]}


def _requests(state: State, agent: str) -> list[JsonObject]:
    """Return what the other units begged for in the last round, with their reasons.

    Source: docs/rules/trust.md#known-requests.
    """
    return [
        {"from": unit, "amount": ruling.asked, "reason": ruling.request}
        for unit, ruling in state.rulings.items()
        if unit != agent
    ]


@lru_cache(maxsize=8)
def _numbers(state: State) -> JsonObject:
    """Return the numbers that everyone may know: of the rules, of the rounds, and of the observer's budget.

    They are the same in all views of a state, so they are made once.

    Source: docs/rules/trust.md#view, docs/rules/trust.md#horizon, docs/rules/trust.md#budget.
    """
    config = state.config
    threshold = {"threshold": config.threshold} if config.replication else {}
    known: dict[str, Json] = {"rules": {**threshold, "high_five": config.high_five}}
    if not config.hide_horizon:
        known["rounds"] = config.rounds
    if shows_budget(config):
        known["observer_budget"] = budget_left(state)
    return known


@lru_cache(maxsize=256)
def round_as_seen(past: Round, agent: str) -> JsonObject:
    """Return a past round as a unit knows it: its own deed as meant, those of others as seen.

    Rounds are compared by identity, so the cache finds one again as long as a state holds it.

    Source: docs/rules/trust.md#private-facts.
    """
    mine = past.deed_of.get(agent)
    return {
        "turn": past.turn,
        "you": None if mine is None else [own_words(mine), mine.target, _by_cause(past, agent)],
        "others": {
            deed.unit: [*_deed_as_seen(deed, agent), past.change[deed.unit]]
            for deed in past.deeds
            if deed.unit != agent
        },
    }


def _by_cause(past: Round, agent: str) -> JsonObject:
    changes: dict[str, int] = {}
    for effect in past.effects:
        if effect.unit == agent:
            changes[effect.cause] = changes.get(effect.cause, 0) + effect.sats
    return changes


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


def _deed_as_seen(deed: Deed, viewer: str) -> tuple[str, str | None]:
    """Return a deed and its target as another unit sees them; there is no target if nothing was done.

    Source: docs/rules/trust.md#view-of-a-miss, docs/rules/trust.md#view-of-a-fumble,
    docs/rules/trust.md#misreading.
    """
    did = "attack" if deed.misread and deed.target == viewer else deed.did
    return did, None if did == "do_nothing" else deed.target
