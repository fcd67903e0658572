"""Play a run; read a home, its runs, their turns, and what each agent did in a turn, as objects."""

import asyncio
import operator
import os
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeAlias, TypeVar

from pydantic import ConfigDict, JsonValue, NonNegativeFloat, PositiveInt, ValidationError, validate_call

from hobbes.engine.names import did_you_mean
from hobbes.engine.telling import counted
from hobbes.engine.world import in_one_line
from hobbes.errors import DamagedError, MissingError, UsageError, needs_extra
from hobbes.files import check_path
from hobbes.nodes.journal import Prompt
from hobbes.show.trace import agent_card, full_turn
from hobbes.store.command_line import usual_home
from hobbes.store.history import state_before, stored_turn
from hobbes.store.home import Store, open_store, read_store
from hobbes.store.recorded_run import Run as StoredRun
from hobbes.store.run_tables import table_of
from hobbes.store.turns import LoggedTurn

if TYPE_CHECKING:
    import pandas as pd
    from langchain_core.runnables import RunnableConfig

    from hobbes.play.time_travel import RunGraph

Json: TypeAlias = dict[str, Any]
"""A JSON object."""

DTYPES = {str: "object", int: "Int64", float: "float64", bool: "boolean"}
"""The pandas type of each type of column; whole numbers stay whole where some are missing."""

STRICT = ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True, defer_build=True)
"""How arguments are checked: nothing is converted, and types are looked up when they are first needed."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _checked(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function that raises UsageError, with one line, for arguments that this one does not take."""
    taken = signature(function)

    @wraps(function)
    def take(**_: object) -> None:
        """Do nothing: pydantic looks at the arguments."""

    take.__annotations__ = {**function.__annotations__, "return": None}  # its type may not be imported yet
    check = validate_call(config=STRICT)(take)

    @wraps(function)
    def call(*args: _P.args, **options: _P.kwargs) -> _T:
        try:
            check(**taken.bind(*args, **options).arguments)
        except ValidationError as error:
            raise UsageError(f"{function.__name__}: {in_one_line(error)}") from None
        except TypeError as error:
            names = [name for name in taken.parameters if name != "self"]
            unknown = next((name for name in options if name not in names), "")
            there = did_you_mean(unknown, names, f"write them by name: {', '.join(names)}")
            raise UsageError(f"{function.__name__}: {error}{there}") from None
        return function(*args, **options)

    return call


def _folder(home: str | os.PathLike[str] | None) -> Path:
    """Return the folder of a home, by default the usual one. Raise UsageError if it is no valid path."""
    return usual_home() if home is None else check_path(Path(home), "home")


@_checked
def open(home: str | os.PathLike[str] | None = None) -> "Home":  # noqa: A001  as in gzip.open
    """Open a home folder for reading: by default `HOBBES_HOME`, or `.hobbes` in the working directory.

    Nothing is created or changed. Raise MissingError if there are no runs, HobbesError if
    they cannot be read.
    """
    return Home(_folder(home))


@_checked
def play(  # noqa: PLR0913  the options of `hobbes run`
    world: str,
    *,
    agents: PositiveInt | None = None,
    rounds: PositiveInt | None = None,
    seed: int = 1,
    model: str | None = None,
    prompts: str | None = None,
    lang: str = "en",
    observer: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    name: str | None = None,
    max_calls: PositiveInt | None = None,
    max_tokens: PositiveInt | None = None,
    max_usd: NonNegativeFloat | None = None,
    max_seconds: NonNegativeFloat | None = None,
    home: str | os.PathLike[str] | None = None,
) -> "Run":
    """Play a run to its end, as `hobbes run` does, and return it; one that waits for people is returned so.

    The options are those of the command, and `settings` are what `--set` sets. In a notebook, write `await
    hobbes.aplay(...)`. Raise UsageError if an option is wrong, HaltedRunError if the run halts: it is kept,
    and `hobbes resume` goes on.
    """
    from hobbes.loop import play_out  # noqa: PLC0415  slow to import

    with suppress(RuntimeError):  # no event loop is running
        asyncio.get_running_loop()
        raise UsageError("an event loop is running, as in a notebook: write `await hobbes.aplay(...)`")
    return play_out(
        aplay(
            world,
            agents=agents,
            rounds=rounds,
            seed=seed,
            model=model,
            prompts=prompts,
            lang=lang,
            observer=observer,
            settings=settings,
            name=name,
            max_calls=max_calls,
            max_tokens=max_tokens,
            max_usd=max_usd,
            max_seconds=max_seconds,
            home=home,
        )
    )


