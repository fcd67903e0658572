"""`hobbes compare`: two runs side by side, and the first turn in which they part."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.errors import UsageError
from hobbes.play.start import RunOptions, begin
from hobbes.prove.run_comparison import ASKED_OTHERWISE, Comparison, compare
from hobbes.prove.word_diff import word_diff
from hobbes.show.both_runs import MAX_LINE_LENGTH, MAX_LINES
from hobbes.show.palette import MARKS
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from tests import faults
from tests.conftest import Cli
from tests.faults import ANSWER
from tests.play.test_second_question import answering
from tests.rewrites import rewrite
from tests.show.test_counted import faulty_run
from tests.small_runs import mining, played
from tests.wire.test_faults import served


def where(told: Comparison) -> tuple[int, str, str]:
    found = told["divergence"]
    return found["turn"], found["agent"], found["layer"]


def saying(store: Store, answer: Callable[[str], str], agents: int = 1, rounds: int = 2, **asked: Any) -> Run:
    """Play agents who answer so, by the address of a call."""
    values = {"rounds": rounds, **asked.pop("values", {})}
    with answering(answer):
        return played(store, RunOptions("mining", agents, models="openai:m", values=values, **asked))


def test_two_runs_with_one_setting_are_the_same_to_the_last_figure(opened: Store) -> None:
    a, b = (mining(opened, models="policy:guided?noise=0.5") for _ in range(2))
    told = compare(opened, a, b)
    assert (told["world"], told["settings"], told["divergence"]) == ("mining", {}, None)
    assert told["outcomes"] == {"answered": [12, 12]}, "3 agents in 4 rounds"
    pairs = [pair for part in ("scores", "drops", "mends", "events") for pair in told[part].values()]
    assert all(one == other for one, other in pairs)
    assert all(told[name][0] == told[name][1] for name in ("calls", "tokens", "usd", "failures", "reports"))
    differences = {measure["difference"] for measure in told["measures"].values()}
    assert differences <= {0, None}
    assert 0 in differences


def test_both_runs_are_described_a_fork_by_its_own_calls(opened: Store, cli: Cli) -> None:
    a = mining(opened, models="policy:guided*2,policy:random*1", name="mixed", prompts="unguided", seed=7)
    b = mining(opened, lang="zh")
    one, other = compare(opened, a, b)["runs"]
    assert one == {
        "run": a.id,
        "name": "mixed",
        "status": "finished",
        "turns": 4,
        "forked_at": 0,
        "digest": a.digest,
        "tainted": False,
        "models": {"policy:guided": 2, "policy:random": 1},
        "prompts": "unguided",
        "lang": "en",
        "seed": 7,
    }
    assert (other["run"], other["name"], other["lang"]) == (b.id, None, "zh")
    cli("fork", a.id, "--turn", "3", "--name", "after")
    rows = rows_under(cli("compare", a.id, "after").stdout, "both runs")
    assert ["own", "calls", "12", "3"] in rows, "3 agents in 4 rounds, and in one"
    assert {row[1] for row in rows if row[0] == "own"} == {"calls", "tokens", "cost"}


def test_only_settings_that_differ_are_listed(opened: Store) -> None:
    a = begin(opened, RunOptions("mining", 2, values={"rows": 4, "cols": 5}))
    b = begin(
        opened,
        RunOptions(
            "mining", 3, 2, "policy:guided*1,policy:random*2", "unguided", "zh", {"rows": 6, "cols": 5}
        ),
    )
    assert compare(opened, a, b)["settings"] == {
        "rows": [4, 6],
        "agents": [["miner-01", "miner-02"], ["miner-01", "miner-02", "miner-03"]],
        "seed": [1, 2],
        "prompts": ["guided", "unguided"],
        "lang": ["en", "zh"],
        "models": [
            {"miner-02": "policy:guided"},
            {"miner-02": "policy:random", "miner-03": "policy:random"},
        ],
    }


def test_each_setting_is_said_once_edited_prompts_of_one_variant_too_but_not_the_hash_of_a_text(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    a, b = (begin(opened, RunOptions("mining", 2, seed, "openai:m")) for seed in (1, 2))
    opened.runs.update(b.id, turn_template=opened.runs.add_text(b.prompts.turn.replace("Decide", "Say")))
    rewrite(opened)
    differing = compare(opened, a, opened.runs.find(b.id))["settings"]
    assert differing.keys() == {"seed", "prompt_texts"}
    assert [side.keys() for side in differing["prompt_texts"]] == [{"turn"}, {"turn"}]
    text = cli("compare", a.id, b.id).stdout
    assert rows_under(text, "settings that differ") == [
        ["seed", "1", "2"],
        ["turn", "prompt", "of", "this", "variant", "one", "text", "another", "text"],
    ]
    facts = {row[0]: row[1:] for row in rows_under(text, "both runs")}
    assert "seed" not in facts
    assert facts["cost"] == ["$0.0000", "$0.0000"]


def test_of_runs_of_programs_no_prompts_are_told(
    opened: Store, cli: Cli, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were sent none, whatever variant the runs name."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    a = begin(opened, RunOptions("mining", 2, models="openai:m", lang="zh"))
    b = begin(opened, RunOptions("mining", 2, prompts="unguided"))
    text = cli("compare", a.id, b.id).stdout
    assert not {"prompts", "lang"} & {row[0] for row in rows_under(text, "settings that differ")}
    page = pages.get(f"/{b.id}").text
    assert "no prompts (scripted)" in page
    assert "unguided" not in page


def test_the_page_begins_with_what_differs(opened: Store, pages: TestClient) -> None:
    """On a narrow screen, what is told of B stands below what is told of A."""
    a, b = (mining(opened, values={"rounds": 2}, seed=seed) for seed in (1, 2))
    page = pages.get("/compare", params={"a": a.id, "b": b.id}).text
    assert page.index("settings that differ") < page.index("<h2>Both runs")
    facts = page.partition("<h2>Both runs</h2>")[2].partition("</table>")[0]
    assert '<table class="stacked">' in facts
    assert ">cost</td>" in facts
    assert ">seed</td>" not in facts


def test_the_prompts_of_a_model_and_of_a_policy_are_not_compared_word_by_word(
    opened: Store, cli: Cli, pages: TestClient
) -> None:
    a = saying(opened, lambda _: '{"claim": [[0, 0]]}', rounds=1)
    b = played(opened, RunOptions("mining", 1, models="policy:random", values={"rounds": 1}))
    told = compare(opened, a, b)
    assert told["divergence"]["diff"] == f"{ASKED_OTHERWISE}\n"
    assert told["decision"]["prompt"] == [(" ", ASKED_OTHERWISE)]
    assert cli("compare", a.id, b.id).stdout.count(ASKED_OTHERWISE) == 2
    page = pages.get("/compare", params={"a": a.id, "b": b.id}).text
    assert ASKED_OTHERWISE in page
    assert "You are" not in page.partition('id="words"')[2].partition("</section>")[0]


def test_draws_alone_are_no_divergence_but_are_told(opened: Store, cli: Cli, pages: TestClient) -> None:
    """Two units of another seed do and see the same in turn 0, where only what is drawn differs."""
    values: dict[str, Any] = {"rounds": 6}
    specs = "policy:copycat,policy:copykitten"
    a, b = (played(opened, RunOptions("trust", 2, seed, specs, values=values)) for seed in (5, 6))
    told = compare(opened, a, b)
    assert (told["divergence"]["turn"], told["decision"]["turn"], told["draws"]) == (1, 2, 0)
    assert "the random draws differ from turn 0 on" in cli("compare", a.id, b.id).stdout
    page = pages.get("/compare", params={"a": a.id, "b": b.id}).text
    assert "First divergence: turn 1, " in page
    assert "The random draws differ from turn 0 on." in page


def test_the_first_deeds_that_differ_are_told_after_the_events_and_a_missed_high_five_is_no_attack(
    opened: Store, cli: Cli, pages: TestClient
) -> None:
    specs = "policy:always-high-five"
    a, b = (
        played(opened, RunOptions("trust", 2, models=specs, values={"rounds": 2, "miss": miss}))
        for miss in (0, 100)
    )
    told = compare(opened, a, b)
    assert told["events"]["miss"] == [0, 4]
    assert "attack" not in told["events"]
    returned = "high fived unit-b, which returned it"
    missed = "meant to high five unit-b, but missed: it came out as an attack"
    assert told["deeds"] == {"turn": 0, "agent": "unit-a", "did": [returned, missed]}
    page = pages.get("/compare", params={"a": a.id, "b": b.id}).text
    text = cli("compare", a.id, b.id).stdout
    for shown in (page, text):
        places = [shown.lower().index(words) for words in ("settings", "scores", "events", "first deeds")]
        assert places == sorted(places)
        assert places[-1] < shown.lower().index("first divergence")


def test_an_answer_that_differs_in_a_later_turn_is_named_in_that_turn(opened: Store) -> None:
    """In turn 1 the second run remembers something; the prompts that differ by it come in turn 2."""
    a = saying(opened, lambda _: "{}", rounds=4)
    b = saying(opened, lambda at: '{"memory": "x"}' if at[0] == "1" else "{}", rounds=4)
    told = compare(opened, a, b)
    assert where(told) == (1, "miner-01", "answer")
    assert told["divergence"]["diff"] == '--- A\n+++ B\n@@ -1 +1 @@\n-{}\n+{"memory": "x"}\n'


def test_an_edited_prompt_is_the_first_divergence_if_answers_change(opened: Store) -> None:
    a = saying(opened, lambda _: "{}", prompts="guided")
    b = saying(opened, lambda _: '{"claim": [[0, 0]]}', prompts="unguided")
    told = compare(opened, a, b)
    assert where(told) == (0, "miner-01", "prompt")
    system = next(iter(opened.calls.of_turn(a.id, 0))).prompt.system
    other = next(iter(opened.calls.of_turn(b.id, 0))).prompt.system
    gone = [line for line in system.splitlines() if line and line not in other.splitlines()]
    assert gone
    assert all(f"\n-{line}\n" in told["divergence"]["diff"] for line in gone)


def test_an_edited_prompt_is_no_divergence_if_answers_stay_but_is_told(opened: Store, cli: Cli) -> None:
    a, b = (saying(opened, lambda _: "{}", prompts=variant) for variant in ("guided", "unguided"))
    told = compare(opened, a, b)
    assert told["divergence"] is None
    assert told["settings"] == {"prompts": ["guided", "unguided"]}
    assert (told["prompt"]["turn"], told["prompt"]["agent"]) == (0, "miner-01")
    assert "\n-" in told["prompt"]["diff"]
    text = cli("compare", a.id, b.id).stdout
    assert "the prompts differ, first in turn 0, ●miner-01; all turns are equal\n--- A\n+++ B\n" in text
    assert "no decision differs" in text
    assert "no divergence" not in text


def test_prompts_that_no_policy_reads_are_told_to_differ(opened: Store, cli: Cli) -> None:
    a, b = (mining(opened, prompts=variant) for variant in ("guided", "unguided"))
    told = compare(opened, a, b)
    assert (told["divergence"], told["prompt"]["turn"], told["prompt"]["agent"]) == (None, None, None)
    text = cli("compare", a.id, b.id).stdout
    assert text.endswith("\nthe prompts differ, but scripted policies read none: all turns are equal\n")
    assert compare(opened, a, a)["prompt"] is None


def test_a_line_of_json_is_broken_into_lines_for_the_diff(opened: Store) -> None:
    """Boards of 4 and of 5 columns: in the view's one line the map's rows differ, the mind after them not."""
    a = mining(opened)
    b = mining(opened, values={"rounds": 4, "rows": 4, "cols": 5})
    told = compare(opened, a, b)
    assert where(told) == (0, "miner-01", "prompt")
    rows = '-".. .. .. ..",\n-".. .. .. ..",\n-".. .. .. .."],\n'
    assert rows in told["divergence"]["diff"]
    assert told["divergence"]["diff"].endswith('+".. .. .. .. .."],\n "memory":{"aggressor_report":{},\n')


def test_another_reading_of_the_same_answer_is_a_divergence_of_reading(opened: Store) -> None:
    """The second run was played when such an answer could not be read."""
    a = saying(opened, lambda _: '{"claim": [[0, 0]]}')
    b = saying(opened, lambda _: "I pass.", values={"taint_share": 1.0})
    opened.runs.update(b.id, config=a.setting.config.model_dump_json())
    opened.db.table("calls").update((b.id, 0, "miner-01", 1), {"answer": '{"claim": [[0, 0]]}'})
    rewrite(opened)
    told = compare(opened, a, opened.runs.find(b.id))
    assert where(told) == (0, "miner-01", "reading")
    assert told["divergence"]["diff"].endswith("-answered, found as json\n+unreadable, found as none\n")


def test_another_validation_of_the_same_answer_is_a_divergence_of_validation(opened: Store) -> None:
    """The second run was played when a claim off the board was not written down as refused."""
    a, b = (saying(opened, lambda _: '{"claim": [[99, 99]]}') for _ in range(2))
    record = replace(next(opened.turns.of(b)).record, drops=())
    opened.db.table("turns").update((b.id, 0), {"record": record.text})
    rewrite(opened)
    assert where(compare(opened, a, b)) == (0, "miner-01", "validation")


def test_follow_up_questions_are_compared_after_the_first_answers(opened: Store) -> None:
    """A first answer that is refused is asked about again: where it differs, it is what differs first."""

    def run(first: str, second: str) -> Run:
        return saying(
            opened, lambda at: first if at.endswith("/1") else second, rounds=1, values={"reask": 1}
        )

    refused, x = '{"claim": [[99, 99]]}', '{"memory": "x"}'
    asked_again = run(refused, x)
    for one, calls, answer in ((run("{}", x), 1, refused), (run(refused, "{}"), 2, x)):
        told = compare(opened, one, asked_again)
        assert told["calls"] == [calls, 2]
        assert where(told) == (0, "miner-01", "answer")
        assert told["divergence"]["diff"].endswith(f"-{{}}\n+{answer}\n")


def test_the_observer_is_asked_after_the_agents(opened: Store) -> None:
    """Where another unit begs for more, its answer differs first, and the observer's question only by it."""
    values: dict[str, Any] = {"rounds": 6, "observer": "openai:policy/all", "start": 60}
    with served({}):
        a, b = (
            played(opened, RunOptions("trust", 2, models=models, values=values))
            for models in ("policy:copykitten*1,policy:beggar*1", "policy:copykitten*1,policy:copycat*1")
        )
    _, agent, layer = where(compare(opened, a, b))
    assert (agent, layer) == ("unit-b", "answer")


