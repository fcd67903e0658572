"""The follow-up question: show an agent once what was rejected in its answer, and let it answer again.

It is off unless the setting `reask` is on (docs/failures.md). The second answer counts if it is a decision;
otherwise the first one does. The answer that does not count leaves a drop or a mend in the record, and both
calls are in the journal, each with its own attempt number.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hobbes.engine.answer import DECISIONS, ParsedAnswer
from hobbes.engine.memory import reason
from hobbes.engine.record import Drop, Mend, excerpt
from hobbes.engine.said import TEXT_LIMIT
from hobbes.nodes.journal import Prompt, Reply
from hobbes.nodes.prompt_set import PromptSet
from hobbes.nodes.prompt_templates import one_line_json
from hobbes.nodes.prompting import follow_up_text

MAX_REJECTIONS = 20
"""How many rejections are shown, so that the prompt stays bounded whatever the agent answered."""


class Answer(NamedTuple):
    """An answer in two forms: the reply that came back to a prompt, and what reading made of it."""

    prompt: Prompt
    reply: Reply
    parsed: ParsedAnswer


def follow_up_prompt(prompts: PromptSet, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> Prompt:
    """Return the follow-up question: the agent's answer, each rejection with its reason, the turn's text."""
    rejections = [
        f"{one_line_json(drop.said)}: {reason(prompts.sentences, drop.code, drop.detail)}"
        for drop in drops[:MAX_REJECTIONS]
    ]
    # The answer stands between fences in the prompt; fences of its own would end the block early.
    fenced = answer[:TEXT_LIMIT].replace("```", "'''")
    return prompt._replace(turn=follow_up_text(prompts.lang, fenced, rejections, prompt.turn))


def answer_that_counts(agent: str, first: Answer, second: Answer) -> Answer:
    """Return the second answer if it is a decision, otherwise the first, and record the one that lost."""
    first_text, second_text = excerpt(first.reply.text), excerpt(second.reply.text)
    if second.parsed.outcome in DECISIONS:
        mend = Mend(agent, "read", "read/second-answer", first_text, second_text)
        return second._replace(parsed=second.parsed._replace(mends=(mend, *second.parsed.mends)))
    drop = Drop(agent, "read", "read/second-answer", second_text)
    return first._replace(parsed=first.parsed._replace(drops=(*first.parsed.drops, drop)))
