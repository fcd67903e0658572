"""The list of runs, for `hobbes runs` and the first page: what differs between runs comes first.

The runs of an experiment share one row, and each fork follows its parent.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.measure import Measurement
from rich.text import Text

from hobbes.engine.record import canonical
from hobbes.engine.telling import counted, quoted
from hobbes.errors import UsageError
from hobbes.nodes.journal import PlayerKind, no_prompts
from hobbes.show.palette import PALETTE, Looks, looks_of
from hobbes.show.terminal import GAP, OUT, cost_text, escape_invisible, percent, plain, table
from hobbes.store.figures import failures_among
from hobbes.store.home import Store
from hobbes.store.run_rows import (
    CONDITION,
    COSTS,
    FACTS,
    SIGN,
    Asked,
    Folded,
    Row,
    folded,
    listed,
    names,
    tree,
)
from hobbes.worlds import WORLDS

COLUMNS = (
    *("run", "world", "players", "settings", "prompts", "status", "turns", "ending", "scores", "failed"),
    *("rejected", "tags", "forked", "id", "digest"),
)
"""The columns of the list in a terminal. One in which nothing stands is left out."""

SHOWN = {*COLUMNS, "name", "started"}
"""What gets no column of its own if somebody asks for it. An id, and a row of the page, tell `started`."""

MAX_ROWS = 100
"""How many rows the page shows at a time."""

NAMED = ("world", "model", "experiment", "tag", "sort")
"""The fields of `Asked` that are options with one value, and fields of the page."""

BETWEEN = re.compile(rf",\s*(?=[\w/-]+\s*(?:{SIGN}))")
"""What stands between two conditions on the page."""

MAX_MARKS = 10
"""How many agents of a player are shown by their marks."""

MAX_SETTINGS = 6
"""How many settings of a run are shown in a terminal."""

MAX_VALUES = 8
"""How many values are named of what no run has as it was asked for."""

MAX_VALUE_LENGTH = 24
"""How many characters of a changed setting are shown."""

BLOCKS = "▁▂▃▄▅▆▇█"
"""The bars of scores in a terminal, from the lowest to the highest."""

BAR, STEP = 20, 6
"""Pixels on a page: how high the highest bar is, and how far each is from the next."""


@dataclass(frozen=True, slots=True)
class Players:
    """The agents of a run that have one player."""

    spec: str
    agents: Sequence[str]

    @property
    def text(self) -> str:
        """The player and the number of its agents; a policy goes without its kind."""
        spec = self.spec.removeprefix(f"{PlayerKind.POLICY}:")
        return f"{spec}*{len(self.agents)}" if len(self.agents) > 1 else spec

    @property
    def shown(self) -> Sequence[str]:
        """The agents that are shown by their marks."""
        return self.agents[:MAX_MARKS]


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the list: a run, or the runs of an experiment."""

    name: str
    """The name of the run, or its id without one; or the name of the experiment."""
    run: Row | None
    """None for an experiment."""
    depth: int
    """How many forks lead to it from a run of the list."""
    world: str
    players: Sequence[Players]
    looks: Looks
    settings: Sequence[str]
    """The settings that differ from the defaults. The rounds are told with the turns."""
    prompts: str
    status: str
    """Empty for a run that has finished and is not tainted, as for most."""
    turns: str
    ending: str
    """How the game ended, if that was before its last round, or if somebody asks for it."""
    scores: Mapping[str, int]
    score: str
    """The highest score; of an experiment, the lowest and the highest of all its runs."""
    failures: Mapping[str, Any]
    rejected: str
    """How many parts of its answers were rejected; empty if none was, or if it is not known."""
    asked: Mapping[str, str]
    """What the list is asked for by name, and has no column for."""
    forked: str
    tags: Sequence[str]
    """A star for each that is noted, and the tags of all notes."""
    runs: int = 1

    @property
    def failed(self) -> str:
        """The share of failed calls; empty if none has failed."""
        return percent(self.failures["share"]) if self.failures["total"] else ""

    @property
    def high(self) -> dict[str, float]:
        """How high the bar of each agent's score is, from 0 to 1."""
        least = min([0, *self.scores.values()])
        reach = max([0, *self.scores.values()]) - least
        return {agent: (score - least) / (reach or 1) for agent, score in self.scores.items()}

    @property
    def bars(self) -> Markup:
        """The scores as an SVG, a bar in each agent's colour, and in words."""
        by_colour: dict[int, str] = {}
        for place, (agent, high) in enumerate(self.high.items()):
            up = max(1, round(BAR * high))
            colour = self.looks[agent].colour if agent in self.looks else len(PALETTE) - 1
            by_colour[colour] = by_colour.get(colour, "") + f"M{place * STEP} {BAR}v{-up}h{STEP - 1}v{up}z"
        paths = Markup().join(
            Markup('<path class="i{}" d="{}"/>').format(*one) for one in sorted(by_colour.items())
        )
        words = escape_invisible(", ".join(f"{agent} {score}" for agent, score in self.scores.items()))
        wide = len(self.scores) * STEP
        return Markup(
            '<svg class="bars" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img"><title>{2}</title>'
            "{3}</svg>"
        ).format(wide, BAR, words, paths)


