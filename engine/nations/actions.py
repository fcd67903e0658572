"""nations: what an agent may say: the seed's eleven fields, their types and bounds.

Source: seed, `AGENT_ACTION_SCHEMA`, in its order; decisions page, "Validation". The schema that agents
are given is made from this model.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from engine.reflection import Rating

EVERYBODY = "all"
"""The addressee of a message to all."""

RESOURCES = ("energy", "food", "minerals")
"""By name, as everything that is listed."""

Count = Annotated[int, Field(ge=0)]


class NationsAction(BaseModel):
    """One answer; every field may be left out."""

    model_config = ConfigDict(extra="forbid", strict=True)

    purchase_mils: Count = Field(0, description="mils to buy; they join the army at the end of the turn")
    attacks: dict[str, Count] = Field(default_factory=dict, description="agent to attack: mils to send")
    cede_territories: dict[str, list[str]] = Field(
        default_factory=dict, description="agent to give land to: own territories to give"
    )
    money_grants: dict[str, Count] = Field(
        default_factory=dict, description="agent to give money to: amount; paid in this order"
    )
    messages: dict[str, str] = Field(
        default_factory=dict, description=f"agent, or {EVERYBODY!r}: text, read next turn"
    )
    summary_last_turn: str = Field("", description="your summary of the turn just completed")
    history_summary: str = Field("", description="your compressed history of all turns so far")
    reasoning: str = Field("", description="why you decide so, in 50 words or fewer")
    disband_mils: Count = Field(0, description="mils to dismiss at the end of the turn")
    keeps_word_report: dict[str, Rating] = Field(
        default_factory=dict, description="how well each agent, you included, keeps its word, 1 to 10"
    )
    aggressor_report: dict[str, Rating] = Field(
        default_factory=dict, description="how aggressive each agent, you included, is, 1 to 10"
    )


class Amounts(BaseModel):
    """So much of each resource."""

    model_config = ConfigDict(extra="forbid", strict=True)

    energy: Count = 0
    food: Count = 0
    minerals: Count = 0


class ResourcesAction(NationsAction):
    """One answer, where there are resources; every field may be left out."""

    resource_grants: dict[str, Amounts] = Field(
        default_factory=dict, description="agent to give resources to: amounts; handed over in this order"
    )
