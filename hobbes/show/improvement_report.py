"""The result of an improvement: a table in the terminal, as JSON, and as Markdown."""

from pathlib import Path

from gepa.core.result import GEPAResult

from hobbes.experiment.report import Report
from hobbes.experiment.sentences import short, verdict_in_words
from hobbes.improve.improvement import Improvement, is_accepted
from hobbes.show.documents import Document, Section
from hobbes.show.terminal import OUT, print_json


def show(asked: Improvement, found: GEPAResult[None, int], games: Report | None, *, as_json: bool) -> None:
    """Print what gepa found and what the runs decided about it, and write it beside the prompts."""
    folder = Path(asked.file.name)
    values = [asked.file.sign * score for score in found.val_aggregate_scores]
    texts = [one["advice"] for one in found.candidates]
    said = f"Nothing better was found{' in runs' if games else ', so no run was played'}."
    if is_accepted(games):
        said = f"Accepted: candidate {found.best_idx}. Its prompts are in {folder / 'prompts'}."
    rows = [(str(number), short(values[number]), text) for number, text in enumerate(texts)]
    columns = ("candidate", asked.file.measure, "advice")
    verdicts = (
        [f"{one.hypothesis.text.rstrip('.')}: {verdict_in_words(games, one)}." for one in games.hypotheses]
        if games
        else []
    )
    section = Section(asked.file.goal, [said, *verdicts], columns, rows)
    document = Document(f"{asked.file.name}, an improvement in {asked.file.world}", [section])
    (folder / "report.md").write_text(document.markdown(), encoding="utf-8")
    if as_json:
        told = [{"value": value, "advice": text} for value, text in zip(values, texts, strict=True)]
        hypotheses = [one.to_json() for one in games.hypotheses] if games else []
        print_json({"accepted": is_accepted(games), "candidates": told, "hypotheses": hypotheses})
    else:
        OUT.print(document)
