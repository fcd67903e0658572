"""mining in words: what miners did, what a view told one, and what one wanted to do."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from hobbes.engine.board import join_names
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.mining.actions import KINDS, Action
from hobbes.engine.mining.rules import EVENTS, plot_of
from hobbes.engine.mining.state import State
from hobbes.engine.mining.validation import CODES, Intent, acts
from hobbes.engine.record import Event
from hobbes.engine.telling import Befell, Counts, Heard, Knew, Landmark, Standing, Telling, counted, few, said

MAX_NAMED = 10
"""How many plots are named; if there are more, their number is told."""

RESULTS = {
    "captured": "captured",
    "blocked": "blocked",
    "outdrawn": "won by another raider",
    "fizzled": "with nothing to take",
}
"""The results of a raid in words."""

EACH = {1: "", 2: "both "}
"""What stands before a result that so many raids had; before that of more, `all`."""


def plots(cells: Iterable[Sequence[int]]) -> str:
    """Return plots in words: `[0,1] and [2,0]`, or their number if they are many."""
    named = [f"[{row},{column}]" for row, column in cells]
    return join_names(named) if len(named) <= MAX_NAMED else counted(len(named), "plot")


def _plots_of(events: Iterable[Event]) -> str:
    return plots([plot_of(event) for event in events])


def claimed(events: Sequence[Event]) -> str:
    """Tell claims: those that were won, and those that a draw gave to others."""
    won, lost = ([event for event in events if event.facts["won"] is own] for own in (True, False))
    told = [f"claimed {_plots_of(won)}"] if won else []
    return ", but ".join([*told, *([f"lost the draw for {_plots_of(lost)}"] if lost else [])])


def defended(events: Sequence[Event]) -> str:
    """Tell defences, with the points of those that have more than one."""
    more = [event for event in events if event.facts["points"] != 1]
    points = [
        f"{counted(int(str(event.facts['points'])), 'point')} on {_plots_of([event])}" for event in more
    ]
    return f"defended {_plots_of(events)}" + (f" ({join_names(points)})" if points else "")


def raided(events: Sequence[Event]) -> str:
    """Tell raids by their results, and for each by the owners of the plots."""
    told = []
    for result, words in RESULTS.items():
        alike = [event for event in events if event.facts["result"] == result]
        by_owner: dict[str, list[Event]] = {}
        for event in alike:
            by_owner.setdefault(str(event.facts["owner"] or "nobody"), []).append(event)
        of_owners = [f"{_plots_of(of_one)} of {owner}" for owner, of_one in by_owner.items()]
        told += [f"{join_names(of_owners)} ({EACH.get(len(alike), 'all ')}{words})"] if alike else []
    return f"raided {', '.join(told)}"


def mined(events: Sequence[Event]) -> str:
    """Tell what was mined, and on which plots nothing was because they were lost."""
    rich, poor = ([event for event in events if bool(event.facts["gold"]) is any_] for any_ in (True, False))
    gold = sum(int(str(event.facts["gold"])) for event in rich)
    told = [f"mined {gold} gold on {_plots_of(rich)}"] if rich else []
    return " and ".join([*told, *([f"mined nothing on {_plots_of(poor)}, which it lost"] if poor else [])])


def taxed(events: Sequence[Event]) -> str:
    """Tell what an agent paid for its raids, and to whom."""
    by_receiver: dict[str, int] = {}
    for event in events:
        receiver = str(event.facts["to"] or "nobody")
        by_receiver[receiver] = by_receiver.get(receiver, 0) + int(str(event.facts["gold"]))
    paid = [f"{gold} gold to {receiver}" for receiver, gold in by_receiver.items()]
    return f"paid {join_names(paid)} for raids"


def punished(events: Sequence[Event]) -> str:
    """Tell the stamina that an agent lacks in the next round."""
    stamina = sum(int(str(event.facts["stamina"])) for event in events)
    return f"was punished with {stamina} stamina less in the next turn"


def got_back(events: Sequence[Event]) -> str:
    """Tell which captured plots went back to their owner."""
    told = [f"{_plots_of([event])} from {event.facts['from']}" for event in events]
    return f"got back {join_names(told)}"


def knew(view: Mapping[str, Any]) -> Knew:
    """Return what a miner knew: messages, raids on it and draws that it lost, its gold and its plots."""
    you = view["you"]
    return Knew(
        [
            Heard(one["from"], one.get("to"), one["text"])
            for one in view.get("messages", ())
            if one["from"] != you
        ],
        [
            *_raids_on(you, view["last_round"]),
            *_got_back_from(you, view["last_round"]),
            *_draws_lost(you, view["last_round"]),
        ],
        [*_gained(view)],
        _has(view),
        Standing(("miner", "plots"), [*view["plots_held"].items()]),
    )


def _raids_on(you: str, news: Mapping[str, Any]) -> Iterator[Befell]:
    """Yield what each raider did to a miner's plots in the last turn."""
    raids = [(raider, raid) for raid in news["raided"] if raid["owner"] == you for raider in raid["by"]]
    for raider, of_one in groupby(sorted(raids, key=lambda pair: pair[0]), key=lambda pair: pair[0]):
        mine = [raid for _, raid in of_one]
        taken = [raid["plot"] for raid in mine if raid["taken_by"] == raider and not raid.get("returned")]
        back = [raid["plot"] for raid in mine if raid["taken_by"] == raider and raid.get("returned")]
        rest = [raid["plot"] for raid in mine if raid["taken_by"] != raider]
        told = [f"took {plots(taken)} from {you}"] if taken else []
        told += [f"took {plots(back)} from {you}, which were given back"] if back else []
        told += [f"raided {plots(rest)} of {you} without getting any"] if rest else []
        yield Befell(raider, ", and ".join(told), harm=True)


