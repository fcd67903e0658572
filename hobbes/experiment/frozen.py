"""The plan of an experiment, frozen at its first game, so that nobody turns a hypothesis round.

A plan is the content of the file (hypotheses, measures, directions, seeds) with the prompts' hashes
and the players of each arm.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hobbes.experiment.experiment_file import ExperimentFile, parse
from hobbes.store.experiment_tables import KeptPlan, damaged_plan, kept_plan
from hobbes.store.home import Store


@dataclass(frozen=True, slots=True)
class FrozenPlan:
    """The plan of an experiment at its first game, and what has become of it."""

    kept: KeptPlan
    file: ExperimentFile
    """The file as it was then."""
    changes: tuple[str, ...]
    """What differs from it today, in words."""

    @property
    def extended(self) -> bool:
        """Whether seeds have been added."""
        return "seeds were added" in self.changes

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain JSON."""
        return {
            "hash": self.kept.hash,
            "frozen": self.kept.kept,
            "seeds": self.file.seeds,
            "smallest": self.file.smallest,
            "prompts": self.kept.plan["prompts"],
            "models": self.kept.plan["models"],
            "changes": self.changes,
        }


def frozen_plan(store: Store, file: ExperimentFile) -> FrozenPlan | None:
    """Return the frozen plan of an experiment whose file is now this one; None if none was kept.

    Raise DamagedError if it was changed since.
    """
    kept = kept_plan(store, file.name)
    if kept is None:
        return None
    try:
        planned = parse(kept.plan["file"])
    except ValueError as error:
        raise damaged_plan(file.name, f"the column plans.plan cannot be read: {error}") from error
    return FrozenPlan(kept, planned, tuple(_changes(planned, file)))


PARTS: Mapping[str, Callable[[ExperimentFile], object]] = {
    "the question": lambda file: file.question,
    "arms": lambda file: [(name, file.options(name)) for arm in file.arms for name in file.wordings(arm)],
    "the recorded runs": lambda file: file.origin and (file.origin.runs, file.origin.turn),
    "the baseline": lambda file: file.baseline,
    "the null arm": lambda file: file.compare.null,
    "measures": lambda file: file.compare.measures,
    "the smallest differences that matter": lambda file: file.smallest,
}
"""The parts of a plan beside hypotheses and seeds, by the words for them."""


def _changes(planned: ExperimentFile, file: ExperimentFile) -> Iterator[str]:
    for number, one in enumerate(planned.hypotheses, start=1):
        if one not in file.hypotheses:
            yield f"hypothesis {number} was changed or removed: {one.text}"
    yield from (
        f"a hypothesis was added: {one.text}" for one in file.hypotheses if one not in planned.hypotheses
    )
    if {*file.seeds} - {*planned.seeds}:
        yield "seeds were added"
    if {*planned.seeds} - {*file.seeds}:
        yield "seeds were removed"
    yield from (f"{words} changed" for words, part in PARTS.items() if part(planned) != part(file))
