"""`hobbes watch --probe`: situations are asked about after each save, each version of the prompt once."""

import asyncio
import json
import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from hobbes.errors import UsageError
from hobbes.nodes.caps import NO_CAPS, Caps
from hobbes.nodes.prompt_set import ROOT
from hobbes.play.render import question_in_run
from hobbes.play.start import RunOptions
from hobbes.probe.situations import ProbeFile, Situation, add, pick
from hobbes.probe.table import read_probe
from hobbes.probe.versions import Session
from hobbes.show.prompt_edits import Edits, News, Probed, show
from hobbes.store.home import Store
from tests.conftest import Cli
from tests.forking import Command
from tests.show.test_prompt_edits import save
from tests.small_probes import MODEL, Heeding, heeding
from tests.small_runs import played


@pytest.fixture(autouse=True)
def server() -> Iterator[Heeding]:
    with heeding() as found:
        yield found


@pytest.fixture
def situations(opened: Store, server: Heeding) -> list[Situation]:
    """Two situations of a duel that this model has played."""
    run = played(opened, RunOptions("trust", 2, models=MODEL, values={"rounds": 4}, name="duel"))
    server.asked.clear()
    return [*pick(opened, run, (1, 2), ["unit-a"], None)]


@pytest.fixture
def system(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "trust" / "plain", tmp_path / "mine")
    return tmp_path / "mine" / "system.en.md"


def session(store: Store, about: list[Situation], system: Path, caps: Caps = NO_CAPS) -> Session:
    asked = ProbeFile(situation=about, prompts=[str(system.parent)], name="watched", times=2)
    return Session(store, asked, caps, lambda *_: nullcontext(lambda: None))


def watched(
    store: Store, asked: Session, about: Situation, system: Path, texts: list[str]
) -> list[dict[str, Any]]:
    """Return what the probe says at first, and after each save of a text; the next waits until it has."""
    shown: list[Probed] = []

    async def follow() -> None:
        answered = asyncio.Event()

        def show(new: News) -> None:
            if isinstance(new, Probed):
                shown.append(new)
                answered.set()

        async def saves() -> AsyncIterator[None]:
            yield
            for text in texts:
                await answered.wait()
                answered.clear()
                save(system, text)
                yield

        run = store.runs.find(about.run)
        question = question_in_run(store, run, about.turn, about.agent, variant=str(system.parent))
        await Edits(question, show, asked.ask).follow(saves())

    asyncio.run(follow())
    return [one.to_json() for one in shown]


