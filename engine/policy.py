"""Comparators: rules that answer in a model's place, and the noise that spoils an answer as a model would."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from engine.chance import Luck
from engine.record import JsonObject

Policy: TypeAlias = Callable[[JsonObject, Luck], JsonObject]
"""From what an agent sees (its view, with its own mind under `mind`) and its luck to its answer."""

Spoil: TypeAlias = Callable[[JsonObject, JsonObject, Luck, float], JsonObject]
"""From a view, an answer, luck and a noise to the answer with some of its items spoiled."""


@dataclass(frozen=True, slots=True)
class Policies:
    """A world's comparators by name, the one that plays by default, and the world's own way of spoiling."""

    by_name: Mapping[str, Policy]
    default: str
    spoil: Spoil


def speak(policies: Policies, name: str, noise: float, view: JsonObject, luck: Luck) -> str:
    """Give the text that a comparator answers with.

    With probability `noise` each item of the answer is spoiled in the world's way, and with the same
    probability the text is: cut off, or wrapped in prose (mining decisions, Comparators).
    """
    answer = policies.by_name[name](view, luck)
    if noise == 0:
        return json.dumps(answer, ensure_ascii=False)
    text = json.dumps(policies.spoil(view, answer, luck, noise), ensure_ascii=False)
    if luck.happens(noise, "noise/text"):
        return luck.pick((_cut_off, _in_prose, _in_fences), "noise/text-kind")(text)
    return text


def _cut_off(text: str) -> str:
    return text[: max(1, len(text) * 2 // 3)]


def _in_prose(text: str) -> str:
    return f"Here is what I will do this turn:\n{text}\nI hope this works out."


def _in_fences(text: str) -> str:
    return f"```json\n{text}\n```"
