"""mining: what an agent may say, from JSON to actions in the order of their priority.

Source: docs/rules/mining.md#what-an-agent-may-say.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from hobbes.engine.mining.state import Cell
from hobbes.engine.record import Findings, Json, JsonObject
from hobbes.engine.reflection import ReflectionFields, with_fields
from hobbes.engine.said import whole

Kind: TypeAlias = Literal["claim", "raid", "defend", "mine"]
KINDS: tuple[Kind, ...] = ("claim", "raid", "defend", "mine")

Plot = Annotated[list[int], Field(min_length=2, max_length=2, description="[row, col]")]


class MineOrder(BaseModel):
    """Stamina `s` for one own plot."""

    model_config = ConfigDict(extra="forbid", strict=True)

    cell: Plot
    s: int = Field(ge=1)


# These models only make the schema that agents are shown, docstrings included. They do not check answers: an
# answer is checked action by action, so that one wrong action does not make the others invalid.
# See docs/rules/mining.md#answer-fields and docs/rules/mining.md#reflection-fields
class MiningAction(ReflectionFields):
    """The schema of an answer. What comes first has priority: earlier keys, and earlier items of a list."""

    claim: list[Plot] = Field(default_factory=list, description="unowned plots to claim, 1 stamina each")
    raid: list[Plot] = Field(default_factory=list, description="others' plots to raid, 1 stamina each")
    defend: list[Plot] = Field(default_factory=list, description="own plots to defend, 1 stamina each")
    mine: list[MineOrder] = Field(default_factory=list, description="own plots to mine, s stamina each")
    plan: list[dict[Kind, Plot | MineOrder]] = Field(
        default_factory=list, description="the same actions, one an object, for an order that mixes kinds"
    )
    message: str = Field("", description="to all miners, read next round")


Private: TypeAlias = dict[str, str]
"""Private messages: each miner's name with the text for it alone."""

TALK = frozenset({"message", "keeps_word_report"})
"""The fields that only agents who can talk have. Who cannot talk cannot keep or break its word."""


@cache
def action_model(*, communication: bool, private: bool) -> type[BaseModel]:
    """Return the model of an answer, without the fields that the settings switch off.

    Source: docs/rules/mining.md#answer-fields.
    """
    names = MiningAction.model_fields.keys() - (set() if communication or private else TALK)
    if not private:
        return with_fields(MiningAction, names)
    message_type: Any = str | Private if communication else Private
    to_all = "to all miners, or " if communication else ""
    description = f"{to_all}{{name: text for this miner alone}}, read next round"
    message = (message_type, Field("" if communication else {}, description=description))
    return with_fields(MiningAction, names, message=message)


MINE_FIELDS = frozenset(MineOrder.model_fields)


@dataclass(frozen=True, slots=True)
class Action:
    """One action on one plot. Its stamina is its cost.

    Source: docs/rules/mining.md#costs.
    """

    kind: Kind
    cell: Cell
    stamina: int = 1


Element: TypeAlias = tuple[Kind, Json]
"""One action of an answer before it is checked: its kind, and the JSON that the agent gave."""


def elements_of(findings: Findings, answer: JsonObject, fields: Collection[str]) -> list[Element]:
    """Return the elements of an answer, those with the highest priority first, and note unknown keys.

    The message is left to `validation._messages`, which rejects it with a code of its own if agents cannot
    talk.

    Source: docs/rules/mining.md#priority, docs/rules/mining.md#answer-fields.
    """
    elements: list[Element] = []
    for key, value in answer.items():
        if key == "plan":
            elements += _plan_elements(findings, value)
        elif key in KINDS:
            if isinstance(value, list):
                elements += [(key, element) for element in value]
            else:
                findings.drop("schema", "mining/not-a-list", {key: value})
        elif key not in fields and key != "message":
            findings.note("schema", "mining/unknown-field", {key: value})
    return elements


def _plan_elements(findings: Findings, plan: Json) -> list[Element]:
    """Return the elements of a plan. Each of its steps is an object that names a kind.

    Source: docs/rules/mining.md#plans-that-mix-kinds.
    """
    elements: list[Element] = []
    if not isinstance(plan, list):
        findings.drop("schema", "mining/not-a-list", {"plan": plan})
        return elements
    for step in plan:
        if not isinstance(step, dict) or not step:
            findings.drop("schema", "mining/not-a-step", step)
            continue
        for key, element in step.items():
            if key in KINDS:
                elements.append((key, element))
            else:
                findings.drop("schema", "mining/not-a-step", {key: element})
    return elements


def as_action(kind: Kind, element: Json) -> Action | None:
    """Return the action that an element describes, or None if its shape or type is wrong.

    Source: docs/rules/mining.md#shape-and-type.
    """
    cell: Json = element
    stamina: Json = 1
    if kind == "mine":
        if not isinstance(element, dict) or element.keys() != MINE_FIELDS:
            return None
        cell, stamina = element["cell"], element["s"]
    if not isinstance(cell, list) or len(cell) != 2:  # noqa: PLR2004  [row, col]
        return None
    row, col = cell
    if not (type(row) is type(col) is type(stamina) is int):
        row, col, stamina = whole(row), whole(col), whole(stamina)
    if row is None or col is None or stamina is None:
        return None
    return Action(kind, (row, col), stamina)
