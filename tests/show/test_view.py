"""The pages: each decision has an address, and what a model says is text there, whatever it says."""

import hashlib
import json
import re
import shlex
from collections.abc import Sequence
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hobbes.engine.answer import FoundAs, Outcome
from hobbes.nodes.journal import Address, Call, Prompt, Reply
from hobbes.play.people import open_questions
from hobbes.play.start import RunOptions, begin
from hobbes.show.exports import export
from hobbes.show.story import story_of
from hobbes.show.timeline import MAX_POINTS, sample
from hobbes.show.web.home_pages import compare_page, runs_page, search_page
from hobbes.show.web.page_file import PageFile
from hobbes.show.web.page_templates import FILE_POLICY, reload_after
from hobbes.show.web.run_pages import RunPages
from hobbes.store.home import Store, open_store
from hobbes.store.recorded_run import Run
from hobbes.store.run_journal import RunJournal
from tests.browser import chromium
from tests.conftest import Cli
from tests.play.test_observer import game, on
from tests.show.conftest import Replies
from tests.show.test_counted import faulty_run
from tests.small_runs import go, mining, played


def test_each_decision_has_an_address(opened: Store, pages: TestClient) -> None:
    run = mining(opened)
    assert f'href="/{run.id}"' in pages.get("/").text
    card = pages.get(f"/{run.id}/3/miner-02").text
    (call,) = opened.calls.of_turn(run.id, 3, "miner-02")
    shown = re.sub(r"<[^>]+>", "", card)
    for text in (call.reply.text, call.prompt.turn):
        assert text.replace("&", "&amp;").replace('"', "&#34;").replace("'", "&#39;") in shown


def test_failures_are_on_every_page(
    opened: Store, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 of 6 decisions; 2 unreadable, 1 refused; in turn 1 both agents' calls failed."""
    run = faulty_run(opened, monkeypatch)
    assert "50.0%" in pages.get("/").text
    of_run = pages.get(f"/{run.id}").text
    assert "3 failed calls (50.0%)</a>" in of_run
    assert "Tainted: more calls failed than this run allows, which is 5.0%." in of_run
    assert re.search(r"unreadable</td><td[^>]*>2<", of_run)
    assert re.search(r"miner-01</td><td[^>]*>2<", of_run)
    assert pages.get(f"/{run.id}/1.html").text.count("✗ ") == 2
    beside = pages.get("/compare", params={"a": mining(opened).id, "b": run.id}).text
    assert "A: 0.0% of calls failed" in beside
    assert "B: 50.0% of calls failed" in beside
    assert "✗ refused" in pages.get(f"/{run.id}/1/miner-01").text


def test_two_runs_are_shown_side_by_side(opened: Store, pages: TestClient) -> None:
    one, other = mining(opened), mining(opened, models="policy:greedy-mine")
    page = pages.get("/compare", params={"a": one.id, "b": other.id}).text
    assert re.search(r"turn 0, <b .*>●</b>&nbsp;miner-01: answer\s*\(<a href=\"/.*/0/miner-01\">A</a>", page)
    decided = page.partition("First decision that differs")[2].partition("Results")[0]
    assert re.search(r"turn 0, <b .*>●</b>&nbsp;miner-01</p>", decided)
    for run, side in ((one, "A"), (other, "B")):
        assert f'href="/{run.id}/0/miner-01">{side}</a>' in decided
        wanted = decided.partition(f">{side}</a>")[2].partition("</dd>")[0]
        assert re.search(r"<dd>claim (\d+ plots|\[\d)", wanted), "a decision is told in words"
    assert "<ins>" in decided
    assert "<del>" in decided
    assert '<h3>prompt, from A to B</h3><p class="none">equal</p>' in decided
    same = pages.get("/compare", params={"a": one.id, "b": one.id}).text
    assert "No divergence: all turns are equal." in same
    assert "No decision differs in the turns that both runs have." in same


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/nothing", "there is no run &#39;nothing&#39;|there is no run 'nothing'"),
        ("/last/99", "has no turn 99; it has turns 0 to 3"),
        (f"/last/{10**30}", "has no turn 1000000000000000000000000000000; it has turns 0 to 3"),
        ("/last/0/nobody", "'nobody' did not act in turn 0; these did: miner-01, miner-02, miner-03"),
        ("/last/zero", "there is no page at /last/"),
        (f"/last/{'9' * 5_000}", "there is no page at /last/"),
        (f"/last/{'9' * 5_000}/miner-01", "there is no page at /last/"),
        ("/compare", "choose a first and a second run"),
        ("/last?turn=99", "has no turn 99; it has turns 0 to 3"),
        ("/last?turn=-1", "`turn` in the address is not a number from 0"),
        ("/last?turn=x", "`turn` in the address is not a number from 0"),
        ("/last/diary?agent=miner-1", "is called 'miner-1'; did you mean 'miner-01'"),
        ("/last/diary?agent=miner-01&other=miner-01", "must be two agents"),
        ("/last/diary?other=miner-01", "`other` in the address needs an `agent`"),
        (
            "/last/diary?event=x",
            "`event` in the address: mining has no 'x'; choose from: raid, capture, claim, ",
        ),
        ("/compare?a=last", "choose a first and a second run"),
        ("/last/diary?first=-1", "`first` in the address is not a number from 0"),
        ("/search?q=mine&run=nothing", "there is no run 'nothing'"),
        ("/search?q=mine&kind=x' or 1=1", "there is no kind"),
        ("/search?q=mine&first=-1", "`first` in the address is not a number from 0"),
        (f"/search?q=mine&first={'9' * 30}", "`first` in the address is not a number from 0"),
    ],
)
def test_a_wrong_address_is_reported_in_one_line(
    address: str, told: str, opened: Store, pages: TestClient
) -> None:
    mining(opened)
    found = pages.get(address)
    assert found.status_code == 404
    assert re.search(told, found.text)
    assert found.text.count("\n") <= 1


