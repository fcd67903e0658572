"""trust: the words that units write beside their actions.

Source: docs/rules/trust.md#messages.
"""

from collections.abc import Iterator, Mapping

from hobbes.engine.record import Findings, Json, JsonObject
from hobbes.engine.said import clean_text
from hobbes.engine.trust.actions import NOT_GIVEN
from hobbes.engine.trust.state import ALL, Message, State

CODES: Mapping[str, str] = {
    "trust/message/not-text": "a message is not text",
    "trust/message/not-messages": "messages are not an object",
    "trust/message/empty": "a message without words",
    "trust/message/bad-unit": "a message to a unit that is dead, unknown or the author",
    "trust/message/too-long": "a message was cut to `message_limit`",
    "trust/message/unsafe-characters": "control and invisible characters were removed from a message",
}
"""What the codes of messages mean."""


def words(state: State, findings: Findings, said: Json) -> dict[str, str]:
    """Return the messages of a unit by addressee, each cut to its limit, without what is not allowed.

    Source: docs/rules/trust.md#messages, docs/rules/trust.md#fields-that-are-not-used.
    """
    if state.config.messages == "off" or said in NOT_GIVEN:
        return {}
    if not isinstance(said, Mapping):
        findings.drop("schema", "trust/message/not-messages", {"messages": said})
        return {}
    kept: dict[str, str] = {}
    for to, text in sorted(said.items()):
        if to != ALL and (
            to == findings.agent or to not in state.units_by_id or not state.units_by_id[to].alive
        ):
            findings.drop("rule", "trust/message/bad-unit", {"messages": {to: text}})
        elif not isinstance(text, str):
            findings.drop("schema", "trust/message/not-text", {"messages": {to: text}})
        else:
            clean = clean_text(findings, "trust/message", text, state.config.message_limit)
            if clean.strip():
                kept[to] = clean
            else:
                findings.drop("schema", "trust/message/empty", {"messages": {to: text}})
    return kept


def messages_of_round(said: Mapping[str, Mapping[str, str]]) -> Iterator[Message]:
    """Yield the messages of a round, from those of each unit. Source: docs/rules/trust.md#messages."""
    for sender, messages in sorted(said.items()):
        for to, text in messages.items():
            yield Message(sender, None if to == ALL else to, text)


def read_by(state: State, unit: str) -> list[JsonObject]:
    """Return the messages of the last round that a unit reads: all, or only those that are for it.

    Source: docs/rules/trust.md#messages.
    """
    public = state.config.messages == "all"
    return [
        {"from": one.sender, "to": one.to or ALL, "text": one.text}
        for one in state.messages
        if one.sender != unit and (public or one.to in (None, unit))
    ]
