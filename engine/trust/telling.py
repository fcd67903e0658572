"""trust in words: what units did, what a view told one, and what one wanted to do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hobbes.engine.board import join_names
from hobbes.engine.measures import PlayedTurn
from hobbes.engine.record import Event
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
    in_numbers,
    quoted,
    said,
)
from hobbes.engine.trust import rulings, validation
from hobbes.engine.trust.actions import KINDS, NEEDS
from hobbes.engine.trust.rules import EVENTS
from hobbes.engine.trust.state import ALL, State
from hobbes.engine.trust.validation import Intent
from hobbes.engine.world import OBSERVER


def high_fived(events: Sequence[Event]) -> str:
    """Tell a high five, and whether it was returned."""
    facts = events[0].facts
    return (
        f"high fived {facts['target']}, which {'returned it' if facts['returned'] else 'did not return it'}"
    )


def meant_to_return(events: Sequence[Event], of_turn: Sequence[Event]) -> str:
    """Tell of a high five that was not returned that its target meant to return it; that one missed."""
    first = events[0]
    missed = {(event.agent, event.facts.get("target")) for event in of_turn if event.type == "miss"}
    is_meant = first.type == "high_five" and (first.facts["target"], first.agent) in missed
    return ": it meant to, and missed" if is_meant else ""


def missed(events: Sequence[Event]) -> str:
    """Tell a high five that came out as an attack, with that attack."""
    blocked = any(event.facts.get("blocked") for event in events)
    words = f"meant to high five {events[0].facts['target']}, but missed: it came out as an attack"
    return f"{words}, which was blocked" if blocked else words


def attacked(events: Sequence[Event]) -> str:
    """Tell an attack, and whether it was blocked."""
    facts = events[0].facts
    return f"attacked {facts['target']}" + (", which blocked it" if facts["blocked"] else "")


def begged(events: Sequence[Event]) -> str:
    """Tell a request to the observer, and the answer."""
    facts = events[0].facts
    asked, reason = f"begged for {_sats(facts['amount'])}", quoted(facts["reason"])
    return f"{asked}: {reason}; got {facts['granted']}: {quoted(facts['answer'])}"


def replicated(events: Sequence[Event]) -> str:
    """Tell a replication, and what came of it."""
    facts = events[0].facts
    if not facts["succeeded"]:
        return "replicated and died of it"
    return "replicated" + (f": {facts['clone']} was born" if facts["clone"] else "")


def did_nothing(events: Sequence[Event]) -> str:
    """Tell that nothing was done, whether it was chosen, and what it cost."""
    facts = events[0].facts
    words = "did nothing" if facts["chosen"] else "did nothing, which it did not choose"
    return f"{words}, and paid {_sats(facts['sats'])} for it" if facts["sats"] else words


def shocked(events: Sequence[Event]) -> str:
    """Tell what a shock gave or took."""
    sats = sum(int(str(event.facts["sats"])) for event in events)
    return f"{'got' if sats > 0 else 'lost'} {_sats(sats)} in a shock"


def _sats(sats: Any) -> str:  # noqa: ANN401  a number from JSON
    return counted(abs(int(sats)), "sat")


def blocked(events: Sequence[Event]) -> str:
    """Tell a block, and how many attacks it stopped."""
    stopped = int(str(events[0].facts["stopped"]))
    return f"blocked, and stopped {counted(stopped, 'attack')}" if stopped else "blocked, but no attack came"


def _targets(events: Sequence[Event]) -> str:
    return ", ".join(str(event.facts["target"]) for event in events)


ENDS = {
    "won": "won the game",
    "lost": "lost the game",
    "drawn": "drew the game",
}
"""How a game ends for an agent; that all its turns were played is said of the game alone."""

SEEN = {
    "high_five": "high fived {you}",
    "attack": "attacked {you}",
    "send": "sent sats to {you}",
}
"""What a unit sees that another did to it."""


def knew(view: Mapping[str, Any]) -> Knew:
    """Return what a unit knew: messages, what it saw others do to it, the observer's answer, its sats."""
    threshold = view["rules"].get("threshold")  # there is none where nobody can replicate
    last = view["history"][-1:]
    return Knew(
        [
            Heard(one["from"], None if one["to"] == ALL else one["to"], one["text"])
            for one in view.get("messages", ())
        ],
        [*_done_to(view, last), *_declared_to(view), *_answered(view["observer"])],
        [*_gained(last)],
        _sats(view["sats"]) + (f"; to replicate, it needs {threshold}" if threshold else ""),
        Standing(("unit", "sats", "seen to do last"), [*_rows(view, last)]),
    )


def _done_to(view: Mapping[str, Any], last: Sequence[Mapping[str, Any]]) -> Iterator[Befell]:
    """Yield what a unit saw others do to it in the last round."""
    for past in last:
        for other, (did, target, _) in past["others"].items():
            if target == view["you"] and did in SEEN:
                yield Befell(other, SEEN[did].format(you=view["you"]), harm=did == "attack")


