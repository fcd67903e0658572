"""A random corpus of answers as models might spoil them. The same seed gives the same corpus."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

from hobbes.engine.chance import RngStream
from hobbes.engine.policy import speak
from hobbes.engine.turn import view_of
from hobbes.engine.world import AnyWorld, Setting, make_setting
from tests.turns import NO_MEMORIES, play_policies

HUGE = "9" * 401
BIDI = "safe\u202eefas\u2066\u0007\x1b[2J\x00\ufeff"
STRANGE: Sequence[Any] = (
    None, True, False, 0, -1, 3, 5.0, 2.5, -0.0, 10**17, 1e300, float("nan"), float("inf"), "", "3", "all",
    BIDI, "x" * 3000, "\ud800", [], [[]], [[0, 0]], [[0, 0], [99, -1]], [[1]], {}, {"": ""}, {"a": 1},
    [None, True],
)  # fmt: skip
"""Values that no schema expects, and some that one does."""


@dataclass(frozen=True)
class Scene:
    """A world in the middle of a run."""

    world: AnyWorld
    setting: Setting[Any]
    state: Any

    @property
    def actors(self) -> tuple[str, ...]:
        """The agents that are asked this turn."""
        found: tuple[str, ...] = self.world.actors(self.state)
        return found


def scene(world: AnyWorld, turns: int = 3) -> Scene:
    """Return a world after a few turns of its default policy."""
    setting = make_setting(world, world.names(4), 1, {"rounds": turns + 10})
    state = world.setup(setting.config, setting.agents, setting.seed)
    *_, last = islice(play_policies(world, state, [world.policies.default]), turns)
    return Scene(world, setting, last.resolved.state)


def corpus(on: Scene, size: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield this many pairs of agent and text."""
    random = Random(seed)  # noqa: S311  no secret
    names = list(on.world.policies.by_name)
    fields = list(on.world.action(on.setting).model_fields)
    for k in range(size):
        agent = random.choice(on.actors)
        rng = RngStream(seed, k, agent)
        view = view_of(on.world, on.state, NO_MEMORIES, agent)
        text = speak(on.world.policies, random.choice(names), random.choice((0, 0.2, 0.9)), view, rng)
        if random.random() < 0.6:
            text = _restated(random, text, fields, on.actors)
        for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
            text = random.choice(AROUND)(random, text)
        yield agent, text


PARTS = (*'{}[]:,"/\\# *()`\n', "a", "1", "true", '"a"', "/*", "“", "”", "x y ")
"""What json-repair goes back and forth for."""


def repetitive(random: Random, length: int) -> str:
    """Return the beginning of an object, then a few signs again and again."""
    signs = "".join(random.choice(PARTS) for _ in range(random.randint(1, 9)))
    return random.choice(('{"a":', '{"a":"', '{"a":[', "{a", "{'")) + signs * (length // len(signs))


def _restated(random: Random, text: str, fields: Sequence[str], agents: Sequence[str]) -> str:
    """Return the same answer with some fields spoiled, duplicated, unknown or huge."""
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    said: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
    pairs = list(said.items())
    for _ in range(random.randint(1, 4)):
        field = random.choice([*fields, "strategy", "", BIDI, "Memory", "action"])
        pairs.insert(random.randint(0, len(pairs)), (field, _value(random, agents, 3)))
    inside = ",".join(f"{json.dumps(name)}:{json.dumps(value)}" for name, value in pairs)
    return "{" + inside.replace('"HUGE"', HUGE).replace('"EXP"', "1e999") + "}"


def _value(random: Random, agents: Sequence[str], depth: int) -> Any:
    kind = random.random()
    if kind < 0.5 or not depth:
        return random.choice(STRANGE)
    if kind < 0.6:
        return random.choice(("HUGE", "EXP", [[0, 0]] * 300, "word " * 400))
    if kind < 0.9:
        return {
            random.choice((*agents, "nobody", "all", "")): _value(random, agents, depth - 1)
            for _ in range(random.randint(0, 4))
        }
    return [_value(random, agents, depth - 1) for _ in range(random.randint(0, 5))]


def _cut(random: Random, text: str) -> str:
    return text[: random.randint(0, len(text))]


def _scratched(random: Random, text: str) -> str:
    letters = list(text[:5000])
    for _ in range(random.randint(1, 6)):
        if letters:
            letters[random.randrange(len(letters))] = random.choice('{}[]":,\\ \n\u201c\u201d\x00\ud83d9eN')
    return "".join(letters)


AROUND: Sequence[Callable[[Random, str], str]] = (
    _cut,
    _scratched,
    lambda _, text: f"```json\n{text}\n```",
    lambda _, text: f"```\n{text}",
    lambda _, text: f"<think>Shall I? {{No}}. {text[:40]}</think>{text}",
    lambda _, text: f"<think>{text}",
    lambda _, text: f"Here it is: {text} I hope that helps {{or not}}.",
    lambda _, text: f"{text}\n{text}",
    lambda _, text: f'{{"draft": 1}} {text}',
    lambda _, text: f"[{text}]",
    lambda _, text: json.dumps(text),
    lambda _, text: text.replace('"', "'"),
    lambda _, text: text.replace('"', "\u201c"),
    lambda _, text: text.replace("}", ",}"),
    lambda _, text: text.replace(":", "="),
    lambda _, text: f"// my answer\n{text}",
    lambda random, text: '{"a":' * random.choice((5, 40, 3000)) + text,
    lambda random, text: text + "}" * random.randint(1, 9),
    lambda _, text: text.replace("0", "NaN"),
    lambda _, text: text + BIDI,
    lambda _, text: f"data: {text}\n\ndata: [DONE]",
)
"""Ways to wrap or damage the text of an answer."""
