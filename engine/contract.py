"""What is wrong with a world, found before anybody plays it: its parts, and what its first turn gives."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from hobbes.engine.reflection import Reflection
from hobbes.engine.world import OBSERVER, VIEW_KEYS, AnyWorld, Codec, Config, Setting, StateCodec


def check(world: AnyWorld) -> None:
    """Raise ValueError for a world that does not keep the contract, in one line with all its faults.

    The first turn is tried only if the parts are right. What its functions raise is a bug, and is raised.
    """
    if faults := [*_faults_of_parts(world)] or [*_faults_of_facets(world), *_faults_of_start(world)]:
        raise ValueError("; ".join(f"world {world.name}: {fault}" for fault in faults))


def _faults_of_parts(world: AnyWorld) -> Iterator[str]:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", world.name):
        yield "name: use small letters, digits and underscores, and begin with a letter"
    if world.rules_version < 1:
        yield "rules_version: give a whole number from 1 on"
    if not issubclass(world.config, Config):
        yield "config: derive it from Config"
    elif required := [name for name, one in world.config.model_fields.items() if one.is_required()]:
        yield f"config: give {', '.join(required)} a default"
    state: object = world.state
    if not isinstance(state, StateCodec):
        yield "state: give a StateCodec"
    intent: object = world.intent
    if not isinstance(intent, Codec):
        yield "intent: give a Codec"
    if world.policies.default not in world.policies.by_name:
        yield "policies: name a default policy"
    names = world.names(world.default_agents)
    if not len({*names} - {OBSERVER}) == len(names) == world.default_agents > 0:
        yield f"names, default_agents: give each agent a name of its own, and none {OBSERVER!r}"


def _faults_of_facets(world: AnyWorld) -> Iterator[str]:
    measures, telling = world.measures, world.telling
    drawn, ways = (*measures.shares, *measures.inequality), measures.cooperation
    single = [name for name in measures.formulas if not name.endswith("/AGENT")]
    if not measures.headline:
        yield "measures: headline: name what an experiment compares"
    yield from _unknown("measures: headline", measures.headline, single, "formula of one figure")
    durations = (*measures.durations, *measures.durations.values())
    yield from _unknown("measures: durations", durations, measures.of_run, "formula of the run")
    yield from _unknown("measures: units", measures.units, measures.formulas, "formula")
    yield from _unknown("measures: shares, inequality", drawn, measures.each, "formula of single turns")
    yield from _unknown("measures: cooperation", ways, measures.each, "formula of single turns")
    yield from _unknown("telling: deeds", telling.deeds, telling.events, "event")
    yield from _unknown("telling: causes", telling.causes, telling.events, "event")
    marked = (mark.event for mark in telling.landmarks)
    yield from _unknown("telling: landmarks", marked, telling.events, "event")


def _unknown(field: str, named: Iterable[str], known: Iterable[str], what: str) -> Iterator[str]:
    yield from (f"{field}: there is no {what} {name!r}" for name in named if name not in known)


def _faults_of_start(world: AnyWorld) -> Iterator[str]:
    setting = Setting(world.config(), tuple(sorted(world.names(world.default_agents))), 1)
    state: Any = world.setup(setting.config, setting.agents, setting.seed)
    if missing := [name for name in ("setting", "config", "turn") if not hasattr(state, name)]:
        yield f"setup: the state lacks {', '.join(missing)}"
        return
    if state.turn != 0 or world.over(state) or not world.actors(state):
        yield "setup: begin with turn 0, agents that act, and a game that is not over"
        return
    if "reasoning" not in world.action(setting).model_fields:
        yield "action: give an answer a field `reasoning`, as ReflectionFields has it"
    if {*world.scores(state)} != {*setting.agents}:
        yield "scores: give each agent of the run a score, and nobody else"
    told = world.state.to_json(state)
    if world.state.to_json(world.state.load(setting, told)) != told:
        yield "state: what is loaded from the JSON of a state must be that state"
    agent = world.actors(state)[0]
    view = world.observe(state, agent)
    if [view.get(name) for name in (*VIEW_KEYS, world.viewer_key)] != [world.name, 0, agent]:
        names = f"{', '.join(VIEW_KEYS)} and, under {world.viewer_key!r}, its agent"
        yield f"observe: name in the view {names}"
    intent = world.validate(state, agent, None).intent
    if not isinstance(getattr(intent, "reflection", None), Reflection):
        yield "validate: give the intent a reflection"
