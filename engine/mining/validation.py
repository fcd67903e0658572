"""mining, step 0: remove what an answer may not say, then prune the rest to the stamina budget.

Source: docs/rules/mining.md#step-0-checking-an-answer.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pydantic import BaseModel

from hobbes.engine.chance import chance
from hobbes.engine.mining.actions import KINDS, Action, Element, Kind, action_model, as_action, elements_of
from hobbes.engine.mining.state import Cell, MiningConfig, State
from hobbes.engine.record import Findings, Json, JsonObject
from hobbes.engine.reflection import Reflection, bounded_reflection, fields_of, reflect
from hobbes.engine.said import clean_text
from hobbes.engine.schemas import by_name, list_of, number_of, object_of, text_of
from hobbes.engine.world import Codec, Setting, Validated


@dataclass(frozen=True, slots=True)
class Intent:
    """What an agent does this round: actions that it can pay for, its messages, and its reflection.

    Source: docs/rules/mining.md#reflection-fields.
    """

    actions: tuple[Action, ...] = ()
    message: str = ""
    """To all agents."""
    private: Mapping[str, str] = field(default_factory=dict)
    """To single agents, by name."""
    reflection: Reflection = field(default_factory=Reflection)


CODEC = Codec(Intent)

IDLE = Intent()
"""The intent of an agent without an answer, and the default action after a failed call.

Source: docs/rules/mining.md#failed-calls, docs/rules/mining.md#settings-of-every-world.
"""


CODES: Mapping[str, str] = {
    "mining/unknown-field": "a key that the schema does not have; it changed nothing",
    "mining/not-a-list": "the value of `claim`, `raid`, `defend`, `mine` or `plan` is not a list",
    "mining/not-a-step": "a step of `plan` is not an object that names a kind",
    "mining/bad-shape": "an action has the wrong shape or type",
    "mining/off-grid": "the plot lies outside the grid",
    "mining/already-owned": "a claim of a plot that has an owner",
    "mining/own-plot": "a raid on the agent's own plot",
    "mining/not-yours": "a defence or mining of a plot that is not the agent's own",
    "mining/unowned": "a raid on a plot that nobody owns",
    "mining/immune": "a raid on a plot that is still immune",
    "mining/repeat": "an earlier action in the answer has the same kind and plot",
    "mining/no-stamina": "mining with less than 1 stamina",
    "mining/over-budget": "an action was pruned from the end, since the stamina did not suffice",
    "mining/no-communication": "a message that the settings do not allow",
    "mining/message/not-text": "a message that is not text",
    "mining/message/unknown-agent": "a private message to somebody who does not play, or to the agent itself",
    "mining/cut-to-cap": "mining with more than the cap was cut to the cap",
    "mining/rationalized": "a removed action was replaced by a random legal one",
    "mining/message/unsafe-characters": "control and invisible characters were removed from a message",
    "mining/message/too-long": "a message was cut to `message_limit`",
}
"""What the codes of rejections and corrections mean. Source: docs/rules/mining.md#nothing-disappears."""


OFF_GRID = ""
"""Stands for the owner of a cell outside the grid. No agent has an empty name."""

Whose: TypeAlias = Literal["own", "another's", "unowned", "off-grid"]

NOT_OWN: Mapping[str | None, Whose] = {None: "unowned", OFF_GRID: "off-grid"}
"""What a plot without an owner is to every agent. A plot with an owner is the agent's own or another's.

Source: docs/rules/mining.md#plots-on-the-grid, docs/rules/mining.md#ownership.
"""

REFUSALS: Mapping[tuple[Kind, Whose], str] = {
    ("claim", "off-grid"): "mining/off-grid",
    ("claim", "own"): "mining/already-owned",
    ("claim", "another's"): "mining/already-owned",
    ("raid", "off-grid"): "mining/off-grid",
    ("raid", "own"): "mining/own-plot",
    ("defend", "off-grid"): "mining/off-grid",
    ("defend", "unowned"): "mining/not-yours",
    ("defend", "another's"): "mining/not-yours",
    ("mine", "off-grid"): "mining/off-grid",
    ("mine", "unowned"): "mining/not-yours",
    ("mine", "another's"): "mining/not-yours",
}
"""Why an action is rejected, by its kind and the owner of its plot. What is not listed here is allowed.

Source: docs/rules/mining.md#ownership.
"""


