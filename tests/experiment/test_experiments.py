"""An experiment is planned, checked before the first call, played, and goes on after any stop."""

import json
import random
import signal
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from hobbes.engine.record import Json
from hobbes.errors import HaltedRunError, HobbesError, UsageError
from hobbes.experiment.experiment_file import parse
from hobbes.experiment.games import Ways
from hobbes.nodes.caps import Caps
from hobbes.nodes.players import with_rng
from hobbes.play.start import RunOptions
from hobbes.store.home import Store, open_store
from hobbes.store.policy_games import with_turns
from hobbes.store.run_journal import RunJournal
from hobbes.wire.recorder import in_thread
from tests import faults
from tests.conftest import Cli
from tests.faults import ANSWER, failing
from tests.play.test_kills import INTERRUPTED, Start, answers, kill_at, watch
from tests.small_experiment import FILE, cell, documents, planned, play_all, written
from tests.small_runs import played


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path)


def test_a_number_of_seeds_stands_for_the_seeds_from_1_on(opened: Store, file: Path) -> None:
    made = planned(opened, file)
    assert [(one.seed, one.arm) for one in made.cells] == [
        (seed, arm) for seed in (1, 2, 3) for arm in ("open", "immune", "null")
    ]
    assert planned(opened, written(file.parent, FILE.replace("seeds = 3", "seeds = [7, -2]"))).file.seeds == (
        7,
        -2,
    )


def test_an_experiment_throws_damaged_checkpoints_away(opened: Store, file: Path) -> None:
    (opened.home / "checkpoints.db").write_bytes(b"\x00garbage" * 1000)
    assert len(play_all(opened, file)) == len(planned(opened, file).cells)


def test_an_arm_plays_what_it_says_and_otherwise_what_the_file_says(opened: Store, file: Path) -> None:
    made = planned(opened, file)
    configs = {arm: cell(made, arm, 1).new.setting.config for arm in ("open", "immune", "null")}
    assert {arm: (c.rounds, c.rows, c.immunity) for arm, c in configs.items()} == {
        "open": (4, 4, 1),
        "immune": (4, 4, 3),
        "null": (4, 4, 1),
    }


def test_models_move_on_by_one_seat_with_each_seed_alike_in_all_arms(opened: Store, file: Path) -> None:
    made = planned(opened, file)
    seats = {
        arm: ["random" in spec for seed in (1, 2, 3) for spec in cell(made, arm, seed).new.models.values()]
        for arm in ("open", "immune", "null")
    }
    assert seats["open"] == [False, False, True, False, True, False, True, False, False]
    assert seats["open"] == seats["immune"] == seats["null"]


def test_arms_share_the_draws_of_a_seed_and_the_null_arm_only_those_of_the_world(small: Store) -> None:
    drawn = {
        arm: {
            (turn.turn, draw.event, str(draw.subject)): draw.digest
            for turn in small.turns.of(with_turns(small, small.runs.find(f"small.{arm}.2")))
            for draw in turn.record.draws
        }
        for arm in ("open", "null")
    }
    shared = drawn["open"].keys() & drawn["null"].keys()
    assert shared
    assert all(drawn["open"][key] == drawn["null"][key] for key in shared)
    answers = [
        [
            row["answer"]
            for row in small.calls.rows(with_turns(small, small.runs.find(f"small.{arm}.2")).id, 0)
        ]
        for arm in ("open", "null", "immune")
    ]
    assert answers[0] != answers[1]
    assert answers[0] == answers[2]


def test_a_baseline_cell_is_the_ordinary_run_of_its_settings(small: Store) -> None:
    values: dict[str, Json] = {"rounds": 4, "rows": 4, "cols": 4}
    alone = played(
        small, RunOptions("mining", 3, 1, "policy:guided?noise=0.3*2,policy:random*1", values=values)
    )
    assert small.runs.find("small.open.1").digest == alone.digest


