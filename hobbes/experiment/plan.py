"""The plan of an experiment: its cells, each an arm played with a seed, checked before the first call."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hobbes.engine.names import did_you_mean
from hobbes.engine.world import AnyWorld
from hobbes.errors import UsageError
from hobbes.experiment.experiment_file import NULL, ExperimentFile, parts_of
from hobbes.nodes.caps import NO_CAPS, Caps
from hobbes.nodes.journal import PlayerKind
from hobbes.nodes.players import with_rng
from hobbes.nodes.prompt_set import PromptSet
from hobbes.play.fork import ForkOptions, Planned, plan_of_fork
from hobbes.play.prompt_checks import check_prompts
from hobbes.play.start import Beginning, RunOptions, beginning_of_run
from hobbes.store.experiment_tables import cells_of, run_names, world_of_experiment
from hobbes.store.home import Store
from hobbes.store.policy_games import with_turns
from hobbes.store.recorded_run import Run, observer_asked


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a run begins that has its first turns from another one."""

    parent: Run
    turn: int
    asked: Mapping[str, str]
    """The player of each agent that acts in its first own turn."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of an experiment: an arm with a seed."""

    experiment: str
    arm: str
    seed: int
    new: Beginning
    fork: Fork | None = None

    @property
    def name(self) -> str:
        """The name of its run."""
        return f"{self.experiment}.{self.arm}.{self.seed}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells of an experiment in the order of play: all arms of a seed, then those of the next."""

    file: ExperimentFile
    world: AnyWorld
    cells: tuple[Cell, ...]


def plan(store: Store, path: Path, file: ExperimentFile, caps: Caps = NO_CAPS) -> Plan:
    """Return the plan of an experiment, whose file was read from a path.

    Raise UsageError, in one line, for whatever is wrong with an arm, a measure or a prompt, or if cells that
    were played before do not fit the file, or if another run has the name of a cell.
    """
    try:
        made = _plan(store, file, caps)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    _check_played(store, made)
    return made


def missing(store: Store, made: Plan) -> list[Cell]:
    """Return the cells whose runs have not been played to their end."""
    begun = cells_of(store, made.file.name)
    ended = {place for place, cell in begun.items() if cell.finished}
    return [cell for cell in made.cells if (cell.arm, cell.seed) not in ended]


def tainted_cells(store: Store, made: Plan) -> int:
    """Return how many of the cells that have been played are tainted."""
    begun = cells_of(store, made.file.name)
    planned = (begun.get((cell.arm, cell.seed)) for cell in made.cells)
    return sum(cell.tainted for cell in planned if cell and cell.finished)


def _plan(store: Store, file: ExperimentFile, caps: Caps) -> Plan:
    cells = tuple(_forks(store, file, caps) if file.origin else _runs(store, file, caps))
    return Plan(file, cells[0].new.world, cells)


def _runs(store: Store, file: ExperimentFile, caps: Caps) -> Iterator[Cell]:
    """Yield the cells whose runs begin at their first turn. Raise ValueError if the file is wrong."""
    arms = {name: _arm(store, file, name, caps) for name in file.names}
    _check_arms(file, arms)
    for place, seed in enumerate(file.seeds):
        for name, new in arms.items():
            models = _with_own_draws(name, models_at(new.models, place))
            setting = replace(new.setting, seed=seed)
            yield Cell(file.name, name, seed, replace(new, setting=setting, models=models))


def _forks(store: Store, file: ExperimentFile, caps: Caps) -> Iterator[Cell]:
    """Yield the cells whose runs fork others. Raise ValueError if the file is wrong."""
    for place, base in enumerate(file.origin.bases if file.origin else ()):
        parent = with_turns(store, store.runs.find(base.run))
        forks = {name: _fork(store, file, name, (parent, base.turn), caps) for name in file.names}
        _check_arms(file, {name: fork.new for name, fork in forks.items()})
        for name, planned in forks.items():
            new = planned.new
            models = models_at(new.models, place) if file.options(name).model else new.models
            fork = Fork(parent, base.turn, _with_own_draws(name, planned.asked))
            new = replace(new, models=_with_own_draws(name, models))
            yield Cell(file.name, name, base.number, new, fork)


def models_at(models: Mapping[str, str], place: int) -> dict[str, str]:
    """Return the models of the run with the seed at this place of the file, by agent.

    Where agents differ in model, the models move on by one seat with each seed, so that none of them has
    the better seats. All arms of a seed are seated alike.
    """
    specs = list(models.values())
    first = place % len(specs)
    return dict(zip(models, specs[first:] + specs[:first], strict=True))


def _check_arms(file: ExperimentFile, arms: Mapping[str, Beginning]) -> None:
    """Raise ValueError if something is wrong with what the runs of an arm start with."""
    _check_prompts(file, arms)
    _check_measures(file, list(arms.values()))
    if file.factors and file.factors.design == "one-at-a-time":
        _check_one_at_a_time(file, arms)


def _with_own_draws(name: str, models: Mapping[str, str]) -> dict[str, str]:
    """Return the models of an arm: the policies of the null arm draw random numbers of their own."""
    if parts_of(name)[0] != NULL:
        return {**models}
    return {agent: with_rng(spec, NULL) for agent, spec in models.items()}