@_checked
async def aplay(  # noqa: PLR0913  the options of `hobbes run`
    world: str,
    *,
    agents: PositiveInt | None = None,
    rounds: PositiveInt | None = None,
    seed: int = 1,
    model: str | None = None,
    prompts: str | None = None,
    lang: str = "en",
    observer: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    name: str | None = None,
    max_calls: PositiveInt | None = None,
    max_tokens: PositiveInt | None = None,
    max_usd: NonNegativeFloat | None = None,
    max_seconds: NonNegativeFloat | None = None,
    home: str | os.PathLike[str] | None = None,
) -> "Run":
    """Play a run as `play` does, in an event loop that is running, as in a notebook."""
    from langsmith import tracing_context  # noqa: PLC0415  LangChain is slow to import

    from hobbes.nodes.caps import Caps  # noqa: PLC0415  so is all that plays
    from hobbes.play.playthrough import go_on  # noqa: PLC0415
    from hobbes.play.start import RunOptions, begin  # noqa: PLC0415

    own = {name: value for name, value in (("rounds", rounds), ("observer", observer)) if value is not None}
    if twice := own.keys() & (settings or {}).keys():
        raise UsageError(f"{min(twice)} is set twice, by itself and in settings; set it once")
    request = RunOptions(world, agents, seed, model, prompts, lang, {**(settings or {}), **own}, name)
    path = _folder(home)
    with tracing_context(enabled=False), open_store(path) as store:
        begun = begin(store, request, Caps(max_calls, max_tokens, max_usd, max_seconds))
        await go_on(store, begun, lambda _: None)
    return open(path).run(begun.id)


@_checked
@asynccontextmanager
async def graph(
    run: "Run | str" = "last", home: str | os.PathLike[str] | None = None
) -> "AsyncIterator[tuple[RunGraph, RunnableConfig]]":
    """Yield a run's graph and its config for LangGraph's own API: `graph.aget_state_history(config)`.

    The checkpoints are those of the run, and LangGraph adds new ones to them. Recorded answers serve where
    player and prompt are the same, and players are asked for others, under the caps of the run. The run
    database stays as it is. Raise MissingError if there is no such run, HobbesError if it is damaged, or a
    checkpoint that is read.
    """
    from hobbes.play.time_travel import run_graph  # noqa: PLC0415  LangGraph is slow to import
    from hobbes.store.policy_games import with_turns  # noqa: PLC0415  so are the players

    reference = run if isinstance(run, str) else run.id
    with closing(read_store(_folder(home))) as store:
        async with run_graph(store, with_turns(store, store.runs.find(reference))) as both:
            yield both


