"""What an agent may answer: the seed's eleven fields, with their types and bounds, and one more.

The schema that agents receive is made from these models, without the fields that the settings switch off.

Source: docs/rules/nations.md#action-fields.
"""

from functools import cache
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from hobbes.engine.reflection import Rating, with_fields

EVERYBODY = "all"
"""The addressee of a message to all agents. Source: docs/rules/nations.md#messages-to-all."""

RESOURCES = ("energy", "food", "minerals")
"""Sorted by name, like everything that is listed."""

Count = Annotated[int, Field(ge=0)]


# The class docstrings of this file go into the JSON schema in the prompts, and so into recorded cassettes:
# changing a word there changes what agents read. That is why these classes cite their rules here:
# docs/rules/nations.md#action-fields, docs/rules/nations.md#resource-grants-in-an-answer.


class Amounts(BaseModel):
    """So much of each resource."""

    model_config = ConfigDict(extra="forbid", strict=True)

    energy: Count = 0
    food: Count = 0
    minerals: Count = 0


# There is no field `notes`, because the seed declares none. The reasoning comes first, so that a model that
# keeps to the order of the schema thinks before it decides.
class NationsAction(BaseModel):
    """One answer."""

    model_config = ConfigDict(extra="forbid", strict=True)

    reasoning: str = Field("", description="why you decide so, in 50 words or fewer")
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
    summary_last_turn: str = Field(
        "", description="your summary of the turn just completed; next turn, it is your previous_turn_summary"
    )
    history_summary: str = Field("", description="your compressed history of all turns so far")
    disband_mils: Count = Field(0, description="mils to disband at the end of the turn")
    keeps_word_report: dict[str, Rating] = Field(
        default_factory=dict, description="how well each agent, you included, keeps its word, 1 to 10"
    )
    aggressor_report: dict[str, Rating] = Field(
        default_factory=dict, description="how aggressive each agent, you included, is, 1 to 10"
    )
    resource_grants: dict[str, Amounts] = Field(
        default_factory=dict, description="agent to give resources to: amounts; handed over in this order"
    )


@cache
def action_model(*, messages: bool, resources: bool) -> type[BaseModel]:
    """Return the model of an answer, with the fields that the settings make use of.

    Without messages nobody can give its word, so there is no report on who keeps it either.

    Source: docs/rules/nations.md#action-fields, docs/rules/nations.md#no-messages,
    docs/rules/nations.md#resource-grants-in-an-answer.
    """
    off = {"messages", "keeps_word_report"} if not messages else set()
    off |= {"resource_grants"} if not resources else set()
    return with_fields(NationsAction, NationsAction.model_fields.keys() - off)