def test_a_browser_gets_a_page_with_ways_back_from_a_wrong_address(opened: Store, pages: TestClient) -> None:
    mining(opened)
    for address, told in (("/nothing", "there is no run"), ("/a/b/c/d", "there is no page at /a/b/c/d")):
        found = pages.get(address, headers={"accept": "text/html,*/*"})
        assert found.status_code == 404
        assert re.search(f'<p class="warning">{told}', found.text)
        assert all(f'href="{way}"' in found.text for way in ("/", "/search"))


def test_style_sheet_and_script_are_loaded_once_and_everything_is_compressed(
    opened: Store, pages: TestClient
) -> None:
    run = mining(opened)
    page = pages.get(f"/{run.id}")
    assert (page.headers["content-encoding"], page.headers["cache-control"]) == ("gzip", "no-store")
    assert "<style" not in page.text
    loaded = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
    assert len(loaded) == 2
    for address in loaded:
        kept = pages.get(address)
        assert "immutable" in kept.headers["cache-control"]
        assert hashlib.sha256(kept.content).hexdigest().startswith(Path(address).stem)


def test_reports_of_the_second_run_are_shown_if_the_first_has_none(opened: Store, pages: TestClient) -> None:
    run = played(opened, RunOptions("nations", 2, values={"rounds": 1}))
    unplayed = begin(opened, RunOptions("nations", 2))
    assert (
        "keeps word report at the end of B"
        in pages.get("/compare", params={"a": unplayed.id, "b": run.id}).text
    )


def test_a_home_without_runs_says_how_to_play_one(pages: TestClient) -> None:
    assert "hobbes run mining" in pages.get("/").text


def test_the_address_of_a_turn_leads_to_the_page_of_its_run_at_that_turn(
    opened: Store, pages: TestClient
) -> None:
    run = mining(opened)
    for reference in (run.id, "last"):
        assert pages.get(f"/{reference}/2").text == pages.get(f"/{run.id}?turn=2").text


def test_long_tables_are_folded(opened: Store, pages: TestClient) -> None:
    """nations has more than 20 measures of a run; the codes of a few rejections are not folded."""
    run = played(opened, RunOptions("nations", 2, models="policy:random?noise=0.5", values={"rounds": 2}))
    page = pages.get(f"/{run.id}").text
    assert re.search(r"<summary>measures of the whole run: \d+ rows</summary>", page)
    assert '<th scope="col">rejection</th>' in page
    assert "<summary>rejection" not in page
    assert page.count("<details") == page.count("</details>")


def test_the_chart_of_a_long_run_has_its_first_and_last_turn_and_some_between() -> None:
    assert sample(3) == [0, 1, 2]
    assert sample(1) == [0]
    assert not sample(0)
    many = sample(100_000)
    assert len(many) == len(set(many)) == MAX_POINTS
    assert (many[0], many[-1]) == (0, 99_999)


def test_the_page_of_a_run_reloads_only_while_the_run_is_played(opened: Store, pages: TestClient) -> None:
    run = begin(opened, RunOptions("mining", 2))
    reloading = '<meta http-equiv="refresh"'
    assert reloading not in pages.get("/last").text  # as if its process had been killed
    with opened.playing(run.id):
        assert reloading in pages.get("/last").text
    assert reloading not in pages.get("/last").text
    ended = mining(opened)
    with opened.playing(ended.id):  # by a process that does something else with it
        assert reloading not in pages.get(f"/{ended.id}").text


