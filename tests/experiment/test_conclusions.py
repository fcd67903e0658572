"""What a report concludes, from experiments whose values are written by hand."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from hobbes.engine.mining.world import MINING
from hobbes.errors import DamagedError
from hobbes.experiment.arm_comparison import Tested as AsTested
from hobbes.experiment.experiment_file import Hypothesis
from hobbes.experiment.report import Report, report
from hobbes.experiment.sentences import cautions, compares, verdict_in_words
from hobbes.show.answer_table import answers, exploratory, explored
from hobbes.show.documents import Picture
from hobbes.show.report_text import report_document
from hobbes.store.experiment_tables import experiment_file, keep_experiment
from hobbes.store.home import Store
from hobbes.store.reported import measures_over_time
from tests.conftest import Cli
from tests.experiment.test_reports import told
from tests.made_up_experiment import changed, made_up, measured_too, planned


def said(store: Store) -> str:
    """Return what is said of the planned comparisons: cautions, then a line for each row of the table."""
    found = report(store, "made")
    rows = (f"{one.claim}: {verdict_in_words(found, one.result)}" for one in answers(found))
    return "\n".join((*cautions(found), *rows))


RISING: list[float | None] = [1.0, 2.0, 3.0, 4.0, 5.0]

STRICTER = "the verdict follows p, which is stricter than the interval"
"""What stands beside an interval that leaves out 0 where nobody can tell."""

SAID: dict[str, tuple[dict[str, list[float | None]], str]] = {
    "a clear difference": (
        {"one": [1.0, 2, 3, 4, 5, 6], "two": [11.0, 12.1, 13.2, 14.3, 15.4, 16.5]},
        "output, “two” minus “one”: higher, p 0.0312",
    ),
    "pairs that are much tighter than those of the null arm": (
        {
            "one": [10.0, 20, 30, 40, 50, 60, 70],
            "two": [11.0, 21.1, 30.9, 41, 51.2, 60.8, 71],
            "null": [13.0, 17, 32, 38, 51, 59, 70],
        },
        "output, “two” minus “one”: higher, p 0.0156",
    ),
    "too few seeds": (
        {"one": RISING, "two": [11.0, 12.5, 13.0, 14.0, 15.0]},
        f"output, “two” minus “one”: cannot tell, p 0.0625; the test needs 6 pairs or more; {STRICTER}",
    ),
    "too few seeds of several arms": (
        {"one": RISING, "two": RISING[::-1], "three": [7.0, 7.0, 6.0, 8.0, 9.0]},
        (
            "output, “two” minus “one”: cannot tell, p 1; the test needs 7 pairs or more\n"
            f"output, “three” minus “one”: cannot tell, p 0.125; the test needs 7 pairs or more; {STRICTER}"
        ),
    ),
    "an arm without a value": (
        {"one": [1.0] * 6, "two": [None] * 6},
        "output, “two” minus “one”: cannot tell; undefined in “two”",
    ),
    "one seed": (
        {"one": [1.0], "two": [2.0]},
        "output, “two” minus “one”: cannot tell; the test needs 6 pairs or more",
    ),
    "no clear difference": (
        {"one": [0.0] * 8, "two": [3.0, -1.0, 2.0, -2.0, 1.0, 0.0, 4.0, -3.0]},
        "output, “two” minus “one”: cannot tell, p 0.672",
    ),
}


@pytest.mark.parametrize(("values", "told"), SAID.values(), ids=SAID)
def test_the_report_says_what_can_be_concluded_or_why_nothing_can(
    values: dict[str, list[float | None]], told: str, opened: Store
) -> None:
    made_up(opened, values)
    assert said(opened) == told


def test_with_more_measures_more_seeds_are_needed(opened: Store) -> None:
    """Holm's correction of four p leaves none of 7 pairs below 0.05; the report must not announce any."""
    made_up(opened, {"one": [0.0] * 7, "two": [10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7]})
    measures = ["output", "raid_rate", "turnover", "gold_gini"]
    planned(opened, compare={"measures": measures, "null": False})
    for measure in measures[1:]:
        for arm in ("one", "two"):
            for seed in range(1, 8):
                measured_too(opened, f"made.{arm}.{seed}", measure, 0.0, None, None)
    found = report(opened, "made")
    assert found.differences[0].judged.p_holm == pytest.approx(4 * 2 / 2**7)
    assert "output, “two” minus “one”: cannot tell, p 0.0625; the test needs 8 pairs or more" in said(opened)
    assert found.detectable()["two"]["output"] is None


