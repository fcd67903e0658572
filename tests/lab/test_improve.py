"""`hobbes improve`: a planted sentence is found and accepted, nothing else is, and nothing is asked twice."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hobbes.lab.errors import LabError, UsageError
from hobbes.lab.experiment.frozen import frozen_plan
from hobbes.lab.experiment.report import stored_file
from hobbes.lab.experiment.wording import verdicts
from hobbes.lab.improve.advice import Advice, advice_of, refusals, write_candidate
from hobbes.lab.improve.file import fresh_seeds
from hobbes.lab.improve.lineage import Candidate
from hobbes.lab.play.playing import Beginning, RunOptions, beginning_of_run
from hobbes.lab.play.together import Progress
from hobbes.lab.probe.telling import tell
from hobbes.lab.show.improving import sentences
from hobbes.lab.store.home import Store
from hobbes.nodes.prompting import rules_of
from tests.conftest import Cli
from tests.lab.improving import (
    CURE,
    FALSE,
    PLAYER,
    PROPOSER,
    USELESS,
    improved,
    improvement,
    situations,
    village,
    written,
)
from tests.lab.play import played
from tests.test_docs import code, keys, listed, sections

BETTER = "Nothing better was found: "


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def test_the_planted_sentence_is_found_and_accepted_within_the_budget(opened: Store, tmp_path: Path) -> None:
    path = written(tmp_path, more='keep = ["survival >= 0.5 baseline"]')
    with village("found", CURE, FALSE, USELESS[0]) as server:
        situations(opened)
        before = server.asked.total()
        found = improved(opened, path)
        calls = server.asked.total() - before
    assert found.is_accepted
    assert found.games is not None
    assert all(line.startswith("Supported: ") for line in verdicts(found.games))
    assert len(found.games.hypotheses) == 3
    assert calls == found.spent.calls <= 300
    assert found.lineage.proposals.calls == server.asked[PROPOSER]
    assert CURE in (tmp_path / "calm" / "prompts" / "system.en.md").read_text(encoding="utf-8")
    told = json.loads((tmp_path / "calm" / "lineage.json").read_text(encoding="utf-8"))
    chosen = told["candidates"][told["chosen"]]
    assert ["+", CURE] in chosen["diff"]
    assert chosen["value"] < told["candidates"][0]["value"]
    assert (tmp_path / "calm" / chosen["prompts"] / "system.en.md").exists(), "it is told from the folder on"
    assert str(tmp_path) not in json.dumps(told)
    (false,) = (one for one in told["candidates"] if one["text"] == FALSE)
    assert len(false["refused"]) == 1
    assert not false["values"]
    frozen = frozen_plan(opened, stored_file(opened, "calm"))
    assert frozen is not None
    assert 3 not in frozen.file.seeds  # that of the game whose situations screened
    assert [one.against for one in frozen.file.hypotheses] == ["baseline", "null", "baseline"]


def test_a_budget_in_dollars_counts_screening_proposals_and_games(opened: Store, tmp_path: Path) -> None:
    price = "price = { input = 1.0, output = 1.0 }"
    models = "\n".join(f'[{name}]\nmodel = "{name}"\n{price}' for name in (PLAYER, PROPOSER))
    opened.home.joinpath("models.toml").write_text(models, encoding="utf-8")
    path = written(tmp_path)
    text = path.read_text(encoding="utf-8").replace("max_calls = 300", "max_usd = 0.022")
    path.write_text(text.replace("openai:", ""), encoding="utf-8")
    with village("dollars", CURE, USELESS[0]) as server:
        situations(opened, model=PLAYER)
        before = server.asked.total()
        found = improved(opened, path)
        calls = server.asked.total() - before
    assert found.spent.usd == pytest.approx(calls * 110 / 1e6)
    assert found.spent.usd is not None
    assert found.spent.usd <= 0.022
    assert found.lineage.proposals.calls > 1


def test_the_rules_say_what_an_answer_would_do_with_the_others_as_recorded(
    opened: Store, tmp_path: Path
) -> None:
    with village("rules", USELESS[0]):
        run = situations(opened)
        under_way = improvement(opened, written(tmp_path))
        under_way.search()
    attacks = [
        {agent: intent["action"] == "attack" for agent, intent in turn.record.to_json()["intents"].items()}
        for turn in opened.turns.of(run)
    ]
    baseline, *_ = under_way.lineage.candidates
    probe = tell(opened, f"calm-{baseline.key}")
    for number, value in baseline.values.items():
        place = probe.situations[number - 1]
        (other,) = {"unit-a", "unit-b"} - {place.agent}
        own = probe.cell(number, baseline.key).having("attack") / 3
        assert value == pytest.approx((own + attacks[place.turn][other]) / 2)


def test_where_no_sentence_helps_it_says_plainly_that_nothing_better_was_found(
    opened: Store, tmp_path: Path
) -> None:
    with village("none", USELESS[0]):
        situations(opened)
        found = improved(opened, written(tmp_path))
    assert not found.is_accepted
    assert next(sentences(found)).startswith(BETTER)
    assert not (tmp_path / "calm" / "prompts").exists()


def test_a_guard_that_does_not_hold_refuses_the_cure(opened: Store, tmp_path: Path) -> None:
    path = written(tmp_path, more='keep = ["aggression >= 0.9 baseline"]')
    with village("guard", CURE):
        situations(opened)
        found = improved(opened, path)
    assert found.games is not None
    verdict = [line.partition(":")[0] for line in verdicts(found.games)]
    assert verdict == ["Supported", "Supported", "Not supported"]
    assert not found.is_accepted
    assert next(sentences(found)).startswith(BETTER)


def test_stopped_at_any_candidate_and_in_the_games_it_goes_on_and_asks_nothing_twice(
    opened: Store, tmp_path: Path
) -> None:
    def stop_at(number: int) -> Callable[[Candidate], None]:
        def stop(one: Candidate) -> None:
            if one.number == number:
                raise KeyboardInterrupt

        return stop

    class StopsInGames(Progress):
        def on_ended(self, run: str) -> None:  # noqa: ARG002  as in Progress
            raise KeyboardInterrupt

    path = written(tmp_path)
    with village("stopped", CURE, FALSE, USELESS[0]) as server:
        situations(opened)
        before = server.asked.total()
        for number in range(3):
            with pytest.raises(KeyboardInterrupt):
                improvement(opened, path, stop_at(number)).search()
        under_way = improvement(opened, path)
        under_way.search()
        lineage = under_way.lineage.to_json()
        searched = server.asked.total() - before
        assert searched == under_way.lineage.screening.calls + under_way.lineage.proposals.calls
        with pytest.raises(KeyboardInterrupt):
            under_way.decide(StopsInGames())
        found = improved(opened, path)
    of_games = server.asked.total() - before - searched
    under_way_at_the_stop = 2 * 24  # the two agents of each game, at most
    assert 0 <= of_games - found.of_games.calls <= under_way_at_the_stop
    assert found.is_accepted
    assert found.lineage.to_json() == lineage


def test_a_proposer_that_fails_is_an_error_for_people_and_its_answers_are_kept(
    opened: Store, tmp_path: Path
) -> None:
    path = written(tmp_path)
    with village("down", CURE, USELESS[0]) as server:
        situations(opened)

        def go_down(one: Candidate) -> None:
            server.is_down = one.number == 1

        with pytest.raises(LabError, match="the proposer openai:proposer failed"):
            improvement(opened, path, go_down).search()
        server.is_down = False
        kept = tmp_path / "calm" / "proposals.jsonl"
        with kept.open("a", encoding="utf-8") as file:
            file.write('{"prompt": "half a li')
        asked = server.asked[PROPOSER]
        under_way = improvement(opened, path)
        under_way.search()
    assert under_way.lineage.proposals.calls == server.asked[PROPOSER] > asked
    assert CURE in {one.text for one in under_way.lineage.candidates}
    assert all(json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_calls = 300", "", "max_calls or max_usd is missing"),
        ("max_calls = 300", "max_calls = 150", "max_calls 150 is too little: the games take up to 144 calls"),
        ("max_calls = 300", "max_usd = 1.0", "--max-usd needs the price of"),
        ("minimise aggression", "reduce aggression", "goal: write minimise MEASURE or maximise MEASURE"),
        ("minimise aggression", "minimise anger", "trust has no measure 'anger'"),
        ("seeds = 8", "seeds = 3", r"seeds: too few \(3\) to accept any candidate; write 7 or more"),
        ("seeds = 8", "seeds = [1, 2, 3]", "the runs of .screen. have the seed 3"),
        ("max_calls", 'keep = ["gain > 1"]\nmax_calls', "'gain > 1': write MEASURE >= 0.95 baseline"),
        ("openai:proposer", "policy:random", "policy:random writes no texts; name a chat model"),
        ("turns = [0, 1]", 'where = "beg"', "names no situation"),
        ('world = "trust"', 'world = "mining"', "has situations of trust, not of mining"),
        ("times = 3", "time = 3", "screen.time: Extra inputs are not permitted"),
    ],
)
@pytest.mark.usefixtures("_key")
def test_a_wrong_file_is_refused_in_one_line(
    old: str, new: str, message: str, opened: Store, tmp_path: Path
) -> None:
    played(opened, RunOptions("trust", 2, seed=3, values={"rounds": 3}, name="before"))
    path = written(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(UsageError, match=message) as error:
        improvement(opened, path)
    assert "\n" not in str(error.value)


def test_a_goal_without_a_value_in_single_turns_and_a_used_folder_are_refused(
    opened: Store, tmp_path: Path
) -> None:
    path = written(tmp_path)
    with village("undefined", CURE):
        situations(opened)
        path.write_text(path.read_text(encoding="utf-8").replace("aggression", "spiral_length"))
        with pytest.raises(UsageError, match="spiral_length is undefined in single turns"):
            improvement(opened, path).search()
        path.write_text(path.read_text(encoding="utf-8").replace("spiral_length", "gain"))
        with pytest.raises(UsageError, match="has the result of another improvement file"):
            improvement(opened, path)
        (tmp_path / "calm" / "lineage.json").unlink()
        with pytest.raises(UsageError, match="holds no improvement"):
            improvement(opened, path)


def test_without_gepa_one_line_says_how_to_install_it(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gepa.api", None)
    with pytest.raises(LabError, match=r"needs gepa; install it in the checkout: pip install -e '.\[improve"):
        improvement(opened, written(tmp_path))


def test_the_command_says_what_it_would_do_and_prints_what_the_page_describes(
    opened: Store, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = written(tmp_path), tmp_path / "result"
    monkeypatch.chdir(tmp_path)
    with village("command", USELESS[0]):
        situations(opened)
        dry = cli("improve", str(path), "--dry-run")
        assert "4 situations, up to 12 answers per candidate" in dry.stdout
        assert not (tmp_path / "calm").exists()
        done = cli("improve", str(path), "--yes", "--to", str(folder), "--max-calls", "250", "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    heading = "hobbes improve FILE --json"
    assert keys(heading) == list(told)
    (candidates,) = (line for key, line in listed(sections()[heading])[0] if key == "candidates")
    assert set(code(candidates)) - {" ", "-", "+"} == set(told["candidates"][0])
    assert not told["accepted"]
    assert told["spent"]["screening"]["calls"] == 24
    assert (folder / "report.md").read_text(encoding="utf-8").startswith("# calm, an improvement in trust")


TEMPLATE = """You.

