"""Start a run, and continue one: what `hobbes run` and `hobbes resume` do."""

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from engine.record import Json
from engine.world import AnyWorld, Setting, settle
from engine.worlds import world_named
from graphs.run import WaitingError, checkpoints, play, throw_away
from graphs.turn import Node, ring
from lab.errors import HaltedRunError, LabError, UsageError
from lab.play.ending import ending
from lab.store.database import DAMAGE, Run, Store, may_be_damage
from lab.store.history import logged
from lab.store.journal import RunJournal
from lab.store.prices import prices_of, usd
from nodes.caps import NO_CAPS, Caps, Meter
from nodes.halted import HaltedError
from nodes.journal import PlayerKind
from nodes.players import RunPlayers, deal, parse_spec
from nodes.prompting import follow_up_text, load_prompts
from nodes.state import TurnState, first_state, state_at

CHECKPOINTS = "checkpoints.db"
"""The file of the checkpoints in a home."""

OnTurn = Callable[[TurnState], None]
"""Called with the state that a run starts from, and with the state after each turn."""


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
    agents = world.names(world.default_agents if options.agents is None else options.agents)
    setting = settle(world, agents, options.seed, options.values)
    if not -(2**63) <= setting.seed < 2**63:
        raise ValueError(f"seed {setting.seed}: take a whole number of at most 64 bits")
    world.setup(setting.config, setting.agents, setting.seed)
    return world, setting


def begin(store: Store, options: RunOptions, caps: Caps = NO_CAPS) -> Run:
    """Write a new run to the store, ready to be played. Raise UsageError if the options are wrong."""
    try:
        world, setting = settle_options(options)
        models = deal(world, options.models or f"policy:{world.policies.default}", setting.agents)
        if (observer := _observer_asked(world, setting)) not in {"", PlayerKind.HUMAN}:
            parse_spec(world.policies, observer)
        variant = options.prompts or world.prompts(setting.config)
        prompts = load_prompts(world, variant, options.lang, setting)
        if setting.config.reask:  # better now than in the middle of the run
            follow_up_text(options.lang, "", (), "")
    except ValueError as error:
        raise UsageError(str(error)) from error
    _check_a_model_can_be_reached(world, setting, models)
    _check_prices_are_known(store, world, setting, models, caps)
    return store.find(store.new_run(world, setting, models, prompts, options.name, caps))


def _check_prices_are_known(
    store: Store, world: AnyWorld, setting: Setting[Any], models: Mapping[str, str], caps: Caps
) -> None:
    """Raise UsageError for a cap on money if the price of a model is unknown: it could not be kept."""
    if caps.usd is None:
        return
    prices = prices_of(store.home)
    for spec in filter(None, (*models.values(), _observer_asked(world, setting))):
        if (
            spec.startswith(f"{PlayerKind.CHAT}:")
            and usd(prices, parse_spec(world.policies, spec).name, 0, 0) is None
        ):
            where = f"{store.home}/prices.toml"
            raise UsageError(
                f"--max-usd needs the price of {spec}; write it into {where} (see lab/store/prices.toml)"
            )


def _observer_asked(world: AnyWorld, setting: Setting[Any]) -> str:
    """Return the spec of the observer, empty if a rule of the world observes."""
    state = world.setup(setting.config, setting.agents, setting.seed)
    return world.observer.asks(state) if world.observer else ""


