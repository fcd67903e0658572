"""What an agent may answer: the seed's eleven fields in its order, with their types and bounds.

The JSON schema that agents receive is made from these models.

Source: docs/rules/nations.md#action-fields.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from engine.reflection import Rating

EVERYBODY = "all"
"""The addressee of a message to all agents. Source: docs/rules/nations.md#messages-to-all."""

RESOURCES = ("energy", "food", "minerals")
"""Sorted by name, like everything that is listed."""

Count = Annotated[int, Field(ge=0)]


# The class docstrings of this file go into the JSON schema in the prompts, and so into recorded cassettes:
# changing a word there changes what agents read. That is why the last two classes cite their rule here:
# docs/rules/nations.md#resource-grants-in-an-answer.


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