def test_a_hypothesis_is_foreign_text_in_a_markdown_report(opened: Store) -> None:
    """It has no markup, HTML or invisible characters, as in the report in HTML, and begins no heading."""
    made_up(opened, {"one": [1.0] * 3, "two": [2.0] * 3})
    text = "A & B\n\n# Proven <script>alert(1)</script> ![p](http://x/p) `\x1b[2J` \u202e*more*"
    hypothesis = Hypothesis(text=text, arm="two", measure="output", direction="higher")
    judged = report(opened, "made").differences[0].judged
    tested = AsTested(hypothesis, judged, exploratory=False, complete=True)
    found = replace(report(opened, "made"), hypotheses=(tested,))
    lines = [line for line in report_document(opened, found).markdown().splitlines() if "Proven" in line]
    assert [line.startswith(r"| A &amp; B # Proven") for line in lines] == [False, True, False]
    for line in lines:
        assert (
            r"# Proven &lt;script&gt;alert(1)&lt;/script&gt; !\[p\](http://x/p)"
            r" \`\\x1b\[2J\` \\x202e\*more\*"
        ) in line


def test_rounding_errors_are_no_differences(opened: Store) -> None:
    """0.1 + 0.2 is not 0.3 in binary arithmetic, but no game was played differently because of it."""
    made_up(opened, {"one": [0.3] * 8, "two": [0.1 + 0.2] * 8, "three": [0.4, 0.3 + 0.1 + 1e-16] * 4})
    two, three = report(opened, "made").differences
    assert (two.difference.mean.mean, two.difference.spread, two.difference.effect) == (0.0, 0.0, None)
    assert (three.difference.spread, three.difference.effect) == (0.0, None)
    assert "output, “two” minus “one”: cannot tell: no difference in any of 8 pairs" in said(opened)


def test_an_interval_that_ends_at_0_ends_there_exactly(opened: Store) -> None:
    differences: list[float | None] = [-0.1, 0.0, 0.0, -0.3, 0.2, 0.1, 0.1, 0.0]
    made_up(opened, {"one": [0.7] * 8, "two": [0.7 + (v or 0) for v in differences]})
    (one,) = report(opened, "made").differences
    for value in (one.difference.mean.mean, one.difference.mean.low, one.difference.mean.high):
        assert value is not None
        assert value == 0.0 or abs(value) > 1e-6


def test_pairs_that_are_all_equal_are_called_so_and_show_nothing_of_others(opened: Store) -> None:
    """Six equal pairs are no evidence against a fraction of games that collapse."""
    made_up(opened, {"one": [1.0, 2.0] * 4, "two": [1.0, 2.0] * 4})
    planned(opened, smallest={"output": 0.2}, hypothesis=[hypothesis("two")])
    told = "no difference in any of 8 pairs; with so few, up to 37% of all pairs could still differ"
    assert said(opened) == f"two is higher: cannot tell: {told}"
    found = report(opened, "made")
    (tested,), (compared,) = found.hypotheses, found.differences
    assert tested.verdict() == compared.verdict() == "cannot tell"
    assert verdict_in_words(found, tested) == f"cannot tell: {told}"
    assert found.detectable() == {"two": {"output": None}}
    assert report_document(opened, found).first[-1].pictures == [], "a chart would show nothing"


