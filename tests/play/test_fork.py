"""A fork: the turns before it are its parent's and cost nothing; the others are played anew.

That a fork without a change has its parent's digest is tested for every world in tests/contract/test_ways.py.
"""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hobbes.engine.record import canonical, sha256
from hobbes.engine.world import hashed_settings
from hobbes.errors import DamagedError, HaltedRunError, HobbesError, UsageError
from hobbes.nodes import prompt_set
from hobbes.nodes.caps import NO_CAPS, Caps
from hobbes.play.fork import ForkOptions, fork
from hobbes.play.render import question_in_run
from hobbes.play.start import RunOptions, begin
from hobbes.prove.replay import replay_run
from hobbes.prove.run_comparison import compare
from hobbes.prove.verification import Fault, verify
from hobbes.show.trace import agent_card, full_turn
from hobbes.show.web.page_file import PageFile
from hobbes.store.history import StoredHistory
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.run_journal import RunJournal
from hobbes.store.runs import Runs
from tests.conftest import Cli
from tests.play.test_caps import model
from tests.play.test_observer import game, granting_all, on, to_the_end
from tests.play.test_second_question import FIRST, answering
from tests.small_runs import go, mining, played, prompt_of

PASSING = '{"claim": [], "notes": "I was told to pass."}'


def forked(store: Store, parent: Run, turn: int, caps: Caps = NO_CAPS, **asked: Any) -> Run:
    return fork(store, parent, ForkOptions(turn, **asked), caps)


def ended(store: Store, parent: Run, turn: int, **asked: Any) -> Run:
    """Play a fork to its end; whatever was changed, it verifies and replays."""
    run = go(store, forked(store, parent, turn, **asked))
    assert list(verify(store, run)) == []
    replayed = asyncio.run(replay_run(store, run, reread=False))
    assert (replayed.digest, replayed.divergence) == (run.digest, None)
    return run


def digests(store: Store, run: Run) -> list[str]:
    return [turn.digest for turn in store.turns.of(run)]


def records(store: Store, run: Run) -> list[str]:
    return [turn.text for turn in store.turns.of(run)]


# --- what is shared, and what it costs


@pytest.mark.parametrize("turn", [0, 1, 3])
def test_a_model_is_asked_only_about_the_turns_from_the_fork_on(opened: Store, turn: int) -> None:
    with answering(lambda _: PASSING) as asked:
        run = mining(opened, models="openai:m")
        asked.clear()
        again = ended(opened, run, turn)
    assert sorted(asked) == sorted(f"{t}/miner-0{n}/1" for t in range(turn, 4) for n in (1, 2, 3))
    assert again.digest == run.digest
    assert opened.calls.attempts(again.id, 0).keys() == {"miner-01", "miner-02", "miner-03"}


def test_a_model_that_observes_is_asked_only_about_the_turns_from_the_fork_on(opened: Store) -> None:
    ruling = json.dumps({"grants": {"unit-b": 1}, "reason": "so"})
    with answering(lambda address: ruling if "observer" in address else "{}") as asked:
        run = played(opened, game("openai:m", reask=0))
        whole = [address for address in asked if "observer" in address]
        asked.clear()
        again = ended(opened, run, 2)
    assert asked == [address for address in whole if int(address.split("/")[0]) >= 2]
    assert whole
    assert again.digest == run.digest


def test_a_fork_has_the_cost_of_its_own_calls_only(opened: Store) -> None:
    with model(prompt_tokens=1000, completion_tokens=100):
        run = mining(opened, models="openai:gpt-5-mini")
        again = ended(opened, run, 3)
    whole, own = opened.figures.result(run), opened.figures.result(again)
    unsaid = {"cached": None, "cache_written": None, "reasoning": None, "untold": 0}
    assert whole["tokens"] == {"in": 12_000, "out": 1_200, **unsaid}
    assert own["tokens"] == {"in": 3_000, "out": 300, **unsaid}
    assert own["usd"] == pytest.approx(whole["usd"] / 4)
    assert own["outcomes"] == whole["outcomes"], "what its turns rest on"


def test_caps_are_the_parents_unless_given_and_count_the_forks_calls(opened: Store) -> None:
    run = go(opened, begin(opened, RunOptions("mining", 3, values={"rounds": 4}), Caps(calls=12)))
    again = forked(opened, run, 3, run.caps)
    assert again.caps == Caps(calls=12)
    assert go(opened, again).status == "finished"
    with pytest.raises(HaltedRunError, match="--max-calls 2 is reached"):
        go(opened, forked(opened, run, 3, Caps(calls=2)))


# --- what changes


