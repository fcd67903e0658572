"""What a report concludes, from experiments whose values are written by hand."""

import json
from dataclasses import replace

import pytest

from hobbes.lab.errors import DamagedError
from hobbes.lab.experiment.file import Hypothesis
from hobbes.lab.experiment.report import Tested as AsTested
from hobbes.lab.experiment.report import conclusions, report, short, verdicts
from hobbes.lab.show.reports import markdown
from hobbes.lab.store.experiments import add_cell, experiment_file, keep_experiment
from hobbes.lab.store.home import Store
from hobbes.lab.store.row_hashes import column_hashes
from tests.conftest import Cli
from tests.lab.test_reports import told


def made_up(store: Store, values: dict[str, list[float | None]], tainted: tuple[str, ...] = ()) -> None:
    """Store an experiment with these values of one measure by arm and seed, as if it had been played.

    `tainted` has the names of tainted runs. The first arm is the baseline.
    """
    arms = [arm for arm in values if arm != "null"]
    seeds = len(next(iter(values.values())))
    file = {
        "name": "made",
        "world": "mining",
        "seeds": seeds,
        "arms": {arm: {} for arm in arms},
        "compare": {"measures": ["output"], "null": "null" in values},
    }
    keep_experiment(store, "made", "mining", file)
    for arm, of_arm in values.items():
        for seed, value in enumerate(of_arm, start=1):
            name = f"made.{arm}.{seed}"
            row = {"id": name, "name": name, "world": "mining", "seed": seed, "digest": name}
            more = {
                "status": "finished",
                "tainted": name in tainted,
                "models": "{}",
                "prompts": "",
                "lang": "",
                "agents": "[]",
                "config": '{"rounds": 1}',
                "record_version": 1,
                "rules_version": 1,
                "hobbes": "",
                "column_hashes": "[]",
            }
            store.db.table("runs").insert(row | more)
            hashes = json.dumps(column_hashes(store.runs.row_unchecked(name)))
            store.runs.update(name, column_hashes=hashes)
            figures = {"measures": json.dumps({"output": [value, None, None]}), "over_time": "{}"}
            lists = dict.fromkeys(("told", "winners", "spells", "ratings"), "[]")
            objects = dict.fromkeys(("model_settings", "left_out"), "{}")
            costs = dict.fromkeys(("calls", "tokens_in", "tokens_out", "usd"), 0)
            store.db.table("reported").insert({"run": name, **figures, **lists, **objects, **costs})
            with store.db.conn:
                add_cell(store, "made", arm, seed, name)


def measured_too(store: Store, run: str, measure: str, *of_scopes: float | None) -> None:
    """Give a run another measure: its value in the run, in its first half and in its second half."""
    (text,) = next(iter(store.db.execute("select measures from reported where run = ?", [run])))
    measures = json.loads(text) | {measure: of_scopes}
    store.db.execute("update reported set measures = ? where run = ?", [json.dumps(measures), run])
    store.db.conn.commit()


def said(store: Store) -> str:
    """Return what is concluded from the experiment."""
    return "\n".join(conclusions(report(store, "made")))


def test_a_clear_difference_is_said_with_its_direction(opened: Store) -> None:
    base: list[float | None] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    made_up(opened, {"one": base, "two": [(v or 0) + 10 + k / 10 for k, v in enumerate(base)]})
    assert said(opened).startswith("two, output: higher than one by 10.2 (95% interval ")
    assert "p 0.0312." in said(opened)


RISING: list[float | None] = [1.0, 2.0, 3.0, 4.0, 5.0]

SAID: dict[str, tuple[dict[str, list[float | None]], str]] = {
    "too few seeds": (
        {"one": RISING, "two": [11.0, 12.5, 13.0, 14.0, 15.0]},
        "two, output: nothing can be concluded from 5 pairs. The test needs 6 or more.",
    ),
    "too few seeds of several arms": (
        {"one": RISING, "two": RISING[::-1], "three": [7.0, 7.0, 6.0, 8.0, 9.0]},
        "Nothing can be concluded from 5 pairs. The test needs 6 or more.",
    ),
    "an arm without a value": (
        {"one": [1.0] * 6, "two": [None] * 6},
        "two, output: nothing can be concluded, because in no pair do both runs have a value that counts.",
    ),
    "no clear difference": (
        {"one": [0.0] * 8, "two": [3.0, -1.0, 2.0, -2.0, 1.0, 0.0, 4.0, -3.0]},
        (
            "two, output: no difference can be concluded (p 0.672). 8 seeds find a difference of 2.83 in 80% "
            "of experiments. If the difference that was seen, +0.5, is the true one, 191 seeds would do."
        ),
    ),
}


