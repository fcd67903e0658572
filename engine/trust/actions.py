"""trust: the actions, and the schemas of an agent's and an observer's answers.

Source: docs/rules/trust.md#one-action-per-round.
"""

from collections.abc import Iterable
from functools import cache
from typing import Literal, TypeAlias, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator

from hobbes.engine.record import Json
from hobbes.engine.reflection import ReflectionFields, with_fields

Kind: TypeAlias = Literal["high_five", "block", "attack", "do_nothing", "beg", "replicate", "send"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Word: TypeAlias = Literal["propose", "accept", "leave"]
"""What an answer says about an alliance. Source: docs/rules/trust.md#declared-alliances."""

WORDS: tuple[Word, ...] = get_args(Word)

NOT_GIVEN: tuple[Json, ...] = (None, "", 0)
"""What models put into fields that they do not use.

Source: docs/rules/trust.md#fields-that-are-not-used.
"""

Name = TypeVar("Name", bound=str)


def spelled(said: Json, names: Iterable[Name]) -> Name | None:
    """Return which of these names was said, or None. Only the letters count: "High Five" is high_five.

    Source: docs/rules/trust.md#spellings-of-actions.
    """
    if not isinstance(said, str):
        return None
    return next((name for name in names if _letters(name) == _letters(said)), None)


def _letters(said: str) -> str:
    return "".join(filter(str.isalpha, said)).casefold()


MAX_SATS = 1_000_000
"""The most sats that a unit can ask for or send. Source: docs/rules/trust.md#amounts."""

# The docstrings and descriptions of the models below are part of the JSON schemas in the prompts. A
# change to them changes every prompt, and recorded answers no longer fit.


class TrustAction(ReflectionFields):
    """The schema of an answer: one action, with what it needs."""

    action: Kind = Field(description="your one action this round")
    target: str | None = Field(
        None, description="the unit that the action is aimed at; with one opponent it may be left out"
    )
    amount: int | None = Field(None, ge=1, le=MAX_SATS, description="how many sats")
    reason: str | None = Field(None, description="for beg: why the observer should grant them")
    messages: dict[str, str] = Field(
        default_factory=dict, description="unit, or all: words that are read next round"
    )
    alliances: dict[str, Word] = Field(default_factory=dict, description="unit: propose, accept or leave")


OPTIONAL = frozenset({"messages", "alliances"})
"""The fields that only some settings have."""


@cache
def action_model(kinds: tuple[Kind, ...], optional: frozenset[str]) -> type[BaseModel]:
    """Return the model of an answer with these actions, and with those of the optional fields that are given.

    Source: docs/rules/trust.md#schema-of-an-answer.
    """
    fields = TrustAction.model_fields
    names = fields.keys() - (OPTIONAL - optional)
    return with_fields(TrustAction, names, action=(Literal[kinds], fields["action"]))


# A ruling without a reason is refused (docs/rules/trust.md#reading-a-ruling).
class RulingSaid(BaseModel):
    """One ruling, as it is said."""

    model_config = ConfigDict(extra="forbid", strict=True)

    grant: int = Field(ge=0, le=MAX_SATS, description="sats to grant, from 0 to what was asked")
    reason: str = Field(description="why; the unit that begged reads it")

    @field_validator("reason")
    @classmethod
    def _check_reason(cls, said: str) -> str:
        if not said.strip():
            raise ValueError("a ruling needs a reason; say why")
        return said


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