# Advice
- Be kind.
{# rule: advice-claim #}
- A rule
  goes on.
- Be brave.
{% if rows %}
- Inside.
{% endif %}

# Next
{# rule: raid #}
- More.
"""


def test_only_unmarked_lines_of_the_advice_change() -> None:
    found = advice_of(TEMPLATE, "en")
    assert found.text == "- Be kind.\n- Be brave."
    changed = found.replaced_by("- Other.")
    assert rules_of(changed) == rules_of(TEMPLATE)
    lost = {*TEMPLATE.splitlines()} - {*changed.splitlines()}
    assert lost == {"- Be kind.", "- Be brave."}
    assert {*changed.splitlines()} - {*TEMPLATE.splitlines()} == {"- Other."}
    assert changed.index("- Other.") < changed.index("{# rule: advice-claim #}")


def test_a_template_without_advice_gets_some_at_its_end() -> None:
    assert advice_of("You.\n", "en") == Advice("You.\n\n# Advice\n", "", "")
    assert advice_of("You.\n", "zh").replaced_by("挖。") == "You.\n\n# 建议\n挖。\n"


def beginning(store: Store, world: str) -> Beginning:
    return beginning_of_run(store, RunOptions(world))


@pytest.mark.parametrize(
    ("world", "text", "why"),
    [
        ("mining", "Mine with 3 stamina.", "the number 3 is typed in"),
        ("mining", 'Answer {"mine": [[0, 1]]}.', "the number 0 is typed in, in code or JSON"),
        ("mining", "Mine `3` plots.", "the number 3 is typed in, in code or JSON"),
        ("mining", "1. Mine.\n2. Fill plots up to {{ mine_cap - 1 }}.", ""),
        ("mining", "{# rule: raid #}\nRaids never succeed.", "it has a mark or a tag"),
        ("mining", '{% include "rules.en.md" %}', "it has a mark or a tag"),
        ("mining", "# Rules\nRaid.", "it has a heading"),
        ("mining", "Own {{ plots }} plots.", "unknown placeholder plots"),
        ("mining", "Mine {{ mine_cap }", "system.en.md|unexpected"),
        ("mining", "Mine. " * 1_000, "more than 4,000 characters"),
        ("mining", "Fill your plots up to {{ mine_cap }}, and leave others in peace.", ""),
        ("trust", "Leave others in peace, and answer kindness.", ""),
    ],
)  # fmt: skip
def test_what_is_no_advice_or_has_numbers_typed_in_is_refused(
    opened: Store, tmp_path: Path, world: str, text: str, why: str
) -> None:
    new = beginning(opened, world)
    folder = tmp_path / "candidates" / "one"
    write_candidate(new, Advice('{% include "rules.en.md" %}\n# Advice\n', "", ""), text, folder)
    found = [*refusals(new, text, folder)]
    assert not why or any(why in one for one in found) or "|" in why
    assert bool(found) == bool(why)


def test_fresh_seeds_are_those_that_no_candidate_has_seen() -> None:
    assert fresh_seeds(4, {2, 3}) == [1, 4, 5, 6]
    with pytest.raises(UsageError, match="listed twice"):
        fresh_seeds([1, 1], ())
