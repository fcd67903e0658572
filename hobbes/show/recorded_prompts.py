"""`hobbes prompts list`: which runs and cassettes a variant was recorded with, and whether it has changed."""

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from hobbes.engine.world import AnyWorld, Setting
from hobbes.files import CASSETTE_SUFFIX
from hobbes.nodes import prompting
from hobbes.nodes.prompt_templates import PromptError
from hobbes.play.start import settle_options
from hobbes.show.terminal import table
from hobbes.wire.cassette_files import (
    CheckedPersister,
    description_file,
    read_description,
    recorded_options,
)
from hobbes.worlds import WORLDS

CASSETTES = Path(__file__).resolve().parents[2] / "cassettes"
"""The cassettes of this checkout. A wheel has none."""

Listed = dict[str, dict[str, dict[str, Any]]]
"""World to variant to what is known of it."""


def list_variants(worlds: Iterable[AnyWorld], runs: Iterable[Mapping[str, Any]]) -> Listed:
    """Return the variants of these worlds: those of this checkout, and those that runs or cassettes name.

    `runs` are rows of `Store.prompts_of_runs`. Each run and each cassette says whether the texts of the
    variant are others now (`changed`), or null if that is unknown. Raise UsageError for a broken cassette.
    """
    by_world: Listed = {
        world.name: {variant: _variant(world.name, variant) for variant in prompting.variants(world)}
        for world in worlds
    }
    for world, variant, kind, recorded in (*_runs(by_world, runs), *_cassettes(by_world)):
        of_world = by_world[world]
        of_world.setdefault(variant, _variant(world, variant))[kind].append(recorded)
    return by_world


def _variant(world: str, variant: str) -> dict[str, Any]:
    """Return what a variant says of itself."""
    known = {"languages": prompting.languages(world, variant), "advice": None, "about": None}
    return {**known, **prompting.about(world, variant), "runs": [], "cassettes": []}


Recorded = tuple[str, str, str, dict[str, Any]]
"""World, variant, `runs` or `cassettes`, and one of these."""


def _runs(worlds: Container[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[Recorded]:
    """Yield the runs of these worlds."""
    hash_now = cache(_hash_now)
    for row in rows:
        if row["world"] not in worlds:
            continue
        then = row["prompts_hash"]
        now = hash_now(row["world"], row["prompts"], row["lang"])
        recorded = {"run": row["id"], "name": row["name"], "lang": row["lang"]}
        yield row["world"], row["prompts"], "runs", {**recorded, "changed": then and then != now}


def _hash_now(world: str, variant: str, lang: str) -> str | None:
    """Return the content hash of a variant now; None if it cannot be loaded any more."""
    try:
        return prompting.load_prompts(WORLDS[world], variant, lang).hash
    except PromptError:
        return None


def _cassettes(worlds: Container[str]) -> Iterator[Recorded]:
    """Yield the cassettes of this checkout that hold runs of these worlds."""
    for path in sorted(CASSETTES.rglob(f"*{CASSETTE_SUFFIX}")):
        if not description_file(path).exists():  # somebody else's cassette, which is no run of ours
            continue
        options = recorded_options(path, read_description(path))
        if options.world not in worlds:
            continue
        world, setting = settle_options(options)
        variant = options.prompts or world.prompts(setting.config)
        name = path.relative_to(CASSETTES).as_posix().removesuffix(CASSETTE_SUFFIX)
        recorded = {"cassette": name, "lang": options.lang}
        changed = _has_changed(path, world, variant, options.lang, setting)
        yield world.name, variant, "cassettes", {**recorded, "changed": changed}


def _has_changed(
    cassette: Path, world: AnyWorld, variant: str, lang: str, setting: Setting[Any]
) -> bool | None:
    """Return whether a variant says something else now than what was sent when a cassette was recorded.

    None if that cannot be known, since the prompts show parts of views only.
    """
    try:
        prompts = prompting.load_prompts(world, variant, lang, setting)
    except PromptError:
        return True
    system = prompting.system_text(prompts, setting)
    requests, _ = CheckedPersister.load_cassette(cassette)
    conversations = [json.loads(request.body)["messages"] for request in requests]
    sent = [(messages[0]["content"], messages[-1]["content"]) for messages in conversations]
    if not {said for said, _ in sent} <= {system, prompts.observer}:
        return True
    # The first one of an agent is no follow-up question.
    turn = next((turn for said, turn in sent if said == system), None)
    if turn is None:
        return False
    view = prompting.view_in(turn)
    return None if view is None else prompting.turn_text(prompts, view) != turn


def variants_table(by_world: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    """Return the variants of each world as a table."""
    rows = [
        (
            world,
            variant,
            " ".join(row["languages"] or ()),
            _how_many(row["runs"]),
            _how_many(row["cassettes"]),
            row["advice"] or "",
            row["about"] or "",
        )
        for world, variants in by_world.items()
        for variant, row in variants.items()
    ]
    return table("", ("world", "variant", "languages", "runs", "cassettes", "advice", "about"), rows)


def _how_many(recorded: Sequence[Mapping[str, Any]]) -> str:
    """Return the number of runs or cassettes, and of those since which the variant has changed."""
    changed = sum(row["changed"] is True for row in recorded)
    return f"{len(recorded)}, {changed} changed" if changed else str(len(recorded))