def test_the_luck_of_a_policy_is_named_in_its_spec_and_a_model_has_none() -> None:
    assert with_rng("policy:guided", "null") == "policy:guided?rng=null"
    assert with_rng("policy:guided?noise=0.1", "null") == "policy:guided?noise=0.1&rng=null"
    assert with_rng("policy:guided?rng=a&noise=0.1", "null") == "policy:guided?noise=0.1&rng=null"
    assert with_rng("policy:guided?rng=a", "b") == "policy:guided?rng=b"
    assert with_rng("python:a.py:A?timeout=5", "null") == "python:a.py:A?timeout=5&rng=null"
    stand_in = with_rng("openai:policy/guided?noise=0.1&temperature=0.5", "null")
    assert stand_in == "openai:policy/guided?noise=0.1&rng=null&temperature=0.5"
    assert with_rng("openai:gpt-5-mini", "null") == "openai:gpt-5-mini"


def test_a_second_call_plays_only_what_is_missing(small: Store, file: Path) -> None:
    assert play_all(small, file) == []
    more = written(file.parent, FILE.replace("seeds = 3", "seeds = 4"))
    assert play_all(small, more) == ["small.open.4", "small.immune.4", "small.null.4"]


def test_changed_settings_need_another_name(small: Store, file: Path) -> None:
    changed = written(file.parent, FILE.replace("immunity = 3", "immunity = 4"))
    with pytest.raises(
        UsageError, match=r"other values of immunity: 3 then, 4 now \(arm immune, seed 1\); give the .* name"
    ):
        planned(small, changed)


@pytest.mark.parametrize(
    ("column", "exchanged", "differs"),
    [("arm", ("open", "immune"), "immunity: 3 then, 1 now"), ("seed", ("1", "2"), "the seed; model")],
)
def test_runs_of_two_cells_that_were_exchanged_are_refused(
    column: str, exchanged: tuple[str, str], differs: str, small: Store, file: Path
) -> None:
    one, other = exchanged
    for before, after in ((one, "77"), (other, one), ("77", other)):
        small.db.execute(f"update cells set {column} = ? where {column} = ?", [after, before])  # noqa: S608
    with pytest.raises(UsageError, match=rf"begun with other values of {differs} \(arm open, seed 1\)"):
        planned(small, file)


def test_a_prompt_that_changed_since_the_first_runs_needs_another_name(opened: Store, tmp_path: Path) -> None:
    variant = tmp_path / "mine"
    variant.mkdir()
    for part in ("system", "turn"):
        text = (Path("prompts/mining/guided") / f"{part}.en.md").read_text(encoding="utf-8")
        (variant / f"{part}.en.md").write_text(text, encoding="utf-8")
    text = FILE.replace("set = { immunity = 3 }", f'prompts = "{variant}"')
    path = written(tmp_path, text.replace("seeds = 3", "seeds = 1"))
    play_all(opened, path)
    with (variant / "system.en.md").open("a", encoding="utf-8") as system:
        system.write("\nBe bold.\n")
    with pytest.raises(UsageError, match=r"begun with other values of prompts \(arm immune, seed 1\)"):
        planned(opened, path)


ARMS = FILE[FILE.index("[arms.open]") :]

FACTORS = """
[factors]
immunity = [1, 3]
agents = [3, 4]
model = ["policy:guided", "policy:random?noise=0.5"]
"""


def of_factors(text: str = FACTORS) -> str:
    """Return the small experiment with factors in place of its arms."""
    return FILE.replace(ARMS, text)


def test_crossed_factors_make_an_arm_of_each_combination(opened: Store, tmp_path: Path) -> None:
    made = planned(opened, written(tmp_path, of_factors()))
    names = [one.arm for one in made.cells if one.seed == 2]
    assert len(names) == 2 * 2 * 2 + 1
    assert (made.file.baseline, names[-1]) == ("immunity=1,agents=3,model=policy-guided", "null")
    last = cell(made, "immunity=3,agents=4,model=policy-random-noise-0.5", 2).new
    assert (last.setting.config.immunity, set(last.models.values())) == (3, {"policy:random?noise=0.5"})
    assert (len(last.setting.agents), last.setting.config.rounds) == (4, 4)


