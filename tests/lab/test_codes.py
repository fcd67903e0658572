"""Codes: codebooks, coders that are models and people, their agreement, and codes as measures."""

import json
import random
import re
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from html import unescape
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import hobbes
from hobbes.lab.coding.agreement import alpha, interval
from hobbes.lab.coding.questions import question, read_codebook
from hobbes.lab.errors import HaltedRunError, LabError, MissingError, UsageError
from hobbes.lab.play.playing import RunOptions
from hobbes.lab.show.exporting import export
from hobbes.lab.store.codings import codings, queues, still_to_code
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run
from tests.conftest import Cli
from tests.lab.coder import CODES, WordCoder, word_coder
from tests.lab.play import played
from tests.lab.test_experiments import planned, play_all, written
from tests.lab.visiting import LOCAL, Form

MODELS = "policy:tit-for-tat-raid*2,policy:guided*1,policy:raider*1"


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    """A codebook."""
    path = tmp_path / "codes.toml"
    path.write_text(CODES, encoding="utf-8")
    return path


@pytest.fixture
def run(opened: Store) -> Run:
    """A run of mining in which agents raid, and say why."""
    return played(opened, RunOptions("mining", 4, 3, MODELS, values={"rounds": 4}, name="a"))


def coded(cli: Cli, codes: Path, *words: str, run: str = "a") -> dict[str, Any]:
    """Let a model code a run, and return what its codings say."""
    result = cli("code", run, "--codes", str(codes), "--model", "openai:m", "--yes", *words, "--json")
    assert result.exit_code == 0, result.exception
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def error_of(cli: Cli, *words: str) -> LabError:
    error = cli(*words).exception
    assert isinstance(error, LabError), error
    return error


# --- codebooks and questions


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no codes"),
        ("[fear]", r"fear\.definition: Field required"),
        ("[fear]\ndefinition = ''", r"fear\.definition: String should have at least 1 character"),
        ("[fear]\ndefinition = 'x'\nsample = 'x'", r"fear\.sample: Extra inputs"),
        ("['no name']\ndefinition = 'x'", "'no name' is not a name of a code"),
        ("fear = 1", "fear: Input should be a valid dictionary"),
    ],
)
def test_a_codebook_that_is_wrong_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "codes.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=told) as caught:
        read_codebook(path)
    assert "\n" not in str(caught.value)


def test_a_coder_is_shown_the_codes_and_what_the_agent_was_told_thought_and_answered(
    opened: Store, run: Run, codes: Path
) -> None:
    (call,) = opened.calls.of_turn(run.id, 2, "miner-01")
    system, turn = question(read_codebook(codes), call)
    assert "- fear: The agent expects to be raided" in system
    assert '  Example: "If I do not defend, miner-03 will take it."' in system
    assert '{"fear": true|false, "revenge": true|false}' in system
    told, rest = turn.split("# Its reasoning\n")
    reasoning, answer = rest.split("# Its answer\n")
    assert call.prompt.turn in told
    assert reasoning.strip() == call.reply.reasoning
    assert call.reply.text in answer


# --- models


def test_each_decision_is_coded_so_often_and_nothing_is_asked_twice(
    cli: Cli, opened: Store, run: Run, codes: Path
) -> None:
    before = "\n".join(opened.db.conn.iterdump())
    with word_coder() as coder:
        words = ("--codes", str(codes), "--model", "openai:m", "--times", "2", "--yes")
        error = error_of(cli, "code", "a", *words, "--max-calls", "5")
        assert isinstance(error, HaltedRunError)
        assert "--max-calls 5 is reached; the same command goes on with the coding" in str(error)
        assert len(coder.asked) == 5
        told = coded(cli, codes, "--times", "2")
        assert coded(cli, codes, "--times", "2") == told
        decisions = [f"{one.turn}/{one.agent}" for one in opened.calls.decisions(run.id)]
        assert sorted(coder.asked) == sorted(f"{one}/{n}" for one in decisions for n in (1, 2))
    assert told["coders"] == [
        {"coder": "openai:m", "decisions": 16, "codings": 32, "failed": 0, "tokens": 32 * 110, "usd": None}
    ]
    assert "\n".join(opened.db.conn.iterdump()) == before, "the run stays as it was"


