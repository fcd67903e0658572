"""Ratings and deeds on the page of a run: what agents say of each other, beside what they did."""

import re
from collections.abc import Mapping
from typing import Any

from starlette.testclient import TestClient

from hobbes.play.start import RunOptions
from hobbes.show.judgements import DeedSums, amount_of, shade
from hobbes.show.terminal import shade_of
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.worlds import WORLDS
from tests.show.conftest import Replies
from tests.small_runs import played

ANSWERS: Mapping[tuple[int, str], dict[str, Any]] = {
    (0, "AgentA"): {"messages": {"AgentB": "I shall never attack you"}, "money_grants": {"AgentB": 10}},
    (0, "AgentB"): {"messages": {"AgentA": "I trust you", "AgentC": "A is a friend"}},
    (1, "AgentA"): {"attacks": {"AgentB": 3}, "messages": {"AgentB": "nothing personal"}},
    (1, "AgentC"): {"money_grants": {"AgentA": 7}},
    (2, "AgentA"): {"attacks": {"AgentB": 2}},
    (2, "AgentB"): {"keeps_word_report": {"AgentA": 1, "AgentC": 9}, "aggressor_report": {"AgentA": 10}},
    (2, "AgentC"): {"keeps_word_report": {"AgentA": 4}, "messages": {"AgentB": "so much for A"}},
}
"""What agents answer, by turn; nothing where nothing stands."""


RATINGS = (
    "ratings from 1 to 10, raters in rows, ratees in columns; the rating of an agent by itself is in brackets"
)


def broken_word(opened: Store, replies: Replies) -> Run:
    """Play three turns in which AgentA promises peace and then attacks."""
    replies(lambda at: ANSWERS.get((at.turn, at.agent), {}))
    return played(opened, RunOptions("nations", 3, values={"rounds": 3}))


def cells(page: str, caption: str) -> list[list[str]]:
    """Return the texts of the rows of the table with this caption, without the head."""
    table = next(part for part in page.split("<table")[1:] if f"<caption>{caption}</caption>" in part)
    rows = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2].partition("</table>")[0], re.DOTALL)
    texts = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[re.sub(r"<[^>]+>|\s", "", text).replace("&nbsp;", "") for text in row] for row in texts]


def test_ratings_stand_beside_what_was_done_up_to_that_turn(
    opened: Store, pages: TestClient, replies: Replies
) -> None:
    run = broken_word(opened, replies)
    page = pages.get(f"/{run.id}").text
    assert cells(page, f"keeps word report: {RATINGS}") == [["■AgentB", "1", "9"], ["▲AgentC", "4", "·"]]
    assert cells(page, f"aggressor report: {RATINGS}") == [["■AgentB", "10"]]
    assert cells(page, "attack: mils that the row sent against the column") == [
        ["●AgentA", "·", "5", "·", "5"],
        ["■AgentB", "·", "·", "·", "0"],
        ["▲AgentC", "·", "·", "·", "0"],
    ]
    assert cells(page, "grant: money that the row granted to the column")[0] == [
        "●AgentA",
        "·",
        "10",
        "·",
        "10",
    ]
    assert cells(page, "message: how often the row wrote to the column")[0] == ["●AgentA", "·", "2", "·", "2"]
    assert f'href="/{run.id}/diary?agent=AgentA&amp;other=AgentB">5</a>' in page
    earlier = pages.get(f"/{run.id}", params={"turn": 1}).text
    assert cells(earlier, "attack: mils that the row sent against the column")[0] == [
        "●AgentA",
        "·",
        "3",
        "·",
        "3",
    ]
    assert "keeps word report: none" in earlier


def test_a_deed_counts_the_first_number_that_its_world_declares() -> None:
    nations, trust = WORLDS["nations"], WORLDS["trust"]
    attack = {"type": "attack", "agent": "A", "damage": 10, "lost": 1, "mils": 4, "target": "B"}
    other = {"type": "of another version", "agent": "A"}
    assert amount_of(nations, attack) == ("mils", 4)
    assert amount_of(trust, {"type": "attack", "target": "B", "blocked": True}) == ("times", 1)
    assert amount_of(nations, {**other, "n": 3}) == ("times", 1)
    sums = DeedSums(nations, {"A", "B"})
    sums.add([attack, attack, {**other, "to": "B"}])
    assert [(one.type, one.by("A"), one.most) for one in sums.by_type()] == [
        ("attack", 8, 8),
        ("of another version", 1, 1),
    ]


def test_the_darkest_shade_is_for_the_most() -> None:
    assert [shade(n, 10) for n in (1, 2, 5, 9, 10)] == [0, 1, 2, 4, 4]
    assert shade(-3, 0) == 0


def test_a_colour_means_the_same_for_both_kinds_of_ratings() -> None:
    """To keep one's word is good and to be an aggressor bad: the best is shade 0, the worst shade 4."""
    for kind, best, worst in (("keeps_word_report", 10, 1), ("aggressor report at the end of A", 1, 10)):
        assert [shade_of(kind, rating) for rating in (best, 5.5, worst)] == [0, 2, 4]


def test_a_high_five_that_missed_is_told_once(opened: Store, pages: TestClient) -> None:
    """The record has it as a miss and as an attack."""
    run = played(
        opened, RunOptions("trust", 3, models="policy:copykitten", values={"rounds": 4, "miss": 100})
    )
    events = [event for turn in opened.turns.of(run) for event in turn.record.events]
    misses, attacks = (sum(event.type == kind for event in events) for kind in ("miss", "attack"))
    assert attacks > misses > 0
    page = pages.get(f"/{run.id}").text
    words = run.world.telling.between
    counts = [
        sum(int(row[-1]) for row in cells(page, f"{kind}: {words[kind]}")) for kind in ("attack", "miss")
    ]
    assert counts == [attacks - misses, misses]
