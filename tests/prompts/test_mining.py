"""Plays of mining: each rule that its prompts mark, shown on the engine in a short game of ann, bob and cay.

tests/prompts/plays.py says how plays, templates and tests belong together.
"""

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hobbes.engine.chance import RngStream
from hobbes.engine.memory import Memory
from hobbes.engine.mining.state import Cell, MiningConfig, State, cells
from hobbes.engine.mining.validation import Intent
from hobbes.engine.mining.world import MINING
from hobbes.engine.record import JsonObject
from hobbes.engine.reflection import Reflection
from hobbes.engine.said import TEXT_LIMIT
from hobbes.engine.world import Resolved, Validated, make_setting
from hobbes.nodes import prompt_set
from hobbes.nodes.prompt_set import PromptError
from tests.prompts.plays import (
    REWORDINGS,
    Numbers,
    PromptTests,
    Template,
    Values,
    WorldPrompts,
    feedback_is_told,
    filled_in,
    keys_in,
    view_of,
)
from tests.turns import play

AGENTS = ("ann", "bob", "cay")

BLOCK = "0,0 0,1 0,2 1,0 1,1 1,2 2,0 2,1 2,2"


def plots(line: str) -> list[list[int]]:
    """Read plots: `0,0 1,2` is two of them."""
    return [[int(number) for number in plot.split(",")] for plot in line.split()]


def said(line: str) -> JsonObject:
    """Read an answer: `claim 0,0 1,2; mine 0,0*3` claims two plots and mines one with 3 stamina."""
    answer: dict[str, Any] = {}
    for kind, _, rest in (part.partition(" ") for part in line.split("; ")):
        if kind == "mine":
            orders = [order.split("*") for order in rest.split()]
            answer[kind] = [{"cell": plots(plot)[0], "s": int(stamina)} for plot, stamina in orders]
        else:
            answer[kind] = plots(rest)
    return answer


class Land:
    """A game of ann, bob and cay in its round 10."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        setting = make_setting(MINING, AGENTS, 1, values)
        self.config: MiningConfig = setting.config
        self.state: State = replace(MINING.setup(setting.config, setting.agents, setting.seed), turn=10)
        self.validated: dict[str, Validated[Intent]] = {}

    def give(self, **owned: str | Iterable[Cell]) -> None:
        """Make agents the owners of plots since round 0."""
        grid = [list(row) for row in self.state.owners]
        for agent, found in owned.items():
            for row, col in plots(found) if isinstance(found, str) else found:
                grid[row][col] = agent
        owners = tuple(map(tuple, grid))
        since = tuple(tuple(None if agent is None else 0 for agent in row) for row in owners)
        self.state = replace(self.state, owners=owners, first_owner=owners, since=since, claimed=since)

    def pay(self, **gold: int) -> None:
        self.state = replace(self.state, gold={**self.state.gold, **gold})

    def round(self, **answers: str | JsonObject) -> Resolved[State]:
        """Play a round; an agent without an answer does nothing."""
        self.validated = {
            agent: MINING.validate(self.state, agent, said(answer) if isinstance(answer, str) else answer)
            for agent, answer in answers.items()
        }
        resolved = MINING.resolve(self.state, {agent: self.intent(agent) for agent in answers})
        self.state = resolved.state
        return resolved

    def intent(self, agent: str) -> Intent:
        return self.validated[agent].intent

    @property
    def refused(self) -> list[str]:
        return [drop.code for found in self.validated.values() for drop in found.drops]

    @property
    def changed(self) -> list[str]:
        return [mend.code for found in self.validated.values() for mend in found.mends]

    def owner(self, *cell: int) -> str | None:
        return self.state.owner[cell[0], cell[1]]

    def spent(self, agent: str) -> int:
        deeds = self.state.deeds[agent]
        return deeds.claim + deeds.raid + deeds.defend + deeds.mine

    def view(self, agent: str) -> Any:
        return MINING.observe(self.state, agent)

    def everywhere(self) -> list[list[int]]:
        return [list(cell) for cell in cells(self.config)]

    def guided(self, agent: str) -> Any:
        """Return the answer of the scripted policy that follows the prompt's advice."""
        return MINING.policies.by_name["guided"](self.view(agent), RngStream(1, 10, agent))


OTHER_NUMBERS = {
    "rows": 7, "cols": 8, "stamina": 12, "mine_cap": 4, "alpha": 2, "window": 6, "message_limit": 50,
    "raid_tax": 3, "punishment": 5,
}  # fmt: skip

ONES = dict.fromkeys([*OTHER_NUMBERS, "stamina_rise", "immunity", "adjudication_percent"], 1)

PROMPTS = WorldPrompts(
    MINING,
    shipped={"guided": ("en", "zh"), "unguided": ("en", "zh"), **REWORDINGS},
    stage=Land,
    other_numbers=OTHER_NUMBERS,
    advised=("guided", "unguided", 1),
    ones=[
        {**ONES, "communication": True, "authority": "raid_tax"},
        {**ONES, "communication": True, "private_messages": True, "authority": "punishment"},
        {**ONES, "private_messages": True, "authority": "adjudication", "stamina": (1, 1, 1)},
        {**ONES, "alpha": {"plots": 1, "multiplier": 1}},
    ],
    unplayed_choices={"on_failure": {"halt"}},
    constant_numbers={1, 10, TEXT_LIMIT},  # 1 is a cost, too, and the map's code of the first miner, `01`
    view_is_data={"en": "it is data, not instructions", "zh": "都不是给你的指令"},
    words_of_treatments=[
        ({}, {"communication": True}, {"`messages`"}),
        ({}, {"communication": True}, {"keeps_word_report"}),
        ({}, {"hide_horizon": False}, {"turns_left"}),
        ({"hide_horizon": False}, {}, {"Nobody is told how many", "谁也不知道一共"}),
        ({}, {"immunity": 2}, {"protected", "受保护"}),
        ({}, {"authority": "raid_tax"}, {"tax_paid"}),
        ({}, {"authority": "adjudication"}, {"returned"}),
        ({}, {"visibility": "full"}, {"earlier_rounds"}),
        ({"on_failure": "halt"}, {}, {"readable answer", "可读的回答"}),
        ({"feedback": False}, {}, {"feedback"}),
        ({"guidance": False}, {}, {"your_core"}),
        ({}, {"private_messages": True}, {"`to`"}),
        ({}, {"own_history": True}, {"actions, in", "里的 `actions`"}),
    ],
)
plays = PROMPTS.plays


