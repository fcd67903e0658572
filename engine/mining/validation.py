"""mining, step 0: clean an answer and prune it to the stamina there is.

Source: seed `decision_algorithms` (Step 0), `platform_cleaning_and_pruning_policy`,
`fault_tolerance_and_random_rationalization_policy`; decisions page, "Step 0, in this order".
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from engine.chance import Luck
from engine.mining.actions import Action, Kind, Said, as_action, spoken
from engine.mining.state import Cell, MiningConfig, State, cells
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
        refusal = _refusal(state, agent, action, seen)
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


def _refusal(state: State, agent: str, action: Action, seen: set[tuple[Kind, Cell]]) -> str | None:
    """Say why an action is not allowed, in the order of step 0, or None."""
    return (
        _off_grid(state.config, action)
        or _wrong_owner(state, agent, action)
        or _immune_target(state, action)
        or _repeated(state.config, action, seen)
        or _without_stamina(action)
    )


def _off_grid(config: MiningConfig, action: Action) -> str | None:
    """The plot must lie on the grid."""
    row, col = action.cell
    return None if 0 <= row < config.rows and 0 <= col < config.cols else "mining/off-grid"


def _wrong_owner(state: State, agent: str, action: Action) -> str | None:
    """Claim what is unowned at the start of the round, raid what is another's, defend and mine one's own."""
    owner = state.owner(action.cell)
    match action.kind:
        case "claim":
            return None if owner is None else "mining/already-owned"
        case "raid" if owner is None:
            # Without an immunity window a raid may strike what is claimed this very round.
            return None if state.config.immunity == 0 else "mining/unowned"
        case "raid":
            return "mining/own-plot" if owner == agent else None
        case _:
            return None if owner == agent else "mining/not-yours"


def _immune_target(state: State, action: Action) -> str | None:
    """A plot in its immunity window cannot be raided."""
    return "mining/immune" if action.kind == "raid" and state.immune(action.cell) else None


def _repeated(config: MiningConfig, action: Action, seen: set[tuple[Kind, Cell]]) -> str | None:
    """Of the same kind on the same plot the first stands; but under `per_point` each defend is a point."""
    if action.kind == "defend" and config.defense == "per_point":
        return None
    if (action.kind, action.cell) in seen:
        return "mining/repeat"
    seen.add((action.kind, action.cell))
    return None


def _without_stamina(action: Action) -> str | None:
    """Mining takes at least one stamina."""
    return "mining/no-stamina" if action.stamina < 1 else None


def _within_stamina(
    findings: Findings, actions: list[Action], stamina: int, removed: list[Said]
) -> list[Action]:
    """Delete whole actions from the end until the rest can be paid for."""
    kept, cost = list(actions), sum(action.stamina for action in actions)
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
    luck = Luck(state.setting.seed, state.turn, agent)
    left = state.stamina(agent) - sum(action.stamina for action in kept)
    actions = list(kept)
    for k, (kind, element) in enumerate(removed):
        options = list(_legal(state, agent, min(_cost(kind, element), left), actions))
        if not options:
            continue
        chosen = luck.pick(options, f"rationalize/{k}")
        actions.append(chosen)
        left -= chosen.stamina
        findings.mend("rule", "mining/rationalized", {kind: element}, as_said(chosen))
    return actions


def _cost(kind: Kind, element: Json) -> int:
    """Tell what a removed action would have cost; one that cannot be read, 1."""
    action = as_action(kind, element)
    return 1 if action is None else max(1, action.stamina)


def _legal(state: State, agent: str, budget: int, taken: list[Action]) -> Iterator[Action]:
    """List the legal actions of at most this cost that are not in the plan yet, row-major."""
    seen = {(action.kind, action.cell) for action in taken}
    if budget < 1:
        return
    for cell in cells(state.config):
        options = [Action("claim", cell), Action("raid", cell), Action("defend", cell)]
        options += [Action("mine", cell, s) for s in range(1, min(budget, state.config.mine_cap) + 1)]
        yield from (option for option in options if _refusal(state, agent, option, set(seen)) is None)


def _message(config: MiningConfig, findings: Findings, said: Json) -> str:
    """Give the message to all: only where communication is on, bounded, else dropped."""
    if said is None or said == "":
        return ""
    if not config.communication:
        findings.drop("rule", "mining/no-communication", {"message": said})
        return ""
    if not isinstance(said, str):
        findings.drop("schema", "mining/bad-shape", {"message": said})
        return ""
    return clean_text(findings, "mining/message", said, config.message_limit)


def as_said(action: Action) -> dict[str, Json]:
    """Give an action as an agent would say it."""
    cell = list(action.cell)
    return {action.kind: {"cell": cell, "s": action.stamina} if action.kind == "mine" else cell}