def test_the_chain_goes_on_from_the_parents_link_and_the_changed_settings(opened: Store) -> None:
    run = mining(opened)
    other = ended(opened, run, 2, values={"immunity": 20})
    assert other.parent == run.id
    assert (records(opened, other)[:2], digests(opened, other)[:2]) == (
        records(opened, run)[:2],
        digests(opened, run)[:2],
    )
    settings = {"settings": hashed_settings(other.setting.config)}
    link = sha256(digests(opened, run)[1] + canonical(settings))
    assert digests(opened, other)[2] == sha256(link + records(opened, other)[2])


@pytest.mark.parametrize(
    "asked", [{"models": "policy:greedy-mine"}, {"values": {"reask": 1}}, {"lang": "zh"}]
)
def test_what_belongs_to_no_rule_does_not_enter_the_chain(opened: Store, asked: dict[str, Any]) -> None:
    run = mining(opened)
    other = ended(opened, run, 2, **asked)
    assert (digests(opened, other) == digests(opened, run)) == (
        records(opened, other) == records(opened, run)
    )
    assert other.digest == digests(opened, other)[-1]


def test_a_fork_at_turn_0_is_a_new_run(opened: Store) -> None:
    run, new = mining(opened), mining(opened, values={"rounds": 3, "rows": 5, "cols": 5})
    assert ended(opened, run, 0, values={"rounds": 3, "rows": 5, "cols": 5}).digest == new.digest


def test_each_turn_has_the_settings_players_and_prompts_that_it_was_played_with(opened: Store) -> None:
    run = mining(opened)
    first = ended(opened, run, 1, values={"immunity": 20}, lang="zh")
    second = ended(opened, first, 3, values={"immunity": 7}, models="policy:random")
    ways = [second.at(turn) for turn in range(4)]
    assert [way.setting.config.immunity for way in ways] == [run.setting.config.immunity, 20, 20, 7]
    assert [way.prompts.lang for way in ways] == ["en", "zh", "zh", "zh"]
    assert [way.models["miner-01"] for way in ways] == ["policy:guided"] * 3 + ["policy:random"]
    assert [one.after.config.immunity for one in StoredHistory(opened, second)] == [1, 20, 20, 7]
    assert [one.before.config.immunity for one in StoredHistory(opened, second)] == [1, 20, 20, 7]
    shown = [prompt_of(question_in_run(opened, second, turn, "miner-01")).system for turn in range(4)]
    assert len(set(shown)) == 3


def test_a_finished_game_goes_on_under_more_rounds(opened: Store) -> None:
    run = mining(opened)
    longer = ended(opened, run, 4, values={"rounds": 6})
    assert (longer.turns, digests(opened, longer)[:4]) == (6, digests(opened, run))
    back = ended(opened, longer, 4, values={"rounds": 5})
    assert [one.until for one in back.earlier] == [4], "the way of the parent, in which no turn was played"