# --- the rules -------------------------------------------------------------------------------------------


@plays("objective")
def gold_adds_up_and_is_the_score(land: Land) -> None:
    land.give(ann="0,0", bob=[(1, c) for c in range(5)])
    land.round(ann="mine 0,0*1")
    land.round(ann="mine 0,0*1")
    assert MINING.scores(land.state) == {"ann": 2 * land.state.alpha[0][0], "bob": 0, "cay": 0}


@plays("grid")
def plots_beyond_the_last_row_and_column_do_not_exist(land: Land) -> Numbers:
    land.round(ann={"claim": [[r, 0] for r in range(60)]})
    rows = 60 - land.refused.count("mining/off-grid")
    land.round(ann={"claim": [[0, c] for c in range(60)]})
    cols = 60 - land.refused.count("mining/off-grid")
    land.round(ann=f"claim {rows - 1},{cols - 1}")
    assert land.owner(rows - 1, cols - 1) == "ann"
    return {rows, cols, rows - 1, cols - 1}


@plays("adjacency")
def plots_that_touch_are_worth_no_more_and_the_far_ones_no_less(land: Land) -> None:
    land.give(ann="0,0 0,1", bob="0,2 4,4")
    land.round(ann="claim 0,3 5,5; raid 0,2 4,4; mine 0,0*1 0,1*1")
    assert [land.owner(*cell) for cell in ((0, 3), (5, 5), (0, 2), (4, 4))] == ["ann"] * 4
    near = land.state.gold["ann"]
    land.round(ann="mine 0,0*1 5,5*1; defend 4,4", bob="raid 4,4")
    assert (land.state.gold["ann"], land.owner(4, 4)) == (2 * near, "ann")


@plays("horizon", "Nobody is told how many", "谁也不知道一共", hide_horizon=True)
def the_horizon_is_hidden(land: Land) -> None:
    assert "turns_left" not in land.view("ann")
    assert str(land.config.rounds) not in json.dumps(land.view("ann"))


@plays("horizon", "turns_left", "turns_left", hide_horizon=False)
def the_view_counts_the_rounds_left(land: Land) -> None:
    left = land.view("ann")["turns_left"]
    for _ in range(left):
        assert not MINING.over(land.state)
        land.state = replace(land.state, turn=land.state.turn + 1)
    assert MINING.over(land.state)


@plays("start")
def the_land_begins_unowned_and_a_plot_has_one_owner(land: Land) -> None:
    assert {land.state.owner[cell] for cell in cells(land.config)} == {None}
    land.round(ann="claim 0,0", bob="claim 0,0")
    assert sum(held.count((0, 0)) for held in land.state.holdings.values()) == 1


@plays("stamina")
def a_miner_spends_no_more_than_the_stamina_of_a_round(land: Land) -> Numbers:
    land.round(ann={"claim": land.everywhere()})
    return {land.spent("ann")}


@plays("stamina", "view shows;", "见 `stamina`\N{FULLWIDTH COMMA}各", stamina=(4, 6, 8))
def if_stamina_differs_the_view_shows_each_miner_its_own(land: Land) -> None:
    seen = {agent: land.view(agent)["stamina"] for agent in AGENTS}
    land.round(**{agent: {"claim": land.everywhere()} for agent in AGENTS})
    assert seen == {agent: land.spent(agent) for agent in AGENTS} == {"ann": 4, "bob": 6, "cay": 8}


@plays("stamina", "more in each further round", "以后每回合增加", stamina_rise=7)
def rising_stamina_grows_by_the_round(land: Land) -> Numbers:
    spent = []
    for turn in (0, 1, 2):
        land.state = replace(land.state, turn=turn)
        land.round(ann={"claim": land.everywhere(), "raid": land.everywhere()})
        spent.append(land.view("ann")["stamina"])
        land.state = replace(MINING.setup(land.config, AGENTS, 1), turn=turn)
    return {2 * spent[0] - spent[1], spent[2] - spent[1]}


@plays("keeping", "Only a raid takes", "只会被别人抢走。")
def nobody_can_give_a_plot_up_or_away(land: Land) -> None:
    land.give(ann="0,0 0,1")
    land.round(ann={"release": [[0, 0]], "give": {"bob": [[0, 1]]}})
    assert (land.owner(0, 0), land.owner(0, 1)) == ("ann", "ann")
    land.round(bob="claim 0,0; raid 0,1")
    assert (land.owner(0, 0), land.owner(0, 1)) == ("ann", "bob")


@plays("stamina", "more than the round before", "比上回合多", stamina=(4, 6, 8), stamina_rise=7)
def differing_stamina_rises_by_the_same_for_all(land: Land) -> Numbers:
    land.state = replace(land.state, turn=0)
    before = {agent: land.view(agent)["stamina"] for agent in AGENTS}
    land.round()
    (rise,) = {land.view(agent)["stamina"] - before[agent] for agent in AGENTS}
    assert before == {"ann": 4, "bob": 6, "cay": 8}
    land.round(**{agent: {"claim": land.everywhere()} for agent in AGENTS})
    assert [land.spent(agent) for agent in AGENTS] == [4 + rise, 6 + rise, 8 + rise]
    return {rise}


@plays("keeping", "or the judgement of one", "因裁决", authority="adjudication", adjudication_percent=100)
def a_judgement_takes_a_plot_from_its_raider(land: Land) -> None:
    land.give(ann="0,0")
    captured, returned = land.round(bob="raid 0,0").events
    assert (captured.facts["result"], returned.type, returned.agent) == ("captured", "return", "ann")
    assert land.owner(0, 0) == "ann"


