"""A world that does not keep the contract is refused when it is registered, in one line for each fault."""

import re
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from hobbes.engine.contract import check
from hobbes.engine.policy import Policies
from hobbes.engine.reflection import Reflection
from hobbes.engine.telling import Landmark
from hobbes.engine.world import AnyWorld, Config, Validated
from hobbes.errors import HobbesError
from hobbes.worlds import GROUP, WORLDS
from tests.fishery.validation import Intent
from tests.fishery.world import FISHERY

NO_REFLECTION: Any = None
MEASURES, TELLING = FISHERY.measures, FISHERY.telling


def silent(*_: object) -> Validated[Intent]:
    return Validated(Intent(reflection=NO_REFLECTION))


WRONG: dict[str, dict[str, Any]] = {
    "name: use small letters, digits and underscores, and begin with a letter": {"name": "The Sea"},
    "rules_version: give a whole number from 1 on": {"rules_version": 0},
    "config: derive it from Config": {"config": Reflection},
    "config: give rounds a default": {"config": Config},
    "state: give a StateCodec": {"state": FISHERY.intent},
    "intent: give a Codec": {"intent": Intent},
    "policies: name a default policy": {"policies": Policies({}, "steady")},
    "names, default_agents: give each agent a name of its own, and none 'observer'": {
        "names": lambda n: ("boat",) * n
    },
    "measures: headline: name what an experiment compares": {"measures": replace(MEASURES, headline=())},
    "measures: headline: there is no formula of one figure 'fish'": {
        "measures": replace(MEASURES, headline=("fish",))
    },
    "measures: shares, inequality: there is no formula of single turns 'landed'": {
        "measures": replace(MEASURES, shares=("landed",))
    },
    "measures: cooperation: there is no formula of single turns 'landed'": {
        "measures": replace(MEASURES, cooperation={"landed": "landing"})
    },
    "measures: units: there is no formula 'fish'": {"measures": replace(MEASURES, units={"fish": "tonnes"})},
    "telling: landmarks: there is no event 'wreck'": {
        "telling": replace(TELLING, landmarks=(Landmark("wreck", "wreck"),))
    },
    "setup: the state lacks setting, config, turn": {"setup": lambda *_: object()},
    "setup: begin with turn 0, agents that act, and a game that is not over": {"over": lambda _: True},
    "action: give an answer a field `reasoning`, as ReflectionFields has it": {"action": lambda _: Config},
    "scores: give each agent of the run a score, and nobody else": {"scores": lambda _: {"sea": 1}},
    "observe: name in the view world, turn and, under 'you', its agent": {
        "observe": lambda _, agent: {"you": agent, "turn": 0}
    },
    "validate: give the intent a reflection": {"validate": silent},
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_fault_is_told_in_one_line(fault: str) -> None:
    wrong: AnyWorld = replace(FISHERY, **WRONG[fault])
    with pytest.raises(ValueError, match=f"^{re.escape(f'world {wrong.name}: {fault}')}$"):
        check(wrong)


def test_a_wrong_world_is_not_registered_and_the_error_has_all_its_faults() -> None:
    wrong: AnyWorld = replace(FISHERY, rules_version=0, policies=Policies({}, "steady"))
    both = r"rules_version: .*; world fishery: policies: name a default policy"
    with pytest.raises(ValueError, match=both):
        WORLDS["fishery"] = wrong
    assert "fishery" not in WORLDS


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("sea", "no_such_package:SEA", r"the world sea \(no_such_package:SEA\): No module named"),
        ("sea", "tests.fishery.world:SEA", "has no attribute 'SEA'; mend or uninstall it"),
        ("sea", "tests.fishery.world:FISHERY", "has the name fishery; give both one name"),
    ],
)
def test_a_package_with_a_wrong_entry_point_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setitem(WORLDS.data, name, EntryPoint(name, value, GROUP))
    with pytest.raises(HobbesError, match=told):
        WORLDS[name]
