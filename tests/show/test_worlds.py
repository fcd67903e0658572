"""`hobbes worlds`: what there is in each world, read from the world itself."""

import json
from typing import Any

import pytest

from hobbes.errors import UsageError
from hobbes.show.world_list import about
from hobbes.worlds import WORLDS
from tests.conftest import ROOT, Cli
from tests.fishery.world import FISHERY


@pytest.mark.parametrize("world", [*WORLDS.values(), FISHERY], ids=lambda world: world.name)
def test_everything_in_a_world_has_a_meaning(world: Any) -> None:
    found = about(world)
    for part in ("settings", "policies", "measures", "events", "codes"):
        assert found[part]
        assert all(one["meaning"] for one in found[part]), part
        assert not any("Source:" in one["meaning"] or "\n" in one["meaning"] for one in found[part])
    assert sum(policy["default"] for policy in found["policies"]) == 1
    assert all(one["values"] and "$ref" not in one["values"] for one in found["settings"])


def test_a_world_tells_what_can_be_set_and_to_what() -> None:
    settings = {one["name"]: one for one in about(WORLDS["nations"])["settings"]}
    assert settings.keys() >= set(WORLDS["nations"].config.model_fields)
    assert settings["map"]["values"] == "none | ring | grid | file"
    assert settings["hide_horizon"]["default"] is False
    assert settings["constants.c_mil_upkeep_price"] == {
        "name": "constants.c_mil_upkeep_price",
        "values": "whole number from 0 to 1000000",
        "default": 2,
        "meaning": "cost of a mil a turn",
    }
    alpha = next(one for one in about(WORLDS["mining"])["settings"] if one["name"] == "alpha")
    assert alpha["values"].endswith("| {plots, multiplier}")


def test_the_page_of_the_rules_is_there(cli: Cli) -> None:
    found = json.loads(cli("worlds", "--json").stdout)
    for page in (ROOT / "docs" / "rules").glob("*.md"):
        assert found[page.stem]["rules"]["page"] == str(page)


def test_one_world_is_shown_with_all_its_parts(cli: Cli) -> None:
    shown = cli("worlds", "trust").stdout
    for word in ("threshold", "copykitten (default)", "survivor", "mutual_cooperation", "high_five"):
        assert word in shown
    assert json.loads(cli("worlds", "trust", "--json").stdout) == about(WORLDS["trust"])


def test_all_worlds_are_a_line_each(cli: Cli) -> None:
    assert [line.split()[0] for line in cli("worlds").stdout.splitlines()] == ["world", *WORLDS]
    assert isinstance(cli("worlds", "poker").exception, UsageError)
