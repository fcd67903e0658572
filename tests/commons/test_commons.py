"""A world with no facet and no prompts in the checkout is played, recorded, read, proved and measured."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.engine.chance import RngStream
from hobbes.engine.policy import speak
from hobbes.engine.turn import Turn, play_turn
from hobbes.nodes.journal import Reply
from hobbes.nodes.reading import read
from hobbes.play.start import RunOptions
from hobbes.store.home import Store
from hobbes.worlds import WORLDS
from tests.commons.commons import COMMONS
from tests.conftest import Cli
from tests.small_runs import played

AGENTS = ("agent-01", "agent-02", "agent-03")
OPTIONS = RunOptions("commons", 3, models="policy:greedy?noise=0.4*1,policy:modest?tremble=0.5&noise=0.3*2")


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORLDS, COMMONS.name, COMMONS)


def round_of(*takes: Any, **config: int) -> Turn[Any, Any]:
    """Play the first round, in which the agents take so much in the order of their names."""
    state = COMMONS.setup(COMMONS.config.model_validate(config), AGENTS[: len(takes)], 1)
    said = zip(AGENTS, takes, strict=False)
    answers = {agent: read(agent, Reply(json.dumps({"take": take}), "test"), ()) for agent, take in said}
    return play_turn(COMMONS, state, {}, answers)


def test_what_is_left_grows_by_its_percentage_up_to_the_capacity() -> None:
    """50 - 3 - 4 = 43 are left; 25 percent of them are 10.75."""
    turn = round_of(3, 4)
    assert (turn.resolved.state.stock, turn.resolved.state.taken) == (53, {"agent-01": 3, "agent-02": 4})
    assert round_of(0, stock=95).resolved.state.stock == 100


def test_who_want_more_than_there_is_get_shares_and_the_game_ends() -> None:
    """7 units for three who want 10 each are 2 for each; the last one is lost."""
    after = round_of(10, 10, 10, stock=7).resolved.state
    assert (after.stock, set(after.taken.values())) == (0, {2})
    assert COMMONS.over(after)


def test_what_is_wrong_with_an_answer_is_written_down() -> None:
    turn = round_of(11, -1, "a lot")
    assert [drop.code for drop in turn.record.drops] == ["commons/no-number"] * 2
    assert [(mend.code, mend.kept) for mend in turn.record.mends] == [("commons/over-limit", {"take": 10})]
    assert turn.resolved.state.taken == {"agent-01": 10, "agent-02": 0, "agent-03": 0}


def test_its_policies_tremble_and_make_mistakes_without_functions_of_their_own() -> None:
    """A tremble gives the answer of one of the policies; noise spoils fields, which the rules notice."""
    state = COMMONS.setup(COMMONS.config(), AGENTS, 1)
    view = COMMONS.observe(state, "agent-01")
    rngs = [RngStream(seed, 0, "agent-01") for seed in range(40)]
    trembled = [
        json.loads(speak(COMMONS.policies, "modest", 0, view, rng, tremble=1))["take"] for rng in rngs
    ]
    assert {*trembled} == {3, 10}
    spoiled = [COMMONS.policies.spoil(view, {"take": 3}, rng, 1) for rng in rngs]
    judged = [COMMONS.validate(state, "agent-01", answer) for answer in spoiled]
    assert {drop.code for one in judged for drop in one.drops} == {
        "commons/no-number",
        "commons/unknown-field",
    }
    assert {mend.code for one in judged for mend in one.mends} == {"commons/over-limit"}


def test_a_picture_that_nobody_drew_has_a_row_for_each_field_and_each_agent() -> None:
    state = round_of(3, 4).resolved.state
    assert COMMONS.picture.rows(state) == [
        ["turn", "1"],
        ["stock", "53"],
        ["agent", "taken"],
        ["agent-01", "3"],
        ["agent-02", "4"],
    ]


def test_it_is_played_recorded_replayed_and_measured_by_its_scores(opened: Store, cli: Cli) -> None:
    run = played(opened, OPTIONS)  # which verifies it, too
    assert {*opened.figures.measures(run.id)} == {"score", *(f"score/{agent}" for agent in AGENTS)}
    assert cli("replay", run.id).exit_code == cli("verify", run.id).exit_code == 0
    told = json.loads(cli("trace", run.id, "--json").stdout)
    assert sum(turn["events"].get("take", 0) for turn in told)


def test_it_is_told_by_names_and_values(opened: Store, cli: Cli, pages: TestClient) -> None:
    run, other = played(opened, OPTIONS), played(opened, RunOptions("commons", 3, models="policy:greedy*3"))
    assert "agent  taken" in re.sub(" +", "  ", cli("trace", other.id, "0").stdout)
    assert "take units 10" in cli("trace", other.id, "agent-01").stdout
    found = opened.db.query("select * from drops where run = ? and code like 'commons/%'", [run.id])
    drop = next(found)
    card = pages.get(f"/{run.id}/{drop['turn']}/{drop['agent']}").text
    assert drop["code"] in unescape(re.sub(r"<[^>]+>", "", card))
    assert "score/agent-01" in cli("compare", run.id, other.id).stdout
    assert "nothing is left" in cli("runs").stdout
    for address in ("/", f"/{run.id}", f"/{run.id}/0.html", f"/{run.id}/1/agent-01", f"/{run.id}/0.svg"):
        page = pages.get(address)
        assert page.status_code == 200, address


def test_its_prompts_are_found_in_its_package(cli: Cli) -> None:
    assert json.loads(cli("prompts", "check", "commons", "--json").stdout)["problems"] == []
    shown = cli("prompts", "render", "commons", "--turn", "1", "--agents", "3").stdout
    assert "to at most 100 units" in shown


def test_an_experiment_compares_its_scores(cli: Cli, tmp_path: Path) -> None:
    """Greedy agents get 3 x 10, then 3 x 8 of the 20 x 1.25 = 25 units: 54. Modest ones take for longer."""
    file = tmp_path / "commons.toml"
    file.write_text(
        'name = "commons"\nworld = "commons"\nagents = 3\nseeds = 2\n\n'
        '[arms.modest]\nmodel = "policy:modest"\n\n[arms.greedy]\nmodel = "policy:greedy"\n'
    )
    cli("experiment", str(file), "--yes")
    arms = json.loads(cli("report", "commons", "--json").stdout)["arms"]
    means = {arm: measures["measures"]["score"]["mean"] for arm, measures in arms.items()}
    assert means["greedy"] == 54 < means["modest"]
