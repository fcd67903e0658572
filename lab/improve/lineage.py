"""The lineage of an improvement: each candidate with its parent, and what became of it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from hobbes.lab.errors import LabError, UsageError
from hobbes.lab.files import read_json
from hobbes.lab.improve.file import BUDGET
from hobbes.lab.play.playing import absolute_variant
from hobbes.lab.proof.word_diff import whole_word_diff
from hobbes.nodes.caps import Spent

FILE = "lineage.json"
"""The file of a result folder that holds the lineage."""


@dataclass
class Candidate:
    """Advice that was tried. The baseline is one, too: it comes first and has no parent."""

    number: int
    """In the order in which candidates were first tried, from 0."""
    key: str
    """The beginning of the hash of its text. It names its folder and its probe."""
    parent: int | None
    text: str
    prompts: str
    """The folder of its prompts in the result folder; of the baseline, its variant or folder."""
    refused: list[str] = field(default_factory=list)
    """Why it was not asked, empty if it was."""
    values: dict[int, float | None] = field(default_factory=dict)
    """The goal's measure of the turn with its answers, by situation."""
    acts: dict[str, float] = field(default_factory=dict)
    """In which share of its answers each act occurs."""

    @property
    def value(self) -> float | None:
        """The mean over the situations that have a value, None if none has."""
        known = [value for value in self.values.values() if value is not None]
        return fmean(known) if known else None

    def prompts_in(self, folder: Path) -> str:
        """Return the variant or the absolute folder of its prompts, if `folder` is the result folder."""
        return self.prompts if self.parent is None else absolute_variant(str(folder / self.prompts))

    def to_json(self, before: str) -> dict[str, Any]:
        """Return the candidate as plain JSON, with how its words differ from its parent's."""
        return {**asdict(self), "value": self.value, "diff": whole_word_diff(before, self.text)}


@dataclass
class Lineage:
    """All candidates of an improvement, and which was chosen."""

    file: Mapping[str, Any]
    """The content of the improvement file."""
    candidates: list[Candidate] = field(default_factory=list)
    chosen: int | None = None
    """The number of the candidate that games decide about, None as long as none is, or if none is better."""
    screening: Spent = field(default_factory=Spent)
    proposals: Spent = field(default_factory=Spent)
    """What the two parts of the search have cost."""

    def parent_text(self, one: Candidate) -> str:
        """Return the text of a candidate's parent; that of the baseline is its own."""
        return one.text if one.parent is None else self.candidates[one.parent].text

    def to_json(self) -> dict[str, Any]:
        """Return the lineage as plain JSON."""
        told = [one.to_json(self.parent_text(one)) for one in self.candidates]
        costs = {"screening": asdict(self.screening), "proposals": asdict(self.proposals)}
        return {"file": self.file, "chosen": self.chosen, **costs, "candidates": told}

    def write(self, folder: Path) -> None:
        """Write the lineage into a result folder; what was there before is replaced at once."""
        partial = folder / f"{FILE}.partial"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps(self.to_json(), indent=1, ensure_ascii=False), encoding="utf-8")
            partial.replace(folder / FILE)
        except OSError as error:
            raise LabError(f"cannot write {folder / FILE}: {error.strerror}") from error


def read_lineage(folder: Path, content: Mapping[str, Any]) -> Lineage | None:
    """Return the lineage that a result folder holds, None if there is none yet.

    Raise UsageError if the folder holds something else, or the improvement of another file.
    """
    if not folder.exists():
        return None
    if not (folder / FILE).exists():
        raise UsageError(
            f"{folder} is there already and holds no improvement; choose another folder with --to"
        )
    told = read_json(folder / FILE)
    if _without_budget(told["file"]) != _without_budget(content):
        raise UsageError(
            f"{folder} has the result of another improvement file; choose another folder with --to"
        )
    candidates = [
        Candidate(
            **{key: row[key] for key in ("key", "number", "parent", "text", "prompts", "refused", "acts")},
            values={int(number): value for number, value in row["values"].items()},
        )
        for row in told["candidates"]
    ]
    spent = (Spent(**told[part]) for part in ("screening", "proposals"))
    return Lineage(content, candidates, told["chosen"], *spent)


def _without_budget(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key not in BUDGET}
