"""How far coders agree: Krippendorff's alpha for each code, with an interval, and what they disagree on.

Alpha is 1 - observed disagreement / the disagreement expected by chance (Krippendorff, Computing
Krippendorff's Alpha-Reliability, 2011). It is 1 where all agree and 0 where they agree as by chance. It takes
any number of coders, of whom some may have coded less than others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from hobbes.lab.errors import LabError
from hobbes.lab.store.codings import Codebook, Coding, Decision

if TYPE_CHECKING:
    import numpy as np

RESAMPLES = 1_000
"""From how many bootstrap samples of decisions an interval is made."""

QUANTILES = (0.025, 0.975)
"""The ends of a 95% interval."""


class Coder(NamedTuple):
    """Who coded, and for which time: a model that codes twice counts as two coders."""

    name: str
    number: int

    def __str__(self) -> str:
        return self.name if self.number == 1 else f"{self.name} ({self.number})"


Values: TypeAlias = Mapping[Decision, Mapping[Coder, bool]]
"""What each coder said about each decision for one code."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of some coders on a code."""

    code: str
    coders: tuple[Coder, ...]
    decisions: int
    """How many decisions two of them or more have coded."""
    alike: int
    """On how many of these all agree."""
    alpha: float | None
    """None if it is undefined: nobody, or everybody, ever found the code, so that chance explains all."""
    low: float | None
    high: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the agreement as plain JSON."""
        return {
            "code": self.code,
            "coders": [one._asdict() for one in self.coders],
            "decisions": self.decisions,
            "alike": self.alike,
            "alpha": self.alpha,
            "interval": None if self.low is None else [self.low, self.high],
        }


class Disagreement(NamedTuple):
    """A decision on which coders disagree."""

    code: str
    decision: Decision
    values: Mapping[Coder, bool]

    def to_json(self) -> dict[str, Any]:
        """Return the disagreement as plain JSON."""
        return {"code": self.code, **self.decision._asdict(), "values": values_json(self.values)}


def values_json(values: Mapping[Coder, bool]) -> list[dict[str, Any]]:
    """Return what coders said about a decision for one code as plain JSON."""
    return [{**coder._asdict(), "value": value} for coder, value in values.items()]


def check_installed() -> None:
    """Raise LabError if the library of alpha is not installed."""
    try:
        import krippendorff  # noqa: F401, PLC0415
    except ImportError as error:
        raise LabError(
            "agreement needs krippendorff; install it in the checkout: pip install -e '.[stats]'"
        ) from error


def values_of(codings: Sequence[Coding], code: str) -> Values:
    """Return what each coder said about each decision for a code; nothing where they did not say."""
    found: dict[Decision, dict[Coder, bool]] = {}
    for one in codings:
        if (value := one.values.get(code)) is not None:
            found.setdefault(one.decision, {})[Coder(one.coder, one.number)] = value
    return found


def agreements(codebook: Codebook, codings: Sequence[Coding]) -> Iterator[Agreement]:
    """Yield the agreement on each code: of each two coders, and of all if there are more."""
    for code in codebook.names:
        values = values_of(codings, code)
        coders = sorted({coder for of_one in values.values() for coder in of_one})
        groups = [*combinations(coders, 2), *([tuple(coders)] if len(coders) > 2 else [])]  # noqa: PLR2004  a pair
        for group in groups:
            yield _agreement(code, group, values)


def _agreement(code: str, coders: tuple[Coder, ...], values: Values) -> Agreement:
    """Return the agreement of some coders on a code."""
    said = [[of_one[coder] for coder in coders if coder in of_one] for of_one in values.values()]
    counts = [(of_one.count(False), of_one.count(True)) for of_one in said if len(of_one) > 1]
    alike = sum(0 in of_one for of_one in counts)
    low, high = interval(counts)
    return Agreement(code, coders, len(counts), alike, alpha(counts), low, high)


Counts: TypeAlias = "Sequence[Sequence[int]] | np.ndarray[Any, np.dtype[np.int64]]"
"""How many coders gave each value, for each decision."""


def alpha(counts: Counts) -> float | None:
    """Return Krippendorff's alpha for nominal values, None if it is undefined."""
    import krippendorff  # noqa: PLC0415  it is optional
    import numpy as np  # noqa: PLC0415  slow to import

    table = np.asarray(counts)
    if not table.size or (table.sum(axis=0) > 0).sum() < 2:  # noqa: PLR2004  with one value nothing differs
        return None
    return float(krippendorff.alpha(value_counts=table, level_of_measurement="nominal"))


def interval(counts: Counts) -> tuple[float | None, float | None]:
    """Return the 95% interval of alpha over bootstrap samples of the decisions, by percentiles.

    Samples in which alpha is undefined are left out; without any other, there is no interval.
    """
    import numpy as np  # noqa: PLC0415  slow to import

    table, rng = np.asarray(counts), np.random.default_rng(0)
    drawn = (table[rng.integers(0, len(table), len(table))] for _ in range(RESAMPLES if len(table) else 0))
    known = [one for sample in drawn if (one := alpha(sample)) is not None]
    if not known:
        return None, None
    low, high = np.quantile(known, QUANTILES)
    return float(low), float(high)


def disagreements(codebook: Codebook, codings: Sequence[Coding]) -> Iterator[Disagreement]:
    """Yield the decisions on which coders disagree, code by code, in the order of runs and turns."""
    for code in codebook.names:
        for decision, values in sorted(values_of(codings, code).items()):
            if len({*values.values()}) > 1:
                yield Disagreement(code, decision, dict(sorted(values.items())))