def test_one_at_a_time_changes_one_factor_of_the_baseline_in_each_arm(opened: Store, tmp_path: Path) -> None:
    text = '[factors]\ndesign = "one-at-a-time"\nimmunity = [3, 5]\nrounds = [2]\n'
    made = planned(opened, written(tmp_path, of_factors(text)))
    configs = {one.arm: one.new.setting.config for one in made.cells if one.seed == 1}
    assert {arm: (config.immunity, config.rounds) for arm, config in configs.items()} == {
        "baseline": (1, 4),
        "immunity=3": (3, 4),
        "immunity=5": (5, 4),
        "rounds=2": (1, 2),
        "null": (1, 4),
    }


def test_a_table_of_a_factor_names_its_values(opened: Store, tmp_path: Path) -> None:
    text = '[factors.model]\ngreedy = "policy:greedy-mine"\ntwo = "policy:random*2,policy:guided*1"\n'
    made = planned(opened, written(tmp_path, of_factors(text)))
    models = {one.arm: list(one.new.models.values()) for one in made.cells if one.seed == 1}
    assert models["model=greedy"] == ["policy:greedy-mine"] * 3
    assert models["model=two"] == ["policy:random", "policy:random", "policy:guided"]


def test_a_factor_or_else_a_parameter_stands_where_the_model_names_it_in_braces(
    opened: Store, tmp_path: Path
) -> None:
    text = of_factors(
        '[parameters]\nnoise = 0\nraiders = 1\n[factors]\ndesign = "one-at-a-time"\n'
        "noise = [0.5]\nraiders = [0, 3]\nimmunity = [2]\n"
    ).replace(
        "policy:guided?noise=0.3*2,policy:random*1", "policy:raider*{raiders},policy:guided?noise={noise}"
    )
    made = planned(opened, written(tmp_path, text))
    models = {one.arm: ",".join(one.new.models.values()) for one in made.cells if one.seed == 1}
    calm = "policy:guided?noise=0"
    assert models["baseline"] == models["immunity=2"] == f"policy:raider,{calm},{calm}"
    assert models["noise=0.5"] == "policy:raider,policy:guided?noise=0.5,policy:guided?noise=0.5"
    assert models["raiders=0"] == f"{calm},{calm},{calm}"
    assert models["raiders=3"] == "policy:raider,policy:raider,policy:raider"


def test_a_factor_may_be_a_field_of_a_setting(opened: Store, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'name = "small"\nworld = "nations"\nseeds = 1\nset = { constants = { c_mil_upkeep_price = 7 } }\n'
        '[factors]\n"constants.c_trade_factor" = [1.0, 1.5]\n"constants.c_violence_penalty" = [3]\n',
    )
    cells = planned(opened, path).cells
    assert [one.arm for one in cells[:2]] == [
        "constants.c_trade_factor=1.0,constants.c_violence_penalty=3",
        "constants.c_trade_factor=1.5,constants.c_violence_penalty=3",
    ]
    constants = [one.new.setting.config.constants for one in cells[:2]]
    assert [one.c_trade_factor for one in constants] == [1.0, 1.5]
    assert {(one.c_violence_penalty, one.c_mil_upkeep_price) for one in constants} == {(3, 7)}