def test_too_few_pairs_show_no_margin_in_any_part_of_a_report(opened: Store) -> None:
    """One part said "no larger than 9, p 0.0312" where another one said that nothing can be concluded."""
    made_up(opened, {"one": [0.0] * 5, "two": [0.1, -0.1, 0.2, -0.2, 0.0]})
    planned(opened, smallest={"output": 9.0}, hypothesis=[hypothesis("two")])
    found = report(opened, "made")
    assert found.differences[0].judged.p_margin_holm == pytest.approx(1 / 2**5)
    told = "cannot tell, p 1; the test needs 6 pairs or more"
    assert verdict_in_words(found, found.hypotheses[0]) == told
    assert verdict_in_words(found, found.differences[0]) == told


def test_a_difference_that_holms_later_steps_find_in_few_pairs_is_told_as_found(opened: Store) -> None:
    made_up(opened, {"one": [0.0] * 8, "up": UP, "few": [*UP[:6], None, None]})
    assert "output, “few” minus “one”: higher, p " in said(opened)


def test_an_arm_whose_runs_have_the_digests_of_the_baseline_is_called_the_same(opened: Store) -> None:
    made_up(opened, {"one": [1.0, 2.0] * 4, "two": [1.0, 2.0] * 4})
    with opened.connection:
        opened.connection.execute("update runs set digest = seed")
    assert said(opened).endswith("; no turn differs")


def test_a_null_arm_that_differs_is_a_warning(opened: Store) -> None:
    made_up(opened, {"one": [0.0] * 6, "two": [0.0] * 6, "null": [1.0, 1.1, 0.9, 1.0, 1.2, 0.8]})
    assert (
        "Check of the test: the null arm differs from the baseline by output, although nothing was changed."
        in said(opened)
    )


def test_tainted_runs_are_counted_and_included(opened: Store, cli: Cli) -> None:
    values: dict[str, list[float | None]] = {"one": [0.0] * 7, "two": [1.0, 2, 3, 4, 5, 6, 70]}
    made_up(opened, values, tainted=("made.two.7",))
    found = told(cli, "report", "made")
    assert found["arms"]["two"]["tainted"] == 1
    assert found["arms"]["two"]["measures"]["output"]["n"] == 7
    text = cli("report", "made", "--format", "md").stdout
    assert "“two”: 1 of 7 runs is tainted, as too many calls failed. The figures include" in text


def test_a_pair_without_a_value_is_left_out(opened: Store) -> None:
    made_up(opened, {"one": [0.0] * 7, "two": [1.0, 2, 3, None, 5, 6, 7]})
    (difference,) = report(opened, "made").differences
    assert difference.difference.mean.n == 6
    assert difference.difference.mean.mean == 4.0


def test_an_experiment_that_is_not_finished_says_so(opened: Store) -> None:
    made_up(opened, {"one": [0.0] * 7, "two": [1.0, 2, 3, 4, 5, 6, 7]})
    opened.runs.update("made.two.7", status="unfinished")
    assert said(opened).startswith("Played so far: 13 of 14 runs. ")


def test_halves_of_a_run_are_compared_as_pairs(opened: Store) -> None:
    made_up(opened, {"one": [0.0] * 6, "two": [0.0] * 6})
    for seed in range(1, 7):
        measured_too(opened, f"made.one.{seed}", "output", 0.0, 1.0, 2.0 + seed / 10)
    planned(opened, hypothesis=[hypothesis(arm, test="halves") for arm in ("one", "two")])
    one, two = report(opened, "made").hypotheses
    assert one.difference.mean.mean == pytest.approx(1.35)
    assert one.difference.p == pytest.approx(2 / 2**6)
    assert two.difference.mean.n == 0


@pytest.mark.parametrize(
    ("baseline", "share"),
    [
        ([-1.0, 2.0, -0.5, 3.0, 0.1, -2.0, 1.0, 0.5], None),  # mean 0.39, its interval reaches 0
        ([2.0, 3.0, 2.5, 3.0, 2.1, 2.2, 1.0, 0.2], 0.5),
        ([2.0] * 8, 0.5),
        ([0.0] * 8, None),
        ([-2.0] * 8, None),
    ],
)
def test_a_difference_is_no_share_of_a_mean_that_may_be_0(
    baseline: list[float], share: float | None, opened: Store
) -> None:
    """Shares of a gain of 0.0252 (-0.0261 to 0.0945) were +6690% and +11158%."""
    made_up(opened, {"base": [*baseline], "up": [1.5 * one for one in baseline]})
    (one,) = answers(report(opened, "made"))
    assert one.share == (share if share is None else pytest.approx(share))


