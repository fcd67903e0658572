"""trust: what an agent may say.

Source: seed, section 3; decisions page, "One action a turn".
"""

from typing import Literal, TypeAlias, get_args

from pydantic import Field

from engine.reflection import ReflectionFields

Kind: TypeAlias = Literal["high_five", "block", "attack", "do_nothing", "beg", "replicate", "send"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MOST = 1_000_000
"""More sats than anybody can ask for or send."""


class TrustAction(ReflectionFields):
    """The schema of an answer: one action, with what it needs."""

    action: Kind = Field(description="your one action this round; send only to an ally")
    target: str | None = Field(
        None, description="for high_five, attack and send: the unit; with one opponent it may be left out"
    )
    amount: int | None = Field(None, ge=1, le=MOST, description="for beg and send: how many sats")
    reason: str | None = Field(None, description="for beg: why the observer should grant them")


NEEDS: dict[Kind, frozenset[str]] = {
    "high_five": frozenset({"target"}),
    "attack": frozenset({"target"}),
    "beg": frozenset({"amount", "reason"}),
    "send": frozenset({"target", "amount"}),
    "block": frozenset(),
    "do_nothing": frozenset(),
    "replicate": frozenset(),
}
"""What belongs to each action."""