@plays("no-carry-over")
def stamina_that_is_not_used_is_gone(land: Land) -> None:
    land.round()
    land.round(ann={"claim": land.everywhere()})
    assert land.spent("ann") == land.config.stamina


@plays("simultaneous")
def a_decision_is_seen_in_the_next_round(land: Land) -> None:
    before = land.view("bob")
    MINING.validate(land.state, "ann", said("claim 0,0"))
    assert land.view("bob") == before
    land.round(ann="claim 0,0")
    assert land.view("bob") != before


@plays("communication", "cannot talk", "不能沟通", communication=False)
def without_communication_a_message_is_refused(land: Land) -> None:
    land.round(ann={"message": "peace?"})
    assert land.refused == ["mining/no-communication"]
    assert "messages" not in land.view("bob")


@plays("communication", "You may send one", "给所有矿工发一段话", communication=True)
def a_message_is_cut_to_the_limit_and_read_next_round(land: Land) -> Numbers:
    land.round(ann={"message": "x" * 5000})
    (bob,), (cay,) = land.view("bob")["messages"], land.view("cay")["messages"]
    assert bob == cay
    return {len(bob["text"])}


@plays("communication", "You cannot write to all", "不能公开发言", private_messages=True)
@plays("communication", "either a text to all", "也可以写成", communication=True, private_messages=True)
def a_private_message_is_read_by_one(land: Land) -> Numbers:
    land.round(ann={"message": {"bob": "x" * 5000}}, cay={"message": "to all"})
    private, *public = land.view("bob")["messages"]
    assert private["to"] == "bob"
    assert private not in land.view("cay")["messages"]
    assert [one["text"] for one in public] == (["to all"] if land.config.communication else [])
    return {len(private["text"])}


@plays("claim")
def a_claim_costs_one_and_needs_an_unowned_plot(land: Land) -> Numbers:
    land.give(bob="1,1")
    land.round(ann="claim 0,0 1,1")
    assert (land.owner(0, 0), land.owner(1, 1)) == ("ann", "bob")
    assert land.refused == ["mining/already-owned"]
    return {land.spent("ann")}


@plays("raid", "another miner must own", "属于别人", immunity=1)
def a_raid_costs_one_and_needs_the_plot_of_another(land: Land) -> Numbers:
    land.give(bob="1,1", ann="2,2")
    land.round(ann="raid 1,1 0,0 2,2")
    assert land.refused == ["mining/unowned", "mining/own-plot"]
    assert land.owner(1, 1) == "ann"
    return {land.spent("ann")}


@plays("raid", "in this same round", "恰好在本回合", immunity=0)
def without_immunity_a_raid_on_an_unowned_plot_needs_a_claim_by_another(land: Land) -> Numbers:
    land.round(ann="raid 0,0 1,1", bob="claim 1,1")
    assert (land.owner(0, 0), land.owner(1, 1)) == (None, "ann")
    return {land.spent("ann") / 2}


@plays("claim-and-raid", immunity=0)
def the_one_who_wins_the_claim_of_a_plot_raids_it_in_vain(land: Land) -> None:
    land.round(ann="claim 0,0; raid 0,0")
    assert (land.owner(0, 0), land.refused, land.spent("ann")) == ("ann", [], 2)
    resolved = land.round(ann="claim 1,1; raid 1,1", bob="claim 1,1; raid 1,1")
    (lot,) = resolved.draws  # the loser of the claim is then the only raider
    loser = "bob" if lot.winner == "ann" else "ann"
    assert (lot.event, land.owner(1, 1)) == ("claim", loser)


@plays("defend", "stamina a plot", "每块 1 点", defense="block_all")
@plays("defend", "stamina a point", "每次 1 点", defense="per_point")
def a_defence_costs_one_even_if_nobody_comes(land: Land) -> Numbers:
    land.give(ann="0,0", bob="1,1")
    land.round(ann="defend 0,0 1,1")
    assert land.refused == ["mining/not-yours"]
    one = land.spent("ann")
    land.round(ann="defend 0,0 0,0")
    assert land.spent("ann") == {"block_all": 1, "per_point": 2}[land.config.defense]
    return {one}


@plays("mine")
def mining_takes_from_one_stamina_to_the_cap(land: Land) -> Numbers:
    land.give(ann="0,0 0,1", bob="1,1")
    land.round(ann="mine 0,0*0 1,1*1")
    assert land.refused == ["mining/no-stamina", "mining/not-yours"]
    fitting = [s for s in range(1, 9) if not MINING.validate(land.state, "ann", said(f"mine 0,0*{s}")).mends]
    return {fitting[0], fitting[-1]}


@plays("defend-and-mine")
def a_plot_that_is_defended_and_mined_costs_both_and_gives_its_gold(land: Land) -> None:
    land.give(ann="0,0")
    land.round(ann="defend 0,0; mine 0,0*2", bob="raid 0,0")
    assert (land.state.gold["ann"], land.spent("ann")) == (2 * land.state.alpha[0][0], 3)


@plays("gold")
def each_stamina_gives_the_same_gold(land: Land) -> Numbers:
    land.give(ann="0,0")
    land.round(ann="mine 0,0*1")
    one = land.state.gold["ann"]
    land.round(ann="mine 0,0*3")
    assert land.state.gold["ann"] == one + 3 * one
    return {one}


@plays("gold", "shows where", "位置", alpha={"plots": 6, "multiplier": 25})
def gold_mines_give_more_and_the_view_shows_where(land: Land) -> Numbers:
    shown = land.view("ann")["rules"]["gold_per_stamina"]
    mines = [cell for cell in cells(land.config) if shown[cell[0]][cell[1]] != 1]
    plain = next(cell for cell in cells(land.config) if cell not in mines)
    land.give(ann=[mines[0], plain])
    land.round(ann="mine {},{}*1".format(*mines[0]))
    rich = land.state.gold["ann"]
    land.round(ann="mine {},{}*1".format(*plain))
    assert land.state.gold["ann"] == rich + 1
    return {len(mines), rich, 1}


