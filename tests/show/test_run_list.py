"""`hobbes runs` and the first page: what is listed, chosen and sorted, in terminals of several widths."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import hobbes
from hobbes.errors import UsageError
from hobbes.nodes.caps import Caps
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.start import RunOptions, begin
from hobbes.show import run_list
from hobbes.show.run_list import entries
from hobbes.show.web.server import site
from hobbes.store.home import Store, open_store
from hobbes.store.policy_games import play_purely
from hobbes.store.recorded_run import Run
from hobbes.store.run_rows import Asked, Folded, listed
from hobbes.wire.recorder import environment
from tests.conftest import Cli
from tests.pages import LOCAL
from tests.play.test_second_question import answering
from tests.small_runs import played

NAMES = ("baseline", "a-name-of-more-than-twenty-letters", None)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_ids_and_names_are_whole_at_every_width(width: int, opened: Store, cli: Cli) -> None:
    runs = [begin(opened, RunOptions("nations", 2, name=name)) for name in NAMES]
    lines = cli("runs", env={"COLUMNS": str(width)}).stdout.splitlines()
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for run in runs:
        assert run.id in text
        assert run.name is None or run.name in text
    assert text.count("nations") == text.count("unfinished") == len(runs), "world and status of each"


def test_in_a_narrow_terminal_the_facts_of_a_run_stand_below_its_name(opened: Store, cli: Cli) -> None:
    options = RunOptions("mining", 2, models="openai:m", values={"rounds": 1, "immunity": 0})
    with environment(OPENAI_API_KEY="none"):
        run = begin(opened, replace(options, name="baseline"))
    opened.runs.update(run.id, digest="0123456789abcdef")
    rows = {width: cli("runs", env={"COLUMNS": str(width)}).stdout.splitlines() for width in (24, 60, 150)}
    assert rows[60] == [
        "baseline",
        "  mining  openai:m*2 ●■  immunity=0  guided  unfinished",
        f"  0 of 1 turns  {run.id}  01234567",
    ]
    assert rows[24][0] == "baseline"
    assert rows[24][-1] == "  01234567"
    assert rows[150][0].split() == [
        "run",
        "world",
        "players",
        "settings",
        "prompts",
        "status",
        "turns",
        "id",
        "digest",
    ]
    facts = ["mining", "openai:m*2", "●■", "immunity=0", "guided", "unfinished", "0", "of", "1", run.id]
    assert rows[150][1].split() == ["baseline", *facts, "01234567"]


def test_runs_that_are_each_forked_from_the_other_are_listed(opened: Store, cli: Cli) -> None:
    one, other = (begin(opened, RunOptions("mining", 2, name=name)) for name in ("one", "other"))
    for run, parent in ((one, other), (other, one)):
        opened.runs.update(run.id, parent=parent.id)
    text = cli("runs").stdout
    assert text.count(one.id) == text.count(other.id) == 1


@pytest.fixture(scope="module")
def home_of_all(tmp_path_factory: pytest.TempPathFactory, small_experiment: Path) -> Path:
    """A home with the small experiment, a run of its own, and a fork of it."""
    folder = tmp_path_factory.mktemp("all") / "home"
    shutil.copytree(small_experiment, folder)
    with open_store(folder) as store:
        parent = played(
            store, RunOptions("trust", 2, models="policy:grudger", values={"rounds": 1}, name="mine")
        )
        fork(store, parent, ForkOptions(0, lang="zh", name="forked"), Caps())
        store.runs.update(parent.id, scores='{"unit-a": 9, "unit-b": -3}')
    return folder


@pytest.fixture
def names(home_of_all: Path, cli: Cli) -> Callable[..., list[str]]:
    """The names that `hobbes runs --json` lists with options."""

    def named(*options: str) -> list[str]:
        listed = json.loads(cli("runs", "--json", *options, "--home", str(home_of_all)).stdout)
        return [one["name"] for one in listed]

    return named


SEEDS = [f"small.immune.{seed}" for seed in (1, 2, 3)]


def test_runs_are_chosen_by_world_player_experiment_setting_and_measure(
    names: Callable[..., list[str]],
) -> None:
    assert names("--world", "trust") == ["forked", "mine"]
    assert names("--model", "grudg") == ["forked", "mine"]
    assert sorted(names("--where", "immunity=3")) == SEEDS
    assert names("--where", "immunity = 3", "--where", "seed>2") == ["small.immune.3"]
    assert names("--where", "lang=zh") == names("--where", "lang!=en") == ["forked"]
    assert len(names("--experiment", "small")) == len(names("--where", "world=mining")) == 9
    high, low = names("--where", "gold_gini>=0.1"), names("--where", "gold_gini<0.1")
    assert sorted([*high, *low]) == sorted(names("--world", "mining"))
    assert high
    assert names("--where", "immunity=none", "--world", "trust") == []


def test_a_text_is_chosen_by_a_part_of_it(names: Callable[..., list[str]]) -> None:
    assert names("--where", "name~SMALL.imm") == names("--where", "name ~ small.immune")
    assert sorted(names("--where", "name~.immune.")) == SEEDS
    assert names("--where", "seed~1") == [], "a number has no parts"


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        (["status=foo"], "no run is like that; values of status: finished, unfinished"),
        (["immunity=9", "lang=fr"], "no run is like that; values of immunity: .*3.*; values of lang: en, zh"),
        (["ending=x"], "no run is like that; values of ending: “.*”.*"),
        (["name~nobody"], "no run is like that; values of name: .*, 3 more"),
        (["raid_rate>7"], "no run is like that; values of raid_rate: 0.167, 0.417, .*, 1.667"),
    ],
)
def test_if_no_run_is_like_that_the_values_that_occur_are_told(
    conditions: list[str], told: str, home_of_all: Path, cli: Cli
) -> None:
    options = [word for one in conditions for word in ("--where", one)]
    printed = cli("runs", *options, "--home", str(home_of_all)).stdout
    assert re.fullmatch(told, printed.strip()), printed
    with TestClient(site(home_of_all, "127.0.0.1"), base_url=LOCAL) as visitor:
        page = visitor.get("/", params={"where": ", ".join(conditions)}).text
    assert f"N{printed.strip()[1:]}." in page


def test_of_many_numbers_the_least_and_the_greatest_are_told(
    home_of_all: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "MAX_VALUES", 2)
    printed = cli("runs", "--where", "raid_rate>7", "--home", str(home_of_all)).stdout
    assert printed.strip() == "no run is like that; values of raid_rate: 0.167 to 1.667"
    assert cli("runs", "--where", "parent=x", "--home", str(home_of_all), "--world", "mining").stdout == (
        "no run is like that; no run has parent\n"
    )


def test_runs_are_sorted_by_anything_and_those_without_it_come_last(names: Callable[..., list[str]]) -> None:
    assert names("--sort", "name")[:2] == ["forked", "mine"]
    assert names("--sort", "-seed", "--where", "immunity=3") == SEEDS[::-1]
    by_score = names("--sort", "score")
    assert by_score[-1] == "forked", "it has no scores"
    by_measure = names("--sort", "-gold_gini")
    assert {*by_measure[-2:]} == {"mine", "forked"}
    assert by_measure[:9] == names("--sort", "gold_gini")[:9][::-1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--where", "imunity=3"], "--where: runs have no 'imunity'; did you mean the setting 'immunity'"),
        (["--where", "replications>0"], "did you mean the setting 'replication'"),
        (["--where", "raidrate>0"], "did you mean the measure 'raid_rate'"),
        (["--where", "immunity"], "--where 'immunity': write NAME=VALUE"),
        (["--sort", "scores"], "--sort: runs have no 'scores'; did you mean the fact 'score'"),
        (["--world", "trst"], "there is no world 'trst'; did you mean 'trust'?"),
        (["--experiment", "smal"], "there is no experiment 'smal' in .*; did you mean 'small'?"),
    ],
)
def test_a_name_that_no_run_has_is_refused(
    options: list[str], told: str, home_of_all: Path, cli: Cli, pages: TestClient
) -> None:
    error = cli("runs", *options, "--home", str(home_of_all)).exception
    assert isinstance(error, UsageError)
    assert re.search(told, str(error))
    assert pages.get("/", params={options[0].removeprefix("--"): options[1]}).status_code == 200


def test_an_experiment_has_one_row_until_it_is_asked_for(home_of_all: Path, cli: Cli) -> None:
    lines = cli("runs", "--home", str(home_of_all)).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["mine", "└", "small"]
    assert re.search(r" 4  +0 to 24 ", lines[3]), "turns, and the range of scores"
    assert "arm null, arm immune, arm open" in lines[3]
    assert "forked" in lines[2]
    assert "plain" not in lines[2], "policies are sent no words of a prompt"
    unfolded = cli("runs", "--experiment", "small", "--home", str(home_of_all)).stdout.splitlines()
    assert len(unfolded) == 10
    assert any("immunity=3" in line for line in unfolded)
    listed = json.loads(cli("runs", "--json", "--experiment", "small", "--home", str(home_of_all)).stdout)
    assert {(one["experiment"], one["arm"]) for one in listed} == {
        ("small", arm) for arm in ("open", "immune", "null")
    }
    assert {one["changed"].get("immunity") for one in listed} == {None, 3}


def test_the_row_of_an_experiment_has_the_players_that_all_its_runs_have(opened: Store) -> None:
    for models, rounds in (("policy:guided*2,policy:random*1", 1), ("policy:guided*2,policy:raider*1", 2)):
        played(opened, RunOptions("mining", 3, models=models, values={"rounds": rounds}))
    runs = listed(opened, Asked())
    (row,) = entries([(Folded("x", runs), 0)])
    assert [one.text for one in row.players] == ["guided*2"]
    assert row.turns == "1 to 2"
    scores = [score for run in runs for score in run["scores"].values()]
    assert row.score == f"{min(scores)} to {max(scores)}"


def test_what_is_asked_for_is_shown_of_each_run(home_of_all: Path, cli: Cli) -> None:
    """The runs of experiments stand by themselves then."""

    def rows(*options: str) -> list[list[str]]:
        lines = cli("runs", *options, "--home", str(home_of_all), env={"COLUMNS": "300"}).stdout.splitlines()
        return [line.split()[:3] for line in lines]

    head, *runs = rows("--where", "immunity=3", "--sort", "-gold_gini")
    assert head == ["run", "immunity", "gold_gini"]
    assert sorted(run[:2] for run in runs) == [[name, "3"] for name in SEEDS]
    ginis = [float(run[2]) for run in runs]
    assert ginis == sorted(ginis, reverse=True)
    narrow = cli("runs", "--sort", "seed", "--home", str(home_of_all), env={"COLUMNS": "40"}).stdout
    assert "seed 3" in narrow
    listed = json.loads(cli("runs", "--json", "--where", "seed=3", "--home", str(home_of_all)).stdout)
    assert [one["asked"] for one in listed] == [{"seed": 3}] * 3
    with TestClient(site(home_of_all, "127.0.0.1"), base_url=LOCAL) as visitor:
        page = visitor.get("/?sort=-seed&where=immunity%3D3").text
    assert page.count('data-label="seed"') == page.count('data-label="immunity"') == 3
    assert page.count('aria-sort="descending"') == 1


def test_an_unknown_name_is_answered_with_the_facts_or_with_measures_that_have_the_word(
    home_of_all: Path, cli: Cli
) -> None:
    def told(word: str) -> str:
        return str(cli("runs", "--sort", word, "--home", str(home_of_all)).exception)

    assert re.search("'zzz'; facts: name, .*, tokens, usd; `hobbes worlds WORLD` describes", told("zzz"))
    assert re.search(
        r"; measures with this word: .*; won \(1 if an agent won .*\'replicate_cost\'\?", told("replicate")
    )


def test_what_runs_have_cost_is_added_up_when_it_is_asked_for(opened: Store, cli: Cli) -> None:
    """A price of 1 dollar per million tokens; a policy costs nothing."""
    (opened.home / "prices.toml").write_text("m = { input = 1.0, output = 1.0 }\n", encoding="utf-8")
    with answering(lambda _: "{}"):
        dear, unknown = (
            played(opened, RunOptions("mining", 1, models="openai:m", values={"rounds": 1}, name=name))
            for name in ("dear", "unknown")
        )
    played(opened, RunOptions("mining", 1, values={"rounds": 1}, name="free"))
    opened.db.execute("update calls set tokens_in = 500000, tokens_out = 2 where run = ?", [dear.id])
    opened.db.execute("update calls set tokens_in = null where run = ?", [unknown.id])

    def asked(*options: str) -> list[tuple[str, object]]:
        rows = json.loads(cli("runs", "--json", *options).stdout)
        return [(one["name"], *one["asked"].values()) for one in rows]

    assert asked("--sort=-tokens") == [("dear", 500_002), ("free", 0), ("unknown", None)]
    assert asked("--where", "usd>0.5") == [("dear", 0.500002)]
    lines = cli("runs", "--sort", "usd", env={"COLUMNS": "200"}).stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["run", "usd"], ["free", "$0.0000"], ["dear", "$0.5000"], ["unknown", "unknown"]
    ]  # fmt: skip


def test_how_a_run_ended_is_listed_if_it_ended_early_or_is_asked_for(
    opened: Store, cli: Cli, pages: TestClient
) -> None:
    with answering(
        lambda at: '{"action": "replicate"}' if at.startswith("1/unit-a") else '{"action": "block"}'
    ):
        values: dict[str, Any] = {"rounds": 3, "start": 110}
        run = played(opened, RunOptions("trust", 2, models="openai:m", values=values, name="early"))
    played(opened, RunOptions("trust", 2, models="policy:copycat", values={"rounds": 1}, name="whole"))
    how = "unit-a replicated in turn 1"
    assert {one["name"]: one["ending"] for one in json.loads(cli("runs", "--json").stdout)} == {
        "early": how, "whole": "all rounds were played, without a winner"
    }  # fmt: skip
    text = cli("runs", env={"COLUMNS": "300"}).stdout
    assert how in text
    assert "all rounds" not in text
    assert "all rounds" in cli("runs", "--sort", "ending", env={"COLUMNS": "300"}).stdout
    assert json.loads(cli("runs", "--json", "--where", f"ending={how}").stdout)[0]["id"] == run.id
    assert how in pages.get("/").text
    assert "finished, 2 turns: <b" in pages.get(f"/{run.id}").text


@pytest.fixture
def noisy(opened: Store) -> list[Run]:
    """A finished run with rejections, the same without its turns, and one that was begun."""
    options = RunOptions("nations", 3, models="policy:random?noise=0.4", values={"rounds": 3})
    run, alone = played(opened, options), begin(opened, options)
    play_purely(opened, alone)
    return [run, alone, begin(opened, options)]


def test_rejections_and_corrections_are_counted_for_lists(
    noisy: list[Run], opened: Store, cli: Cli, pages: TestClient
) -> None:
    records = [turn.record for turn in opened.turns.of(noisy[0])]
    rejected = sum(len(record.drops) for record in records)
    corrected = sum(len(record.mends) for record in records)
    assert rejected
    assert corrected
    counts = [(one["rejected"], one["corrected"]) for one in json.loads(cli("runs", "--json").stdout)]
    assert counts == [(0, 0), (rejected, corrected), (rejected, corrected)]
    assert len(json.loads(cli("runs", "--json", "--where", f"corrected={corrected}").stdout)) == 2
    assert f"  {rejected}  " in cli("runs", "--sort=-rejected", env={"COLUMNS": "200"}).stdout.splitlines()[1]
    page = pages.get("/").text
    assert f'<a href="/{noisy[0].id}/rejections">{rejected}</a>' in page
    with opened.db.conn as connection:  # as if the last turn had still to be played
        connection.execute(
            "update runs set rejected = null, corrected = null, outcomes = null, status = 'unfinished'"
        )
    assert json.loads(cli("runs", "--json").stdout)[2]["rejected"] == rejected


def test_lists_play_no_game_again(home_of_all: Path, cli: Cli) -> None:
    def turns() -> int:
        with open_store(home_of_all) as store:
            return store.db.table("turns").count

    before = turns()
    assert cli("runs", "--sort", "raid_rate", "--home", str(home_of_all)).exit_code == 0
    with TestClient(site(home_of_all, "127.0.0.1"), base_url=LOCAL) as visitor:
        assert visitor.get("/?where=immunity%3D3").status_code == 200
    with hobbes.open(home_of_all) as reader:
        assert {run.status for run in reader.runs()} == {"finished", "unfinished"}
    assert turns() == before


def test_the_first_page_lists_the_same_runs(home_of_all: Path) -> None:
    with TestClient(site(home_of_all, "127.0.0.1"), base_url=LOCAL) as visitor:

        def shown(address: str) -> list[str]:
            return re.findall(r"<td>.*?<a href=[^>]*><b>([^<]*)</b>", visitor.get(address).text)

        assert shown("/") == ["mine", "forked", "small"]
        assert shown("/?sort=-seed&where=immunity%3D3%2C+seed%3E1&experiment=small") == SEEDS[:0:-1]
        page = visitor.get("/?world=trust").text
        assert "<title>unit-a 9, unit-b -3</title>" in page
        assert "</svg> 9</td>" in page, "the highest score"
        for name in ("raid_rate", "immunity", "tokens"):
            assert f"<option>{name}</option>" in page
        assert "hobbes runs --world=trust" in page
        assert "No run is like that" in visitor.get("/?model=nobody").text
