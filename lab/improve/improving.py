"""Improve a prompt: search by screening, then let games decide. It goes on where it stopped."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hobbes.engine.record import sha256
from hobbes.engine.world import AnyWorld
from hobbes.lab.errors import LabError, UsageError
from hobbes.lab.experiment.estimate import Estimate, estimate
from hobbes.lab.experiment.games import Ways, play_experiment, spent_so_far
from hobbes.lab.experiment.plan import Plan
from hobbes.lab.experiment.report import Report, report
from hobbes.lab.improve.advice import advice_of, refusals, system_template, write_candidate
from hobbes.lab.improve.deciding import experiment_of, is_accepted, plan_of
from hobbes.lab.improve.file import ImproveFile, fresh_seeds
from hobbes.lab.improve.lineage import Candidate, Lineage, read_lineage
from hobbes.lab.improve.proposing import Proposer
from hobbes.lab.improve.screening import Screened, Screening, shares_of_acts
from hobbes.lab.play.modelsfile import read_models
from hobbes.lab.play.playing import Beginning
from hobbes.lab.play.together import Progress
from hobbes.lab.probe.situations import Situation, find, pick, read_probe_file
from hobbes.lab.store.experiments import runs_of_cells
from hobbes.lab.store.home import Store
from hobbes.lab.store.pure import with_turns
from hobbes.nodes.caps import Caps, Spent
from hobbes.nodes.models import Models
from hobbes.nodes.players import parse_spec

CANDIDATES, PROMPTS = "candidates", "prompts"
"""The folders of a result: of all candidates, and of the one that was accepted."""

MAX_PROPOSALS = 200
"""More proposals than this bring nothing new, where the budget has room for them."""

MAX_REPEATS = 10
"""After so many proposals without new words, the proposer has said what it has to say."""

KEY_LENGTH = 8
"""How many characters of the hash of its text name a candidate."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An improvement as it is asked for, checked."""

    path: Path
    file: ImproveFile
    content: dict[str, Any]
    folder: Path
    """The result folder."""
    situations: tuple[Situation, ...]
    seeds: list[int]
    baseline: Beginning
    games: Estimate
    """What the games that decide will cost."""

    def experiment(self, prompts: str) -> dict[str, Any]:
        """Return the content of the experiment that decides about a candidate with these prompts."""
        return experiment_of(self.file, self.content, self.seeds, prompts)

    def plan(self, store: Store, prompts: str) -> Plan:
        """Return the plan of this experiment."""
        return plan_of(store, self.path, self.experiment(prompts), Caps(usd=self.file.max_usd))

    @property
    def world(self) -> AnyWorld:
        """The world of the games."""
        return self.baseline.world

    @property
    def prompts(self) -> str:
        """The variant that is improved."""
        return self.file.prompts or self.baseline.prompts.variant

    @property
    def answers(self) -> int:
        """How many calls it takes at most to screen a candidate in all situations."""
        return len(self.situations) * self.file.screen.times * self._questions

    @property
    def calls_of_games(self) -> int:
        """How many calls the games that decide take at most."""
        return self.games.calls * self._questions

    @property
    def _questions(self) -> int:
        """How many questions an agent is asked in a turn, at most."""
        return 1 + int(self.baseline.setting.config.reask)


