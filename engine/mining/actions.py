"""mining: what an agent may say, from JSON to actions in the order of their priority.

Source: docs/rules/mining.md#what-an-agent-may-say.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, create_model

from hobbes.engine.mining.state import Cell
from hobbes.engine.record import Findings, Json, JsonObject
from hobbes.engine.reflection import ReflectionFields
from hobbes.engine.said import whole

Kind: TypeAlias = Literal["claim", "raid", "defend", "mine"]
KINDS: tuple[Kind, ...] = ("claim", "raid", "defend", "mine")

Plot = Annotated[list[int], Field(min_length=2, max_length=2, description="[row, col]")]


class MineOrder(BaseModel):
    """Stamina `s` for one own plot."""

    model_config = ConfigDict(extra="forbid", strict=True)

    cell: Plot
    s: int = Field(ge=1)


# The docstring goes into the schema that agents are shown, so the source stands in this comment:
# docs/rules/mining.md#answer-fields and docs/rules/mining.md#reflection-fields
class MiningAction(ReflectionFields):
    """The schema of an answer. The order of the keys, and inside a key of its list, is the priority."""

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
"""The fields that only agents who can talk have: without words nobody keeps or breaks one."""


@cache
def action_model(*, communication: bool, private: bool) -> type[BaseModel]:
    """Return the model of an answer, without the fields that the settings switch off.

    Source: docs/rules/mining.md#answer-fields.
    """
    fields: dict[str, Any] = {
        name: (field.annotation, field)
        for name, field in MiningAction.model_fields.items()
        if communication or private or name not in TALK
    }
    if private:
        told = "{name: text for this miner alone}, read next round"
        kind: Any = str | Private if communication else Private
        to_all = "to all miners, or " if communication else ""
        fields["message"] = (kind, Field("" if communication else {}, description=f"{to_all}{told}"))
    model, name = MiningAction, MiningAction.__name__
    return create_model(name, __config__=model.model_config, __doc__=model.__doc__, **fields)


MINE_FIELDS = frozenset(MineOrder.model_fields)


@dataclass(frozen=True, slots=True)
class Action:
    """One action on one plot. Its stamina is its cost.

    Source: docs/rules/mining.md#costs.
    """

    kind: Kind
    cell: Cell
    stamina: int = 1


Said: TypeAlias = tuple[Kind, Json]
"""One element of an answer: its kind, and the JSON that the agent gave."""


def spoken(findings: Findings, answer: JsonObject, fields: Collection[str]) -> list[Said]:
    """Return the elements of an answer in the order of their priority; further keys are noted.

    A message is not looked at here: where agents cannot talk, it is rejected with a code of its own.

    Source: docs/rules/mining.md#priority, docs/rules/mining.md#answer-fields.
    """
    said: list[Said] = []
    for key, value in answer.items():
        if key == "plan":
            said += _planned(findings, value)
        elif key in KINDS:
            if isinstance(value, list):
                said += [(key, element) for element in value]
            else:
                findings.drop("schema", "mining/not-a-list", {key: value})
        elif key not in fields and key != "message":
            findings.note("schema", "mining/unknown-field", {key: value})
    return said


def _planned(findings: Findings, plan: Json) -> list[Said]:
    """Return the elements of a plan. Each of its steps is an object that names a kind.

    Source: docs/rules/mining.md#plans-that-mix-kinds.
    """
    said: list[Said] = []
    if not isinstance(plan, list):
        findings.drop("schema", "mining/not-a-list", {"plan": plan})
        return said
    for step in plan:
        if not isinstance(step, dict) or not step:
            findings.drop("schema", "mining/not-a-step", step)
            continue
        for key, element in step.items():
            if key in KINDS:
                said.append((key, element))
            else:
                findings.drop("schema", "mining/not-a-step", {key: element})
    return said


def as_action(kind: Kind, element: Json) -> Action | None:
    """Return the action that an element describes, or None if its shape or type is wrong.

    Source: docs/rules/mining.md#shape-and-type.
    """
    cell: Json = element
    said: Json = 1
    if kind == "mine":
        if not isinstance(element, dict) or element.keys() != MINE_FIELDS:
            return None
        cell, said = element["cell"], element["s"]
    if not isinstance(cell, list) or len(cell) != 2:  # noqa: PLR2004  [row, col]
        return None
    row, col = cell
    if not (type(row) is type(col) is type(said) is int):
        row, col, said = whole(row), whole(col), whole(said)
    return None if row is None or col is None or said is None else _action(kind, (row, col), said)


# Agents say the same few hundred actions again and again, so equal actions share one object.
_action = lru_cache(maxsize=4096)(Action)
