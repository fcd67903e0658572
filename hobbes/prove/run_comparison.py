"""`hobbes compare`: two runs of one world side by side, and their first divergence.

The settings are part of the hash chain, so runs with different settings have different digests even where
their turns are equal. For this reason turns are compared by their records. Random draws alone are no
divergence: with another seed they differ from the start, while all that anybody sees may be equal.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, zip_longest
from typing import Any, NamedTuple, TypeAlias

from hobbes.engine.record import JsonObject, canonical, sha256
from hobbes.engine.turn import Layer
from hobbes.engine.world import OBSERVER, AnyWorld
from hobbes.errors import UsageError
from hobbes.nodes.journal import TURN_QUESTION, Call
from hobbes.nodes.reading import deciding
from hobbes.prove.record_difference import Difference, diff_of, first_differing_part
from hobbes.prove.word_diff import CHANGE, lines_of, word_diff
from hobbes.store.history import reports, stored_turn
from hobbes.store.home import Store
from hobbes.store.marked_turns import kinds_in
from hobbes.store.recorded_run import Run
from hobbes.store.turns import LoggedTurn

Comparison: TypeAlias = dict[str, Any]

SIDES = ("A", "B")
"""The names of the two runs."""

COUNTED = ("outcomes", "drops", "mends", "events")
"""The counts that are compared; a key that only one run has counts 0 in the other."""

CALL_TEXTS: Mapping[Layer, Callable[[Call], str]] = {
    "prompt": lambda call: "\n\n".join(call.prompt),
    "answer": lambda call: call.reply.text or f"none: {call.reply.failure}",
    "reading": lambda call: f"{call.outcome}, found as {call.found_as}",
}
"""What is compared of each layer of a call, in the order in which the layers arise."""

ASKED_OTHERWISE = "One was asked in words, the other as JSON: their prompts are not compared."
"""What is said in place of the diff of the prompts of two kinds of players: programs are sent their view."""


def compare(store: Store, a: Run, b: Run) -> Comparison:
    """Return two runs side by side; raise UsageError if they are runs of different worlds."""
    if a.world.name != b.world.name:
        raise UsageError(
            f"run {a.label} is a run of {a.world.name} and run {b.label} one of {b.world.name}; "
            "choose two runs of the same world"
        )
    runs = (a, b)
    measures = beside(store.figures.measures(a.id), store.figures.measures(b.id), None)
    first, counted = _read(store, a, b)
    one, other = (_figures(store, run, counts) for run, counts in zip(runs, counted, strict=True))
    divergence = _divergence(store, a, b, first.record)
    return {
        "world": a.world.name,
        "runs": [_description(run, tainted=result["tainted"]) for run, result in ((a, one), (b, other))],
        "settings": settings_that_differ(a, b),
        "divergence": divergence,
        "draws": first.draws,
        "prompt": None if divergence else _first_prompt(store, a, b),
        "deeds": first.deeds,
        "decision": first.decision,
        "scores": beside(one["scores"], other["scores"], None),
        **{name: beside(one[name], other[name], 0) for name in COUNTED},
        **{name: [one[name], other[name]] for name in ("calls", "tokens", "usd", "failures")},
        "measures": {
            name: {"values": values, "difference": None if None in values else values[1] - values[0]}
            for name, values in measures.items()
        },
        "reports": [reports(stored_turn(store, run, run.turns - 1)) if run.turns else {} for run in runs],
    }


def _figures(store: Store, run: Run, counted: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """Return the figures of a run that are compared, with what was counted in its turns, most first."""
    about, spent = store.figures.about(run.id), store.figures.spent(run)
    return {
        **{name: dict(counts.most_common()) for name, counts in counted.items()},
        "scores": about["scores"] or {},
        "tainted": bool(about["tainted"]),
        "failures": about["failures"],
        "calls": spent.calls,
        "outcomes": store.figures.counts(run.id, "calls", "outcome"),
        "tokens": store.figures.tokens(run),
        "usd": spent.usd,
    }


def beside(one: Mapping[Any, Any], other: Mapping[Any, Any], absent: int | None) -> dict[Any, list[Any]]:
    """Return the values of both for every key that one of them has."""
    return {key: [one.get(key, absent), other.get(key, absent)] for key in dict.fromkeys([*one, *other])}


def _description(run: Run, *, tainted: bool) -> Mapping[str, Any]:
    return {
        "run": run.id,
        "name": run.name,
        "status": run.status,
        "turns": run.turns,
        "forked_at": run.forked_at,
        "digest": run.digest,
        "tainted": tainted,
        "models": dict(Counter(run.models.values())),
        "prompts": run.prompts.variant,
        "lang": run.prompts.lang,
        "seed": run.setting.seed,
    }


def settings_that_differ(a: Run, b: Run) -> dict[str, list[Any]]:
    """Return the settings that differ; of settings of models, only those of models that both runs have."""
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
    settings = {name: [one[name], other[name]] for name in one if one[name] != other[name]}
    shared = [name for name in a.model_settings if name in b.model_settings]
    named = [{name: run.model_settings[name].to_json() for name in shared} for run in (a, b)]
    parts: dict[str, Sequence[Mapping[str, Any]]] = {"models": (a.models, b.models), "model_settings": named}
    if not {"prompts", "lang"} & settings.keys():
        prompts = (a.prompts, b.prompts)
        parts["prompt_texts"] = [{"system": sha256(one.system), "turn": sha256(one.turn)} for one in prompts]
    differing = {name: _differing_values(*values) for name, values in parts.items()}
    return settings | {name: values for name, values in differing.items() if any(values)}


def _differing_values(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return, for each side, the values that differ from the other's, or that it has alone."""
    keys = [key for key, (a, b) in beside(one, other, None).items() if a != b]
    return [{key: side[key] for key in keys if key in side} for side in (one, other)]