@pytest.mark.parametrize(("values", "told"), SAID.values(), ids=SAID)
def test_where_nothing_can_be_concluded_the_report_says_why_and_what_would_do(
    values: dict[str, list[float | None]], told: str, opened: Store
) -> None:
    made_up(opened, values)
    assert said(opened) == told


def test_with_more_measures_more_seeds_are_needed(opened: Store) -> None:
    """Holm's correction of four p leaves none of 7 pairs below 0.05; the report must not announce any."""
    made_up(opened, {"one": [0.0] * 7, "two": [10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7]})
    file = experiment_file(opened, "made")
    file["compare"]["measures"] = ["output", "raid_rate", "turnover", "gold_gini"]
    keep_experiment(opened, "made", "mining", file)
    for measure in file["compare"]["measures"][1:]:
        for arm in ("one", "two"):
            for seed in range(1, 8):
                measured_too(opened, f"made.{arm}.{seed}", measure, 0.0, None, None)
    found = report(opened, "made")
    assert found.differences[0].p_holm == pytest.approx(4 * 2 / 2**7)
    assert said(opened).splitlines()[-1] == (
        "two, output: nothing can be concluded from 7 pairs. With 4 measures the test needs 8 or more."
    )
    assert found.detectable["output"] is None


def test_one_seed_concludes_nothing_and_names_its_pair(opened: Store) -> None:
    made_up(opened, {"one": [1.0], "two": [2.0]})
    assert said(opened) == "two, output: nothing can be concluded from one pair. The test needs 6 or more."
    (difference,) = report(opened, "made").differences
    assert difference.nearest() == difference.farthest() == 1


def test_each_reason_why_nothing_can_be_concluded_is_said_once(opened: Store) -> None:
    four: list[float | None] = [4.0, 3.0, 1.0, 7.0, None]
    none: list[float | None] = [None] * 5
    made_up(
        opened, {"one": [1.0, 2.0, 3.0, 4.0, 5.0], "two": four, "three": none, "four": four, "five": none}
    )
    few, none_at_all = said(opened).splitlines()
    assert few == (
        "two, output; four, output: nothing can be concluded from 4 pairs. The test needs 6 or more."
    )
    assert none_at_all.startswith(
        "three, output; five, output: nothing can be concluded, because in no pair "
    )


def test_a_bar_in_a_name_does_not_end_a_cell_of_a_markdown_table(opened: Store) -> None:
    made_up(opened, {"one": [1.0] * 3, "two": [2.0] * 3})
    found = replace(report(opened, "made"), manifest={"models": ["small|fast"]})
    assert r"| models | small\|fast |" in markdown(opened, found)


def test_a_hypothesis_is_foreign_text_in_a_markdown_report(opened: Store) -> None:
    """It is one line without markup, HTML and invisible characters, as it is in the report in HTML."""
    made_up(opened, {"one": [1.0] * 3, "two": [2.0] * 3})
    text = "A & B\n\n# Proven <script>alert(1)</script> ![p](http://x/p) `\x1b[2J` \u202e*more*"
    hypothesis = Hypothesis(text=text, arm="two", measure="output", direction="higher")
    difference = report(opened, "made").differences[0].difference
    found = replace(report(opened, "made"), hypotheses=(AsTested(hypothesis, difference, None, 6),))
    (line,) = [line for line in markdown(opened, found).splitlines() if "Proven" in line]
    assert (
        r"A &amp; B # Proven &lt;script&gt;alert(1)&lt;/script&gt; !\[p\](http://x/p)"
        r" \`\\x1b\[2J\` \\x202e\*more\*. Expected: higher"
    ) in line


def test_rounding_errors_are_no_differences(opened: Store) -> None:
    """0.1 + 0.2 is not 0.3 in binary arithmetic, but no game was played differently because of it."""
    made_up(opened, {"one": [0.3] * 8, "two": [0.1 + 0.2] * 8, "three": [0.4, 0.3 + 0.1 + 1e-16] * 4})
    two, three = report(opened, "made").differences
    assert (two.difference.mean.mean, two.difference.spread, two.difference.effect) == (0.0, 0.0, None)
    assert (three.difference.spread, three.difference.effect) == (0.0, None)
    assert "two, output: no difference at all" in said(opened)


