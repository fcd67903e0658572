"""The result of an improvement for people: in the terminal, and as Markdown."""

from collections.abc import Iterator
from typing import Any

from hobbes.engine.telling import counted
from hobbes.lab.experiment.wording import short, verdicts
from hobbes.lab.improve.improving import Improved
from hobbes.lab.improve.lineage import Candidate
from hobbes.lab.proof.word_diff import whole_word_diff
from hobbes.lab.show import reports
from hobbes.lab.show.comparison_table import word_diff_text
from hobbes.lab.show.documents import Document, Section
from hobbes.lab.store.home import Store
from hobbes.nodes.caps import Spent

OF_CANDIDATES = (
    "A value is the goal's measure of a single turn with the answers of the candidate, over the situations "
    "that were asked. The words are compared with those of the candidate that it comes from."
)


def title_of(improved: Improved) -> str:
    """Return the title of a result."""
    return f"{improved.asked.file.name}, an improvement in {improved.asked.world.name}"


def document(improved: Improved) -> Document:
    """Return a result for people."""
    return Document(title_of(improved), [*_sections(improved)])


def _sections(improved: Improved) -> Iterator[Section]:
    """Yield the parts of a result."""
    yield Section("What was found", [*sentences(improved)])
    rows = [_row(improved, one) for one in improved.lineage.candidates]
    columns = ("candidate", "from", improved.asked.file.aim.measure, "situations", "what it does", "words")
    yield Section("Candidates", [OF_CANDIDATES], columns, rows)


def sentences(improved: Improved) -> Iterator[str]:
    """Yield what was found, in words."""
    asked, chosen = improved.asked, improved.lineage.chosen
    tried = len(improved.lineage.candidates) - 1
    if chosen is None:
        yield (
            f"Nothing better was found: of {counted(tried, 'candidate')}, none is better than the baseline "
            "in the situations. No game was played."
        )
    elif improved.is_accepted:
        yield f"Accepted: candidate {chosen}. Its prompts are in {asked.folder / 'prompts'}."
    else:
        yield (
            f"Nothing better was found: candidate {chosen} is better in the situations, but in games this is "
            "not supported."
        )
    if improved.games is not None:
        yield from verdicts(improved.games)
    parts = {
        "screening": improved.lineage.screening,
        "proposals": improved.lineage.proposals,
        "games": improved.of_games,
    }
    told = ", ".join(f"{name} {spent.calls:,}" for name, spent in parts.items())
    dollars = "unknown" if improved.spent.usd is None else f"{improved.spent.usd:,.2f}"
    yield f"Calls: {improved.spent.calls:,} ({told}); dollars: {dollars}."


def _row(improved: Improved, one: Candidate) -> tuple[str, ...]:
    """Return the cells of a candidate."""
    mark = " chosen" if one.number == improved.lineage.chosen else ""
    parent = "baseline" if one.parent is None else str(one.parent)
    words = words_of(improved, one)
    if one.refused:
        return f"{one.number}", parent, "-", "-", f"refused: {'; '.join(one.refused)}", words
    acts = ", ".join(f"{act} {share:.0%}" for act, share in one.acts.items() if " " not in act)
    asked = f"{len(one.values)} of {len(improved.asked.situations)}"
    return f"{one.number}{mark}", parent, short(one.value), asked, acts, words


def words_of(improved: Improved, one: Candidate) -> str:
    """Return how the words of a candidate differ from those of its parent."""
    before = improved.lineage.parent_text(one)
    return word_diff_text(whole_word_diff(before, one.text)).plain.strip()


def told_candidate(one: Candidate) -> str:
    """Return a candidate in a line, while the search goes on."""
    if one.refused:
        return f"candidate {one.number}: refused, {'; '.join(one.refused)}"
    name = "baseline" if one.number == 0 else f"candidate {one.number}"
    return f"{name}: {short(one.value)}"


def to_json(improved: Improved) -> dict[str, Any]:
    """Return a result as plain JSON."""
    games = improved.games
    return {
        "improvement": improved.asked.file.name,
        "world": improved.asked.world.name,
        "accepted": improved.is_accepted,
        "folder": str(improved.asked.folder),
        "seeds": improved.asked.seeds,
        "chosen": improved.lineage.chosen,
        "candidates": improved.lineage.to_json()["candidates"],
        "hypotheses": [] if games is None else [one.to_json() for one in games.hypotheses],
        "spent": {
            "screening": _costs(improved.lineage.screening),
            "proposals": _costs(improved.lineage.proposals),
            "games": _costs(improved.of_games),
        },
    }


def _costs(spent: Spent) -> dict[str, Any]:
    return {"calls": spent.calls, "tokens": spent.tokens, "usd": spent.usd}


def markdown(store: Store, improved: Improved) -> str:
    """Return a result as Markdown, with the report of the games."""
    found = document(improved)
    if improved.games is not None:
        games = reports.told(store, improved.games)
        found = Document(found.title, [*found.first, *games.first], games.details)
    return found.markdown()
