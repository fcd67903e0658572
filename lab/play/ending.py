"""The results of a finished run, computed from its calls and last state: outcomes, scores and taint."""

from collections import Counter
from typing import Any

from hobbes.engine.answer import DECISIONS
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Ending, Run


def ending(store: Store, run: Run, last: Any) -> Ending:  # noqa: ANN401  a world's own state
    """Return the results of a finished run; `last` is the world's state at its end."""
    outcomes = Counter[str]()
    for one in store.calls.outcomes(run.id):
        outcomes[one.outcome] += one.calls
    failed = sum(count for outcome, count in outcomes.items() if outcome not in DECISIONS)
    return Ending(
        outcomes,
        run.world.scores(last),
        failed > outcomes.total() * float(run.setting.config.taint_share),
    )
