"""The facet `Measures` of a world: formulas that are folded turn by turn, their scopes, safe division.

A history is read once, one turn after another, and no turn is kept. So the measures of a long run take no
more memory than those of a short one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from hobbes.engine.record import Draw, Event

S = TypeVar("S")
I = TypeVar("I")  # noqa: E741  a world's intent, next to its state S


class PlayedTurn(NamedTuple, Generic[S, I]):
    """One turn of a run's history, in the form that measures read."""

    before: S
    intents: Mapping[str, I]
    after: S
    events: tuple[Event, ...]
    draws: tuple[Draw, ...]


P = TypeVar("P", bound=PlayedTurn[Any, Any])
T = TypeVar("T")
Turn_co = TypeVar("Turn_co", covariant=True)


class History(Sized, Iterable[Turn_co], Protocol[Turn_co]):
    """The turns of a run, in order. They may be read one by one from where they are stored.

    What reads them reads them once; only their number must be known before.
    """


class Measure(NamedTuple):
    """One figure about a run; its value is None where it is undefined.

    `scope` is `run`, `first-half`, `second-half` or `turn/N`.
    """

    name: str
    scope: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Rated:
    """A rating that an agent gave another one, and the truth about the other one when it was given."""

    kind: str
    rating: int
    truth: float


@dataclass(frozen=True, slots=True)
class AgentTurns(Generic[S, I]):
    """A plain table with one row for each agent and turn, for people who analyse (docs/data.md).

    `columns` are those after `run`, `turn` and `agent`, each with its type. `rows` returns the values of
    these columns for each agent that acted in a turn.
    """

    columns: Mapping[str, Literal["text", "integer"]]
    rows: Callable[[PlayedTurn[S, I]], Mapping[str, Mapping[str, str | int]]]


V = TypeVar("V")
Seen_contra = TypeVar("Seen_contra", contravariant=True)


class Fold(Protocol[Seen_contra]):
    """What is kept of a stretch of turns. It must not grow with their number."""

    def add(self, seen: Seen_contra, /) -> None:
        """Add what the next turn tells."""


F = TypeVar("F", bound=Fold[Any])


class Formula(Generic[P, V]):
    """The formula of a measure. Called with a stretch of turns, it returns their figure.

    It is made by decorating a function with `share`, `total`, `at_end` or `keeping`, and has
    the name and the docstring of that function.

    `see`      what one turn tells
    `fold`     makes a new fold, to which that is added turn by turn
    `figure`   from the fold to the figure
    """

    def __init__(
        self,
        see: Callable[[P], Any],
        fold: Callable[[], Any],
        figure: Callable[[Any], V],
        named: Callable[..., object],
    ) -> None:
        self.see = see
        self.fold = fold
        self.figure = figure
        update_wrapper(self, named)

    def __call__(self, stretch: Iterable[P]) -> V:
        """Return the figure of a stretch of turns."""
        fold = self.fold()
        for played in stretch:
            fold.add(self.see(played))
        return self.figure(fold)


Formulas: TypeAlias = Mapping[str, Formula[P, Any]]
"""Formulas by the names of their measures. The formula of `NAME/AGENT` returns each agent's figure."""


class _Sums:
    part: float = 0
    whole: float = 0

    def add(self, seen: tuple[float, float]) -> None:
        part, whole = seen
        self.part += part
        self.whole += whole


class _Total:
    sum: float = 0

    def add(self, seen: float) -> None:
        self.sum += seen


class _Last:
    seen: Any

    def add(self, seen: Any) -> None:  # noqa: ANN401  whatever the formula sees
        self.seen = seen


def share(see: Callable[[P], tuple[float, float]]) -> Formula[P, float | None]:
    """Return the formula of a share: the function returns the part and the whole of one turn.

    The figure is the sum of the parts / the sum of the wholes, None if that is 0.
    """
    return Formula(see, _Sums, lambda sums: ratio(sums.part, sums.whole), see)


def total(see: Callable[[P], float]) -> Formula[P, float]:
    """Return the formula of a sum: the function returns the number of one turn."""
    return Formula(see, _Total, lambda total: total.sum, see)


