"""Start a run, and continue one: what `hobbes run` and `hobbes resume` do."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from hobbes.engine.record import Json
from hobbes.engine.world import MAX_AGENTS, AnyWorld, Setting, make_setting
from hobbes.errors import UsageError, as_usage_error
from hobbes.nodes.caps import NO_CAPS, Caps
from hobbes.nodes.file_content import real_path
from hobbes.nodes.journal import PlayerKind
from hobbes.nodes.models import Models, ModelSettings, server_address
from hobbes.nodes.players import Spec, deal, parse_spec
from hobbes.nodes.prompt_set import PromptSet, is_path
from hobbes.nodes.prompting import follow_up_text, load_prompts
from hobbes.nodes.python_player import load
from hobbes.play.models_file import read_models
from hobbes.store.experiment_tables import cells_of_runs
from hobbes.store.home import Store
from hobbes.store.prices import is_priced
from hobbes.store.recorded_run import Run, observer_asked
from hobbes.worlds import WORLDS, world_named

Clock: TypeAlias = Callable[[], datetime]
"""Tells the time."""


def utc() -> datetime:
    """Return the time now, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run. An option that is not given has the world's own default."""

    world: str
    agents: int | None = None
    seed: int = 1
    models: str | None = None
    prompts: str | None = None
    lang: str = "en"
    values: dict[str, Json] = field(default_factory=dict)
    name: str | None = None


def settle_options(options: RunOptions, named: Models) -> tuple[AnyWorld, Setting[Any], dict[str, str], str]:
    """Return the world, the setting, each agent's player spec and the variant of prompts that are asked for.

    `named` are the models of the models file. Raise ValueError if an option is wrong.
    """
    world = world_named(options.world)
    if "observer" in options.values and world.observer is None:
        names = ", ".join(name for name in WORLDS if WORLDS[name].observer is not None)
        raise ValueError(f"{world.name} has no observer; worlds with one: {names}")
    count = world.default_agents if options.agents is None else options.agents
    agents = world.names(min(count, MAX_AGENTS + 1))
    setting = make_setting(world, agents, options.seed, options.values)
    world.setup(setting.config, setting.agents, setting.seed)
    mix = f"{PlayerKind.POLICY}:{world.policies.default}" if options.models is None else options.models
    variant = world.prompts(setting.config) if options.prompts is None else options.prompts
    return world, setting, deal(world, mix, setting.agents, named), variant


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a new run starts with: the options, checked and with nothing left open."""

    world: AnyWorld
    setting: Setting[Any]
    models: dict[str, str]
    """Each agent's player spec."""
    model_settings: Models
    """The settings of the models that the run takes from a models file, by name."""
    prompts: PromptSet


def begin(store: Store, options: RunOptions, caps: Caps = NO_CAPS) -> Run:
    """Write a new run to the store, ready to be played. Raise UsageError if the options are wrong."""
    return write(store, beginning_of_run(store, options, caps), options.name, caps)


def write(
    store: Store,
    new: Beginning,
    name: str | None,
    caps: Caps = NO_CAPS,
    *,
    fork_of: tuple[Run, int] | None = None,
) -> Run:
    """Write a new run to the store, ready to be played. `fork_of` has the parent of a fork and its turn.

    Raise UsageError if its players cannot be asked.
    """
    check_players_can_be_asked(specs_of(new))
    return store.runs.find(
        store.runs.new(
            new.world, new.setting, new.models, new.model_settings, new.prompts, name, caps, fork_of
        )
    )


def beginning_of_run(store: Store, options: RunOptions, caps: Caps = NO_CAPS) -> Beginning:
    """Return what a run with these options starts with. Raise UsageError if the options are wrong."""
    named = read_models(store.home)
    store.runs.check_name(options.name)
    with as_usage_error():
        world, setting, models, variant = settle_options(options, named)
        prompts = load_prompts(world, absolute_variant(variant), options.lang, setting)
    new = Beginning(world, setting, models, named_among(models, named), prompts)
    check_beginning(new, caps)
    return new


def absolute_variant(variant: str) -> str:
    """Return a variant of prompts by a name with which the run can be replayed from any folder."""
    return str(real_path(Path(variant))) if is_path(variant) else variant


def named_among(models: Mapping[str, str], named: Models) -> dict[str, ModelSettings]:
    """Return the settings of those `named` models that play."""
    return {spec: named[spec] for spec in sorted({*models.values()} & named.keys())}