def test_a_page_opens_at_the_first_key_moment_and_at_the_last_turn_while_the_run_is_played(
    opened: Store, pages: TestClient
) -> None:
    models = "policy:guided*2,policy:random?noise=0.5*2"
    run = played(opened, RunOptions("mining", 4, models=models, values={"rounds": 8}))
    first, *_, last = story_of(opened, run, run.setting.agents).moments
    assert first < last == run.turns - 1
    assert f'data-shown="{first}"' in pages.get("/last").text
    opened.db.execute("update runs set status = 'unfinished'")
    assert f'data-shown="{first}"' in pages.get("/last").text
    with opened.playing(run.id):
        assert f'data-shown="{last}"' in pages.get("/last").text


def test_a_page_begins_with_what_happened(opened: Store, pages: TestClient) -> None:
    run = mining(opened)
    page = pages.get("/last").text
    text = re.sub(r"<b class=.*?</b>\xa0|<[^>]+>", "", unescape(page.partition("<h1>")[2]))
    story = story_of(opened, run, run.setting.agents)
    order = [" ".join(story.sentences), *(f"turn {turn}: " for turn in story.moments), "finished, 4 turns"]
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_the_way_to_a_page_says_the_name_of_its_run(opened: Store, pages: TestClient) -> None:
    run = mining(opened)
    opened.runs.update(run.id, name="first-steps")
    for address in ("", "/1/miner-01", "/diary"):
        way = pages.get(f"/{run.id}{address}").text.partition("<nav")[2].partition("</nav>")[0]
        shown = re.sub(r"<[^>]*>", " ", way)
        assert ("first-steps" in shown, run.id in shown) == (True, False), address


def test_a_page_reloads_the_later_the_longer_it_takes() -> None:
    assert [reload_after(took) for took in (0.0, 0.3, 0.6, 10)] == [2, 2, 3, 40]


def test_the_page_of_a_run_that_is_played_shows_each_answer_that_has_arrived(
    opened: Store, pages: TestClient
) -> None:
    run = begin(opened, RunOptions("mining", 3))
    with opened.playing(run.id):
        assert "calls so far" not in pages.get("/last").text
        reply = Reply("<b>mine</b>", "m", milliseconds=1500)
        call = Call(Address(0, "miner-02"), Prompt("", "p"), reply, Outcome.ANSWERED, FoundAs.JSON)
        with opened.connection:
            RunJournal(opened, run).insert([call])
        section = pages.get("/last").text.partition("calls so far")[2].partition("</section>")[0]
        cells = re.findall(r"<td[^>]*>(.*?)</td>", re.sub(r"<b class[^>]*>.</b>&nbsp;", "", section))
        assert cells[:1] == ["miner-02"]
        assert {"answered", "1500"} <= {*cells}


# --- people are asked


def test_the_requests_of_a_run_are_a_table_on_its_page(opened: Store, pages: TestClient) -> None:
    run = on(opened, begin(opened, game("human")))
    page = pages.get(f"/{run.id}").text
    (asked,) = open_questions(run)
    heads, cells = (re.findall(rf"<{tag}(?: [^>]*)?>(.*?)</{tag}>", page) for tag in ("th", "td"))
    assert heads[: len(asked)] == list(asked)
    told = [unescape(re.sub("<b .*</b>&nbsp;", "", cell)) for cell in cells[: len(asked)]]
    assert told == [str(value) for value in asked.values()]
    assert f"hobbes answer {run.id} --agent observer" in page
    on(opened, run, '{"rulings": {"unit-b": {"grant": 2, "reason": "be brave"}}}')
    assert f'href="/{run.id}/0/observer"' in pages.get(f"/{run.id}/0.html").text
    card = pages.get(f"/{run.id}/0/observer").text
    shown = re.findall(r"<th [^>]*>(.*?)</th>", card.partition("requests</caption>")[2])
    assert set(shown[: len(asked)]) == set(asked)
    assert "be brave" in card.partition("<summary>rulings</summary>")[2]


def test_the_page_of_a_run_says_who_is_waited_for_and_how_each_answers(
    opened: Store, pages: TestClient, cli: Cli
) -> None:
    run = go(opened, begin(opened, RunOptions("mining", 3, models="human*2,policy:guided")))
    page = pages.get(f"/{run.id}").text
    assert "Waiting for miner-01, miner-02" in page
    for said in re.findall(r"<code>hobbes (answer [^<]*)</code>", page):
        cli(*shlex.split(unescape(said)), "claim=[]")
    assert opened.runs.find(run.id).turns == 1


# --- what a model says is text

PAYLOADS = [
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "</pre></details></td></table></main><h1>hobbes</h1>",
    "\"'><svg onload=document.title='owned'>",
    "{{ 7 * 7 }}{% for x in y %}",
    "<!-- <meta http-equiv=refresh content='0;url=//evil.example'>",
    "</style></title><base href=//evil.example><iframe srcdoc='<script>top.document.title=1</script>'>",
    "&lt;script&gt; \x1b[2J\u202e\u2066\x00\u200b javascript:alert(1)",
]