def validate(state: State, agent: str, answer: JsonObject | None) -> Validated[Intent]:
    """Return what is left of an answer after step 0, with a rejection or correction for each change.

    Source: docs/rules/mining.md#order-of-the-checks, docs/rules/mining.md#nothing-disappears,
    docs/rules/mining.md#answer-fields.
    """
    if answer is None:
        return Validated(IDLE)
    findings, fields = Findings(agent), fields_of(action_of(state.setting))
    removed: list[Element] = []
    allowed = _clean(state, findings, elements_of(findings, answer, fields), removed)
    actions = _within_stamina(findings, allowed, state.stamina(agent), removed)
    if state.config.fault_policy == "rationalize":
        actions = _rationalize(state, findings, actions, removed)
    message, private = _messages(state, findings, answer.get("message"))
    reflection = reflect(findings, answer, state.setting.agents, fields)
    intent = Intent(tuple(actions), message, private, reflection)
    return Validated(intent, tuple(findings.drops), tuple(findings.mends))


def action_of(setting: Setting[MiningConfig]) -> type[BaseModel]:
    """Return the model of an answer in a setting."""
    config = setting.config
    return action_model(communication=config.communication, private=config.private_messages)


def bounds(setting: Setting[MiningConfig]) -> JsonObject:
    """Return the JSON schema of an answer with the bounds of a setting.

    A list has at most as many actions as a round has stamina or, if that rises, as there are plots: the most
    stamina would tell how many rounds there are.
    """
    config = setting.config
    plots, text = config.rows * config.cols, text_of(config.message_limit)
    stamina = config.stamina if isinstance(config.stamina, int) else max(config.stamina)
    most = max(plots, stamina) if config.stamina_rise else stamina
    plot = {**list_of(number_of(0, max(config.rows, config.cols) - 1), 2), "minItems": 2}
    order = object_of({"cell": plot, "s": number_of(1, config.mine_cap)}, required=("cell", "s"))
    elements: dict[str, JsonObject] = {**dict.fromkeys(KINDS, plot), "mine": order}
    private = by_name(setting.agents, text)
    either: JsonObject = {"anyOf": [text, private]}
    fields = {
        **{kind: list_of(element, most) for kind, element in elements.items()},
        "plan": list_of(object_of(elements), most),
        "message": text if not config.private_messages else either if config.communication else private,
        **bounded_reflection(setting.agents),
    }
    return object_of(fields, required=KINDS)


def _clean(state: State, findings: Findings, said: list[Element], removed: list[Element]) -> list[Action]:
    """Return the allowed actions, with mining cut to the cap, and add all others to `removed`.

    Source: docs/rules/mining.md#order-of-the-checks, docs/rules/mining.md#mining-over-the-cap.
    """
    agent, cap = findings.agent, state.config.mine_cap
    kept: list[Action] = []
    seen: set[tuple[Kind, Cell]] = set()
    for kind, element in said:
        action = as_action(kind, element)
        if action is None:
            findings.drop("schema", "mining/bad-shape", {kind: element})
            removed.append((kind, element))
            continue
        refusal = _refusal(state, agent, action, seen)
        seen.add((kind, action.cell))  # even if rejected: a second try with other stamina is still a repeat
        if refusal is not None:
            findings.drop("rule", refusal, {kind: element})
            removed.append((kind, element))
            continue
        if action.stamina > cap and kind == "mine":
            capped = replace(action, stamina=cap)
            findings.mend("rule", "mining/cut-to-cap", {kind: element}, as_answer(capped))
            action = capped
        kept.append(action)
    return kept


def _refusal(state: State, agent: str, action: Action, seen: Container[tuple[Kind, Cell]]) -> str | None:
    """Return the code of the first rule that an action breaks, or None if it is allowed.

    `seen` has the kinds and plots of earlier actions in the answer.

    Source: docs/rules/mining.md#order-of-the-checks, docs/rules/mining.md#mining-with-no-stamina.
    """
    kind, cell = action.kind, action.cell
    owner = state.owner.get(cell, OFF_GRID)
    whose = "own" if owner == agent else NOT_OWN.get(owner, "another's")
    return (
        REFUSALS.get((kind, whose))
        or (_unraidable(state, cell) if kind == "raid" else None)
        or (_repeat(state.config, kind) if (kind, cell) in seen else None)
        or ("mining/no-stamina" if action.stamina < 1 else None)
    )


