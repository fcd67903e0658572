"""`hobbes trace RUN --rejected` and `/RUN/rejections`: what was rejected or corrected in answers, and why."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hobbes.engine.record import Json
from hobbes.engine.turn import meanings
from hobbes.engine.world import AnyWorld
from hobbes.show.run_list import number_in
from hobbes.show.terminal import cell_of_json
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.turns import LoggedTurn


class Refused(NamedTuple):
    """A part of an answer that was rejected or corrected. `reason` says in words what its code means."""

    turn: int
    agent: str
    kind: str
    """`rejection` or `correction`."""
    stage: str
    code: str
    reason: str
    said: Json
    kept: Json
    """What a correction kept; None for a rejection."""
    detail: str

    @property
    def is_changed(self) -> bool:
        """Whether something else was kept than was said."""
        return self.kind == "correction" and self.kept != self.said

    @property
    def is_note(self) -> bool:
        """Whether it is a correction that changed nothing, such as a key that the schema does not have."""
        return self.kind == "correction" and not self.is_changed

    @property
    def why(self) -> str:
        """The reason, with what is said of this case alone."""
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


def refused_in(store: Store, run: Run, agents: Collection[str] = ()) -> Iterator[Refused]:
    """Yield what was rejected and corrected in the answers of a run, of all or of these agents.

    Raise DamagedError at a damaged turn.
    """
    for turn in store.turns.of(run):
        yield from (one for one in refused_of(run.world, turn) if not agents or one.agent in agents)


def refused_of(world: AnyWorld, turn: LoggedTurn) -> Iterator[Refused]:
    """Yield what was rejected in the answers of a turn, then what was corrected."""
    reasons = meanings(world)
    for kind, found in (("rejection", turn.record.drops), ("correction", turn.record.mends)):
        for one in found:
            fields = {"kept": None, "detail": "", **one._asdict()}
            yield Refused(turn=turn.turn, kind=kind, reason=reasons.get(one.code, one.code), **fields)


MAX_ROWS = 200
"""How many of them the page shows at a time."""


def page_of(store: Store, run: Run, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows from the `first` one on that its address asks for. Raise UsageError."""
    found, first = list(refused_in(store, run)), number_in(at, "first")
    shown = found[first : first + MAX_ROWS]
    return {
        "reasons": reasons_of(found),
        "columns": Reason._fields,
        "found": [one for one in shown if not one.is_note],
        "notes": [one for one in shown if one.is_note],
        "first": first,
        "most": MAX_ROWS,
        "next": first + MAX_ROWS if first + MAX_ROWS < len(found) else None,
        "total": len(found),
    }


class Reason(NamedTuple):
    """Why parts of answers were rejected or corrected, and how often."""

    kind: str
    times: int
    code: str
    reason: str


REFUSED = ("kind", "stage", "code", "said", "kept", "detail")
"""The columns of what was rejected and corrected in one answer."""


def refused_rows(
    drops: Iterable[Mapping[str, Any]], mends: Iterable[Mapping[str, Any]]
) -> list[tuple[object, ...]]:
    """Return what was rejected and corrected in one answer as the rows of a table."""
    kinds = [*(("rejection", one) for one in drops), *(("correction", one) for one in mends)]
    return [(kind, *(cell_of_json(one.get(column)) for column in REFUSED[1:])) for kind, one in kinds]


def reasons_of(found: Sequence[Refused]) -> list[Reason]:
    """Return the reasons of rejections, then those of corrections, the most frequent first."""
    times = Counter((one.kind, one.code, one.reason) for one in found)
    ranked = [Reason(kind, n, code, reason) for (kind, code, reason), n in times.most_common()]
    return sorted(ranked, key=lambda reason: reason.kind, reverse=True)
