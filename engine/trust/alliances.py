"""trust: alliances that agents declare: they propose, accept and leave them.

Source: docs/rules/trust.md#declared-alliances.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations

from hobbes.engine.record import Findings, Json, JsonObject
from hobbes.engine.trust.actions import NOT_GIVEN, WORDS, Word, spelled
from hobbes.engine.trust.state import Declaration, Pact, State

CODES: Mapping[str, str] = {
    "trust/alliance/not-words": "alliances are not an object",
    "trust/alliance/bad-word": "a word on an alliance other than propose, accept and leave",
    "trust/alliance/bad-unit": "a word to a unit that is dead, unknown or of the same team",
    "trust/alliance/allied": "an alliance proposed to an ally or accepted from one",
    "trust/alliance/not-proposed": "an alliance accepted that was not proposed in the last round",
    "trust/alliance/not-allied": "an alliance left that there is not",
    "trust/alliance/spelling": "a word on an alliance was spelled in another way",
}
"""What the codes of words on alliances mean."""


def allowed_words(state: State, findings: Findings, said: Json) -> dict[str, Word]:
    """Return the allowed words of a unit about alliances, by the agent to whom they are said.

    The answer names units of these agents; of several words to units of one agent, the word to the first by
    name counts.

    Source: docs/rules/trust.md#declared-alliances, docs/rules/trust.md#fields-that-are-not-used.
    """
    if state.config.alliances != "declared" or said in NOT_GIVEN:
        return {}
    if not isinstance(said, Mapping):
        findings.drop("schema", "trust/alliance/not-words", {"alliances": said})
        return {}
    kept: dict[str, Word] = {}
    for unit, value in sorted(said.items()):
        if value in NOT_GIVEN:
            continue
        word = spelled(value, WORDS)
        refusal = _refusal(state, findings.agent, unit, word)
        if refusal is not None:
            findings.drop("rule", refusal, {"alliances": {unit: value}})
        elif word is not None:
            if word != value:
                said_so, kept_so = {"alliances": {unit: value}}, {"alliances": {unit: word}}
                findings.mend("schema", "trust/alliance/spelling", said_so, kept_so)
            kept.setdefault(state.units_by_id[unit].team, word)
    return kept


def _refusal(state: State, agent: str, unit: str, word: Word | None) -> str | None:
    if word is None:
        return "trust/alliance/bad-word"
    if unit not in state.opponents(agent):
        return "trust/alliance/bad-unit"
    own, other = state.units_by_id[agent].team, state.units_by_id[unit].team
    if word == "leave":
        return None if state.allied(agent, unit) else "trust/alliance/not-allied"
    if state.allied(agent, unit):
        return "trust/alliance/allied"
    return None if word == "propose" or _has_proposed(state, other, own) else "trust/alliance/not-proposed"


def _has_proposed(state: State, one: str, other: str) -> bool:
    return any(
        (past.step, state.units_by_id[past.unit].team, past.target) == ("propose", one, other)
        for past in state.declared
    )


def declarations(
    state: State, said: Mapping[str, Mapping[str, Word]], living: Collection[str]
) -> tuple[Declaration, ...]:
    """Return what is declared in a round, from each unit's words.

    If several units of a team speak to the same agent, only the first by name counts.

    An alliance begins if one agent accepts, or if two propose it to each other in the same round, and both
    are among the `living` agents after the round.

    Source: docs/rules/trust.md#declared-alliances.
    """
    counted: dict[tuple[str, str], tuple[Word, str]] = {}
    for unit in sorted(said):
        for other, word in said[unit].items():
            counted.setdefault((state.units_by_id[unit].team, other), (word, unit))
    return tuple(
        step
        for step in _steps(counted)
        if step.step != "ally" or {state.units_by_id[step.unit].team, step.target} <= {*living}
    )


def _steps(counted: Mapping[tuple[str, str], tuple[Word, str]]) -> Iterator[Declaration]:
    """Yield what each word declares: a proposal, the beginning of an alliance, or its end."""
    for (own, other), (word, unit) in counted.items():
        if word == "leave":
            yield Declaration("leave", unit, other)
            continue
        if word == "propose":
            yield Declaration("propose", unit, other)
        back = counted.get((other, own), ("", ""))[0]
        # Of two who propose to each other, the second by name completes the alliance.
        if word == "accept" or (back == "propose" and own > other):
            yield Declaration("ally", unit, other)


def pacts_after(state: State, news: Collection[Declaration], living: Collection[str]) -> tuple[Pact, ...]:
    """Return the alliances after a round, without those that ended.

    An alliance ends if it is left, or if one of its agents has no living unit.

    Source: docs/rules/trust.md#declared-alliances.
    """
    pairs = {
        step: {_pair(state, declared) for declared in news if declared.step == step}
        for step in ("ally", "leave")
    }
    kept = {(p.one, p.other): p for p in state.pacts if (p.one, p.other) not in pairs["leave"]}
    made = {pair: Pact(*pair, state.turn) for pair in pairs["ally"]}
    pacts = sorted((made | kept).items())
    return tuple([pact for pair, pact in pacts if set(pair) <= set(living)])


def _pair(state: State, declared: Declaration) -> tuple[str, str]:
    first, second = sorted((state.units_by_id[declared.unit].team, declared.target))
    return first, second


def winning_together(state: State) -> frozenset[frozenset[str]]:
    """Return the pairs of agents that win together if one of them wins in this round.

    They are allied, and their alliance began at least `alliance_age` rounds before. Unless `allies_win` is
    on, there are none.

    Source: docs/rules/trust.md#allies-win.
    """
    config = state.config
    return frozenset(
        pair
        for pair, since in state.alliances.items()
        if config.allies_win and state.turn - since >= config.alliance_age
    )


def all_paired(agents: Collection[str], pairs: Collection[frozenset[str]]) -> bool:
    """Return whether each agent forms one of these pairs with each other one."""
    return all(frozenset(pair) in pairs for pair in combinations(agents, 2))


def visible_alliances(state: State, agent: str) -> JsonObject:
    """Return the alliances that an agent's unit sees, and what was declared in the last round.

    All are public, unless `alliances_known` is off: then a unit sees only those of its own team.

    Source: docs/rules/trust.md#view-of-alliances.
    """
    own, known = state.units_by_id[agent].team, state.config.alliances_known
    pairs = sorted(sorted(pair) for pair in state.alliances if known or own in pair)
    view: dict[str, Json] = {"allied": [list(pair) for pair in pairs]}
    if state.config.alliances == "declared":
        for step, key in (("propose", "proposed"), ("leave", "left")):
            view[key] = [
                [one.unit, one.target]
                for one in state.declared
                if one.step == step and (known or own in (state.units_by_id[one.unit].team, one.target))
            ]
    return view
