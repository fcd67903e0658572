"""fishery: the scripted policies, how noise spoils an answer, and how a random catch replaces one."""

from collections.abc import Sequence
from typing import Any

from hobbes.engine.chance import RngStream
from hobbes.engine.policy import Policies
from hobbes.engine.record import JsonObject


def steady(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  the shape of a Policy
    """Fish an equal share of a tenth of the stock; ask for that quota while it is another."""
    seen: Any = view
    share = seen["stock"] // (10 * len(seen["boats"]))
    asking = {"request": share, "why": "It can last."} if share != seen["quota"] else {}
    return {"catch": min(share, seen["quota"]), "message": f"I fish {share}.", **asking, "reasoning": "Last."}


def greedy(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  the shape of a Policy
    """Fish the quota, and ask for twice as much."""
    seen: Any = view
    asking = {"request": 2 * seen["quota"] + 1, "why": "We starve."}
    return {"catch": seen["quota"], **asking, "reasoning": "More.", "aggressor_report": {seen["you"]: 9}}


def idle(view: JsonObject, rng: RngStream) -> JsonObject:  # noqa: ARG001  the shape of a Policy
    """Stay in the harbour."""
    return {"catch": 0, "notes": f"Round {view['turn']} was quiet."}


BAD: Sequence[JsonObject] = (
    {"catch": "a lot"},
    {"catch": -1},
    {"catch": 10**7},
    {"request": [9]},
    {"why": "because " * 40},
    {"message": "\u202e\x1b[31mfish!"},
    {"message": 7},
    {"nets": 3},
)
"""Bad fields of kinds that models give."""


def spoil(view: JsonObject, answer: JsonObject, rng: RngStream, noise: float) -> JsonObject:  # noqa: ARG001  the shape of a Spoil
    """Spoil one field of an answer with probability `noise`."""
    return {**answer, **rng.pick(BAD, "noise/kind")} if rng.happens(noise, "noise/answer") else answer


def tremble(view: JsonObject, answer: JsonObject, rng: RngStream, share: float) -> JsonObject:
    """Replace the catch with probability `share` by a random one within the quota."""
    seen: Any = view
    catch = rng.below(seen["quota"] + 1, "tremble/catch")
    return {**answer, "catch": catch} if rng.happens(share, "tremble") else answer


POLICIES = Policies(
    {"steady": steady, "greedy": greedy, "idle": idle}, default="steady", spoil=spoil, tremble=tremble
)