FILE_COLUMN = "the column experiments.file (is damaged|cannot be read): "


@pytest.mark.parametrize("stored", ["{", "[]", "{}", None, '{"name": "made", "world": "moon"}'])
def test_the_damaged_file_of_an_experiment_is_named(stored: str | None, opened: Store, cli: Cli) -> None:
    made_up(opened, {"one": [0.0] * 7, "two": [1.0] * 7})
    with opened.connection:
        opened.connection.execute("update experiments set file = ?", [stored])
    with pytest.raises(DamagedError, match=f"^experiment 'made': {FILE_COLUMN}"):
        report(opened, "made")
    listed = cli("experiments")
    assert listed.exit_code == 0
    assert re.search(FILE_COLUMN, listed.stdout)


def test_an_experiment_of_one_arm_says_what_its_null_arm_is_for(opened: Store) -> None:
    made_up(opened, {"one": [1.0, 2.0] * 4, "null": [1.0, 2.0] * 4})
    assert said(opened).startswith("Only the null arm is compared with “one”.")


def hypothesis(arm: str, direction: str = "higher", **more: Any) -> dict[str, Any]:
    return {"text": f"{arm} is {direction}", "measure": "output", "arm": arm, "direction": direction} | more


UP: list[float | None] = [10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7, 10.8]
MIXED: list[float | None] = [1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0]


def test_a_hypothesis_is_supported_or_not_or_no_larger_than_the_margin_or_nobody_can_tell(
    opened: Store,
) -> None:
    base: list[float | None] = [0.0] * 8
    made_up(opened, {"base": base, "up": UP, "same": base, "mixed": MIXED})
    asked = [hypothesis("up"), hypothesis("up", "lower"), hypothesis("same"), hypothesis("mixed")]
    planned(opened, hypothesis=asked)
    found = report(opened, "made").hypotheses
    assert [one.verdict() for one in found] == ["supported", "not supported", "cannot tell", "cannot tell"]
    assert [one.judged.p_holm for one in found] == pytest.approx([4 * 2 / 2**8, 4 * 2 / 2**8, 1, 1])
    planned(opened, smallest={"output": 9.0})
    now = report(opened, "made")
    assert verdict_in_words(now, now.hypotheses[3]).startswith("no larger than 9, p 0.")


HEADLINES: dict[str, tuple[dict[str, list[float | None]], str]] = {
    "claims that are supported, not supported and neither": (
        {"base": [0.0] * 8, "up": UP, "two": MIXED, "three": MIXED},
        "2 claims: 1 supported, 1 not supported. 2 other comparisons: 2 cannot tell.",
    ),
    "two pairs": (
        {"base": [1.0, 2.0], "up": [3.0, 5.0]},
        "Nothing can be concluded from 2 pairs: the test needs 7 or more.",
    ),
    "one game": (
        {"base": [1.0] * 6, "up": [1.0] * 6},
        (
            "Nothing can be concluded: all 12 runs are one run. Each measure is the same in all of them, "
            "whatever the arm and the seed, so more seeds tell nothing."
        ),
    ),
}


@pytest.mark.parametrize(("values", "told"), HEADLINES.values(), ids=HEADLINES)
def test_a_report_begins_with_what_can_be_said_in_short(
    values: dict[str, list[float | None]], told: str, opened: Store, cli: Cli
) -> None:
    made_up(opened, values)
    planned(opened, hypothesis=[hypothesis("up"), hypothesis("up", "lower")])
    assert report_document(opened, report(opened, "made")).first[0].texts[0] == told
    text = cli("report", "made", "--format", "md").stdout
    assert text.index("## Answers") < text.index(told) < text.index("| claim |")


ONLY_CLAIM: dict[str, tuple[list[float | None], str, str]] = {
    "supported": (UP, "higher", "supported"),
    "not supported": (UP, "lower", "refuted: the opposite was found"),
    "no larger than": ([0.1, -0.1] * 4, "higher", "about a difference no larger than what matters"),
    "cannot tell": (MIXED, "higher", "neither shown nor refuted"),
}