def test_a_coding_is_kept_like_a_call(cli: Cli, opened: Store, run: Run, codes: Path) -> None:
    with word_coder():
        coded(cli, codes, "--turns", "2", "--agents", "miner-01")
    (one,) = codings(opened)
    (call,) = opened.calls.of_turn(run.id, 2, "miner-01")
    assert one.call.prompt == question(read_codebook(codes), call)
    assert json.loads(one.call.reply.text) == one.values
    assert (one.call.reply.tokens_in, one.call.reply.tokens_out) == (100, 10)
    assert (one.coder, one.decision, one.number) == ("openai:m", (run.id, 2, "miner-01"), 1)


def test_an_answer_that_cannot_be_read_is_missing(cli: Cli, opened: Store, run: Run, codes: Path) -> None:
    del run
    with word_coder(WordCoder(broken=frozenset({"2/miner-01/1"}))) as coder:
        told = coded(cli, codes, "--turns", "2")
        coded(cli, codes, "--turns", "2")
        assert len(coder.asked) == 4, "it is not asked again: this was its answer"
    assert told["coders"][0]["failed"] == 1
    (broken,) = (one for one in codings(opened) if one.decision.agent == "miner-01")
    assert broken.values == {"fear": None, "revenge": None}
    assert [one["decisions"] for one in told["shares"] if not one["act"]] == [3, 3]


def test_costs_are_told_first(cli: Cli, run: Run, codes: Path, opened: Store) -> None:
    del run
    words = ("code", "a", "--codes", str(codes), "--model", "openai:m")
    with word_coder() as coder:
        before = json.loads(cli(*words, "--dry-run", "--json").stdout)
        assert not coder.asked
        assert not codings(opened)
        assert (before["decisions"], before["calls"], before["tokens"]["out"], before["usd"]) == (
            *(16, 16),
            *(None, None),
        )
        assert "this costs money, or an unknown sum" in str(error_of(cli, *words))
        coded(cli, codes, "--turns", "0")
        after = json.loads(cli(*words, "--dry-run", "--json").stdout)
    assert (after["calls"], after["tokens"]["out"]) == (12, 120)
    assert 0 < after["tokens"]["in"] < before["tokens"]["in"]


def test_a_changed_codebook_is_asked_anew_and_not_mixed(
    cli: Cli, opened: Store, run: Run, codes: Path
) -> None:
    with word_coder() as coder:
        first = coded(cli, codes, "--turns", "0")
        codes.write_text(CODES.replace("to be safe", "to be safe at once"), encoding="utf-8")
        second = coded(cli, codes, "--turns", "1")
        assert len(coder.asked) == 8
    assert first["codebook"] != second["codebook"]
    assert [one["coder"] for one in second["coders"]] == ["openai:m"]
    assert second["coders"][0]["decisions"] == 4
    assert [one["decisions"] for one in second["shares"] if not one["act"]] == [4, 4]
    codes.write_text(CODES, encoding="utf-8")
    again = json.loads(cli("codes", "a", "--codes", str(codes), "--json").stdout)
    assert again == first, "the codings by the first codebook are still there"
    assert {one.decision.turn for one in codings(opened, codebook=second["codebook"], run=run.id)} == {1}


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name who codes"),
        (("--model", "openai:m", "--as", "ada"), "name who codes"),
        (("--model", "policy:guided"), "only a chat model can code"),
        (("--model", "openai:m", "--turns", "9"), "has no turn"),
        (("--model", "openai:m", "--agents", "nobody"), "there is no such decision"),
        (("--as", "a/b"), "--as 'a/b': write letters"),
        (("--model", "openai:m", "--max-usd", "1"), "--max-usd needs the price of openai:m"),
        (("--as", "ada", "--experiment", "none"), "there is no experiment 'none'"),
    ],
)
def test_what_cannot_be_coded_is_refused(
    cli: Cli, opened: Store, codes: Path, words: Sequence[str], told: str
) -> None:
    with word_coder():
        error = error_of(cli, "code", "a", "--codes", str(codes), *words)
    assert isinstance(error, UsageError)
    assert told in str(error)
    assert not codings(opened)
    assert not queues(opened)


