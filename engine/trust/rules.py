"""trust: one round, from intents to the next state, in eight steps.

1  carry out     each intent becomes a deed; it may fumble, and a high five may miss   acts.carry_out
2  rulings       the observer answers the units that begged                            rulings.rule_again
3  shock         a random draw may give sats to all units or take them                 draw_shock
4  act           every action has its effects, all at once                             acts.effects
5  settle        effects are summed; units without sats die                            settle
6  multiply      in team play each survivor that replicated gets a new unit            multiply
7  ally          alliances that were declared begin and end                            alliances.pacts_after
8  end           the game is won, is drawn or goes on                                  victory

Source: docs/rules/trust.md#order-of-the-steps.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from hobbes.engine.chance import draw, happens
from hobbes.engine.record import Draw, Event, Json, message
from hobbes.engine.trust import alliances
from hobbes.engine.trust.actions import NEEDS
from hobbes.engine.trust.acts import DID_NOTHING, Play, by_kind, carry_out, effects, payoff
from hobbes.engine.trust.messages import messages_of_round
from hobbes.engine.trust.rulings import rule_again
from hobbes.engine.trust.state import Deed, Effect, Round, State, Unit, actors, over, scores
from hobbes.engine.trust.validation import NO_DECISION, Intent
from hobbes.engine.world import ALL_PLAYED, Resolved


@dataclass(frozen=True, slots=True)
class End:
    """How a round leaves the game: won by an agent and its co-winners, drawn, or else still going on."""

    winner: str | None = None
    co_winners: tuple[str, ...] = ()
    drawn: bool = False


GOES_ON = End()
DRAW = End(drawn=True)


def resolve(state: State, intents: Mapping[str, Intent]) -> Resolved[State]:
    """Play one round; a unit without an intent takes the default action.

    Source: docs/rules/trust.md#order-of-the-steps, docs/rules/trust.md#default-action,
    docs/rules/trust.md#window.
    """
    acting = {unit: intents.get(unit, NO_DECISION) for unit in actors(state)}
    deeds, draws = carry_out(state, acting)
    ruled = rule_again(state, acting)
    shock, shock_draws = draw_shock(state)
    play = Play(state, acting, deeds, by_kind(deeds), ruled.rulings, shock)
    changes = tuple(effects(play))
    settled = apply_effects(play, changes)
    clones = multiply(play, settled)
    changes += tuple([payoff(state.config, clone.id, "born") for clone in clones.values()])
    units = tuple(sorted([*settled, *clones.values()], key=lambda unit: unit.id))
    living = {unit.team for unit in units if unit.alive}
    news = alliances.declarations(state, {unit: intent.alliances for unit, intent in acting.items()}, living)
    pacts = alliances.pacts_after(state, news, living)
    end = victory(play, units, alliances.winning_together(replace(state, pacts=pacts)))
    after = State(
        state.setting,
        turn=state.turn + 1,
        units=units,
        winner=end.winner,
        co_winners=end.co_winners,
        drawn=end.drawn,
        history=(*state.history, Round(state.turn, tuple(deeds.values()), changes))[-state.config.window :],
        rulings=ruled.rulings,
        messages=tuple(messages_of_round({unit: intent.messages for unit, intent in acting.items()})),
        declared=news,
        pacts=pacts,
    )
    return Resolved(after, tuple(_events(play, after, clones)), draws + ruled.draws + shock_draws)


def draw_shock(state: State) -> tuple[int, tuple[Draw, ...]]:
    """Draw whether a shock comes this round and whether it gives or takes; return its sats and the draws.

    Source: docs/rules/trust.md#shock, docs/rules/trust.md#random-draws.
    """
    if not state.config.shock:
        return 0, ()
    comes = happens(state.setting.seed, state.turn, None, "shock", state.config.shock)
    if comes.winner == "no":
        return 0, (comes,)
    kind = draw(state.setting.seed, state.turn, None, "shock-kind", ("gives", "takes"))
    sats = state.config.shock_sats
    return sats if kind.winner == "gives" else -sats, (comes, kind)


def apply_effects(play: Play, effects: Collection[Effect]) -> tuple[Unit, ...]:
    """Add up each unit's effects; a unit without sats after the sum is dead.

    Source: docs/rules/trust.md#sum-of-effects, docs/rules/trust.md#death.
    """
    change = dict.fromkeys(play.state.units_by_id, 0)
    for effect in effects:
        change[effect.unit] += effect.sats
    return tuple(
        [_unit_after_round(play, unit, change[unit.id]) if unit.alive else unit for unit in play.state.units]
    )


def _unit_after_round(play: Play, unit: Unit, change: int) -> Unit:
    did, turn = play.deeds[unit.id].did, play.state.turn
    ruling = play.rulings.get(unit.id)
    sats = unit.sats + change
    # Rounds that a shock of the next round would not count are forgotten, so a state stays small.
    recent = tuple([t for t in unit.high_fived if t > turn + 1 - play.config.shock_rounds])
    return Unit(
        unit.id,
        unit.team,
        sats,
        idle=unit.idle + 1 if did == "do_nothing" else 0,
        alive=sats > 0,
        begged=unit.begged + (ruling is not None),
        granted=unit.granted + (0 if ruling is None else ruling.granted),
        high_fived=(*recent, turn) if did == "high_five" else recent,
    )


def replicating_units(play: Play, units: Collection[Unit]) -> list[Unit]:
    """Return the units that replicated and are alive after the sum. Source: docs/rules/trust.md#replicate."""
    return [u for u in units if u.alive and u.id in play.deeds and play.deeds[u.id].did == "replicate"]


