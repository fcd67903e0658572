"""`hobbes runs` and the first page: what is listed, chosen and sorted, in terminals of several widths."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import hobbes
from hobbes.errors import UsageError
from hobbes.nodes.caps import Caps
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.start import RunOptions, begin
from hobbes.show.web.server import site
from hobbes.store.home import Store, open_store
from hobbes.store.policy_games import play_purely
from hobbes.store.recorded_run import Run
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
        assert (run.name or run.id) in text
    assert text.count("nations") == text.count("unfinished") == len(runs), "world and status of each"


def test_runs_that_are_each_forked_from_the_other_are_listed(opened: Store, cli: Cli) -> None:
    one, other = (begin(opened, RunOptions("mining", 2, name=name)) for name in ("one", "other"))
    for run, parent in ((one, other), (other, one)):
        opened.runs.update(run.id, parent=parent.id)
    words = cli("runs").stdout.split()
    assert words.count("one") == words.count("other") == 1


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


def test_runs_are_chosen_by_facts_settings_and_measures(names: Callable[..., list[str]]) -> None:
    assert names("--where", "world=trust") == names("--where", "players~GRUDG") == ["forked", "mine"]
    assert sorted(names("--where", "immunity=3")) == SEEDS
    assert names("--where", "immunity = 3", "--where", "seed>2") == ["small.immune.3"]
    assert names("--where", "lang=zh") == names("--where", "lang!=en") == ["forked"]
    assert len(names("--where", "experiment=small")) == len(names("--where", "world=mining")) == 9
    high, low = names("--where", "gold_gini>=0.1"), names("--where", "gold_gini<0.1")
    assert sorted([*high, *low]) == sorted(names("--where", "world=mining"))
    assert high
    assert names("--where", "immunity=none", "--where", "world=trust") == []


def test_a_text_is_chosen_by_a_part_of_it(names: Callable[..., list[str]]) -> None:
    assert names("--where", "name~SMALL.imm") == names("--where", "name ~ small.immune")
    assert sorted(names("--where", "name~.immune.")) == SEEDS
    assert names("--where", "seed~1") == [], "a number has no parts"


def test_if_no_run_is_like_that_the_list_says_so(home_of_all: Path, cli: Cli) -> None:
    printed = cli("runs", "--where", "status=foo", "--home", str(home_of_all)).stdout
    assert printed == "no run is like that\n"
    with TestClient(site(home_of_all, "127.0.0.1"), base_url=LOCAL) as visitor:
        assert "No run is like that." in visitor.get("/", params={"where": "status=foo"}).text


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
        (["--where", "imunity=3"], "--where: runs have no 'imunity'; did you mean 'immunity'"),
        (["--where", "replications>0"], "did you mean 'replication'"),
        (["--where", "raidrate>0"], "did you mean 'raid_rate'"),
        (["--where", "immunity"], "--where 'immunity': write NAME=VALUE"),
        (["--sort", "scores"], "--sort: runs have no 'scores'; did you mean 'score'"),
        (["--sort", "zzz"], "'zzz'; facts: name, .*, notes; `hobbes worlds WORLD` describes"),
    ],
)
def test_a_name_that_no_run_has_is_refused(
    options: list[str], told: str, home_of_all: Path, cli: Cli, pages: TestClient
) -> None:
    error = cli("runs", *options, "--home", str(home_of_all)).exception
    assert isinstance(error, UsageError)
    assert re.search(told, str(error))
    assert pages.get("/", params={options[0].removeprefix("--"): options[1]}).status_code == 200


def test_runs_of_experiments_are_listed_if_they_are_asked_for(home_of_all: Path, cli: Cli) -> None:
    listed = cli("runs", "--home", str(home_of_all))
    lines = listed.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["mine", "└"]
    assert "forked" in lines[2]
    assert "plain" not in lines[2], "policies are sent no words of a prompt"
    assert "9 runs of experiments left out; --where experiment=NAME lists them" in listed.stderr
    unfolded = cli("runs", "--where", "experiment=small", "--home", str(home_of_all)).stdout.splitlines()
    assert len(unfolded) == 10
    assert any("immunity=3" in line for line in unfolded)
    in_json = json.loads(cli("runs", "--json", "--home", str(home_of_all)).stdout)
    assert {(one["experiment"], one["arm"]) for one in in_json} == {
        (None, None), *(("small", arm) for arm in ("open", "immune", "null"))
    }  # fmt: skip
    assert {one["changed"].get("immunity") for one in in_json} == {None, 3}


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


def test_how_a_run_ended_is_listed_if_it_ended_early(opened: Store, cli: Cli, pages: TestClient) -> None:
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
    assert f"  {rejected}" in cli("runs", "--sort=-rejected", env={"COLUMNS": "200"}).stdout.splitlines()[1]
    page = pages.get("/").text
    assert f'<a href="/{noisy[0].id}/diary?event=rejection">{rejected}</a>' in page
    with opened.connection as connection:  # as if the last turn had still to be played
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
            return re.findall(r"<tr><td>.*?<a href=[^>]*><b>([^<]*)</b>", visitor.get(address).text)

        assert shown("/") == ["mine", "forked"]
        assert "2 runs; 9 more in the experiments below" in visitor.get("/").text
        assert shown("/?sort=-seed&where=immunity%3D3%2C+seed%3E1") == SEEDS[:0:-1]
        first = visitor.get("/").text
        assert '<a href="/experiments/small">small</a> in mining, arms open, immune, null: 9 of 9' in first
        (of_experiment,) = re.findall('<a href="([^"]*)">its runs</a>', first)
        assert len(shown(of_experiment)) == 9
        page = visitor.get("/?where=world%3Dtrust").text
        assert 'data-label="score">9</td>' in page, "the highest score"
        for name in ("raid_rate", "immunity", "tags"):
            assert f"<option>{name}</option>" in page
        assert "hobbes runs --where world=trust" in page
