"""Whether the run of a cell has what its arm and its seed ask for.

The table `cells` alone says which run belongs to which arm. If somebody exchanged two of its rows, a report
would conclude the opposite.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import PurePath
from typing import Any

from hobbes.engine.world import make_setting
from hobbes.errors import DamagedError, HobbesError
from hobbes.experiment.experiment_file import NULL, ExperimentFile, parse, rng_of
from hobbes.store.damage import damage_error
from hobbes.store.experiment_tables import PlayedCell, experiment_file
from hobbes.store.home import Store
from hobbes.store.runs import RUNS
from hobbes.worlds import world_named

Row = dict[str, Any]

PARTS = {"model", "prompts", "lang", "agents"}
"""What an arm can have beside settings."""


def fitting(
    store: Store, file: ExperimentFile, cells: Iterable[PlayedCell], left_out: list[str]
) -> Iterator[PlayedCell]:
    """Yield the cells whose runs have what their arm and seed ask for.

    What is wrong with each of the others is added to `left_out`.
    """
    asked = _Asked(file)
    for cell in cells:
        try:
            if misfit := _misfit(store, asked, cell.arm, cell.seed, cell.id):
                raise damage_error(cell.id, "", misfit)
        except DamagedError as error:
            left_out.append(str(error))
        else:
            yield cell


def misfits(store: Store, run: str) -> Iterator[str]:
    """Yield in words what a run has other than the cells that it plays ask for.

    Nothing can be said of a cell whose experiment cannot be read; its report says that.
    """
    for cell in list(store.db.table("cells").rows_where("run = ?", [run])):
        with suppress(HobbesError, ValueError):
            asked = _Asked(parse(experiment_file(store, cell["experiment"])))
            if found := _misfit(store, asked, cell["arm"], cell["seed"], run):
                yield found


def _misfit(store: Store, asked: "_Asked", arm: str, seed: int, run: str) -> str:
    """Return in words what a run has other than its cell asks for, empty if there is nothing."""
    row = store.runs.row(run)
    base = next(store.db.query("select * from runs where id = ?", [row["parent"]]), None)
    differing = ", ".join(asked.differing(arm, seed, row, base))
    return (
        differing
        and f"the table cells has the run under arm {arm}, seed {seed}, which has another {differing}"
    )


def models_at(models: Mapping[str, str], place: int) -> dict[str, str]:
    """Return the models of the run with the seed at this place of the file, by agent.

    Where agents differ in model, the models move on by one seat with each seed, so that none of them has
    the better seats. All arms of a seed are seated alike.
    """
    specs = list(models.values())
    first = place % len(specs)
    return dict(zip(models, specs[first:] + specs[:first], strict=True))


class _Asked:
    """What a file asks of the runs of its arms.

    Only what the file names for some arm is compared: the defaults may be those of another version of hobbes.
    """

    def __init__(self, file: ExperimentFile) -> None:
        self._file = file
        self._world = world_named(file.world)
        names = (copy for arm in (*file.arms, NULL) for copy in file.copies(arm))
        self._options = {arm: file.options(arm) for arm in names}
        options = self._options.values()
        self._named = {part for part in PARTS if any(getattr(one, part) for one in options)}
        self._named |= {name for one in options for name in one.settings}
        self._values = cache(self._values_of)
        self._bases = {one.number: (one.run, one.turn) for one in file.origin.bases} if file.origin else {}

    def differing(self, arm: str, seed: int, row: Row, base: Row | None) -> Iterator[str]:
        """Yield the names of what the row of a run has other than an arm and a seed ask for.

        `base` is the row of the run that it was forked from, None if there is none, or none any more.
        """
        if row["world"] != self._world.name:
            yield "world"
            return
        if seed in self._bases and (row["parent"], row["turn"]) != self._bases[seed]:
            yield "parent"
        if not self._bases and row["seed"] != seed:
            yield "seed"
        if arm not in self._options or seed not in self._file.seeds:
            return  # the file has been changed since, so that the report leaves this cell out
        config = RUNS.value(row, "config")
        values = self._values_of_fork(arm, base) if seed in self._bases else self._values(arm)
        for name, value in values.items():
            there = _option(row, name) if name in PARTS else config.get(name)
            if name in self._named and there is not None and there != value:
                yield name
        models = (RUNS.value(row, "model_settings") or {}).values()
        asked = self._options[arm].of_models()
        yield from (name for name, of in asked.items() if any(getattr(one, name) != of for one in models))
        if ("model" in self._named or base) and RUNS.value(row, "models") != self._models(
            arm, seed, row, base
        ):
            yield "model"

    def _values_of(self, arm: str) -> dict[str, Any]:
        """Return the settings and options of an arm, as the row of its run has them."""
        world, options = self._world, self._options[arm]
        agents = sorted(world.names(options.agents or world.default_agents))
        try:
            config = make_setting(world, agents, 0, options.settings).config
        except ValueError:  # a setting that has another name now, or other values
            return {"agents": agents}
        variant = PurePath(options.prompts or world.prompts(config)).name
        return {
            **config.model_dump(mode="json"),
            "agents": agents,
            "prompts": variant,
            "lang": options.lang or "en",
        }

    def _values_of_fork(self, arm: str, base: Row | None) -> dict[str, Any]:
        """Return the settings and options of the fork of a run, as its row has them, as far as known."""
        world, options = self._world, self._options[arm]
        if base is None:
            named = {"prompts": options.prompts and PurePath(options.prompts).name, "lang": options.lang}
            return {name: value for name, value in named.items() if value}
        before, agents = RUNS.value(base, "config"), RUNS.value(base, "agents")
        try:
            was, now = (
                make_setting(world, agents, 0, {**before, **changed}).config
                for changed in ({}, options.settings)
            )
        except ValueError:  # a setting that has another name now, or other values
            return {}
        variant = world.prompts(now) if base["prompts"] == world.prompts(was) else base["prompts"]
        return {
            **now.model_dump(mode="json"),
            "prompts": PurePath(options.prompts or variant).name,
            "lang": options.lang or base["lang"],
        }

    def _models(self, arm: str, seed: int, row: Row, base: Row | None) -> dict[str, str] | None:
        """Return the players of an arm with a seed; None if the run cannot have them."""
        from hobbes.nodes.players import deal, with_rng  # noqa: PLC0415  slow to import

        mix, rng = self._options[arm].model, rng_of(arm)
        if mix is None and seed in self._bases:
            there: dict[str, str] = RUNS.value(base or row, "models")
            return {agent: with_rng(spec, rng) if rng else spec for agent, spec in there.items()}
        mix = mix or f"policy:{self._world.policies.default}"
        try:
            named = RUNS.value(row, "model_settings") or {}
            dealt = deal(self._world, mix, RUNS.value(row, "models"), named)
        except ValueError:
            return None
        if rng:
            dealt = {agent: with_rng(spec, rng) for agent, spec in dealt.items()}
        return models_at(dealt, self._file.seeds.index(seed))


def _option(row: Row, name: str) -> object:
    """Return an option of a run. Of prompts that are a folder, it is the name: the path was made absolute."""
    if name == "agents":
        return RUNS.value(row, name)
    return PurePath(row[name]).name if name == "prompts" else row[name]