def test_pairs_are_each_value_with_itself_and_each_other_one(opened: Store, tmp_path: Path) -> None:
    text = of_factors('[factors]\ndesign = "pairs"\na = ["x", "y", "z"]\nb = ["x", "y", "z"]\n')
    text = text.replace("policy:guided?noise=0.3*2,policy:random*1", "policy:guided?rng={a}{b}")
    arms = dict.fromkeys(one.arm for one in planned(opened, written(tmp_path, text)).cells)
    assert [*arms][:-1] == ["a=x,b=x", "a=x,b=y", "a=x,b=z", "a=y,b=y", "a=y,b=z", "a=z,b=z"]


def expecting(**changed: str) -> str:
    """Return a hypothesis of an experiment file, with some of its keys changed."""
    hypothesis = {"text": "t", "measure": "output", "arm": "immune", "direction": "higher", **changed}
    return "[[hypothesis]]\n" + "\n".join(f'{key} = "{value}"' for key, value in hypothesis.items())


WRONG = {
    "an arm named twice": ("[arms.immune]", "[arms.open]", r"is not valid TOML: .*arms.*open"),
    "an unknown key": ("seeds = ", "seed = ", r"unknown key 'seed'; did you mean 'seeds'\?$"),
    "an unknown key of an arm": (
        "set = { immunity = 3 }",
        "immunity = 3",
        r"\[arms.immune\]: unknown key 'immunity'; the keys are agents, lang, model, ",
    ),
    "a key of a wrong type": ("rounds = 4", 'rounds = "4"', r"rounds: write a whole number"),
    "a missing key": ('world = "mining"', "", r"world: is missing$"),
    "no seeds": ("seeds = 3", "seeds = 0", r"seeds: write the number of seeds, at least 1"),
    "seeds the wrong way round": (
        "seeds = 3",
        'seeds = "20-10"',
        r"seeds: '20-10': write the smaller seed first, and at most 100000 seeds$",
    ),
    "a seed twice": ("seeds = 3", "seeds = [1, 1]", r"seeds: a seed is listed twice"),
    "too many seeds": ("seeds = 3", "seeds = 3000000000", r"seeds: 3000000000 are too many"),
    "rounds twice": ("{ rows = 4,", "{ rounds = 5, rows = 4,", r"rounds is set twice, by itself"),
    "an empty text": (
        "set = { immunity = 3 }",
        'model = ""',
        r"\[arms.immune\] model: is empty; give it a value",
    ),
    "an arm that is no table": (
        "[arms.immune]\nset = { immunity = 3 }",
        "[arms]\nimmune = 3",
        r"\[arms.immune\]: write a table here",
    ),
    "an unknown baseline": (
        'baseline = "open"',
        'baseline = "shut"',
        r"\[compare\] baseline: there is no arm 'shut'; arms: open, immune$",
    ),
    "an unknown measure": (
        'baseline = "open"',
        'measures = ["raids"]',
        r"\[compare\] measures: mining has no measure 'raids'; measures: output ",
    ),
    "a smallest difference of 0": (
        "seeds = 3",
        "seeds = 3\nsmallest = { output = 0 }",
        r"\[smallest\] output: Input should be greater than 0",
    ),
    "a smallest difference of an unknown measure": (
        "seeds = 3",
        "seeds = 3\nsmallest = { peace = 1 }",
        r"\[smallest\]: mining has no measure 'peace'",
    ),
    "an unknown setting": (
        "{ immunity = 3 }",
        "{ immune = 3 }",
        r"\[arms.immune\]: mining has no setting named immune; did you mean 'immunity'",
    ),
    "an unknown world": ('"mining"', '"mine"', r"\[arms.open\]: .*mine"),
    "an unknown variant": (
        "set = { immunity = 3 }",
        'prompts = "none"',
        r"\[arms.immune\]: prompts/mining has no variant 'none'",
    ),
    "the name of the null arm": ("[arms.immune]", "[arms.null]", r"\[arms.null\]: this name "),
    "a name with a dot": ('"small"', '"small.er"', r"name: write letters, digits, - and _, "),
    "nothing to compare": (
        "[arms.immune]\nset = { immunity = 3 }\n\n[compare]",
        "[compare]\nnull = false",
        r"\[arms\]: there is one arm and no null arm",
    ),
    "arms and factors": (
        'baseline = "open"',
        'baseline = "open"\n[factors]\nimmunity = [1, 3]',
        r"write either \[arms\] or \[factors\], with at least one entry$",
    ),
    "neither arms nor factors": (ARMS, "", r"write either \[arms\] or \[factors\]"),
    "a factor without values": (ARMS, "[factors]\nimmunity = []", r"\[factors\] immunity: "),
    "a factor that is no list": (
        ARMS,
        "[factors]\nimmunity = 3",
        r"\[factors\] immunity: write a list of values, or a table of values with their names$",
    ),
    "pairs of different values": (
        ARMS,
        '[factors]\ndesign = "pairs"\nimmunity = [1, 2]\nrows = [1, 3]',
        r"\[factors\]: the design pairs needs two factors with the same values$",
    ),
    "parameters without factors": (
        'baseline = "open"',
        'baseline = "open"\n[parameters]\nnoise = 0',
        r"\[parameters\]: only an experiment with \[factors\] takes them$",
    ),
    "a parameter that nothing uses": (
        ARMS,
        '[parameters]\nnoise = 0\n[factors]\nmodel = ["policy:guided?tremble={noice}", "policy:random"]',
        r"\[parameters\] noise: nothing uses it; write \{noise\} in model, or leave it out$",
    ),
    "a parameter that a factor replaces in all arms": (
        ARMS,
        '[parameters]\nnoise = 0\n[factors]\nmodel = ["policy:guided?noise={noise}"]\nnoise = [0, 0.5]',
        r"\[parameters\] noise: the factor noise replaces it; leave one of them out$",
    ),
    "an unknown name in braces": (
        ARMS,
        '[factors]\nimmunity = [1, 2]\nmodel = ["policy:guided?noise={nois}"]',
        r"\[factors\] immunity=1,model=.*: 'policy:guided\?noise=\{nois\}' is not a model spec",
    ),
    "an unknown design": (
        ARMS,
        '[factors]\ndesign = "latin"\nimmunity = [1, 3]',
        r"\[factors\] design: .*'crossed', 'one-at-a-time' or 'pairs'$",
    ),
    "an impossible number of agents": (
        ARMS,
        "[factors]\nagents = [3, 0]",
        r"\[factors\] agents: .*greater than or equal to 1$",
    ),
    "two arms of one name": (
        ARMS,
        '[factors]\nmodel = ["policy:guided", "policy guided"]',
        r"\[factors\]: two arms would have the name 'model=policy-guided'; change ",
    ),
    "the baseline's own value": (
        ARMS,
        '[factors]\ndesign = "one-at-a-time"\nimmunity = [1, 3]',
        r"\[factors\] immunity=1: the baseline has this value; leave it out$",
    ),
    "too many arms": (
        ARMS,
        f"[factors]\nimmunity = {list(range(101))}\nrows = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
        r"\[factors\]: 1,010 are too many arms; make at most 1,000$",
    ),
    "a hypothesis about no arm": (
        'baseline = "open"',
        expecting(arm="shut"),
        r"\[\[hypothesis\]\] 1 arm: there is no arm 'shut'; arms: open, immune$",
    ),
    "a hypothesis about the baseline": (
        'baseline = "open"',
        expecting(arm="open"),
        r"\[\[hypothesis\]\] 1 arm: 'open' is the baseline itself; name another arm$",
    ),
    "a hypothesis against a null arm that is not played": (
        'baseline = "open"',
        "null = false\n" + expecting(against="null"),
        r"\[\[hypothesis\]\] 1 against: there is no arm 'null'; arms: open, immune$",
    ),
    "a share of nothing": (
        'baseline = "open"',
        expecting(test="halves") + "\nshare = 0.9",
        r"\[\[hypothesis\]\] 1 share: the test halves compares no arms; leave it out$",
    ),
    "an unknown key of a hypothesis": (
        'baseline = "open"',
        expecting(arms="immune"),
        r"\[\[hypothesis\]\] 1: unknown key 'arms'; did you mean 'arm'",
    ),
    "a hypothesis that is no list": (
        'baseline = "open"',
        expecting().replace("[[hypothesis]]", "[hypothesis]"),
        r"\[\[hypothesis\]\]: write a list",
    ),
    "a person": (
        FILE.partition("[arms.open]")[0],
        'name = "small"\nworld = "trust"\nseeds = 3\nset = { observer = "human" }\n',
        r"\[arms.open\] set.observer: an experiment cannot ask a person",
    ),
}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("empty")) as store:
        yield store


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_refused_in_one_line_before_the_first_call(
    wrong: tuple[str, str, str], empty: Store, tmp_path: Path
) -> None:
    before, after, message = wrong
    assert FILE.count(before) == 1
    with pytest.raises(UsageError, match=rf"small.toml:? {message}") as refused:
        planned(empty, written(tmp_path, FILE.replace(before, after)))
    assert "\n" not in str(refused.value)
    assert empty.figures.of_all_runs() == []