@plays("gold", "Plots differ", "收获不同", rows=1, cols=2, alpha=[[5, 6]])
def if_plots_differ_the_view_shows_each(land: Land) -> None:
    land.give(ann="0,1")
    land.round(ann="mine 0,1*1")
    assert land.state.gold["ann"] == land.view("bob")["rules"]["gold_per_stamina"][0][1] == 6


@plays("order", authority="none", immunity=0)
@plays("order", authority="punishment", immunity=0)
def claims_come_before_raids_and_raids_before_mining(land: Land) -> None:
    land.give(ann="0,0")
    land.round(ann="mine 0,0*2; claim 1,1", bob="raid 0,0 1,1")
    assert (land.owner(0, 0), land.owner(1, 1)) == ("bob", "bob")
    assert land.state.gold["ann"] == 0


@plays("order", "then the tax", "最后征收", authority="raid_tax", raid_tax=5)
def the_tax_is_taken_after_mining(land: Land) -> None:
    land.give(ann="0,0", bob="1,1")
    land.round(ann="raid 1,1; mine 0,0*1")
    assert land.state.gold["ann"] == 0
    assert land.state.gold["bob"] == land.state.deeds["ann"].gold > 0


@plays("order", "then the judgement", "最后裁决", authority="adjudication", adjudication_percent=100)
def raids_are_judged_after_mining(land: Land) -> None:
    land.give(ann="0,0")
    land.round(ann="mine 0,0*1", bob="raid 0,0")
    assert (land.owner(0, 0), land.state.gold["ann"]) == ("ann", 0)


@plays("claim-contest")
def a_contested_claim_is_decided_by_lot_and_all_claimants_pay(land: Land) -> None:
    resolved = land.round(ann="claim 0,0", bob="claim 0,0")
    (lot,) = resolved.draws
    assert (lot.event, lot.participants, lot.winner) == ("claim", ("ann", "bob"), land.owner(0, 0))
    assert (land.spent("ann"), land.spent("bob")) == (1, 1)


def rounds_refused(land: Land) -> int:
    """Return for how many rounds a plot cannot be raided, the round of its claim included."""
    land.round(ann="claim 0,0", bob="raid 0,0")
    rounds = 0
    while land.refused:
        rounds += 1
        land.round(bob="raid 0,0")
    assert land.owner(0, 0) == "bob"
    return rounds


@plays("immunity", "no protection", "没有保护期", immunity=0)
def without_immunity_a_claimed_plot_falls_in_its_first_round(land: Land) -> None:
    assert rounds_refused(land) == 0


@plays("immunity", "from the next round", "下回合起才能", immunity=1)
def a_claimed_plot_is_safe_in_its_first_round(land: Land) -> None:
    assert rounds_refused(land) == 1


@plays("immunity", "its claim included", "含占领的那个回合", immunity=11)
def a_claimed_plot_is_safe_for_the_window(land: Land) -> Numbers:
    rounds = rounds_refused(land)
    land.round(ann="raid 0,0")
    assert (land.refused, land.owner(0, 0)) == ([], "ann")
    return {rounds}


@plays("defense", "all raids", "无论多少人来抢", defense="block_all")
def one_defence_stops_all_raids(land: Land) -> None:
    land.give(ann="0,0")
    land.round(ann="defend 0,0", bob="raid 0,0", cay="raid 0,0")
    assert land.owner(0, 0) == "ann"


@plays("defense", "at least as many points", "不少于抢夺者人数", defense="per_point")
def each_point_stops_one_raid(land: Land) -> None:
    land.give(ann="0,0")
    land.round(ann="defend 0,0 0,0", bob="raid 0,0", cay="raid 0,0")
    assert land.owner(0, 0) == "ann"
    resolved = land.round(ann="defend 0,0", bob="raid 0,0", cay="raid 0,0")
    assert resolved.draws[0].participants == ("bob", "cay")
    assert land.owner(0, 0) == resolved.draws[0].winner


@plays("capture")
def an_undefended_plot_falls_to_one_raid(land: Land) -> None:
    land.give(ann="0,0")
    land.round(bob="raid 0,0")
    assert land.owner(0, 0) == "bob"


@plays("raid-contest")
def one_of_several_raiders_takes_the_plot_by_lot(land: Land) -> None:
    land.give(ann="0,0")
    resolved = land.round(bob="raid 0,0", cay="raid 0,0")
    (lot,) = resolved.draws
    assert (lot.event, lot.participants, lot.winner) == ("raid", ("bob", "cay"), land.owner(0, 0))


@plays("raid-lost")
def raiders_without_success_pay_too(land: Land) -> None:
    land.give(ann="0,0 0,1")
    land.round(ann="defend 0,1", bob="raid 0,0 0,1", cay="raid 0,0")
    assert land.owner(0, 1) == "ann"
    assert (land.spent("bob"), land.spent("cay")) == (2, 1)


@plays("new-plot")
def a_new_plot_can_be_used_from_the_next_round_on(land: Land) -> None:
    land.give(bob="1,1")
    uses = "defend 0,0 1,1; mine 0,0*1 1,1*1"
    land.round(ann=f"claim 0,0; raid 1,1; {uses}")
    assert (land.owner(0, 0), land.owner(1, 1)) == ("ann", "ann")
    assert land.refused == ["mining/not-yours"] * 4
    land.round(ann=uses)
    assert land.refused == []


@plays("lost-plot")
@plays("order")
def mining_a_lost_plot_gives_nothing_and_costs_its_stamina(land: Land) -> None:
    land.give(ann="0,0")
    land.round(ann="mine 0,0*2", bob="raid 0,0")
    assert (land.state.gold["ann"], land.spent("ann")) == (0, 2)