def test_after_a_prompt_the_first_decision_that_differs_is_said_word_by_word(opened: Store, cli: Cli) -> None:
    """The prompts and an agent's reasons differ in turn 0, and what another agent does in turn 2."""
    at_2 = "2/miner-02/1"
    others = {"0/miner-01/1": '{"reasoning": "why not"}', at_2: '{"claim": [[3, 1]]}'}
    a = saying(opened, lambda at: '{"claim": [[0, 1]]}' if at == at_2 else "{}", agents=2, rounds=3)
    b = saying(opened, lambda at: others.get(at, "{}"), agents=2, rounds=3, prompts="unguided")
    told = compare(opened, a, b)
    assert where(told) == (0, "miner-01", "prompt")
    decision = told["decision"]
    assert (decision["turn"], decision["agent"]) == (2, "miner-02")
    assert decision["outcomes"] == ["answered", "answered"]
    assert decision["intents"] == [next(opened.turns.of(run, 2)).record.intents["miner-02"] for run in (a, b)]
    same, only_a, only_b = " ", "-", "+"
    claims = [(same, '{"claim": [['), (only_a, "0"), (only_b, "3"), (same, ", 1]]}"), (same, "\n")]
    assert decision["answer"] == claims
    advice = "".join(text for change, text in decision["prompt"] if change == only_a)
    systems = [call.prompt.system for run in (a, b) for call in opened.calls.of_turn(run.id, 2, "miner-02")]
    assert [advice.strip() in system for system in systems] == [True, False]
    text = cli("compare", a.id, b.id).stdout
    assert "first divergence: turn 0, ●miner-01: prompt" in text
    said = text.partition("first decision that differs: turn 2, ■miner-02\n")[2].splitlines()
    assert said[:2] == ["A: claim [0,1]", "B: claim [3,1]"]
    assert '{"claim": [[[-0-]{+3+}, 1]]}' in text


