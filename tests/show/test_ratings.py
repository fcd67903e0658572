"""Ratings on the page of a run: what agents say of each other."""

import re

from starlette.testclient import TestClient

from hobbes.play.start import RunOptions
from hobbes.show.terminal import shade_of
from hobbes.store.home import Store
from tests.show.conftest import Replies
from tests.small_runs import played

REPORTS = {
    "AgentB": {"keeps_word_report": {"AgentA": 1, "AgentC": 9}, "aggressor_report": {"AgentA": 10}},
    "AgentC": {"keeps_word_report": {"AgentA": 4}},
}
"""What agents say of each other in the second turn."""

RATINGS = (
    "ratings from 1 to 10, raters in rows, ratees in columns; the rating of an agent by itself is in brackets"
)


def cells(page: str, caption: str) -> list[list[str]]:
    """Return the texts of the rows of the table with this caption, without the head."""
    table = next(part for part in page.split("<table")[1:] if f"<caption>{caption}</caption>" in part)
    rows = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2].partition("</table>")[0], re.DOTALL)
    texts = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[re.sub(r"<[^>]+>|\s", "", text).replace("&nbsp;", "") for text in row] for row in texts]


def test_ratings_are_those_after_the_turn(opened: Store, pages: TestClient, replies: Replies) -> None:
    replies(lambda at: REPORTS.get(at.agent, {}) if at.turn == 1 else {})
    run = played(opened, RunOptions("nations", 3, values={"rounds": 2}))
    page = pages.get(f"/{run.id}").text
    assert cells(page, f"keeps word report: {RATINGS}") == [["■AgentB", "1", "9"], ["▲AgentC", "4", "·"]]
    assert cells(page, f"aggressor report: {RATINGS}") == [["■AgentB", "10"]]
    assert "keeps word report" not in pages.get(f"/{run.id}", params={"turn": 0}).text


def test_a_colour_means_the_same_for_both_kinds_of_ratings() -> None:
    """To keep one's word is good and to be an aggressor bad: the best is shade 0, the worst shade 4."""
    for kind, best, worst in (("keeps_word_report", 10, 1), ("aggressor report at the end of A", 1, 10)):
        assert [shade_of(kind, rating) for rating in (best, 5.5, worst)] == [0, 2, 4]
