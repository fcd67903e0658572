"""What is asked of an improvement, and the games that decide about what gepa finds."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hobbes.engine.record import sha256
from hobbes.engine.world import in_one_line
from hobbes.errors import UsageError
from hobbes.experiment.arms import Options
from hobbes.experiment.cost_estimate import Estimate, estimate
from hobbes.experiment.experiment_file import NULL, ExperimentFile, parse
from hobbes.experiment.file_values import Name, Seeds, Text
from hobbes.experiment.games import play_experiment
from hobbes.experiment.plan import missing, plan
from hobbes.experiment.report import Report, report
from hobbes.experiment.statistics import ALPHA, fewest_pairs
from hobbes.files import read_toml
from hobbes.improve.advice import advice_of, write_candidate
from hobbes.play.side_by_side import Progress
from hobbes.play.start import Beginning
from hobbes.probe.situations import Situation, pick
from hobbes.store.home import Store
from hobbes.store.probe_tables import MAX_TIMES

BASELINE, CANDIDATE = "baseline", "candidate"
"""The arms of the games that decide, beside the null arm."""

Watched: TypeAlias = Callable[[int, int], AbstractContextManager[Progress]]
"""Shows how games go on: given how many there are, and how many of them are missing."""

Guard = Annotated[str, Field(pattern=r"^\S+ (>=|<=) (0?\.\d*[1-9]\d*|[1-9]\d*(\.\d+)?) baseline$")]
"""What must be kept: a share of a measure of the baseline, above 0."""


class Screen(BaseModel):
    """The situations in which candidates are asked, and how often each is."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    runs: Annotated[list[Text], Field(min_length=1)]
    turns: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = None
    agents: list[Text] = []
    where: Text | None = None
    """An act: only situations whose recorded decision has it."""
    times: int = Field(5, ge=1, le=MAX_TIMES)


class ImproveFile(Options):
    """An improvement file. What it has of `Options` is about the games; `prompts` are what is improved."""

    name: Name
    world: str
    rounds: int | None = Field(None, ge=1)
    seeds: Seeds
    """Those of the games that decide. The seeds of the runs of `screen` are left out."""
    goal: Annotated[str, Field(pattern=r"^(minimise|maximise) [^\s/]+$")]
    keep: tuple[Guard, ...] = Field((), strict=False)
    proposer: Text
    """The chat model that proposes new advice."""
    max_calls: int = Field(ge=1)
    """After how many answers gepa begins no further proposal."""
    screen: Screen

    @property
    def measure(self) -> str:
        """The measure of the goal."""
        return self.goal.split()[1]

    @property
    def sign(self) -> int:
        """By which a value of the measure is multiplied so that more is better."""
        return -1 if self.goal.startswith("minimise") else 1


@dataclass(frozen=True, slots=True)
class Improvement:
    """What is asked for, checked."""

    file: ImproveFile
    games: dict[str, Any]
    """The content of an experiment file that plays the baseline and its second replicate."""
    situations: tuple[Situation, ...]
    baseline: Beginning
    advice: str
    """That of the baseline."""
    cost_of_games: Estimate

    @property
    def search(self) -> Path:
        """The folder of the search. Another goal, situation, game or baseline has another one."""
        places = [one.place for one in self.situations]
        asked = [self.games, self.file.goal, self.file.screen.times, *advice_of(self.baseline), *places]
        return Path(self.file.name) / "search" / sha256(json.dumps(asked))[:8]

    def prompts_of(self, advice: str) -> str:
        """Return the variant with this advice: the baseline, or the folder of a candidate."""
        if advice == self.advice:
            return self.baseline.prompts.variant
        return str(self.search / sha256(advice)[:8])

    def experiment(self, advice: str) -> dict[str, Any]:
        """Return the content of the experiment file that decides about advice."""
        arms = {BASELINE: {}, CANDIDATE: {"prompts": self.prompts_of(advice)}}
        return {**self.games, "arms": arms, "hypothesis": [*self._hypotheses()]}

    def _hypotheses(self) -> Iterator[dict[str, Any]]:
        verb, better = ("lowers", "lower") if self.file.sign < 0 else ("raises", "higher")
        for against, words in ((BASELINE, "the baseline"), (NULL, "its second replicate")):
            text = f"The candidate {verb} {self.file.measure} against {words}"
            goal = {"measure": self.file.measure, "arm": CANDIDATE, "against": against}
            yield {"text": text, **goal, "direction": better}
        for guard in self.file.keep:
            measure, relation, share, _ = guard.split()
            kept = {"measure": measure, "arm": CANDIDATE, "against": BASELINE, "share": float(share)}
            direction = "higher" if relation == ">=" else "lower"
            yield {"text": f"The candidate keeps {guard}", **kept, "direction": direction}


def read_improvement(store: Store, path: Path) -> Improvement:
    """Return what a file asks for. Raise UsageError, in one line, if it cannot be done."""
    content = read_toml(path)
    try:
        file = ImproveFile.model_validate(content)
    except ValidationError as error:
        said = in_one_line(error, depth=3)
        raise UsageError(f"{path}: {said}; docs/improve.md shows such a file") from error
    if Path(file.name).exists() and not Path(file.name, "search").exists():
        raise UsageError(f"{file.name} is there and holds no improvement; give this one another name")
    asked, runs = file.screen, [store.runs.find(run) for run in file.screen.runs]
    situations = tuple(
        one for run in runs for one in pick(store, run, asked.turns, asked.agents, asked.where)
    )
    if not situations:
        raise UsageError(f"{path}: [screen] names no situation; choose other runs, turns, agents or where")
    seen = {run.setting.seed for run in runs}
    own = ImproveFile.model_fields.keys() - ExperimentFile.model_fields.keys()
    games = {
        **{key: value for key, value in content.items() if key not in own},
        "seeds": [seed for seed in file.seeds if seed not in seen],
        "arms": {BASELINE: {}},
        "compare": {"measures": [*dict.fromkeys([file.measure, *(one.split()[0] for one in file.keep)])]},
    }
    needed = fewest_pairs(ALPHA / (2 + len(file.keep)))
    if len(games["seeds"]) < needed:
        raise UsageError(f"{path}: seeds: write {needed} or more that no run of [screen] has")
    cells = plan(store, path, parse(games)).cells
    cost = estimate(store, [*cells, *cells[::2]])  # the candidate takes as much as each of the two
    return Improvement(file, games, situations, cells[0].new, advice_of(cells[0].new)[1], cost)


def decide(store: Store, path: Path, asked: Improvement, advice: str, watched: Watched) -> Report:
    """Play the games that decide about advice, or go on with them; write its prompts if they accept it."""
    content = asked.experiment(advice)
    made = plan(store, path, parse(content))
    with watched(len(made.cells), len(missing(store, made))) as progress:
        play_experiment(store, made, content, progress)
    games = report(store, asked.file.name)
    if is_accepted(games):
        write_candidate(asked.baseline, advice, Path(asked.file.name, "prompts"))
    return games


def is_accepted(games: Report | None) -> bool:
    """Return whether games accept the candidate: all that was planned holds, not by failed calls."""
    return games is not None and all(
        one.verdict() == "supported" and not games.may_be_failures(one.judged) for one in games.hypotheses
    )
