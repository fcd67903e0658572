"""What a probe says of wordings of the same rules, and of a changed prompt beside them.

Wordings are a sample of all that say the same. A changed prompt does more than rewording if it is found to
differ from the prompt of the game, and lies outside of the range in which 95% of further wordings would be,
by the spread of those that were asked (Student's t). Source: docs/wordings.md#read-the-answer.
"""

import math
from collections.abc import Iterator, Mapping
from statistics import fmean, stdev

from hobbes.probe.column_comparison import student
from hobbes.probe.table import Difference, ProbeResult


def sentences_on_wordings(told: ProbeResult) -> Iterator[str]:
    """Yield how far acts differ between wordings, and whether what was found is more than rewording does."""
    means = {(one.column, one.act): one.difference.mean for one in told.differences}
    same: dict[str, list[str]] = {}
    for column in (result.column for result in told.columns if result.column.paraphrase):
        same.setdefault(told.against(column) or "", []).append(column.name)
    for first, others in same.items():
        spread = {
            act: {first: 0.0} | {one: means.get((one, act), 0.0) for one in others} for act in told.acts
        }
        found = [one for one in told.differences if one.is_found and one.against == first]
        chance = "" if any(one.column in others for one in found) else ", maybe by chance"
        yield _spread_in_words(spread, chance)
        for one in found:
            if one.column not in others and len(others) > 1:  # two wordings say hardly anything about a third
                yield _beside(one, [*spread[one.act].values()])


def _spread_in_words(spread: Mapping[str, Mapping[str, float]], chance: str) -> str:
    """Return in which act wordings differ most, given how far each is from the first of them in each act."""
    sizes = {act: 100 * (max(of_act.values()) - min(of_act.values())) for act, of_act in spread.items()}
    act = max(sizes, key=sizes.__getitem__)
    if not sizes[act]:
        return f"{len(spread[act])} wordings of the same rules differ in no act."
    least, most = (end(spread[act], key=spread[act].__getitem__) for end in (min, max))
    return (
        f"{len(spread[act])} wordings of the same rules differ by up to {sizes[act]:.0f} points{chance}: "
        f"{act} is least often in {least}, most often in {most}."
    )


def _beside(one: Difference, wordings: list[float]) -> str:
    """Return whether a difference is more than wordings make, given how far each is from the first one."""
    change = one.difference.mean
    if not any(wordings):
        does = "does more than rewording, which changed nothing here"
        return f"{one.column} {does}: {one.act} changes by {100 * change:+.0f} points."
    reach = student(len(wordings) - 1) * stdev(wordings) * math.sqrt(1 + 1 / len(wordings))
    low, high = fmean(wordings) - reach, fmean(wordings) + reach
    does = "is not shown to do" if low <= change <= high else "does"
    return (
        f"{one.column} {does} more than rewording: {one.act} changes by {100 * change:+.0f} points, in 95% "
        f"of further wordings by {100 * low:+.0f} to {100 * high:+.0f}."
    )
