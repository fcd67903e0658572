"""Whatever stands in a column of a home is told in one line, and all other rows are read as usual."""

import json
import random
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from typer.testing import CliRunner, Result

import hobbes
from hobbes.cli import app
from hobbes.errors import HobbesError
from hobbes.show.web.server import site
from tests.damage import (
    EXPERIMENT,
    FORK,
    OTHER,
    PROBE,
    STOPPED,
    TALK,
    WAITING,
    WHOLE,
    Damage,
    columns_of,
    spoil,
)
from tests.pages import LOCAL
from tests.soak import examples

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("runs",),
    ("runs", "--json"),
    ("runs", "--where", "gini>=0", "--sort", "score"),
    ("notes",),
    ("search", "the"),
    *(
        ("trace", *words)
        for words in ((WHOLE,), (WHOLE, "1"), (WHOLE, "1", "miner-01"), (TALK, "1", "unit-a"))
    ),
    *((command, run) for command in ("trace", "verify") for run in (WHOLE, FORK, STOPPED, WAITING, TALK)),
    ("replay", WHOLE),
    ("compare", WHOLE, OTHER),
    ("answer", WAITING),
    *(
        ("export", run, "--format", form, "--to", "out")
        for run in (WHOLE, TALK)
        for form in ("jsonl", "page")
    ),
    ("experiments",),
    ("report", EXPERIMENT),
    ("report", EXPERIMENT, "--json"),
    ("probe", "show"),
    ("probe", "show", PROBE),
    ("probe", "show", PROBE, "--json"),
    ("probe", "show", PROBE, "1", "recorded", "1"),
    ("fork", WHOLE, "--turn", "1"),
    ("resume", STOPPED),
)
"""The commands that read a home."""

PAGES = (
    *("/", "/search?q=the", f"/experiments/{EXPERIMENT}"),
    *(f"/{WHOLE}{of}" for of in ("", "/1", "/1.html", "/1/miner-01", "/diary")),
    *(f"/probes/{PROBE}", f"/compare?a={WHOLE}&b={OTHER}", f"/{FORK}", f"/{WAITING}", f"/{TALK}/1/unit-a"),
)
"""The pages that do."""

NESTED = "[" * 3_000
"""JSON that is nested too deep for Python."""

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=20),
    st.binary(max_size=20),
    st.just(NESTED),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    ).map(json.dumps),
)
"""What anybody may write into a column."""


@contextmanager
def copied(whole: Path) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        yield shutil.copytree(whole, Path(folder) / "home")


def cli(home: Path, *words: str) -> Result:
    """Call a command, which may exit as it likes; an error is one line for people."""
    to = str(home / "out")
    result = CliRunner().invoke(
        app, [*(to if word == "out" else word for word in words), "--home", str(home)]
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        told_in_one_line(result.exception)
    return result


def told_in_one_line(error: BaseException) -> None:
    """Raise what is no error for people, or is one in several lines."""
    if not isinstance(error, HobbesError):
        raise error
    assert "\n" not in str(error)


def read_in_python(home: Path) -> None:
    """Read all runs with the Python API."""
    try:
        with hobbes.open(home) as reader:
            for run in reader.runs():
                assert run.turns is not None
    except HobbesError as error:
        told_in_one_line(error)


def all_rows() -> st.SearchStrategy[tuple[float, int, object]]:
    """Which column, as a share of all, which row, and what stands in it."""
    return st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 2), VALUES)


@pytest.mark.filterwarnings("ignore:run ")
@settings(max_examples=examples(25, 20_000), deadline=None)
@given(where=all_rows(), reader=st.sampled_from([*COMMANDS, *PAGES, None]))
def test_whatever_stands_in_a_column_is_told_in_one_line(
    whole: Path, where: tuple[float, int, object], reader: Sequence[str] | None
) -> None:
    share, row, value = where
    columns = columns_of(whole)
    with copied(whole) as home:
        spoil(home, Damage(*columns[int(share * len(columns))], row, value))
        read_by(reader, home)


def read_by(reader: Sequence[str] | None, home: Path) -> None:
    """Read a home with a command, with a page, or in Python. It raises what is no error for people."""
    if reader is None:
        read_in_python(home)
    elif isinstance(reader, str):
        with TestClient(site(home, "127.0.0.1"), base_url=LOCAL) as visitor:
            visitor.get(reader)  # it raises what the page raises
    else:
        cli(home, *reader)


PAGE = 4096
"""The bytes of one of SQLite's pages."""


def overwritten(home: Path, at: int, damage: bytes) -> None:
    """Write other bytes into a run database."""
    content = bytearray((home / "runs.db").read_bytes())
    content[at : at + len(damage)] = damage
    (home / "runs.db").write_bytes(content)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("runs", ("runs",)),
        ("turns", ("trace", WHOLE)),
        ("calls", ("verify", WHOLE)),
        ("texts", ("trace", TALK, "1", "unit-a")),
        ("experiments", ("experiments",)),
        ("probes", ("probe", "show")),
        ("turns", ("search", "block")),
    ],
)
def test_a_damaged_page_is_one_line_that_says_what_to_do(
    whole: Path, table: str, words: tuple[str, ...]
) -> None:
    with copied(whole) as home:
        (home / "search.db").unlink()
        with closing(sqlite3.connect(home / "runs.db")) as db:
            ((page,),) = db.execute("select rootpage from sqlite_master where name = ?", [table])
        overwritten(home, (page - 1) * PAGE, bytes(PAGE))
        error = cli(home, *words)
        told = f"{error.exception} {error.stdout}"
    assert "runs.db is damaged: database disk image is malformed; put back an earlier copy of it" in told


