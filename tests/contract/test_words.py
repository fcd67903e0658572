"""The words of other languages: each world's sentences for what agents are told about their answers."""

import re
import tomllib
from pathlib import Path

import pytest

from hobbes.engine import turn
from hobbes.engine.answer import FoundAs, Outcome, ParsedAnswer
from hobbes.engine.record import Json
from hobbes.engine.world import make_setting
from hobbes.nodes.prompt_set import ROOT
from hobbes.nodes.prompting import answer_schema, languages, load_prompts, replace_codes, variants
from hobbes.worlds import WORLDS

FILES = sorted(ROOT.glob("*/words.*.toml"))

LATIN = re.compile("[A-Za-z]")

NOT_WORDS = re.compile(r"`[^`]*`|\{detail\}|JSON")
"""Names of keys and actions stand between backticks."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_every_code_has_its_words(file: Path) -> None:
    sentences = tomllib.loads(file.read_text(encoding="utf-8"))
    told = {code for code in turn.meanings(WORLDS[file.parent.name]) if not code.startswith("observer/")}
    assert sentences.keys() == told


def told_texts(view: Json) -> list[str]:
    """Return the texts in a view that are no keys."""
    if isinstance(view, dict):
        return [text for value in view.values() for text in told_texts(value)]
    if isinstance(view, list):
        return [text for value in view for text in told_texts(value)]
    return [view] if isinstance(view, str) else []


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_a_view_in_a_prompt_has_words_of_the_language_only(file: Path) -> None:
    world, lang = WORLDS[file.parent.name], file.name.split(".")[1]
    setting = make_setting(world, world.names(3), 1, {})
    state, agent = world.setup(setting.config, setting.agents, setting.seed), setting.agents[0]
    answer = ParsedAnswer(Outcome.ANSWERED, FoundAs.JSON, {"notes": 7, "summary_last_turn": "好" * 3000})
    played = turn.play_turn(world, state, {}, dict.fromkeys(world.actors(state), answer))
    assert len(played.memories[agent].feedback) >= 2
    view = turn.view_of(world, played.resolved.state, played.memories, agent)
    (variant, *_) = [name for name in variants(world) if lang in languages(world.name, name)]
    prompts = load_prompts(world, variant, lang, setting)
    shown = replace_codes(prompts, view)
    known = {
        *told_texts(turn.view_of(world, state, {}, agent)),
        *re.findall(r"[a-z_]+", answer_schema(world, setting)),
        *re.findall("`([^`]+)`", prompts.system),
    }
    texts = [text for text in told_texts(shown) if text not in known]
    assert [text for text in texts if not text.isascii()], "there is feedback"
    assert not [text for text in texts if LATIN.search(NOT_WORDS.sub("", text))]
