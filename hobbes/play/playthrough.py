"""Play a run on the graph: to its end, from wherever it stands."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from hobbes.engine.measures import work_out
from hobbes.engine.turn import TurnRecord
from hobbes.errors import HaltedRunError, HobbesError
from hobbes.graphs.ring import Node, ring
from hobbes.graphs.run import Checkpoints, WaitingError, open_checkpoints, play_run, remove_checkpoints
from hobbes.nodes.caps import Budget, Meter
from hobbes.nodes.halted import HaltedError
from hobbes.nodes.journal import Reply
from hobbes.nodes.models import Models, server_address
from hobbes.nodes.players import RunPlayers
from hobbes.nodes.rate_limits import RateLimiter
from hobbes.nodes.turn_state import TurnState, first_state, state_at
from hobbes.play.start import Clock, chats_of, check_it_goes_on, late_calls, utc
from hobbes.store.checked_connection import DAMAGE, may_be_damage
from hobbes.store.figures import columns_at_end
from hobbes.store.history import StoredHistory, load_state, past_turns, stored_turn
from hobbes.store.home import CHECKPOINTS, Store
from hobbes.store.prices import usd
from hobbes.store.recorded_run import PersonQuestion, Run, observer_asked
from hobbes.store.run_journal import RunJournal

OnTurn = Callable[[TurnState], None]
"""Called with the state that a run starts from, and with the state after each turn."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What a run shares with others that are played at the same time. Without it, it is played alone."""

    budget: Budget | None = None
    """What the runs together may cost."""
    limiter: RateLimiter | None = None
    """Counts the requests of all runs for the limits of the models."""
    checkpoints: Checkpoints | None = None
    """The open database of checkpoints of the event loop in which all are played."""


async def go_on(  # noqa: PLR0913, PLR0917  how it is played is no part of what is played
    store: Store,
    run: Run,
    on_turn: OnTurn,
    on_meter: Callable[[Meter], None] = lambda _: None,
    clock: Clock = utc,
    shared: Shared = Shared(),
) -> None:
    """Play a run to its end from wherever it stands, and write down how it ended.

    Where people are asked, the run ends as `waiting`; `people.keep_answer` takes their answers. The calls of
    those who have not answered in time have failed. `on_meter` is called once, with the meter that counts
    the run's calls from now on.
    """
    began = time.monotonic()
    with store.playing(run.id):
        run = store.runs.find(run.id)  # as it is now that no other process plays it
        if run.status == "finished":
            return
        check_it_goes_on(run)
        if run.status == "waiting":  # one that has halted stays so until a turn is played past where it did
            store.runs.update(run.id, status="unfinished", error=None, question=None)
        store.runs.keep_servers(run.id, _servers(chats_of(run)))
        try:
            meter = meter_of(store, run, shared.budget)
            on_meter(meter)
            last = await _play_to_the_end(store, run, meter, shared, on_turn, late_calls(run, clock()))
        except WaitingError as waiting:
            _ask(store, run, waiting.questions, clock())
            return
        except HaltedError as error:
            store.runs.update(run.id, status="halted", error=str(error))
            ways_on = _ways_on(store, run, capped=bool(meter.stop_reason))
            raise HaltedRunError(f"run {run.label} halted: {error}; {ways_on}") from error
        finally:
            store.runs.update(run.id, seconds=run.seconds + time.monotonic() - began)
        _end(store, replace(run, turns=last["turn"], digest=last["digest"]), last["world"])


def _ask(store: Store, run: Run, questions: Iterable[Mapping[str, str]], now: datetime) -> None:
    """Note what people are asked. Those who were asked before a stop have no more time for it."""
    before, at = {old.address: old.since for old in run.questions}, now.isoformat(timespec="milliseconds")
    store.runs.ask(run.id, [PersonQuestion(**new, since=before.get(new["address"], at)) for new in questions])


def _end(store: Store, run: Run, world: Mapping[str, Any]) -> None:
    """Write down how a run ended, and its measures; `world` is the JSON of its last state."""
    state = run.world.state.load(run.setting, world)
    columns = columns_at_end(run, store.calls.counts(run.id), state, store.turns.counts(run.id))
    store.figures.end_run(run, columns, work_out(run.world.measures, StoredHistory(store, run)))


def _ways_on(store: Store, run: Run, *, capped: bool) -> str:
    """Return what can be done with a run that has halted, because it is capped or a player has failed."""
    again, turns = store.command("resume", run.label), store.runs.find(run.id).turns
    if turns > run.forked_at:
        fork = store.command("fork", run.label, "--turn", turns, "--model", "SPEC")
        others = "" if capped else f"`{fork}` plays on with other players, in a new run; "
        return f"{others}`{again}` goes on"
    delete = store.command("delete", run.label)
    return f"`{again}` goes on, and with `--model SPEC` by other players; `{delete}` removes it"


def _servers(chats: Models) -> dict[str, str]:
    """Return the address of the server of each chat model, by its spec, without what may contain a key."""
    addresses = {spec: server_address(settings) for spec, settings in chats.items()}
    return {spec: str(url.copy_with(query=None, fragment=None)) for spec, url in addresses.items()}


def meter_of(store: Store, run: Run, budget: Budget | None = None) -> Meter:
    """Return the meter of a run, with what it has cost so far and what it may cost with others."""

    def usd_of(reply: Reply) -> float | None:
        return usd(reply, run.model_settings.get(reply.player))

    return Meter(run.caps, store.figures.spent(run), usd_of, budget)


async def _play_to_the_end(  # noqa: PLR0913, PLR0917  all that a run is played with
    store: Store,
    run: Run,
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
    nodes = ring(run.world, lambda _: nullcontext(players), RunJournal(store, run))
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
    store: Store, run: Run, nodes: dict[str, Node], on_turn: OnTurn, shared: Checkpoints | None = None
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
    between = state_at(run.world, after.setting, after.models, state, record.memories, link)
    return {**between, "prompts": after.prompts.identity}


def _make_players(players: RunPlayers, run: Run) -> None:
    """Make every player before the first one is asked. Raise HobbesError if one cannot be made."""
    try:
        for spec in run.models.values():
            players.named(spec)
        if spec := observer_asked(run.world, run.setting):
            players.observing(spec)
    except ValueError as error:
        raise HobbesError(f"run {run.label} cannot be played now: {error}") from error