class Home:
    """The runs of a home folder. It is closed by `close`, by `with`, or once nothing of it is used any more.

    Use it in one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        """The folder."""
        self._opened = read_store(path)
        self._closing = weakref.finalize(self, self._opened.close)

    @property
    def _store(self) -> Store:
        """The run database. Raise UsageError if it was closed."""
        if not self._closing.alive:
            raise UsageError(f"the home {self.path} is closed; open it again with hobbes.open")
        return self._opened

    def close(self) -> None:
        """Close the run database."""
        self._closing()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def runs(self) -> "list[Run]":
        """Return all runs, the newest first. A run that is damaged is left out, with a warning."""
        items = []
        for row in self._store.runs.rows():
            try:
                items.append(Run(self, self._store.runs.of_row(row)))
            except DamagedError as error:
                warnings.warn(str(error), stacklevel=2)
        return items

    @_checked
    def run(self, reference: str = "last") -> "Run":
        """Return the run with this id, unique prefix of an id, or name; `last` is the newest run.

        Raise MissingError if there is none, HobbesError if several begin so.
        """
        return Run(self, self._store.runs.find(reference))

    def calls(self, runs: "Iterable[Run] | None" = None) -> "pd.DataFrame":
        """Return all calls of these runs, or of all, as a DataFrame.

        It has the columns of the table `calls` (docs/data.md, Exports). Raise ImportError if pandas is not
        installed.
        """
        with needs_extra("pandas", "DataFrames"):
            import pandas as pd  # noqa: PLC0415  slow to import
        frames = [run.table("calls") for run in (self.runs() if runs is None else runs)]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def __repr__(self) -> str:
        return f"<hobbes home {self.path}>"


class Run:
    """A run as it stood when it was looked up."""

    def __init__(self, home: Home, stored: StoredRun) -> None:
        self._home, self._found = home, stored
        self.id: str = stored.id
        self.name: str | None = stored.name
        self.world: str = stored.world.name
        self.settings: Json = stored.setting.config.model_dump(mode="json")
        """All settings, also those that have their default."""
        self.seed: int = stored.setting.seed
        self.agents: tuple[str, ...] = stored.setting.agents
        self.models: dict[str, str] = stored.models
        """The player of each agent, such as `policy:guided` or `openai:NAME`."""
        self.status: str = stored.status
        """`unfinished`, `waiting`, `halted` or `finished`."""
        self.digest: str = stored.digest

    @property
    def _store(self) -> Store:
        return self._home._store  # noqa: SLF001  they are one reader

    @cached_property
    def _stored(self) -> StoredRun:
        """The run with its turns; one that kept none is played again when something asks for them."""
        from hobbes.store.policy_games import with_turns  # noqa: PLC0415  slow to import

        return with_turns(self._store, self._found)

    @cached_property
    def result(self) -> Json:
        """What `hobbes run --json` prints: calls, outcomes, failures, tokens, dollars and more."""
        return self._store.figures.result(self._stored)

    @cached_property
    def scores(self) -> dict[str, int]:
        """Each agent's score after the last completed turn."""
        state = state_before(self._store, self._stored, self._stored.turns)
        return dict(self._stored.world.scores(state))

    @cached_property
    def measures(self) -> dict[str, float | None]:
        """The measures of the whole run; None where a measure is undefined. Empty before the end."""
        return self._store.figures.measures(self._stored.id)

    @cached_property
    def turns(self) -> "list[Turn]":
        """All completed turns."""
        return [Turn(self, turn) for turn in self._store.turns.of(self._stored)]

    def turn(self, number: int) -> "Turn":
        """Return a completed turn, counted from 0.

        Raise MissingError if there is none, TypeError if the number is not a whole number.
        """
        try:
            number = operator.index(number)
        except TypeError:
            raise TypeError(f"turn: pass a whole number, such as turn(3), not {number!r}") from None
        return Turn(self, stored_turn(self._store, self._stored, number))

    @_checked
    def events(self, type: str | None = None) -> list[Json]:  # noqa: A002  what events call it
        """Return the events of all turns, or those that are called so, such as `capture`, each with its turn.

        Raise MissingError if the world names its events, and none so.
        """
        telling = self._found.world.telling
        known = telling.event_names
        if type is not None and known and type not in known:
            there = did_you_mean(type, known, f"events: {', '.join(known)}")
            raise MissingError(f"{self.world} has no event {type!r}{there}")
        return [
            {"turn": turn.number, **event}
            for turn in self.turns
            for event in turn.events
            if type is None or telling.is_called(type, event)
        ]

    @property
    def notes(self) -> list[Json]:
        """What people noted: `run`, `turn`, `agent`, `event`, `tags`, `note`, `written` of each."""
        return [note.to_json() for note in self._store.notes.of(self.id)]

    @cached_property
    def calls(self) -> list[Json]:
        """All calls, also those that failed: the rows of the table `calls` (docs/data.md, Exports)."""
        played = self._stored
        with self._store.as_of_now():
            return list(table_of(self._store, played, "calls").rows)

    @_checked
    def table(self, name: str) -> "pd.DataFrame":
        """Return a table of the run as a DataFrame (docs/data.md, Exports). JSON columns hold values.

        Raise MissingError if there is no such table, ImportError if pandas is not installed.
        """
        with needs_extra("pandas", "DataFrames"):
            import pandas as pd  # noqa: PLC0415  slow to import
        played = self._stored
        with self._store.as_of_now():
            table = table_of(self._store, played, name)
            frame = pd.DataFrame(list(table.values()), columns=list(table.columns))
        return frame.astype({column: DTYPES[kind] for column, kind in table.columns.items()})

    def __repr__(self) -> str:
        return f"<hobbes run {self.id}: {self.world}, {counted(self._found.turns, 'turn')}, {self.status}>"


