"""`hobbes probe`: recorded situations are asked again, and the answers are compared column by column."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from starlette.testclient import TestClient

from hobbes.errors import HaltedRunError, UsageError
from hobbes.nodes.caps import NO_CAPS, Caps, Spent
from hobbes.nodes.prompt_set import ROOT
from hobbes.play.start import RunOptions, begin
from hobbes.probe.asker import asking, kept_calls, missing
from hobbes.probe.column_comparison import Interval
from hobbes.probe.paraphrases import sentences_on_wordings
from hobbes.probe.probe_plan import Column, cost, plan
from hobbes.probe.sentences import difference_in_words, sentences
from hobbes.probe.situations import ProbeFile, Situation, add, pick, read_probe_file
from hobbes.probe.table import Answer, CellAnswers, ColumnResult, Difference, ProbeResult, read_probe
from hobbes.show.documents import MAX_TALL
from hobbes.show.probe_reports import by_change, document
from hobbes.show.web.page_templates import link
from hobbes.store.home import Store
from hobbes.wire.recorder import environment, in_thread
from hobbes.wire.stand_in import stand_in
from hobbes.worlds import WORLDS
from tests.conftest import Cli
from tests.small_probes import MODEL, ask, asked, duel, heeding, planned, variant
from tests.small_runs import go, played, played_once

CALL: Any = None
"""Stands for a call where none is read."""


@pytest.fixture
def five(opened: Store) -> list[Situation]:
    return [*pick(opened, duel(opened), range(5), ["unit-a"], None)]


def test_a_probe_finds_what_a_word_does_and_nothing_for_its_synonym(
    opened: Store, five: list[Situation], tmp_path: Path
) -> None:
    with heeding() as server:
        told = asked(
            opened,
            name="words",
            situation=five,
            prompts=[variant(tmp_path, "Be peaceful."), variant(tmp_path, "Stay unwarlike.")],
            paraphrases=["shipped"],
        )
    named, synonym, *wordings = (one.column.name for one in told.columns[1:])
    found = {(one.column, one.act) for one in told.differences if one.is_found}
    assert found == {(named, "attack"), (named, "block")}
    assert {one.column for one in told.differences} == {named, synonym, *wordings}
    *_, spread, more, other_act = sentences(told.with_short_names())
    assert re.match(r"4 wordings of the same rules differ by up to \d+ points, maybe by chance: ", spread)
    assert "{+Be peaceful." in (shown := document(told).markdown())
    assert not [name for name in wordings if f"The prompt of {name}, from" in shown]
    assert more.startswith("be does more than rewording: ")
    assert other_act.startswith("be does more than rewording: ")
    (attacks,) = (one for one in told.differences if (one.column, one.act) == (named, "attack"))
    assert attacks.difference.high < -0.3
    assert max(Counter(server.asked).values()) == 1
    assert len(server.asked) == 5 * 6 * 10


def test_killed_at_any_moment_it_goes_on_and_asks_nothing_twice(
    opened: Store, five: list[Situation], tmp_path: Path
) -> None:
    """A cap stops it at ten moments; what is told in the end is what an unstopped probe tells."""
    ways: dict[str, Any] = {"situation": five, "prompts": [variant(tmp_path, "Be peaceful.")], "times": 2}
    with heeding() as server:
        for calls in range(1, 20, 2):
            with pytest.raises(
                HaltedRunError, match=f"--max-calls {calls} is reached; the same command goes on"
            ):
                asked(opened, Caps(calls=calls), name="stopped", **ways)
            assert len(server.asked) == calls
        stopped = asked(opened, name="stopped", **ways).to_json()
        assert Counter(server.asked).most_common(1)[0][1] == 1
        assert stopped == {**asked(opened, name="unstopped", **ways).to_json(), "probe": "stopped"}
        assert len(server.asked) == 40


def test_who_asks_a_probe_that_is_being_asked_is_told_so_and_asks_nothing(
    opened: Store, five: list[Situation], cli: Cli
) -> None:
    with heeding() as server:
        what = planned(opened, name="busy", situation=five, times=2)
        which = ("duel", "--turns", "0-4", "--agents", "unit-a")
        probe = ("probe", *which, "--model", MODEL, "--times", "2", "--yes")
        with asking(opened, what, NO_CAPS):
            told = str(cli(*probe, "--name", "busy").exception)
            assert told == "probe busy is being asked by another process; wait for it to end"
            assert server.asked == []
            assert cli(*probe, "--name", "other").exit_code == 0
            assert cli(*probe, "--name", "busy", "--dry-run").exit_code == 0
        assert cli(*probe, "--name", "busy", "--max-calls", "10").exit_code == 0
    assert len(server.asked) == 2 * 10


def test_as_many_are_asked_at_once_as_the_model_allows(opened: Store, tmp_path: Path) -> None:
    """The server answers none of 20 before all of them are there, five times."""
    (opened.home / "models.toml").write_text('[fast]\nmodel = "any"\nparallel = 20\ntimeout = 20\n')
    with heeding():
        run = go(opened, begin(opened, RunOptions("trust", 2, models="fast", values={"rounds": 5})))
    situations = [*pick(opened, run, range(5), ["unit-a"], None)]
    mine = variant(tmp_path, "Be peaceful.")
    with heeding(at_once=20) as server:
        told = asked(opened, name="p", situation=situations, prompts=[mine], model=[])
    assert len(server.asked) == 5 * 2 * 10
    assert all(one.failures == {} for one in told.columns)


def test_calls_that_brought_no_answer_are_asked_again(opened: Store, five: list[Situation]) -> None:
    with heeding():
        what = planned(opened, name="again", situation=five, times=2)
        ask(opened, what)
        with opened.connection as connection:
            connection.execute("update probe_answers set outcome = 'timed-out' where situation = 1")
        told = read_probe(opened, "again")
        assert told.columns[0].failures == {"timed-out": 2}
        assert told.cell(1, "recorded").decisions == 0
        assert sum(missing(what, kept_calls(opened, what)).values()) == 2
        ask(opened, what)
    assert read_probe(opened, "again").columns[0].failures == {}


def test_a_probe_may_get_more_answers_and_columns_and_for_other_situations_needs_another_name(
    opened: Store, five: list[Situation], tmp_path: Path
) -> None:
    mine, other = variant(tmp_path, "Be peaceful."), variant(tmp_path, "Win.")
    ways: dict[str, Any] = {"name": "grows", "situation": five[:1], "prompts": [mine]}
    with heeding() as server:
        for more, calls in (({"times": 2}, 4), ({"prompts": [other, mine]}, 6), ({"times": 3}, 8), ({}, 8)):
            asked(opened, **{**ways, **more})  # without `times`, as often as before
            assert len(server.asked) == len({*server.asked}) == calls
        told = asked(opened, **ways, model=["openai:other"])
        assert len(server.asked) == 14
    columns = [one.column for one in told.columns]
    assert [one.answers for one in told.columns] == [3, 3, 2, 3, 3]
    assert [one.name for one in columns[3:]] == ["recorded openai:other", f"{mine} openai:other"]
    assert [told.against(one) for one in columns] == [None, *3 * ["recorded"], "recorded openai:other"]
    with pytest.raises(UsageError, match="the probe grows has other situations; give this one a --name"):
        asked(opened, **{**ways, "situation": five})


def test_an_edited_prompt_is_a_new_column_and_nothing_else_is_asked_again_nor_an_unedited_copy(
    opened: Store, cli: Cli, tmp_path: Path
) -> None:
    mine, run = Path(variant(tmp_path, "Be peaceful.")), duel(opened)
    system = mine / "system.en.md"
    first = system.read_text(encoding="utf-8")
    own = (ROOT / "trust" / "plain" / "system.en.md").read_text(encoding="utf-8")
    which = f"probe {run.id} --turns 1,2 --agents unit-a --model {MODEL} --prompts".split()
    words = (*which, str(mine))
    said = []
    with heeding() as server:
        for text in (first, f"{own}\nWin.\n", first, own):
            system.write_text(text, encoding="utf-8")
            shown = cli(*words, "--times", "3", "--name", "loop", "--yes")
            said.append((len(server.asked), shown.stderr.strip()))
        (dry,) = json.loads(cli(*words, "--name", "loop", "--dry-run", "--json").stdout)["notes"]
        unedited = cli(*words, "--name", "same").exception
    assert isinstance(unedited, UsageError)
    assert str(unedited) == f"{dry}, and nothing would be compared; edit it first"
    assert [asked for asked, _ in said] == [12, 18, 18, 18]
    assert f"6 answers to ask; about 6 are there already; new column: {mine} v2" in re.sub(
        r"about .* dollars: 0\.00;", "about", said[1][1].replace("\n", " ")
    )
    assert said[2][1].replace("\n", " ") == "4 cells, 0 answers to ask; 12 are there already"
    assert dry == f"{mine} has the words of recorded, so it is not asked"
    assert dry in said[3][1].replace("\n", " ")
    columns = [(one.column.name, one.answers) for one in read_probe(opened, "loop").columns]
    assert columns == [("recorded", 6), (str(mine), 6), (f"{mine} v2", 6)]


def test_a_probe_is_not_continued_if_the_run_is_told_in_other_words_now(
    opened: Store, five: list[Situation]
) -> None:
    """As after a change of the code that writes views."""
    with heeding():
        asked(opened, name="one", situation=five[:1], times=1)
    with opened.connection as connection:
        connection.execute("update probe_answers set prompt = system")
    with pytest.raises(UsageError, match="was asked with other texts of recorded; give this one a --name"):
        asked(opened, name="one", situation=five[:1], times=1)


def test_the_run_itself_is_a_column_and_each_row_tells_what_its_agent_did_in_the_game(
    opened: Store, five: list[Situation]
) -> None:
    with heeding():
        told = asked(opened, name="alone", situation=five, times=1)
        both = asked(opened, name="both", situation=five[:2], model=["openai:a", "openai:b"], times=1)
    recorded = [opened.runs.find("duel").world.telling.acts(intent) for intent in intents(opened)]
    assert list(told.recorded) == recorded
    assert told.differences == ()
    shown = document(told).markdown()
    assert all(f"In the run (duel): {', '.join(acts) or 'no act'}." in shown for acts in recorded)
    first, second = (one.column for one in both.columns)
    assert (both.against(first), both.against(second)) == (None, first.name)


def intents(store: Store) -> list[Any]:
    run = store.runs.find("duel")
    return [run.world.intent.from_json(turn.record.intents["unit-a"]) for turn in store.turns.of(run, 0, 4)]


def test_a_situation_is_what_the_agent_was_in(opened: Store) -> None:
    """The prompt of the recorded column is that which the run's model was sent, byte by byte."""
    with heeding():
        run = played(opened, RunOptions("trust", 2, models=MODEL, values={"rounds": 4}))
        for cell in plan(opened, ProbeFile(situation=[*pick(opened, run, None, [], None)]), NO_CAPS).cells:
            (call,) = opened.calls.of_turn(run.id, cell.question.start.state.turn, cell.question.agent)
            assert cell.prompt == call.prompt


