"""mining, steps 1 to 4: claims, raids, mining, the end of the round.

Each step reads what earlier steps found and changes nothing in place.

Source: docs/rules/mining.md#order-of-a-round.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

from hobbes.engine.chance import draw, happens
from hobbes.engine.mining.actions import KINDS, Kind
from hobbes.engine.mining.state import (
    NO_NEWS,
    Cell,
    ClaimNews,
    Deeds,
    Message,
    News,
    Past,
    RaidNews,
    State,
    Tally,
)
from hobbes.engine.mining.validation import IDLE, Intent
from hobbes.engine.record import Draw, Event, message
from hobbes.engine.world import Resolved


class Claims(NamedTuple):
    """Step 1: which agent got which plot."""

    news: tuple[ClaimNews, ...]
    draws: tuple[Draw, ...]

    @property
    def winners(self) -> dict[Cell, str]:
        """The new owner of each claimed plot."""
        return {claim.cell: claim.winner for claim in self.news}


class Raids(NamedTuple):
    """Step 2: the outcome of each raid."""

    news: tuple[RaidNews, ...]
    fizzled: tuple[tuple[str, Cell], ...]
    draws: tuple[Draw, ...]

    @property
    def captures(self) -> dict[Cell, str]:
        """The captor of each plot that fell."""
        return {raid.cell: raid.taken_by for raid in self.news if raid.taken_by is not None}


NOBODY: Mapping[str, int] = {}
"""What nobody pays, gets or lacks."""


class Authority(NamedTuple):
    """Step 4: what an authority did about the raids, and everyone's gold after that."""

    gold: Mapping[str, int]
    fined: Mapping[str, int] = NOBODY
    tax_paid: Mapping[str, int] = NOBODY
    tax_received: Mapping[str, int] = NOBODY
    returned: frozenset[Cell] = frozenset()
    events: tuple[Event, ...] = ()
    draws: tuple[Draw, ...] = ()


Orders: TypeAlias = Mapping[Kind, Mapping[Cell, tuple[str, ...]]]
"""The agents that claim, raid and defend each plot, by kind of action: plots row by row, agents by name.

An agent that defends a plot twice is listed twice. Nobody else's orders matter to who mines a plot.
"""

Mined: TypeAlias = Mapping[str, Mapping[Cell, int]]
"""Step 3: the gold from each order to mine, by agent and plot."""

T = TypeVar("T")


class RoundResults(NamedTuple):
    """The results of all steps of a round."""

    orders: Orders
    claims: Claims
    raids: Raids
    mined: Mined
    authority: Authority


def resolve(state: State, intents: Mapping[str, Intent]) -> Resolved[State]:
    """Play one round: claims, then raids, then mining, then the end of the round.

    Source: docs/rules/mining.md#order-of-a-round, docs/rules/mining.md#pure-rounds,
    docs/rules/mining.md#raid-tax.
    """
    # In the order of the names, so that the order in which answers arrive changes nothing.
    acting = {agent: intents.get(agent, IDLE) for agent in state.setting.agents}
    orders = gather(acting)
    claims = resolve_claims(state, orders)
    raids = resolve_raids(state, orders, claims)
    mined = resolve_mining(state, acting, raids)
    gold = {agent: held + sum(mined[agent].values()) for agent, held in state.gold.items()}
    authority = resolve_authority(state, raids, gold)
    books = RoundResults(orders, claims, raids, mined, authority)
    return Resolved(
        end_round(state, acting, books),
        tuple(_events(state, acting, books)),
        claims.draws + raids.draws + authority.draws,
    )


def gather(intents: Mapping[str, Intent]) -> Orders:
    """Return all intents by kind of action and plot, except those to mine."""
    found: dict[Kind, dict[Cell, tuple[str, ...]]] = {"claim": {}, "raid": {}, "defend": {}}
    for agent, intent in intents.items():
        for action in intent.actions:
            if action.kind != "mine":
                plots, cell = found[action.kind], action.cell
                plots[cell] = (*plots[cell], agent) if cell in plots else (agent,)
    return {kind: dict(sorted(plots.items())) for kind, plots in found.items()}


