"""The plan of a probe: its cells, each with the prompt that is sent, and what asking them will cost."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from pydantic import JsonValue, TypeAdapter

from hobbes.engine.memory import Memory
from hobbes.engine.telling import counted
from hobbes.engine.turn import view_of
from hobbes.engine.world import AnyWorld, Setting
from hobbes.errors import UsageError
from hobbes.experiment.cost_estimate import Estimate, Expected, total
from hobbes.nodes.caps import Caps
from hobbes.nodes.journal import Prompt, Reply
from hobbes.nodes.models import Models, ModelSettings
from hobbes.nodes.players import parse_spec
from hobbes.nodes.prompt_set import SHIPPED, PromptSet
from hobbes.nodes.prompting import approximate_tokens, wordings
from hobbes.play.fork import ForkOptions, beginning_of_fork, prompts_of_fork, setting_of_fork
from hobbes.play.models_file import read_models
from hobbes.play.render import PromptQuestion
from hobbes.play.start import Beginning, check_beginning
from hobbes.probe.situations import ProbeFile, Situation, find
from hobbes.store.experiment_tables import tokens_per_call
from hobbes.store.history import TurnStart
from hobbes.store.home import Store
from hobbes.store.probe_tables import KeptProbe
from hobbes.store.recorded_run import Run

RECORDED = "recorded"
"""The name of the column with the prompt that the run itself used."""

TIMES = 10
"""How often each question is asked, unless somebody says otherwise."""

NOTHING_COMPARED = "nothing is compared; --prompts FOLDER adds a column"
"""What is said of a probe with one column."""

MAX_CELLS = 10_000
"""More cells than this are a slip of the keyboard."""


@dataclass(frozen=True, slots=True)
class Column:
    """A way of asking: what is not as in the run, None or empty for what is."""

    name: str
    prompts: str | None = None
    """A variant, or a path as it was given: a probe may be handed on, so no path of this machine is kept."""
    lang: str | None = None
    model: str | None = None
    settings: dict[str, JsonValue] = field(default_factory=dict)
    model_settings: dict[str, ModelSettings] = field(default_factory=dict)
    """The settings of its model, if a models file has it, by name."""
    paraphrase: bool = False
    """Whether its prompt is to say the same as that of the run in other words."""
    about: str = field(default="", compare=False)
    """What people have to know about its answers, such as how many readers gave them."""

    @property
    def is_recorded(self) -> bool:
        """Whether it has the prompt of the run itself."""
        return self.prompts is None and self.lang is None and not self.settings


COLUMNS = TypeAdapter(tuple[Column, ...])
"""Reads and writes columns as the run database keeps them."""


class Place(NamedTuple):
    """Where a cell is asked: what the world and the agent are in, under the settings of the column."""

    way: Run
    """The run with the setting, players and prompts of the turn."""
    setting: Setting[Any]
    state: Any
    memories: Mapping[str, Memory]
    spec: str
    """The player that is asked."""
    model: ModelSettings | None
    """How it is asked, None if it is no chat model."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A situation in a column, ready to be asked."""

    situation: int
    """The number of the situation in its probe, from 1."""
    column: str
    question: PromptQuestion
    prompts: PromptSet
    prompt: Prompt
    model: ModelSettings


@dataclass(frozen=True, slots=True)
class Plan:
    """A probe: what is asked, in which ways, and how often."""

    name: str
    world: AnyWorld
    situations: tuple[Situation, ...]
    columns: tuple[Column, ...]
    cells: tuple[Cell, ...]
    """Those of the first situation in all columns, then those of the second, and so on."""
    times: int
    answered: frozenset[str] = frozenset()
    """The players that have answered in the runs of the situations, so that many may be asked at once."""
    notes: tuple[str, ...] = ()
    """What people have to know about its columns, in words."""


def plan(store: Store, asked: ProbeFile, caps: Caps) -> Plan:
    """Return the plan of a probe; raise UsageError if it cannot be asked as it stands."""
    situations = tuple(find(store, one) for one in asked.situation)
    if not situations:
        raise UsageError(
            "there is no situation to ask about; `hobbes probe add RUN TURN AGENT --to FILE` adds one"
        )
    if len(set(situations)) < len(situations):
        raise UsageError("a situation is listed twice; list it once")
    runs = [store.runs.find(one.run).at(one.turn) for one in situations]
    columns = tuple(_columns(_with_wordings(asked, runs), read_models(store.home)))
    if len(situations) * len(columns) > MAX_CELLS:
        asked_for = f"{counted(len(situations), 'situation')} in {counted(len(columns), 'column')}"
        raise UsageError(f"{asked_for} are too many; choose fewer")
    if len({one.name for one in columns}) < len(columns):
        raise UsageError("two columns would be the same; name each prompt, language and model once")
    worlds = {run.world.name: run.world for run in runs}
    if len(worlds) > 1:
        raise UsageError(f"a probe is about one world, not about {' and '.join(worlds)}; make one of each")
    (world,) = worlds.values()
    cells = tuple(
        _cell(store, number, one, column, caps)
        for number, one in enumerate(situations, start=1)
        for column in columns
    )
    answered = frozenset().union(*(store.calls.answered(one.run) for one in situations))
    return Plan(asked.name or "", world, situations, columns, cells, asked.times or TIMES, answered)