def test_the_settings_of_a_single_run_are_not_an_experiment(cli: Cli) -> None:
    refused = cli("experiment", "experiments/mining-scarce.toml").exception
    assert isinstance(refused, UsageError)
    assert "`hobbes run experiments/mining-scarce.toml` plays it as one run" in str(refused)


def test_a_date_is_no_value_of_a_factor() -> None:
    content = {"name": "a", "world": "mining", "seeds": 2, "factors": {"immunity": [date(1979, 5, 27)]}}
    with pytest.raises(ValueError, match=r"^\[factors\] immunity.0: input was not a valid JSON value$"):
        parse(content)


def test_a_name_that_another_run_has_is_refused_before_the_first_call(opened: Store, file: Path) -> None:
    played(opened, RunOptions("mining", agents=2, values={"rounds": 1}, name="small.immune.3"))
    with pytest.raises(
        UsageError, match=r"a run that is not of the experiment 'small' has the name 'small\."
    ):
        planned(opened, file)


def test_a_prompt_that_prompts_check_refuses_is_refused(cli: Cli, tmp_path: Path, home: Path) -> None:
    variant = tmp_path / "mine"
    variant.mkdir()
    (variant / "turn.en.md").write_text("{{ view }}", encoding="utf-8")
    (variant / "system.en.md").write_text("{% if communication %}{{ 1 / 0 }}{% endif %}", encoding="utf-8")
    path = written(tmp_path, FILE.replace("set = { immunity = 3 }", f'prompts = "{variant}"'))
    assert cli("prompts", "check", "mining", str(variant)).exit_code == 1
    result = cli("experiment", str(path))
    with pytest.raises(UsageError, match=r"small.toml: \[arms.immune\] prompts: .*division by zero"):
        raise result.exception or AssertionError(result.output)
    with open_store(home) as store:
        assert store.figures.of_all_runs() == []


