"""The commands on the pages: the one that shows the same, and those that go on from a turn."""

import re
import shlex
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hobbes.play.start import RunOptions
from hobbes.show.exports import export
from hobbes.show.web.server import PAGES
from hobbes.store.home import Store
from hobbes.store.notes import Place
from tests.conftest import Cli
from tests.small_runs import mining, played

TURN, AGENT = 2, "miner-02"


def doing(page: str) -> dict[str, list[str]]:
    """Return the words of each command that goes on from a turn, by what it does."""
    found = re.findall(r"<p>([^<]*): <code>hobbes (.*?)</code>", page)
    return {what: shlex.split(unescape(command)) for what, command in found}


@pytest.mark.parametrize("address", ["{run}/2.html", "{run}/2/miner-02"])
def test_a_turn_and_a_card_have_the_commands_that_go_on_from_there(  # noqa: PLR0913, PLR0917  fixtures
    address: str, opened: Store, pages: TestClient, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is run as it stands: a fork in which nothing changes ends as its parent did."""
    run = mining(opened)
    opened.runs.update(run.id, name="our village")
    monkeypatch.chdir(tmp_path)
    commands = doing(pages.get(address.format(run=f"/{run.id}")).text)
    assert {"pin as a test", "write a note", "save as a page", "save as a moving picture"} < set(commands)
    for words in commands.values():
        done = cli(*words)
        assert done.exit_code == 0, done.exception
    (fork,) = opened.runs.forks(run.id)
    assert (opened.runs.find(fork["id"]).digest, fork["turn"]) == (run.digest, TURN)
    assert (tmp_path / "tests" / "test_our_village_2.py").exists()
    agent = AGENT if address.endswith(AGENT) else None
    assert [(note.place, note.note) for note in opened.notes.of(run.id)] == [
        (Place(run.id, TURN, agent), "TEXT")
    ]
    assert f'href="/{run.id}#{TURN}"' in pages.get(f"/{fork['id']}").text
    assert f'href="/{fork["id"]}"' in pages.get(f"/{run.id}").text


def test_a_page_in_a_file_has_no_commands_of_the_home_that_they_left(opened: Store, tmp_path: Path) -> None:
    export(opened, mining(opened), "page", tmp_path / "run.html")
    assert "<code>hobbes " not in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_the_pages_are_read_only(opened: Store, pages: TestClient, home: Path) -> None:
    """No address takes anything, and visits write nothing."""
    run = mining(opened)
    before = (home / "runs.db").read_bytes()
    for address in PAGES:
        names = {"run": run.id, "agent": AGENT, "name": "small"}
        there = re.sub(r"{turn[^}]*}", str(TURN), address).format(**names)
        pages.get(there)
        for send in (pages.post, pages.put, pages.delete):
            assert send(there).status_code == 405, there
        assert 'method="post"' not in pages.get(there).text
    assert (home / "runs.db").read_bytes() == before
    assert len(list(opened.figures.of_all_runs())) == 1


def test_each_page_says_the_command_that_shows_the_same(
    opened: Store, home: Path, pages: TestClient, cli: Cli
) -> None:
    """Each is played as it stands, in the home of the pages."""
    run = played(opened, RunOptions("nations", 3, values={"rounds": 3}, name="war"))
    other = mining(opened)
    also = mining(opened)
    commands = {
        "/": "runs",
        f"/{run.id}": "trace war",
        f"/{run.id}/1.html": "trace war 1",
        f"/{run.id}/1/AgentA": "trace war 1 AgentA",
        f"/{run.id}/diary": "trace war all",
        f"/{run.id}/diary?agent=AgentA&other=AgentB&event=cession": (
            "trace war AgentA AgentB --event cession"
        ),
        f"/compare?a={other.id}&b={also.id}": f"compare {other.id} {also.id}",
    }
    for address, command in commands.items():
        page = pages.get(address).text
        (told,) = re.findall(r'class="command">.*?<code>(.*?)</code>|data-command="(.*?)"', page)[-1:]
        told = "".join(told)
        assert unescape(told) == f"hobbes {command} --home {home}", address
        assert cli(*shlex.split(unescape(told))[1:]).exit_code == 0, told