def check(store: Store, path: Path, file: ImproveFile, content: dict[str, Any], folder: Path) -> Asked:
    """Return what is asked for. Raise UsageError if it cannot be done as it stands, LabError without gepa."""
    _check_installed()
    if file.max_calls is None and file.max_usd is None:
        raise UsageError(f"{path}: max_calls or max_usd is missing; without a budget the search has no end")
    situations = tuple(_situations(store, file))
    if not situations:
        raise UsageError(f"{path}: [screen] names no situation; choose other runs, turns, agents or where")
    runs = [store.runs.find(one.run) for one in situations]
    if strangers := {run.world.name for run in runs} - {file.world}:
        raise UsageError(f"{path}: [screen] has situations of {min(strangers)}, not of {file.world}")
    seeds = fresh_seeds(file.seeds, {run.setting.seed for run in runs})
    before = read_lineage(folder, content)
    # Once games have begun, a plan with other prompts would not fit them.
    prompts = before.candidates[before.chosen].prompts_in(folder) if before and before.chosen else None
    experiment = experiment_of(file, content, seeds, prompts)
    made = plan_of(store, path, experiment, Caps(usd=file.max_usd))
    baseline = made.cells[0].new
    asked = Asked(path, file, content, folder, situations, seeds, baseline, estimate(store, made.cells))
    _check_budget(asked)
    return asked


def _check_installed() -> None:
    """Raise LabError if gepa is not installed."""
    try:
        import gepa.api  # noqa: F401, PLC0415  an extra
    except ImportError as error:
        raise LabError(
            "hobbes improve needs gepa; install it in the checkout: pip install -e '.[improve]'"
        ) from error


def _situations(store: Store, file: ImproveFile) -> list[Situation]:
    """Return the situations on which candidates are screened. Raise UsageError if one does not exist."""
    asked = file.screen
    listed = read_probe_file(Path(asked.situations)).situation if asked.situations else []
    of_runs = [
        one
        for run in asked.runs
        for one in pick(
            store, with_turns(store, store.runs.find(run)), asked.turns, asked.agents, asked.where
        )
    ]
    return [*dict.fromkeys(find(store, one) for one in (*listed, *of_runs))]


def _check_budget(asked: Asked) -> None:
    """Raise UsageError for a budget that allows no proposal beside the games that decide."""
    least = asked.calls_of_games + 2 * asked.answers + 1
    calls, dollars = asked.file.max_calls, asked.file.max_usd
    if calls is not None and calls < least:
        raise UsageError(
            f"{asked.path}: max_calls {calls:,} is too little: the games take up to "
            f"{asked.calls_of_games:,} calls, the baseline and one proposal {2 * asked.answers + 1:,}; "
            f"write {least:,} or more"
        )
    if dollars is not None and asked.games.usd is None:
        raise UsageError(
            f"{asked.path}: max_usd cannot be kept, because the cost of the games is unknown; "
            "write max_calls, or screen on runs of the same model"
        )
    if dollars is not None and dollars <= (asked.games.usd or 0.0):
        raise UsageError(
            f"{asked.path}: max_usd {dollars:g} is too little: the games alone take about "
            f"{asked.games.usd:,.2f} dollars"
        )


@dataclass(frozen=True, slots=True)
class Improved:
    """The result of an improvement."""

    asked: Asked
    lineage: Lineage
    games: Report | None
    """The report of the games, None if no candidate was better in the situations."""
    of_games: Spent
    """What the games have cost."""

    @property
    def is_accepted(self) -> bool:
        """Whether the chosen candidate was accepted."""
        return self.games is not None and is_accepted(self.games)

    @property
    def spent(self) -> Spent:
        """What all of it has cost."""
        return total((self.lineage.screening, self.lineage.proposals, self.of_games))


