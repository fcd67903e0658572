"""The dialects of servers: by which names and words they say the same, in requests, answers and errors.

docs/failures.md says for people what follows from each; tests/wire/test_providers.py and tests/faults.py
have responses in each dialect.
"""

import re
from collections.abc import Mapping

from hobbes.engine.answer import Outcome
from hobbes.nodes.journal import ReasoningSource

OPTIONAL_PARAMETERS = {
    "response_format": "text.format",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "reasoning_summary": "reasoning.summary",
    "reasoning_effort": "reasoning.effort",
    "max_completion_tokens": "max_completion_tokens",
    "max_tokens": "max_output_tokens",
}
"""Parameters that a server may refuse, after which a request is repeated without them.

The values are their names in the Responses API, where a dot stands for an object.
"""

OTHER_NAME = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
"""The name under which a server may accept a parameter that it refuses."""

OPENAI_CACHE_MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}
"""https://developers.openai.com/api/docs/guides/prompt-caching"""

ANTHROPIC_CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
"""That of any other server: https://openrouter.ai/docs/features/prompt-caching"""

_REASONS = {
    # The message is complete; reading then decides what it holds.
    Outcome.ANSWERED: "completed eos eos_token end_turn function_call stop stop_sequence tool_calls",
    Outcome.TRUNCATED: "length max_tokens max_output_tokens model_length model_context_window_exceeded",
    Outcome.REFUSED: (
        "blocklist content_filter guardrail_intervened image_safety prohibited_content recitation refusal "
        "safety sensitive spii"
    ),
    Outcome.PROVIDER_ERROR: (
        "abort aborted cancelled error failed insufficient_system_resource malformed_function_call "
        "network_error timeout"
    ),
}


FINISH_REASONS = {reason: outcome for outcome, reasons in _REASONS.items() for reason in reasons.split()}
"""The finish reasons of servers, in lower case, with the outcome of each."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""The message fields in which servers send a model's reasoning. ChatOpenAI drops both."""

REASONING_TAGS = {"think": ReasoningSource.TRACE, "thought": ReasoningSource.SUMMARY}
"""The tags around a reasoning within the text of an answer: a model's own, and Google's around a summary."""

Path = tuple[str, ...]

TOKENS_IN: tuple[Path, ...] = (("prompt_tokens",), ("input_tokens",))
"""Where a usage says how many tokens the prompt has. The second name is that of Responses."""

TOKENS_OUT: tuple[Path, ...] = (("completion_tokens",), ("output_tokens",))
"""Where a usage says how many tokens the answer has."""

TOKENS_CACHED: tuple[Path, ...] = (
    ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),  # DeepSeek
    ("cache_read_input_tokens",),  # Anthropic's, passed on by gateways
    ("cached_tokens",),  # Moonshot
)
"""Where a usage says how many tokens of the prompt were read from a cache."""

TOKENS_CACHE_WRITTEN: tuple[Path, ...] = (
    ("prompt_tokens_details", "cache_write_tokens"),
    ("input_tokens_details", "cache_write_tokens"),
    ("cache_creation_input_tokens",),
)
"""Where a usage says how many tokens of the prompt were written to a cache."""

TOKENS_REASONING: tuple[Path, ...] = (
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
    ("reasoning_tokens",),
)
"""Where a usage says how many tokens of the answer were reasoning."""

QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Error codes of a 429 that is permanent: the quota is used up."""

OVERLOADED = frozenset({"overloaded_error", "resource_unavailable", "server_is_overloaded", "slow_down"})
"""Error codes of a server, or of a flex tier, that has no room at the moment."""

FILTERED = frozenset({"content_filter"})
"""Error codes of a prompt that the provider's content filter refused."""

OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context (size|window)"
    r"|prompt is too long|exceeds? context limit|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
"""Matches what servers say of a prompt that is longer than the model's context."""

NO_MODEL = re.compile(
    r"model_not_(found|supported)|\b(invalid|unknown|no|no such) model|\bnot a valid model|\binvalid_model"
    r"|\bmodel\b.{0,200}\b(not found|not exist|doesn't exist)",
    re.IGNORECASE | re.DOTALL,
)
"""Matches what servers say of a model that they do not have, some of them with a 400."""


def outcome_of_finish(choice: Mapping[str, object]) -> Outcome | None:
    """Return the outcome for the finish reason of a choice; None if the reason is missing or unknown."""
    return FINISH_REASONS.get(str(choice.get("finish_reason")).lower())