def test_an_interval_that_ends_at_0_ends_there_exactly(opened: Store) -> None:
    differences: list[float | None] = [-0.1, 0.0, 0.0, -0.3, 0.2, 0.1, 0.1, 0.0]
    made_up(opened, {"one": [0.7] * 8, "two": [0.7 + (v or 0) for v in differences]})
    (one,) = report(opened, "made").differences
    for value in (one.difference.mean.mean, one.difference.mean.low, one.difference.mean.high):
        assert value is not None
        assert value == 0.0 or abs(value) > 1e-6


@pytest.mark.parametrize(
    ("pairs", "measures", "told"),
    [
        (6, ["output"], "leaves out 0, but p decides. "),
        (7, ["output", "raid_rate"], "leaves out 0, but p decides; p is corrected for 2 measures, and "),
    ],
)
def test_an_interval_that_leaves_out_0_is_told_where_no_difference_can_be_concluded(
    opened: Store, pairs: int, measures: list[str], told: str
) -> None:
    """One of the differences has the other sign, so p is 4 / 2**6 or 4 / 2**7 before its correction."""
    low: list[float | None] = [9.5, *[4.0, 3.0] * 3]
    made_up(opened, {"one": [9.0] * pairs, "two": low[:pairs]})
    for run in [row["id"] for row in opened.figures.of_all_runs()]:
        measured_too(opened, run, "raid_rate", 0.0, None, None)
    file = experiment_file(opened, "made")
    file["compare"]["measures"] = measures
    keep_experiment(opened, "made", "mining", file)
    one = report(opened, "made").differences[0]
    mean = one.difference.mean
    assert mean.high is not None
    assert mean.high < 0
    interval = f"95% interval {short(mean.low)} to {short(mean.high)}"
    assert f"two, output: no difference can be concluded (p 0.0625). The {interval} {told}" in said(opened)


def test_a_difference_that_was_seen_has_its_sign(opened: Store) -> None:
    made_up(opened, {"one": [3.0, -1.0, 2.0, -2.0, 1.0, 0.0, 4.0, -3.0], "two": [0.0] * 8})
    assert "If the difference that was seen, -0.5, is the true one" in said(opened)


def test_arms_that_are_equal_in_every_pair_are_called_so(opened: Store) -> None:
    made_up(opened, {"one": [1.0, 2.0] * 4, "two": [1.0, 2.0] * 4})
    assert (
        said(opened) == "two, output: no difference at all: one and two have the same value in all 8 pairs."
    )
    assert report(opened, "made").detectable == {"output": None}


def test_an_arm_whose_runs_have_the_digests_of_the_baseline_is_called_the_same(opened: Store) -> None:
    made_up(opened, {"one": [1.0, 2.0] * 4, "two": [1.0, 2.0] * 4})
    with opened.db.conn:
        opened.db.conn.execute("update runs set digest = seed")
    assert said(opened) == "two: the same as one. All 8 pairs have equal digests: no turn differs."


def test_a_difference_that_the_null_arm_may_show_as_well_is_doubted(opened: Store) -> None:
    zero: list[float | None] = [0.0] * 6
    made_up(opened, {"one": zero, "two": [1.0, 1.1, 0.9, 1.0, 1.2, 0.8], "null": [3.0, -3, 2, -2, 1, -1]})
    assert "But the null arm may differ by as much" in said(opened)


def test_a_null_arm_that_differs_is_a_warning(opened: Store) -> None:
    made_up(opened, {"one": [0.0] * 6, "two": [0.0] * 6, "null": [1.0, 1.1, 0.9, 1.0, 1.2, 0.8]})
    assert "The null arm differs from the baseline by output, although nothing was changed." in said(opened)


def test_tainted_runs_are_counted_and_left_out_only_if_asked(opened: Store, cli: Cli) -> None:
    values: dict[str, list[float | None]] = {"one": [0.0] * 7, "two": [1.0, 2, 3, 4, 5, 6, 70]}
    made_up(opened, values, tainted=("made.two.7",))
    found = told(cli, "report", "made")
    assert found["arms"]["two"]["tainted"] == 1
    assert found["arms"]["two"]["measures"]["output"]["n"] == 7
    without = told(cli, "report", "made", "--without-tainted")
    assert without["arms"]["two"]["runs"] == 7
    assert [without["arms"][arm]["measures"]["output"]["n"] for arm in ("one", "two")] == [7, 6]
    assert without["differences"][0]["n"] == 6
    assert without["differences"][0]["mean"] == 3.5
    for options, rule in (((), "All figures rest on them"), (("--without-tainted",), "not in any figure")):
        text = cli("report", "made", "--format", "md", *options).stdout
        assert "1 of 14 runs are tainted" in text
        assert rule in text