def multiply(play: Play, units: Collection[Unit]) -> dict[str, Unit]:
    """Return, in team play, the new unit of each unit that replicated, on the same team.

    Source: docs/rules/trust.md#new-units, docs/rules/trust.md#team-play.
    """
    clones: dict[str, Unit] = {}
    if play.config.victory != "team":
        return clones
    names = {unit.id for unit in units}
    for parent in replicating_units(play, units):
        name = clone_name(parent.team, names)
        names.add(name)
        clones[parent.id] = Unit(name, parent.team, play.config.clone_start)
    return clones


def clone_name(team: str, taken: Collection[str]) -> str:
    """Return the name of a team's next unit, with the first free number: `unit-a-2` for `unit-a`."""
    number = 2
    while f"{team}-{number}" in taken:
        number += 1
    return f"{team}-{number}"


def victory(play: Play, units: Collection[Unit], together: Collection[frozenset[str]]) -> End:
    """Return how the round leaves the game; if all units are dead, it is drawn.

    `together` are the pairs of agents that win together. A race goes on with a single survivor, so the number
    of living units ends only team play.

    Source: docs/rules/trust.md#all-dead, docs/rules/trust.md#lone-survivor.
    """
    if not any(unit.alive for unit in units):
        return DRAW
    return race(play, units, together) if play.config.victory == "race" else team_play(play, units, together)


def race(play: Play, units: Collection[Unit], together: Collection[frozenset[str]]) -> End:
    """The unit that replicates successfully wins; of several in one round, the one with the most sats left.

    Source: docs/rules/trust.md#race, docs/rules/trust.md#replicating-in-the-same-round.
    """
    return most({unit.team: unit.sats for unit in replicating_units(play, units)}, together)


def team_play(play: Play, units: Collection[Unit], together: Collection[frozenset[str]]) -> End:
    """The last team wins; at the round limit, the team with the most sats wins.

    Teams that all win together are the last team.

    Source: docs/rules/trust.md#team-play, docs/rules/trust.md#last-team, docs/rules/trust.md#round-limit,
    docs/rules/trust.md#allies-win.
    """
    held: dict[str, int] = {}
    for unit in units:
        if unit.alive:
            held[unit.team] = held.get(unit.team, 0) + unit.sats
    # A game of a single agent is not over because only that agent's team is there.
    last = len(play.state.setting.agents) > 1 and alliances.all_paired(held, together)
    return most(held, together) if last or play.state.turn + 1 >= play.config.rounds else GOES_ON


def most(sats: Mapping[str, int], together: Collection[frozenset[str]]) -> End:
    """The agent with the most sats wins, and the agents that win together with it.

    Equals share the win if they all win together, and else draw. Without candidates the game goes on.

    Source: docs/rules/trust.md#replicating-in-the-same-round, docs/rules/trust.md#allies-win.
    """
    best = sorted(name for name, held in sats.items() if held == max(sats.values()))
    if not best:
        return GOES_ON
    if not alliances.all_paired(best, together):
        return DRAW
    won = {*best}.union(*(pair for pair in together if not pair.isdisjoint(best)))
    return End(best[0], tuple(sorted(won - {best[0]})))


def _events(play: Play, after: State, clones: Mapping[str, Unit]) -> Iterator[Event]:
    """Yield the events of a round: deeds, words, alliances, shocks, deaths, and the end of the game."""
    for deed in play.deeds.values():
        yield from _slips(deed)
        yield _deed_event(play, after, deed, clones)
    yield from (message(said.sender, said.text, said.to) for said in after.messages)
    yield from (Event(one.step, one.unit, {"target": one.target}) for one in after.declared)
    for effect in after.history[-1].effects if play.shock else ():
        if effect.cause == "shock":
            yield Event("shock", effect.unit, {"sats": effect.sats})
    for unit in play.state.living:
        if not after.units_by_id[unit.id].alive:
            yield Event("death", unit.id, {"sats": after.units_by_id[unit.id].sats})
    if over(after):
        for agent, sats in scores(after).items():
            yield Event("end", agent, {"result": result(after, agent), "sats": sats})


