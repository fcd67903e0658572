"""The config, states from outside, and the world's contract."""

import re
from typing import Any

import pytest

from hobbes.engine.trust.world import TRUST, names
from hobbes.engine.world import make_setting
from tests.engine.trust.plays import play

UNITS: list[dict[str, Any]] = [{"id": u, "team": u, "sats": 50, "idle": 0, "alive": True} for u in "ab"]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"replicate_cost": 100}, "replicate_cost: must be less than threshold"),
        ({"threshold": 50}, "replicate_cost: must be less than threshold"),
        ({"miss": 101}, "miss"),
        ({"observer": "sometimes"}, "sparing(BUDGET,PATIENCE)"),
        ({"observer": "sparing(40)"}, "sparing(BUDGET,PATIENCE)"),
        ({"observer": "openai:"}, "sparing(BUDGET,PATIENCE)"),
        ({"victory": "peace"}, "race"),
        ({"alliances": [["a"]]}, "alliances: each must name two or more"),
        ({"alliances": [["a", "a"]]}, "alliances: each must name two or more"),
        ({"mis": 3}, "trust has no setting named mis; did you mean 'miss'?"),
    ],
)
def test_a_config_that_cannot_be_is_refused_in_one_line(values: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        make_setting(TRUST, ["a", "b"], 1, values)
    assert "\n" not in str(error.value)


def test_an_alliance_of_strangers_is_refused() -> None:
    setting = make_setting(TRUST, ["a", "b"], 1, {"alliances": [["a", "x"]]})
    with pytest.raises(ValueError, match="alliances: there is no agent x"):
        TRUST.setup(setting.config, setting.agents, 1)


@pytest.mark.parametrize(
    ("name", "says"),
    [("observer", "'observer' is the observer's name"), ("all", "'all' is the addressee of messages")],
)
def test_no_agent_may_have_a_name_that_is_taken(name: str, says: str) -> None:
    setting = make_setting(TRUST, ["a", name], 1, {"messages": "all"})
    with pytest.raises(ValueError, match=f"agents: {says}"):
        TRUST.setup(setting.config, setting.agents, 1)


def test_the_game_begins_with_fifty_sats_each() -> None:
    setting = make_setting(TRUST, names(3), 1, {})
    state = TRUST.setup(setting.config, setting.agents, 1)
    assert [(u.id, u.team, u.sats) for u in state.units] == [
        (f"unit-{letter}", f"unit-{letter}", 50) for letter in "abc"
    ]
    assert names(27)[-1] == "unit-aa"


def test_a_state_with_the_named_fields_is_taken_and_played_on() -> None:
    setting = make_setting(TRUST, ["a", "b"], 1, {"miss": 0})
    state = TRUST.state.load(setting, {"turn": 3, "units": UNITS, "winner": None})
    round_ = play(state, a="high_five", b="high_five a")
    assert (round_.sats, round_.after.turn) == ({"a": 53, "b": 53}, 4)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"units": UNITS[:1]}, "units: must include each of the run's agents"),
        ({"units": [*UNITS, UNITS[0]]}, "units: must include each of the run's agents"),
        ({"units": [*UNITS, {**UNITS[0], "id": "z", "team": "z"}]}, "units: the team"),
        ({"units": [UNITS[0], {**UNITS[1], "team": "a"}]}, "units: the team"),
        ({"units": [UNITS[0], {**UNITS[1], "sats": 0}]}, "units: a living unit must have at least 1 sat"),
        ({"units": [UNITS[0], {**UNITS[1], "alive": False}]}, "and a dead one 0 or fewer"),
        ({"winner": "z"}, "winner: must be one of the run's agents"),
        ({"turn": -1}, "turn"),
    ],
)
def test_a_state_that_cannot_be_is_refused_in_one_line(changed: dict[str, Any], says: str) -> None:
    setting = make_setting(TRUST, ["a", "b"], 1, {})
    with pytest.raises(ValueError, match=says):
        TRUST.state.load(setting, {"turn": 0, "units": UNITS, "winner": None, **changed})