def resolve_claims(state: State, orders: Orders) -> Claims:
    """Decide each claim: the only claimant gets the plot, or a random draw picks one of several.

    Source: docs/rules/mining.md#claims, docs/rules/mining.md#draws,
    docs/rules/mining.md#independence-of-draws.
    """
    news, draws = [], []
    for cell, claimants in orders["claim"].items():
        winner = claimants[0]
        if len(claimants) > 1:
            decided = draw(state.setting.seed, state.turn, list(cell), "claim", claimants)
            draws.append(decided)
            winner = decided.winner
        news.append(ClaimNews(cell, claimants, winner))
    return Claims(tuple(news), tuple(draws))


def resolve_raids(state: State, orders: Orders, claims: Claims) -> Raids:
    """Decide each raid: it takes the plot, fails at a defence, or fizzles if there is nothing to take.

    Source: docs/rules/mining.md#raids, docs/rules/mining.md#no-immunity, docs/rules/mining.md#draws,
    docs/rules/mining.md#independence-of-draws.
    """
    defence, claimed = orders["defend"], claims.winners
    news, fizzled, draws = [], [], []
    for cell, raiders in orders["raid"].items():
        owner = state.owner[cell] or claimed.get(cell)
        if owner is None:
            fizzled += [(raider, cell) for raider in raiders]
            continue
        striking = raiders
        if owner in raiders:  # it has just won the claim of this plot
            fizzled.append((owner, cell))
            striking = tuple([raider for raider in raiders if raider != owner])
        if not striking:
            continue
        points, taken_by = len(defence.get(cell, ())), None
        if falls(state.config.defense, points, len(striking)):
            taken_by = striking[0]
            if len(striking) > 1:
                decided = draw(state.setting.seed, state.turn, list(cell), "raid", striking)
                draws.append(decided)
                taken_by = decided.winner
        news.append(RaidNews(cell, owner, striking, points > 0, taken_by))
    return Raids(tuple(news), tuple(fizzled), tuple(draws))


def falls(defense: str, points: int, raiders: int) -> bool:
    """Tell whether a plot falls: one point stops all raids, or under `per_point` one raid each.

    Source: docs/rules/mining.md#defence, docs/rules/mining.md#defence-per-point.
    """
    return points == 0 if defense == "block_all" else raiders > points


def resolve_mining(state: State, intents: Mapping[str, Intent], raids: Raids) -> Mined:
    """Return the gold from each order to mine: min(stamina, cap) x alpha, or 0 if the plot was lost.

    Source: docs/rules/mining.md#mining, docs/rules/mining.md#lost-plots.
    """
    lost, cap, alpha = raids.captures, state.config.mine_cap, state.alpha
    return {
        agent: {
            (r, c): 0 if (r, c) in lost else min(action.stamina, cap) * alpha[r][c]
            for action in intent.actions
            if action.kind == "mine"
            for r, c in (action.cell,)
        }
        for agent, intent in intents.items()
    }


def resolve_authority(state: State, raids: Raids, gold: Mapping[str, int]) -> Authority:
    """Return what the authority does about the raids: it taxes, punishes or undoes them, or does nothing.

    Source: docs/rules/mining.md#no-authority, docs/rules/mining.md#raid-tax.
    """
    match state.config.authority:
        case "raid_tax":
            return _tax_raids(state, raids, gold)
        case "punishment":
            return _punish_raiders(state, raids, gold)
        case "adjudication":
            return _adjudicate(state, raids, gold)
        case _:
            return Authority(gold)


def _all_raids(raids: Raids) -> list[tuple[str, Cell, str | None]]:
    """Return every raid as (raider, plot, victim), by raider and plot. A raid that fizzled has no victim."""
    struck = [(raider, raid.cell, raid.owner) for raid in raids.news for raider in raid.raiders]
    return sorted(
        [*struck, *((raider, cell, None) for raider, cell in raids.fizzled)], key=lambda raid: raid[:2]
    )