def test_settings_and_languages_are_columns_too(opened: Store, five: list[Situation]) -> None:
    columns = planned(opened, situation=five, lang=["zh"], set={"miss": 50})
    assert [one.name for one in columns.columns] == ["recorded", "zh miss=50"]
    recorded, other = columns.cells[:2]
    assert (recorded.prompts.lang, other.prompts.lang) == ("en", "zh")
    assert (recorded.question.setting.config.miss, other.question.setting.config.miss) == (15, 50)


@pytest.mark.parametrize(
    ("model", "server", "usd"),
    [
        ("openai:any", "http://localhost:8080/v1", 0),
        ("openai:any", "http://[::1]:8080/v1", 0),
        ("openai:any", "http://192.168.0.2/v1", None),
        ("openai:any", "", None),
        ("openai:gpt-5-mini", "http://127.0.0.1:4000/v1", None),  # a relay: the list has its price
    ],
)
def test_it_says_what_it_will_cost_and_a_server_on_this_machine_takes_no_money(
    opened: Store, five: list[Situation], model: str, server: str, usd: float | None
) -> None:
    what = planned(opened, situation=five, times=4, model=[model])
    with environment(OPENAI_BASE_URL=server):
        expected = cost(opened, what, missing(what, {}))
    assert (expected.calls, expected.tokens_out, expected.usd) == (20, None, usd)
    assert expected.tokens_in > 20 * 500


