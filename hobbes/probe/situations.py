"""Situations: which turns of which agents are asked about, from a file or picked from recorded runs."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, JsonValue, ValidationError

from hobbes.engine.world import MAX_NAME, OBSERVER
from hobbes.errors import UsageError
from hobbes.experiment.arms import Table
from hobbes.experiment.file_values import PROBLEMS, Text, unknown_key
from hobbes.files import check_path, read_toml
from hobbes.store.history import intents_of, missing_turn, state_before, stored_turn
from hobbes.store.home import Store
from hobbes.store.policy_games import with_turns
from hobbes.store.probe_tables import MAX_TIMES
from hobbes.store.recorded_run import Run


class Situation(Table):
    """What an agent was in: a turn of a recorded run. The note is for people."""

    run: Text
    turn: int = Field(ge=0)
    agent: Text
    note: str = ""

    @property
    def place(self) -> tuple[str, int, str]:
        """The run, the turn and the agent."""
        return self.run, self.turn, self.agent


class ProbeFile(Table):
    """A file of situations. It may say how they are asked, too."""

    situation: list[Situation] = Field([], max_length=10_000)
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w-]*$", max_length=MAX_NAME)] | None = None
    prompts: list[Text] = Field([])
    paraphrases: list[Text] = Field([])
    """Prompts that say the same as that of the runs in other words; SHIPPED stands for those of the world."""
    model: list[Text] = Field([])
    lang: list[Text] = Field([])
    settings: dict[str, JsonValue] = Field({}, alias="set")
    times: int | None = Field(None, ge=1, le=MAX_TIMES)
    about: str = ""
    """What people have to know about the answers; the report begins with it."""


def read_probe_file(path: Path) -> ProbeFile:
    """Return the content of a file of situations; raise UsageError if it is wrong."""
    try:
        return ProbeFile.model_validate(read_toml(path))
    except ValidationError as error:
        raise UsageError(f"{path}: {_in_words(error)}; docs/prompts.md shows such a file") from error


def with_options(
    files: Sequence[ProbeFile], given: Mapping[str, Any], situations: Sequence[Situation]
) -> ProbeFile:
    """Return what is asked: as the first file says unless options are `given`, about all situations."""
    first = (files or [ProbeFile()])[0].model_dump(by_alias=True)
    told = {key: value for key, value in given.items() if value}
    every = [*(one for file in files for one in file.situation), *situations]
    try:
        return ProbeFile.model_validate({**first, **told, "situation": every})
    except ValidationError as error:
        raise UsageError(_in_words(error)) from error


def _in_words(error: ValidationError) -> str:
    return "; ".join(_problem(one["type"], one["msg"], one["loc"]) for one in error.errors())


def _problem(kind: str, message: str, place: tuple[int | str, ...]) -> str:
    """Return one thing that is wrong, with the situation, counted from 1, and the key."""
    in_situation = place[0] == "situation" and len(place) > 2  # noqa: PLR2004  its name, number and key
    where, key = (f"situation {int(place[1]) + 1}: ", place[2]) if in_situation else ("", place[0])
    if kind == "extra_forbidden":
        return f"{where}{unknown_key(str(key), Situation if in_situation else ProbeFile)}"
    return f"{where}{key}: {PROBLEMS.get(kind, message.removeprefix('Value error, '))}"


def add(path: Path, situation: Situation) -> int:
    """Add a situation at the end of a file, which need not exist; return how many it has then.

    Raise UsageError if the file is wrong, cannot be written, or has this situation.
    """
    file = read_probe_file(path) if check_path(path, "--to").exists() else ProbeFile()
    if any(one.place == situation.place for one in file.situation):
        raise UsageError(f"{path} already has this situation")
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in situation if value != ""]
    begin = "\n" if file.situation else ""
    try:
        with path.open("a", encoding="utf-8") as opened:
            opened.write("\n".join((f"{begin}[[situation]]", *lines, "")))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another file with --to") from error
    return len(file.situation) + 1


def find(store: Store, situation: Situation) -> Situation:
    """Return a situation with the id of its run; raise UsageError if there is no such situation."""
    run = with_turns(store, store.runs.find(situation.run))
    if situation.agent == OBSERVER:
        raise UsageError("a probe asks agents; an observer's ruling has no acts to count")
    asked = _actors(store, run, situation.turn)
    if situation.agent not in asked:
        agents = ", ".join(asked) or "none"
        raise UsageError(
            f"{situation.agent!r} does not act in turn {situation.turn} of run {run.label}; the "
            f"agents that act: {agents}"
        )
    return situation.model_copy(update={"run": run.id})


def with_run_name(store: Store, situation: Situation) -> Situation:
    """Return a situation with the name of its run, if it has one, which people remember."""
    run = store.runs.find(situation.run)
    return situation.model_copy(update={"run": run.label})


def pick(
    store: Store, run: Run, turns: Sequence[int] | None, agents: Collection[str], act: str | None
) -> Iterator[Situation]:
    """Yield the situations of a run: of these turns, or of all; of these agents, or of all that act.

    With an act, only those in which the recorded decision has it.
    """
    for turn in range(run.turns) if turns is None else turns:
        done = _acts(store, run, turn) if act else {}
        for agent in _actors(store, run, turn):
            if (not agents or agent in agents) and (not act or act in done.get(agent, ())):
                yield Situation(run=run.id, turn=turn, agent=agent)


def pick_from_runs(
    store: Store, names: Sequence[str], turns: Sequence[int] | None, agents: Collection[str], act: str | None
) -> list[Situation]:
    """Return the situations that options pick from runs; raise UsageError if they pick none."""
    runs = [with_turns(store, store.runs.find(name)) for name in names]
    picked = [situation for run in runs for situation in pick(store, run, turns, agents, act)]
    if runs and not picked:
        raise _nothing_picked(store, runs, turns, agents, act)
    return picked


def _nothing_picked(
    store: Store, runs: Sequence[Run], turns: Sequence[int] | None, agents: Collection[str], act: str | None
) -> UsageError:
    """Return the error for options that pick no situation: it names what they could have picked."""
    there = dict.fromkeys(one.agent for run in runs for one in pick(store, run, turns, (), None))
    if unknown := [agent for agent in agents if agent not in there]:
        return UsageError(
            f"--agents: {unknown[0]!r} does not act in these turns; the agents that do: "
            f"{', '.join(there) or 'none'}"
        )
    occurring = {
        act.split()[0]
        for run in runs
        for one in pick(store, run, turns, agents, None)
        for act in _acts(store, run, one.turn).get(one.agent, ())
    }
    return UsageError(
        f"--where: none of these decisions has the act {act!r}; the acts that they have: "
        f"{', '.join(sorted(occurring)) or 'none'}"
    )


def _acts(store: Store, run: Run, turn: int) -> dict[str, Collection[str]]:
    intents = intents_of(run, stored_turn(store, run, turn))
    return {agent: run.world.telling.acts(intent) for agent, intent in intents.items()}


def _actors(store: Store, run: Run, turn: int) -> tuple[str, ...]:
    """Return the agents that act in a turn, also in the next. Raise MissingError without it."""
    state = state_before(store, run, turn) if turn <= run.turns else None
    if state is None or run.world.over(state):
        raise missing_turn(run, turn)
    return run.world.actors(state)