class FirstDifferences(NamedTuple):
    """Where two runs first differ, each None if they never do."""

    record: tuple[int, Difference] | None
    """The first turn in which more than draws differs, of those that both runs have, and how it does."""
    draws: int | None
    """The first turn before that one in which random draws alone differ."""
    deeds: dict[str, Any] | None
    decision: dict[str, Any] | None


def _read(store: Store, a: Run, b: Run) -> tuple[FirstDifferences, list[dict[str, Counter[str]]]]:
    """Return where two runs first differ, and what the turns of each have by kind, in one pass over them."""
    record, draws, deeds, decision = None, None, None, None
    counted = [{kind: Counter[str]() for kind in ("drops", "mends", "events")} for _ in SIDES]
    for pair in zip_longest(store.turns.of(a), store.turns.of(b)):
        for counts, logged in zip(counted, pair, strict=True):
            for kind, there in kinds_in(a.world, logged).items() if logged else ():
                counts[kind].update(there)
        one, other = pair
        if one is None or other is None or one.text == other.text:
            continue
        if record is None:  # records of two versions are other texts, and may be equal
            difference = first_differing_part(one.record, other.record, {"draws"})
            record = (one.turn, difference) if difference else None
            if draws is None and not difference and one.record.draws != other.record.draws:
                draws = one.turn
        deeds = deeds or _deeds_that_differ(a.world, one, other)
        decision = decision or _decision_that_differs(store, (a, b), one, other)
    return FirstDifferences(record, draws, deeds, decision), counted


def _divergence(store: Store, a: Run, b: Run, record: tuple[int, Difference] | None) -> dict[str, Any] | None:
    """Return the first turn whose records differ, or that only one run has; None if all are equal."""
    if record is not None:
        turn, difference = record
        found = difference.agent, difference.layer, diff_of(difference.before, difference.now, SIDES)
        agent, layer, diff = _in_the_calls(store, (a, b), turn) or found
        return {"turn": turn, "agent": agent, "layer": layer, "diff": diff}
    if a.turns == b.turns:
        return None
    turn = min(a.turns, b.turns)
    has, lacks, run = (*SIDES, b) if a.turns > b.turns else (*SIDES[::-1], a)
    turns = f"with turns 0 to {run.turns - 1}" if run.turns else "without turns"
    diff = f"only run {has} has turn {turn}; run {lacks} is {run.status}, {turns}\n"
    return {"turn": turn, "agent": "", "layer": "engine", "diff": diff}


def _first_prompt(store: Store, a: Run, b: Run) -> dict[str, Any] | None:
    """Return the first prompt that differs between runs whose records are equal; None if all are equal.

    If nobody was sent a prompt that differs, the templates are compared: scripted policies read none of them.
    """
    for turn in store.calls.turns_asked_otherwise(a.id, b.id):
        if turn == a.turns:  # it has not ended
            break
        one, other = (_calls(store, run, turn) for run in (a, b))
        for address in sorted(one.keys() & other.keys()):
            if diff := _diff_of_calls("prompt", one[address], other[address]):
                return {"turn": turn, "agent": address[-1], "diff": diff}
    templates = [f"{run.prompts.system}\n\n{run.prompts.turn}" for run in (a, b)]
    if templates[0] != templates[1]:
        return {"turn": None, "agent": None, "diff": _diff(*templates)}
    return None