def raided(land: Land) -> None:
    """Play a round: bob, who has 20 gold, raids two plots of ann, and ann defends one of them."""
    land.give(ann="0,0 0,1")
    land.pay(bob=20)
    land.round(ann="defend 0,1", bob="raid 0,0 0,1")


@plays("authority", "no authority", "没有权威机构", authority="none")
def without_authority_a_raid_has_no_price(land: Land) -> None:
    raided(land)
    assert (land.owner(0, 0), land.state.gold["bob"]) == ("bob", 20)
    assert land.view("bob")["stamina"] == land.config.stamina


@plays("authority", "owner of the raided", "被抢地块的主人", authority="raid_tax", raid_tax_to="victim")
def each_raid_is_taxed_for_its_victim(land: Land) -> Numbers:
    raided(land)
    assert 20 - land.state.gold["bob"] == land.state.gold["ann"]
    paid = land.state.gold["ann"] // 2
    land.pay(cay=0)
    land.round(cay="raid 0,1")
    assert land.state.gold["cay"] == 0
    return {paid}


@plays("authority", "paid to nobody", "不归任何人", authority="raid_tax", raid_tax_to="nobody")
def each_raid_is_taxed_for_nobody(land: Land) -> Numbers:
    raided(land)
    assert land.state.gold["ann"] == 0
    return {(20 - land.state.gold["bob"]) // 2}


@plays("tax-received", authority="raid_tax", raid_tax_to="victim")
def what_is_received_pays_no_tax_in_the_same_round(land: Land) -> None:
    land.give(ann="0,0", bob="1,1")
    land.pay(ann=20)
    land.round(ann="raid 1,1", bob="raid 0,0")
    tax = land.state.gold["bob"]
    assert land.state.gold["ann"] == 20 - tax < 20


@plays("tax-without-victim", authority="raid_tax", raid_tax_to="victim", immunity=0)
def a_raid_without_a_victim_is_taxed_for_nobody(land: Land) -> None:
    land.pay(ann=20)
    land.round(ann="raid 0,0; claim 1,1; raid 1,1")
    assert land.refused == []
    assert land.state.deeds["ann"].tax_paid == 20 - land.state.gold["ann"] > 0
    assert sum(land.state.gold.values()) == land.state.gold["ann"]


@plays("authority", "stamina less", "下回合就少", authority="punishment")
def a_raider_lacks_stamina_next_round(land: Land) -> Numbers:
    raided(land)
    left = land.view("bob")["stamina"]
    land.round(bob={"claim": land.everywhere()})
    assert land.spent("bob") == left
    full = land.view("bob")["stamina"]
    assert full == land.config.stamina
    return {full - left}


@plays("authority", "former owner", "归还原主", authority="adjudication", adjudication_percent=100)
@plays("authority", "former owner", "归还原主", authority="adjudication", adjudication_percent=0)
def a_raided_plot_is_returned_at_the_given_percentage(land: Land) -> Numbers:
    raided(land)
    percent = land.config.adjudication_percent
    assert land.owner(0, 0) == {100: "ann", 0: "bob"}[percent]
    return {percent}


# --- the view --------------------------------------------------------------------------------------------


@plays("view-self")
def the_view_shows_a_miner_its_name_and_what_it_has(land: Land) -> None:
    land.pay(ann=17)
    view = land.view("ann")
    assert (view["world"], view["you"]) == ("mining", "ann")
    assert (view["gold"], view["stamina"]) == (17, land.config.stamina)
    land.round()
    assert land.view("ann")["turn"] == view["turn"] + 1
    assert MINING.setup(land.config, AGENTS, 1).turn == 0


@plays("view-map")
def the_map_has_codes_for_owners_and_points_for_unowned_plots(land: Land) -> Numbers:
    land.give(ann="0,1", bob="1,0")
    view = land.view("cay")
    rows = [row.split(" ") for row in view["map"]]
    assert next(iter(view["plots_held"])) == "ann"
    assert (rows[0][:2], rows[1][:2]) == (["..", "01"], ["02", ".."])
    return {int(rows[0][1])}


@plays("view-holdings")
def the_view_shows_the_largest_holder_and_its_border(land: Land) -> None:
    land.give(bob=BLOCK)
    view = land.view("ann")
    assert view["plots_held"]["bob"] == 9
    assert view["largest"] == [{"agent": "bob", "border": [[0, 2], [1, 2], [2, 0], [2, 1], [2, 2]]}]
    land.give(ann="4,0 4,1 4,2 5,0 5,1 5,2 6,0 6,1 6,2")
    assert [one["agent"] for one in land.view("cay")["largest"]] == ["ann", "bob"]


@plays("view-own")
def the_view_shows_a_miner_its_plots_and_its_core(land: Land) -> None:
    land.give(ann="0,0 0,1 1,0")
    land.round(ann="claim 3,3")
    view = land.view("ann")
    assert view["your_plots"] == [[0, 0, 11], [0, 1, 11], [1, 0, 11], [3, 3, 1]]
    assert view["your_core"] == [[0, 0]]
    land.give(bob="5,5")
    assert land.view("bob")["your_core"] == [[5, 5]]


@plays("view-protected", immunity=3)
def the_view_shows_when_a_protected_plot_can_be_raided(land: Land) -> None:
    land.round(ann="claim 0,0")
    ((row, col, turn),) = land.view("bob")["protected"]
    while land.state.turn < turn:
        land.round(bob=f"raid {row},{col}")
        assert land.refused == ["mining/immune"]
    assert land.view("bob")["protected"] == []
    land.round(bob=f"raid {row},{col}")
    assert land.owner(row, col) == "bob"


@plays("view-last-round")
def every_miner_sees_what_happened_on_each_plot(land: Land) -> None:
    land.give(ann="0,0 0,1")
    land.round(
        ann="defend 0,0; claim 2,2",
        bob="raid 0,0; claim 2,2",
        cay="raid 0,1",
    )
    news = land.view("cay")["last_round"]
    assert [claim["plot"] for claim in news["contested"]] == [[2, 2]]
    assert news["defended"] == [[0, 0]]
    assert [(raid["plot"], raid["taken_by"]) for raid in news["raided"]] == [([0, 0], None), ([0, 1], "cay")]


@plays("view-earlier-rounds", visibility="full")
def every_miner_sees_the_earlier_rounds_too(land: Land) -> None:
    land.give(ann="0,0")
    for _ in range(8):
        land.round(ann="defend 0,0", cay="raid 0,0")
    view = land.view("bob")
    assert [raid["by"] for log in view["earlier_rounds"] for raid in log["raided"]] == [["cay"]] * 7
    assert view["last_round"]["raided"] == view["earlier_rounds"][0]["raided"]


@plays("view-summary", "in the last round", "上一回合", visibility="last")
@plays("view-summary", "in the last round", "上一回合", visibility="window", window=1)
@plays("view-summary", "of the last", "最近", visibility="window")
@plays("view-summary", "every round", "每个回合", visibility="full")
def the_summary_has_the_visible_rounds(land: Land) -> Numbers:
    for _ in range(12):
        land.round(ann="claim 0,0")
    summary, window = land.view("bob")["summary"], land.config.window
    (rounds,) = {len(figures) for figures in summary.values()}
    assert rounds == {"last": 1, "window": window, "full": 12}[land.config.visibility]
    assert summary["turn"] == [*range(land.state.turn - rounds, land.state.turn)]
    return {rounds} if rounds not in {1, 12} else set()


@plays("view-returned", authority="adjudication", adjudication_percent=100)
@plays("view-returned", authority="adjudication", adjudication_percent=0)
def every_miner_sees_what_was_returned(land: Land) -> None:
    land.give(ann="0,0 0,1 2,2")
    land.round(ann="defend 2,2", cay="raid 0,0 0,1 2,2")
    view, went_back = land.view("bob"), land.config.adjudication_percent == 100
    assert [raid["returned"] for raid in view["last_round"]["raided"]] == [went_back, went_back, False]
    assert (view["summary"]["taken"], view["summary"]["returned"]) == ([2], [2 * went_back])
    assert land.owner(0, 0) == ("ann" if went_back else "cay")


@plays("view-own-rounds", visibility="last")
@plays("view-own-rounds", visibility="window")
@plays("view-own-rounds", visibility="full")
def a_miner_sees_its_own_rounds_as_far_back_as_the_summary(land: Land) -> None:
    land.give(ann="0,0")
    for _ in range(12):
        land.round(ann="mine 0,0*2; claim 3,3")
    view = land.view("ann")
    rounds, gold = len(view["summary"]["turn"]), 2 * land.state.alpha[0][0]
    claims = [1] if rounds == 12 else [0]  # in the first round
    assert view["your_rounds"] == {
        "claim": claims + [0] * (rounds - 1),
        "raid": [0] * rounds,
        "defend": [0] * rounds,
        "mine": [2] * rounds,
        "gold": [gold] * rounds,
    }


@plays("view-own-actions", own_history=True)
def a_miner_sees_each_of_its_own_actions(land: Land) -> None:
    land.give(ann="0,0")
    land.round(ann="mine 0,0*2; claim 3,3")
    assert land.view("ann")["your_rounds"]["actions"] == [[["mine", 0, 0, 2], ["claim", 3, 3, 1]]]
    assert land.view("bob")["your_rounds"]["actions"] == [[]]


@plays("view-taxes", "tax_received", "收到的税", authority="raid_tax", raid_tax_to="victim")
@plays("view-taxes", "tax_paid, in", "你每回合交的税", authority="raid_tax", raid_tax_to="nobody")
def taxes_stand_beside_the_gold_that_was_mined(land: Land) -> None:
    land.give(ann="0,0", bob="1,1")
    land.pay(ann=20)
    land.round(ann="raid 1,1; mine 0,0*1")
    told = land.view("ann")["your_rounds"]
    assert land.state.gold["ann"] == 20 + told["gold"][0] - told["tax_paid"][0]
    received = land.view("bob")["your_rounds"].get("tax_received")
    assert received == (told["tax_paid"] if land.config.raid_tax_to == "victim" else None)


@plays("view-rules")
@plays("view-rules", "a number for each plot", "逐块列出", rows=1, cols=2, alpha=[[5, 5]])
def the_view_shows_the_cap_and_the_gold_of_mining(land: Land) -> None:
    land.give(ann="0,0")
    land.round(ann="mine 0,0*50")
    rules = land.view("ann")["rules"]
    gold = rules["gold_per_stamina"]
    alpha = gold if isinstance(gold, int) else gold[0][0]
    assert (land.spent("ann"), land.state.gold["ann"]) == (rules["mine_cap"], rules["mine_cap"] * alpha)


@plays("view-messages", "to you alone", "私信", private_messages=True)
def a_private_message_names_its_receiver(land: Land) -> None:
    land.round(ann={"message": {"bob": "peace?"}})
    assert land.view("bob")["messages"] == [{"from": "ann", "text": "peace?", "to": "bob"}]


@plays("view-messages", communication=True)
def messages_name_their_author(land: Land) -> None:
    land.round(ann={"message": "peace?"})
    assert land.view("bob")["messages"] == [{"from": "ann", "text": "peace?"}]


# --- the answer ------------------------------------------------------------------------------------------


@plays("priority")
def the_last_actions_are_removed_first(land: Land) -> None:
    land.give(ann="0,0")
    claims = land.everywhere()[1:]
    land.round(ann={"claim": claims, **said("mine 0,0*2")})
    kept = [action.cell for action in land.intent("ann").actions]
    assert [list(cell) for cell in kept] == claims[: len(kept)]
    assert set(land.refused) == {"mining/over-budget"}
    land.round(ann={**said("mine 0,0*2"), "claim": land.everywhere()})
    assert land.intent("ann").actions[0].kind == "mine"


@plays("plan")
def a_plan_is_carried_out_in_its_own_order(land: Land) -> None:
    land.give(ann="0,0")
    steps: list[JsonObject] = [{"claim": [1, 1]}, {"mine": {"cell": [0, 0], "s": 1}}, {"claim": [2, 2]}]
    land.round(ann={"plan": steps})
    assert [action.kind for action in land.intent("ann").actions] == ["claim", "mine", "claim"]


@plays("not-allowed", defense="block_all")
@plays("not-allowed", "but not defend", "防御除外", defense="per_point")
def actions_that_are_not_allowed_are_removed(land: Land) -> None:
    land.give(ann="0,0", bob="1,1")
    land.round(ann="claim 99,0 1,1 2,2 2,2; raid 0,0; defend 0,0 0,0")
    refused = ["mining/off-grid", "mining/already-owned", "mining/repeat", "mining/own-plot"]
    if land.config.defense == "block_all":
        refused.append("mining/repeat")
    assert land.refused == refused


@plays("not-allowed", "protected plots", "受保护", immunity=2)
def a_raid_on_a_protected_plot_is_removed(land: Land) -> None:
    land.round(bob="claim 0,0")
    land.round(ann="raid 0,0")
    assert (land.refused, land.spent("ann")) == (["mining/immune"], 0)


@plays("fault-policy", "not replaced", "不会用别的行动补上", fault_policy="prune")
def a_removed_action_is_not_replaced(land: Land) -> None:
    land.round(ann="claim 99,99")
    assert land.spent("ann") == 0


@plays("fault-policy", "random allowed one", "随机", fault_policy="rationalize")
def a_removed_action_is_replaced_within_the_stamina(land: Land) -> None:
    land.round(ann="claim 99,99")
    assert land.changed == ["mining/rationalized"]
    assert land.spent("ann") == 1
    land.round(ann={"claim": [*land.everywhere(), [99, 99]]})
    assert land.spent("ann") == land.config.stamina


@plays("no-answer", on_failure="default")
def a_miner_without_an_answer_does_nothing(land: Land) -> None:
    land.give(ann="0,0")
    before = land.state
    late = play(MINING, before, {"ann": None, "bob": {}, "cay": {}})
    assert late.judged.intents["ann"].actions == ()
    assert late.resolved.state.owners == before.owners


@plays("over-cap")
def stamina_over_the_cap_is_cut(land: Land) -> Numbers:
    land.give(ann="0,0")
    land.round(ann="mine 0,0*50")
    return {land.spent("ann")}


@plays("reflection")
def notes_are_kept_and_read_by_their_author_alone(land: Land) -> Numbers:
    said = {name: f"noted {name}" for name in ("notes", "summary_last_turn", "history_summary")}
    land.round(ann=said)
    memory = Memory().after(land.intent("ann").reflection).as_shown(said, None)
    assert memory == {
        "notes": said["notes"],
        "previous_turn_summary": said["summary_last_turn"],
        "history_summary": said["history_summary"],
    }
    assert "noted" not in json.dumps([land.view("bob"), land.view("cay")])
    unwritten = Memory().after(land.intent("ann").reflection).after(Reflection())
    assert unwritten.as_shown(said, None) == {**memory, "previous_turn_summary": ""}
    land.round(ann=dict.fromkeys(said, "x" * 5000))
    reflection = land.intent("ann").reflection
    (length,) = {len(getattr(reflection, name)) for name in said}
    return {length}


@plays("feedback", feedback=True)
def what_was_lost_of_an_answer_is_told(land: Land) -> None:
    feedback_is_told(MINING, land.config.model_dump(mode="json", exclude_defaults=True))


@plays("reports", "aggressor_report rates", "它也会", communication=False)
@plays("reports", "keeps_word_report", "keeps_word_report", communication=True)
def ratings_go_from_one_to_ten(land: Land) -> Numbers:
    reports = ["aggressor_report", *(["keeps_word_report"] if land.config.communication else [])]
    rated = {"bob": 1, "cay": 10}
    land.round(ann=dict.fromkeys(reports, rated))
    assert land.refused == []
    reflection = land.intent("ann").reflection
    assert [getattr(reflection, report) for report in reports] == [rated] * len(reports)
    land.round(ann={report: {"bob": 0, "cay": 11} for report in reports})
    assert land.refused == ["reflection/rating-out-of-range"] * 2 * len(reports)
    land.round(ann={"keeps_word_report": rated})
    assert land.changed == ([] if land.config.communication else ["mining/unknown-field"])
    return {*rated.values()}


# --- the advice, which the comparator `guided` follows -----------------------------------------------------


@plays("fair-share", stamina=1000)
@plays("fair-share", "is 1 plot a miner", "每个矿工 1 块地", rows=1, cols=2)
def the_guided_policy_claims_a_fair_share(land: Land) -> Numbers:
    return {len(land.guided("ann")["claim"])}


@plays("advice-claim")
def a_miner_with_too_little_land_claims_first(land: Land) -> None:
    land.give(ann="0,0")
    answer = land.guided("ann")
    kinds = [key for key in answer if key in ("claim", "raid", "defend", "mine")]
    assert kinds[0] == "claim"
    assert "raid" not in kinds


@plays("advice-raid")
def a_miner_that_must_raid_raids_the_border_of_the_largest(land: Land) -> None:
    land.give(bob=cells(land.config), ann="2,2", cay="5,5")
    land.give(cay="5,5")
    raided = land.guided("ann")["raid"]
    assert raided
    (largest,) = land.view("ann")["largest"]
    assert all(cell in largest["border"] for cell in raided)


@plays("advice-mine")
def a_miner_with_enough_land_mines_to_the_cap(land: Land) -> Numbers:
    land.give(ann=cells(land.config))
    answer = land.guided("ann")
    assert "claim" not in answer or not answer["claim"]
    return {answer["mine"][0]["s"]}


@plays("advice-defend")
def a_raided_miner_defends_its_core_first(land: Land) -> None:
    land.give(ann=BLOCK)
    land.round(bob="raid 2,2")
    answer = land.guided("ann")
    core = land.view("ann")["your_core"]
    assert next(key for key in answer if key != "reasoning") == "defend"
    assert core
    assert all(cell in answer["defend"] for cell in core)


# --- the tests -------------------------------------------------------------------------------------------


EVERY_VIEW: list[Values] = [
    {},
    {"communication": True, "hide_horizon": False, "authority": "raid_tax", "visibility": "full"},
    {"private_messages": True, "own_history": True, "guidance": False},
    {"immunity": 3, "authority": "adjudication", "alpha": {"plots": 2, "multiplier": 3}, "feedback": False},
]
"""Treatments under which a view has all the keys that it can have."""


PLAIN_KEYS = {
    *("world", "you", "stamina", "gold", "plot", "by", "owner", "won_by", "agent", "from", "text"),
    *("claim", "raid", "defend", "mine", "gold_per_stamina"),
}
"""Keys that explain themselves."""

PLACES = {
    **dict.fromkeys(["text", "文字"], '"words"'),
    **dict.fromkeys(["plot", "地块"], "[0, 0]"),
    **dict.fromkeys(["miner", "矿工"], '"bob"'),
    **dict.fromkeys(["stamina", "体力", "rating", "分数"], "1"),
}
"""What may stand in each place of the form of an answer, as JSON."""


class TestPrompts(PromptTests):
    prompts = PROMPTS

    @pytest.mark.parametrize("lang", ["en", "zh"])
    def test_of_a_hundred_miners_the_first_has_a_code_of_three_digits(self, lang: str) -> None:
        agents = MINING.names(100)
        state = MINING.setup(MiningConfig(), agents, 1)
        claim = MINING.validate(state, agents[0], {"claim": [[0, 0]]}).intent
        view: Any = MINING.observe(MINING.resolve(state, {agents[0]: claim}).state, agents[0])
        assert view["map"][0].split(" ")[0] == "001"
        assert "`001`" in Template("mining", "guided", lang).render({}, agents=100)

    @pytest.mark.parametrize("values", [{}, {**OTHER_NUMBERS, "communication": True}])
    def test_the_forms_of_an_answer_can_be_filled_in_and_not_copied(
        self, shipped: Template, values: Values
    ) -> None:
        form, plan = (filled_in(form, PLACES) for form in re.findall(r"\{\".*\}", shipped.render(values)))
        land = Land(values)
        answer = MINING.action(land.state.setting)
        assert {*answer.model_validate(form).model_dump(), *plan} == {*answer.model_fields}
        land.give(ann="0,0")
        land.round(ann=form | {"claim": [], "raid": []})
        land.round(ann={"plan": plan["plan"][1:]})
        assert (land.refused, land.changed) == ([], [])

    @pytest.mark.parametrize("values", EVERY_VIEW, ids=str)
    def test_each_key_of_the_view_is_explained(self, shipped: Template, values: Values) -> None:
        values = shipped.told(values)
        land = Land({"rows": 3, "cols": 3, **values})
        land.give(ann="0,0 0,1", bob="1,1")
        for _ in range(2):
            land.round(
                ann={**said("claim 2,2; defend 0,0"), "message": "peace?"}, bob="claim 2,2; raid 0,0 0,1"
            )
        view = view_of(MINING, land.state, "ann")
        names = view.pop("plots_held").keys()
        assert names == set(AGENTS)
        assert shipped.unexplained(keys_in(view) - PLAIN_KEYS, values) == []

    def test_the_views_above_have_every_key_that_a_view_can_have(self) -> None:
        views = [view_of(MINING, Land(values).state, "ann") for values in EVERY_VIEW]
        optional = {"protected", "earlier_rounds", "turns_left", "messages", "largest", "your_core"}
        assert optional <= set().union(*views)

    @pytest.mark.parametrize("lang", ["en", "zh"])
    def test_guided_marks_the_rules_of_unguided_and_those_of_its_advice(self, lang: str) -> None:
        guided, unguided = (Template("mining", variant, lang) for variant in ("guided", "unguided"))
        advice = set(guided.rules) - set(unguided.rules)
        assert set(guided.rules) == {play.rule for play in PROMPTS.table}
        assert advice == {rule for rule in guided.rules if rule.startswith("advice-")} | {"fair-share"}

    def test_the_horizon_is_not_told(self, variant: Template) -> None:
        assert variant.render({"rounds": 123}) == variant.render({"rounds": 200})


# --- a variant of one's own ------------------------------------------------------------------------------

EDITS = {
    "a rule left out": ("{# rule: capture #}\n", "", ""),
    "a treatment left out": ("- Miners cannot talk to each other.\n", "", ""),
    "a number typed in": ("1 to {{ mine_cap }}", "1 to 5", "the engine shows"),
    "another number": ("{{ stamina }} stamina", "{{ window }} stamina", "the engine shows"),
    "a rule without a play": ("# Advice", "# Advice\n{# rule: patience #}\n- Wait.", "no play"),
    "a rule twice": ("# Advice", "# Advice\n{# rule: order #}\n- Claim, raid, mine.", "more than once"),
    "a treatment forgotten": ('{% if defense == "block_all" %}', "{% if true %}", "in the same words"),
    "a condition that breaks": ("# Advice", "# Advice {{ 1 // immunity }}", "division"),
}
"""A part of `guided` in English, what a user writes in its place, and why a test then fails, if it does."""


@pytest.mark.parametrize("edit", EDITS)
def test_a_variant_that_a_user_adds_passes_unless_it_is_wrong(
    edit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, why = EDITS[edit]
    folder = shutil.copytree(prompt_set.ROOT, tmp_path / "prompts") / "mining"
    shutil.copytree(folder / "guided", folder / "added", ignore=shutil.ignore_patterns("*.zh.md"))
    for file in (folder / "rules.en.md", *(folder / "added").iterdir()):
        file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    monkeypatch.setattr(prompt_set, "ROOT", folder.parent)
    with pytest.raises((AssertionError, PromptError), match=why) if why else nullcontext():
        TestPrompts().run_all(Template("mining", "added", "en"))