def columns(told: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the columns of a probe, with the number of their answers."""
    return [(Path(one["column"]).name, one["answers"]) for one in told["probe"]["columns"]]


def test_each_save_asks_only_about_what_is_new(
    opened: Store, situations: list[Situation], system: Path, server: Heeding
) -> None:
    text = system.read_text(encoding="utf-8")
    peaceful, comment, other = (
        f"{text}\nBe peaceful.\n",
        f"{text}\nBe peaceful.{{# soft #}}\n",
        f"{text}\nWin.\n",
    )
    told = watched(
        opened,
        session(opened, situations, system),
        situations[0],
        system,
        [peaceful, comment, other, peaceful, text],
    )
    own, mine, second = ("recorded", 4), ("mine", 4), ("mine v2", 4)
    assert [columns(one) for one in told] == [[own], [own, mine], [own, mine], *3 * [[own, mine, second]]]
    assert len(server.asked) == len({*server.asked}) == 3 * 4
    (attack,) = (
        one
        for one in told[-1]["probe"]["differences"]
        if (one["act"], columns(told[1])[1][0]) == ("attack", "mine") and one["column"] == str(system.parent)
    )
    assert attack["now"] < attack["before"]
    assert told[-1]["probe"] == read_probe(opened, "watched").to_json()


def test_the_caps_hold_for_all_saves_together_and_not_for_what_was_asked_before(
    opened: Store, situations: list[Situation], system: Path, server: Heeding
) -> None:
    text = system.read_text(encoding="utf-8")
    first, second = f"{text}\nBe peaceful.\n", f"{text}\nWin.\n"
    asked = session(opened, situations, system, Caps(calls=9))
    told = watched(opened, asked, situations[0], system, [first, second, text])
    problems = [one["error"] for one in told]
    assert problems == [None, None, "--max-calls 9 is reached", None]
    assert columns(told[2]) == [("recorded", 4), ("mine", 4), ("mine v2", 1)]
    assert len(server.asked) == 9
    system.write_text(second, encoding="utf-8")
    again = session(opened, situations, system, Caps(calls=3))
    (one,) = watched(opened, again, situations[0], system, [])
    assert (one["error"], columns(one)[-1]) == (None, ("mine v2", 4))
    assert max(Counter(server.asked).values()) == 1


def test_what_cannot_be_asked_after_a_save_is_said_and_the_watching_goes_on(
    opened: Store, situations: list[Situation], system: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file that breaks is one that only the second situation needs: the view has a name only there."""
    text = system.read_text(encoding="utf-8")
    turn = system.with_name("turn.en.md")
    asked = session(opened, situations, system)
    turn.write_text("{{ 1 // (view.turn - 2) }}\n{{ view }}", encoding="utf-8")
    (broken,) = watched(opened, asked, situations[0], system, [])
    assert "integer division or modulo by zero" in broken["error"]
    assert broken["probe"] is None
    turn.write_text("{{ view }}", encoding="utf-8")
    (mended,) = watched(opened, asked, situations[0], system, [])
    assert (mended["error"], columns(mended)) == (None, [("recorded", 4), ("mine", 4)])
    system.write_text(text, encoding="utf-8")
    show(Probed(0, asyncio.run(asked.ask())))
    assert "Situations" in capsys.readouterr().out


def test_ctrl_c_ends_it(
    opened: Store, situations: list[Situation], system: Path, tmp_path: Path, process: Callable[..., Command]
) -> None:
    file = tmp_path / "situations.toml"
    for one in situations:
        add(file, one)
    file.write_text(f"times = 1\n{file.read_text()}", encoding="utf-8")
    watching = process("watch", "trust", "--prompts", str(system.parent), "--probe", str(file), "--json")

    def until(answers: list[tuple[str, int]]) -> dict[str, Any]:
        assert watching.stdout
        while True:
            new = json.loads(watching.stdout.readline())
            if "probe" in new and columns(new) == answers:
                return dict(new)

    until([("recorded", 2)])
    system.write_text("Be peaceful.", encoding="utf-8")
    last = until([("recorded", 2), ("mine", 2)])
    watching.send_signal(signal.SIGINT)
    assert watching.wait() == 0
    assert watching.stdout.read() == ""  # the table has been printed
    assert read_probe(opened, "situations").to_json() == last["probe"]


def test_what_has_arrived_since_the_last_table_is_told_at_the_end_and_nothing_twice(
    opened: Store, situations: list[Situation], system: Path
) -> None:
    asked = session(opened, situations, system)
    assert asked.news() is None
    asyncio.run(asked.ask())
    assert asked.news() is None
    system.write_text("Be peaceful.", encoding="utf-8")
    asyncio.run(session(opened, situations, system).ask())
    told = asked.news()
    assert told
    assert [one.answers for one in told.columns] == [4, 4]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--turn", "3"), "--probe takes situations from its file"),
        (("--set", "miss=3"), "--probe takes situations from its file"),
        (("--prompts", "plain,survivor"), "--probe needs the one prompt that you edit"),
        (("--prompts", "plain", "--model", "policy:random"), "a probe needs a model"),
        (("--prompts", "./nowhere"), "nowhere: there is no such folder"),
        ((), "--probe needs the one prompt that you edit"),
    ],
)
def test_what_cannot_be_watched_is_one_line(
    situations: list[Situation], tmp_path: Path, cli: Cli, more: tuple[str, ...], told: str
) -> None:
    file = tmp_path / "situations.toml"
    add(file, situations[0])
    refused = cli("watch", "trust", "--probe", str(file), *more).exception
    assert isinstance(refused, UsageError)
    assert told in str(refused)
    assert "\n" not in str(refused)


def test_a_file_without_situations_is_refused_in_one_line(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "situations.toml"
    file.write_text('name = "none"\n', encoding="utf-8")
    refused = cli("watch", "trust", "--probe", str(file), "--prompts", "plain").exception
    assert str(refused).startswith(f"{file} has no situation; `hobbes probe add RUN TURN AGENT --to ")
