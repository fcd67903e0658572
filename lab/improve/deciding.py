"""Games decide: the chosen candidate against the baseline and its second replicate, with fresh seeds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hobbes.lab.errors import UsageError
from hobbes.lab.experiment.comparison import Tested
from hobbes.lab.experiment.file import NULL, parse
from hobbes.lab.experiment.plan import Plan, plan
from hobbes.lab.experiment.report import Report
from hobbes.lab.experiment.statistics import ALPHA, fewest_pairs
from hobbes.lab.improve.file import ImproveFile
from hobbes.lab.store.home import Store
from hobbes.nodes.caps import Caps

BASELINE, CANDIDATE = "baseline", "candidate"
"""The arms of the experiment beside the null arm."""


def experiment_of(
    file: ImproveFile, content: dict[str, Any], seeds: Sequence[int], prompts: str | None
) -> dict[str, Any]:
    """Return the content of the experiment file that decides about a candidate with these prompts.

    Without prompts, the candidate is the baseline, which tells what the games will cost.
    """
    goal = file.aim
    word = "lowers" if goal.direction == "lower" else "raises"
    hypotheses: list[dict[str, Any]] = [
        {
            "text": f"The candidate {word} {goal.measure} against {words}",
            "measure": goal.measure,
            "arm": CANDIDATE,
            "against": arm,
            "direction": goal.direction,
        }
        for arm, words in ((BASELINE, "the baseline"), (NULL, "its second replicate"))
    ]
    hypotheses += [
        {
            "text": f"The candidate keeps {guard}",
            "measure": guard.measure,
            "arm": CANDIDATE,
            "against": BASELINE,
            "share": guard.share,
            "direction": guard.direction,
        }
        for guard in file.guards
    ]
    own = {"seeds", "goal", "keep", "proposer", "max_calls", "max_usd", "screen"}
    return {
        **{key: value for key, value in content.items() if key not in own},
        "seeds": [*seeds],
        "arms": {BASELINE: {}, CANDIDATE: {"prompts": prompts} if prompts else {}},
        "compare": {
            "baseline": BASELINE,
            "measures": [*dict.fromkeys([goal.measure, *(guard.measure for guard in file.guards)])],
        },
        "hypothesis": hypotheses,
    }


def plan_of(store: Store, path: Path, content: dict[str, Any], caps: Caps) -> Plan:
    """Return the plan of such an experiment. Raise UsageError if it cannot be played, or cannot decide."""
    try:
        asked = parse(content)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    made = plan(store, path, asked, caps=caps)
    needed = fewest_pairs(ALPHA / len(asked.hypotheses))
    if len(asked.seeds) < needed:
        raise UsageError(
            f"{path}: seeds: too few ({len(asked.seeds)}) to accept any candidate; write {needed} or more"
        )
    return made


def holds(found: Report, one: Tested) -> bool:
    """Return whether a hypothesis is supported, and not by failed calls alone."""
    return one.verdict() == "supported" and not found.may_be_failures(one.judged)


def is_accepted(found: Report) -> bool:
    """Return whether the games accept the candidate: all that was planned holds."""
    planned = [one for one in found.hypotheses if not one.exploratory]
    return bool(planned) and all(holds(found, one) for one in planned)
