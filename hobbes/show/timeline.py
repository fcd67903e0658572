"""The turns of a run side by side: a graph to move through, lanes of marks, and a map of agents x turns.

All of it is drawn here as small SVGs of one column per turn, which a page stretches to its width. What a
column says is told by its height as well as by its colour.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from hobbes.engine.answer import DECISIONS, Outcome
from hobbes.engine.measuring import meaning_of
from hobbes.engine.world import AnyWorld, Landmark
from hobbes.show.palette import PALETTE, Looks
from hobbes.show.terminal import escape_invisible, shade_of
from hobbes.store.calls import Decision, by_turn
from hobbes.store.home import Store
from hobbes.store.marked_turns import Marks, TurnOfAgent, marks_in, measures_by_turn
from hobbes.store.recorded_run import Run

MAX_COLUMNS = 1000
"""How many columns are drawn at most; if there are more turns, several share one."""

MAX_POINTS = 100
"""After how many turns the scores are read at most; more points could not be told apart."""

MAX_ROWS = 100
"""How many agents have a row of their own in the map."""

HIGH = 10
"""How high a column is, in its own units; the highest step fills it."""

LINES_HIGH = 84
"""How high the lines of a graph reach, of 100; above them stands the greatest figure."""

RATINGS_TOLD = (1, 5, 10)
"""The ratings that the legend of their layer explains."""

LABEL_HIGH = 11
"""How high the label of a line is, of 100."""

DASHES = 4
"""How many kinds of lines there are; those of agents of one colour differ in it."""

OUTCOMES = {Outcome.ANSWERED: 2, Outcome.REPAIRED: 6}
"""How high the column of an outcome is; that of a failed call is full."""

Steps = Mapping[TurnOfAgent, tuple[int, str]]
"""How high the column of an agent's turn is, and the class of its colour."""