@pytest.mark.parametrize(
    ("ways", "problem"),
    [
        ({"model": []}, "a probe needs a model, but policy:random.* plays unit-a"),
        ({"model": ["policy:random"]}, "a model, but policy:random reads no prompt; name a chat model"),
        ({"prompts": ["nowhere"]}, "nowhere"),
        (
            {"situation": [Situation(run="duel", turn=9, agent="unit-a")]},
            "run duel has no turn 9; it has turns 0 to 5",
        ),
        ({"situation": [Situation(run="duel", turn=1, agent="unit-z")]}, "does not act in turn 1"),
        ({"situation": [Situation(run="duel", turn=1, agent="observer")]}, "a probe asks agents"),
        ({"situation": []}, "there is no situation to ask about"),
        ({"prompts": ["plain", "plain"]}, "two columns would be the same"),
        ({"set": {"start": 7}}, "this changes how the game begins"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(
    opened: Store, five: list[Situation], ways: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem) as error:
        planned(opened, **{"situation": five, **ways})
    assert "\n" not in str(error.value)


def test_shipped_wordings_are_not_those_of_a_game_with_another_prompt(opened: Store) -> None:
    run = played_once(opened, RunOptions("trust", 2, prompts="survivor", values={"rounds": 1}))
    of_run = [Situation(run=run.id, turn=0, agent="unit-a")]
    with pytest.raises(UsageError, match="has the prompt survivor, but shipped means wordings of plain; "):
        planned(opened, situation=of_run, paraphrases=["shipped"])


def test_situations_are_picked_by_turns_agents_and_recorded_acts(opened: Store) -> None:
    run = duel(opened)
    every = [*pick(opened, run, None, [], None)]
    assert len(every) == 12
    for turn in (6, 9):
        with pytest.raises(UsageError, match=rf"has no turn {turn}; it has turns 0 to 5$"):
            [*pick(opened, run, [turn], [], None)]
    done = {(one.turn, one.agent) for one in pick(opened, run, None, ["unit-a"], "attack")}
    recorded = {
        (turn.turn, "unit-a")
        for turn in opened.turns.of(run)
        if run.world.intent.from_json(turn.record.intents["unit-a"]).action == "attack"
    }
    assert done == recorded != set()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--agents", "unit-z"), "'unit-z' does not act in these turns; the agents that do: unit-a, unit-b"),
        (("--where", "steal"), "has the act 'steal'; the acts that they have: attack"),
    ],
)
def test_what_cannot_be_picked_is_told_with_what_could_be(
    opened: Store, cli: Cli, options: tuple[str, str], problem: str
) -> None:
    refused = cli("probe", duel(opened).id, *options, "--model", MODEL, "--dry-run")
    assert problem in str(refused.exception)


def test_a_probe_whose_calls_all_failed_says_so_first_and_is_no_success(
    five: list[Situation], cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "situations.toml"
    for one in five[:2]:
        add(file, one)
    with environment(OPENAI_BASE_URL="http://127.0.0.1:9/v1", OPENAI_API_KEY="none"):
        asked = cli("probe", str(file), "--models", MODEL, "--times", "1", "--name", "dead", "--yes")
    assert asked.exit_code == 1
    found = asked.stdout.partition("What was found")[2].strip()
    found = " ".join(found.split())
    assert found.startswith(
        "2 of 2 calls failed (provider-error 2). A failed call is no decision. The first error: nothing "
        "listens at 127.0.0.1:9; is the server running? `hobbes serve` starts the stand-in server"
    )
    assert asked.stdout.count("1 failed") == 2


def test_a_cell_that_is_not_there_is_told_with_those_that_are(
    opened: Store, five: list[Situation], cli: Cli
) -> None:
    with heeding():
        asked(opened, name="small", situation=five[:2], times=1)
    for words, told in (
        (("0", "recorded"), "has no situation 0; its situations are 1 to 2"),
        (("x", "recorded"), "has no situation x; its situations are 1 to 2"),
        (("1", "record"), "has no column 'record'; did you mean 'recorded'"),
        (("1", "./nope"), "has no column './nope'; its columns: recorded"),
        (("1", "recorded", "2"), "this cell has no answer 2; its answers: 1"),
    ):
        assert told in str(cli("probe", "show", "small", *words).exception)


def test_a_file_of_situations_grows_by_one_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "situations.toml"
    ones = [
        Situation(run="duel", turn=turn, agent="unit-a", note='the "first"' * (turn == 1)) for turn in (1, 2)
    ]
    assert [add(file, one) for one in ones] == [1, 2]
    assert read_probe_file(file).situation == ones
    with pytest.raises(UsageError, match="already has this situation"):
        add(file, ones[0])
    file.write_text('[[situation]]\nrun = "a"\nturns = 3\n', encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"situation 1: turn: is missing; .*unknown key 'turns'; did you mean 'turn'"
    ):
        read_probe_file(file)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[situation]]\nrun = 'a'\nturn = 'x'\nagent = 'b'", "situation 1: turn: write a whole number"),
        ("[[situations]]\nrun = 'a'", "unknown key 'situations'; did you mean 'situation'"),
        ("zzz = 1", "unknown key 'zzz'; the keys are about, lang, model, name, .* situation, times"),
        ("name = 'a/b c'", "name: write letters, digits, - and _, with a letter or a digit first"),
        ("prompts = [3]", "prompts: write a text in quotation marks"),
        ("situation = [3]", "situation: write a table here"),
    ],
)
def test_what_is_wrong_in_a_file_of_situations_is_said_in_words(
    tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "situations.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=problem):
        read_probe_file(file)


def test_the_command_says_the_same_in_all_its_forms(opened: Store, cli: Cli, tmp_path: Path) -> None:
    run, file = duel(opened), tmp_path / "situations.toml"
    added = cli("probe", "add", run.id, "2", "unit-a", "--to", str(file), "--note", "early")
    assert added.stdout == f"{file} has 1 situation\n"
    how = ("--model", MODEL, "--prompts", variant(tmp_path, "Be peaceful."), "--times", "3")
    which = ("duel", "--turns", "0,3-4", "--agents", "unit-a")
    dry = cli("probe", str(file), *which, *how, "--dry-run")
    assert dry.stdout.startswith("8 cells, 24 answers to ask; about ")
    more = cli("probe", str(file), *which, *how, "--prompts", "story", "--model", "openai:other", "--dry-run")
    assert more.stdout.startswith("24 cells, ")
    asked = ("probe", str(file), *which, *how, "--name", "p", "--json")
    assert "openai: models need OPENAI_API_KEY" in str(cli(*asked).exception)
    with heeding():
        refused = cli(*asked, env={"OPENAI_BASE_URL": "https://model.invalid/v1"})
        assert "--yes goes on without a question" in str(refused.exception)
        told = json.loads(cli(*asked).stdout)
    assert [one["turn"] for one in told["situations"]] == [2, 0, 3, 4]
    assert told == json.loads(cli("probe", "show", "p", "--json").stdout)
    assert json.loads(cli("probe", "show", "--json").stdout) == ["p"]
    printed = cli("probe", "show", "p").stdout
    assert max(map(len, printed.partition("\nsituation")[2].partition("\nEach")[0].splitlines())) <= MAX_TALL
    mine = told["columns"][1]["column"]
    for one in told["cells"]:
        if one["column"] == "recorded" and one["acts"].get("attack"):
            assert f"attack {one['acts']['attack']}/3" in printed
    shown = json.loads(cli("probe", "show", "p", "2", mine, "--json").stdout)
    (second,) = json.loads(cli("probe", "show", "p", "2", mine, "2", "--json").stdout)["answers"]
    assert second == shown["answers"][1]
    assert cli("probe", "show", "p", "2", "be", "--json").stdout == json.dumps(shown, indent=2) + "\n"
    every, one = cli("probe", "show", "p", "2", "be").stdout, cli("probe", "show", "p", "2", mine, "2").stdout
    assert every == cli("probe", "show", "p", "2", mine).stdout
    assert every == cli("probe", "show", "p", "2").stdout, "there is no third column to name"
    assert every.index("{+Be peaceful.\n+}") < every.index("\nanswer  recorded")
    fork = re.sub(r"^.*?hobbes ", "", one.split("next: ")[1])
    assert fork.startswith("fork duel --turn 0 --answer ")
    markdown = cli("probe", "show", "p", "--markdown").stdout
    assert all("{+Be peaceful.\n+}" in text for text in (printed, markdown))


def test_an_answer_is_played_on_as_a_fork(opened: Store, five: list[Situation], cli: Cli) -> None:
    with heeding():
        asked(opened, name="p", situation=five, times=1)
    (answer,) = json.loads(cli("probe", "show", "p", "2", "recorded", "--json").stdout)["answers"]
    told = cli("fork", "duel", "--turn", "1", "--answer", f"unit-a={answer['answer']}", "--json")
    run = opened.runs.find(json.loads(told.stdout)["run"])
    (turn,) = opened.turns.of(run, 1, 1)
    assert (
        list(run.world.telling.acts(run.world.intent.from_json(turn.record.intents["unit-a"])))
        == answer["acts"]
    )


def test_the_pages_show_a_probe_its_answers_and_its_words(
    opened: Store, five: list[Situation], pages: TestClient, tmp_path: Path
) -> None:
    mine = variant(tmp_path, "Be peaceful.")
    with heeding():
        told = asked(opened, name="p", situation=five, prompts=[mine], times=2)
    every = pages.get("/").text
    assert link("probes", "p") in every
    assert f"5 situations, columns recorded, {escape(mine)}" in every
    page = pages.get("/probes/p").text
    for n in range(1, 6):
        for column in ("recorded", "be"):
            assert escape(link("probes", "p", situation=n, column=column)) in page
    for at in five[1:]:
        assert f'<img loading="lazy" src="/duel/{at.turn - 1}.svg?part=plane"' in page
    largest = [told.most_changed(n)[0] for n in by_change(told)]
    assert largest == sorted(largest, reverse=True)
    assert [int(n) for n in re.findall(r">([0-9]), turn [0-9]:</a>", page)] == by_change(told)
    answers = pages.get(link("probes", "p", situation=1)).text
    assert answers == pages.get(link("probes", "p", situation=1, column=mine)).text
    for column in ("recorded", mine):
        for one in told.cell(1, column).answers:
            assert told.world.telling.meant(one.intent)[0] in answers
    assert all("“&lt;b&gt;unit-b&lt;/b&gt; made me”" in text for text in (page, answers))
    assert all("<ins>Be peaceful.\n</ins>" in text for text in (page, answers))
    assert pages.get("/probes/nothing").status_code == 404
    assert "`situation` in the address is not a number from 0" in pages.get("/probes/p?situation=abc").text


@pytest.mark.parametrize(
    ("acts", "rows", "needed"),
    [(("attack", "attack"), [], 2), (("attack", "block"), ["attack", "block"], 3)],
)
def test_an_act_that_cannot_differ_has_no_row_and_too_few_answers_are_told_with_how_many_it_takes(
    five: list[Situation], acts: tuple[str, str], rows: list[str], needed: int
) -> None:
    """In the second situation all answers block."""
    columns = [ColumnResult(one, 2, {}, {}, Spent()) for one in (Column("recorded"), Column("./x", "./x"))]
    done = {(1, "recorded"): acts[0], (1, "./x"): acts[1], (2, "recorded"): "block", (2, "./x"): "block"}
    cells = {at: CellAnswers((Answer(1, CALL, (act,), (), None),)) for at, act in done.items()}
    told = ProbeResult("p", WORLDS["trust"], 1, tuple(five[:2]), (None, None), tuple(columns), cells, ())
    assert sorted(one.act for one in told.differences) == rows
    assert next(sentences(told)) == (
        "./x: no difference from recorded was found: the test needs "
        f"{needed} answers or more in each cell (--times {needed})."
    )
    assert [*sentences(replace(told, cells={}))] == ["No answer has an act that is counted."]


def test_a_column_is_shown_without_its_folders_unless_two_would_have_one_name(five: list[Situation]) -> None:
    names = ["recorded", "./a/x", "./b/x zh", "b/y", "y", "./mine/", 'observer="openai:policy/one"']
    columns = tuple(ColumnResult(Column(name), 0, {}, {}, Spent()) for name in names)
    told = ProbeResult("p", WORLDS["trust"], 1, tuple(five), (), columns, {}, ())
    short = ["recorded", "x", "x zh", "b/y", "y", "mine/", 'observer="openai:policy/one"']
    assert [*told.short_names.values()] == short
    assert [one.column.name for one in told.with_short_names().columns] == short
    assert [told.column(name).name for name in short] == names


def test_wordings_that_give_the_same_acts_differ_in_none(five: list[Situation]) -> None:
    columns = [
        Column("recorded"),
        *(Column(name, name, paraphrase=name != "./x") for name in ("./x", "a", "b")),
    ]
    cells = {
        (n, one.name): CellAnswers(
            tuple(Answer(k, CALL, ("block" if one.name == "./x" else "attack",), (), None) for k in (1, 2))
        )
        for n in range(1, 6)
        for one in columns
    }
    results = tuple(ColumnResult(one, 10, {}, {}, Spent()) for one in columns)
    told = ProbeResult("p", WORLDS["trust"], 2, tuple(five), (None,) * 5, results, cells, ())
    assert [*sentences_on_wordings(told)] == [
        "3 wordings of the same rules differ in no act.",
        "./x does more than rewording, which changed nothing here: attack changes by -100 points.",
        "./x does more than rewording, which changed nothing here: block changes by +100 points.",
    ]


def test_a_model_that_the_server_does_not_have_is_corrected_under_the_same_name(
    opened: Store, five: list[Situation]
) -> None:
    ways: dict[str, Any] = {"name": "p", "situation": five, "times": 3}
    with in_thread(stand_in()) as base, environment(OPENAI_BASE_URL=base):
        with pytest.raises(HaltedRunError, match="such as openai:policy/guided; mend that, and the same"):
            asked(opened, **ways, model=["openai:nosuch"])
        told = asked(opened, **ways, model=["openai:policy/random"])
    assert [one.column.name for one in told.columns] == ["recorded", "recorded openai:policy/random"]
    assert [told.cell(n, "recorded openai:policy/random").decisions for n in range(1, 6)] == 5 * [3]


@pytest.mark.parametrize(
    ("situations", "ends", "told"),
    [
        (2, (-0.45, -0.12), "2 are too few to say; over their answers, the 95% interval is -45 to -12."),
        (7, (-0.76, 0.19), "it is not shown: the 95% interval is -76 to +19."),
        (7, (-0.5, -0.1), "the 95% interval is -50 to -10."),
    ],
)
def test_a_difference_says_whether_it_is_shown_for_other_situations(
    situations: int, ends: tuple[float, float], told: str
) -> None:
    found = Difference("new", "old", "raid", situations, 0.43, 0.14, Interval(-0.29, *ends), 0.016, 0.016)
    words = (
        "new: raid in 14% of the answers, against 43% in the column old: -29 points in these situations "
        "(p 0.016, Holm). For other situations of this kind, "
    )
    assert difference_in_words(found) == f"{words}{told}"