@pytest.mark.parametrize(("values", "direction", "told"), ONLY_CLAIM.values(), ids=ONLY_CLAIM)
def test_what_became_of_the_only_claim_is_said_in_words(
    values: list[float | None], direction: str, told: str, opened: Store
) -> None:
    made_up(opened, {"base": [0.0] * 8, "up": values, "two": [9.5, -9.0] * 4})
    planned(opened, hypothesis=[hypothesis("up", direction)], smallest={"output": 2.0})
    first, *_ = report_document(opened, report(opened, "made")).first[0].texts
    assert first == f"The claim is {told}. 1 other comparison: cannot tell."


def test_a_report_of_games_that_the_arms_do_not_change_says_so_first(opened: Store) -> None:
    """The seeds differ, so they are not one game, and nothing is said of further seeds."""
    made_up(opened, {"one": [1.0, 2.0] * 4, "two": [1.0, 2.0] * 4})
    with opened.connection:
        opened.connection.execute("update runs set digest = seed")
    first = report_document(opened, report(opened, "made")).first[0].texts[0]
    assert first.startswith("No run differs from the baseline's of the same seed: what was changed had")


def test_a_hypothesis_about_an_arm_that_was_removed_is_still_answered(opened: Store) -> None:
    made_up(opened, {"base": [0.0] * 8, "up": UP, "two": MIXED})
    planned(opened, hypothesis=[hypothesis("up")])
    changed(opened, arms={"base": {}, "two": {}}, hypothesis=[])
    (row, *_) = report_document(opened, report(opened, "made")).first[0].rows
    assert (row[0], str(row[3]).partition(",")[0]) == ("up is higher", "✓ supported")


def test_rows_of_one_measure_have_one_axis_and_each_has_0_in_its_middle(opened: Store) -> None:
    """0 is the eighth of fifteen characters. The widest row of a measure fills its axis."""
    made_up(opened, {"base": [0.0] * 8, "up": UP, "half": [(v or 0) / 2 for v in UP]})
    planned(opened, smallest={"output": 3.0})
    rows = report_document(opened, report(opened, "made")).first[0].rows
    drawn = [cell.characters for row in rows for cell in row if isinstance(cell, Picture)]
    assert drawn == ["·····┊·│·┊····●", "·····┊·│·┊●┤···"]
    colours = [cell.svg().count("#0072B2") for row in rows for cell in row if isinstance(cell, Picture)]
    assert colours == [2, 2]


def test_a_difference_that_is_found_may_still_be_too_small_to_matter(opened: Store) -> None:
    made_up(opened, {"base": [0.0] * 8, "up": UP})
    planned(opened, smallest={"output": 12.0})
    found = report(opened, "made")
    told = verdict_in_words(found, found.differences[0])
    assert told == "higher, p 0.00781; smaller than 12, the smallest that matters"


def test_a_hypothesis_that_was_turned_round_after_the_game_is_exploratory_and_the_planned_one_stays(
    opened: Store,
) -> None:
    made_up(opened, {"base": [0.0] * 8, "up": UP})
    planned(opened, hypothesis=[hypothesis("up", "lower")])
    changed(opened, hypothesis=[hypothesis("up")])
    found = report(opened, "made")
    assert [(one.hypothesis.direction, one.verdict()) for one in found.hypotheses] == [
        ("lower", "not supported"),
        ("higher", "exploratory"),
    ]
    assert found.plan is not None
    assert found.plan.changes == (
        "hypothesis 1 was changed or removed: up is lower",
        "a hypothesis was added: up is higher",
    )
    assert [one.claim for one in explored(found)] == ["up is higher"]