def sample(turns: int, most: int = MAX_POINTS) -> list[int]:
    """Return at most so many turns, evenly spread, with the first and the last."""
    points = min(turns, most)
    return [at * (turns - 1) // max(points - 1, 1) for at in range(points)]


@dataclass(frozen=True, slots=True)
class Graph:
    """One choice of the graph: its name and meaning, its least and greatest figure, and its lines as an SVG.

    `ends` are the labels at the ends of the lines: how far down each lies, and of which agents it is. That of
    a graph with one line is its `last` figure.
    """

    name: str
    meaning: str
    least: float
    most: float
    svg: Markup
    ends: tuple[tuple[str, tuple[str, ...]], ...]
    last: float | None


@dataclass(frozen=True, slots=True)
class Lane:
    """The turns in which something happened, and how often in all. The meaning says what is counted."""

    name: str
    meaning: str
    total: int
    turns: tuple[int, ...]
    svg: Markup


@dataclass(frozen=True, slots=True)
class Layer:
    """One choice of the map: its rows by agent, and what the heights and colours mean.

    `total` counts what a reader looks for in it: it is 0 for a layer of figures.
    """

    name: str
    rows: Mapping[str, Markup]
    legend: tuple[tuple[Markup, str], ...]
    any: bool
    total: int


@dataclass(frozen=True, slots=True)
class Map:
    """Agents x turns. `agents` have a row in each layer; `more` have none."""

    turns: int
    layers: tuple[Layer, ...]
    agents: tuple[str, ...]
    more: int

    @property
    def busiest(self) -> Layer | None:
        """The layer in which most happens, which is shown first."""
        return max(self.layers, key=lambda layer: layer.total, default=None)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The turns of a run as a page shows them."""

    turns: int
    graphs: tuple[Graph, ...]
    lanes: tuple[Lane, ...]
    ticks: tuple[tuple[int, str], ...]
    """Turns to be named below the graph, and how far to the right each lies."""

    @property
    def first_choice(self) -> str:
        """The lane whose marks are jumped to first: the last of those that have any, the world's rarest."""
        return next((lane.name for lane in reversed(self.lanes) if lane.turns), "")


def marks_drawn(store: Store, run: Run) -> Marks:
    """Return what the timeline and the map of a run show of its turns, with the scores after some of them.

    Raise DamagedError at a damaged turn.
    """
    return marks_in(store, run, scored={*sample(run.turns)})


def timeline(store: Store, run: Run, looks: Looks, marks: Marks) -> Timeline | None:
    """Return the timeline of a run's turns, None if it has none yet.

    `marks` are those of `marks_drawn`.
    """
    if not run.turns:
        return None
    drawn = _Columns(run.turns)
    measured = measures_by_turn(store, run, run.world.headline)
    graphs = [
        drawn.graph(name, meaning_of(run.world.formulas[name]), {"": figures}, {})
        for name, figures in measured.items()
    ]
    if marks.scores:
        graphs.append(
            drawn.graph("scores", f"{run.world.score} of each agent", _by_agent(marks.scores), looks)
        )
    failed = by_turn(one for one in store.calls.decisions(run.id) if one.turn < run.turns)[1]
    lanes = [
        *_noted_lanes(store, run, drawn),
        drawn.lane("failed calls", failed, "bad"),
        drawn.lane("rejections", _by_turn(marks.rejections), "odd"),
        *(
            drawn.lane(mark.name, _by_turn(marks.landmarks[mark.name]), "deed", _counted_of(run.world, mark))
            for mark in run.world.landmarks
        ),
    ]
    return Timeline(
        run.turns,
        tuple(graphs),
        tuple(lanes),
        tuple((turn, f"{100 * (turn + 0.5) / run.turns:.2f}%") for turn in _ticks(run.turns)),
    )


def map_of(store: Store, run: Run, marks: Marks) -> Map | None:
    """Return the map of a run's agents x turns, None if it has no turns.

    `marks` are those of `marks_drawn`.
    """
    if not run.turns:
        return None
    drawn = _Columns(run.turns)
    decided = [decision for decision in store.calls.decisions(run.id) if decision.turn < run.turns]
    agents = list(dict.fromkeys([*run.setting.agents, *(decision.agent for decision in decided)]))
    shown = agents[:MAX_ROWS]
    layers = [
        drawn.layer(
            "outcome",
            {(d.turn, d.agent): _outcome(d) for d in decided},
            shown,
            _OUTCOME_LEGEND,
            sum(d.failed for d in decided),
        ),
        drawn.layer(
            "rejections",
            _steps_of(marks.rejections),
            shown,
            _legend_of_counts("odd"),
            marks.rejections.total(),
        ),
        *(
            drawn.layer(name, _steps_of(means), shown, _legend_of_counts("deed"), means.total())
            for name, means in marks.landmarks.items()
        ),
        *(
            drawn.layer(
                f"rated: {kind.removesuffix('_report').replace('_', ' ')}",
                {place: (round(mean), f"s{shade_of(kind, mean)}") for place, mean in means.items()},
                shown,
                tuple((_swatch(n, f"s{shade_of(kind, n)}"), f"{n} of 10 on average") for n in RATINGS_TOLD),
            )
            for kind, means in marks.ratings.items()
        ),
    ]
    if marks.scores:
        every = _spread(marks.scores, run.turns)
        legend = ((_swatch(HIGH, "deed"), "the highest score of all"),)
        layers.append(drawn.layer("score", every, shown, legend))
    there = tuple(one for one in layers if one.any)
    return Map(run.turns, there, tuple(shown), len(agents) - len(shown))


def _counted_of(world: AnyWorld, mark: Landmark) -> str:
    """Return what is counted as a landmark: an event that has a cause counts as its cause alone."""
    causes = [cause for cause, effect in world.causes.items() if effect == mark.event]
    return f"{mark.name}, without those that come from a {' or a '.join(causes)}" if causes else mark.name


def _noted_lanes(store: Store, run: Run, drawn: "_Columns") -> Iterator[Lane]:
    """Yield a lane for all that people noted of turns, if there is any, and one for each of their tags."""
    notes = [note for note in store.notes.of(run.id) if note.turn is not None and note.turn < run.turns]
    by_tag = {"notes": notes} if notes else {}
    for tag in sorted({tag for note in notes for tag in note.tags}):
        by_tag[f"tag {tag}"] = [note for note in notes if tag in note.tags]
    for name, tagged in by_tag.items():
        yield drawn.lane(name, Counter(note.turn for note in tagged if note.turn is not None), "odd")


def _outcome(decision: Decision) -> tuple[int, str]:
    """Return the height and the colour of an outcome."""
    high = OUTCOMES.get(Outcome(decision.outcome), HIGH)
    return high, "bad" if decision.outcome not in DECISIONS else "odd" if high > 2 else "good"  # noqa: PLR2004


def _steps_of(counts: Mapping[TurnOfAgent, int]) -> Steps:
    """Return the columns of counts: the fuller the more, from 4 on full."""
    return {place: (_step(n), "") for place, n in counts.items() if n}


def _step(n: int) -> int:
    return min(HIGH, 1 + 3 * n)


def _by_turn(counts: Mapping[TurnOfAgent, int]) -> dict[int, int]:
    """Return the sums over all agents."""
    sums: dict[int, int] = defaultdict(int)
    for (turn, _), n in counts.items():
        sums[turn] += n
    return sums


def _by_agent(values: Mapping[TurnOfAgent, float]) -> dict[str, dict[int, float]]:
    """Return each agent's values by turn."""
    by_agent: dict[str, dict[int, float]] = defaultdict(dict)
    for (turn, agent), value in values.items():
        by_agent[agent][turn] = value
    return by_agent


def _spread(values: Mapping[TurnOfAgent, int], turns: int) -> Steps:
    """Return a column for each turn from values of some turns, each of which lasts until the next."""
    most = max(*values.values(), 1)
    steps: dict[TurnOfAgent, tuple[int, str]] = {}
    for agent, by in _by_agent(values).items():
        known = sorted(by)
        for here, following in zip(known, [*known[1:], turns], strict=True):
            high = round(HIGH * max(by[here], 0) / most)
            for turn in range(here, following) if high else ():
                steps[turn, agent] = high, ""
    return steps


def _ticks(turns: int) -> range:
    """Return about five round turns."""
    step = next(
        step for k in range(9) for step in (10**k, 2 * 10**k, 5 * 10**k) if turns <= 6 * step
    )  # a run has fewer than 10**9 turns
    return range(0, turns, step)


def _swatch(high: int, ink: str) -> Markup:
    """Return a column as it stands in a legend."""
    return Markup('<svg viewBox="0 0 10 10" class="swatch" aria-hidden="true">{}</svg>').format(
        _path([(0, 10, high)], ink)
    )


def _path(bars: Iterable[tuple[int, int, int]], ink: str) -> Markup:
    """Return bars that stand on the ground: where each begins, how wide and how high it is."""
    drawn = "".join(f"M{at} {HIGH}v{-high}h{wide}v{high}z" for at, wide, high in bars)
    return Markup('<path class="{}" d="{}"/>').format(ink, drawn)


_OUTCOME_LEGEND = (
    (_swatch(OUTCOMES[Outcome.ANSWERED], "good"), "answered"),
    (_swatch(OUTCOMES[Outcome.REPAIRED], "odd"), "repaired"),
    (_swatch(HIGH, "bad"), "failed, default action"),
)


def _legend_of_counts(ink: str) -> tuple[tuple[Markup, str], ...]:
    words = ("once", "twice", "three times or more")
    return tuple((_swatch(_step(n), ink), often) for n, often in enumerate(words, start=1))


class _Columns:
    """Draws by turns, in as many columns as there are turns, or fewer."""

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.columns = min(turns, MAX_COLUMNS)

    def _svg(self, inside: Markup, high: int = HIGH) -> Markup:
        size = f"0 0 {self.columns} {high}"
        return Markup('<svg viewBox="{}" preserveAspectRatio="none" aria-hidden="true">{}</svg>').format(
            size, inside
        )

    def bars(self, steps: Mapping[int, tuple[int, str]], ink: str) -> Markup:
        """Return columns by turn, each with its height and the class of its colour, or else `ink`."""
        highest: dict[int, tuple[int, str]] = {}
        for turn, step in steps.items():
            column = turn * self.columns // self.turns
            if column not in highest or highest[column] < step:
                highest[column] = step
        by_ink: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        began, last, before = 0, -2, (0, "")
        for column in sorted(highest):
            high, own = step = highest[column]
            if column == last + 1 and step == before:  # goes on with the bar before it
                by_ink[own or ink][-1] = began, column + 1 - began, high
            else:
                began = column
                by_ink[own or ink].append((column, 1, high))
            last, before = column, step
        paths = Markup().join(_path(runs, one) for one, runs in sorted(by_ink.items()))
        return self._svg(paths)

    def lane(self, name: str, counts: Mapping[int, int], ink: str, meaning: str = "") -> Lane:
        """Return the lane of something that happened so often in each turn; its name may say all."""
        there = {turn: n for turn, n in sorted(counts.items()) if n}
        most = max(there.values(), default=1)
        steps = {turn: (max(3, round(HIGH * n / most)), "") for turn, n in there.items()}
        return Lane(name, meaning or name, sum(there.values()), tuple(there), self.bars(steps, ink))

    def layer(
        self,
        name: str,
        steps: Steps,
        agents: Iterable[str],
        legend: tuple[tuple[Markup, str], ...],
        total: int = 0,
    ) -> Layer:
        """Return a layer of the map of agents x turns."""
        ink = {"rejections": "odd"}.get(name, "deed")
        rows: dict[str, dict[int, tuple[int, str]]] = {agent: {} for agent in agents}
        for (turn, agent), step in steps.items():
            if agent in rows:
                rows[agent][turn] = step
        drawn = {agent: self.bars(row, ink) for agent, row in rows.items()}
        return Layer(name, drawn, legend, any(rows.values()), total)

    def graph(self, name: str, meaning: str, lines: Mapping[str, Mapping[int, float]], looks: Looks) -> Graph:
        """Return a graph of one line per agent, or of one line without a name."""
        figures = [figure for line in lines.values() for figure in line.values()]
        least, most = min(0.0, *figures), max(figures)
        scale = LINES_HIGH / ((most - least) or 1)
        wanted = set(sample(self.turns, self.columns))
        drawn, ends = [], list[tuple[float, str]]()
        for agent, line in lines.items():
            look = looks.get(agent)
            points = [
                f"{(turn + 0.5) * self.columns / self.turns:.2f},{98 - (figure - least) * scale:.1f}"
                for turn, figure in line.items()
                if turn in wanted
            ]
            points *= 2 if len(points) == 1 else 1  # so that one turn is a dot
            ink = f"g{look.colour} h{look.place // len(PALETTE) % DASHES}" if look else "gx"
            line_of = Markup('<polyline class="{}" data-of="{}" points="{}"/>')
            drawn.append(line_of.format(ink, escape_invisible(agent), " ".join(points)))
            ends.append((98 - ([*line.values()][-1] - least) * scale, agent))
        return Graph(
            name,
            meaning,
            round(least, 2),
            round(most, 2),
            self._svg(Markup().join(drawn), 100),
            tuple((f"{at:.1f}%", agents) for at, agents in _labels(ends)),
            None if looks else round(figures[-1], 2),
        )


def _labels(ends: Iterable[tuple[float, str]]) -> list[tuple[float, tuple[str, ...]]]:
    """Return where the labels of lines stand; lines that end at about the same height share one."""
    labels: list[tuple[float, tuple[str, ...]]] = []
    for at, agent in sorted(ends):
        if labels and at - labels[-1][0] < LABEL_HIGH:
            labels[-1] = labels[-1][0], (*labels[-1][1], agent)
        else:
            labels.append((at, (agent,)))
    return labels
