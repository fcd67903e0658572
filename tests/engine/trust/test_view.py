"""What a unit sees, and what it does not see."""

import json
from typing import Any

from hobbes.engine.trust.board import picture
from hobbes.engine.trust.state import State
from hobbes.engine.trust.view import observe
from tests.engine.trust.plays import game, play


def last(state: State, unit: str) -> Any:
    return json.loads(json.dumps(observe(state, unit)))["history"][-1]


def test_no_budget_is_shown_if_it_is_not_known_or_there_is_none() -> None:
    hidden = play(game(observer="sparing(10,4)", observer_budget_known=False), a="beg 8 for x").after
    for state in (hidden, game(observer="always"), game(observer="human")):
        assert "observer_budget" not in observe(state, "a")
    assert "10" not in hidden.rulings["a"].reason


def test_people_see_one_row_a_unit_with_what_it_truly_did() -> None:
    state = play(game(miss=100, sats={"a": 50, "b": 4}), a="high_five", b="do_nothing").after
    assert picture(state) == [["a", "54", "high_five (missed)"], ["b", "dead", "do_nothing"]]