def _arm(store: Store, file: ExperimentFile, name: str, caps: Caps) -> Beginning:
    try:
        new = beginning_of_run(store, _options(file, name), caps)
    except UsageError as error:
        raise ValueError(f"{file.place(name)}: {error}") from error
    _check_nobody_is_asked(file, name, new)
    return new


def _fork(store: Store, file: ExperimentFile, name: str, at: tuple[Run, int], caps: Caps) -> Planned:
    (parent, turn), arm = at, file.options(name)
    options = ForkOptions(turn, arm.model, arm.prompts, arm.lang, {**arm.settings})
    try:
        fork = plan_of_fork(store, parent, options, caps)
    except UsageError as error:
        raise ValueError(f"{file.place(name)}: {error}") from error
    _check_nobody_is_asked(file, name, fork.new)
    return fork


def _check_nobody_is_asked(file: ExperimentFile, name: str, new: Beginning) -> None:
    players = {"model": {*new.models.values()}, "set.observer": {observer_asked(new.world, new.setting)}}
    for key, of_key in players.items():
        if PlayerKind.HUMAN in of_key:
            raise ValueError(
                f"{file.place(name)} {key}: an experiment cannot ask a person; name a model or a policy"
            )


def _options(file: ExperimentFile, name: str) -> RunOptions:
    arm = file.options(name)
    lang = arm.lang or "en"
    return RunOptions(file.world, arm.agents, file.seeds[0], arm.model, arm.prompts, lang, {**arm.settings})


def _check_prompts(file: ExperimentFile, arms: Mapping[str, Beginning]) -> None:
    """Raise ValueError for a problem of an arm's prompts. The same texts are checked once."""
    first: dict[PromptSet, str] = {}
    for name, arm in arms.items():
        first.setdefault(replace(arm.prompts, schema=""), name)
    for name in first.values():
        if problems := check_prompts(arms[name].world, arms[name].prompts):
            key = "" if parts_of(name)[1] else " prompts"
            raise ValueError(f"{file.place(name)}{key}: {problems[0]}")


def _check_one_at_a_time(file: ExperimentFile, arms: Mapping[str, Beginning]) -> None:
    """Raise ValueError for a value that the baseline has anyway: its arm would be the baseline again."""
    baseline, *others = ([arms[name] for name in file.wordings(arm)] for arm in file.arms)
    for arm, of_arm in zip([*file.arms][1:], others, strict=True):
        if of_arm == baseline:
            raise ValueError(f"{file.place(arm)}: the baseline has this value; leave it out")


def _check_measures(file: ExperimentFile, arms: Sequence[Beginning]) -> None:
    world, formulas = arms[0].world, arms[0].world.measures.formulas
    agents = set.intersection(*(set(arm.setting.agents) for arm in arms))
    asked = [("[compare] measures", measure) for measure in file.compare.measures or ()]
    for number, one in enumerate(file.hypotheses, start=1):
        asked.append((f"[[hypothesis]] {number} measure", one.measure))
    asked += [("[smallest]", measure) for measure in file.smallest]
    for place, measure in asked:
        name, _, agent = measure.partition("/")
        if measure not in formulas and not (f"{name}/AGENT" in formulas and agent in agents):
            raise ValueError(
                f"{place}: {world.name} has no measure {measure!r}"
                + did_you_mean(measure, formulas, f"measures: {' '.join(formulas)}")
            )


def _check_played(store: Store, made: Plan) -> None:
    """Raise UsageError if runs that were played for the experiment are not those that the file asks for."""
    name = made.file.name
    world = world_of_experiment(store, name)
    if world not in {None, made.world.name}:
        raise UsageError(
            f"the experiment {name!r} in {store.home} is one of {world}; give this one another name"
        )
    begun = cells_of(store, name)
    taken = run_names(store)
    for cell in made.cells:
        before = begun.get((cell.arm, cell.seed))
        if before is None and cell.name in taken:
            raise UsageError(
                f"a run that is not of the experiment {name!r} has the name {cell.name!r}; "
                "give the experiment another name"
            )
        if before is not None:
            run = store.runs.find(before.id)
            if different := list(_differences(cell, run)):
                raise UsageError(
                    f"the experiment {name!r} was begun with other values of {'; '.join(different)} "
                    f"(arm {cell.arm}, seed {cell.seed}); give the changed experiment another name"
                )
            run.check_versions()


PARTS: Mapping[str, Callable[[Beginning | Run], object]] = {
    "agents": lambda one: one.setting.agents,
    "the seed": lambda one: one.setting.seed,
    "model": lambda one: one.models,
    "the models file": lambda one: one.model_settings,
    "prompts": lambda one: replace(one.prompts, variant="", hash=""),
}
"""What a run starts with beside its settings. Of the prompts, their texts count and not their name."""


def _differences(cell: Cell, run: Run) -> Iterator[str]:
    before, now = (one.setting.config.model_dump(mode="json") for one in (run, cell.new))
    for name, value in before.items():
        if now[name] != value:
            yield f"{name}: {json.dumps(value)} then, {json.dumps(now[name])} now"
    yield from (words for words, part in PARTS.items() if part(cell.new) != part(run))
    if (run.parent, run.forked_at) != ((cell.fork.parent.id, cell.fork.turn) if cell.fork else (None, 0)):
        yield "[from]"