def _unraidable(state: State, cell: Cell) -> str | None:
    """Return the code of a raid on an immune or unowned plot, or None if the plot may be raided.

    Without immunity an unowned plot may be raided, since somebody may claim it in this round.

    Source: docs/rules/mining.md#immune-and-unowned-targets, docs/rules/mining.md#immunity.
    """
    if state.owner[cell] is None:
        return None if state.config.immunity == 0 else "mining/unowned"
    return "mining/immune" if cell in state.protected else None


def _repeat(config: MiningConfig, kind: Kind) -> str | None:
    """Return the code of a repeated action, or None where each `defend` of a plot adds a point.

    Source: docs/rules/mining.md#repeats.
    """
    return None if kind == "defend" and config.defense == "per_point" else "mining/repeat"


def _within_stamina(
    findings: Findings, actions: list[Action], stamina: int, removed: list[Element]
) -> list[Action]:
    """Remove whole actions from the end until the stamina pays for the rest.

    Source: docs/rules/mining.md#pruning.
    """
    kept, cost = list(actions), sum([action.stamina for action in actions])
    while cost > stamina:
        action = kept.pop()
        cost -= action.stamina
        said = as_answer(action)
        findings.drop("budget", "mining/over-budget", said)
        removed.append((action.kind, said[action.kind]))
    return kept


def _rationalize(
    state: State, findings: Findings, kept: list[Action], removed: list[Element]
) -> list[Action]:
    """Replace each removed action by a random legal one that costs no more, while stamina is left.

    Source: docs/rules/mining.md#fault-policy.
    """
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
        findings.mend("rule", "mining/rationalized", {kind: element}, as_answer(chosen))
    return actions


def _cost(kind: Kind, element: Json) -> int:
    """Return what a removed action would have cost, or 1 if it cannot be read."""
    action = as_action(kind, element)
    return 1 if action is None else action.stamina


def _legal(state: State, agent: str, budget: int, taken: list[Action]) -> Iterator[Action]:
    """Yield the legal actions within the budget that the plan does not have yet, row by row."""
    seen = {(action.kind, action.cell) for action in taken}
    if budget < 1:
        return
    for cell in state.owner:
        options = [Action("claim", cell), Action("raid", cell), Action("defend", cell)]
        options += [Action("mine", cell, s) for s in range(1, min(budget, state.config.mine_cap) + 1)]
        yield from (option for option in options if not _refusal(state, agent, option, seen))


def _messages(state: State, findings: Findings, said: Json) -> tuple[str, dict[str, str]]:
    """Return the message to all agents and those to single ones, without what is rejected.

    Source: docs/rules/mining.md#messages, docs/rules/mining.md#private-messages.
    """
    config = state.config
    if isinstance(said, dict) and config.private_messages:
        texts = {to: _private(state, findings, to, text) for to, text in said.items()}
        return "", {to: text for to, text in sorted(texts.items()) if text}
    if said is None or said == "":
        return "", {}
    if not (config.communication or config.private_messages):
        findings.drop("rule", "mining/no-communication", {"message": said})
    elif not isinstance(said, str):
        findings.drop("schema", "mining/message/not-text", {"message": said})
    elif not config.communication:
        findings.drop("rule", "mining/no-communication", {"message": said})
    else:
        return clean_text(findings, "mining/message", said, config.message_limit), {}
    return "", {}


def _private(state: State, findings: Findings, to: str, said: Json) -> str:
    """Return the text of a private message, or nothing if it is rejected."""
    if to == findings.agent or to not in state.setting.agents:
        findings.drop("rule", "mining/message/unknown-agent", {"message": {to: said}})
        return ""
    if not isinstance(said, str):
        findings.drop("schema", "mining/message/not-text", {"message": {to: said}})
        return ""
    return clean_text(findings, "mining/message", said, state.config.message_limit)


def as_answer(action: Action) -> dict[str, Json]:
    """Return an action as an agent would say it."""
    cell = list(action.cell)
    return {action.kind: {"cell": cell, "s": action.stamina} if action.kind == "mine" else cell}


def acts(intent: Intent) -> tuple[str, ...]:
    """Return the kinds of action in an intent, each once."""
    done = {action.kind for action in intent.actions}
    return tuple(kind for kind in KINDS if kind in done)
