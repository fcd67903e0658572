"""Whatever an agent says, the turn goes on, and its call has an outcome."""

import json
import time

import pytest

from hobbes.engine.answer import DECISIONS
from hobbes.engine.record import MAX_ALIKE
from hobbes.engine.turn import answer_fields
from hobbes.engine.world import AnyWorld
from hobbes.nodes.journal import Reply
from hobbes.nodes.reading import read
from hobbes.worlds import WORLDS
from tests.corpus import Scene, corpus, scene

OUTCOMES = {*DECISIONS, "unreadable"}
SECONDS = 2.0
"""What one answer may take to be read, validated and resolved, on a loaded machine."""


def outcome_of(on: Scene, agent: str, text: str) -> str:
    """Read an answer, validate it, resolve a turn with it alone, and return its outcome."""
    reading = read(agent, Reply(text, "model"), answer_fields(on.world, on.state.setting, agent))
    judged = on.world.validate(on.state, agent, reading.said)
    resolved = on.world.resolve(on.state, {agent: judged.intent})
    drops = [*reading.drops, *judged.drops]
    record = {
        "state": on.world.state.to_json(resolved.state),
        "intent": on.world.intent.to_json(judged.intent),
        "drops": [drop.to_json() for drop in drops],
        "mends": [mend.to_json() for mend in (*reading.mends, *judged.mends)],
    }
    written = json.dumps(record, ensure_ascii=False, allow_nan=False).encode()
    assert len(written) < 1_000_000, f"{len(written)} bytes to write down"
    assert reading.outcome in DECISIONS or drops, "a failure without a drop"
    assert len(drops) <= 30 * (MAX_ALIKE + 1)
    return reading.outcome


@pytest.mark.parametrize("world", WORLDS.values(), ids=lambda world: world.name)
def test_every_answer_of_the_grammar_has_an_outcome(world: AnyWorld) -> None:
    on = scene(world)
    outcomes = {outcome_of(on, agent, text) for agent, text in corpus(on, 300)}
    assert outcomes == OUTCOMES


@pytest.mark.parametrize(
    "text",
    ['{"a":' + '["' * 16_000, '{"a":' + '["' * 49_000, "{a" + "a/true]{" * 666, '{"' + '":{"' * 24_000],
    ids=["lists", "more lists", "words", "objects"],
)
def test_a_text_that_begins_again_and_again_takes_no_longer_than_another(text: str) -> None:
    """The second and longest of them took json-repair more than five minutes."""
    on = scene(next(iter(WORLDS.values())))
    began = time.process_time()
    assert outcome_of(on, on.actors[0], text) in OUTCOMES
    assert time.process_time() - began < SECONDS
