"""Fork a run: what `hobbes fork` does.

A fork is a run whose first turns are those of another run, its parent. They are copied, with their calls, so
that a fork is resumed, replayed, verified and exported like any run, even where the parent is gone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hobbes.engine.answer import DECISIONS
from hobbes.engine.memory import Memory
from hobbes.engine.record import Json, canonical
from hobbes.engine.turn import answer_fields, view_of
from hobbes.engine.world import Setting, make_setting
from hobbes.errors import UsageError, as_usage_error
from hobbes.graphs.database import transaction
from hobbes.nodes.caps import NO_CAPS, Caps
from hobbes.nodes.journal import TURN_QUESTION, Address, Call, PlayerKind, Prompt, Reply, make_call
from hobbes.nodes.players import deal, parse_spec
from hobbes.nodes.prompt_set import PromptSet
from hobbes.nodes.prompting import fit_to_setting, load_prompts, system_text, turn_text
from hobbes.nodes.reading import read
from hobbes.play.models_file import read_models
from hobbes.play.start import Beginning, absolute_variant, check_beginning, named_among, write
from hobbes.store.history import stored_turn
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.run_journal import RunJournal
from hobbes.store.runs import update_run


@dataclass(frozen=True, slots=True)
class ForkOptions:
    """The options of a fork. What is not given stays as the parent played it."""

    turn: int
    models: str | None = None
    prompts: str | None = None
    lang: str | None = None
    values: dict[str, Json] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    """The answers that agents are given in this turn, in place of their players' own."""
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A fork that was checked and is not written yet."""

    new: Beginning
    asked: Mapping[str, str]
    """The player spec of each agent that acts in the first turn of the fork."""
    given: tuple[Call, ...]
    """The calls of the answers that agents are given."""


def forks(store: Store, parent: Run, options: ForkOptions, caps: Caps, times: int | None) -> list[Run]:
    """Return so many forks, ready to be played, named NAME-1, NAME-2 and so on; without `times`, one.

    Raise UsageError if the options are wrong or a name is taken; then nothing is written.
    """
    base = options.name
    names = [f"{base}-{n}" if base and times else base for n in range(1, (times or 1) + 1)]
    for name in names:
        store.runs.check_name(name)
    # Each is written in a transaction of its own, so that other processes need not wait for all of them.
    return [fork(store, parent, replace(options, name=name), caps) for name in names]


def fork(store: Store, parent: Run, options: ForkOptions, caps: Caps) -> Run:
    """Write a fork to the store, ready to be played. Raise UsageError if the options are wrong."""
    plan = plan_of_fork(store, parent, options, caps)
    with transaction(store.connection):
        run = write_fork(store, plan.new, options.name, parent, options.turn, caps)
        RunJournal(store, run).insert(plan.given)
    return run


def write_fork(  # noqa: PLR0913, PLR0917  what a run begins with, and where
    store: Store, new: Beginning, name: str | None, parent: Run, turn: int, caps: Caps = NO_CAPS
) -> Run:
    """Write a run to the store that has the first turns of its parent, ready to be played."""
    with transaction(store.connection):
        run = write(store, new, name, caps, fork_of=(parent, turn))
        last = store.turns.copy(parent, turn, run.id)
        store.calls.copy(parent.id, turn, run.id)
        update_run(store.connection, run.id, {"turns": turn, "digest": run.digest_before(turn, last)})
        return store.runs.find(run.id)


def plan_of_fork(store: Store, parent: Run, options: ForkOptions, caps: Caps) -> Planned:
    """Return what a fork with these options starts with. Raise UsageError if the options are wrong."""
    parent.check_versions()
    _check_turn(store, parent, options.turn)
    world = parent.world
    with as_usage_error():
        setting = setting_of_fork(parent, options)
        state, memories = beginning_of_fork(store, parent, options.turn, setting)
        models, named = parent.models, parent.model_settings
        if options.models is not None:
            named = read_models(store.home)
            models = deal(world, options.models, setting.agents, named)
        prompts = prompts_of_fork(parent, setting, options)
        new = Beginning(world, setting, models, named_among(models, named), prompts)
        check_beginning(new, caps)
        calls = tuple(_answer_calls(new, state, memories, options.answers))
    acting = {agent: models[world.owner(state, agent)] for agent in world.actors(state)}
    return Planned(new, acting, calls)


def _check_turn(store: Store, parent: Run, turn: int) -> None:
    last = parent.turns - (parent.status == "finished")
    if not 0 <= turn <= parent.turns:
        turns = f"turns 0 to {last}" if last else "turn 0 only"
        raise UsageError(f"--turn {turn}: run {parent.label} can be forked at {turns}")
    changed = parent.earlier[-1].until if parent.earlier else 0
    if turn < changed:
        where = f"`{store.command('fork', parent.parent, '--turn', turn)}` forks its parent"
        raise UsageError(
            f"--turn {turn}: run {parent.label} goes on in another way from turn {changed}; "
            f"fork it at turn {changed} or later, or {where}"
        )


def setting_of_fork(parent: Run, options: ForkOptions) -> Setting[Any]:
    """Return the setting of a fork. Raise UsageError for settings that only a new run can have."""
    world, before = parent.world, parent.setting
    values = {**before.config.model_dump(mode="json"), **options.values}
    setting = make_setting(world, before.agents, before.seed, values)
    starts = [world.state.to_json(world.setup(way.config, way.agents, way.seed)) for way in (setting, before)]
    if options.turn and starts[0] != starts[1]:
        raise UsageError(
            f"--set {' '.join(options.values)}: this changes how the game begins; "
            "begin at turn 0, or with a new run"
        )
    return setting


def beginning_of_fork(
    store: Store, parent: Run, turn: int, setting: Setting[Any]
) -> tuple[Any, Mapping[str, Memory]]:
    """Return the state and the memories with which a fork begins. Raise UsageError if the game is over."""
    world = parent.world
    if turn == 0:
        return world.setup(setting.config, setting.agents, setting.seed), {}
    last = stored_turn(store, parent, turn - 1).record
    state = world.state.load(setting, last.state)
    if world.over(state):
        if turn < parent.turns:
            raise UsageError(f"--turn {turn}: with these settings the game is over by then")
        raise UsageError(
            f"--turn {turn}: the game is over by then; run {parent.label} ended after turn {turn - 1}"
        )
    return state, last.memories


def prompts_of_fork(parent: Run, setting: Setting[Any], options: ForkOptions) -> PromptSet:
    """Return the prompts of a fork: the very texts of the parent unless others are asked for."""
    world, before = parent.world, parent.prompts
    variant = options.prompts or before.variant
    if not options.prompts and variant == world.prompts(parent.setting.config):
        variant = world.prompts(setting.config)  # a setting may choose the variant
    if options.prompts or options.lang or variant != before.variant:
        return load_prompts(world, absolute_variant(variant), options.lang or before.lang, setting)
    return before if setting == parent.setting else fit_to_setting(world, before, setting)


def _prompt(new: Beginning, state: Any, memories: Mapping[str, Memory], agent: str) -> Prompt:  # noqa: ANN401
    view = view_of(new.world, state, memories, agent)
    spec = parse_spec(new.world.policies, new.models[new.world.owner(state, agent)], new.model_settings)
    if spec.settings is None:
        return Prompt("", canonical(view))
    return Prompt(system_text(new.prompts, new.setting), turn_text(new.prompts, view))


def _answer_calls(
    new: Beginning,
    state: Any,  # noqa: ANN401  a world's own state
    memories: Mapping[str, Memory],
    answers: Mapping[str, str],
) -> Iterator[Call]:
    """Yield the calls of the answers that agents are given. Raise UsageError for one that cannot be used."""
    actors = new.world.actors(state)
    for agent, text in answers.items():
        if agent not in actors:
            raise UsageError(
                f"--answer {agent}: no such agent acts in turn {state.turn}; agents: {', '.join(actors)}"
            )
        reply = Reply(text, PlayerKind.GIVEN, tokens_in=0, tokens_out=0, player=PlayerKind.GIVEN)
        parsed = read(agent, reply, answer_fields(new.world, new.setting, agent))
        if parsed.outcome not in DECISIONS:
            raise UsageError(f"--answer {agent}: there is no JSON object in {text[:60]!r}")
        prompt = _prompt(new, state, memories, agent)
        yield make_call(Address(state.turn, agent), prompt, TURN_QUESTION, reply, parsed)