class Turn:
    """A completed turn."""

    def __init__(self, run: Run, turn: LoggedTurn) -> None:
        fields = turn.record.to_json()
        self.run = run
        self.number: int = turn.turn
        self.agents: tuple[str, ...] = tuple(turn.record.intents)
        """The agents that were asked."""
        self.state: Json = fields["state"]
        """The state of the world after the turn."""
        self.events: list[Json] = fields["events"]
        self.draws: list[Json] = fields["draws"]
        """The random draws."""
        self.digest: str = turn.digest

    @_checked
    def agent(self, name: str) -> "AgentTurn":
        """Return all that is known of one agent's turn, or of the observer's (`observer`).

        Raise MissingError if it was not asked in this turn.
        """
        store, run = self.run._store, self.run._stored  # noqa: SLF001  they are one reader
        card = agent_card(store, run, self.number, name, full_turn(store, run, self.number))
        return AgentTurn(
            run=self.run.id,
            turn=self.number,
            agent=name,
            view=card["view"],
            prompt=Prompt(card["system"], card["prompt"]),
            answer=card["answer"],
            reasoning=card["reasoning"],
            reasoning_source=card["reasoning_source"],
            outcome=card["outcome"],
            intent=card["rulings"] if "rulings" in card else card["intent"],
            drops=card["drops"],
            mends=card["mends"],
            events=card.get("events", []),
            memory_before=card.get("memory_before", {}),
            memory_after=card.get("memory_after", {}),
        )

    def __repr__(self) -> str:
        agents, events = counted(len(self.agents), "agent"), counted(len(self.events), "event")
        return f"<turn {self.number} of {self.run.id}: {agents}, {events}>"


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """What one agent saw, said and did in a turn, from the call that counts."""

    run: str
    turn: int
    agent: str
    view: Json
    """What the agent may know."""
    prompt: Prompt
    """The texts that were sent: `system` and `turn`. A scripted policy gets its view as `turn`."""
    answer: str
    """The raw answer."""
    reasoning: str
    """The reasoning that came with the answer, or else the one in it."""
    reasoning_source: str
    """Where it comes from: `trace`, `summary` or `answer`; empty if there is none (docs/data.md)."""
    outcome: str
    """How the call ended, such as `answered` or `timed-out`."""
    intent: Json
    """What was understood and allowed; the observer's rulings."""
    drops: list[Json]
    """The rejections: what was refused in the answer, each with its reason."""
    mends: list[Json]
    """The corrections: what was changed, and what was kept."""
    events: list[Json]
    """The events that name the agent."""
    memory_before: Json
    """What the agent remembered; empty for the observer."""
    memory_after: Json
    """What the agent remembers from now on; empty for the observer."""
