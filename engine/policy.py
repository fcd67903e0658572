"""Scripted policies: rules that answer in a model's place.

Noise spoils their answers as models do, and a tremble replaces what they choose by random legal actions.
The sources are docs/rules/mining.md#noise and docs/rules/mining.md#tremble; the other worlds follow them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import TypeAlias

from hobbes.engine.chance import RngStream
from hobbes.engine.names import did_you_mean
from hobbes.engine.record import Json, JsonObject

Policy: TypeAlias = Callable[..., JsonObject]
"""From an agent's view, which has its memory under `memory`, and its random draws to its answer.

A policy may have parameters of its own: keyword-only arguments with a default, each a share from 0 to 1.
"""

Change: TypeAlias = Callable[[JsonObject, JsonObject, RngStream, float], JsonObject]
"""From a view, an answer, random draws and a probability (0 to 1) to the answer with some parts changed."""


SPOILED_VALUES: tuple[Json, ...] = (None, "a lot", -1, 10**7, 0.5, [], {})
"""Values of the wrong kind, or out of range, which a model might give."""


def spoil_fields(view: JsonObject, answer: JsonObject, rng: RngStream, noise: float) -> JsonObject:  # noqa: ARG001  the shape of a Change
    """Spoil each field of an answer with probability `noise`, and as often add one that no schema has."""
    spoiled = {
        name: rng.pick(SPOILED_VALUES, f"noise/{name}/kind") if rng.happens(noise, f"noise/{name}") else value
        for name, value in answer.items()
    }
    return {**spoiled, "strategy": "wait"} if rng.happens(noise, "noise/beside") else spoiled


@dataclass(frozen=True, slots=True)
class Policies:
    """A world's scripted policies by name, the default one, and how the world spoils and replaces actions.

    `spoil` spoils items of an answer as a model might. `tremble` replaces actions by random legal ones, as
    far as the view tells; without one, the whole answer is replaced by that of a policy picked at random.
    """

    by_name: Mapping[str, Policy]
    default: str
    spoil: Change = spoil_fields
    tremble: Change | None = None

    def named(self, name: str) -> Policy:
        """Return the policy of a name. Raise ValueError if there is none."""
        if name not in self.by_name:
            there = did_you_mean(name, self.by_name, f"policies: {', '.join(self.by_name)}")
            raise ValueError(f"there is no policy {name!r}{there}")
        return self.by_name[name]

    def another(self, view: JsonObject, answer: JsonObject, rng: RngStream, share: float) -> JsonObject:
        """Replace an answer with probability `share` by that of a policy that is picked at random."""
        if not rng.happens(share, "tremble"):
            return answer
        return self.by_name[rng.pick([*self.by_name], "tremble/policy")](view, rng)


def parameters_of(policy: Policy) -> dict[str, float]:
    """Return a policy's own parameters with their defaults."""
    found = signature(policy).parameters.values()
    return {one.name: one.default for one in found if one.kind is one.KEYWORD_ONLY}


_as_text = json.JSONEncoder(ensure_ascii=False).encode


def speak(  # noqa: PLR0913  everything that an answer depends on
    policies: Policies,
    name: str,
    noise: float,
    view: JsonObject,
    rng: RngStream,
    *,
    tremble: float = 0.0,
    parameters: Mapping[str, float] | None = None,
) -> str:
    """Return the text that a scripted policy answers with; `parameters` are those of its own that are given.

    With probability `tremble`, each action is replaced by a random legal one (docs/rules/mining.md#tremble).
    After that, with probability `noise` each, every item of the answer is spoiled in the world's way, a field
    of its reflection is spoiled, and the text is damaged (docs/rules/mining.md#noise).
    """
    answer = policies.named(name)(view, rng, **(parameters or {}))
    if tremble > 0:
        answer = (policies.tremble or policies.another)(view, answer, rng, tremble)
    if noise == 0:
        return _as_text(answer)
    answer = policies.spoil(view, answer, rng, noise)
    if rng.happens(noise, "noise/reflection"):
        answer = {**answer, **rng.pick(spoiled_reflections(rng.agent), "noise/reflection-kind")}
    text = _as_text(answer)
    if rng.happens(noise, "noise/text"):
        return rng.pick(SPOILED_TEXTS, "noise/text-kind")(text)
    return text


def spoiled_reflections(agent: str) -> tuple[JsonObject, ...]:
    """Return fields of an agent's reflection as a model spoils them.

    No text, no end, unsafe text, no such agent, no such rating, no ratings.
    """
    return (
        {"reasoning": 7},
        {"history_summary": "again and again " * 150},
        {"summary_last_turn": "It was \u202eeerf saw lla\u202c, I \x1b[31mthink\x1b[0m."},
        {"keeps_word_report": {"nobody": 5}},
        {"aggressor_report": {agent: 11}},
        {"keeps_word_report": "they all lie"},
    )


SPOILED_TEXTS: tuple[Callable[[str], str], ...] = (
    lambda text: text[: len(text) * 2 // 3],
    lambda text: f"Here is what I will do this turn:\n{text}\nI hope this works out.",
    lambda text: f"```json\n{text}\n```",
    lambda text: f"<think>Shall I? {{No}}. Or yes?</think>{text}",
    lambda text: f'A draft: {{"reasoning": "to be written"}}. My answer: {text}',
    lambda text: _begun(text, '"reasoning": "first thought"'),
    lambda text: text.replace('"reasoning": "', '"reasoning": "\\ud83d ', 1),
    lambda text: _begun(text, f'"confidence": NaN, "stakes": 1e999, "budget": {"9" * 401}'),
    lambda text: '{"plan":' * 40 + text + "}" * 40,
    lambda _: "I will take what is mine and leave the rest in peace.",
)
"""The ways in which a model might damage the text of an answer, one of which is picked.

It is cut off, in prose, in fences, after a thought, or after a draft; a key is said twice, a character is
half, numbers never end, objects are nested deep, or there is prose alone.
"""


def _begun(text: str, fields: str) -> str:
    """Return the text of an answer with further fields at its beginning, if it has any."""
    return f"{{{fields}, {text[1:]}" if text != "{}" else text
