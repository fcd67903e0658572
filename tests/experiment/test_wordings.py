"""Paraphrases of a prompt, or several models, stand for others: claims are about them, not about one."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hobbes.errors import UsageError
from hobbes.experiment.arm_comparison import Judged, Rules, Sample, judge, weighted_sum
from hobbes.experiment.experiment_file import parse
from hobbes.experiment.games import freeze
from hobbes.experiment.wordings import Wordings
from hobbes.store.experiment_tables import keep_experiment, kept_plan
from hobbes.store.home import Store, open_store
from tests.conftest import ROOT, Cli
from tests.simulated import wordings_tally
from tests.small_experiment import FILE, cell, planned, play_all, written

WORDINGS = ("Mine first.", "Begin by mining.", "Mining comes first.")


def folders(folder: Path) -> list[str]:
    """Write three folders of prompts that say the same in other words, and return their paths."""
    paths = [folder / f"mine-{number}" for number in range(1, 4)]
    for path, words in zip(paths, WORDINGS, strict=True):
        shutil.copytree(ROOT / "prompts" / "mining" / "guided", path)
        system = path / "system.en.md"
        system.write_text(f"{system.read_text(encoding='utf-8').rstrip()}\n{words}\n", encoding="utf-8")
    return [str(path) for path in paths]


def worded(folder: Path) -> Path:
    """Return an experiment file with an arm of three paraphrases and one of a single wording."""
    paths = folders(folder)
    arms = (
        f"[arms.advised]\nparaphrases = {json.dumps(paths)}\n\n[arms.once]\nprompts = {json.dumps(paths[0])}"
    )
    return written(folder, FILE.replace("[arms.immune]\nset = { immunity = 3 }", arms))


def test_each_wording_is_played_with_each_seed_and_the_null_arm_has_those_of_the_baseline(
    opened: Store, tmp_path: Path
) -> None:
    made = planned(opened, worded(tmp_path))
    names = ["open", "advised~mine-1", "advised~mine-2", "advised~mine-3", "once", "null"]
    assert [(one.arm, one.seed) for one in made.cells] == [(name, s) for s in (1, 2, 3) for name in names]
    texts = {cell(made, name, 1).new.prompts.hash for name in names[:4]}
    assert len(texts) == 4
    paths = [f"{tmp_path}/mine-{n}" for n in (1, 2)]
    for_all = planned(
        opened, written(tmp_path, FILE.replace("seeds = 3", f"seeds = 3\nparaphrases = {paths}"))
    )
    null = cell(for_all, "null~mine-2", 2).new
    assert null.prompts == cell(for_all, "open~mine-2", 2).new.prompts
    assert all(spec.endswith("&rng=null") or "?rng=null" in spec for spec in null.models.values())


def test_the_plan_that_is_kept_has_the_hash_of_each_wording(opened: Store, tmp_path: Path) -> None:
    made = planned(opened, worded(tmp_path))
    keep_experiment(opened, "small", "mining", {})
    freeze(opened, made, {})
    kept = kept_plan(opened, "small")
    assert kept is not None
    prompts = kept.plan["prompts"]
    assert {name: prompts[name] for name in prompts if name.startswith("advised")} == {
        f"advised~mine-{n}": cell(made, f"advised~mine-{n}", 1).new.prompts.hash for n in (1, 2, 3)
    }


def test_a_report_says_over_which_wordings_a_claim_is_and_which_claim_is_about_one(
    cli: Cli, tmp_path: Path, home: Path
) -> None:
    with open_store(home) as store:
        play_all(store, worded(tmp_path))
    text = cli("report", "small", "--format", "md").stdout
    assert "“once”: what is said holds for one wording" not in text  # all its pairs are alike
    assert "; about 3 wordings of advised" in text
    file = tmp_path / "small.toml"
    file.write_text(
        file.read_text(encoding="utf-8").replace("[arms.once]", "[arms.once]\nset = { immunity = 3 }")
    )
    shutil.rmtree(home)
    with open_store(home) as store:
        play_all(store, file)
    holds = "“once”: what is said holds for one wording of its prompt; “paraphrases” plays several."
    assert holds in " ".join(cli("report", "small").stdout.split())

    raids = next(
        one
        for one in json.loads(cli("report", "small", "--json").stdout)["differences"]
        if (one["arm"], one["measure"]) == ("advised", "raid_rate")
    )
    (wordings,) = raids["wordings"]
    assert wordings["arms"] == ["advised"]
    assert [one["wording"] for one in wordings["each"]] == ["mine-1", "mine-2", "mine-3"]
    assert np.mean([one["mean"] for one in wordings["each"]]) == pytest.approx(raids["mean"])


def of_wordings(*wordings: list[float]) -> Judged:
    """Return the comparison of an arm with so many wordings; each has a value for each seed."""
    crossed = {str(n): dict(enumerate(values)) for n, values in enumerate(wordings)}
    pairs = {seed: float(np.mean(of)) for seed, of in enumerate(zip(*wordings, strict=True))}
    sample = Sample("m", pairs, ("a",), (Wordings(("a",), crossed),))
    return judge([sample], Rules({"m": 2.5}, frozenset()))[0]


def test_a_wording_that_changes_nothing_differs_by_nothing_at_all() -> None:
    """A rounding error would have an interval."""
    arms = {"plain": {}, "several": {"paraphrases": ["./polite", "./blunt"]}}
    file = parse({"name": "small", "world": "mining", "seeds": 20, "arms": arms})
    same, other = file.wordings("several")
    values = {
        (name, seed): {("run", "m"): round(seed / by, 12)}
        for name, by in (("plain", 7), (same, 7), (other, 0.3))
        for seed in file.seeds
    }
    (wordings,) = weighted_sum(values, file, "m", {"several": 1.0, "plain": -1.0}).wordings
    assert {*wordings.crossed["polite"].values()} == {0}


NOISE = [0.1, -0.2, 0.3, -0.1, 0.2, -0.3, 0.1, -0.1]


def test_what_one_wording_of_three_does_is_not_found_of_the_advice() -> None:
    one = of_wordings([3 + x for x in NOISE], NOISE, NOISE)
    (of,) = one.sample.wordings
    assert not one.differs
    assert one.difference.mean.low is not None
    assert one.difference.mean.low < 0
    assert [round(mean.mean or 0.0, 6) for mean in of.means().values()] == [3, 0, 0]
    assert one.difference.p_margin is not None
    assert one.difference.p_margin > 0.05
    assert one.detectable is not None
    assert one.detectable > 3


def test_what_all_wordings_do_is_found() -> None:
    assert of_wordings(*([3 + off + x for x in NOISE] for off in (0.0, 0.1, -0.1))).differs


def test_wordings_that_cancel_out_do_not_count_as_no_difference() -> None:
    one = of_wordings([2.0] * 8, [-2.0] * 8, [0.0] * 8)
    assert one.difference.spread == 0
    assert not one.no_larger
    assert one.difference.mean.low is not None


def test_intervals_over_few_wordings_hold_the_mean_over_all() -> None:
    """Intervals over games alone hold it in 74 percent."""
    of = wordings_tally("normal", 3, 8, 1.0, 200)
    assert of.covered >= 0.92
    assert of.called <= 0.08
    assert of.over_games < 0.85


WRONG = {
    "one wording": ('paraphrases = ["guided"]', r"\[arms.immune\] paraphrases: list at least two; without "),
    "no list": ('paraphrases = "guided"', r"\[arms.immune\] paraphrases: list at least two; without it, "),
    "a wording twice": ('paraphrases = ["guided", "guided"]', r"\[arms.immune\] paraphrases: one is listed "),
    "no such prompts": ('paraphrases = ["guided", "./none"]', r"\[arms.immune\] paraphrases none: .*none"),
    "one and several": (
        'prompts = "guided"\nparaphrases = ["guided", "unguided"]',
        r"\[arms.immune\]: write either prompts or paraphrases$",
    ),
    "two of one name": (
        'paraphrases = ["./a/mine", "./b/mine"]',
        r"\[arms.immune\]: two wordings have the same name; rename a folder$",
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_wrong_wordings_are_refused_in_one_line(
    wrong: tuple[str, str], opened: Store, tmp_path: Path
) -> None:
    text, message = wrong
    with pytest.raises(UsageError, match=rf"small.toml: {message}") as refused:
        planned(opened, written(tmp_path, FILE.replace("set = { immunity = 3 }", text)))
    assert "\n" not in str(refused.value)


def test_shipped_stands_for_all_wordings_of_the_world_and_none_takes_a_setting_that_it_does_not_tell(
    opened: Store, tmp_path: Path
) -> None:
    text = FILE.replace("seeds = 3", 'seeds = 3\nparaphrases = "shipped"')
    with pytest.raises(
        UsageError, match=r"\[arms.immune\] paraphrases formal: .* it says nothing of immunity; "
    ):
        planned(opened, written(tmp_path, text))
    made = planned(opened, written(tmp_path, text.replace("immunity = 3", "rows = 3")))
    assert made.file.wordings("null") == ("null~unguided", "null~formal", "null~story", "null~terse")
