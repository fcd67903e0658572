"""Start a run, and continue one: what `hobbes run` and `hobbes resume` do."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from hobbes.engine.measures import work_out
from hobbes.engine.record import Json
from hobbes.engine.turn import TurnRecord
from hobbes.engine.world import MAX_AGENTS, MAX_NAME, AnyWorld, Setting, make_setting
from hobbes.errors import HaltedRunError, HobbesError, UsageError
from hobbes.graphs.ring import Node, ring
from hobbes.graphs.run import (
    Checkpoints,
    WaitingError,
    open_checkpoints,
    play_run,
    remove_checkpoints,
)
from hobbes.nodes.caps import NO_CAPS, Budget, Caps, Meter
from hobbes.nodes.file_content import real_path
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import PlayerKind, Reply
from hobbes.nodes.limits import RateLimiter
from hobbes.nodes.models import Models, ModelSettings, server_address
from hobbes.nodes.players import RunPlayers, Spec, deal, parse_spec
from hobbes.nodes.prompting import PromptSet, follow_up_text, is_path, load_prompts
from hobbes.nodes.python_player import load
from hobbes.nodes.turn_state import TurnState, first_state, state_at
from hobbes.play.models_file import read_models
from hobbes.store.history import StoredHistory, load_state, past_turns, stored_turn
from hobbes.store.home import DAMAGE, Store, may_be_damage
from hobbes.store.prices import is_priced, usd
from hobbes.store.recorded_run import PersonQuestion, Run, ending, observer_asked
from hobbes.store.run_journal import RunJournal
from hobbes.worlds import WORLDS, world_named

CHECKPOINTS = "checkpoints.db"
"""The file of the checkpoints in a home."""

MAX_SHOWN_LENGTH = 80
"""How many characters are shown of what is too long for one line."""

OnTurn = Callable[[TurnState], None]
"""Called with the state that a run starts from, and with the state after each turn."""


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


def settle_options(options: RunOptions) -> tuple[AnyWorld, Setting[Any]]:
    """Return the world and the setting that options ask for. Raise ValueError if they ask for none."""
    world = world_named(options.world)
    if "observer" in options.values and world.observer is None:
        having = ", ".join(name for name, one in WORLDS.items() if one.observer is not None)
        raise ValueError(f"{world.name} has no observer; worlds with one: {having}")
    count = world.default_agents if options.agents is None else options.agents
    agents = world.names(min(count, MAX_AGENTS + 1))
    setting = make_setting(world, agents, options.seed, options.values)
    world.setup(setting.config, setting.agents, setting.seed)
    return world, setting


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


@dataclass(frozen=True, slots=True)
class Shared:
    """What a run shares with others that are played at the same time. Without it, it is played alone."""

    budget: Budget | None = None
    """What the runs together may cost."""
    limiter: RateLimiter | None = None
    """Counts the requests of all runs for the limits of the models."""
    checkpoints: Checkpoints | None = None
    """The open database of checkpoints of the event loop in which all are played."""


ALONE = Shared()


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
    """Write a new run to the store, ready to be played. `fork_of` has the parent of a fork and its turn."""
    return store.runs.find(
        store.runs.new(
            new.world, new.setting, new.models, new.model_settings, new.prompts, name, caps, fork_of
        )
    )


def beginning_of_run(store: Store, options: RunOptions, caps: Caps = NO_CAPS) -> Beginning:
    """Return what a run with these options starts with. Raise UsageError if the options are wrong."""
    named = read_models(store.home)
    try:
        check_name(options.name)
        world, setting = settle_options(options)
        models = deal(world, options.models or f"policy:{world.policies.default}", setting.agents, named)
        variant = options.prompts or world.prompts(setting.config)
        prompts = load_prompts(world, absolute_variant(variant), options.lang, setting)
        named_models = check_players(world, setting, models, named, caps)
        if setting.config.reask:  # better now than in the middle of the run
            follow_up_text(options.lang, "", (), "")
    except ValueError as error:
        raise UsageError(str(error)) from error
    return Beginning(world, setting, models, named_models, prompts)


def check_name(name: str | None) -> None:
    """Raise ValueError if a name is too long for a run."""
    if name is not None and len(name) > MAX_NAME:
        raise ValueError(f"--name {name[:MAX_SHOWN_LENGTH]!r}…: a name has at most {MAX_NAME} characters")


def absolute_variant(variant: str) -> str:
    """Return a variant of prompts by a name with which the run can be replayed from any folder."""
    return str(real_path(Path(variant))) if is_path(variant) else variant


def check_players(
    world: AnyWorld, setting: Setting[Any], models: Mapping[str, str], named: Models, caps: Caps
) -> dict[str, ModelSettings]:
    """Return the settings of those `named` models that a run asks.

    Raise ValueError if the observer is no player, UsageError if a model cannot be reached, a Python player
    cannot be loaded or a cap on money cannot be kept.
    """
    if observer := observer_asked(world, setting):
        parse_spec(world.policies, observer)
    named_models = {spec: named[spec] for spec in sorted({*models.values()} & named.keys())}
    asked_specs = _specs(world, setting, models, named_models)
    _check_the_players_can_be_asked(asked_specs)
    _check_prices_are_known(_chats(asked_specs), caps)
    return named_models


def _specs(
    world: AnyWorld, setting: Setting[Any], specs: Mapping[str, str], named: Models
) -> dict[str, Spec]:
    """Return the parsed specs of the players that a run asks, its observer included, by spec."""
    asked_specs = {*specs.values(), observer_asked(world, setting)} - {""}
    return {spec: parse_spec(world.policies, spec, named) for spec in sorted(asked_specs)}


def _chats(specs: Mapping[str, Spec]) -> Models:
    return {spec: one.settings for spec, one in specs.items() if one.settings}


def _check_prices_are_known(chats: Models, caps: Caps) -> None:
    """Raise UsageError for a cap on money if the price of a model is unknown: it could not be kept."""
    if caps.usd is None:
        return
    for spec, settings in chats.items():
        if not is_priced(settings):
            raise UsageError(
                f"--max-usd needs the price of {spec}; write it into a models file (docs/models.md#prices)"
            )


def _check_the_players_can_be_asked(specs: Mapping[str, Spec]) -> None:
    """Raise UsageError if a chat model cannot be reached, or a Python player cannot be loaded."""
    _check_the_models_can_be_reached(_chats(specs))
    for spec, one in specs.items():
        if one.kind is PlayerKind.PYTHON:
            try:
                load(one.name)
            except ValueError as error:
                raise UsageError(f"{spec} cannot play: {error}") from error


def _check_the_models_can_be_reached(chats: Models) -> None:
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
    try:
        for settings in chats.values():
            server_address(settings)
            settings.api_key()
    except ValueError as error:
        raise UsageError(str(error)) from error


def recap(store: Store, run: Run, higher: Mapping[str, Any]) -> Run:
    """Return the run with the caps that are given in place of its own."""
    if not higher:
        return run
    caps = replace(run.caps, **higher)
    _check_prices_are_known(chats_of(run), caps)
    store.runs.update(run.id, caps=json.dumps(asdict(caps)))
    return store.runs.find(run.id)


def chats_of(run: Run) -> Models:
    """Return the settings of each chat model that a run asks, by spec."""
    return _chats(specs_of(run))


def specs_of(run: Run | Beginning) -> dict[str, Spec]:
    """Return the parsed specs of the players that a run asks, by spec."""
    return _specs(run.world, run.setting, run.models, run.model_settings)


async def go_on(  # noqa: PLR0913, PLR0917  how it is played is no part of what is played
    store: Store,
    run: Run,
    on_turn: OnTurn,
    on_meter: Callable[[Meter], None] = lambda _: None,
    clock: Clock = utc,
    shared: Shared = ALONE,
) -> None:
    """Play a run to its end from wherever it stands, and write down how it ended.

    Where people are asked, the run ends as `waiting`; `people.keep_answer` takes their answers. The calls of
    those who have not answered in time have failed. `on_meter` is called once, with the meter that counts
    the run's calls from now on.
    """
    began = time.monotonic()
    run.check_versions()
    with store.playing(run.id):
        run = store.runs.find(run.id)  # as it is now that no other process plays it
        if run.status == "finished":
            return
        _check_the_players_can_be_asked(specs_of(run))
        if run.status == "waiting":  # one that has halted stays so until a turn is played past where it did
            store.runs.update(run.id, status="unfinished", error=None, question=None)
        late = {one.address: late_by(run) for one in run.questions if is_late(run, one, clock())}
        store.runs.keep_servers(run.id, _servers(chats_of(run)))
        try:
            meter = meter_of(store, run, shared.budget)
            on_meter(meter)
            journal = RunJournal(store, run)
            last = await _play_to_the_end(store, run, journal, meter, shared, on_turn, late)
        except WaitingError as waiting:
            # Those who were asked before a stop have no more time for it.
            before = {one.address: one.since for one in run.questions}
            now = clock().isoformat(timespec="milliseconds")
            store.runs.ask(
                run.id,
                [PersonQuestion(**one, since=before.get(one["address"], now)) for one in waiting.questions],
            )
            return
        except HaltedError as error:
            store.runs.update(run.id, status="halted", error=str(error))
            again = store.command("resume", run.id)
            raise HaltedRunError(f"run {run.id} halted: {error}; `{again}` goes on") from error
        finally:
            store.runs.update(run.id, seconds=run.seconds + time.monotonic() - began)
        run = replace(run, turns=last["turn"], digest=last["digest"])
        state = run.world.state.load(run.setting, last["world"])
        ended = ending(run, store.calls.counts(run.id), state, store.turns.counts(run.id))
        store.figures.end_run(run, ended, work_out(run.world.measures, StoredHistory(store, run)))


def _servers(chats: Models) -> dict[str, str]:
    """Return the address of the server of each chat model, by its spec, without what may contain a key."""
    return {
        spec: str(server_address(one).copy_with(query=None, fragment=None)) for spec, one in chats.items()
    }


def check_it_goes_on(run: Run) -> None:
    """Raise HobbesError if a run could not be played on now: by this version, or with these players."""
    run.check_versions()
    _check_the_players_can_be_asked(specs_of(run))


def is_late(run: Run, question: PersonQuestion, now: datetime) -> bool:
    """Return whether the time for an answer is over."""
    seconds = run.setting.config.seconds_per_turn
    if not seconds or not question.since:
        return False
    return datetime.fromisoformat(question.since) + timedelta(seconds=seconds) <= now


def late_by(run: Run) -> str:
    """Return why the call of a person has failed who did not answer in time."""
    return f"no answer within {run.setting.config.seconds_per_turn} seconds"


def meter_of(store: Store, run: Run, budget: Budget | None = None) -> Meter:
    """Return the meter of a run, with what it has cost so far and what it may cost with others."""

    def usd_of(reply: Reply) -> float | None:
        return usd(reply, run.model_settings.get(reply.player))

    return Meter(run.caps, store.figures.spent(run), usd_of, budget)


async def _play_to_the_end(  # noqa: PLR0913, PLR0917  all that a run is played with
    store: Store,
    run: Run,
    journal: RunJournal,
    meter: Meter,
    shared: Shared,
    on_turn: OnTurn,
    late: Mapping[str, str],
) -> TurnState:
    """Play from the last logged turn until the world is over, and return the state of the graph then."""
    players = RunPlayers(
        run.world,
        run.setting,
        run.prompts,
        meter,
        models=run.model_settings,
        answered=store.calls.answered(run.id),
        late=late,
        limiter=shared.limiter or RateLimiter(),
        past=partial(past_turns, store, run.id),
    )
    nodes = ring(run.world, lambda _: nullcontext(players), journal)
    try:
        _make_players(players, run)
        try:
            return await _play_on(store, run, nodes, on_turn, shared.checkpoints)
        except DAMAGE as error:
            if not may_be_damage(error):
                raise
            # If it was not the checkpoints that were damaged, the same is raised again.
            remove_checkpoints(store.home / CHECKPOINTS)
            return await _play_on(store, store.runs.find(run.id), nodes, on_turn)
    finally:
        await players.close()


async def _play_on(
    store: Store,
    run: Run,
    nodes: dict[str, Node],
    on_turn: OnTurn,
    shared: Checkpoints | None = None,
) -> TurnState:
    """Continue from the last logged turn, with a checkpoint after every turn; return the last state."""
    opened = nullcontext(shared) if shared else open_checkpoints(store.home / CHECKPOINTS)
    async with opened as checkpoints:
        # The run database decides where a run stands, since it alone has every answer: the checkpoints may
        # have been lost, or may be of another moment.
        begin = _first_state(run)
        if run.turns:
            last = stored_turn(store, run, run.turns - 1)
            begin = next_state(run, last.turn, last.record, last.digest)
        async for state in play_run(nodes, checkpoints, run.id, begin, states_of(store, run)):
            on_turn(state)
        return state


def states_of(store: Store, run: Run) -> Iterator[TurnState]:
    """Yield the graph's state before the first turn, and after each logged turn. Raise DamagedError."""
    yield _first_state(run)
    for turn in store.turns.of(run):
        yield next_state(run, turn.turn, turn.record, turn.digest)


def _first_state(run: Run) -> TurnState:
    begun = run.at(0)
    return {**first_state(run.world, begun.setting, begun.models), "prompts": begun.prompts.identity}


def next_state(run: Run, turn: int, record: TurnRecord, digest: str) -> TurnState:
    """Return the graph's state after a turn, as the run goes on from it: a fork does so in its own way."""
    after, state = run.at(turn + 1), load_state(run, turn, record.state, turn + 1)
    link = run.digest_before(turn + 1, digest)
    there = state_at(run.world, after.setting, after.models, state, record.memories, link)
    return {**there, "prompts": after.prompts.identity}


def _make_players(players: RunPlayers, run: Run) -> None:
    """Make every player before the first one is asked. Raise HobbesError if one cannot be made."""
    try:
        for spec in run.models.values():
            players.named(spec)
        if spec := observer_asked(run.world, run.setting):
            players.observing(spec)
    except ValueError as error:
        raise HobbesError(f"run {run.id} cannot be played now: {error}") from error