def shown(store: Store, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the first page shows; `at` is its address, which may have the fields of `Asked`, `first`.

    What is wrong with these is shown beside them.
    """
    conditions = str(at.get("where", ""))
    asked = Asked(
        **{name: str(at.get(name, "")).strip() for name in NAMED},
        where=[one for one in BETWEEN.split(conditions) if one.strip()],
    )
    first = number_in(at, "first")
    try:
        runs, problem = listed(store, asked), ""
    except UsageError as error:
        runs, problem = [], str(error).replace("--", "")
    rows = list(tree(folded(runs, asked)))
    here = {name: getattr(asked, name) for name in NAMED} | {"where": conditions}
    return {
        "asked": asked,
        "here": {name: value for name, value in here.items() if value},
        "where": conditions,
        "is_filtered": asked != Asked(where=[]),
        "problem": problem,
        "nothing_like": none_like(store, asked) if not rows and not problem else "",
        "worlds": [*WORLDS],
        "tags": [*store.notes.tags()],
        "facts": [*FACTS, *COSTS],
        "choices": [name for name in names() if "/" not in name],
        "names": {run["id"]: run["name"] or run["id"] for run in runs},
        "entries": (there := list(entries(rows[first : first + MAX_ROWS]))),
        "columns": [*there[0].asked] if there else [],
        "first": first,
        "most": MAX_ROWS,
        "next": first + MAX_ROWS if first + MAX_ROWS < len(rows) else None,
        "total": len(rows),
        "command": store.command("runs", *_options(asked)),
    }


def none_like(store: Store, asked: Asked) -> str:
    """Return that no run is as it is asked for, and the values that what the conditions name does have."""
    told = ["no run is like that"]
    for name in dict.fromkeys(read[1] for one in asked.where if (read := CONDITION.fullmatch(one))):
        found = [run["asked"][name] for run in listed(store, replace(asked, where=(), sort=name))]
        there = [value for value in found if value is not None]
        values = [*dict.fromkeys(_named(name, one) for one in there)]
        more = len(values) - MAX_VALUES
        if more > 0 and not any(isinstance(one, str) for one in there):
            told.append(f"values of {name}: {values[0]} to {values[-1]}")
        elif values:
            left = [f"{more} more"] if more > 0 else []
            told.append(f"values of {name}: {', '.join([*values[:MAX_VALUES], *left])}")
        else:
            told.append(f"no run has {name}")
    return "; ".join(told)


def _named(name: str, value: Any) -> str:  # noqa: ANN401  any JSON
    """Return a value among others: a text in full, in quotation marks if it has several words."""
    if not isinstance(value, str):
        return _shown(name, value)
    return quoted(value) if " " in value else value


def _options(asked: Asked) -> Iterator[str]:
    """Yield the options of the command that lists the same."""
    for name in NAMED:
        if value := getattr(asked, name):
            yield f"--{name}={value}"
    for condition in asked.where:
        yield from ("--where", condition.strip())


def number_in(at: Mapping[str, Any], name: str) -> int:
    """Return a number from 0 that an address asks for, 0 if it does not say. Raise UsageError."""
    try:
        number = int(at.get(name, 0))
    except ValueError:
        number = -1
    if not 0 <= number < 2**31:
        raise UsageError(f"`{name}` in the address is not a number from 0")
    return number


def entries(rows: Iterable[tuple[Row | Folded, int]]) -> Iterator[Entry]:
    """Yield the rows of the list, from runs and experiments with their depth in the tree of forks."""
    for row, depth in rows:
        yield _of_experiment(row) if isinstance(row, Folded) else _of_run(row, depth)


def _of_run(run: Row, depth: int) -> Entry:
    """Return the row of a run."""
    config = run["config"] or {}
    played, rounds = run["turns"], config.get("rounds")
    whole = run["status"] == "finished" or rounds is None
    is_early = run["status"] == "finished" and played != rounds
    return Entry(
        name=run["name"] or run["id"],
        run=run,
        depth=depth,
        world=run["world"] or "",
        players=[Players(*one) for one in _by_player(run).items()],
        looks=looks_of(run["agents"] or ()),
        settings=[f"{name}={_short(value)}" for name, value in run["changed"].items() if name != "rounds"],
        prompts=_prompts(run),
        status="tainted" if run["tainted"] else "" if run["status"] == "finished" else run["status"],
        turns="" if played is None else str(played) if whole else f"{played} of {rounds}",
        ending=(run["ending"] or "") if is_early or "ending" in run["asked"] else "",
        scores=run["scores"] or {},
        score="" if (highest := FACTS["score"](run)) is None else str(highest),
        failures=run["failures"],
        rejected=str(run["rejected"] or ""),
        asked={name: _shown(name, value) for name, value in run["asked"].items() if name not in SHOWN},
        forked="" if run["turn"] is None else f"at turn {run['turn']}",
        tags=_tags([run]),
    )


def _prompts(run: Row) -> str:
    """Return the prompts of a run; empty if programs alone played it, which are sent no words of a prompt."""
    if no_prompts((run["models"] or {}).values()):
        return ""
    return " ".join(filter(None, (run["prompts"], run["lang"] if run["lang"] != "en" else "")))


def _of_experiment(folded: Folded) -> Entry:
    """Return the row of an experiment."""
    outcomes: dict[str, int] = {}
    for run in folded.runs:
        for outcome, n in (run["outcomes"] or {}).items():
            outcomes[outcome] = outcomes.get(outcome, 0) + n
    finished = [run for run in folded.runs if run["status"] == "finished"]
    left = len(folded.runs) - len(finished)
    players = [_by_player(run) for run in folded.runs]
    shared = {
        spec: agents
        for spec, agents in players[0].items()
        if all(len(one.get(spec, ())) == len(agents) for one in players)
    }
    return Entry(
        name=folded.experiment,
        run=None,
        depth=0,
        world=folded.runs[0]["world"] or "",
        players=[Players(*one) for one in shared.items()],
        looks={},
        settings=[f"arm {arm}" for arm in dict.fromkeys(run["arm"] for run in folded.runs)],
        prompts=" ".join(dict.fromkeys(filter(None, map(_prompts, folded.runs)))),
        status=f"{left} not finished" if left else "",
        turns=_range(run["turns"] for run in finished),
        ending="",
        scores={},
        score=_range(score for run in finished for score in (run["scores"] or {}).values()),
        failures=failures_among(outcomes),
        rejected=str(sum(run["rejected"] or 0 for run in folded.runs) or ""),
        asked={},
        forked="",
        tags=_tags(folded.runs),
        runs=len(folded.runs),
    )


def _by_player(run: Row) -> dict[str, list[str]]:
    """Return the agents of a run by their player."""
    models, by_player = run["models"] or {}, dict[str, list[str]]()
    for agent in run["agents"] or ():
        by_player.setdefault(models.get(agent, ""), []).append(agent)
    return by_player


def _range(values: Iterable[int]) -> str:
    """Return the lowest and the highest of some numbers; empty without any."""
    there = sorted({*values})
    return " to ".join(map(str, dict.fromkeys((there[0], there[-1])))) if there else ""


def _tags(runs: Sequence[Row]) -> list[str]:
    """Return the number of stars of runs, if there are any, and their tags."""
    stars = sum(run["stars"] for run in runs)
    tags = sorted({tag for run in runs for tag in run["tags"]})
    return [*([f"★{stars}"] if stars else []), *tags]


def _shown(name: str, value: Any) -> str:  # noqa: ANN401  any JSON
    """Return a value that a list is asked for; empty if a run has none."""
    if name == "usd":
        return cost_text(value)
    if value is None:
        return "unknown" if name in COSTS else ""
    return _short(round(value, 3) if isinstance(value, float) else value)


def _short(value: Any) -> str:  # noqa: ANN401  any JSON
    """Return a setting in few characters."""
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 1]}…"


def show(rows: Sequence[Row | Folded]) -> RenderableType:
    """Return the runs as a table; if that is wider than the terminal, some lines per run."""
    listed = list(entries(tree(rows)))
    asked = [*dict.fromkeys(name for entry in listed for name in entry.asked)]
    columns, cells = (COLUMNS[0], *asked, *COLUMNS[1:]), [_cells(entry) for entry in listed]
    used = [k for k in range(len(columns)) if any(row[k] for row in cells)]
    whole = table("", [columns[k] for k in used], [[row[k] for k in used] for row in cells])
    if Measurement.get(OUT, OUT.options.update(max_width=10_000), whole).maximum <= OUT.width:
        return whole
    return Group(*(line for row in cells for line in _lines(columns, row)))


def _cells(entry: Entry) -> list[Text]:
    """Return what stands in each column of a row."""
    branch = f"{'  ' * (entry.depth - 1)}└ " if entry.depth else ""
    more = len(entry.settings) - MAX_SETTINGS
    settings = [*entry.settings[:MAX_SETTINGS], *([f"{more} more"] if more > 0 else [])]
    run = entry.run or {"id": "", "name": None, "digest": None}
    players = Text(", ").join(_players(one, entry.looks) for one in entry.players)
    bars = [_bar(agent, high, entry.looks) for agent, high in entry.high.items()]
    scores = Text(" ").join(filter(None, (Text.assemble(*bars), plain(entry.score))))
    experiment = plain(f"experiment: {counted(entry.runs, 'run')}")
    return [
        Text(branch).append_text(plain(entry.name)),
        *map(plain, entry.asked.values()),
        plain(entry.world),
        players if entry.run else Text(", ").join(filter(None, (experiment, players))),
        Text(", ").join(map(plain, settings)),
        plain(entry.prompts),
        plain(entry.status),
        plain(entry.turns),
        plain(entry.ending),
        scores,
        plain(entry.failed),
        plain(entry.rejected),
        Text(", ").join(map(plain, entry.tags)),
        plain(entry.forked),
        plain(run["id"] if run["name"] else ""),
        plain((run["digest"] or "")[:8]),
    ]


def _players(players: Players, looks: Looks) -> Text:
    """Return a player with the marks of its agents."""
    if not looks:  # those of an experiment
        return plain(players.text)
    marks = [(looks[agent].mark, PALETTE[looks[agent].colour]) for agent in players.shown]
    more = "…" if len(players.agents) > len(players.shown) else ""
    return Text.assemble(plain(players.text), " ", *marks, more)


def _bar(agent: str, high: float, looks: Looks) -> tuple[str, str]:
    """Return the bar of a score, in the colour of the agent."""
    colour = PALETTE[looks[agent].colour] if agent in looks else ""
    return BLOCKS[round(high * (len(BLOCKS) - 1))], colour


def _lines(columns: Sequence[str], row: Sequence[Text]) -> Iterator[Text]:
    """Yield the name of a run, and below it the other facts, in as many lines as they need."""
    yield Text("", style="bold").append_text(row[0])
    said = dict(zip(columns, row, strict=True))
    for column in ("turns", "failed", "rejected"):
        unit = column.removesuffix("s") if said[column].plain == "1" else column
        said[column] = said[column] and Text.assemble(said[column], f" {unit}")
    for column in columns[1 : -len(COLUMNS) + 1]:
        said[column] = said[column] and Text.assemble(f"{column} ", said[column])
    said["forked"] = said["forked"] and Text.assemble("forked ", said["forked"])
    facts = [fact for cell in [*said.values()][1:] if cell for fact in cell.split(", ")]
    line = Text(" " * GAP)
    for fact in facts:
        if line.plain.strip() and line.cell_len + GAP + fact.cell_len > OUT.width:
            yield line
            line = Text(" " * GAP)
        line.append_text(Text(" " * GAP if line.plain.strip() else "").append_text(fact))
    yield line