def test_a_fork_keeps_the_prompt_texts_of_its_parent_and_an_asked_variant_is_read_anew(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = mining(opened)
    root = tmp_path / "prompts"
    for file in prompt_set.ROOT.rglob("*.md"):
        there = root / file.relative_to(prompt_set.ROOT)
        there.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8")
        there.write_text(text.replace("Decide what to do", "Say what to do"), encoding="utf-8")
    monkeypatch.setattr(prompt_set, "ROOT", root)
    kept = [forked(opened, run, 2), forked(opened, run, 2, values={"immunity": 20})]
    assert [one.prompts.turn for one in kept] == [run.prompts.turn] * 2
    anew = forked(opened, run, 2, prompts="guided").prompts
    assert anew.turn.startswith("Say what to do")


def test_a_setting_chooses_the_variant_as_in_a_new_run_unless_one_was_chosen(opened: Store) -> None:
    run, chosen = mining(opened), mining(opened, prompts="unguided")
    assert run.prompts.variant == "guided"
    assert forked(opened, run, 2, values={"guidance": False}).prompts.variant == "unguided"
    assert forked(opened, chosen, 2, values={"guidance": True}).prompts.variant == "unguided"


def test_the_schema_of_answers_follows_the_settings(opened: Store) -> None:
    run = mining(opened)
    talking = forked(opened, run, 2, values={"communication": True})
    assert '"message"' in talking.prompts.schema
    assert '"message"' not in talking.at(1).prompts.schema


# --- words in an agent's mouth


def test_an_answer_is_given_in_place_of_a_models(opened: Store) -> None:
    with answering(lambda _: PASSING) as asked:
        run = mining(opened, models="openai:m")
        asked.clear()
        other = ended(opened, run, 2, answers={"miner-02": '{"claim": [[0, 0]]}'})
    assert "2/miner-02/1" not in asked
    assert len(asked) == 2 * 3 - 1
    (call,) = [call for call in opened.calls.of_turn(other.id, 2) if call.address.agent == "miner-02"]
    assert (call.reply.model, call.reply.player, call.reply.text) == ("given", "given", '{"claim": [[0, 0]]}')
    assert (call.reply.tokens_in, call.reply.tokens_out) == (0, 0)
    found = compare(opened, run, other)["divergence"]
    assert (found["turn"], found["agent"], found["layer"]) == (2, "miner-02", "answer")
    assert "given" not in other.models.values()


def test_the_same_answer_given_leads_to_the_same_digest(opened: Store) -> None:
    run = mining(opened)
    said = {call.address.agent: call.reply.text for call in opened.calls.of_turn(run.id, 2)}
    again = ended(opened, run, 2, answers=said)
    assert again.digest == run.digest
    assert opened.figures.spent(again).calls == 3, "the calls of turn 3"


def test_an_answer_that_is_given_stands_although_a_part_of_it_is_rejected(opened: Store) -> None:
    with answering(lambda _: PASSING) as asked:
        run = mining(opened, models="openai:m", values={"rounds": 2, "rows": 4, "cols": 4, "reask": 1})
        asked.clear()
        other = ended(opened, run, 1, answers={"miner-02": FIRST})
    assert not [address for address in asked if "miner-02" in address]
    assert [drop.agent for turn in opened.turns.of(other, 1) for drop in turn.record.drops] == ["miner-02"]


def test_a_fork_is_written_whole_or_not_at_all(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    run = mining(opened)
    monkeypatch.setattr(RunJournal, "insert", crash)
    with pytest.raises(KeyboardInterrupt):
        forked(opened, run, 2, answers={"miner-02": PASSING})
    assert [one["id"] for one in opened.figures.of_all_runs()] == [run.id]
    assert opened.db.table("turns").count == run.turns


# --- runs of every kind are forked


def test_a_fork_of_a_fork_of_a_fork(opened: Store) -> None:
    run = mining(opened)
    once = ended(opened, run, 1)
    assert ended(opened, ended(opened, once, 3), 2).digest == run.digest
    changed = ended(opened, run, 2, values={"immunity": 20})
    assert ended(opened, changed, 2, values={"immunity": 1}).digest == run.digest
    assert ended(opened, changed, 2).digest == changed.digest
    assert ended(opened, changed, 3).digest == changed.digest
    with pytest.raises(UsageError, match=f"goes on in another way from turn 2; .*fork {run.id} --turn 1"):
        forked(opened, changed, 1)


def test_a_run_is_forked_before_it_is_played_and_at_the_turn_where_it_halted(opened: Store) -> None:
    whole = mining(opened)
    run = begin(opened, RunOptions("mining", 3, values={"rounds": 4, "rows": 4, "cols": 4}), Caps(calls=7))
    assert ended(opened, run, 0).digest == whole.digest
    with pytest.raises(HaltedRunError):
        go(opened, run)
    assert ended(opened, opened.runs.find(run.id), 2).digest == whole.digest
    assert ended(opened, opened.runs.find(run.id), 1).digest == whole.digest


def test_a_waiting_run_is_forked_and_waits_on_its_own(opened: Store) -> None:
    waits = on(opened, begin(opened, game("human")))
    assert waits.status == "waiting"
    again = forked(opened, waits, waits.turns)
    assert again.status == "unfinished"
    whole = to_the_end(opened, again, granting_all)
    assert whole.digest == to_the_end(opened, waits, granting_all).digest
    ruled = forked(opened, waits, waits.turns, values={"observer": "never"})
    assert go(opened, ruled).status == "finished"


def test_a_fork_is_resumed_after_a_halt_without_its_parent(opened: Store, home: Path) -> None:
    run = mining(opened)
    whole = ended(opened, run, 2, values={"immunity": 20}, answers={"miner-01": PASSING})
    options = {"values": {"immunity": 20}, "answers": {"miner-01": PASSING}}
    half = forked(opened, run, 2, Caps(calls=4), **options)
    with pytest.raises(HaltedRunError):
        go(opened, half)
    with sqlite3.connect(home / "runs.db") as connection:
        for table in ("runs", "turns", "calls"):
            column = "id" if table == "runs" else "run"
            connection.execute(f"delete from {table} where {column} = ?", [run.id])  # noqa: S608
    (home / "checkpoints.db").unlink()
    opened.runs.update(half.id, caps="{}")
    assert go(opened, opened.runs.find(half.id)).digest == whole.digest
    assert list(verify(opened, opened.runs.find(half.id))) == []


def test_a_page_and_a_card_of_a_fork_are_shown(opened: Store) -> None:
    run = ended(opened, mining(opened), 2, values={"hide_horizon": False}, answers={"miner-01": PASSING})
    pages = PageFile(opened, run, range(run.turns))
    assert f"forked from {run.parent} at turn 2" in pages.at_a_turn()
    assert "I was told to pass." in pages.card(2, "miner-01")
    views = [
        agent_card(opened, run, turn, "miner-02", full_turn(opened, run, turn))["view"] for turn in (1, 2)
    ]
    assert ["turns_left" in view for view in views] == [False, True], "as each turn was played"
    for turn, view in enumerate(views, 1):
        seen = json.loads(opened.calls.of_turn(run.id, turn)[1].prompt.turn)
        assert {name: value for name, value in seen.items() if name != "memory"} == view


# --- tampering


def test_verify_finds_a_template_of_the_parents_turns_that_was_changed(opened: Store) -> None:
    run = ended(opened, mining(opened), 2, lang="zh")
    opened.db.execute("update texts set text = 'x' where hash = ?", [sha256(run.at(0).prompts.turn)])
    with pytest.raises(DamagedError, match=r"the text of the column runs\.turn_template"):
        next(verify(opened, opened.runs.find(run.id)))


def test_verify_finds_a_turn_that_is_not_the_parents(opened: Store) -> None:
    run = mining(opened)
    other = ended(opened, run, 2)
    opened.db.execute("update turns set digest = 'x' where turn = 0 and run = ?", [run.id])
    assert list(verify(opened, other)) == [
        Fault(0, f"the table turns differs from that of its parent, run {run.id}")
    ]


def test_a_run_whose_calls_were_changed_is_not_forked(opened: Store) -> None:
    run = mining(opened)
    opened.db.execute("update calls set model = 'x' where turn = 1 and agent = 'miner-02'")
    with pytest.raises(
        HobbesError, match="turn 1, miner-02, attempt 1: its row in the table calls was changed"
    ):
        forked(opened, run, 2)
    forked(opened, run, 1)


# --- the command


def test_the_command_plays_forks_and_lists_them_below_their_parent(cli: Cli, opened: Store) -> None:
    run = mining(opened, name="baseline")
    told = json.loads(cli("fork", "baseline", "--turn", "2", "--name", "same", "--json").stdout)
    assert (told["parent"], told["turn"], told["digest"]) == (run.id, 2, run.digest)
    several = json.loads(cli("fork", "same", "--turn", "3", "--times", "2", "--name", "k", "--json").stdout)
    assert [one["digest"] for one in several] == [run.digest] * 2
    assert {one["parent"] for one in several} == {told["run"]}
    mining(opened, name="another")
    lines = [line.split() for line in cli("runs").stdout.splitlines()[1:]]
    assert [line[:2] if line[0] == "└" else line[:1] for line in lines] == [
        ["another"],
        ["baseline"],
        ["└", "same"],
        ["└", "k-2"],
        ["└", "k-1"],
    ]
    assert lines[2][lines[2].index("at") :][:3] == ["at", "turn", "2"]
    listed = {one["name"]: (one["parent"], one["turn"]) for one in json.loads(cli("runs", "--json").stdout)}
    assert listed["same"] == (run.id, 2)
    assert listed["another"] == (None, None)


def test_the_command_gives_answers_from_words_and_files(cli: Cli, opened: Store, tmp_path: Path) -> None:
    mining(opened, name="baseline")
    (tmp_path / "said.json").write_text(PASSING)
    answers = ("--answer", 'miner-01={"claim": []}', "--answer", f"miner-02=@{tmp_path}/said.json")
    told = json.loads(cli("fork", "baseline", "--turn", "2", *answers, "--json").stdout)
    calls = {call.address.agent: call.reply for call in opened.calls.of_turn(told["run"], 2)}
    assert [calls[f"miner-0{n}"].text for n in (1, 2)] == ['{"claim": []}', PASSING]
    assert [calls[f"miner-0{n}"].player for n in (1, 2, 3)] == ["given", "given", "policy:guided"]


def test_forks_of_a_waiting_run_say_what_is_asked(cli: Cli, opened: Store) -> None:
    waits = on(opened, begin(opened, game("human")))
    asked = ("fork", waits.id, "--turn", str(waits.turns), "--times", "2", "--json")
    several = json.loads(cli(*asked).stdout)
    assert [one["waiting"] for one in several] == [waits.questions and several[0]["waiting"]] * 2


def test_of_several_forks_all_that_were_played_are_told_when_one_halts(cli: Cli, opened: Store) -> None:
    run = mining(opened)
    stopped = cli("fork", run.id, "--turn", "2", "--times", "2", "--max-calls", "1", "--json")
    assert isinstance(stopped.exception, HaltedRunError)
    told = json.loads(stopped.stdout)
    assert [one["halted"] for one in told] == ["turn 2: --max-calls 1 is reached"] * 2
    forks = [one for one in opened.figures.of_all_runs() if one["parent"] == run.id]
    assert [one["status"] for one in forks] == ["halted", "halted"], "both can be resumed"


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--turn", "9"), "can be forked at turns 0 to 3"),
    (("--turn", "4"), "the game is over by then; run "),
    (("--turn", "2", "--set", "rounds=2"), "with these settings the game is over by then"),
    (("--turn", "2", "--set", "rows=9"), "changes how the game begins"),
    (("--turn", "2", "--set", "nonsense=9"), "mining has no setting named nonsense"),
    (("--turn", "2", "--set", "immunity=-9"), "immunity"),
    (("--turn", "2", "--model", "policy:nobody"), "there is no policy 'nobody'"),
    (("--turn", "2", "--model", "policy:guided*2"), "does not add up to 3 agents"),
    (("--turn", "2", "--model", "openai:m"), "OPENAI_API_KEY"),
    (("--turn", "2", "--prompts", "nobody"), "has no variant 'nobody'"),
    (("--turn", "2", "--lang", "fr"), "has no language 'fr'"),
    (("--turn", "2", "--name", "baseline"), "the name 'baseline' is already in use"),
    (("--turn", "2", "--name", "k", "--times", "2"), "'k-2' is already in use"),
    (("--turn", "2", "--answer", "miner-01"), "write AGENT=TEXT, or AGENT=@FILE"),
    (("--turn", "2", "--answer", "miner-09={}"), "no such agent acts in turn 2"),
    (("--turn", "2", "--answer", "miner-01=I pass."), "there is no JSON object"),
    (("--turn", "2", "--answer", "miner-01=@no/such/file"), "cannot read no/such/file"),
    (("--turn", "2", "--answer", "miner-01={}", "--answer", "miner-01={}"), "given two answers"),
]


def test_a_million_forks_are_refused(cli: Cli, opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    mining(opened, name="baseline")
    monkeypatch.setattr(Runs, "new", lambda *_: pytest.fail("a fork is written"))
    refused = cli("fork", "baseline", "--turn", "2", "--times", "1000000")
    assert refused.exit_code == 2
    assert "--times': Input should be less than or equal to 1000" in refused.stderr


def test_others_can_write_between_forks(cli: Cli, opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fork is written in a transaction of its own: before each, another process writes at once."""
    mining(opened, name="baseline")
    new_run, waits = Runs.new, "pragma busy_timeout = 0"
    opened.db.execute(waits)

    def after_others(self: Runs, *new: Any) -> str:
        opened.runs.update(opened.runs.find("baseline").id, error="")
        return new_run(self, *new)

    monkeypatch.setattr(Runs, "new", after_others)
    cli("fork", "baseline", "--turn", "2", "--times", "3")
    assert len(opened.figures.of_all_runs()) == 4


def test_several_forks_end_with_a_tally_beside_their_parent(cli: Cli, opened: Store) -> None:
    parent = mining(opened, name="baseline")
    result = cli("fork", "baseline", "--turn", "2", "--times", "2").stdout
    told, head, *rows = result[result.index("2 runs: ") :].splitlines()
    assert told == "2 runs: 2 finished; the finished ones have 1 different digest"
    assert head.split() == ["figure", "parent", "least", "mean", "greatest", "runs"]
    figures = {row.split()[0]: row.split()[1:] for row in rows}
    score = str(json.loads(opened.runs.row(parent.id)["scores"])["miner-01"])
    assert figures["●miner-01"] == [score] * 4 + ["2"], "scripted policies answer alike"
    assert parent.world.measures.headline[0] in figures


@pytest.mark.parametrize(("asked", "wrong"), WRONG)
def test_what_cannot_be_forked_is_said_in_one_line(
    asked: tuple[str, ...], wrong: str, cli: Cli, opened: Store
) -> None:
    mining(opened, name="baseline")
    begin(opened, RunOptions("mining", name="k-2"))
    error = cli("fork", "baseline", *asked).exception
    assert isinstance(error, UsageError)
    assert wrong in str(error)
    assert "\n" not in str(error)
    assert len(opened.figures.of_all_runs()) == 2, "nothing was begun"
