"""Digests rest on the rules and their version, and on nothing else."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest
from pydantic import create_model

from hobbes.engine.digest import first_digest
from hobbes.engine.record import Json
from hobbes.engine.world import NOT_HASHED, AnyWorld, Config, make_setting
from hobbes.nodes.turn_state import first_state
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.store.home import Store
from hobbes.worlds import WORLDS
from tests.contract import golden

each_world = pytest.mark.parametrize("world", WORLDS.values(), ids=lambda world: world.name)


def entry_for(world: AnyWorld) -> golden.Entry:
    """Return the entry of a world's present version."""
    entries = golden.read().get(world.name, {})
    version = str(world.rules_version)
    assert version in entries, f"version {version} of {world.name} has no entry: run `{golden.COMMAND}`"
    return entries[version]


@each_world
def test_the_rules_are_those_of_their_version(world: AnyWorld) -> None:
    assert list(golden.faults(world, entry_for(world))) == []


@each_world
def test_a_setting_that_is_added_with_a_default_changes_no_digest(world: AnyWorld) -> None:
    config = create_model("Wider", __base__=world.config, siesta=(int, 3))
    wider = replace(world, config=config)
    assert "siesta" in golden.defaults_of(wider)
    assert list(golden.faults(wider, entry_for(world))) == []
    set_otherwise = make_setting(wider, world.names(2), 1, {"siesta": 4})
    assert first_digest(wider, set_otherwise) != first_digest(
        wider, make_setting(wider, world.names(2), 1, {})
    )


@each_world
def test_the_formulas_are_those_of_their_version(world: AnyWorld) -> None:
    versions, figured = golden.figures(world)
    kept = golden.read_figures().get(world.name, {})
    assert versions in kept, f"{world.name} has no figures of {versions}: run `{golden.COMMAND}`"
    bump = f"bump the version in engine/{world.name}/metrics.py and run `{golden.COMMAND}`"
    assert kept[versions] == figured, f"{world.name}: the same turns give other figures: {bump}"


# The first link is what is played, and nothing of how it is carried out.

OTHER: Mapping[tuple[str, str], tuple[dict[str, Json], dict[str, Json]]] = {
    ("mining", "alpha"): ({}, {"alpha": 2}),
    ("mining", "stamina"): ({}, {"stamina": 4}),
    ("nations", "constants"): ({}, {"constants": {"c_trade_factor": 3.0}}),
    ("nations", "territories"): ({}, {"territories": {"AgentA": ["T1"]}}),
    ("nations", "army"): ({}, {"army": 4}),
    ("nations", "personas"): ({}, {"personas": {"AgentA": "austerity"}}),
    ("nations", "bad_actors"): ({}, {"bad_actors": {"AgentA": {"goal": "territories"}}}),
    ("nations", "map"): ({}, {"map": "ring"}),
    ("nations", "map_edges"): (
        {"map": "file", "map_edges": [["T1", "T2"]]},
        {"map": "file", "map_edges": [["T1", "T3"]]},
    ),
    ("trust", "observer"): ({}, {"observer": "always"}),
    ("trust", "alliances"): ({}, {"alliances": [["unit-a", "unit-b"]]}),
}
"""Two values of a setting, as settings, where its JSON schema does not lead to a second one."""

CARRIED_OUT = {"on_failure", "reask", "seconds_per_turn", "taint_share"}
"""The settings of every world that say how a run is carried out. `observer` says who answers."""


def another(world: AnyWorld, name: str) -> tuple[dict[str, Json], dict[str, Json]]:
    if (world.name, name) in OTHER:
        return OTHER[world.name, name]
    schema = world.config.model_json_schema()["properties"][name]
    default = schema["default"]
    match schema:
        case {"type": "boolean"}:
            return {}, {name: not default}
        case {"type": "integer"}:
            return {}, {name: default + 1 if default < schema.get("maximum", default + 1) else default - 1}
        case {"type": "number"}:
            return {}, {name: default / 2}
        case {"enum": values}:
            return {}, {name: next(value for value in values if value != default)}
    raise AssertionError(f"give two values of {world.name}'s {name} in {__name__}.OTHER")


@each_world
def test_every_setting_of_the_rules_changes_the_first_link_and_no_other_setting_does(world: AnyWorld) -> None:
    unchanged = set()
    for name in world.config.model_fields:
        one, other = (
            first_digest(world, make_setting(world, world.names(2), 1, values))
            for values in another(world, name)
        )
        if one == other:
            unchanged.add(name)
    assert unchanged == CARRIED_OUT | ({"observer"} & world.config.model_fields.keys())
    marked = {name for name, field in world.config.model_fields.items() if NOT_HASHED in field.metadata}
    assert marked == unchanged
    assert {*Config.model_fields} == {"rounds", "feedback", *CARRIED_OUT}


@each_world
def test_world_version_agents_and_seed_change_the_first_link(world: AnyWorld) -> None:
    setting = make_setting(world, world.names(3), 1, {})
    others = {
        first_digest(replace(world, name="another"), setting),
        first_digest(replace(world, rules_version=world.rules_version + 1), setting),
        first_digest(world, make_setting(world, world.names(2), 1, {})),
        first_digest(world, make_setting(world, world.names(3), 2, {})),
    }
    assert len(others - {first_digest(world, setting)}) == 4


@each_world
def test_who_answers_changes_no_first_link_and_no_digest_as_long_as_it_says_the_same(
    world: AnyWorld, opened: Store
) -> None:
    setting = make_setting(world, world.names(2), 1, {})
    models = (dict.fromkeys(setting.agents, spec) for spec in ("openai:gpt-5-mini", "policy:random"))
    assert {first_state(world, setting, one)["digest"] for one in models} == {first_digest(world, setting)}
    default = world.policies.default
    digests = set()
    for spec in (f"policy:{default}", f"policy:{default}?noise=0*1,policy:{default}*1"):
        run = begin(opened, RunOptions(world.name, 2, models=spec, values={"rounds": 2}))
        asyncio.run(go_on(opened, run, lambda _: None))
        digests.add(opened.runs.find(run.id).digest)
    assert len(digests) == 1
