"""The second question: an agent is shown, once, what would be refused of its answer, and may answer again.

Off unless the config says `reask`. The second answer counts if it is a decision, else the first; what does
not count is written down as refused or replaced, and both calls are in the journal, each its own attempt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.answer import DECISIONS, ParsedAnswer
from engine.record import Drop, Mend, excerpt
from engine.said import TEXT_LIMIT
from nodes.journal import Prompt, Reply
from nodes.prompting import one_line_json, second_text

CODES: Mapping[str, str] = {"read/second-answer": "the other one of the two answers of an agent counts"}
"""What the code of the answer that does not count means."""

MOST_REFUSED = 20
"""Refused things that are shown: a prompt stays bounded, whatever was answered."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What came back, and how it was read."""

    reply: Reply
    parsed: ParsedAnswer


def second_prompt(lang: str, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> Prompt:
    """Give the second question: the answer, each thing that was refused with its reason, the turn again."""
    refused = [_told(drop) for drop in drops[:MOST_REFUSED]]
    fenced = answer[:TEXT_LIMIT].replace("```", "'''")
    return replace(prompt, turn=second_text(lang, fenced, refused, prompt.turn))


def _told(drop: Drop) -> str:
    """Say one thing that was refused, on one line."""
    detail = f" ({' '.join(drop.detail.split())})" if drop.detail else ""
    return f"{drop.stage} {drop.code}: {one_line_json(drop.said)}{detail}"


def the_one_that_counts(agent: str, first: Heard, second: Heard) -> Heard:
    """Give the second answer if it is a decision, else the first, with a mend or a drop for the other one."""
    said, then = excerpt(first.reply.text), excerpt(second.reply.text)
    if second.parsed.outcome in DECISIONS:
        mend = Mend(agent, "read", "read/second-answer", said, then)
        return Heard(second.reply, replace(second.parsed, mends=(mend, *second.parsed.mends)))
    drop = Drop(agent, "read", "read/second-answer", then, second.parsed.outcome)
    return Heard(first.reply, replace(first.parsed, drops=(*first.parsed.drops, drop)))