def test_phrases_that_changed_stay_whole_in_a_word_diff() -> None:
    found = word_diff("same\nwait for the next round, then raid", "same\nwait until you can, then raid")
    assert found == [
        (" ", "wait "),
        ("-", "for the next round"),
        ("+", "until you can"),
        (" ", ", then raid"),
        (" ", "\n"),
    ]
    assert word_diff("a\nb", "a\nb") == []


def test_runs_in_which_all_decide_alike_have_no_decision_that_differs(opened: Store, cli: Cli) -> None:
    a, b = saying(opened, lambda _: '{"reasoning": "so"}'), saying(opened, lambda _: "{}")
    told = compare(opened, a, b)
    assert (where(told), told["decision"]) == ((0, "miner-01", "answer"), None)
    assert "no decision differs in the turns that both runs have" in cli("compare", a.id, b.id).stdout


def test_a_decision_that_differs_by_a_failed_call_says_so(opened: Store, cli: Cli) -> None:
    a = saying(opened, lambda _: '{"claim": [[0, 0]]}')
    b = saying(opened, lambda at: "I pass." if at == "0/miner-01/1" else '{"claim": [[0, 0]]}')
    assert compare(opened, a, b)["decision"]["outcomes"] == ["answered", "unreadable"]
    assert (
        "A: claim [0,0]\nB: ✗ unreadable, default action: do nothing\n" in cli("compare", a.id, b.id).stdout
    )