def _got_back_from(you: str, news: Mapping[str, Any]) -> Iterator[Befell]:
    """Yield who got back plots that a miner had taken in the last round."""
    back = [raid for raid in news["raided"] if raid["taken_by"] == you and raid.get("returned")]
    for owner in sorted({raid["owner"] for raid in back}):
        own = [raid["plot"] for raid in back if raid["owner"] == owner]
        yield Befell(owner, f"got back {plots(own)}, which {you} had taken")


def _draws_lost(you: str, news: Mapping[str, Any]) -> Iterator[Befell]:
    """Yield who won the draws for plots that a miner had claimed, too."""
    lost = [claim for claim in news["contested"] if you in claim["by"] and claim["won_by"] != you]
    winners = sorted({claim["won_by"] for claim in lost})
    for winner in winners:
        won = [claim["plot"] for claim in lost if claim["won_by"] == winner]
        yield Befell(winner, f"won the draw for {plots(won)}, which {you} claimed, too")


def _gained(view: Mapping[str, Any]) -> Iterator[str]:
    you, news = view["you"], view["last_round"]
    last = {name: figures[-1] for name, figures in view["your_rounds"].items() if figures}
    if last:
        yield f"{last['gold']} gold mined in turn {view['turn'] - 1}"
    for name, words in (("tax_paid", "paid {} gold in taxes"), ("tax_received", "got {} gold from taxes")):
        if last.get(name):
            yield words.format(last[name])
    taken = [raid["plot"] for raid in news["raided"] if raid["taken_by"] == you and not raid.get("returned")]
    lost = [
        raid["plot"]
        for raid in news["raided"]
        if raid["owner"] == you and raid["taken_by"] not in {None, you} and not raid.get("returned")
    ]
    if taken:
        yield f"{plots(taken)} taken"
    if lost:
        yield f"{plots(lost)} lost"


def _has(view: Mapping[str, Any]) -> str:
    own = view["your_plots"]
    which = f": {plots([(row, column) for row, column, _ in own])}" if 0 < len(own) <= MAX_NAMED else ""
    return f"{view['gold']} gold, {view['stamina']} stamina and {counted(len(own), 'plot')}{which}"


def meant(intent: Intent) -> list[str]:
    """Return the actions of an intent in the order of their priority, and the messages."""
    told = [
        _ordered(kind, list(of_kind)) for kind, of_kind in groupby(intent.actions, key=lambda one: one.kind)
    ]
    return [*told, *said({"all": intent.message, **intent.private})] or ["do nothing"]


def _ordered(kind: str, actions: Sequence[Action]) -> str:
    """Return actions of one kind, with the stamina of those that may have more than one."""
    if kind != "mine":
        return f"{kind} {plots([action.cell for action in actions])}"
    stamina = sum(action.stamina for action in actions)
    return f"mine {plots([action.cell for action in actions])} with {stamina} stamina"


def in_short(counts: Counts, first: PlayedTurn[State, Intent], now: State) -> list[str]:
    """Tell how many raids succeeded, and who owns what."""
    raids, captures = counts["raid"], counts["capture"]
    succeeded = f"{ {0: 'none', raids: 'all'}.get(captures, f'{captures:,}') } succeeded"
    if raids == 1:
        succeeded = "which succeeded" if captures else "which failed"
    return [f"{counted(raids, 'raid')}, {succeeded}." if raids else "No raids.", _owned(first, now)]


def _owned(first: PlayedTurn[State, Intent], now: State) -> str:
    """Tell whether turn 0 decided who owns what, and if not, who owns most."""
    owned = {plot: owner for plot, owner in now.owner.items() if owner}
    if not owned:
        return "Nobody owns a plot."
    draws: list[tuple[Any, str]] = [(one.subject, one.winner) for one in first.draws if one.event == "claim"]
    if owned == {(row, column): winner for (row, column), winner in draws}:
        return "The draws of turn 0 decided who owns what."
    if now.owner == first.after.owner:
        return "Each plot has the owner that it had after turn 0."
    held = Counter(owned.values())
    most = max(held.values())
    owners = sorted(agent for agent, n in held.items() if n == most)
    each = "s {} of {} plots" if len(owners) == 1 else " {} of {} plots each"
    return f"{few(owners)} own{each.format(most, len(now.owner))}, the most."


TELLING = Telling(
    events=EVENTS,
    codes=CODES,
    deeds={
        "raid": raided,
        "return": got_back,
        "tax": taxed,
        "punish": punished,
        "claim": claimed,
        "defend": defended,
        "mine": mined,
    },
    knew=knew,
    meant=meant,
    acts=acts,
    act_names=KINDS,
    landmarks=(Landmark("raid", "raid"), Landmark("capture", "raid", {"result": "captured"})),
    in_short=in_short,
)
"""How mining is told in words."""
