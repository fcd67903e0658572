"""The results of a finished run, computed from its calls and turns: outcomes, scores and taint."""

from collections import Counter

from engine.answer import DECISIONS
from lab.store.database import Ending, Run, Store
from lab.store.history import state_before


def ending(store: Store, run: Run) -> Ending:
    """Return the results of a finished run."""
    outcomes = Counter[str]()
    for one in store.outcomes(run.id):
        outcomes[one.outcome] += one.calls
    failed = sum(count for outcome, count in outcomes.items() if outcome not in DECISIONS)
    return Ending(
        outcomes,
        run.world.scores(state_before(store, run, run.turns)),
        failed > outcomes.total() * float(run.setting.config.taint_share),
    )
