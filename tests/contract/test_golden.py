"""Digests rest on the rules and their version, and on nothing else; a changed rule is noticed."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model

from hobbes.engine.record import Json, sha256
from hobbes.engine.turn import RECORD_VERSION, first_digest
from hobbes.engine.world import NOT_HASHED, AnyWorld, Config, make_setting
from hobbes.engine.worlds import WORLDS
from hobbes.lab.play.playing import RunOptions, begin, go_on
from hobbes.lab.store.home import Store
from hobbes.nodes.state import first_state
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
def test_a_changed_rule_is_noticed(world: AnyWorld) -> None:
    def one_event_less(state: Any, intents: Mapping[str, Any]) -> Any:
        resolved = world.resolve(state, intents)
        return resolved._replace(events=resolved.events[:-1])

    first, *_ = golden.faults(replace(world, resolve=one_event_less), entry_for(world))
    assert first.startswith(f"{world.name}, run 0: the same answers give another turn 0: bump rules_version")
    assert first.endswith(f"in engine/{world.name}/world.py and run `{golden.COMMAND}`")


@each_world
def test_a_changed_default_is_noticed_and_a_setting_that_is_gone(world: AnyWorld) -> None:
    entry = entry_for(world)
    config = create_model("Longer", __base__=world.config, rounds=(int, 7))
    changed, *_ = golden.faults(replace(world, config=config), entry)
    default = world.config().rounds
    assert changed.startswith(f"{world.name}: the default of rounds was {default} and is 7: bump rules_ver")
    (gone,) = golden.faults(world, {**entry, "defaults": {**entry["defaults"], "siesta": 1}})
    assert gone.startswith(f"{world.name}: the setting siesta is gone: bump rules_version")


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
    bump = f"bump measures_version in engine/{world.name}/world.py and run `{golden.COMMAND}`"
    assert kept[versions] == figured, f"{world.name}: the same turns give other figures: {bump}"


@each_world
def test_a_changed_column_of_the_plain_table_is_noticed(world: AnyWorld) -> None:
    assert world.agent_turns is not None
    fewer = replace(world, agent_turns=replace(world.agent_turns, rows=lambda _: {}))
    assert golden.figures(fewer) != golden.figures(world)


def test_the_command_adds_what_is_missing_and_changes_no_digest_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    present = golden.read()
    earlier = {"record_version": 1, "defaults": {"gone": 1}, "runs": []}
    monkeypatch.setattr(golden, "FILE", tmp_path / "golden.json")
    name = next(iter(WORLDS))
    version = str(WORLDS[name].rules_version)

    def written(entries: Mapping[str, golden.Entry]) -> int:
        golden.FILE.write_text(json.dumps({**present, name: entries}))
        return golden.write(told.append)

    assert written({"0": earlier}) == 0  # the present version of a world has no entry yet
    assert golden.read()[name]["0"] == earlier
    assert golden.read()[name][version]["record_version"] == RECORD_VERSION
    before_a_new_setting = json.loads(json.dumps(present[name]))
    del before_a_new_setting[version]["defaults"]["rounds"]
    assert written(before_a_new_setting) == 0
    assert golden.read()[name][version]["defaults"] == golden.defaults_of(WORLDS[name])
    broken = json.loads(json.dumps(present[name]))
    broken[version]["runs"][0]["turns"][1]["digest"] = sha256("other rules")
    assert written(broken) == 1
    assert golden.read()[name] == broken
    assert "the same answers give another turn 1" in told[-1]


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
    """Return settings that differ in one setting."""
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
