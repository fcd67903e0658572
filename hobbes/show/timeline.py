"""The turns of a run side by side: a graph to move through, and lanes of marks.

All of it is drawn here as small SVGs of one column per turn, which a page stretches to its width.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from hobbes.engine.measures import meaning_of
from hobbes.show.charts import Scale
from hobbes.show.palette import PALETTE, Looks
from hobbes.show.story import Story
from hobbes.store.home import Store
from hobbes.store.marked_turns import measures_by_turn
from hobbes.store.recorded_run import Run

MAX_COLUMNS = 250
"""How many columns are drawn at most; if there are more turns, several share one."""

MAX_POINTS = 100
"""After how many turns the scores are drawn at most; more points could not be told apart."""

HIGH = 10
"""How high a column is, in its own units; the highest step fills it."""

BOTTOM, LINES_HIGH = 98, 84
"""Where the lines of a graph begin, and how high they reach, of 100; above them stands the largest figure."""

LABEL_HIGH = 11
"""How high the label of a line is, of 100."""

DASHES = 4
"""How many kinds of lines there are; those of agents of one colour differ in it."""


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
    """The turns in which something happened, and how often in all."""

    name: str
    total: int
    svg: Markup


@dataclass(frozen=True, slots=True)
class Timeline:
    """The turns of a run as a page shows them."""

    graphs: tuple[Graph, ...]
    lanes: tuple[Lane, ...]
    ticks: tuple[tuple[str, str], ...]
    """Turns to be named below the graph, and how far to the right each lies, of 100."""


def timeline(store: Store, run: Run, looks: Looks, story: Story) -> Timeline | None:
    """Return the timeline of a run's turns, None if it has none yet."""
    if not run.turns:
        return None
    drawn = _Columns(run.turns)
    measured = measures_by_turn(store, run, run.world.measures.headline)
    graphs = [
        drawn.graph(name, meaning_of(run.world.measures.formulas[name]), {"": figures}, {})
        for name, figures in measured.items()
    ]
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    for turn in sample(run.turns):
        for agent, score in story.scores[turn].items():
            scores[agent][turn] = score
    if scores:
        graphs.insert(0, drawn.graph("scores", f"{run.world.measures.score} of each agent", scores, looks))
    failed = {(k, how): n for k in range(run.turns) for how, n in story.failed.get(k, {}).items()}
    lanes = [drawn.lane(name, of_turns, "deed") for name, of_turns in story.marks.landmarks.items()]
    lanes.append(drawn.lane("rejections", story.marks.rejections, "odd"))
    lanes.append(drawn.lane("failed calls", failed, "bad"))
    ticks = Scale(-0.5, run.turns - 0.5, 0, 100).ticks(whole=True)
    return Timeline(tuple(graphs), tuple(lanes), tuple(ticks))


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

    def lane(self, name: str, counts: Mapping[tuple[int, str], int], ink: str) -> Lane:
        """Return the lane of something, by how often it happened in a turn to an agent, or in what way."""
        there = Counter[int]()
        for (turn, _), n in sorted(counts.items()):
            there[turn] += n
        most = max(there.values(), default=1)
        highest: dict[int, int] = {}
        for turn, n in there.items():
            column = turn * self.columns // self.turns
            highest[column] = max(3, round(HIGH * n / most), highest.get(column, 0))
        columns = "".join(f"M{column} {HIGH}v{-high}h1v{high}z" for column, high in highest.items())
        drawn = self._svg(Markup('<path class="{}" d="{}"/>').format(ink, columns))
        return Lane(name, there.total(), drawn)

    def graph(self, name: str, meaning: str, lines: Mapping[str, Mapping[int, float]], looks: Looks) -> Graph:
        """Return a graph of one line per agent, or of one line without a name."""
        figures = [figure for line in lines.values() for figure in line.values()]
        least, most = min(0, *figures), max(figures)
        scale = Scale(least, most, BOTTOM, BOTTOM - LINES_HIGH)
        wanted = set(sample(self.turns, self.columns))
        drawn, ends = [], list[tuple[float, str]]()
        for agent, line in lines.items():
            look = looks.get(agent)
            points = [
                f"{round((turn + 0.5) * self.columns / self.turns, 2):g},{scale(figure)}"
                for turn, figure in line.items()
                if turn in wanted
            ]
            points *= 2 if len(points) == 1 else 1  # so that one turn is a dot
            ink = f"g{look.colour} h{look.place // len(PALETTE) % DASHES}" if look else "gx"
            line_of = Markup('<polyline class="{}" data-look="{}" points="{}"/>')
            drawn.append(line_of.format(ink, look.key if look else "", " ".join(points)))
            ends.append((float(scale([*line.values()][-1])), agent))
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