def test_a_shorter_run_diverges_where_it_ends(opened: Store) -> None:
    a, b = (saying(opened, lambda _: "{}", rounds=rounds) for rounds in (5, 3))
    for one, other, text in (
        (a, b, "only run A has turn 3; run B"),
        (b, a, "only run B has turn 3; run A"),
    ):
        told = compare(opened, one, other)
        assert where(told) == (3, "", "engine")
        assert told["divergence"]["diff"] == f"{text} is finished, with turns 0 to 2\n"
        assert told["settings"]["rounds"] == [len(list(opened.turns.of(run))) for run in (one, other)]


def test_a_run_without_turns_has_nothing_to_show_yet(opened: Store, cli: Cli) -> None:
    a, b = mining(opened), begin(opened, RunOptions("mining", 3, values={"rounds": 4, "rows": 4, "cols": 4}))
    told = compare(opened, a, b)
    assert where(told) == (0, "", "engine")
    assert told["divergence"]["diff"] == "only run A has turn 0; run B is unfinished, without turns\n"
    assert (told["reports"][1], told["calls"], told["failures"][1]["share"]) == ({}, [12, 0], None)
    assert told["scores"] == {
        agent: [score, None] for agent, score in opened.figures.result(a)["scores"].items()
    }
    assert {measure["difference"] for measure in told["measures"].values()} == {None}
    assert compare(opened, b, b)["divergence"] is None
    assert "measures: none" in cli("compare", b.id, b.id).stdout
    assert "run B is unfinished, without turns" in cli("compare", a.id, b.id).stdout


