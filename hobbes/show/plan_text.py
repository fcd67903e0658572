"""What an experiment would cost, and what it could find: `hobbes experiment --dry-run`."""

from collections.abc import Iterator

from hobbes.engine.telling import counted
from hobbes.errors import ExtraError
from hobbes.experiment.cost_estimate import Estimate
from hobbes.experiment.plan import Plan
from hobbes.experiment.power import detectable_effect
from hobbes.experiment.report import strictest_level
from hobbes.experiment.statistics import fewest_pairs
from hobbes.show.terminal import OUT, plain, print_json, remark, table


def cost_rows(cost: Estimate) -> list[tuple[str, str]]:
    """Return what an experiment will cost, as rows of two cells."""
    usd = "" if cost.usd is None else f"{cost.usd:,.2f}"
    needs = f"unknown: give {', '.join(cost.usd_needs)} in models.toml (docs/models.md#prices)"
    out = "unknown" if cost.tokens_out is None else f"{cost.tokens_out:,}"
    kept = f" ({cost.tokens_cached:,} from a cache)" if cost.tokens_cached else ""
    return [
        ("runs to play", f"{cost.runs:,}"),
        ("calls to models", f"about {cost.calls:,}" if cost.calls else "none"),
        ("tokens", f"about {cost.tokens_in:,} in{kept}, {out} out" if cost.calls else "none"),
        ("dollars", usd or needs),
    ]


def show_plan(made: Plan, cost: Estimate, *, as_json: bool) -> None:
    """Print what an experiment would cost, and how small a difference it could find.

    That difference comes from simulated experiments, which need the library of statistics.
    """
    level, effect = strictest_level(made.file), None
    try:
        effect = detectable_effect(len(made.file.seeds), level)
    except ExtraError as error:
        remark(f"how small a difference is found is left out: {error}")
    if as_json:
        print_json(
            {
                "experiment": made.file.name,
                "runs": cost.runs,
                "played": len(made.cells) - cost.runs,
                "calls": cost.calls,
                "tokens": {"in": cost.tokens_in, "cached": cost.tokens_cached, "out": cost.tokens_out},
                "usd": cost.usd,
                "detectable_effect": effect,
            }
        )
        return
    OUT.print(table(f"{made.file.name}: {counted(len(made.cells), 'run')}", ("", ""), cost_rows(cost)))
    for note in _notes(made, effect, fewest_pairs(level)):
        OUT.print(plain(f"\n{note}"))


def _notes(made: Plan, effect: float | None, fewest: int) -> Iterator[str]:
    """Yield where the arms begin, and how small a difference their seeds find."""
    seeds = len(made.file.seeds)
    if made.file.origin:
        turns = sorted({base.turn for base in made.file.origin.bases})
        where = f"turn {turns[0]}" if len(turns) == 1 else f"turns {turns[0]} to {turns[-1]}"
        runs = counted(seeds, "recorded run")
        yield f"all arms fork {runs} at {where}; the turns before cost nothing"
    if seeds < fewest:
        yield f"nothing can be concluded from {counted(seeds, 'seed')}; play {fewest} or more"
    elif effect is not None:
        found = f"{effect:.2f} standard deviations of the paired differences"
        yield f"in 80% of experiments, {seeds} seeds find a difference of {found}"
    if any(made.file.paraphrases_of(arm) for arm in made.file.arms):
        yield "these sizes hold for these wordings alone; a claim about all wordings needs larger ones"
