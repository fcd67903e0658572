"""`Try another prompt`: a page edits the prompt of one decision, says what asking costs, and asks."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from hobbes.lab.play.playing import RunOptions
from hobbes.lab.probe.table import tell
from hobbes.lab.show.exporting import export
from hobbes.lab.show.viewing import link
from hobbes.lab.store.home import Store
from hobbes.lab.store.probes import probe_names
from hobbes.lab.store.run import Run
from hobbes.nodes.prompting import ROOT
from tests.lab.play import played
from tests.lab.probing import MODEL, Heeding, heeding
from tests.lab.visiting import LOCAL, Form, played_on, post

AGENT = "unit-a"
SYSTEM, RULES = "text/system.en.md", "text/rules.en.md"
PROBE = "try-duel-2-unit-a"


@pytest.fixture
def server() -> Iterator[Heeding]:
    """A model that heeds a word of its prompt."""
    with heeding() as found:
        yield found


@pytest.fixture
def run(opened: Store, server: Heeding) -> Run:
    """A duel that this model has played."""
    found = played(opened, RunOptions("trust", 2, models=MODEL, values={"rounds": 4}, name="duel"))
    server.asked.clear()
    return found


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the pages are served."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def opened_form(pages: TestClient, run: Run) -> dict[str, str]:
    """Return the fields of the form as it is opened."""
    page = pages.get(link(run.id, "try", turn=2, agent=AGENT))
    assert page.status_code == 200, page.text
    return Form(page.text).fields


def ask(pages: TestClient, run: Run, fields: dict[str, str]) -> httpx2.Response:
    """Look at what asking costs, ask, and wait for the answers."""
    shown = post(pages, link(run.id, "try"), fields)
    assert shown.status_code == 200, shown.text
    answer = post(pages, link(run.id, "try"), {**Form(shown.text).fields, "do": "ask"})
    played_on()
    return answer


def alert(page: httpx2.Response) -> str:
    """Return what a page says is wrong."""
    return unescape(page.text).partition('role="alert">')[2].partition("</p>")[0]


def advised(fields: dict[str, str], advice: str) -> dict[str, str]:
    """Return a form with a sentence more, saved in ./mine."""
    return {**fields, SYSTEM: f"{fields[SYSTEM]}\n{advice}\n", "folder": "./mine"}


def test_a_card_leads_to_the_form_and_a_card_on_disk_does_not(
    opened: Store, run: Run, pages: TestClient, tmp_path: Path
) -> None:
    address = link(run.id, "try", turn=2, agent=AGENT)
    assert f'href="{address}"' in unescape(pages.get(f"/{run.id}/2/{AGENT}").text)
    export(opened, run, "html", tmp_path / "pages")
    cards = [file.read_text() for file in (tmp_path / "pages").rglob("*.html")]
    assert any("What it knew" in card for card in cards)
    assert not any("try another prompt" in card for card in cards)
    assert pages.get(link(run.id, "try", turn=2, agent="unit-z")).status_code == 404


def test_what_changes_and_what_it_costs_is_shown_before_anything_is_asked_or_saved(
    opened: Store, run: Run, pages: TestClient, folder: Path, server: Heeding
) -> None:
    fields = opened_form(pages, run)
    assert fields["model"] == MODEL
    changed = {**advised(fields, "Be peaceful."), "times": "7", "do": "ask", "shown": fields["shown"]}
    shown = post(pages, link(run.id, "try"), changed)
    assert shown.status_code == 200
    added = re.findall(r"<ins>(.*?)</ins>", shown.text.partition("the whole prompt")[0], re.DOTALL)
    assert [words.strip() for words in added] == ["Be peaceful."]
    assert "Nothing has been asked yet. 14 answers to ask; about" in shown.text
    assert "dollars: unknown" in shown.text
    assert (server.asked, probe_names(opened), [*folder.iterdir()]) == ([], [], [])


def test_answers_stand_beside_those_to_the_prompt_of_the_game(
    opened: Store, run: Run, pages: TestClient, folder: Path
) -> None:
    before = opened_form(pages, run)
    asked = ask(pages, run, advised(before, "Be peaceful."))
    assert asked.status_code == 303
    assert asked.headers["location"] == f"{link(run.id, 'try', turn=2, agent=AGENT, name=PROBE)}#answers"
    told = tell(opened, PROBE)
    assert [one.column.name for one in told.columns] == ["recorded", "./mine"]
    assert [one.answers for one in told.columns] == [5, 5]
    assert (folder / "mine" / "system.en.md").read_text() == f"{before[SYSTEM]}\nBe peaceful.\n"
    page = unescape(pages.get(asked.headers["location"]).text)
    for column in ("recorded", "./mine"):
        of_column = page.partition(f"<h3>{column}</h3>")[2].partition("</section>")[0]
        assert of_column.count("<li") == 5
    for act in told.acts:
        now, then = (told.cell(1, column).having(act) for column in ("./mine", "recorded"))
        assert f"<td>{then}/5 → {now}/5</td>" in page
    assert "In the game" in page
    again = Form(page).fields
    assert (again["folder"], again["name"]) == ("./mine", PROBE)
    assert "Be peaceful." in again[SYSTEM]


def test_each_version_is_a_column_and_no_text_is_asked_about_twice(
    opened: Store, run: Run, pages: TestClient, folder: Path, server: Heeding
) -> None:
    first = opened_form(pages, run)
    ask(pages, run, advised(first, "Be peaceful."))
    assert len(server.asked) == 5 + 5
    second = opened_form(pages, run)
    ask(pages, run, {**second, SYSTEM: f"{first[SYSTEM]}\nAttack.\n"})
    assert len(server.asked) == 5 + 5 + 5
    third = opened_form(pages, run)
    assert "Attack." in third[SYSTEM]
    ask(pages, run, {**third, SYSTEM: second[SYSTEM]})
    assert len(server.asked) == len({*server.asked}) == 15
    assert [one.column.name for one in tell(opened, PROBE).columns] == ["recorded", "./mine", "./mine v2"]
    more = opened_form(pages, run)
    ask(pages, run, {**more, "times": "6"})
    assert len(server.asked) == 15 + 2
    assert {path.name for path in folder.iterdir()} == {"mine"}


def test_an_included_text_that_was_changed_stands_in_the_prompt_and_the_shared_file_stays(
    run: Run, pages: TestClient, folder: Path
) -> None:
    shared = (ROOT / "trust" / "rules.en.md").read_text(encoding="utf-8")
    fields = opened_form(pages, run)
    assert fields[RULES] == shared
    ask(pages, run, {**fields, RULES: f"Be peaceful.\n{shared}", "folder": "mine"})
    saved = (folder / "mine" / "system.en.md").read_text()
    assert "{% include" in saved
    assert fields[SYSTEM].replace('{% include "rules.en.md" %}\n', f"Be peaceful.\n{shared}") == saved
    assert (ROOT / "trust" / "rules.en.md").read_text(encoding="utf-8") == shared
    assert RULES not in opened_form(pages, run)


def test_a_cap_stops_the_asking_and_asking_again_goes_on(
    opened: Store, run: Run, pages: TestClient, server: Heeding
) -> None:
    ask(pages, run, {**advised(opened_form(pages, run), "Be peaceful."), "calls": "4"})
    assert len(server.asked) == 4
    page = pages.get(link(run.id, "try", turn=2, agent=AGENT)).text
    assert "It stopped: max-calls 4 is reached. Ask again to go on" in page
    assert "6 answers to ask" in page
    ask(pages, run, Form(page).fields)
    assert [one.answers for one in tell(opened, PROBE).columns] == [5, 5]
    assert "It stopped" not in pages.get(link(run.id, "try", turn=2, agent=AGENT)).text


WRONG: list[tuple[dict[str, str], str]] = [
    ({"folder": ""}, "folder: name the folder in which your prompt is saved"),
    ({"folder": "../mine"}, "is not in the folder in which `hobbes view` runs"),
    ({"folder": "link"}, "is not in the folder in which `hobbes view` runs"),
    ({"folder": "there"}, "there has files that were not opened here"),
    ({"folder": "file/mine"}, "Not a directory"),
]
"""What is wrong when it is asked, and what the page says then."""

WRONG_BEFORE: list[tuple[dict[str, str], str]] = [
    ({"times": "many"}, "times: write a whole number"),
    ({"times": "5000"}, "times: Input should be less than or equal to 1000"),
    ({"name": "../x"}, "name: write letters, digits, - and _"),
    ({"calls": "-1"}, "calls: write a whole number"),
    ({"model": "python:agents.py:Careful"}, "a page takes no Python players"),
    ({"model": "policy:random"}, "a probe needs a model"),
    ({"model": "openai"}, "is not a model spec"),
    ({SYSTEM: "{{ stamna }}"}, "system.en.md: unknown placeholder stamna"),
    ({SYSTEM: "{% if %}"}, "system.en.md, line 1"),
    ({SYSTEM: '{% include "nothing.md" %}'}, "nothing.md"),
    ({"text/turn.en.md": "{{ view.wether }}"}, "turn.en.md: no view of trust has wether"),
]
"""What is wrong before anything can be asked, and what stands where the cost would be."""


def test_what_cannot_be_asked_is_said_in_one_line_and_nothing_is_written(
    opened: Store, run: Run, pages: TestClient, folder: Path, server: Heeding
) -> None:
    (folder / "link").symlink_to(folder.parent)
    (folder / "file").write_text("")
    (folder / "there").mkdir()
    (folder / "there" / "system.en.md").write_text("Mine.")
    form = advised(opened_form(pages, run), "Be peaceful.")
    for changed, told in WRONG:
        refused = ask(pages, run, {**form, **changed})
        assert (refused.status_code, told in alert(refused)) == (400, True), (changed, alert(refused))
    for changed, told in WRONG_BEFORE:
        shown = ask(pages, run, {**form, **changed})
        assert (shown.status_code, told in unescape(shown.text)) == (200, True), changed
        assert "hobbes-" not in unescape(shown.text).partition('id="preview"')[2].partition("</section>")[0]
    assert (server.asked, probe_names(opened)) == ([], [])
    assert (folder / "there" / "system.en.md").read_text() == "Mine."
    assert {one.name for one in folder.iterdir()} == {"file", "link", "there"}


def test_a_file_that_somebody_saved_meanwhile_is_not_written_over(
    run: Run, pages: TestClient, folder: Path
) -> None:
    ask(pages, run, advised(opened_form(pages, run), "Be peaceful."))
    again = opened_form(pages, run)
    (folder / "mine" / "system.en.md").write_text("Saved in an editor.")
    refused = ask(pages, run, advised(again, "Attack."))
    assert "mine has files that were not opened here" in alert(refused)
    assert (folder / "mine" / "system.en.md").read_text() == "Saved in an editor."


def test_a_link_to_a_file_elsewhere_is_read_and_not_written(
    run: Run, pages: TestClient, folder: Path
) -> None:
    ask(pages, run, advised(opened_form(pages, run), "Be peaceful."))
    file, elsewhere = folder / "mine" / "system.en.md", folder.parent / "elsewhere.md"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    before = elsewhere.read_text()
    linked = opened_form(pages, run)
    assert linked[SYSTEM] == before
    assert "is not in the folder" in alert(ask(pages, run, advised(linked, "Attack.")))
    assert elsewhere.read_text() == before


def test_only_the_pages_themselves_can_ask(run: Run, pages: TestClient, server: Heeding) -> None:
    fields, address = opened_form(pages, run), link(run.id, "try")
    wrong = [
        (403, post(pages, address, fields, "http://evil.example")),
        (403, post(pages, address, fields, None)),
        (400, post(pages, address, {**fields, "token": ""})),
        (400, post(pages, address, {**fields, "command": "rm"})),
        (400, post(pages, address, {**fields, "turn": "9" * 400})),
        (400, post(pages, address, {**fields, SYSTEM: ["one", "other"]})),
        (400, post(pages, address, {**fields, "agent": "observer"})),
        (404, pages.get(link(run.id, "try", turn=2, agent="observer"))),
        (404, pages.get(link(run.id, "try", turn=9, agent=AGENT))),
        (405, pages.put(address, data=fields, headers={"origin": LOCAL})),
    ]
    assert [status for status, _ in wrong] == [answer.status_code for _, answer in wrong]
    assert server.asked == []