def in_truth(state: State, agent: str) -> dict[str, str]:
    """Return which units a unit saw attack it in the last round, though each had meant a high five."""
    return {
        deed.unit: "a missed high five" if deed.missed else "a high five"
        for past in state.history[-1:]
        for deed in past.deeds
        if deed.target == agent and (deed.missed or deed.misread)
    }


def _declared_to(view: Mapping[str, Any]) -> Iterator[Befell]:
    """Yield who proposed an alliance to a unit's agent in the last round, and who left one with it."""
    declared, own = view.get("alliances", {}), view.get("teams", {}).get(view["you"], view["you"])
    for step, words in (("proposed", "proposed an alliance to"), ("left", "left its alliance with")):
        for other, agent in declared.get(step, ()):
            if agent == own:
                yield Befell(other, f"{words} {own}")


def _answered(answer: Mapping[str, Any] | None) -> Iterator[Befell]:
    """Yield what the observer answered to a unit that begged."""
    if answer is not None:
        words = f"granted {answer['granted']} of the {_sats(answer['asked'])} that it begged for"
        yield Befell(OBSERVER, f"{words}: {quoted(answer['reason'])}")


def _gained(last: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the sats that the last round brought a unit, by their causes."""
    for past in last:
        if past["you"] is not None:
            did, target, changes = past["you"]
            causes = ", ".join(f"{sats:+} ({cause})" for cause, sats in changes.items()) or "nothing"
            deed = did.replace("_", " ") + (f" → {target}" if target else "")
            yield f"{causes} in turn {past['turn']}, in which it chose: {deed}"


def _rows(view: Mapping[str, Any], last: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int, str]]:
    """Yield each unit with its sats and what it was seen to do in the last round."""
    seen = {
        unit: deed for past in last for unit, deed in {**past["others"], view["you"]: past["you"]}.items()
    }
    for unit, sats in view["units"].items():
        did, target, _ = seen.get(unit) or ("", None, 0)
        yield unit, sats, did.replace("_", " ") + (f" → {target}" if target else "")


def meant(intent: Intent) -> list[str]:
    """Return the action of an intent, and what it says besides."""
    words = intent.action.replace("_", " ")
    match intent.action:
        case "beg":
            words = f"beg for {_sats(intent.amount)}: {quoted(intent.reason)}"
        case "send":
            words = f"send {_sats(intent.amount)} to {intent.target}"
        case "high_five" | "attack":
            words = f"{words} {intent.target}"
        case "do_nothing" if not intent.chosen:
            words = "do nothing, the default action"
        case _:
            pass
    steps = {"propose": "propose an alliance to", "accept": "accept an alliance with", "leave": "leave"}
    declared = [f"{steps[word]} {unit}" for unit, word in intent.alliances.items()]
    return [words, *declared, *said(intent.messages)]


def in_short(counts: Counts, _: PlayedTurn[State, Intent], now: State) -> list[str]:
    """Tell the numbers of attacks and high fives, of births and deaths, who is left, and who has won."""
    things = {"attack": "attack", "high_five": "high five", "birth": "birth", "death": "death"}
    slips = ""
    if missed := counts["miss"]:
        came_out = "missed and came out as an attack" if missed == 1 else "missed and came out as attacks"
        slips = f"{counted(counts['high_five'] + missed, 'high five')}, of which {missed} {came_out}. "
        things = {"attack": "other attack", "birth": "birth", "death": "death"}
    left = sum(unit.alive for unit in now.units)
    gone = [f"{left} of {counted(len(now.units), 'unit')} are left."] if left < len(now.units) else []
    won = [f"{join_names([now.winner, *now.co_winners])} won."] if now.winner else []
    return [slips + in_numbers(counts, things), *(won or gone)]


TELLING = Telling(
    events=EVENTS,
    codes={**validation.CODES, **rulings.CODES},
    deeds={
        "miss": missed,
        "attack": attacked,
        "high_five": high_fived,
        "misread": lambda events: f"was seen to attack by {_targets(events)}",
        "fumble": lambda events: f"fumbled: it meant to {str(events[0].facts['action']).replace('_', ' ')}",
        "block": blocked,
        "do_nothing": did_nothing,
        "beg": begged,
        "send": lambda events: f"sent {_sats(events[0].facts['amount'])} to {events[0].facts['target']}",
        "replicate": replicated,
        "propose": lambda events: f"proposed an alliance to {_targets(events)}",
        "ally": lambda events: f"became an ally of {_targets(events)}",
        "leave": lambda events: f"left its alliance with {_targets(events)}",
        "shock": shocked,
        "death": lambda _: "has no sats left",
        "end": lambda events: ENDS.get(str(events[0].facts["result"]), ""),
    },
    causes={"miss": "attack"},
    called={"miss": "missed high five"},
    more=meant_to_return,
    knew=knew,
    in_truth=in_truth,
    meant=meant,
    acts=validation.acts,
    act_names=(*KINDS, *(f"{kind} {AGENT}" for kind in KINDS if "target" in NEEDS[kind])),
    landmarks=(
        Landmark("attack", "attack"),
        Landmark("miss", "miss"),
        Landmark("birth", "replicate", {"succeeded": True}),
        Landmark("death", "death"),
    ),
    in_short=in_short,
)
"""How trust is told in words."""