def at_end(see: Callable[[P], V]) -> Formula[P, V]:
    """Return the formula of a figure at the end of a stretch: the function reads its last turn."""
    return Formula(see, _Last, lambda last: last.seen, see)


def keeping(fold: Callable[[], F]) -> Callable[[Callable[[F], V]], Formula[Any, V]]:
    """Return a decorator: the function is given a fold to which all turns have been added."""
    return lambda figure: Formula(_all_of_it, fold, figure, figure)


def _all_of_it(played: T) -> T:
    return played


class _Scope(Generic[P]):
    """The folds of the formulas of one scope. Formulas that keep the same share a fold."""

    def __init__(self, formulas: Formulas[P]) -> None:
        self._folds = {(one.see, one.fold): one.fold() for one in formulas.values()}

    def add(self, seen: Mapping[Callable[[P], Any], Any]) -> None:
        """Add what the next turn tells, by the functions that see it."""
        for (see, _), fold in self._folds.items():
            fold.add(seen[see])

    def measures(self, scope: str, formulas: Formulas[P]) -> Iterator[Measure]:
        """Yield the measures of the turns so far."""
        for name, formula in formulas.items():
            figure = formula.figure(self._folds[formula.see, formula.fold])
            if name.endswith("/AGENT"):
                prefix = name.removesuffix("AGENT")
                for agent, value in figure.items():
                    yield Measure(f"{prefix}{agent}", scope, value)
            else:
                yield Measure(name, scope, figure)


@dataclass(frozen=True, slots=True)
class Measures(Generic[S, I]):
    """The figures about a run of a world. What measures nothing of its own is measured by its scores.

    each             the formulas of the measures of single turns. In a name, AGENT stands for that of any
                     agent. The docstring of a formula says what is measured
    parts            those of the run and, from two turns on, of its halves
    so_far           the same, but a half is counted together with all turns before it
    run              those of the run alone
    version          a number that grows whenever the same turns could give other measures, or other rows of
                     `agent_turns`. Both are worked out together, so they share it: stored figures of another
                     version are not compared, but made anew
    score            what a score counts, in a word
    units            what a measure counts, such as `gold`, where it is no share and no index
    headline         the measures that an experiment compares unless it names others
    cooperation      measures of single turns that say how much agents cooperate, each with what they do
    shares           measures of single turns that say which shares of what agents do are what
    inequality       measures of single turns that say how unequally something is held
    durations        the measures that count the turns until something happens; they are undefined in a run in
                     which it does not happen. Each with a measure that is undefined if it could not happen
    ratings(played)  each rating of another agent in a turn whose truth the world knows
    winners(state)   the agents that have won, none if nobody has; None if no rule names any
    truths           what the ratings of each kind are held against, in words; empty if it knows none
    arithmetic(played)
                     each agent's figures after a turn, written as sums to check by hand
    agent_turns      the plain table of what each agent did and has, turn by turn
    """

    each: Formulas[PlayedTurn[S, I]] = field(default_factory=dict)
    parts: Formulas[PlayedTurn[S, I]] = field(default_factory=dict)
    so_far: Formulas[PlayedTurn[S, I]] = field(default_factory=dict)
    run: Formulas[PlayedTurn[S, I]] = field(default_factory=dict)
    version: int = 1
    score: str = "score"
    units: Mapping[str, str] = field(default_factory=dict)
    headline: tuple[str, ...] = ()
    cooperation: Mapping[str, str] = field(default_factory=dict)
    shares: tuple[str, ...] = ()
    inequality: tuple[str, ...] = ()
    durations: Mapping[str, str] = field(default_factory=dict)
    ratings: Callable[[PlayedTurn[S, I]], Iterable[Rated]] = lambda _: ()
    winners: Callable[[S], Collection[str]] | None = None
    truths: Mapping[str, str] = field(default_factory=dict)
    arithmetic: Callable[[PlayedTurn[S, I]], Mapping[str, Mapping[str, str]]] = lambda _: {}
    agent_turns: AgentTurns[S, I] | None = None

    @property
    def of_run(self) -> Formulas[PlayedTurn[S, I]]:
        """The formulas of the whole run."""
        return {**self.parts, **self.so_far, **self.run}

    @property
    def formulas(self) -> Formulas[PlayedTurn[S, I]]:
        """The formula of each measure."""
        return {**self.of_run, **self.each}