def _tax_raids(state: State, raids: Raids, gold: Mapping[str, int]) -> Authority:
    """Take the tax for each raid and pay it to the victim or to nobody.

    A raider cannot pay with what it receives from taxes, so the order of the raiders does not matter.

    Source: docs/rules/mining.md#raid-tax.
    """
    paid, received, events = dict.fromkeys(gold, 0), dict.fromkeys(gold, 0), []
    for raider, cell, victim in _all_raids(raids):
        amount = min(state.config.raid_tax, gold[raider] - paid[raider])
        receiver = victim if state.config.raid_tax_to == "victim" else None
        paid[raider] += amount
        if receiver is not None:
            received[receiver] += amount
        events.append(Event("tax", raider, {"plot": list(cell), "gold": amount, "to": receiver}))
    purse = {agent: gold[agent] - paid[agent] + received[agent] for agent in gold}
    return Authority(purse, tax_paid=paid, tax_received=received, events=tuple(events))


def _punish_raiders(state: State, raids: Raids, gold: Mapping[str, int]) -> Authority:
    """Take stamina of the next round from everyone who raided.

    Source: docs/rules/mining.md#punishment.
    """
    stamina = state.config.punishment
    raiders = sorted({raider for raider, _, _ in _all_raids(raids)})
    events = tuple(Event("punish", raider, {"stamina": stamina}) for raider in raiders)
    return Authority(gold, dict.fromkeys(raiders, stamina), events=events)


def _adjudicate(state: State, raids: Raids, gold: Mapping[str, int]) -> Authority:
    """Return what an adjudication does: a random draw decides whether a captured plot goes back.

    Source: docs/rules/mining.md#adjudication.
    """
    percent = state.config.adjudication_percent
    fallen = [raid for raid in raids.news if raid.taken_by is not None]
    draws = [
        happens(state.setting.seed, state.turn, list(raid.cell), "adjudicate", percent) for raid in fallen
    ]
    returned = [raid for raid, drawn in zip(fallen, draws, strict=True) if drawn.winner == "yes"]
    events = tuple(
        Event("return", raid.owner, {"plot": list(raid.cell), "from": raid.taken_by}) for raid in returned
    )
    cells = frozenset(raid.cell for raid in returned)
    return Authority(gold, returned=cells, events=events, draws=tuple(draws))


def end_round(state: State, intents: Mapping[str, Intent], books: RoundResults) -> State:
    """Return the next state: plots change hands, gold is booked, and the log of the round is written.

    Source: docs/rules/mining.md#new-plots, docs/rules/mining.md#first-owner, docs/rules/mining.md#logs,
    docs/rules/mining.md#pure-rounds.
    """
    claimed = books.claims.winners
    captured = {c: who for c, who in books.raids.captures.items() if c not in books.authority.returned}
    changed = claimed | captured
    news = _news(books)
    log = Past(state.turn, _tally(news), _deeds(state, intents, books), news)
    return replace(
        state,
        turn=state.turn + 1,
        owners=_overlay(state.owners, changed),
        first_owner=_overlay(state.first_owner, claimed),
        since=_overlay(state.since, dict.fromkeys(changed, state.turn)),
        claimed=_overlay(state.claimed, dict.fromkeys(claimed, state.turn)),
        gold=books.authority.gold,
        fined=books.authority.fined,
        past=_kept_rounds(state, log),
        messages=tuple(_messages(intents)),
    )


def _messages(intents: Mapping[str, Intent]) -> Iterator[Message]:
    """Yield the messages of a round, by author: the one to all, then those to single agents by name.

    Source: docs/rules/mining.md#messages, docs/rules/mining.md#private-messages.
    """
    for agent, intent in intents.items():
        if intent.message:
            yield Message(agent, intent.message)
        yield from (Message(agent, text, to) for to, text in intent.private.items())


def _overlay(grid: tuple[tuple[T, ...], ...], changed: Mapping[Cell, T]) -> tuple[tuple[T, ...], ...]:
    """Return a grid with some plots changed."""
    if not changed:
        return grid
    rows = [list(row) for row in grid]
    for (r, c), value in changed.items():
        rows[r][c] = value
    return tuple([tuple(row) for row in rows])


def _news(books: RoundResults) -> News:
    """Return what all agents may know about the round, plot by plot."""
    returned = books.authority.returned
    raids = [replace(raid, returned=True) if raid.cell in returned else raid for raid in books.raids.news]
    return News(books.claims.news, tuple(raids), tuple(books.orders["defend"]))