def _slips(deed: Deed) -> Iterator[Event]:
    """Yield how a deed went otherwise than meant: it failed, missed or was misread."""
    if deed.failed:
        yield Event("fumble", deed.unit, {"action": deed.meant})
    if deed.missed:
        yield Event("miss", deed.unit, {"target": deed.target})
    if deed.misread:
        yield Event("misread", deed.unit, {"target": deed.target})


def _deed_event(play: Play, after: State, deed: Deed, clones: Mapping[str, Unit]) -> Event:
    """Return the event of a deed as everyone saw it, with its outcome. Source: docs/rules/trust.md#events."""
    facts: dict[str, Json] = {"target": deed.target} if "target" in NEEDS[deed.did] else {}
    match deed.did:
        case "high_five":
            facts["returned"] = play.returned(deed)
        case "attack":
            facts["blocked"] = play.blocks(deed.target)
        case "block":
            facts["stopped"] = sum(attack.target == deed.unit for attack in play.did("attack"))
        case "beg":
            ruling = play.rulings[deed.unit]
            facts = {"amount": ruling.asked, "reason": play.intents[deed.unit].reason}
            facts |= {"granted": ruling.granted, "answer": ruling.reason}
        case "send":
            facts["amount"] = play.intents[deed.unit].amount
        case "replicate":
            clone = clones[deed.unit].id if deed.unit in clones else None
            facts = {"succeeded": after.units_by_id[deed.unit].alive, "clone": clone}
        case "do_nothing":
            paid_for_it = [
                e.sats for e in after.history[-1].effects if (e.unit, e.cause) == (deed.unit, DID_NOTHING)
            ]
            facts = {"chosen": deed.chosen and not deed.failed, "sats": sum(paid_for_it)}
    return Event(deed.did, deed.unit, facts)


def winners(state: State) -> frozenset[str]:
    """Return the agents that have won: one and, if allies win together, its co-winners.

    Source: docs/rules/trust.md#allies-win.
    """
    return frozenset(() if state.winner is None else (state.winner, *state.co_winners))


def result(state: State, agent: str) -> str:
    """Return how a game that is over ended for an agent.

    Source: docs/rules/trust.md#round-limit, docs/rules/trust.md#final-standing.
    """
    if state.winner is not None:
        return "won" if agent in winners(state) else "lost"
    return "drawn" if state.drawn else "timed out"


def ending(state: State) -> str:
    """Return how a game that is over ended, in a few words.

    Source: docs/rules/trust.md#endings.
    """
    turn, first, is_race = state.turn - 1, state.winner, state.config.victory == "race"
    if not state.living:
        return f"no unit was alive after turn {turn}"
    if state.drawn:
        equals = "those that replicated" if is_race else "the best teams"
        return f"a draw in turn {turn}: {equals} had equal sats"
    if first is None:
        return f"{ALL_PLAYED}, without a winner"
    won, held = sorted(winners(state)), scores(state)
    best = [first] if is_race else [agent for agent in won if held[agent] == held[first]]
    allies = ", ".join(agent for agent in won if agent not in best)
    also = f", and allies won, too: {allies}" if allies else ""
    if is_race:
        return f"{first} replicated in turn {turn}{also}"
    if {unit.team for unit in state.living} <= {*won}:
        return f"only {', '.join(won)} had units left after turn {turn}"
    return f"{ALL_PLAYED}; {', '.join(best)} had the most sats{also}"


EVENTS = {
    "fumble": "action: the intended action, which came out as do_nothing",
    "miss": "target: a high five that came out as an attack; the attack is recorded, too",
    "misread": "target: a high five that its target saw as an attack",
    "high_five": "target, returned: a high five that did not miss; whether its target high fived, too",
    "attack": "target, blocked: an attack, intended or not",
    "block": "stopped: a block, and how many attacks it stopped",
    "do_nothing": "chosen, sats: nothing was done; whether that was chosen; what it cost (0 or negative)",
    "beg": "amount, reason, granted, answer: what was asked of the observer and what it answered",
    "send": "target, amount: sats that went to another unit",
    "message": "to, text: words, read next round; without `to`, by all units",
    "propose": "target: an alliance proposed to an agent",
    "ally": "target: an alliance with an agent began; by who accepted, or the second of two that proposed",
    "leave": "target: a unit left the alliance with an agent",
    "replicate": "succeeded, clone: a unit replicated; whether it is alive then; its new unit in team play",
    "shock": "sats: what a shock gave, or took (negative)",
    "death": "sats: a unit that has none left",
    "end": "result, sats: how the game ended for an agent: won, lost, drawn, or timed out",
}
"""The types of events with their fields, as help texts show them. Source: docs/rules/trust.md#events."""