def _check_a_model_can_be_reached(world: AnyWorld, setting: Setting[Any], models: Mapping[str, str]) -> None:
    """Raise UsageError for a run with models if no server is set, or its address is not valid."""
    specs = (*models.values(), _observer_asked(world, setting))
    asked = any(spec.startswith(f"{PlayerKind.CHAT}:") for spec in specs)
    if not asked:
        return
    if not (os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")):
        raise UsageError("openai: models need OPENAI_API_KEY, or OPENAI_BASE_URL; `hobbes doctor` shows them")
    from nodes.chat import server_address  # noqa: PLC0415  slow to import, and policies need none of it

    try:
        server_address()
    except ValueError as error:
        raise UsageError(str(error)) from error


def recap(store: Store, run: Run, higher: Mapping[str, Any]) -> Run:
    """Return the run with the caps that are given in place of its own."""
    if not higher:
        return run
    caps = replace(run.caps, **higher)
    _check_prices_are_known(store, run.world, run.setting, run.models, caps)
    store.update(run.id, caps=json.dumps(asdict(caps)))
    return store.find(run.id)


async def go_on(store: Store, run: Run, on_turn: OnTurn, said: str | None = None) -> None:
    """Play a run to its end from wherever it stands, and write down how it ended.

    Where a person is asked the run ends as `waiting`, and goes on with what was `said`.
    """
    began = time.monotonic()
    run.check_versions()
    _check_a_model_can_be_reached(run.world, run.setting, run.models)
    with store.playing(run.id):
        run = _as_it_stands(store, run, said)
        # A halted run is one until a turn is played past where it halted; a finished one has its figures.
        if run.status not in {"halted", "finished"}:
            store.update(run.id, status="unfinished", error=None, question=None)
        try:
            await _play_to_the_end(store, run, on_turn, said)
        except WaitingError as waiting:
            store.update(run.id, status="waiting", question=json.dumps(waiting.question))
            return
        except HaltedError as error:
            store.update(run.id, status="halted", error=str(error))
            hint = store.command("resume", run.id)
            raise HaltedRunError(f"run {run.id} halted: {error}; `{hint}` goes on") from error
        finally:
            store.update(run.id, seconds=run.seconds + time.monotonic() - began)
        ended = store.find(run.id)
        store.end_run(ended.id, ending(store, ended))


def _as_it_stands(store: Store, run: Run, said: str | None) -> Run:
    """Return the run as it is now that no other process plays it. Raise LabError if `said` comes too late."""
    present = store.find(run.id)
    if said is not None and present.question != run.question:
        how = (
            f"`{store.command('answer', run.id)}` shows what it asks now"
            if present.question
            else f"it is {present.status}"
        )
        raise LabError(f"run {run.id}: somebody else has answered that; {how}")
    return present


async def _play_to_the_end(store: Store, run: Run, on_turn: OnTurn, said: str | None) -> None:
    """Play from the last logged turn until the world is over."""
    prices = prices_of(store.home)
    spent = store.spent(run, prices)
    meter = Meter(run.caps, spent, lambda r: usd(prices, r.model, r.tokens_in, r.tokens_out))
    answered = not all(decision.failed for decision in store.decisions(run.id))
    players = RunPlayers(run.world, run.setting, run.prompts, meter, answered=answered)
    journal = RunJournal(store, run)
    nodes = ring(run.world, lambda _: nullcontext(players), journal)
    try:
        _meet(players, run)
        try:
            await _play_on(store, run, nodes, on_turn, said)
        except DAMAGE as error:
            if not may_be_damage(error):
                raise
            # If it was not the checkpoints that were damaged, the same is raised again.
            throw_away(store.home / CHECKPOINTS)
            present = store.find(run.id)
            await _play_on(store, present, nodes, on_turn, said if present.turns == run.turns else None)
    finally:
        await players.close()


async def _play_on(store: Store, run: Run, nodes: dict[str, Node], on_turn: OnTurn, said: str | None) -> None:
    """Continue from the last logged turn, with a checkpoint after every turn."""
    async with checkpoints(store.home / CHECKPOINTS) as saver:
        async for state in play(nodes, saver, run.id, as_logged(store, run), said):
            on_turn(state)


def as_logged(store: Store, run: Run) -> TurnState:
    """Return the graph's state after the last logged turn.

    The run database decides where a run stands, since it alone has every answer: the checkpoints may have
    been lost, or may be of another moment.
    """
    if not run.turns:
        return first_state(run.world, run.setting, run.models)
    last = logged(store, run, run.turns - 1)
    state = run.world.load(run.setting, last.record.state)
    return state_at(run.world, run.setting, run.models, state, last.record.memories, last.digest)


def _meet(players: RunPlayers, run: Run) -> None:
    """Make every player before the first one is asked. Raise LabError if one cannot be made."""
    try:
        for spec in run.models.values():
            players.named(spec)
        if spec := _observer_asked(run.world, run.setting):
            players.observing(spec)
    except ValueError as error:
        raise LabError(f"run {run.id} cannot be played now: {error}") from error