def _tally(news: News) -> Tally:
    """Return the figures of a round for the rolling summary."""
    return Tally(
        claimed=len(news.claims),
        contested=sum(len(claim.claimants) > 1 for claim in news.claims),
        defended=len(news.defended),
        raided=len(news.raids),
        taken=sum(raid.taken_by is not None for raid in news.raids),
        returned=sum(raid.returned for raid in news.raids),
    )


def _kept_rounds(state: State, log: Past) -> tuple[Past, ...]:
    """Return the rounds that agents may look back on: one, the figures of the window, or all of all.

    Source: docs/rules/mining.md#rolling-summary, docs/rules/mining.md#last-round.
    """
    match state.config.visibility:
        case "last":
            return (log,)
        case "window":
            figures = [past if past.news == NO_NEWS else replace(past, news=NO_NEWS) for past in state.past]
            return (*figures, log)[-state.config.window :]
        case "full":
            return (*state.past, log)


def _deeds(state: State, intents: Mapping[str, Intent], books: RoundResults) -> dict[str, Deeds]:
    """Return what each agent did: its stamina by kind of action, the gold that it mined, and its taxes.

    Source: docs/rules/mining.md#logs, docs/rules/mining.md#own-actions.
    """
    authority, deeds = books.authority, {}
    for agent, intent in intents.items():
        spent, gold = dict.fromkeys(KINDS, 0), sum(books.mined[agent].values())
        for action in intent.actions:
            spent[action.kind] += action.stamina
        paid, received = authority.tax_paid.get(agent, 0), authority.tax_received.get(agent, 0)
        shown = intent.actions if state.config.own_history else ()
        actions = tuple((action.kind, *action.cell, action.stamina) for action in shown)
        deeds[agent] = Deeds(**spent, gold=gold, tax_paid=paid, tax_received=received, actions=actions)
    return deeds


def _events(state: State, intents: Mapping[str, Intent], books: RoundResults) -> Iterator[Event]:
    """Yield the events of the round, kind by kind, each in the order of plots or names."""
    for claim in books.claims.news:
        for agent in claim.claimants:
            yield Event("claim", agent, {"plot": list(claim.cell), "won": agent == claim.winner})
    for cell, defenders in books.orders["defend"].items():
        yield Event("defend", defenders[0], {"plot": list(cell), "points": len(defenders)})
    for raid in books.raids.news:
        for agent in raid.raiders:
            result = _result(raid, agent)
            yield Event("raid", agent, {"plot": list(raid.cell), "owner": raid.owner, "result": result})
    for agent, cell in books.raids.fizzled:
        yield Event("raid", agent, {"plot": list(cell), "owner": state.owner[cell], "result": "fizzled"})
    yield from [
        Event("mine", agent, {"plot": list(cell), "gold": gold})
        for agent, mined in books.mined.items()
        for cell, gold in mined.items()
    ]
    yield from (message(told.author, told.text, told.to) for told in _messages(intents))
    yield from books.authority.events


def _result(raid: RaidNews, raider: str) -> str:
    if raid.taken_by is None:
        return "blocked"
    return "captured" if raid.taken_by == raider else "outdrawn"


def plot_of(event: Event) -> Cell:
    """Return the plot that an event is about."""
    plot: Any = event.facts["plot"]
    return tuple(plot)


EVENTS = {
    "claim": "plot, won: an unowned plot was claimed; whether `agent` got it",
    "defend": "plot, points: an agent defended its plot",
    "raid": "plot, owner, result: captured, outdrawn by another, blocked, or fizzled (nothing to take)",
    "mine": "plot, gold: what an agent mined on its plot; 0 if the plot was lost in this round",
    "message": "to, text: sent to one or, without `to`, to all, who read it next round",
    "tax": "plot, gold, to: what a raid cost, and who received it, if anybody",
    "punish": "stamina: what a raider loses in the next round",
    "return": "plot, from: a captured plot went back to `agent`",
}
"""The types of events and their fields. Source: docs/rules/mining.md#events."""
