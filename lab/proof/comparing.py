"""`hobbes compare`: two runs of one world side by side, and the first turn in which they part.

Runs of different settings have different digests from the first link on, though their turns may be equal; so
turns are compared by what is in their records.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby, islice, zip_longest
from typing import Any, TypeAlias

from engine.record import sha256
from engine.turn import Layer
from engine.world import OBSERVER
from lab.errors import UsageError
from lab.proof.replaying import diff_of, first_differing_part
from lab.store.database import LoggedTurn, Run, Store
from lab.store.history import logged, reports
from nodes.journal import TURN_QUESTION, Call
from nodes.reading import deciding

Comparison: TypeAlias = dict[str, Any]

SIDES = ("A", "B")
"""What the two runs are called."""

COUNTED = ("outcomes", "drops", "mends", "events")
"""What is counted in both runs; what one of them has not, it has 0 times."""

CALL_LAYERS: tuple[tuple[Layer, Callable[[Call], str]], ...] = (
    ("prompt", lambda call: f"{call.prompt.system}\n\n{call.prompt.turn}"),
    ("answer", lambda call: call.reply.text or f"none: {call.reply.failure}"),
    ("reading", lambda call: f"{call.outcome}, found as {call.found_as}"),
)
"""What of a call is compared, in the order in which it comes to be."""

_BETWEEN = re.compile(r', ?(?=["{\[])')
"""Where one line of JSON is taken apart; it need not be JSON to the end."""


def compare(store: Store, a: Run, b: Run) -> Comparison:
    """Give two runs side by side; UsageError if they are of two worlds."""
    if a.world.name != b.world.name:
        raise UsageError(
            f"run {a.id} is of {a.world.name}, run {b.id} of {b.world.name}; take two runs of one world"
        )
    runs = (a, b)
    measures = beside(store.measures(a.id), store.measures(b.id), None)
    one, other = ({**store.result(run), "events": store.counts(run.id, "events", "type")} for run in runs)
    return {
        "world": a.world.name,
        "runs": [_told(run, tainted=result["tainted"]) for run, result in ((a, one), (b, other))],
        "settings": _settings(a, b),
        "divergence": _divergence(store, a, b),
        "scores": beside(one["scores"], other["scores"], None),
        **{name: beside(one[name], other[name], 0) for name in COUNTED},
        **{name: [one[name], other[name]] for name in ("calls", "tokens", "usd", "failures")},
        "measures": {
            name: {"values": values, "difference": None if None in values else values[1] - values[0]}
            for name, values in measures.items()
        },
        "reports": [reports(logged(store, run, run.turns - 1)) if run.turns else {} for run in runs],
    }


def beside(one: Mapping[Any, Any], other: Mapping[Any, Any], absent: int | None) -> dict[Any, list[Any]]:
    """Give for every key of either the values of both, side by side."""
    return {key: [one.get(key, absent), other.get(key, absent)] for key in dict.fromkeys([*one, *other])}


def _told(run: Run, *, tainted: bool) -> Mapping[str, Any]:
    """Give what a run is."""
    return {
        "run": run.id,
        "name": run.name,
        "status": run.status,
        "turns": run.turns,
        "digest": run.digest,
        "tainted": tainted,
        "models": dict(Counter(run.models.values())),
        "prompts": run.prompts.variant,
        "lang": run.prompts.lang,
        "seed": run.setting.seed,
    }


def _settings(a: Run, b: Run) -> dict[str, list[Any]]:
    """Give what was set differently: of models, those of agents that both runs have."""
    one, other = (
        {
            **run.setting.config.model_dump(mode="json"),
            "agents": list(run.setting.agents),
            "seed": run.setting.seed,
            "prompts": run.prompts.variant,
            "lang": run.prompts.lang,
        }
        for run in (a, b)
    )
    told = {name: [one[name], other[name]] for name in one if one[name] != other[name]}
    if a.models != b.models and any(models := _where_both_differ(a.models, b.models)):
        told["models"] = models
    if not {"prompts", "lang"} & told.keys() and any(
        texts := _where_both_differ(_templates(a), _templates(b))
    ):
        told["prompt_texts"] = texts
    return told


def _where_both_differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give of both what both have, and have differently."""
    keys = [key for key in one if key in other and one[key] != other[key]]
    return [{key: side[key] for key in keys} for side in (one, other)]


def _templates(run: Run) -> dict[str, str]:
    """Name the texts that a run's prompts were made of by their hashes, as the table of texts does."""
    return {"system": sha256(run.prompts.system), "turn": sha256(run.prompts.turn)}


def _divergence(store: Store, a: Run, b: Run) -> dict[str, Any] | None:
    """Name the first turn whose records differ, or that only one run has."""
    for one, other in zip_longest(*(islice(store.turns(run.id), run.turns) for run in (a, b))):
        if one is None or other is None or one.turn != other.turn:
            turn, found = _in_one_alone((a, b), (one, other))
        else:
            turn = one.turn
            difference = first_differing_part(one.record, other.record, SIDES)
            if difference is None:
                continue
            found = _in_the_calls(store, (a, b), turn) or (
                difference.agent,
                difference.layer,
                difference.diff,
            )
        agent, layer, diff = found
        return {"turn": turn, "agent": agent, "layer": layer, "diff": diff}
    return None


def _in_one_alone(
    runs: tuple[Run, Run], turns: tuple[LoggedTurn | None, LoggedTurn | None]
) -> tuple[int, tuple[str, Layer, str]]:
    """Give the turn that one run alone has, and say so."""
    number = min(turn.turn for turn in turns if turn)
    has, lacks = (0, 1) if turns[0] and turns[0].turn == number else (1, 0)
    run = runs[lacks]
    stands = f"it is {run.status} and has turns 0 to {run.turns - 1}" if run.turns else "it has no turn yet"
    return number, (
        "",
        "engine",
        f"run {SIDES[lacks]} has no turn {number}, run {SIDES[has]} has; {stands}\n",
    )


def _in_the_calls(store: Store, runs: Iterable[Run], turn: int) -> tuple[str, Layer, str] | None:
    """Give agent, layer and diff of the first call of a turn that differs, in the order of what causes what.

    All agents are asked at once, then some a second time about their answers, then the observer.
    """
    one, other = (_calls(store, run, turn) for run in runs)
    for _, asked in groupby(sorted({*one, *other}), key=lambda address: address[:2]):
        addresses = list(asked)
        for layer, said in CALL_LAYERS:
            for address in addresses:
                texts = [said(calls[address]) if address in calls else "" for calls in (one, other)]
                if texts[0] != texts[1]:
                    return address[-1], layer, _diff(*texts)
    return None


def _calls(store: Store, run: Run, turn: int) -> dict[tuple[bool, int, str], Call]:
    """Give the calls of a turn that led to its record, by whether the observer's, question and agent."""
    return {
        (agent == OBSERVER, call.question, agent): call
        for agent, calls in store.attempts(run.id, turn).items()
        for call in (deciding(call for call in calls if call.question == TURN_QUESTION), deciding(calls))
        if call is not None
    }


def _diff(one: str, other: str) -> str:
    """Give the diff of two texts, in which a line that begins an object is taken apart."""
    a, b = (
        "\n".join(_BETWEEN.sub(",\n", line) if line.startswith("{") else line for line in text.splitlines())
        for text in (one, other)
    )
    return diff_of(a, b, SIDES) or "only the spaces between its parts or the ends of its lines differ\n"
