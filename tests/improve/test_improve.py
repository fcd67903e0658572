"""`hobbes improve`: a planted sentence is found and accepted, nothing else is, and nothing is asked twice."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from hobbes.errors import HobbesError, UsageError
from hobbes.experiment.experiment_file import stored_file
from hobbes.experiment.frozen import frozen_plan
from hobbes.improve.adapter import ProbeAdapter
from hobbes.improve.advice import advice_of, write_candidate
from hobbes.improve.improvement import read_improvement
from hobbes.nodes.prompt_set import ROOT
from hobbes.play.start import Beginning, RunOptions, beginning_of_run
from hobbes.probe.table import read_probe
from hobbes.store.home import Store
from hobbes.store.probe_tables import answers_of, probe_named
from tests.conftest import Cli
from tests.proposer import CURE, FALSE, NOISY, PROPOSER, USELESS, situations, village, written
from tests.small_runs import played
from tests.test_docs import code, keys, meaning


@pytest.fixture(autouse=True)
def _working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def improved(cli: Cli, path: Path) -> dict[str, Any]:
    done = cli("improve", str(path), "--yes", "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.exit_code == (not found["accepted"])
    return found


def test_the_planted_sentence_is_found_and_accepted_by_games_with_unseen_seeds(
    opened: Store, cli: Cli, tmp_path: Path
) -> None:
    with village("found", CURE, FALSE, USELESS[0]) as server:
        situations(opened)
        found = improved(cli, written(tmp_path, 'keep = ["survival >= 0.5 baseline"]'))
        asked = server.asked.total()
        again = improved(cli, tmp_path / "calm.toml")
        assert server.asked.total() == asked
    assert again == found
    assert found["accepted"]
    assert [one["verdict"] for one in found["hypotheses"]] == ["supported"] * 3
    baseline, *candidates = found["candidates"]
    (chosen,) = (one for one in candidates if one["advice"] == CURE)
    assert chosen["value"] < baseline["value"]
    assert CURE in (tmp_path / "calm" / "prompts" / "system.en.md").read_text(encoding="utf-8")
    assert CURE in (tmp_path / "calm" / "report.md").read_text(encoding="utf-8")
    assert FALSE not in {one["advice"] for one in candidates}
    (log,) = tmp_path.glob("calm/search/*/run_log.txt")
    assert "refused: the number 7 is typed in" in log.read_text(encoding="utf-8")
    frozen = frozen_plan(opened, stored_file(opened, "calm"))
    assert frozen is not None
    assert frozen.file.seeds == (1, 2, 4, 5, 6, 7, 8)  # 3 is that of the game whose situations score
    assert [one.against for one in frozen.file.hypotheses] == ["baseline", "null", "baseline"]


def test_the_value_of_an_answer_is_that_of_its_turn_with_the_others_as_recorded(
    opened: Store, cli: Cli, tmp_path: Path
) -> None:
    """What is printed has the keys that the page on JSON describes."""
    with village("rules", USELESS[0], rates=NOISY):
        run = situations(opened)
        found = improved(cli, written(tmp_path, max_calls=90))
    baseline, *_ = found["candidates"]
    heading = "hobbes improve FILE --json"
    assert keys(heading) == list(found)
    assert set(code(meaning(heading, "candidates"))) == set(baseline)
    attacks = [
        {agent: intent["action"] == "attack" for agent, intent in turn.record.to_json()["intents"].items()}
        for turn in opened.turns.of(run)
    ]
    probe = read_probe(opened, "calm")

    def values() -> Iterator[float]:
        for number, place in enumerate(probe.situations, start=1):
            (other,) = {"unit-a", "unit-b"} - {place.agent}
            own = probe.cell(number, "recorded").having("attack") / 3
            yield (own + attacks[place.turn][other]) / 2

    assert baseline["value"] == pytest.approx(fmean(values()))


def test_where_no_sentence_helps_nothing_is_accepted(opened: Store, cli: Cli, tmp_path: Path) -> None:
    with village("none", USELESS[0]):
        situations(opened)
        done = cli("improve", str(written(tmp_path, max_calls=90)), "--yes")
    assert done.exit_code == 1
    assert "Nothing better was found, so no run was played." in done.stdout
    assert not (tmp_path / "calm" / "prompts").exists()


def test_a_guard_that_does_not_hold_refuses_the_cure_also_if_it_is_removed_after_the_games(
    opened: Store, cli: Cli, tmp_path: Path
) -> None:
    with village("changed", CURE):
        situations(opened)
        path = written(tmp_path, 'keep = ["aggression >= 0.9 baseline"]')
        found = improved(cli, path)
        without = improved(cli, written(tmp_path))
    assert [one["verdict"] for one in found["hypotheses"]] == ["supported", "supported", "not supported"]
    assert {one["verdict"] for one in without["hypotheses"][:2]} == {"supported"}
    assert not found["accepted"]
    assert not without["accepted"]
    assert not (tmp_path / "calm" / "prompts").exists()


def test_stopped_at_any_moment_it_goes_on_and_asks_nothing_that_was_answered(
    opened: Store, cli: Cli, tmp_path: Path
) -> None:
    path = written(tmp_path)
    with village("stopped", CURE, FALSE, USELESS[0]) as server:
        run = situations(opened)
        before = server.asked.total()
        for moment in (3, 14, 25, 60):
            server.down_from = before + moment
            assert isinstance(cli("improve", str(path), "--yes", "--json").exception, HobbesError)
        server.down_from = 10_000
        assert [one["verdict"] for one in improved(cli, path)["hypotheses"]] == ["supported"] * 2
    kept = [*answers_of(opened, probe_named(opened, "calm"))]
    of_games = opened.db.table("calls").count_where("run <> ? and outcome = 'answered'", [run.id])
    assert server.asked.total() - before - server.asked[PROPOSER] == len(kept) + of_games


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_calls = 240", "", "max_calls: Field required"),
        ("minimise aggression", "reduce aggression", "goal: "),
        ("minimise aggression", "minimise anger", "trust has no measure 'anger'"),
        ("seeds = 8", "seeds = 7", "seeds: write 7 or more that no run of .screen. has"),
        ("max_calls", 'keep = ["gain > 1"]\nmax_calls', "keep.0: "),
        ("max_calls", 'keep = ["gain >= 0.0 baseline"]\nmax_calls', "keep.0: "),
        ("openai:proposer", "policy:random", "policy:random writes no texts; name a chat model"),
        ("openai:proposer", "nobody", "proposer: "),
        ("turns = [0, 1]", 'where = "beg"', "names no situation"),
        ("times = 3", "time = 3", "screen.time: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(  # noqa: PLR0913, PLR0917  the case, and what it happens in
    old: str, new: str, message: str, opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    played(opened, RunOptions("trust", 2, seed=3, values={"rounds": 3}, name="before"))
    path = written(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(UsageError, match=message) as error:
        ProbeAdapter(opened, read_improvement(opened, path))
    assert "\n" not in str(error.value)


def test_a_goal_without_a_value_in_single_turns_and_a_folder_of_something_else_are_refused(
    opened: Store, cli: Cli, tmp_path: Path
) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("aggression", "retaliation"), encoding="utf-8")
    with village("undefined", CURE):
        situations(opened)
        undefined = cli("improve", str(path), "--yes")
        assert "retaliation is undefined in single turns" in str(undefined.exception)
        (tmp_path / "calm" / "search").rename(tmp_path / "calm" / "something")
        assert "calm is there and holds no improvement" in str(cli("improve", str(path), "--yes").exception)


def test_before_it_costs_money_it_asks(opened: Store, cli: Cli, tmp_path: Path) -> None:
    with village("asks", CURE) as server:
        situations(opened)
        before = server.asked.total()
        elsewhere = {"OPENAI_BASE_URL": "https://model.invalid/v1"}  # one on this machine costs nothing
        done = cli("improve", str(written(tmp_path)), input="n\n", env=elsewhere)
        assert "calls to models" in done.stderr
        assert server.asked.total() == before


ADVICE = """
# Advice
- Be kind.
- Be brave.
{# rule: advice-aggression #}
- Attack with care.
- Be quick.

# Next
- More.
"""


def variant(store: Store, folder: Path, more: str, lang: str = "en") -> Beginning:
    """Return what games begin with that have the plain prompt of trust, with more at its end."""
    shutil.copytree(ROOT / "trust" / "plain", folder)
    with (folder / f"system.{lang}.md").open("a", encoding="utf-8") as template:
        template.write(more)
    return beginning_of_run(store, RunOptions("trust", prompts=str(folder), lang=lang))


def system(folder: Path, lang: str = "en") -> str:
    return (folder / f"system.{lang}.md").read_text(encoding="utf-8")


def test_only_the_lines_before_the_first_mark_of_the_advice_change(opened: Store, tmp_path: Path) -> None:
    new = variant(opened, tmp_path / "mine", ADVICE)
    assert advice_of(new)[1] == "- Be kind.\n- Be brave."
    assert not write_candidate(new, "- Other.", tmp_path / "other")
    before, after = system(tmp_path / "mine"), system(tmp_path / "other")
    assert after == before.replace("- Be kind.\n- Be brave.", "- Other.")


@pytest.mark.parametrize(("lang", "heading"), [("en", "# Advice"), ("zh", "# 建议")])
def test_a_template_without_advice_gets_some_at_its_end(
    lang: str, heading: str, opened: Store, tmp_path: Path
) -> None:
    new = variant(opened, tmp_path / "mine", "", lang)
    assert not write_candidate(new, "{{ attack }}", tmp_path / "other")
    assert (
        system(tmp_path / "other", lang)
        == system(tmp_path / "mine", lang) + f"\n{heading}\n{{{{ attack }}}}\n"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Mine with 3 stamina.", "the number 3 is typed in"),
        ("Mine with three stamina.", "the number three is typed in"),
        ('Answer {"mine": [[0, 1]]}.', "it has a mark, a tag, a heading, code or JSON"),
        ("Mine `3` plots.", "code"),
        ("{# rule: raid #}\nRaids never succeed.", "a mark"),
        ('{% include "rules.en.md" %}', "a tag"),
        ("# Rules\nRaid.", "a heading"),
        ("Own {{ plots }} plots.", "unknown placeholder plots"),
        ("Mine {{ mine_cap }", "system.en.md"),
        ("1. Mine.\n2. Fill plots up to {{ mine_cap - 1 }}.", ""),
        ("Fill your plots up to {{ mine_cap }}, and leave others in peace.", ""),
    ],
)  # fmt: skip
def test_what_is_no_advice_or_has_numbers_typed_in_is_refused(
    text: str, why: str, opened: Store, tmp_path: Path
) -> None:
    found = write_candidate(beginning_of_run(opened, RunOptions("mining")), text, tmp_path / "search" / "one")
    assert why in found
    assert bool(found) == bool(why)
