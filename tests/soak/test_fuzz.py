"""A hundred thousand answers a world: an outcome for each, in bounded time and memory."""

import resource
import time
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hobbes.engine.world import AnyWorld
from hobbes.worlds import WORLDS
from tests.corpus import corpus, repetitive, scene
from tests.nodes.test_fuzz import OUTCOMES, SECONDS, outcome_of
from tests.soak import times

pytestmark = pytest.mark.soak

SIZE = times(100_000)
MEGABYTES = 300
"""By how much the process may grow over the whole corpus."""


@pytest.mark.parametrize("world", WORLDS.values(), ids=lambda world: world.name)
def test_a_hundred_thousand_answers(world: AnyWorld, tried: Callable[[str], None]) -> None:
    on, outcomes, slowest = scene(world), set[str](), 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for agent, text in corpus(on, SIZE, seed=2):
        began = time.process_time()
        outcomes.add(outcome_of(on, agent, text))
        slowest = max(slowest, time.process_time() - began)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    tried(f"{SIZE} answers, the slowest in {slowest:.3f} s, {grown:.0f} MB")
    assert outcomes == OUTCOMES
    assert slowest < SECONDS
    assert grown < MEGABYTES


MEGABYTE = 999_000
LARGE = {
    "one text": '{"memory": "' + "x" * MEGABYTE + '"}',
    "many fields": "{" + ",".join(f'"f{k}": 1' for k in range(MEGABYTE // 14)) + "}",
    "many plots": '{"claim": [' + ",".join(["[0, 0]"] * (MEGABYTE // 7)) + "]}",
    "many targets": '{"attacks": {' + ",".join(f'"A{k}": 1' for k in range(MEGABYTE // 14)) + "}}",
    "many ratings": '{"aggressor_report": {' + ",".join(f'"A{k}": 1' for k in range(MEGABYTE // 14)) + "}}",
    "one key many times": "{" + ",".join(['"memory": 1'] * (MEGABYTE // 13)) + "}",
    "many objects": "{} " * (MEGABYTE // 3),
    "many lists": "[" * MEGABYTE,
    "cut off": '{"memory": "' + "x" * 90_000,
    "cut off in numbers": '{"claim": [' + "[1, 2], " * 12_000,
    "quotes": '{"memory": ' + '"' * 90_000,
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=lambda world: world.name)
@pytest.mark.parametrize("text", LARGE.values(), ids=list(LARGE))
def test_a_megabyte_is_an_answer_like_any_other(
    world: AnyWorld, text: str, tried: Callable[[str], None]
) -> None:
    on = scene(world)
    began = time.process_time()
    assert outcome_of(on, on.actors[0], text) in OUTCOMES
    assert time.process_time() - began < SECONDS
    tried("1 answer")


def test_texts_that_begin_again_and_again(tried: Callable[[str], None]) -> None:
    on, texts, slowest = scene(next(iter(WORLDS.values()))), times(1000), 0.0
    random = Random(3)  # noqa: S311  no secret
    for _ in range(texts):
        text = repetitive(random, random.choice((300, 3000, 30_000, 99_000, MEGABYTE)))
        began = time.process_time()
        assert outcome_of(on, on.actors[0], text) in OUTCOMES
        slowest = max(slowest, time.process_time() - began)
    tried(f"{texts} texts, the slowest in {slowest:.3f} s")
    assert slowest < SECONDS


@pytest.mark.parametrize("world", WORLDS.values(), ids=lambda world: world.name)
def test_any_text_at_all(world: AnyWorld, tried: Callable[[str], None]) -> None:
    on, texts = scene(world), times(20_000)

    @settings(max_examples=texts, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.text(max_size=300))
    def play(text: str) -> None:
        assert outcome_of(on, on.actors[0], text) in OUTCOMES

    play()
    tried(f"{texts} texts")
