"""mining, step 0: clean an answer and prune it to the stamina there is.

Source: seed `decision_algorithms` (Step 0), `platform_cleaning_and_pruning_policy`,
`fault_tolerance_and_random_rationalization_policy`; decisions page, "Step 0, in this order".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from engine.chance import chance
from engine.mining.actions import Action, Kind, Said, as_action, spoken
from engine.mining.state import Cell, MiningConfig, State
from engine.record import Findings, Json, JsonObject
from engine.reflection import Reflection, reflect
from engine.said import clean_text
from engine.world import Codec, Validated


@dataclass(frozen=True, slots=True)
class Intent:
    """What an agent does this round: actions within its stamina, a message, and its reflection."""

    actions: tuple[Action, ...] = ()
    message: str = ""
    reflection: Reflection = field(default_factory=Reflection)


CODEC = Codec(Intent)

IDLE = Intent()
"""What an agent intends that said nothing: it does nothing and spends nothing."""


Whose: TypeAlias = Literal["own", "another's", "nobody's", "off-grid"]

REFUSALS: Mapping[tuple[Kind, Whose], str] = {
    ("claim", "off-grid"): "mining/off-grid",
    ("claim", "own"): "mining/already-owned",
    ("claim", "another's"): "mining/already-owned",
    ("raid", "off-grid"): "mining/off-grid",
    ("raid", "own"): "mining/own-plot",
    ("defend", "off-grid"): "mining/off-grid",
    ("defend", "nobody's"): "mining/not-yours",
    ("defend", "another's"): "mining/not-yours",
    ("mine", "off-grid"): "mining/off-grid",
    ("mine", "nobody's"): "mining/not-yours",
    ("mine", "another's"): "mining/not-yours",
}
"""Claim what is unowned at the start of the round, raid what is another's, defend and mine one's own."""


def validate(state: State, agent: str, answer: JsonObject | None) -> Validated[Intent]:
    """Give what is left of an answer after step 0; each removal is a drop, each repair a mend."""
    if answer is None:
        return Validated(IDLE)
    findings = Findings(agent)
    removed: list[Said] = []
    allowed = _clean(state, findings, answer, removed)
    actions = _within_stamina(findings, allowed, state.stamina(agent), removed)
    if state.config.fault_policy == "rationalize":
        actions = _rationalize(state, findings, actions, removed)
    intent = Intent(
        tuple(actions),
        _message(state.config, findings, answer.get("message")),
        reflect(findings, answer, state.setting.agents),
    )
    return Validated(intent, tuple(findings.drops), tuple(findings.mends))


def _clean(state: State, findings: Findings, answer: JsonObject, removed: list[Said]) -> list[Action]:
    """Keep the actions that are allowed, mine orders cut to the cap; note the rest in `removed`."""
    agent, config = findings.agent, state.config
    kept: list[Action] = []
    seen: set[tuple[Kind, Cell]] = set()
    for kind, element in spoken(findings, answer):
        action = as_action(kind, element)
        if action is None:
            findings.drop("schema", "mining/bad-shape", {kind: element})
            removed.append((kind, element))
            continue
        named = (kind, action.cell)
        refusal = _refusal(state, agent, action, repeated=named in seen)
        seen.add(named)
        if refusal is not None:
            findings.drop("rule", refusal, {kind: element})
            removed.append((kind, element))
            continue
        if kind == "mine" and action.stamina > config.mine_cap:
            capped = replace(action, stamina=config.mine_cap)
            findings.mend("rule", "mining/cut-to-cap", {kind: element}, as_said(capped))
            action = capped
        kept.append(action)
    return kept


def _refusal(state: State, agent: str, action: Action, *, repeated: bool) -> str | None:
    """Say why an action is not allowed, by the first rule of step 0 that it breaks, or None."""
    kind, cell = action.kind, action.cell
    return (
        REFUSALS.get((kind, _whose(state, agent, cell)))
        or (_unraidable(state, cell) if kind == "raid" else None)
        or (_repeat(state.config, kind) if repeated else None)
        or ("mining/no-stamina" if action.stamina < 1 else None)
    )


def _whose(state: State, agent: str, cell: Cell) -> Whose:
    """Tell whose a plot is, for an agent, at the start of the round."""
    if cell not in state.owner:
        return "off-grid"
    owner = state.owner[cell]
    if owner is None:
        return "nobody's"
    return "own" if owner == agent else "another's"


def _unraidable(state: State, cell: Cell) -> str | None:
    """A plot in its immunity window cannot be raided, nor, where there is a window, one that nobody has.

    Without a window a raid may strike what is claimed this very round.
    """
    if state.owner[cell] is None:
        return None if state.config.immunity == 0 else "mining/unowned"
    return "mining/immune" if state.immune(cell) else None


def _repeat(config: MiningConfig, kind: Kind) -> str | None:
    """Of the same kind on the same plot the first stands; but under `per_point` each defend is a point."""
    return None if kind == "defend" and config.defense == "per_point" else "mining/repeat"


def _within_stamina(
    findings: Findings, actions: list[Action], stamina: int, removed: list[Said]
) -> list[Action]:
    """Delete whole actions from the end until the rest can be paid for."""
    kept, cost = list(actions), sum([action.stamina for action in actions])
    while cost > stamina:
        action = kept.pop()
        cost -= action.stamina
        said = as_said(action)
        findings.drop("budget", "mining/over-budget", said)
        removed.append((action.kind, said[action.kind]))
    return kept


def _rationalize(state: State, findings: Findings, kept: list[Action], removed: list[Said]) -> list[Action]:
    """Replace each removed action by a random legal one of its cost or less, while stamina is left."""
    agent = findings.agent
    left = state.stamina(agent) - sum(action.stamina for action in kept)
    actions = list(kept)
    for k, (kind, element) in enumerate(removed):
        options = list(_legal(state, agent, min(_cost(kind, element), left), actions))
        if not options:
            continue
        digest = chance(state.setting.seed, state.turn, agent, f"rationalize/{k}")
        chosen = options[int(digest, 16) % len(options)]
        actions.append(chosen)
        left -= chosen.stamina
        findings.mend("rule", "mining/rationalized", {kind: element}, as_said(chosen))
    return actions


def _cost(kind: Kind, element: Json) -> int:
    """Tell what a removed action would have cost; one that cannot be read, 1."""
    action = as_action(kind, element)
    return 1 if action is None else action.stamina


def _legal(state: State, agent: str, budget: int, taken: list[Action]) -> Iterator[Action]:
    """List the legal actions of at most this cost that are not in the plan yet, row-major."""
    seen = {(action.kind, action.cell) for action in taken}
    if budget < 1:
        return
    for cell in state.owner:
        options = [Action("claim", cell), Action("raid", cell), Action("defend", cell)]
        options += [Action("mine", cell, s) for s in range(1, min(budget, state.config.mine_cap) + 1)]
        yield from (
            option
            for option in options
            if not _refusal(state, agent, option, repeated=(option.kind, option.cell) in seen)
        )


def _message(config: MiningConfig, findings: Findings, said: Json) -> str:
    """Give the message to all: only where communication is on, bounded, else dropped."""
    if said is None or said == "":
        return ""
    if not config.communication:
        findings.drop("rule", "mining/no-communication", {"message": said})
        return ""
    if not isinstance(said, str):
        findings.drop("schema", "mining/message/not-text", {"message": said})
        return ""
    return clean_text(findings, "mining/message", said, config.message_limit)


def as_said(action: Action) -> dict[str, Json]:
    """Give an action as an agent would say it."""
    cell = list(action.cell)
    return {action.kind: {"cell": cell, "s": action.stamina} if action.kind == "mine" else cell}
