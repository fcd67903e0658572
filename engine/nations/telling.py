"""nations in words: what nations did, what a view told one, and what one wanted to do."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hobbes.engine.board import join_names
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.nations import rules, validation
from hobbes.engine.nations.actions import EVERYBODY
from hobbes.engine.nations.resolution import EVENTS
from hobbes.engine.nations.state import State
from hobbes.engine.nations.validation import Intent
from hobbes.engine.record import Event
from hobbes.engine.reflection import WORD_LIMIT_CODES
from hobbes.engine.telling import (
    AGENT,
    Befell,
    Counts,
    Heard,
    Knew,
    Landmark,
    Standing,
    Telling,
    counted,
    few,
    in_numbers,
    said,
)


def attacked(events: Sequence[Event]) -> str:
    """Tell attacks: the mils that were sent, the damage that they do, and how many fell."""
    told = []
    for facts in (event.facts for event in events):
        fallen = f", {facts['lost']} of its own fell" if facts["lost"] else ""
        told.append(f"{facts['target']} with {_mils(facts['mils'])} ({facts['damage']} damage{fallen})")
    return f"attacked {join_names(told)}"


def granted(events: Sequence[Event]) -> str:
    """Tell grants of money."""
    told = [f"{event.facts['amount']} to {event.facts['to']}" for event in events]
    return f"granted {join_names(told)}"


def handed_over(events: Sequence[Event]) -> str:
    """Tell grants of resources."""
    told = [f"{one['amount']} {one['resource']} to {one['to']}" for one in (event.facts for event in events)]
    return f"handed over {join_names(told)}"


def ceded(events: Sequence[Event]) -> str:
    """Tell cessions by their receivers."""
    lands: dict[str, list[str]] = {}
    for event in events:
        lands.setdefault(str(event.facts["to"]), []).append(str(event.facts["territory"]))
    return f"ceded {join_names([f'{join_names(land)} to {receiver}' for receiver, land in lands.items()])}"


def _mils(mils: Any) -> str:  # noqa: ANN401  a number from JSON
    return counted(mils, "mil")


def knew(view: Mapping[str, Any]) -> Knew:
    """Return what a nation knew: messages, what others did to it, its welfare, land and army."""
    you, account = view["self"], view.get("account", {})
    heard = [
        Heard(author, None if to == EVERYBODY else to, text)
        for author, written in view.get("messages", {}).items()
        for to, text in written.items()
    ]
    land, army = view["territories"], view["army"]
    standing = [(agent, len(land[agent]), army[agent]) for agent in land]
    has = f"{counted(len(land[you]), 'territory', 'territories')} and {_mils(army[you])}"
    return Knew(
        heard,
        [*_done_to(you, account)],
        [*_gained(account)],
        has,
        Standing(("nation", "land", "mils"), standing),
    )


def _done_to(you: str, account: Mapping[str, Any]) -> Iterator[Befell]:
    """Yield what others did to a nation in the last turn, by its account."""
    told: dict[str, Callable[[Any], str]] = {
        "attacked_by": lambda mils: f"attacked {you} with {_mils(mils)}",
        "lost_to": lambda mils: f"destroyed {_mils(mils)} of {you} in combat",
        "received_from": lambda amount: f"granted {amount} to {you}",
        "ceded_by": lambda land: f"ceded {join_names(land)} to {you}",
    }
    for part, words in told.items():
        for other, what in account.get(part, {}).items():
            yield Befell(other, words(what), harm=part in {"attacked_by", "lost_to"})
    for resource, lines in account.get("resources", {}).items():
        for line, amount in lines.items():
            if line.startswith("from "):
                yield Befell(line.removeprefix("from "), f"handed over {amount} {resource} to {you}")


def _gained(account: Mapping[str, Any]) -> Iterator[str]:
    if "gained" in account:
        received = f", {account['received']} of it from grants" if account.get("received") else ""
        yield f"{account['gained']} welfare in the last turn{received}; {account['total']} in all"
    for line, words in (("damage", "{} money lost to attacks"), ("upkeep", "{} money paid for upkeep")):
        if account.get(line):
            yield words.format(abs(account[line]))


def meant(intent: Intent) -> list[str]:
    """Return the orders of an intent, and its messages."""
    told = [f"attack {target} with {_mils(mils)}" for target, mils in intent.attacks.items() if mils]
    told += [f"grant {amount} to {to}" for to, amount in intent.money_grants]
    told += [
        f"hand over {amount} {resource} to {to}" for to, resource, amount in intent.resource_grants if amount
    ]
    told += [f"cede {join_names(land)} to {to}" for to, land in intent.cede_territories.items() if land]
    told += [f"buy {_mils(intent.purchase_mils)}"] if intent.purchase_mils else []
    told += [f"disband {_mils(intent.disband_mils)}"] if intent.disband_mils else []
    return [*told, *said(intent.messages)] or ["do nothing"]


def in_short(counts: Counts, first: PlayedTurn[State, Intent], now: State) -> list[str]:
    """Tell the numbers of attacks, grants and cessions, and whose land has become more or less."""
    by_land = defaultdict[tuple[int, int], list[str]](list)
    for agent, had in first.before.territories.items():
        by_land[len(had), len(now.territories[agent])].append(agent)
    changed = [
        f"{few(agents)} went from {had} to {has} territories"
        for (had, has), agents in by_land.items()
        if has != had
    ]
    return [
        in_numbers(counts, {"attack": "attack", "grant": "grant", "cession": "cession"}),
        f"{join_names(changed)}." if changed else "All have as much land as at the start.",
    ]


TELLING = Telling(
    events=EVENTS,
    codes={**validation.CODES, **rules.CODES, **WORD_LIMIT_CODES},
    deeds={
        "attack": attacked,
        "cede": ceded,
        "grant": granted,
        "resource_grant": handed_over,
        "purchase": lambda events: f"bought {_mils(events[0].facts['mils'])}",
        "disband": lambda events: f"disbanded {_mils(events[0].facts['mils'])}",
        "unpaid": lambda events: f"lost {_mils(events[0].facts['mils'])} whose upkeep it could not pay",
    },
    knew=knew,
    meant=meant,
    acts=validation.acts,
    act_names=("attack", f"attack {AGENT}", "grant", "cede", "buy army", "disband army"),
    landmarks=(Landmark("attack", "attack"), Landmark("cession", "cede")),
    in_short=in_short,
    held={"territories": lambda state: {agent: len(land) for agent, land in state["territories"].items()}},
)
"""How nations is told in words."""
