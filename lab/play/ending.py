"""The results of a finished run, computed from its calls and turns: outcomes, scores, taint, measures."""

from collections import Counter

from lab.store.database import Ending, Run, Store
from lab.store.history import history, state_before


def ending(store: Store, run: Run) -> Ending:
    """Return the results of a finished run."""
    decisions = store.decisions(run.id)
    failed = sum(decision.failed for decision in decisions)
    return Ending(
        Counter(decision.outcome for decision in decisions),
        run.world.scores(state_before(store, run, run.turns)),
        failed > len(decisions) * float(run.setting.config.taint_share),
        run.world.measures(history(store, run)),
    )
