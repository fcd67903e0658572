"""trust: the actions, and the schemas of an agent's and an observer's answers.

Source: docs/rules/trust.md#one-action-per-round.
"""

from functools import cache
from typing import Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, create_model

from hobbes.engine.reflection import REPORTS, ReflectionFields

KindWithoutAllies: TypeAlias = Literal["high_five", "block", "attack", "do_nothing", "beg", "replicate"]
Kind: TypeAlias = Literal[KindWithoutAllies, "send"]
KINDS: tuple[Kind, ...] = get_args(Kind)
KIND: dict[str, Kind] = {kind: kind for kind in KINDS}
"""The action of each name."""

MOST = 1_000_000
"""The most sats that a unit can ask for or send. Source: docs/rules/trust.md#amounts."""

# The docstrings and descriptions of the models below are part of the JSON schemas in the prompts. A
# change to them changes every prompt, and recorded answers no longer fit.


class TrustAction(ReflectionFields):
    """The schema of an answer: one action, with what it needs."""

    action: Kind = Field(description="your one action this round; send only to an ally")
    target: str | None = Field(
        None, description="for high_five, attack and send: the unit; with one opponent it may be left out"
    )
    amount: int | None = Field(None, ge=1, le=MOST, description="for beg and send: how many sats")
    reason: str | None = Field(None, description="for beg: why the observer should grant them")


class TrustActionWithoutAllies(TrustAction):
    """The schema of an answer: one action, with what it needs."""

    model_config = ConfigDict(title="TrustAction")

    action: KindWithoutAllies = Field(description="your one action this round")
    target: str | None = Field(
        None, description="for high_five and attack: the unit; with one opponent it may be left out"
    )
    amount: int | None = Field(None, ge=1, le=MOST, description="for beg: how many sats")


@cache
def action_model(*, allies: bool, ratings: bool) -> type[BaseModel]:
    """Return the model of an answer, with `send` if there are allies, and with the reports if asked for.

    Source: docs/rules/trust.md#schema-of-an-answer.
    """
    model = TrustAction if allies else TrustActionWithoutAllies
    if ratings:
        return model
    fields: dict[str, Any] = {
        name: (field.annotation, field) for name, field in model.model_fields.items() if name not in REPORTS
    }
    return create_model(model.__name__, __config__=model.model_config, __doc__=model.__doc__, **fields)


class RulingSaid(BaseModel):
    """One ruling, as it is said."""

    model_config = ConfigDict(extra="forbid", strict=True)

    grant: int = Field(ge=0, le=MOST, description="sats to grant, from 0 to what was asked")
    reason: str = Field("", description="why; the unit that begged reads it")


class ObserverAnswer(BaseModel):
    """The schema of an observer's answer: a ruling on each request of the turn."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rulings: dict[str, RulingSaid] = Field(description="unit that begged: what it gets, and why")


NEEDS: dict[Kind, frozenset[str]] = {
    "high_five": frozenset({"target"}),
    "attack": frozenset({"target"}),
    "beg": frozenset({"amount", "reason"}),
    "send": frozenset({"target", "amount"}),
    "block": frozenset(),
    "do_nothing": frozenset(),
    "replicate": frozenset(),
}
"""The fields that each action needs. Source: docs/rules/trust.md#one-action-per-round."""