def test_a_pair_without_a_value_is_left_out(opened: Store) -> None:
    made_up(opened, {"one": [0.0] * 7, "two": [1.0, 2, 3, None, 5, 6, 7]})
    (difference,) = report(opened, "made").differences
    assert difference.difference.mean.n == 6
    assert difference.difference.mean.mean == 4.0


def test_an_experiment_that_is_not_finished_says_so(opened: Store) -> None:
    made_up(opened, {"one": [0.0] * 7, "two": [1.0, 2, 3, 4, 5, 6, 7]})
    opened.runs.update("made.two.7", status="unfinished")
    assert said(opened).startswith("13 of 14 runs have been played. ")


def test_halves_of_a_run_are_compared_as_pairs(opened: Store) -> None:
    made_up(opened, {"one": [0.0] * 6, "two": [0.0] * 6})
    for seed in range(1, 7):
        measured_too(opened, f"made.one.{seed}", "output", 0.0, 1.0, 2.0 + seed / 10)
    one, two = report(opened, "made").halves
    assert one.difference.mean.mean == pytest.approx(1.35)
    assert one.difference.p == pytest.approx(2 / 2**6)
    assert two.difference.mean.n == 0


@pytest.mark.parametrize("stored", ["{", "[]", "{}", None, '{"name": "made", "world": "moon"}'])
def test_the_damaged_file_of_an_experiment_is_named(stored: str | None, opened: Store, cli: Cli) -> None:
    made_up(opened, {"one": [0.0] * 7, "two": [1.0] * 7})
    with opened.db.conn:
        opened.db.conn.execute("update experiments set file = ?", [stored])
    with pytest.raises(DamagedError, match=r"^experiment 'made': the column experiments.file is damaged: "):
        report(opened, "made")
    listed = cli("experiments")
    assert listed.exit_code == 0
    assert "the column experiments.file is damaged" in listed.stdout


def test_an_experiment_of_one_arm_says_what_its_null_arm_is_for(opened: Store) -> None:
    made_up(opened, {"one": [1.0, 2.0] * 4, "null": [1.0, 2.0] * 4})
    assert said(opened).startswith("No arm is compared with one but the null arm.")
    assert "There is no pair whose runs differ in a measure." in markdown(opened, report(opened, "made"))


def test_tainted_runs_stand_among_what_was_found(opened: Store) -> None:
    made_up(opened, {"one": [0.0] * 6, "two": [1.0, 2, 3, 4, 5, 6]}, tainted=("made.two.1", "made.two.2"))
    assert said(opened).splitlines()[0] == (
        "two: 2 of 6 runs are tainted, because too many calls failed. The figures rest on them as well."
    )
    without = "\n".join(conclusions(report(opened, "made", with_tainted=False)))
    assert "calls failed. They are left out." in without


def test_a_hypothesis_is_supported_not_supported_or_undecided(opened: Store) -> None:
    base: list[float | None] = [0.0] * 8
    up: list[float | None] = [10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7, 10.8]
    mixed: list[float | None] = [1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0]
    made_up(opened, {"base": base, "up": up, "same": base, "mixed": mixed})
    file = experiment_file(opened, "made")
    asked = [("up", "higher"), ("up", "lower"), ("same", "higher"), ("mixed", "higher")]
    file["hypothesis"] = [
        {"text": f"{arm} is {direction}", "measure": "output", "arm": arm, "direction": direction}
        for arm, direction in asked
    ]
    keep_experiment(opened, "made", "mining", file)
    found = report(opened, "made").hypotheses
    assert [one.verdict() for one in found] == ["supported", "not supported", "not supported", "undecided"]
    assert [one.p_holm for one in found] == pytest.approx([4 * 2 / 2**8, 4 * 2 / 2**8, 1, 1])


def test_too_few_pairs_decide_no_hypothesis(opened: Store) -> None:
    made_up(opened, {"one": [0.0] * 5, "two": [0.0] * 5})
    file = experiment_file(opened, "made")
    file["hypothesis"] = [{"text": "more", "measure": "output", "arm": "two", "direction": "higher"}]
    keep_experiment(opened, "made", "mining", file)
    found = report(opened, "made")
    assert next(verdicts(found)) == (
        "Undecided: more. Expected: higher. two, output, difference from one: 0 (95% interval 0 to 0), "
        "n 5, p 1. The test needs 6 pairs or more."
    )