def test_a_measure_that_was_dropped_or_added_after_the_game_is_told(opened: Store) -> None:
    made_up(opened, {"base": [0.0] * 8, "up": UP})
    for run in [row["id"] for row in opened.figures.of_all_runs()]:
        measured_too(opened, run, "raid_rate", float(run.startswith("made.up")), None, None)
    planned(opened, hypothesis=[hypothesis("up")])
    changed(opened, hypothesis=[], compare={"measures": ["raid_rate"], "null": False})
    found = report(opened, "made")
    assert [one.verdict() for one in found.hypotheses] == ["supported"]
    assert said(opened) == "up is higher: supported, p 0.00781"
    (section,) = exploratory(found)
    (frozen,) = [line for line in report_document(opened, found).markdown().splitlines() if "Since" in line]
    assert "measures changed" in frozen
    assert [(row[0], row[3]) for row in section.rows] == [
        ("raid_rate, “up” minus “base”", "○ higher, p 0.00781")
    ]


def test_seeds_that_were_added_stand_beside_every_p_and_decide_no_planned_hypothesis(opened: Store) -> None:
    made_up(opened, {"base": [0.0] * 8, "up": [*MIXED[:5], 20.0, 20.0, 20.0]})
    changed(opened, seeds=6)
    planned(opened, hypothesis=[hypothesis("up")])
    changed(opened, seeds=8)
    found = report(opened, "made")
    (one,) = found.hypotheses
    assert (one.difference.mean.n, one.verdict()) == (6, "cannot tell")
    assert verdict_in_words(found, one) == "cannot tell, p 0.344; figures of the planned seeds only"
    assert found.differences[0].exploratory
    page = report_document(opened, found).markdown()
    for row in [line for line in page.splitlines() if line.startswith("| up | output | 8 |")]:
        assert row.count("(extended after a look)") == 2
    assert "(extended after a look)" in str(explored(found)[0].row(found, 20.0, [], None)[3])


def test_an_experiment_without_a_plan_supports_nothing(opened: Store) -> None:
    made_up(opened, {"base": [0.0] * 8, "up": UP})
    changed(opened, hypothesis=[hypothesis("up")])
    with opened.connection:
        opened.connection.execute("delete from plans")
    found = report(opened, "made")
    assert [one.verdict() for one in found.hypotheses] == ["exploratory"]
    first = report_document(opened, found).first[0]
    assert first.title == "Exploratory answers"
    assert [row[0] for row in first.rows] == ["up is higher", "output, “up” minus “base”"]
    assert {str(row[3])[0] for row in first.rows} == {"○"}
    assert list(exploratory(found)) == []


def test_a_plan_that_was_changed_in_the_database_is_damaged(opened: Store) -> None:
    made_up(opened, {"base": [0.0] * 8, "up": UP})
    with opened.connection:
        opened.connection.execute("update plans set plan = replace(plan, 'output', 'raid_rate')")
    with pytest.raises(DamagedError, match=r"its plan of .* was changed in the table plans"):
        report(opened, "made")


def test_nothing_is_decided_before_all_planned_runs_have_been_played(opened: Store) -> None:
    made_up(opened, {"base": [0.0] * 8, "up": UP})
    planned(opened, hypothesis=[hypothesis("up")])
    opened.runs.update("made.up.8", status="unfinished")
    assert said(opened).endswith("cannot tell, p 0.0156; not all of the planned runs have been played")


def test_any_two_arms_and_a_trend_are_hypotheses(opened: Store) -> None:
    """The values are 2 x immunity + 3 x rows + immunity x rows, so both are known exactly."""
    levels = [(x, y) for x in (1, 2, 4) for y in (2, 3)]
    noise = (0.1, -0.1, 0.2, -0.2, 0.05, -0.05, 0.0, 0.0)
    values: dict[str, list[float | None]] = {
        f"immunity={x},rows={y}": [2 * x + 3 * y + x * y + k * x for k in noise] for x, y in levels
    }
    made_up(opened, values)
    file = experiment_file(opened, "made")
    del file["arms"]
    factors = {"immunity": [1, 2, 4], "rows": [2, 3]}
    asked = [
        hypothesis("immunity=4,rows=3", against="immunity=1,rows=3"),
        {**hypothesis("", test="trend", factors=["immunity"]), "arm": None},
    ]
    asked = [{key: value for key, value in one.items() if value is not None} for one in asked]
    keep_experiment(opened, "made", "mining", file | {"factors": factors})
    planned(opened, hypothesis=asked)
    found = report(opened, "made").hypotheses
    assert [one.difference.mean.mean for one in found] == pytest.approx([3 * 5, 3 * 4.5])
    assert [one.verdict() for one in found] == ["supported"] * 2
    compared = [compares(report(opened, "made"), one) for one in found]
    assert compared[0] == "immunity=4,rows=3 minus immunity=1,rows=3"
    assert compared[1].startswith("trend over immunity, from its smallest to its largest value")


