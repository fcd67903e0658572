"""Each rule that a prompt of mining marks is played on the engine, under each treatment that words it.

A play is a short game by ann, bob and cay. It gives back the numbers that the engine showed in it, and the
rule's sentence must tell those numbers and no others.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from engine.chance import Luck
from engine.mining.actions import MiningAction
from engine.mining.state import Cell, MiningConfig, State, cells
from engine.mining.world import MINING
from engine.record import Drop, JsonObject, Mend
from engine.world import Resolved, settle
from nodes.prompting import (
    PromptSet,
    approximate_tokens,
    check_prompts,
    languages,
    load_prompts,
    rules_of,
    system_text,
    turn_text,
    variants,
)

if TYPE_CHECKING:
    from engine.mining.validation import Intent

AGENTS = ("ann", "bob", "cay")

OTHER_NUMBERS = {
    "rows": 7,
    "cols": 8,
    "stamina": 12,
    "mine_cap": 4,
    "alpha": 2,
    "window": 6,
    "message_limit": 50,
    "raid_tax": 3,
    "punishment": 5,
}
"""No number of the baseline stands here."""

TEMPLATES = [(variant, lang) for variant in ("guided", "unguided") for lang in ("en", "zh")]

Told: TypeAlias = set[int]


class Land:
    """A game of ann, bob and cay to play a rule on, in its round 10."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        setting = settle(MINING, AGENTS, 1, values)
        self.config: MiningConfig = setting.config
        self.state: State = replace(MINING.setup(setting.config, setting.agents, setting.seed), turn=10)
        self.drops: list[Drop] = []
        self.mends: list[Mend] = []
        self.kept: dict[str, Intent] = {}

    def give(self, agent: str, plots: Iterable[Cell]) -> None:
        """Make an agent the owner of plots since round 0."""
        owned, grid = set(plots), self.state.owners
        owners = tuple(
            tuple(agent if (r, c) in owned else owner for c, owner in enumerate(row))
            for r, row in enumerate(grid)
        )
        since = tuple(tuple(None if owner is None else 0 for owner in row) for row in owners)
        self.state = replace(self.state, owners=owners, first_owner=owners, since=since, claimed=since)

    def rich(self, agent: str, gold: int) -> None:
        """Give an agent gold."""
        self.state = replace(self.state, gold={**self.state.gold, agent: gold})

    def round(self, **answers: JsonObject) -> Resolved[State]:
        """Play a round; who says nothing does nothing."""
        said = {agent: MINING.validate(self.state, agent, answer) for agent, answer in answers.items()}
        self.drops = [drop for validated in said.values() for drop in validated.drops]
        self.mends = [mend for validated in said.values() for mend in validated.mends]
        self.kept = {agent: validated.intent for agent, validated in said.items()}
        resolved = MINING.resolve(self.state, self.kept)
        self.state = resolved.state
        return resolved

    @property
    def refusals(self) -> list[str]:
        """Why something was refused in the last round."""
        return [drop.code for drop in self.drops]

    def owner(self, *cell: int) -> str | None:
        """Tell who owns a plot."""
        return self.state.owner[cell[0], cell[1]]

    def spent(self, agent: str) -> int:
        """Tell what an agent spent in the last round."""
        deeds = self.state.deeds[agent]
        return deeds.claim + deeds.raid + deeds.defend + deeds.mine

    def view(self, agent: str) -> Any:
        """Show what an agent sees."""
        return MINING.observe(self.state, agent)

    def everywhere(self) -> list[list[int]]:
        """List all plots, as an answer names them."""
        return [list(cell) for cell in cells(self.config)]

    def guided(self, agent: str) -> Any:
        """Give the answer of the comparator that follows the prompt's advice."""
        return MINING.policies.by_name["guided"](self.view(agent), Luck(1, 10, agent))


@dataclass(frozen=True)
class Play:
    """A rule, the treatment in which it is played, the words that tell this treatment, and the game."""

    rule: str
    play: Callable[[Land], Told]
    treatment: Mapping[str, Any]
    en: str
    zh: str

    def __str__(self) -> str:
        return " ".join([self.rule, *(f"{name}={value}" for name, value in self.treatment.items())])


PLAYS: list[Play] = []

Game: TypeAlias = Callable[[Land], Told]


def plays(rule: str, en: str = "", zh: str = "", **treatment: object) -> Callable[[Game], Game]:
    """Enter a game in the table of plays."""

    def enter(game: Game) -> Game:
        PLAYS.append(Play(rule, game, treatment, en, zh))
        return game

    return enter