AnyMeasures: TypeAlias = Measures[Any, Any]


class AgentTurn(NamedTuple):
    """A row of the plain table of a world: what an agent did in a turn, and what it has after it."""

    turn: int
    agent: str
    values: Mapping[str, str | int]


class WorkedOut(NamedTuple):
    """What is worked out from the turns of a run by the formulas of one version: `Measures.version`."""

    measures: list[Measure]
    agent_turns: list[AgentTurn]


class Folding(Generic[P]):
    """Works out the figures of a run, turn by turn.

    `turns` is their number, which the halves need; if it is not known (None), all turns are kept to the end.
    """

    def __init__(self, measures: AnyMeasures, turns: int | None) -> None:
        self._measures = measures
        self._of_run = measures.of_run
        self._sees = {formula.see for formula in (*measures.each.values(), *self._of_run.values())}
        self._whole, self._part = _Scope(self._of_run), _Scope(measures.parts)
        self._half = None if turns is None else turns // 2
        self._kept: list[P] = []
        self._added = 0
        self._figures: list[Measure] = []
        self._agent_turns: list[AgentTurn] = []

    def add(self, played: P, /) -> None:
        """Add the next turn."""
        if self._half is None:
            self._kept.append(played)
            return
        if 0 < self._half == self._added:
            self._end_half("first-half")
            self._part = _Scope(self._measures.parts)
        self._added += 1
        seen = {see: see(played) for see in self._sees}
        one = _Scope(self._measures.each)
        for scope in (self._whole, self._part, one):
            scope.add(seen)
        self._figures += one.measures(f"turn/{played.before.turn}", self._measures.each)
        self._agent_turns += agent_turns_of(self._measures, played)

    def end(self) -> WorkedOut:
        """Return all figures of the run, which has ended."""
        if self._half is None:
            return work_out(self._measures, self._kept)
        if self._half:
            self._end_half("second-half")
        if self._added:
            self._figures += self._whole.measures("run", self._of_run)
        return WorkedOut(self._figures, self._agent_turns)

    def _end_half(self, half: str) -> None:
        self._figures += self._part.measures(half, self._measures.parts)
        self._figures += self._whole.measures(half, self._measures.so_far)


def work_out(measures: AnyMeasures, history: History[Any]) -> WorkedOut:
    """Return the measures of a run and the rows of its plain table, and read each of its turns once."""
    folding = Folding[Any](measures, len(history))
    for played in history:
        folding.add(played)
    return folding.end()


def agent_turns_of(measures: AnyMeasures, played: PlayedTurn[Any, Any]) -> list[AgentTurn]:
    """Return the rows of a turn in the plain table of a world, none if it has no such table."""
    rows = measures.agent_turns.rows(played) if measures.agent_turns else {}
    return [AgentTurn(played.before.turn, agent, values) for agent, values in rows.items()]


def by_scores(scores: Callable[[S], Mapping[str, int]]) -> Formulas[PlayedTurn[S, Any]]:
    """Return the formulas of a world that measures nothing else: the score of each agent, and their sum."""

    @at_end
    def score(played: PlayedTurn[S, Any]) -> float:
        """The sum of all scores at the end."""
        return float(sum(scores(played.after).values()))

    @at_end
    def score_of(played: PlayedTurn[S, Any]) -> Mapping[str, float]:
        """The score of each agent at the end."""
        return {agent: float(score) for agent, score in scores(played.after).items()}

    return {"score": score, "score/AGENT": score_of}


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole, or None if the whole is 0: undefined, there was nothing to measure."""
    return part / whole if whole else None


def gini(values: Iterable[float]) -> float | None:
    """Return the Gini coefficient: the sum of |a - b| over all pairs / (number x total). 0 means equal."""
    ordered = sorted(values)
    weighted = sum((2 * k - len(ordered) - 1) * value for k, value in enumerate(ordered, start=1))
    return ratio(weighted, len(ordered) * sum(ordered))


def meaning_of(function: Callable[..., object]) -> str:
    """Return the first paragraph of a docstring in one line, without its source."""
    first = (function.__doc__ or "").partition("\n\n")[0]
    return " ".join(first.partition("Source:")[0].split())