class Improvement:
    """An improvement under way. What was asked before is not asked again."""

    def __init__(self, store: Store, asked: Asked, on_candidate: Callable[[Candidate], None]) -> None:
        """Read what the result folder has. Raise UsageError if it holds something else.

        `on_candidate` is called for each candidate that was screened in all situations, or refused.
        """
        file, baseline = asked.file, asked.baseline
        self._store, self._asked, self._on_candidate = store, asked, on_candidate
        self._before = read_lineage(asked.folder, asked.content)
        self.lineage = Lineage(asked.content)
        self._caps = Caps(usd=file.max_usd)
        models = read_models(store.home)
        self._proposer = Proposer(store, baseline, file.proposer, models, asked.folder, self._caps)
        self._screening = Screening(
            store, file.name, asked.situations, file.aim, file.screen.times, _one_model(asked, models)
        )
        self._advice = advice_of(system_template(baseline), baseline.prompts.lang)
        self._plans = {0: self._screening.plan(_key(self._advice.text), asked.prompts, self._caps)}
        self._spent: dict[int, Spent] = {}
        self._found: dict[int, dict[int, Screened]] = {}
        self._is_exhausted = False
        self._last_new = 0  # after how many proposals the last candidate came

    def search(self) -> None:
        """Search for better advice, and choose what games decide about. Once they have begun, it is chosen.

        Raise LabError if a model that is asked is gone; called again, the search goes on.
        """
        from hobbes.lab.improve.searching import ProbeAdapter, search  # noqa: PLC0415  an extra

        asked = self._asked
        if self._before and self._before.chosen and runs_of_cells(self._store, asked.file.name):
            self.lineage = self._before
            return
        best = search(
            ProbeAdapter(self, asked.file, self._proposer, meaning_of(asked.world, asked.file.aim.measure)),
            len(asked.situations),
            self._advice.text,
            self._is_over,
        )
        chosen = next(one for one in self.lineage.candidates if one.text == best)
        self.lineage.chosen = chosen.number or None
        self._write()

    @cached_property
    def plan(self) -> Plan | None:
        """The games that decide about the chosen candidate, once there is one."""
        number = self.lineage.chosen
        if number is None:
            return None
        return self._asked.plan(self._store, self.lineage.candidates[number].prompts_in(self._asked.folder))

    def decide(self, progress: Progress) -> Improved:
        """Play the games that decide about the chosen candidate, and copy its prompts if it is accepted.

        Raise HaltedRunError if a game halts or the budget is used up.
        """
        asked, made = self._asked, self.plan
        if made is None:
            return Improved(asked, self.lineage, None, Spent())
        chosen = self.lineage.candidates[self.lineage.chosen or 0]
        before = total((self.lineage.screening, self.lineage.proposals))
        caps = _left(Caps(asked.file.max_calls, usd=asked.file.max_usd), before)
        play_experiment(
            self._store, made, asked.experiment(chosen.prompts_in(asked.folder)), progress, Ways(caps=caps)
        )
        improved = Improved(
            asked, self.lineage, report(self._store, asked.file.name), spent_so_far(self._store, made)
        )
        if improved.is_accepted:
            shutil.copytree(chosen.prompts_in(asked.folder), asked.folder / PROMPTS, dirs_exist_ok=True)
            for shared in (asked.folder / CANDIDATES).glob("*.md"):
                shutil.copyfile(shared, asked.folder / shared.name)
        return improved

    def candidate(self, text: str, parent: str | None) -> Candidate:
        """Return the candidate with a text. A new one is written and checked; the first is the baseline."""
        by_text = {one.text: one for one in self.lineage.candidates}
        if text in by_text:
            return by_text[text]
        if not by_text:
            new = Candidate(0, _key(text), None, text, self._asked.prompts)
        else:
            prompts = f"{CANDIDATES}/{_key(text)}"
            folder = self._asked.folder / prompts
            write_candidate(self._asked.baseline, self._advice, text, folder)
            why = [*refusals(self._asked.baseline, text, folder)]
            of = by_text[parent].number if parent is not None else 0
            new = Candidate(len(by_text), _key(text), of, text, prompts, why)
        self.lineage.candidates.append(new)
        self._last_new = self._proposer.spent.calls
        self._write()
        if new.refused:
            self._on_candidate(new)
        return new

    def screened(self, candidate: Candidate, numbers: Sequence[int]) -> list[Screened] | None:
        """Return what a candidate does in situations, None if the budget does not allow to ask."""
        number = candidate.number
        if number not in self._plans:
            prompts = candidate.prompts_in(self._asked.folder)
            self._plans[number] = self._screening.plan(candidate.key, prompts, self._caps)
        others = total(spent for of, spent in self._spent.items() if of != number)
        caps = _left(self._of_search(), total((others, self._proposer.spent)))
        found, self._spent[number] = self._screening.screen(self._plans[number], numbers, caps)
        if found is None:
            self._is_exhausted = True
        else:
            self._take(candidate, found)
        self._write()
        if number == 0 and candidate.value is None:
            raise UsageError(
                f"{self._asked.path}: {self._why_no_value(found is None)}; the search cannot begin"
            )
        return found

    def _take(self, candidate: Candidate, found: Sequence[Screened]) -> None:
        """Keep what a candidate does in situations, and tell it once all of them were asked."""
        so_far = self._found.setdefault(candidate.number, {})
        before = len(so_far)
        so_far |= {one.situation: one for one in found}
        candidate.values = {number: so_far[number].value for number in sorted(so_far)}
        candidate.acts = shares_of_acts(so_far.values())
        if before < len(so_far) == len(self._asked.situations):
            self._on_candidate(candidate)

    def _why_no_value(self, is_over: bool) -> str:  # noqa: FBT001  one of two reasons
        """Return why the baseline has no value."""
        if is_over:
            return "the budget does not allow to screen the baseline"
        return f"goal: {self._asked.file.aim.measure} is undefined in single turns; choose another measure"

    def refused(self, parent: Candidate) -> list[Candidate]:
        """Return the refused candidates that came from another one."""
        return [one for one in self.lineage.candidates if one.refused and one.parent == parent.number]

    def _of_search(self) -> Caps:
        """Return what the search may cost: what the games that decide leave of the budget."""
        asked = self._asked
        games = Spent(asked.calls_of_games, usd=asked.games.usd)
        return _left(Caps(asked.file.max_calls, usd=asked.file.max_usd), games)

    def _is_over(self) -> bool:
        """Return whether the budget allows no further proposal, screened in all situations."""
        spent = total((*self._spent.values(), self._proposer.spent))
        left, calls = _left(self._of_search(), spent), self._asked.answers + 1
        dollars = calls * (spent.usd or 0.0) / max(spent.calls, 1)
        return (
            self._is_exhausted
            or self._proposer.spent.calls >= min(MAX_PROPOSALS, self._last_new + MAX_REPEATS)
            or (left.calls is not None and left.calls < calls)
            or (left.usd is not None and left.usd < dollars)
        )

    def _write(self) -> None:
        """Write the lineage as it is now."""
        self.lineage.screening, self.lineage.proposals = total(self._spent.values()), self._proposer.spent
        self.lineage.write(self._asked.folder)