def test_a_run_that_waits_is_compared(opened: Store, cli: Cli) -> None:
    request = RunOptions(
        "trust", 2, models="policy:copykitten*1,policy:beggar*1", values={"observer": "human"}
    )
    runs = [played(opened, request) for _ in range(2)]
    assert [run.status for run in runs] == ["waiting", "waiting"]
    assert compare(opened, *runs)["divergence"] is None
    assert "waiting" in cli("compare", *(run.id for run in runs)).stdout


def test_runs_of_two_worlds_cannot_be_compared(opened: Store) -> None:
    a, b = begin(opened, RunOptions("mining")), begin(opened, RunOptions("trust"))
    with pytest.raises(UsageError, match=f"run {a.id} is a run of mining and run {b.id} one of trust"):
        compare(opened, a, b)


def test_failed_calls_are_counted_by_cause_agent_and_turn_with_a_warning(
    opened: Store, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 calls of the second run failed, of 6 that count (see test_counted), and none of the first run."""
    with served({}):
        a = played(opened, RunOptions("mining", 2, models="openai:policy/guided", values={"rounds": 3}))
    b = faulty_run(opened, monkeypatch)
    told = compare(opened, a, b)
    assert told["failures"] == [opened.calls.failures(run.id) for run in (a, b)]
    assert told["outcomes"] == {"answered": [6, 3], "unreadable": [0, 2], "refused": [0, 1]}
    assert told["drops"]["read/unreadable"] == [0, 2]
    assert [run["tainted"] for run in told["runs"]] == [False, True]
    assert where(told) == (0, "miner-01", "answer")
    text = cli("compare", a.id, b.id).stdout
    assert (
        "A: 0.0% of calls failed; B: 50.0% of calls failed, tainted. "
        "Differences may come from the provider, not from the agents." in " ".join(text.split())
    )
    assert rows_under(text, "outcomes")[1:] == [["unreadable", "0", "2"], ["refused", "0", "1"]]


def rows_under(text: str, title: str) -> list[list[str]]:
    """Return the words of the rows of the table with this title, without the marks of agents."""
    text = text.translate(dict.fromkeys(map(ord, MARKS)))
    (block,) = (block for block in text.split("\n\n") if block.startswith(title))
    return [line.split() for line in block.splitlines()[2:]]


def test_failed_calls_diverge_by_their_outcomes(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one call gave no text in either run: in one it was refused, in the other cut off."""
    runs = []
    for fault in ("refusal", "empty-length"):
        done = {"0/miner-01/1": fault}
        monkeypatch.setattr(faults, "draw_fault", lambda _s, at, _t, done=done: done.get(at, ANSWER))
        with served({}):
            runs.append(
                played(opened, RunOptions("mining", 1, models="openai:policy/guided", values={"rounds": 1}))
            )
    told = compare(opened, *runs)
    assert where(told) == (0, "miner-01", "answer")
    assert told["divergence"]["diff"].endswith("-none: refused\n+none: truncated\n")


def test_the_comparison_is_printed_as_tables_or_as_one_json_document(opened: Store, cli: Cli) -> None:
    a, b = mining(opened), mining(opened, models="policy:greedy-mine")
    document = cli("compare", a.id, "last", "--json")
    assert document.exit_code == 0
    assert json.loads(document.stdout) == json.loads(json.dumps(compare(opened, a, b)))
    told, text = compare(opened, a, b), cli("compare", a.id, b.id).stdout
    assert not {"failed", "provider"} & set(text.split()), "no call failed, so nobody is warned"
    assert "first divergence: turn 0, ●miner-01: answer" in text
    assert rows_under(text, "settings that differ") == [
        ["models:", "miner-01,", "miner-02,", "miner-03", "policy:guided", "policy:greedy-mine"]
    ]
    assert rows_under(text, "scores") == [[agent, *map(str, pair)] for agent, pair in told["scores"].items()]
    (output,) = (row for row in rows_under(text, "measures") if row[0] == "output")
    one, other = (sum(opened.figures.result(run)["scores"].values()) for run in (a, b))
    assert [float(cell) for cell in output[1:]] == [one, other, other - one]


def test_fields_of_an_object_in_the_config_have_rows_of_their_own(opened: Store, cli: Cli) -> None:
    a, b = (
        begin(opened, RunOptions("nations", 3, values={"army": {"AgentA": 4, "AgentB": 8, "AgentC": army}}))
        for army in (1, 2)
    )
    text = cli("compare", a.id, b.id).stdout
    assert rows_under(text, "settings that differ") == [["army:", "AgentC", "1", "2"]]


def test_reports_at_the_end_stand_rater_by_ratee(opened: Store, cli: Cli) -> None:
    runs = [
        played(
            opened, RunOptions("nations", 2, models=f"policy:militarist*1,{other}*1", values={"rounds": 3})
        )
        for other in ("policy:appeaser", "policy:grim")
    ]
    told, text = compare(opened, *runs), cli("compare", *(run.id for run in runs)).stdout
    for side, run, reports in zip("AB", runs, told["reports"], strict=True):
        memories = next(opened.turns.of(run, 2)).record.memories
        report = {rater: memory.aggressor_report for rater, memory in memories.items()}
        assert reports["aggressor_report"] == report
        assert rows_under(text, f"aggressor report at the end of {side}") == [
            [
                rater,
                *(f"({score})" if rater == ratee else str(score) for ratee, score in sorted(given.items())),
            ]
            for rater, given in report.items()
        ]


def test_what_agents_say_is_spelled_out(opened: Store, cli: Cli) -> None:
    said = "[bold red]mine[/] \x1b[2J \u202e"
    a = saying(opened, lambda _: "{}")
    b = saying(opened, lambda _: '{"memory": "' + said + '"}')
    text = cli("compare", a.id, b.id).stdout
    assert "[bold red]mine[/] \\x1b[2J \\x202e" in text
    assert not {"\x1b", "\u202e"} & set(text)


def test_a_long_diff_is_cut_in_print_and_whole_in_json(opened: Store, cli: Cli) -> None:
    """Two lines name the sides, one the place; then the answer of one line, and that of 100 long ones."""
    said = "\n".join(f"{k:04}" + "x" * 996 for k in range(100))
    a, b = saying(opened, lambda _: "{}"), saying(opened, lambda _: said)
    diff = json.loads(cli("compare", a.id, b.id, "--json").stdout)["divergence"]["diff"]
    assert len(diff.splitlines()) == 104
    assert diff.endswith("x" * 996 + "\n")
    lines = cli("compare", a.id, b.id).stdout.partition("first divergence")[2]
    assert f"… and {104 - MAX_LINES} more lines; --json prints all" in lines
    assert "+0035x" in lines
    assert "+0036x" not in lines
    assert lines.count("x") == (MAX_LINES - 4) * (MAX_LINE_LENGTH - 5)