def test_failed_calls_are_told_by_arm_and_a_difference_that_may_be_theirs_is_called_so(opened: Store) -> None:
    made_up(opened, {"base": [0.0] * 8, "up": UP})
    for seed in range(1, 9):
        outcomes = {"answered": 9, "truncated": 1} if seed > 3 else {"answered": 9, "repaired": 1}
        opened.runs.update(f"made.up.{seed}", outcomes=json.dumps(outcomes))
        opened.runs.update(f"made.base.{seed}", outcomes='{"answered": 10}')
    found = report(opened, "made")
    base, up = found.failing
    assert (base.failed, base.with_failures) == (0, 0)
    assert (up.failed, up.with_failures, up.outcomes) == (
        5,
        5,
        {"answered": 72, "repaired": 3, "truncated": 5},
    )
    assert up.difference is not None
    assert up.difference.mean.mean == pytest.approx(5 / 80)
    assert "without the 5 pairs in which calls failed, 10.2 (n 3, p 0.25)" in said(opened)
    assert said(opened).endswith("; the failed calls may be the reason")
    assert "| up | 8 | 5 | 72 | 3 | 5 | 6.25% |" in report_document(opened, found).markdown()


def test_failures_that_arms_have_equally_often_are_told_and_explain_no_difference(opened: Store) -> None:
    """Without the pairs in which calls failed, too few are left to find anything."""
    made_up(opened, {"base": [0.0] * 8, "up": UP})
    for seed in range(1, 7):
        for arm in ("base", "up"):
            opened.runs.update(f"made.{arm}.{seed}", outcomes='{"answered": 9, "truncated": 1}')
    told = "higher, p 0.00781; without the 6 pairs in which calls failed, 10.8 (n 2, p 0.5)"
    assert said(opened) == f"output, “up” minus “base”: {told}"


def half_lives(store: Store, games: dict[str, list[float | None]], turnover: float | None) -> Report:
    """Report on games of 20 turns with these half-lives, all with the same turnover."""
    made_up(store, {arm: [0.0] * len(of_arm) for arm, of_arm in games.items()})
    curves = json.dumps(dict.fromkeys(measures_over_time(MINING), [0.5] * 20))
    for arm, of_arm in games.items():
        for seed, turns in enumerate(of_arm, start=1):
            run = f"made.{arm}.{seed}"
            measured_too(store, run, "half_life", turns, None, None)
            measured_too(store, run, "turnover", turnover, None, None)
            store.runs.update(run, turns=20)
            with store.connection:
                store.db.table("reported").update(run, {"over_time": curves})
    planned(store, compare={"measures": ["half_life"], "null": False})
    return report(store, "made")


def test_a_half_life_that_was_not_reached_counts_with_all_turns_and_not_as_missing(opened: Store) -> None:
    """Left out, the games in which nothing was lost made the safest arm look the shortest."""
    found = half_lives(opened, {"calm": [8.0, *[None] * 5], "wild": [5.0, 6.0, 7.0, 8.0, 9.0, 10.0]}, 0.0)
    assert found.arms["calm"].measures["half_life"].mean == pytest.approx(18)
    assert found.differences[0].difference.mean.mean == pytest.approx(7.5 - 18)


def test_where_nobody_owned_a_plot_the_half_life_stays_undefined(opened: Store) -> None:
    found = half_lives(opened, {"calm": [None] * 2, "wild": [None] * 2}, None)
    assert found.arms["calm"].measures["half_life"].n == 0