def _with_wordings(asked: ProbeFile, runs: Sequence[Run]) -> ProbeFile:
    """Return a probe with the wordings of its world in place of SHIPPED. Raise UsageError if they are not."""
    if asked.paraphrases != [SHIPPED]:
        return asked
    shipped = [*wordings(runs[0].world)]
    for run in runs:
        if run.prompts.variant not in shipped:
            raise UsageError(
                f"paraphrases: run {run.label} has the prompt {run.prompts.variant}, but {SHIPPED} "
                f"means wordings of {', '.join(shipped[:1]) or 'none'}; list prompts that say the same"
            )
    return asked.model_copy(update={"paraphrases": shipped})


def _columns(asked: ProbeFile, known: Models) -> Iterator[Column]:
    """Yield the columns that are asked for: that of the run first, then each prompt in each language."""
    prompts: list[str | None] = [*asked.prompts] or ([None] if asked.lang or asked.settings else [])
    langs: list[str | None] = [*asked.lang] or [None]
    models: list[str | None] = [*asked.model] or [None]
    for model in models:
        settings = {model: known[model]} if model is not None and model in known else {}
        of = f" {model}" if len(asked.model) > 1 else ""
        yield Column(f"{RECORDED}{of}", model=model, model_settings=settings, about=asked.about)
        for variant, lang in product(prompts, langs):
            values = (f"{key}={json.dumps(value)}" for key, value in asked.settings.items())
            name = " ".join(filter(None, [variant, lang, *values])) + of
            yield Column(name, variant, lang, model, dict(asked.settings), settings, about=asked.about)
        for variant in asked.paraphrases:
            yield Column(variant + of, variant, None, model, {}, settings, paraphrase=True, about=asked.about)


def place(store: Store, situation: Situation, column: Column) -> Place:
    """Return where a cell is asked; raise UsageError if the settings of the column do not fit the run."""
    run, turn = store.runs.find(situation.run), situation.turn
    way = run.at(turn)
    try:
        setting = setting_of_fork(way, ForkOptions(turn, values={**column.settings}))
        state, memories = beginning_of_fork(store, run, turn, setting)
    except ValueError as error:
        raise UsageError(f"{column.name}: {error}") from error
    models = {**way.model_settings, **column.model_settings}
    spec = column.model or way.models[way.world.owner(state, situation.agent)]
    try:
        model = parse_spec(way.world.policies, spec, models).settings
    except ValueError as error:
        raise UsageError(str(error)) from error
    return Place(way, setting, state, memories, spec, model)


def _cell(store: Store, number: int, situation: Situation, column: Column, caps: Caps) -> Cell:
    way, setting, state, memories, spec, model = place(store, situation, column)
    agent, world = situation.agent, way.world
    if model is None:
        raise UsageError(
            f"a probe needs a model, but {spec} "
            f"{'' if column.model else f'plays {agent} in run {way.label} and '}reads no prompt; "
            "name a chat model with --model openai:NAME"
        )
    if agent not in world.actors(state):
        raise UsageError(f"{column.name}: {agent} does not act in turn {situation.turn} of run {way.label}")
    models = {**way.model_settings, **column.model_settings}
    try:
        options = ForkOptions(situation.turn, None, column.prompts, column.lang, {**column.settings})
        prompts = way.prompts if column.is_recorded else prompts_of_fork(way, setting, options)
        check_beginning(Beginning(world, setting, {agent: spec}, models, prompts), caps)
    except ValueError as error:
        raise UsageError(str(error)) from error
    view = view_of(world, state, memories, agent)
    start = TurnStart(state, memories)
    question = PromptQuestion(
        world, setting, prompts.variant, prompts.lang, start, agent, view, player=spec, models=models
    )
    return Cell(number, column.name, question, prompts, question.render(prompts), model)


def cost(store: Store, planned: Plan, missing: Mapping[tuple[int, str], int]) -> Estimate:
    """Return what the missing answers will cost, given how many are missing in each cell.

    An answer has the mean tokens of the recorded answers of the same player in the same world.
    """
    recorded = tokens_per_call(store, planned.world.name)
    return total(
        Expected(
            n,
            cell.model,
            approximate_tokens(cell.prompt.system) + approximate_tokens(cell.prompt.turn),
            recorded[spec][1] if (spec := cell.question.player) in recorded else None,
        )
        for cell in planned.cells
        if (n := missing[cell.situation, cell.column])
    )


def columns_kept(probe: KeptProbe) -> dict[str, Column]:
    """Return the columns of a stored probe, by name."""
    return {column.name: column for column in COLUMNS.validate_python(probe.columns)}


def tokens_of(reply: Reply) -> int | None:
    """Return the tokens of a call, None if the server did not report them."""
    into, out = reply.tokens_in, reply.tokens_out
    return None if into is None or out is None else into + out