@pytest.mark.filterwarnings("ignore:run ")
def test_damage_anywhere_in_the_run_database_is_told_in_one_line(whole: Path) -> None:
    rng = random.Random(1)  # noqa: S311  no secret
    pages = (whole / "runs.db").stat().st_size // PAGE
    for _ in range(examples(10, 5_000)):
        with copied(whole) as home:
            at = rng.randrange(1, pages) * PAGE + rng.choice([0, 8, rng.randrange(PAGE - 64)])
            overwritten(home, at, rng.randbytes(64))
            read_by(None, home)
            read_by(rng.choice([*COMMANDS, *PAGES]), home)


@pytest.mark.parametrize("value", [None, NESTED], ids=["null", "nested"])
@pytest.mark.parametrize("column", ["measures", "winners", "ratings"])
def test_a_report_leaves_out_a_damaged_row_and_has_all_others(
    whole: Path, column: str, value: str | None
) -> None:
    with copied(whole) as home:
        assert spoil(home, Damage("runs.db", "reported", column, 0, value))
        told = cli(home, "report", EXPERIMENT, "--json")
    assert f"the column reported.{column} is damaged" in told.stderr
    assert len(json.loads(told.stdout)["cells"]) == 8  # of nine


@pytest.mark.parametrize(
    ("table", "column", "words", "told"),
    [
        ("experiments", "file", ("report", EXPERIMENT), "experiment 'small': the column experiments.file"),
        ("plans", "plan", ("report", EXPERIMENT), "experiment 'small': the column plans.plan"),
        ("probes", "situations", ("probe", "show", PROBE), "probe 'asked': the column probes.situations"),
        ("probes", "columns", ("probe", "show", PROBE), "probe 'asked': the column probes.columns is"),
        ("probes", "times", ("probe", "show", PROBE), "probe 'asked': the column probes.times is damaged"),
        ("probe_answers", "answer", ("probe", "show", PROBE), "the column probe_answers.answer is damaged"),
        ("probe_answers", "outcome", ("probe", "show", PROBE), "the column probe_answers.outcome is"),
    ],
)
@pytest.mark.parametrize("value", [None, NESTED], ids=["null", "nested"])
def test_a_damaged_experiment_or_probe_is_named(  # noqa: PLR0913, PLR0917  parameters of the test
    whole: Path, table: str, column: str, words: tuple[str, ...], told: str, value: str | None
) -> None:
    if (column, value) in {("answer", NESTED), ("times", NESTED)}:
        return  # an answer is any text, and SQLite takes no text for a number
    with copied(whole) as home:
        assert spoil(home, Damage("runs.db", table, column, 0, value))
        assert told in str(cli(home, *words).exception)
        with TestClient(site(home, "127.0.0.1"), base_url=LOCAL) as visitor:
            assert visitor.get("/").status_code == 200


@pytest.mark.parametrize(("column", "value"), [("outcome", None), ("outcome", "x"), ("agent", "0")])
@pytest.mark.parametrize("words", [("trace", WHOLE), ("export", WHOLE, "--format", "page", "--to", "out")])
def test_a_damaged_call_is_named_where_calls_are_counted_too(
    whole: Path, column: str, value: str | None, words: tuple[str, ...]
) -> None:
    with copied(whole) as home:
        assert spoil(home, Damage("runs.db", "calls", column, 0, value))
        assert "damaged" in str(cli(home, *words).exception) or "was changed" in str(
            cli(home, *words).exception
        )
        listed = json.loads(cli(home, "runs", "--json").stdout)
        assert {WHOLE, OTHER, STOPPED} <= {one["name"] for one in listed}


@pytest.mark.parametrize("value", [None, "", "zz"])
def test_a_damaged_time_of_a_call_is_named_where_costs_are_added_up(whole: Path, value: str | None) -> None:
    with copied(whole) as home:
        with closing(sqlite3.connect(home / "runs.db")) as db:
            db.execute(
                "update calls set arrived = ? where run = (select id from runs where name = ?)", [value, TALK]
            )
            db.commit()
        assert "calls.arrived is damaged" in str(cli(home, "export", TALK, "--to", "out").exception)


def test_a_text_that_is_null_is_missing(whole: Path) -> None:
    with copied(whole) as home:
        with closing(sqlite3.connect(home / "runs.db")) as db:
            db.execute("update texts set text = null")
            db.commit()
        for words in (("probe", "show", PROBE), ("trace", TALK, "1", "unit-a"), ("verify", TALK)):
            assert "in the table texts" in str(cli(home, *words).exception)
        (home / "search.db").unlink()
        assert cli(home, "search", "block").exit_code == 0


@pytest.mark.parametrize(("column", "value"), [("agents", "[1]"), ("agents", "5"), ("id", "gone")])
def test_a_run_with_a_damaged_row_hides_no_text_of_another(whole: Path, column: str, value: str) -> None:
    with copied(whole) as home:
        (home / "search.db").unlink()
        assert spoil(home, Damage("runs.db", "runs", column, 0, value))
        found = json.loads(cli(home, "search", "claim", "--run", OTHER, "--json").stdout)
        assert found["total"]


def test_an_index_with_random_bytes_is_searched_or_made_anew(whole: Path) -> None:
    rng = random.Random(1)  # noqa: S311  no secret
    with copied(whole) as home:
        index = (home / "search.db").read_bytes()
        for _ in range(examples(30, 1_000)):
            damaged = bytearray(index)
            for at in rng.sample(range(len(index) - 8), rng.choice([1, 30])):
                damaged[at : at + 8] = rng.randbytes(8)
            (home / "search.db").write_bytes(damaged)
            assert cli(home, "search", "the").exit_code == 0