def test_without_the_library_of_alpha_nothing_is_asked(
    cli: Cli, run: Run, codes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del run
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    with word_coder() as coder:
        error = error_of(cli, "code", "a", "--codes", str(codes), "--model", "openai:m", "--yes")
        assert not coder.asked
    assert "agreement needs krippendorff; install it in the checkout" in str(error)


def test_without_codings_the_command_says_how_to_begin(cli: Cli, run: Run) -> None:
    del run
    error = error_of(cli, "codes", "a")
    assert isinstance(error, MissingError)
    assert "`hobbes code RUN --codes codes.toml --model openai:NAME`" in str(error)


# --- agreement


def textbook_alpha(units: Sequence[Sequence[int]]) -> float:
    """Krippendorff's alpha as in his paper: from pairs of values, 1 - (n - 1) * observed / expected."""
    pairable = [values for values in units if len(values) > 1]
    pairs = defaultdict[tuple[int, int], float](float)
    for values in pairable:
        for one, other in permutations(range(len(values)), 2):
            pairs[values[one], values[other]] += 1 / (len(values) - 1)
    totals = Counter(value for values in pairable for value in values)
    n = totals.total()
    observed = sum(share for (one, other), share in pairs.items() if one != other)
    expected = sum(totals[a] * totals[b] for a, b in permutations(totals, 2))
    return 1 - (n - 1) * observed / expected


def counts_of(units: Sequence[Sequence[int]], values: int) -> list[list[int]]:
    return [[list(of_one).count(value) for value in range(values)] for of_one in units if len(of_one) > 1]


BINARY = [(0, 1), (1, 1), (0, 1), (0, 0), (0, 0), (0, 1), (0, 0), (0, 0), (1, 0), (0, 0)]
"""Section A of Krippendorff (2011): two observers, ten units, two values."""

FOUR_OBSERVERS = [
    *([0, 0, 0], [1, 1, 2, 1], [2, 2, 2, 2], [2, 2, 2, 2], [1, 1, 1, 1], [0, 1, 2, 3]),
    *([3, 3, 3, 3], [0, 0, 1, 0], [1, 1, 1, 1], [4, 4, 4], [0, 0], [2]),
]
"""Section C: four observers, twelve units, five values, of which some are missing."""


def test_alpha_is_that_of_krippendorffs_worked_examples() -> None:
    assert alpha(counts_of(BINARY, 2)) == pytest.approx(0.095, abs=0.0005)
    assert alpha(counts_of(FOUR_OBSERVERS, 5)) == pytest.approx(0.743, abs=0.0005)
    for units, values in ((BINARY, 2), (FOUR_OBSERVERS, 5)):
        assert alpha(counts_of(units, values)) == pytest.approx(textbook_alpha(units))


def test_alpha_and_its_interval_are_those_of_an_independent_program() -> None:
    draw = random.Random(1)  # noqa: S311  a test
    for share, same in ((0.5, 0.9), (0.2, 0.8), (0.5, 0.0)):
        units = []
        for _ in range(60):
            true = int(draw.random() < share)
            coders = range(draw.choice((2, 3)))
            units.append([true if draw.random() < same else draw.randint(0, 1) for _ in coders])
        counts = counts_of(units, 2)
        assert alpha(counts) == pytest.approx(textbook_alpha(units))
        again = sorted(textbook_alpha(draw.choices(units, k=len(units))) for _ in range(2_000))
        assert interval(counts) == pytest.approx((again[49], again[1949]), abs=0.04)


def test_alpha_is_undefined_where_nobody_ever_differs_from_anybody() -> None:
    assert alpha([(2, 0)] * 5) is None
    assert alpha([]) is None
    assert interval([(2, 0)] * 5) == interval([]) == (None, None)


# --- people


def answer(pages: TestClient, coder: str, **said: str) -> Any:
    """Answer the card that the page of a coder shows."""
    form = Form(pages.get(f"/codes/{coder}").text).fields
    fields = {**form, **{f"code:{name}": value for name, value in said.items()}}
    return pages.post(f"/codes/{coder}", data=fields, headers={"origin": LOCAL}, follow_redirects=False)


def test_a_person_codes_a_blind_queue_and_is_then_compared_with_the_model(
    cli: Cli, opened: Store, run: Run, codes: Path, pages: TestClient
) -> None:
    with word_coder():
        coded(cli, codes, "--times", "2")
    assert (
        "4 decisions for ada, on the page /codes/ada"
        in cli("code", "a", "--codes", str(codes), "--as", "ada", "--turns", "2").stdout
    )
    order = opened_queue(opened)
    for place, decision in enumerate(order, start=1):
        page = pages.get("/codes/ada").text
        assert f"Decision {place} of 4" in page
        assert run.id not in page
        assert "openai:m" not in page
        assert f"{place - 1} coded" in page
        assert " checked>" not in page
        (call,) = opened.calls.of_turn(*decision)
        assert call.reply.reasoning in page
        assert answer(pages, "ada", fear="yes", revenge="no").headers["location"] == "/codes/ada"
    assert "Done: 4 decisions coded" in pages.get("/codes/ada").text
    mine = codings(opened, coder="ada")
    assert {one.decision for one in mine} == {*order}
    assert all(one.values == {"fear": True, "revenge": False} for one in mine)
    told = json.loads(cli("codes", "a", "--json").stdout)
    model = {one.decision.agent: one for one in codings(opened, coder="openai:m") if one.decision.turn == 2}
    differ = [agent for agent, one in model.items() if not one.values["fear"]]
    found = [one for one in told["disagreements"] if one["code"] == "fear"]
    assert [one["agent"] for one in found] == sorted(differ)
    assert found[0]["values"] == [
        {"name": "ada", "number": 1, "value": True},
        {"name": "openai:m", "number": 1, "value": False},
        {"name": "openai:m", "number": 2, "value": False},
    ]
    groups = [tuple(one["name"] for one in of["coders"]) for of in told["agreement"] if of["code"] == "fear"]
    assert groups == [
        *[("ada", "openai:m")] * 2,
        ("openai:m", "openai:m"),
        ("ada", "openai:m", "openai:m"),
    ]
    listed = pages.get("/codes").text
    assert f'href="/{run.id}/2/{differ[0]}"' in listed
    assert "4 of 4 decisions coded" in listed
    shown = cli("codes").stdout
    assert f"fear {run.id} 2 {differ[0]} ada: yes" in re.sub(r"\s+", " ", shown)


def opened_queue(store: Store) -> tuple[Any, ...]:
    (queue,) = queues(store)
    return queue.decisions


def test_a_code_may_be_changed_later_and_none_may_be_left_out(
    cli: Cli, opened: Store, run: Run, codes: Path, pages: TestClient
) -> None:
    del run
    cli("code", "a", "--codes", str(codes), "--as", "ada", "--turns", "2")
    refused = answer(pages, "ada", fear="yes")
    assert refused.status_code == 400
    assert "there is none for revenge" in refused.text
    assert codings(opened) == []
    answer(pages, "ada", fear="yes", revenge="no")
    before = pages.get("/codes/ada?at=1").text
    assert before.count(" checked>") == 2
    form = {**Form(before).fields, "code:revenge": "yes"}
    pages.post("/codes/ada", data=form, headers={"origin": LOCAL})
    (one,) = codings(opened)
    assert one.values == {"fear": True, "revenge": True}
    wrong = {**form, "token": "wrong"}
    assert pages.post("/codes/ada", data=wrong, headers={"origin": LOCAL}).status_code == 400
    assert pages.get("/codes/ada?at=5").status_code == 404
    assert pages.get("/codes/bob").status_code == 404


# --- cards


def test_a_card_says_who_found_which_codes_once_nobody_must_code_it_blindly(
    cli: Cli, opened: Store, run: Run, codes: Path, pages: TestClient
) -> None:
    words = ("--codes", str(codes), "--turns", "2", "--agents", "miner-01")

    def card() -> tuple[str, str, Any]:
        trace = ("trace", "a", "2", "miner-01")
        page, printed = pages.get(f"/{run.id}/2/miner-01").text, cli(*trace).stdout
        told = json.loads(cli(*trace, "--json").stdout)["codes"]
        shown = unescape(re.sub(r"<[^>]+>", "", page))
        return shown, " ".join(printed.partition("── raw")[0].split()), told

    page, printed, told = card()
    assert ("codes:" in page, "codes" in printed, told) == (False, False, [])
    with word_coder():
        cli("code", "a", *words, "--model", "openai:m", "--times", "2", "--yes")
    (call,) = opened.calls.of_turn(run.id, 2, "miner-01")
    fear = "defend" in call.reply.reasoning + call.reply.text
    found = "yes" if fear else "no"
    page, printed, told = card()
    for text in (page, printed):
        assert f"fear (openai:m: {found}, openai:m (2): {found}); revenge (openai:m: " in text
    by_model = [{"name": "openai:m", "number": number, "value": fear} for number in (1, 2)]
    assert told[0] == {"code": "fear", "values": by_model}

    cli("code", "a", *words, "--as", "ada")
    page, printed, told = card()
    for text in (page, printed):
        assert "hidden (ada must code this decision first)" in text
        assert "openai:m: " not in text
    assert told is None

    answer(pages, "ada", fear="yes", revenge="no")
    page, printed, told = card()
    for text in (page, printed):
        assert f"fear (ada: yes, openai:m: {found}, openai:m (2): {found}); revenge (ada: no, " in text
    assert told[0]["values"] == [{"name": "ada", "number": 1, "value": True}, *by_model]

    codes.write_text(CODES.replace("to be safe", "to be safe at once"), encoding="utf-8")
    with word_coder():
        cli("code", "a", *words, "--model", "openai:m", "--yes")
    _, _, told = card()
    assert told[0]["values"] == by_model[:1], "codes of two codebooks are not mixed"


@pytest.mark.parametrize("by", ["command", "button"])
def test_what_is_given_up_hides_no_codes_any_more(  # noqa: PLR0913, PLR0917  fixtures
    cli: Cli, opened: Store, run: Run, codes: Path, pages: TestClient, by: str
) -> None:
    """What was coded before stays, in the queue, too; the command that made the queue puts the rest back."""
    words = ("code", "a", "--codes", str(codes), "--as", "ada", "--turns", "2")
    cli(*words)
    first, *rest = opened_queue(opened)
    answer(pages, "ada", fear="yes", revenge="no")
    hidden = still_to_code(opened, run.id)
    assert {*hidden} == {*rest}
    if by == "command":
        told = json.loads(cli("code", "--as", "ada", "--give-up", "--json").stdout)
        assert told == {"coder": "ada", "decisions": len(rest)}
    else:
        form = Form(pages.get("/codes").text).fields
        gone = pages.post("/codes/ada/give-up", data=form, headers={"origin": LOCAL}, follow_redirects=False)
        assert gone.headers["location"] == "/codes"
    assert not still_to_code(opened, run.id)
    assert opened_queue(opened) == (first,)
    assert len(codings(opened, coder="ada")) == 1
    assert "give up" not in pages.get("/codes").text
    cli(*words)
    assert {*still_to_code(opened, run.id)} == {*rest}


@pytest.mark.usefixtures("opened")
def test_only_a_person_can_give_up_a_queue(cli: Cli, codes: Path, pages: TestClient) -> None:
    for words in (("--model", "openai:m"), ("--as", "ada", "--codes", str(codes)), ("a", "--as", "ada")):
        assert "give --as alone" in str(error_of(cli, "code", "--give-up", *words))
    assert "0 decisions" in cli("code", "--as", "nobody", "--give-up").stdout
    assert "name the codebook" in str(error_of(cli, "code", "a", "--as", "ada"))
    assert (
        pages.post("/codes/ada/give-up", data={"token": "guess"}, headers={"origin": LOCAL}).status_code
        == 400
    )


# --- tables


def test_codes_are_exported_and_stand_beside_calls_in_python(  # noqa: PLR0913, PLR0917  fixtures
    cli: Cli, opened: Store, run: Run, codes: Path, home: Path, tmp_path: Path
) -> None:
    with word_coder(WordCoder(broken=frozenset({"2/miner-02/1"}))):
        coded(cli, codes, "--turns", "2")
    export(opened, run, "jsonl", tmp_path / "jsonl")
    lines = [json.loads(line) for line in (tmp_path / "jsonl" / "codings.jsonl").read_text().splitlines()]
    found = {(one.decision.agent, code): v for one in codings(opened) for code, v in one.values.items()}
    assert {(one["agent"], one["code"]): one["value"] for one in lines} == found
    with hobbes.open(home) as reader:
        calls = reader.calls()
        assert len(reader.calls([])) == 0
    there = calls[calls["code:fear openai:m"].notna()]
    assert {*there["turn"]} == {2}
    values = dict(zip(there["agent"], there["code:fear openai:m"].astype(float), strict=True))
    assert values == {
        agent: float(v) for (agent, code), v in found.items() if code == "fear" and v is not None
    }
    assert len(calls) == 16
    with closing(sqlite3.connect(home / "notes.db")) as connection:
        rows = connection.execute("select code, sum(value) from codes group by 1").fetchall()
    assert dict(rows) == {
        code: sum(bool(v) for (_, name), v in found.items() if name == code) for code in ("fear", "revenge")
    }


# --- measures

STUDY = """
name = "small"
world = "mining"
rounds = 4
agents = 4
seeds = 2
model = "policy:tit-for-tat-raid*2,policy:guided*1,policy:raider*1"
set = { rows = 4, cols = 4 }

[arms.open]

[arms.immune]
set = { immunity = 3 }

[compare]
measures = ["raid_rate", "code:fear", "code:revenge|raid", "code:revenge|not raid"]
coder = "openai:m"
"""


def by_hand(home: Path, run: str, code: str, *, raid: bool | None = None) -> float | None:
    """The share of decisions with a code: of all, or of those that raid, or of those that do not."""
    with hobbes.open(home) as reader:
        found = reader.run(run)
        values = []
        for one in found.table("codings").itertuples():
            actions = found.turn(one.turn).agent(one.agent).intent["actions"]
            raids = any(action["kind"] == "raid" for action in actions)
            if one.code == code and one.value in {True, False} and raid in {None, raids}:
                values.append(bool(one.value))
        return sum(values) / len(values) if values else None


def test_codes_are_measures_of_an_experiment(cli: Cli, opened: Store, codes: Path, home: Path) -> None:
    path = written(codes.parent, STUDY)
    play_all(opened, path)
    before = json.loads(cli("report", "small", "--json").stdout)
    assert before["arms"]["open"]["measures"]["code:fear"]["mean"] is None
    assert before["codes"] == {"coder": "openai:m", "decisions": 96, "coded": {"fear": 0, "revenge": 0}}
    with word_coder(WordCoder(broken=frozenset({"1/miner-01/1"}))):
        words = ("--experiment", "small", "--codes", str(codes), "--model", "openai:m", "--yes", "--json")
        told = json.loads(cli("code", *words).stdout)
    assert told["coders"][0]["decisions"] == 96
    report = json.loads(cli("report", "small", "--json").stdout)
    assert report["codes"]["coded"] == {"fear": 90, "revenge": 90}, "one answer of each run cannot be read"
    conditions: dict[str, dict[str, Any]] = {
        "code:fear": {"code": "fear"},
        "code:revenge|raid": {"code": "revenge", "raid": True},
        "code:revenge|not raid": {"code": "revenge", "raid": False},
    }
    for arm in ("open", "immune"):
        for measure, condition in conditions.items():
            values = [by_hand(home, f"small.{arm}.{seed}", **condition) for seed in (1, 2)]
            known = [value for value in values if value is not None]
            mean = pytest.approx(sum(known) / len(known), abs=1e-9) if known else None
            assert report["arms"][arm]["measures"][measure]["mean"] == mean, measure
            assert report["arms"][arm]["measures"][measure]["n"] == len(known)
    assert any(one["measure"] == "code:revenge|raid" and one["mean"] for one in report["differences"])
    shown = " ".join(cli("report", "small").stdout.split())
    assert (
        "in which openai:m found the code. Decisions with a value: fear 90 of 96, revenge 90 of 96" in shown
    )
    with_raid = [one for one in told["shares"] if (one["code"], one["act"]) == ("revenge", "raid")]
    assert [one["decisions"] + one["others"] for one in with_raid] == [90]


@pytest.mark.parametrize(
    ("line", "other", "told"),
    [
        ('coder = "openai:m"', "", r"code:fear needs a coder; name one as \[compare\] coder"),
        ('"code:fear"', '"code:"', "'code:' names no code"),
    ],
)
def test_a_measure_of_a_code_names_a_code_and_has_a_coder(
    opened: Store, tmp_path: Path, line: str, other: str, told: str
) -> None:
    path = written(tmp_path, STUDY.replace(line, other))
    with pytest.raises(UsageError, match=told):
        planned(opened, path)