def _deeds_that_differ(world: AnyWorld, one: LoggedTurn, other: LoggedTurn) -> dict[str, Any] | None:
    """Return the first agent that acted in both turns and is told to have done otherwise, if any."""
    of_turns = [turn.record.events for turn in (one, other)]
    for agent in sorted(one.record.intents.keys() & other.record.intents.keys()):
        own = [[event for event in events if event.agent == agent] for events in of_turns]
        told = map(world.telling.deeds_told, own, of_turns)
        did = ["; ".join(done.words for done in deeds) or "did nothing" for deeds in told]
        if did[0] != did[1]:
            return {"turn": one.turn, "agent": agent, "did": did}
    return None


def _decision_that_differs(
    store: Store, runs: tuple[Run, Run], one: LoggedTurn, other: LoggedTurn
) -> dict[str, Any] | None:
    """Return the first agent that acted in both turns and decided otherwise; None if nobody did.

    Reflections are not compared: the reasons of a decision differ more often than the decision itself.
    """
    records = (one.record, other.record)
    for agent in sorted(one.record.intents.keys() & other.record.intents.keys()):
        intents = [record.intents[agent] for record in records]
        if canonical(moves(intents[0])) != canonical(moves(intents[1])):
            return {
                "turn": one.turn,
                "agent": agent,
                "intents": intents,
                "outcomes": [record.outcomes.get(agent) for record in records],
                **_words_of_call(store, runs, one.turn, agent),
            }
    return None


def _words_of_call(
    store: Store, runs: tuple[Run, Run], turn: int, agent: str
) -> dict[str, list[tuple[CHANGE, str]]]:
    """Return the word diffs of prompt and answer of an agent's calls that count; empty if a run has none."""
    calls = [store.calls.of_turn(run.id, turn, agent) for run in runs]
    if not all(calls):
        return {"prompt": [], "answer": []}
    one, other = (call for (call,) in calls)
    prompt, answer = (
        word_diff(CALL_TEXTS[layer](one), CALL_TEXTS[layer](other)) for layer in ("prompt", "answer")
    )
    return {"prompt": prompt if asked_alike(one, other) else [(" ", ASKED_OTHERWISE)], "answer": answer}


def asked_alike(one: Call | None, other: Call | None) -> bool:
    """Return whether two calls asked alike: in words, or with the view as JSON, which has no system text.

    A call that is missing is like any other.
    """
    return one is None or other is None or bool(one.prompt.system) == bool(other.prompt.system)


def moves(intent: JsonObject) -> JsonObject:
    """Return an intent without its reflection: what an agent does."""
    return {field: value for field, value in intent.items() if field != "reflection"}


def _in_the_calls(store: Store, runs: Iterable[Run], turn: int) -> tuple[str, Layer, str] | None:
    """Return agent, layer and diff of the first call of a turn that differs; None if none does.

    The order is that of cause and effect: the first questions to all agents, then the follow-up questions,
    then the question to the observer.
    """
    one, other = (_calls(store, run, turn) for run in runs)
    for _, of_question in groupby(sorted({*one, *other}), key=lambda address: address[:2]):
        addresses = list(of_question)
        for layer in CALL_TEXTS:
            for address in addresses:
                if diff := _diff_of_calls(layer, one.get(address), other.get(address)):
                    return address[-1], layer, diff
    return None


def _diff_of_calls(layer: Layer, one: Call | None, other: Call | None) -> str:
    """Return the diff of a layer of two calls, of which one may be missing; empty if they are equal there."""
    texts = [CALL_TEXTS[layer](call) if call else "" for call in (one, other)]
    if texts[0] == texts[1]:
        return ""
    return _diff(*texts) if layer != "prompt" or asked_alike(one, other) else f"{ASKED_OTHERWISE}\n"


def _calls(store: Store, run: Run, turn: int) -> dict[tuple[bool, int, str], Call]:
    """Return the calls that led to a turn's record, keyed by (is the observer's, question, agent)."""
    return {
        (agent == OBSERVER, call.question, agent): call
        for agent, calls in store.calls.attempts(run.id, turn).items()
        for call in (deciding(call for call in calls if call.question == TURN_QUESTION), deciding(calls))
        if call is not None
    }


def _diff(one: str, other: str) -> str:
    """Return the diff of two texts, with lines of JSON broken into several lines."""
    a, b = ("\n".join(lines_of(text)) for text in (one, other))
    return diff_of(a, b, SIDES) or "only spaces or line ends differ\n"