# What it will cost.


def priced(folder: Path, model: str = "openai:gpt-5-mini") -> Path:
    """Write an experiment of 3 agents, 4 rounds and 9 runs that asks a model, by default one with a price."""
    return written(folder, FILE.replace("policy:guided?noise=0.3*2,policy:random*1", model))


def test_a_dry_run_says_what_is_known_about_the_cost_without_a_key(
    cli: Cli, tmp_path: Path, home: Path
) -> None:
    path = priced(tmp_path)
    told = json.loads(cli("experiment", str(path), "--dry-run", "--json").stdout)
    assert (told["runs"], told["played"], told["calls"]) == (9, 0, 9 * 3 * 4)
    assert told["tokens"]["in"] > 108 * 500
    assert (told["tokens"]["out"], told["usd"], told["detectable_effect"]) == (None, None, None)
    assert not home.exists()


def test_recorded_tokens_and_the_price_list_say_what_it_will_cost(
    cli: Cli, tmp_path: Path, opened: Store
) -> None:
    run = played(opened, RunOptions("mining", 2, values={"rounds": 1}))
    with opened.connection as connection:
        connection.execute(
            "update calls set player = 'openai:gpt-5-mini', tokens_in = 1000, tokens_cached = 400,"
            " tokens_out = 100 where run = ?",
            [run.id],
        )
    told = json.loads(cli("experiment", str(priced(tmp_path)), "--dry-run", "--json").stdout)
    assert told["tokens"] == {"in": 108_000, "cached": 43_200, "out": 10_800}
    assert told["usd"] == pytest.approx((64_800 * 0.25 + 43_200 * 0.025 + 10_800 * 2.0) / 1_000_000)