# --- the rules -------------------------------------------------------------------------------------------


@plays("objective")
def gold_adds_up_and_is_the_score(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    land.give("bob", [(1, c) for c in range(5)])
    land.round(ann={"mine": [{"cell": [0, 0], "s": 1}]})
    land.round(ann={"mine": [{"cell": [0, 0], "s": 1}]})
    assert MINING.scores(land.state) == {"ann": 2 * land.state.alpha[0][0], "bob": 0, "cay": 0}
    return set()


@plays("grid")
def plots_beyond_the_last_row_and_column_do_not_exist(land: Land) -> Told:
    land.round(ann={"claim": [[r, 0] for r in range(60)]})
    rows = 60 - land.refusals.count("mining/off-grid")
    land.round(ann={"claim": [[0, c] for c in range(60)]})
    cols = 60 - land.refusals.count("mining/off-grid")
    land.round(ann={"claim": [[rows - 1, cols - 1]]})
    assert land.owner(rows - 1, cols - 1) == "ann"
    return {rows, cols, rows - 1, cols - 1}


@plays("start")
def the_land_begins_unowned_and_a_plot_has_one_owner(land: Land) -> Told:
    assert {land.state.owner[cell] for cell in cells(land.config)} == {None}
    land.round(ann={"claim": [[0, 0]]}, bob={"claim": [[0, 0]]})
    assert sum(held.count((0, 0)) for held in land.state.holdings.values()) == 1
    return set()


@plays("stamina")
def nobody_spends_more_than_the_stamina_of_a_round(land: Land) -> Told:
    land.round(ann={"claim": land.everywhere()})
    return {land.spent("ann")}


@plays("stamina", "view shows", "所见信息", stamina=(4, 6, 8))
def where_stamina_differs_the_view_shows_ones_own(land: Land) -> Told:
    seen = {agent: land.view(agent)["stamina"] for agent in AGENTS}
    land.round(**{agent: {"claim": land.everywhere()} for agent in AGENTS})
    assert seen == {agent: land.spent(agent) for agent in AGENTS} == {"ann": 4, "bob": 6, "cay": 8}
    return set()


@plays("no-carry-over")
def stamina_that_is_not_used_is_gone(land: Land) -> Told:
    land.round()
    land.round(ann={"claim": land.everywhere()})
    assert land.spent("ann") == land.config.stamina
    return set()


@plays("simultaneous")
def what_others_decide_shows_only_next_round(land: Land) -> Told:
    before = land.view("bob")
    MINING.validate(land.state, "ann", {"claim": [[0, 0]]})
    assert land.view("bob") == before
    land.round(ann={"claim": [[0, 0]]})
    assert land.view("bob") != before
    return set()


@plays("communication", "cannot talk", "不能沟通", communication=False)
def without_communication_a_message_is_refused(land: Land) -> Told:
    land.round(ann={"message": "peace?"})
    assert land.refusals == ["mining/no-communication"]
    assert "messages" not in land.view("bob")
    return set()


@plays("communication", "to all miners", "全体矿工", communication=True)
def a_message_is_cut_to_the_limit_and_read_next_round(land: Land) -> Told:
    land.round(ann={"message": "x" * 5000})
    (bob,), (cay,) = land.view("bob")["messages"], land.view("cay")["messages"]
    assert bob == cay
    return {len(bob["text"])}


@plays("claim")
def a_claim_costs_one_and_needs_an_unowned_plot(land: Land) -> Told:
    land.give("bob", [(1, 1)])
    land.round(ann={"claim": [[0, 0], [1, 1]]})
    assert (land.owner(0, 0), land.owner(1, 1)) == ("ann", "bob")
    assert (land.refusals, land.spent("ann")) == (["mining/already-owned"], 1)
    return set()


@plays("raid", "another miner owns", "属于别人", immunity=1)
def a_raid_costs_one_and_needs_the_plot_of_another(land: Land) -> Told:
    land.give("bob", [(1, 1)])
    land.give("ann", [(2, 2)])
    land.round(ann={"raid": [[1, 1], [0, 0], [2, 2]]})
    assert (land.refusals, land.spent("ann")) == (["mining/unowned", "mining/own-plot"], 1)
    assert land.owner(1, 1) == "ann"
    return set()


@plays("raid", "in this same round", "恰好在本回合", immunity=0)
def without_immunity_a_raid_on_an_unowned_plot_needs_a_claim_by_another(land: Land) -> Told:
    land.round(ann={"raid": [[0, 0], [1, 1]]}, bob={"claim": [[1, 1]]})
    assert (land.owner(0, 0), land.owner(1, 1), land.spent("ann")) == (None, "ann", 2)
    return set()


@plays("defend", "stamina a plot", "每块一点", defense="block_all")
@plays("defend", "stamina a point", "每点防御一点", defense="per_point")
def a_defence_costs_one_even_if_nobody_comes(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    land.give("bob", [(1, 1)])
    land.round(ann={"defend": [[0, 0], [1, 1]]})
    assert (land.refusals, land.spent("ann")) == (["mining/not-yours"], 1)
    land.round(ann={"defend": [[0, 0], [0, 0]]})
    assert land.spent("ann") == {"block_all": 1, "per_point": 2}[land.config.defense]
    return set()


@plays("mine")
def mining_takes_from_one_stamina_to_the_cap(land: Land) -> Told:
    land.give("ann", [(0, 0), (0, 1)])
    land.give("bob", [(1, 1)])
    land.round(ann={"mine": [{"cell": [0, 0], "s": 0}, {"cell": [1, 1], "s": 1}]})
    assert land.refusals == ["mining/no-stamina", "mining/not-yours"]
    fitting = [s for s in range(1, 9) if not MINING.validate(land.state, "ann", _mine(s)).mends]
    assert fitting[0] == 1
    return {fitting[-1]}


def _mine(stamina: int) -> JsonObject:
    return {"mine": [{"cell": [0, 0], "s": stamina}]}


@plays("gold")
def each_stamina_gives_the_same_gold(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    land.round(ann=_mine(1))
    one = land.state.gold["ann"]
    land.round(ann=_mine(3))
    assert land.state.gold["ann"] == one + 3 * one
    return {one}


@plays("gold", "shows where", "位置", alpha={"plots": 6, "multiplier": 25})
def gold_mines_give_more_and_the_view_shows_where(land: Land) -> Told:
    shown = land.view("ann")["rules"]["alpha"]
    mines = [cell for cell in cells(land.config) if shown[cell[0]][cell[1]] != 1]
    plain = next(cell for cell in cells(land.config) if cell not in mines)
    land.give("ann", [mines[0], plain])
    land.round(ann={"mine": [{"cell": list(mines[0]), "s": 1}]})
    rich = land.state.gold["ann"]
    land.round(ann={"mine": [{"cell": list(plain), "s": 1}]})
    assert land.state.gold["ann"] == rich + 1
    return {len(mines), rich}


@plays("gold", "Plots differ", "产出不同", rows=1, cols=2, alpha=[[5, 6]])
def where_plots_differ_the_view_shows_each(land: Land) -> Told:
    land.give("ann", [(0, 1)])
    land.round(ann={"mine": [{"cell": [0, 1], "s": 1}]})
    assert land.state.gold["ann"] == land.view("bob")["rules"]["alpha"][0][1] == 6
    return set()


@plays("order", immunity=0)
def claims_come_before_raids_and_raids_before_mining(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    land.round(ann={**_mine(2), "claim": [[1, 1]]}, bob={"raid": [[0, 0], [1, 1]]})
    assert (land.owner(0, 0), land.owner(1, 1)) == ("bob", "bob")
    assert land.state.gold["ann"] == 0
    return set()


@plays("claim-contest")
def a_contested_claim_goes_by_lot_and_all_pay(land: Land) -> Told:
    resolved = land.round(ann={"claim": [[0, 0]]}, bob={"claim": [[0, 0]]})
    (lot,) = resolved.draws
    assert (lot.event, lot.participants, lot.winner) == ("claim", ("ann", "bob"), land.owner(0, 0))
    assert (land.spent("ann"), land.spent("bob")) == (1, 1)
    return set()


def _rounds_refused(land: Land) -> int:
    """Tell for how many rounds from its claim on a plot cannot be raided."""
    land.round(ann={"claim": [[0, 0]]}, bob={"raid": [[0, 0]]})
    rounds = 0
    while land.refusals:
        rounds += 1
        land.round(bob={"raid": [[0, 0]]})
    assert land.owner(0, 0) == "bob"
    return rounds


@plays("immunity", "no protection", "没有保护期", immunity=0)
def without_immunity_a_claimed_plot_falls_in_its_first_round(land: Land) -> Told:
    assert _rounds_refused(land) == 0
    return set()


@plays("immunity", "from the next round", "从下回合起", immunity=1)
def a_claimed_plot_is_safe_in_its_first_round(land: Land) -> Told:
    assert _rounds_refused(land) == 1
    return set()


@plays("immunity", "its claim included", "含占领当回合", immunity=11)
def a_claimed_plot_is_safe_for_the_window(land: Land) -> Told:
    return {_rounds_refused(land)}


@plays("defense", "all raids", "所有抢占都失败", defense="block_all")
def one_defence_stops_all_raids(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    land.round(ann={"defend": [[0, 0]]}, bob={"raid": [[0, 0]]}, cay={"raid": [[0, 0]]})
    assert land.owner(0, 0) == "ann"
    return set()


@plays("defense", "stops one raid", "挡住一次", defense="per_point")
def each_point_stops_one_raid(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    both: dict[str, JsonObject] = {"bob": {"raid": [[0, 0]]}, "cay": {"raid": [[0, 0]]}}
    land.round(ann={"defend": [[0, 0], [0, 0]]}, **both)
    assert land.owner(0, 0) == "ann"
    resolved = land.round(ann={"defend": [[0, 0]]}, **both)
    assert resolved.draws[0].participants == ("bob", "cay")
    assert land.owner(0, 0) == resolved.draws[0].winner
    return set()


@plays("capture")
def an_undefended_plot_falls_to_one_raid(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    land.round(bob={"raid": [[0, 0]]})
    assert land.owner(0, 0) == "bob"
    return set()


@plays("raid-contest")
def of_several_raiders_one_takes_the_plot_by_lot(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    resolved = land.round(bob={"raid": [[0, 0]]}, cay={"raid": [[0, 0]]})
    (lot,) = resolved.draws
    assert (lot.event, lot.participants, lot.winner) == ("raid", ("bob", "cay"), land.owner(0, 0))
    return set()


@plays("raid-lost")
def raiders_that_get_nothing_have_paid(land: Land) -> Told:
    land.give("ann", [(0, 0), (0, 1)])
    land.round(ann={"defend": [[0, 1]]}, bob={"raid": [[0, 0], [0, 1]]}, cay={"raid": [[0, 0]]})
    assert land.owner(0, 1) == "ann"
    assert (land.spent("bob"), land.spent("cay")) == (2, 1)
    return set()


@plays("new-plot")
def a_new_plot_is_of_use_from_the_next_round_on(land: Land) -> Told:
    land.give("bob", [(1, 1)])
    uses: JsonObject = {
        "defend": [[0, 0], [1, 1]],
        "mine": [{"cell": [0, 0], "s": 1}, {"cell": [1, 1], "s": 1}],
    }
    land.round(ann={"claim": [[0, 0]], "raid": [[1, 1]], **uses})
    assert (land.owner(0, 0), land.owner(1, 1)) == ("ann", "ann")
    assert land.refusals == ["mining/not-yours"] * 4
    land.round(ann=uses)
    assert land.refusals == []
    return set()


@plays("lost-plot")
def mining_a_lost_plot_gives_nothing_and_costs_its_stamina(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    land.round(ann=_mine(2), bob={"raid": [[0, 0]]})
    assert (land.state.gold["ann"], land.spent("ann")) == (0, 2)
    return set()


def _raid(land: Land) -> None:
    """Let bob, who has 20 gold, raid two plots of ann, who defends one of them."""
    land.give("ann", [(0, 0), (0, 1)])
    land.rich("bob", 20)
    land.round(ann={"defend": [[0, 1]]}, bob={"raid": [[0, 0], [0, 1]]})


@plays("authority", "no authority", "没有任何权威", authority="none")
def without_authority_a_raid_has_no_price(land: Land) -> Told:
    _raid(land)
    assert (land.owner(0, 0), land.state.gold["bob"]) == ("bob", 20)
    assert land.view("bob")["stamina"] == land.config.stamina
    return set()


@plays("authority", "owner of the raided", "被抢地块的主人", authority="raid_tax", raid_tax_to="victim")
def each_raid_is_taxed_for_its_victim(land: Land) -> Told:
    _raid(land)
    assert 20 - land.state.gold["bob"] == land.state.gold["ann"]
    paid = land.state.gold["ann"] // 2
    land.rich("cay", 0)
    land.round(cay={"raid": [[0, 1]]})
    assert land.state.gold["cay"] == 0
    return {paid}


@plays("authority", "paid to nobody", "不归任何人", authority="raid_tax", raid_tax_to="nobody")
def each_raid_is_taxed_for_nobody(land: Land) -> Told:
    _raid(land)
    assert land.state.gold["ann"] == 0
    return {(20 - land.state.gold["bob"]) // 2}


@plays("authority", "stamina less", "下回合就少", authority="punishment")
def a_raider_lacks_stamina_next_round(land: Land) -> Told:
    _raid(land)
    left = land.view("bob")["stamina"]
    land.round(bob={"claim": land.everywhere()})
    assert land.spent("bob") == left
    full = land.view("bob")["stamina"]
    assert full == land.config.stamina
    return {full - left}


@plays("authority", "former owner", "归还原主", authority="adjudication", adjudication_percent=100)
def what_is_sure_to_go_back_goes_back(land: Land) -> Told:
    _raid(land)
    assert land.owner(0, 0) == "ann"
    return {100}


@plays("authority", "former owner", "归还原主", authority="adjudication", adjudication_percent=0)
def what_never_goes_back_stays(land: Land) -> Told:
    _raid(land)
    assert land.owner(0, 0) == "bob"
    return {0}


# --- the view --------------------------------------------------------------------------------------------


@plays("view-self")
def the_view_shows_who_one_is_and_what_one_has(land: Land) -> Told:
    land.rich("ann", 17)
    view = land.view("ann")
    assert (view["you"], view["gold"], view["stamina"]) == ("ann", 17, land.config.stamina)
    land.round()
    assert land.view("ann")["turn"] == view["turn"] + 1
    assert MINING.setup(land.config, AGENTS, 1).turn == 0
    return set()


@plays("view-map")
def the_map_has_codes_by_place_and_points_where_nobody_is(land: Land) -> Told:
    land.give("ann", [(0, 1)])
    land.give("bob", [(1, 0)])
    view = land.view("cay")
    rows = [row.split(" ") for row in view["map"]]
    assert next(iter(view["plots_held"])) == "ann"
    assert (rows[0][:2], rows[1][:2]) == (["..", "01"], ["02", ".."])
    return {int(rows[0][1])}


@plays("view-holdings")
def the_view_shows_the_largest_holder_and_its_border(land: Land) -> Told:
    block = [(r, c) for r in range(3) for c in range(3)]
    land.give("bob", block)
    view = land.view("ann")
    assert view["plots_held"]["bob"] == 9
    assert view["largest"]["agent"] == "bob"
    assert view["largest"]["border"] == [[0, 2], [1, 2], [2, 0], [2, 1], [2, 2]]
    return set()


@plays("view-own")
def the_view_shows_ones_plots_core_and_last_round(land: Land) -> Told:
    land.give("ann", [(0, 0), (0, 1), (1, 0)])
    land.round(ann={**_mine(1), "claim": [[3, 3]]})
    view = land.view("ann")
    assert view["your_plots"] == [[0, 0, 11], [0, 1, 11], [1, 0, 11], [3, 3, 1]]
    assert view["your_core"] == [[0, 0]]
    gold = land.state.alpha[0][0]
    assert view["your_last_round"] == {"claim": 1, "raid": 0, "defend": 0, "mine": 1, "gold": gold}
    land.give("bob", [(5, 5)])
    assert land.view("bob")["your_core"] == [[5, 5]]
    return set()


@plays("view-last-round")
def everybody_sees_what_happened_plot_by_plot(land: Land) -> Told:
    land.give("ann", [(0, 0), (0, 1)])
    land.round(
        ann={"defend": [[0, 0]], "claim": [[2, 2]]},
        bob={"raid": [[0, 0]], "claim": [[2, 2]]},
        cay={"raid": [[0, 1]]},
    )
    news = land.view("cay")["last_round"]
    assert [claim["plot"] for claim in news["contested"]] == [[2, 2]]
    assert news["defended"] == [[0, 0]]
    assert [(raid["plot"], raid["taken_by"]) for raid in news["raided"]] == [([0, 0], None), ([0, 1], "cay")]
    return set()


def _summaries(land: Land, rounds: int) -> int:
    """Tell how many rounds the summary has after so many rounds."""
    for _ in range(rounds):
        land.round(ann={"claim": [[0, 0]]})
    return len(land.view("bob")["summary"])


@plays("view-summary", "the last round", "上一回合", visibility="last")
def the_summary_has_one_round(land: Land) -> Told:
    assert _summaries(land, 12) == 1
    return set()


@plays("view-summary", "of the last", "最近", visibility="window")
def the_summary_has_a_window_of_rounds(land: Land) -> Told:
    return {_summaries(land, 12)}


@plays("view-summary", "every round", "每个回合", visibility="full")
def the_summary_has_every_round(land: Land) -> Told:
    assert _summaries(land, 12) == 12
    return set()


@plays("view-messages", communication=True)
def messages_name_their_author(land: Land) -> Told:
    land.round(ann={"message": "peace?"})
    assert land.view("bob")["messages"] == [{"from": "ann", "text": "peace?"}]
    return set()


# --- the answer ------------------------------------------------------------------------------------------


@plays("priority")
def what_is_said_last_is_removed_first(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    claims = [[r, c] for r, c in land.everywhere() if (r, c) != (0, 0)]
    land.round(ann={"claim": claims, "mine": [{"cell": [0, 0], "s": 2}]})
    kept = [action.cell for action in land.kept["ann"].actions]
    assert [list(cell) for cell in kept] == claims[: len(kept)]
    assert set(land.refusals) == {"mining/over-budget"}
    land.round(ann={"mine": [{"cell": [0, 0], "s": 2}], "claim": land.everywhere()})
    assert land.kept["ann"].actions[0].kind == "mine"
    return set()


@plays("plan")
def a_plan_mixes_kinds_in_its_order(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    steps: list[JsonObject] = [{"claim": [1, 1]}, {"mine": {"cell": [0, 0], "s": 1}}, {"claim": [2, 2]}]
    land.round(ann={"plan": steps})
    assert [action.kind for action in land.kept["ann"].actions] == ["claim", "mine", "claim"]
    return set()


@plays("not-allowed", defense="block_all")
@plays("not-allowed", "but not defend", "防御除外", defense="per_point")
def what_is_not_allowed_is_removed(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    land.give("bob", [(1, 1)])
    land.round(ann={"claim": [[99, 0], [1, 1], [2, 2], [2, 2]], "raid": [[0, 0]], "defend": [[0, 0], [0, 0]]})
    refused = ["mining/off-grid", "mining/already-owned", "mining/repeat", "mining/own-plot"]
    if land.config.defense == "block_all":
        refused.append("mining/repeat")
    assert land.refusals == refused
    return set()


@plays("not-allowed", immunity=2)
def a_raid_on_a_protected_plot_is_removed(land: Land) -> Told:
    land.round(bob={"claim": [[0, 0]]})
    land.round(ann={"raid": [[0, 0]]})
    assert (land.refusals, land.spent("ann")) == (["mining/immune"], 0)
    return set()


@plays("fault-policy", "not replaced", "不会补上", fault_policy="prune")
def what_is_removed_is_not_replaced(land: Land) -> Told:
    land.round(ann={"claim": [[99, 99]]})
    assert land.spent("ann") == 0
    return set()


@plays("fault-policy", "random allowed one", "随机", fault_policy="rationalize")
def what_is_removed_is_replaced_at_no_higher_cost(land: Land) -> Told:
    land.round(ann={"claim": [[99, 99]]})
    assert [mend.code for mend in land.mends] == ["mining/rationalized"]
    assert land.spent("ann") == 1
    land.round(ann={"claim": [*land.everywhere(), [99, 99]]})
    assert land.spent("ann") == land.config.stamina
    return set()


@plays("over-cap")
def stamina_over_the_cap_is_cut(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    land.round(ann=_mine(50))
    return {land.spent("ann")}


@plays("reflection")
def notes_are_kept_and_nobody_else_reads_them(land: Land) -> Told:
    notes = {"summary_last_turn": "noted one", "history_summary": "noted two", "memory": "noted three"}
    land.round(ann=notes)
    reflection = land.kept["ann"].reflection
    assert {name: getattr(reflection, name) for name in notes} == notes
    assert "noted" not in json.dumps([land.view("bob"), land.view("cay")])
    return set()


@plays("reports", "one to ten", "一到十")
def ratings_go_from_one_to_ten(land: Land) -> Told:
    rated = {"bob": 1, "cay": 10}
    land.round(ann={"keeps_word_report": rated, "aggressor_report": rated})
    assert land.refusals == []
    assert land.kept["ann"].reflection.aggressor_report == rated
    land.round(ann={"keeps_word_report": {"bob": 0, "cay": 11}})
    assert land.refusals == ["reflection/rating-out-of-range"] * 2
    return set()


# --- the advice, which the comparator `guided` follows -----------------------------------------------------


@plays("fair-share", stamina=1000)
def a_fair_share_is_what_is_enough_for_the_guided(land: Land) -> Told:
    return {len(land.guided("ann")["claim"])}


@plays("advice-claim")
def who_owns_too_little_claims_first(land: Land) -> Told:
    land.give("ann", [(0, 0)])
    answer = land.guided("ann")
    kinds = [key for key in answer if key in ("claim", "raid", "defend", "mine")]
    assert kinds[0] == "claim"
    assert "raid" not in kinds
    return set()


@plays("advice-raid")
def who_must_raid_raids_the_border_of_the_largest(land: Land) -> Told:
    land.give("bob", cells(land.config))
    land.give("ann", [(2, 2)])
    land.give("cay", [(5, 5)])
    raided = land.guided("ann")["raid"]
    assert raided
    assert all(cell in land.view("ann")["largest"]["border"] for cell in raided)
    return set()


@plays("advice-mine")
def who_owns_enough_mines_to_the_cap(land: Land) -> Told:
    land.give("ann", cells(land.config))
    answer = land.guided("ann")
    assert "claim" not in answer or not answer["claim"]
    return {answer["mine"][0]["s"]}


@plays("advice-defend")
def who_is_raided_defends_the_core_first(land: Land) -> Told:
    land.give("ann", [(r, c) for r in range(3) for c in range(3)])
    land.round(bob={"raid": [[2, 2]]})
    answer = land.guided("ann")
    core = land.view("ann")["your_core"]
    assert next(key for key in answer if key != "reasoning") == "defend"
    assert core
    assert all(cell in answer["defend"] for cell in core)
    return set()


ADVICE = {play.rule for play in PLAYS if play.rule.startswith("advice-")} | {"fair-share"}


# --- the prompts ------------------------------------------------------------------------------------------


@cache
def prompts(variant: str, lang: str) -> PromptSet:
    """Load a template once."""
    return load_prompts(MINING, variant, lang)


def render(variant: str, lang: str, values: Mapping[str, Any], agents: tuple[str, ...] = AGENTS) -> str:
    """Give the system text under some config values."""
    return system_text(prompts(variant, lang), settle(MINING, agents, 1, values))


def sentence(variant: str, lang: str, values: Mapping[str, Any], rule: str) -> str:
    """Give the sentence of one rule as it is rendered, to the end of its paragraph."""
    template = prompts(variant, lang)
    marked = replace(template, system=re.sub(r"\{# rule: ([\w-]+) #\}", r"⟦\1⟧", template.system))
    text = system_text(marked, settle(MINING, AGENTS, 1, values))
    found = re.search(rf"⟦{rule}⟧\n(.*?)(?=\n*⟦|\n\n|\Z)", text, re.DOTALL)
    assert found is not None
    return found[1]


def numbers(text: str) -> Told:
    """List the numbers of a text, but for those in examples of JSON."""
    return {int(number) for number in re.findall(r"\d+", re.sub(r"\{.*\}", "", text))}


def cases() -> Iterator[Any]:
    """Give each play in each template that states its rule, under the baseline's numbers and others."""
    for variant, lang in TEMPLATES:
        for play in PLAYS:
            if variant == "guided" or play.rule not in ADVICE:
                for name, base in (("baseline", {}), ("other", OTHER_NUMBERS)):
                    yield pytest.param(variant, lang, play, base, id=f"{variant}-{lang}-{play}-{name}")


@pytest.mark.parametrize(("variant", "lang", "play", "base"), list(cases()))
def test_what_the_prompt_says_is_what_the_engine_does(
    variant: str, lang: str, play: Play, base: Mapping[str, Any]
) -> None:
    values = {**base, **play.treatment}
    said = sentence(variant, lang, values, play.rule)
    assert said
    assert getattr(play, lang) in said
    assert numbers(said) == play.play(Land(values))


@pytest.mark.parametrize(("variant", "lang"), TEMPLATES)
def test_each_marked_rule_is_played_and_each_play_has_its_rule(variant: str, lang: str) -> None:
    marked = rules_of(prompts(variant, lang).system)
    assert len(marked) == len(set(marked))
    played = {play.rule for play in PLAYS}
    assert set(marked) == (played if variant == "guided" else played - ADVICE)


@pytest.mark.parametrize("field", ["defense", "visibility", "fault_policy", "authority", "raid_tax_to"])
def test_each_treatment_that_words_a_rule_is_played(field: str) -> None:
    choices = MiningConfig.model_json_schema()["properties"][field]["enum"]
    assert {play.treatment[field] for play in PLAYS if field in play.treatment} == set(choices)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_treatment_is_told_in_words_that_no_other_treatment_has(lang: str) -> None:
    for one, other in permutations(PLAYS, 2):
        words = getattr(one, lang)
        if one.rule == other.rule and words not in ("", getattr(other, lang)):
            assert words not in sentence("guided", lang, other.treatment, other.rule)


@pytest.mark.parametrize(("variant", "lang"), TEMPLATES)
def test_no_number_of_a_rule_is_written_into_the_template(variant: str, lang: str) -> None:
    baseline = numbers(render(variant, lang, {}, MINING.names(10)))
    assert baseline
    other = numbers(render(variant, lang, OTHER_NUMBERS, MINING.names(19)))
    assert baseline & other == {1}  # the map's code of the first miner, `01`


@pytest.mark.parametrize(("variant", "lang"), TEMPLATES)
def test_stamina_seven_is_told_as_seven(variant: str, lang: str) -> None:
    assert numbers(sentence(variant, lang, {"stamina": 7}, "stamina")) == {7}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_of_a_hundred_miners_the_first_has_a_code_of_three_digits(lang: str) -> None:
    agents = MINING.names(100)
    state = MINING.setup(MiningConfig(), agents, 1)
    resolved = MINING.resolve(
        state, {agents[0]: MINING.validate(state, agents[0], {"claim": [[0, 0]]}).intent}
    )
    view: Any = MINING.observe(resolved.state, agents[0])
    assert view["map"][0].split(" ")[0] == "001"
    assert "`001`" in render("guided", lang, {}, agents)


@pytest.mark.parametrize(("variant", "lang"), TEMPLATES)
@pytest.mark.parametrize("values", [{}, {**OTHER_NUMBERS, "communication": True}])
def test_the_examples_of_an_answer_are_answers(variant: str, lang: str, values: Mapping[str, Any]) -> None:
    examples = [json.loads(found) for found in re.findall(r"\{\".*\}", render(variant, lang, values))]
    assert len(examples) == 2
    for example in examples:
        MiningAction.model_validate(example)
        land = Land(values)
        land.give("ann", [(0, 0)])
        land.round(ann=example)
        assert (land.drops, land.mends) == ([], [])


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_each_key_of_the_view_is_explained(lang: str) -> None:
    for communication in (False, True):
        values = {"communication": communication}
        view = {**Land(values).view("ann"), "mind": {}}
        text = render("unguided", lang, values)
        assert [key for key in view if key != "world" and key not in text] == []
        assert ("`messages`" in text) == communication


@pytest.mark.parametrize(("variant", "lang"), TEMPLATES)
def test_the_prompts_hold_under_every_treatment(variant: str, lang: str) -> None:
    assert check_prompts(MINING, prompts(variant, lang)) == ()


def test_there_are_two_variants_in_two_languages() -> None:
    assert {(v, lang) for v in variants("mining") for lang in languages("mining", v)} == set(TEMPLATES)
    assert {MINING.prompts(MiningConfig(guidance=on)) for on in (False, True)} == set(variants("mining"))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_guided_is_unguided_with_advice(lang: str) -> None:
    guided, unguided = render("guided", lang, {}), render("unguided", lang, {})
    assert guided.startswith(unguided)
    assert "your_core`" in guided.removeprefix(unguided)


@pytest.mark.parametrize(("variant", "lang"), TEMPLATES)
def test_the_horizon_is_not_told(variant: str, lang: str) -> None:
    assert render(variant, lang, {"rounds": 123}) == render(variant, lang, {"rounds": 200})


def test_the_baseline_is_short() -> None:
    assert approximate_tokens(render("guided", "en", {}, MINING.names(10))) <= 1100


@pytest.mark.parametrize(("variant", "lang"), TEMPLATES)
def test_a_turn_ends_with_what_the_agent_sees(variant: str, lang: str) -> None:
    view = {**Land({}).view("ann"), "mind": {}}
    assert json.loads(turn_text(prompts(variant, lang), view).splitlines()[-1]) == view