def total(parts: Iterable[Spent]) -> Spent:
    """Return what several things have cost together."""
    whole = Spent()
    for one in parts:
        whole.calls += one.calls
        whole.add(one.tokens, one.usd)
    return whole


def _left(caps: Caps, spent: Spent) -> Caps:
    """Return what caps leave after something was spent; of an unknown price, nothing can be taken."""
    return Caps(
        None if caps.calls is None else caps.calls - spent.calls,
        usd=None if caps.usd is None else caps.usd - (spent.usd or 0.0),
    )


def _one_model(asked: Asked, models: Models) -> str | None:
    """Return the chat model that plays all agents, None if there is no such model.

    Then each situation is put to the model that played its agent.
    """
    spec = asked.file.model
    if spec is None or {*asked.baseline.models.values()} != {spec}:
        return None
    return spec if parse_spec(asked.world.policies, spec, models).settings else None


def _key(text: str) -> str:
    """Return the name of the candidate with a text, under which it is found again after a stop."""
    return sha256(text)[:KEY_LENGTH]


def meaning_of(world: AnyWorld, measure: str) -> str:
    """Return what a measure says, in words."""
    name, slash, _ = measure.partition("/")
    formula = world.formulas[f"{name}/AGENT" if slash else name]
    return " ".join((formula.__doc__ or "").partition("Source:")[0].split())