def test_dollars_that_are_unknown_say_what_they_need_and_an_answer_counts_its_most(
    cli: Cli, tmp_path: Path, home: Path
) -> None:
    command = ("experiment", str(priced(tmp_path, "mine")), "--dry-run")
    home.mkdir()
    table = '[mine]\nmodel = "big"\nbase_url = "https://example.com/v1"\n'
    for known, needed in (("", "price and max_tokens of big"), ("max_tokens = 500\n", "price of big")):
        (home / "models.toml").write_text(table + known, encoding="utf-8")
        assert f"unknown: give {needed} in models.toml" in " ".join(cli(*command).stdout.split())
    price = "max_tokens = 500\nprice = { input = 0.0, output = 2.0 }\n"
    (home / "models.toml").write_text(table + price, encoding="utf-8")
    told = json.loads(cli(*command, "--json").stdout)
    assert (told["tokens"]["out"], told["usd"]) == (108 * 500, pytest.approx(108 * 500 * 2.0 / 1_000_000))


def test_an_experiment_that_costs_an_unknown_sum_needs_a_key_and_asks_first(
    cli: Cli, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(priced(tmp_path))
    assert "openai: models need OPENAI_API_KEY" in str(cli("experiment", path).exception)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    refused = cli("experiment", path, input="n\n").exception
    assert isinstance(refused, HobbesError)
    assert str(refused) == "nothing was played"
    unanswered = cli("experiment", path).exception
    assert isinstance(unanswered, UsageError)
    assert "--yes" in str(unanswered)
    with open_store(home) as store:
        assert store.figures.of_all_runs() == []


def test_a_dry_run_says_what_so_many_seeds_find_and_what_was_played(cli: Cli, tmp_path: Path) -> None:
    path = written(tmp_path, FILE.replace("seeds = 3", "seeds = 8"))
    cli("experiment", str(path))
    told = json.loads(cli("experiment", str(path), "--dry-run", "--json").stdout)
    assert 1 < told["detectable_effect"] < 4
    assert (told["runs"], told["played"], told["usd"]) == (0, 24, 0)


def test_without_the_library_of_statistics_a_dry_run_leaves_out_what_the_seeds_find_and_says_so(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("numpy", "scipy", "scipy.special"):
        monkeypatch.setitem(sys.modules, library, None)
    path = written(tmp_path, FILE.replace("seeds = 3", "seeds = 9"))
    shown = cli("experiment", str(path), "--dry-run")
    assert "runs to play     27" in shown.stdout
    assert shown.stderr.endswith(
        "left out: statistics need more than is installed: pip install 'hobbes[stats]'\n"
    )


# Stops.


class StopError(Exception):
    """Stands for a kill."""


def stopping(monkeypatch: pytest.MonkeyPatch, moments: list[int]) -> list[int]:
    """Stop a run in the middle of a turn, at these moments, counted in answers. Return where it was stopped.

    Of runs side by side, another one may reach the next moment before the first stop ends them all.
    """
    keep = RunJournal.keep
    count, stops = 0, list[int]()

    async def keep_or_stop(journal: Any, *calls: Any) -> None:
        nonlocal count
        before, count = count, count + len(calls)
        if reached := [moment for moment in moments if before < moment <= count]:
            stops.extend(reached)
            raise StopError
        await keep(journal, *calls)

    monkeypatch.setattr(RunJournal, "keep", keep_or_stop)
    return stops


SIDE_BY_SIDE = Ways(at_once=3, caps=Caps(calls=10_000))
"""Where calls are counted, policies are played in the event loop, too."""


def test_an_experiment_stopped_at_ten_moments_reports_the_bytes_of_one_never_stopped(
    file: Path, whole: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = tmp_path / "stopped"
    calls = 3 * 3 * 3 * 4
    moments = sorted(random.Random(5).sample(range(1, calls, 3), 10))  # noqa: S311  no secret
    stops = stopping(monkeypatch, moments)
    while True:
        try:
            with open_store(stopped) as store:
                play_all(store, file, ways=SIDE_BY_SIDE)
            break
        except StopError:
            continue
    assert stops == moments
    assert documents(stopped) == whole


def test_an_experiment_that_is_interrupted_or_killed_goes_on(
    file: Path, home: Path, process: Start, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server answers some calls and then none, so that the experiment cannot end before it is stopped."""
    left = 20

    def some_are_answered(*_: Any) -> str:
        nonlocal left
        left -= 1
        return ANSWER if left >= 0 else "stall"

    monkeypatch.setattr(faults, "draw_fault", some_are_answered)
    written(file.parent, FILE.replace("policy:guided?noise=0.3*2,policy:random*1", "openai:policy/guided"))
    command = ("experiment", str(file), "--yes", "--at-once", "2")
    with in_thread(failing()) as base:
        env = {"OPENAI_BASE_URL": base, "OPENAI_API_KEY": "none"}
        interrupted = process(*command, env=env)
        watch(interrupted, home, 13)
        interrupted.send_signal(signal.SIGINT)
        assert interrupted.wait() == INTERRUPTED
        assert 0 < len(answers(home)) < 108
        left = 40
        killed = process(*command, env=env)
        kill_at(killed, home, 45)
        killed.stdout.read()  # to its end, which comes when no process can write to it any more
        left = 108
        assert "9 runs, " in cli("experiment", str(file), "--yes", env=env).stdout
    assert len(answers(home)) == 108
    (told,) = json.loads(cli("experiments", "--json").stdout)
    assert (told["played"], told["runs"]) == (9, 9)


def test_a_run_that_halts_stops_the_experiment_which_says_how_to_go_on(
    opened: Store, cli: Cli, tmp_path: Path
) -> None:
    spoiled = FILE.replace("{ immunity = 3 }", '{ on_failure = "halt" }').replace("noise=0.3", "noise=1.0")
    halted = cli("experiment", str(written(tmp_path, spoiled))).exception
    assert isinstance(halted, HaltedRunError)
    assert str(halted).startswith("small.immune.3: run ")
    assert str(halted).endswith("goes on; then play the experiment again")
    statuses = [run["status"] for run in opened.figures.of_all_runs()]
    assert statuses == ["halted"] + ["finished"] * 8


def test_tainted_runs_are_told_at_the_end_with_exit_code_1(cli: Cli, tmp_path: Path) -> None:
    path = str(written(tmp_path, FILE.replace("noise=0.3*2", "noise=1.0*2")))
    played_all = cli("experiment", path)
    tainted = json.loads(cli("experiment", path, "--json").stdout)["tainted"]
    arms = json.loads(cli("report", "small", "--json").stdout)["arms"].values()
    assert tainted == sum(arm["tainted"] for arm in arms) > 0
    assert played_all.exit_code == 1
    assert f"{tainted} of 9 runs are tainted" in played_all.stdout
