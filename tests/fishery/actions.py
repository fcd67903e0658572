"""fishery: the schemas of a boat's and the regulator's answers."""

from pydantic import BaseModel, ConfigDict, Field

from hobbes.engine.reflection import ReflectionFields
from tests.fishery.state import MAX_TONNES


class FisheryAction(ReflectionFields):
    """The schema of an answer: how much to fish, and what to say and to ask."""

    catch: int = Field(ge=0, le=MAX_TONNES, description="tonnes to fish this round, at most the quota")
    message: str | None = Field(None, description="a message to all other boats, if messages are allowed")
    request: int | None = Field(
        None, ge=0, le=MAX_TONNES, description="the quota that you ask the regulator for"
    )
    why: str | None = Field(None, description="for request: why; only the regulator reads it")


class RulingSaid(BaseModel):
    """The schema of the regulator's answer: one quota for all boats."""

    model_config = ConfigDict(extra="forbid", strict=True)

    quota: int = Field(
        ge=0, le=MAX_TONNES, description="tonnes that each boat may land in a round from now on"
    )
    why: str = Field("", description="why; all boats read it")