def check_beginning(run: Run | Beginning, caps: Caps) -> None:
    """Raise UsageError for what would fail in the middle of a run, or could not be kept.

    That is an observer who is no player, a language without a follow-up question, and a cap on money if the
    price of a model is unknown.
    """
    with as_usage_error():
        chats = chats_of(run)
        if run.setting.config.reask:
            follow_up_text(run.prompts.lang, "", (), "")
    unpriced = [spec for spec, settings in chats.items() if not is_priced(settings)]
    if caps.usd is not None and unpriced:
        raise UsageError(
            f"--max-usd needs the price of {unpriced[0]}; write it into a models file (docs/models.md#prices)"
        )


def check_players_can_be_asked(specs: Mapping[str, Spec]) -> None:
    """Raise UsageError if a chat model cannot be reached, or a Python player cannot be loaded."""
    check_models_can_be_reached(_chats(specs))
    for player, spec in specs.items():
        if spec.kind is PlayerKind.PYTHON:
            try:
                load(spec.name)
            except ValueError as error:
                raise UsageError(f"{player} cannot play: {error}") from error


def check_models_can_be_reached(chats: Models) -> None:
    """Raise UsageError if a key or a server that a chat model needs is not set or not valid."""
    for spec, settings in chats.items():
        variable = settings.key_variable
        if variable is None or os.environ.get(variable):
            continue
        if settings.key or settings.base_url:
            raise UsageError(
                f"{spec} needs its key in {variable}, which is not set; `hobbes models` shows it"
            )
        if not os.environ.get("OPENAI_BASE_URL"):
            raise UsageError(
                "openai: models need OPENAI_API_KEY, or OPENAI_BASE_URL; `hobbes doctor` shows them. "
                "`hobbes serve` is a stand-in server, for a look without a model"
            )
    with as_usage_error():
        for settings in chats.values():
            server_address(settings)
            settings.api_key()


def recap(store: Store, run: Run, higher: Mapping[str, Any]) -> Run:
    """Return the run with the caps that are given in place of its own."""
    if not higher:
        return run
    caps = replace(run.caps, **higher)
    check_beginning(run, caps)
    store.runs.update(run.id, caps=json.dumps(asdict(caps)))
    return store.runs.find(run.id)


def change_players(store: Store, run: Run, mix: str) -> Run:
    """Return a run that others play from its first turn on: one that has no turn of its own yet.

    Raise UsageError for a run that has one, whose next turns a fork may play otherwise, and for one whose
    players an experiment has planned.
    """
    if run.turns > run.forked_at:
        fork = store.command("fork", run.label, "--turn", run.turns, "--model", mix)
        raise UsageError(f"--model: run {run.label} has been played by others; `{fork}` goes on in a new run")
    if cell := cells_of_runs(store).get(run.id):
        raise UsageError(f"--model: run {run.label} is a run of experiment {cell[0]}, which says who plays")
    named = read_models(store.home)
    with as_usage_error():
        models = deal(run.world, mix, run.setting.agents, named)
    changed = replace(run, models=models, model_settings=named_among(models, named))
    check_beginning(changed, run.caps)
    check_players_can_be_asked(specs_of(changed))
    with store.playing(run.id):
        store.runs.change_players(run, models, changed.model_settings)
    return store.runs.find(run.id)


def chats_of(run: Run | Beginning) -> Models:
    """Return the settings of each chat model that a run asks, by spec."""
    return _chats(specs_of(run))


def _chats(specs: Mapping[str, Spec]) -> Models:
    return {player: spec.settings for player, spec in specs.items() if spec.settings}


def specs_of(run: Run | Beginning) -> dict[str, Spec]:
    """Return the parsed specs of the players that a run asks, its observer included, by spec."""
    asked_specs = {*run.models.values(), observer_asked(run.world, run.setting)} - {""}
    return {spec: parse_spec(run.world.policies, spec, run.model_settings) for spec in sorted(asked_specs)}


def check_it_goes_on(run: Run) -> None:
    """Raise HobbesError if a run could not be played on now: by this version, or with these players."""
    run.check_versions()
    check_players_can_be_asked(specs_of(run))


def late_calls(run: Run, now: datetime) -> dict[str, str]:
    """Return why the calls of people have failed who have not answered in time, by address."""
    seconds = run.setting.config.seconds_per_turn
    last = now - timedelta(seconds=seconds)
    return {
        question.address: f"no answer within {seconds} seconds"
        for question in run.questions
        if seconds and datetime.fromisoformat(question.since) <= last
    }