def spoken(opened: Store, replies: Replies, texts: Sequence[str]) -> Any:
    """Play a run in which each agent says nothing but its text, wherever it can say anything."""

    def reply(address: Address) -> Reply:
        text = texts["ABCDEFGH".index(address.agent[-1])]
        said = dict.fromkeys(("reasoning", "memory", "summary_last_turn", "history_summary", text), text)
        to = {"AgentA": text, text: text}
        answer = json.dumps({**said, "messages": to, "attacks": {text: 1}, "aggressor_report": {text: 5}})
        shown = answer if address.turn % 2 else f"{text}{answer}"
        return Reply(shown, f"model {text}", reasoning=text, error=text)

    replies(reply)
    run = played(opened, RunOptions("nations", len(texts), values={"rounds": 3}))
    opened.runs.update(run.id, name=f"run {texts[0]}")
    return opened.runs.find(run.id)


class Structure(HTMLParser):
    """The tags of a page with their attributes' names, in order: what a page is but for its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}",))

    def handle_comment(self, data: str) -> None:
        self.tags.append(("!--", data))


def structure(page: str) -> list[tuple[str, ...]]:
    """Return the tags of a page."""
    found = Structure()
    found.feed(page)
    return found.tags


def test_agents_text_cannot_change_the_structure_of_a_page(tmp_path: Path, replies: Replies) -> None:
    """Every tag of each page is that of a run in which agents say `harmless`, with as much unseen in it."""
    unseen = ["".join(c for c in text if not c.isprintable()) for text in PAYLOADS]
    harmless = [f"harmless{k}{hidden}" for k, hidden in enumerate(unseen)]
    built: list[dict[str, Any]] = []
    for name, texts in (("one", PAYLOADS), ("other", harmless)):
        with open_store(tmp_path / name) as opened:
            run = spoken(opened, replies, texts)
            shown = RunPages(opened, run)
            pages = {"runs": runs_page(opened, {}), "run": shown.at_a_turn(), "first": shown.at_a_turn(1)}
            pages["moment"] = shown.moment(1)
            pages |= {agent: shown.card(1, agent) for agent in run.setting.agents}
            pages["two"] = shown.diary({"agent": "AgentA", "other": "AgentB"})
            pages["diary"] = shown.diary({})
            pages["search"] = search_page(opened, {"q": "attacks", "kind": "answer"})
            other = spoken(opened, replies, ["so"] * len(texts))
            pages["compare"] = compare_page(opened, run, other)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e\u2066]", "".join(pages.values()))
        built.append({page: structure(text) for page, text in pages.items()})
        assert ("mark",) in built[-1]["search"]
        built[-1]["search"] = sorted({*built[-1]["search"]})  # the best texts come first, whichever they are
    assert built[0] == built[1]


def begging(opened: Store, replies: Replies, text: str) -> Run:
    """Play until a unit begs for a reason of this text."""
    replies(lambda _: {"reasoning": text, "action": "beg", "amount": 3, "reason": text})
    return on(opened, begin(opened, game("human")))


def test_whatever_agents_ask_the_page_of_the_run_is_built_alike(opened: Store, replies: Replies) -> None:
    built = []
    for text in ("harmless", *PAYLOADS):
        run = begging(opened, replies, text)
        page = RunPages(opened, run).at_a_turn()
        assert "requests</caption>" in page
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e\u2066]", page)
        built.append(structure(page))
    assert all(one == built[0] for one in built)


def title(page: str) -> str:
    """Return the title of a page."""
    found = re.search("<title>(.*?)</title>", page, re.DOTALL)
    return found[1] if found else ""


def test_in_a_browser_nothing_runs_and_the_content_security_policy_blocks_scripts(
    opened: Store, tmp_path: Path, replies: Replies
) -> None:
    """The page's own policy is a second wall; without it the same script runs."""
    shown = PageFile(opened, mining(opened), range(1)).at_a_turn()
    owned = shown.replace("<main>", f"<main>{PAYLOADS[0]}{PAYLOADS[1]}")
    (tmp_path / "with.html").write_text(owned)
    (tmp_path / "without.html").write_text(owned.replace("Content-Security-Policy", "x-nothing"))
    export(opened, spoken(opened, replies, PAYLOADS), "page", tmp_path / "run.html")
    found = {}
    with chromium() as browser:
        page = browser.new_page()
        for name in ("run", "with", "without"):
            page.goto((tmp_path / f"{name}.html").as_uri())
            found[name] = page.content()
    assert found["run"].count("owned") > 2 * len(PAYLOADS)
    assert title(found["run"]).endswith("· hobbes")
    assert title(found["with"]).endswith("· hobbes")
    assert title(found["without"]) == "owned"
    assert FILE_POLICY in owned.replace("&#39;", "'")
