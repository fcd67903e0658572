"""What codings say: how often each code applies, how far coders agree, and where they do not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from hobbes.engine.answer import DECISIONS
from hobbes.lab.coding.agreement import (
    Agreement,
    Coder,
    Disagreement,
    agreements,
    check_installed,
    disagreements,
    values_json,
)
from hobbes.lab.errors import MissingError
from hobbes.lab.experiment.coded import CodedRun, CodeMeasure, coded_runs
from hobbes.lab.play.modelsfile import read_models
from hobbes.lab.store.codings import (
    Codebook,
    Coding,
    Decision,
    codebooks,
    codings,
    still_to_code,
    values_by_decision,
)
from hobbes.lab.store.home import Store
from hobbes.lab.store.prices import prices_of, usd
from hobbes.nodes.caps import Spent


class Work(NamedTuple):
    """What a coder has done."""

    coder: str
    decisions: int
    codings: int
    failed: int
    """Codings without a readable answer."""
    spent: Spent

    def to_json(self) -> dict[str, Any]:
        """Return the work as plain JSON."""
        told = {"coder": self.coder, "decisions": self.decisions, "codings": self.codings}
        return {**told, "failed": self.failed, "tokens": self.spent.tokens, "usd": self.spent.usd}


class Share(NamedTuple):
    """How often a coder found a code in the decisions with an act, and in all others; None without any."""

    code: str
    coder: str
    act: str
    """Empty for all decisions."""
    decisions: int
    """How many decisions have a value and the act."""
    share: float | None
    others: int
    share_of_others: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain JSON."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class CodesTold:
    """The codings of some runs by a codebook, as they are told."""

    codebook: Codebook
    runs: tuple[str, ...]
    """The ids of the runs."""
    work: tuple[Work, ...]
    shares: tuple[Share, ...]
    agreements: tuple[Agreement, ...]
    disagreements: tuple[Disagreement, ...]

    def to_json(self) -> dict[str, Any]:
        """Return what is told as plain JSON."""
        return {
            "codebook": self.codebook.hash,
            "codes": [code._asdict() for code in self.codebook.codes],
            "runs": list(self.runs),
            "coders": [one.to_json() for one in self.work],
            "shares": [one.to_json() for one in self.shares],
            "agreement": [one.to_json() for one in self.agreements],
            "disagreements": [one.to_json() for one in self.disagreements],
        }


class CodesOfDecision(NamedTuple):
    """What coders said about one decision.

    `codes` has what each coder said for each code. It is empty while there are people in `waiting_for`, who
    have yet to code the decision, so that a card cannot tell them what others found.
    """

    codes: Mapping[str, Mapping[Coder, bool]]
    waiting_for: Sequence[str] = ()

    @property
    def found(self) -> tuple[str, ...]:
        """The codes that a coder found in the decision."""
        return tuple(code for code, values in self.codes.items() if any(values.values()))

    def to_json(self) -> list[dict[str, Any]] | None:
        """Return the codes as plain JSON, None while they are hidden."""
        if self.waiting_for:
            return None
        return [{"code": code, "values": values_json(values)} for code, values in self.codes.items()]


def codes_in(
    store: Store, run: str, turn: int | None = None, agent: str | None = None
) -> dict[Decision, CodesOfDecision]:
    """Return the codes of the decisions of a run, of a turn or of an agent, where there are any."""
    found = {}
    for decision, said in values_by_decision(store, run, turn, agent).items():
        codes: dict[str, dict[Coder, bool]] = {}
        for name, number, code, value in said:
            codes.setdefault(code, {})[Coder(name, number)] = value
        found[decision] = CodesOfDecision(codes)
    hidden = still_to_code(store, run, turn, agent)
    return {**found, **{decision: CodesOfDecision({}, people) for decision, people in hidden.items()}}


def codes_of(store: Store, run: str, turn: int, agent: str) -> CodesOfDecision:
    """Return what a card shows of the codes of its decision."""
    return codes_in(store, run, turn, agent).get(Decision(run, turn, agent), CodesOfDecision({}))


def tell(store: Store, runs: Iterable[str] = (), codebook: Codebook | None = None) -> CodesTold:
    """Return what codings say: of these runs, given by id, or of all; by default by the newest codebook.

    Raise MissingError if nothing has been coded, LabError if the library of alpha is missing.
    """
    check_installed()
    book = codebook or next(iter(codebooks(store)), None)
    wanted = {*runs}
    found = (
        [one for one in codings(store, codebook=book.hash) if not wanted or one.run in wanted] if book else []
    )
    if book is None or not found:
        which = "these runs" if wanted else str(store.home)
        hint = "`hobbes code RUN --codes codes.toml --model openai:NAME` codes a run"
        raise MissingError(f"nothing is coded in {which} yet; {hint}")
    there = tuple(sorted({one.run for one in found}))
    return CodesTold(
        book,
        there,
        tuple(_work(store, found)),
        tuple(_shares(store, book, there, found)),
        tuple(agreements(book, found)),
        tuple(disagreements(book, found)),
    )


def _work(store: Store, found: Sequence[Coding]) -> Iterator[Work]:
    """Yield what each coder has done."""
    prices, models = prices_of(store.home), read_models(store.home)
    for coder in sorted({one.coder for one in found}):
        of_one, spent = [one for one in found if one.coder == coder], Spent()
        for one in of_one:
            reply = one.call.reply
            known = reply.tokens_in is not None and reply.tokens_out is not None
            spent.add(
                (reply.tokens_in or 0) + (reply.tokens_out or 0) if known else None,
                usd(prices, reply, models.get(coder)),
            )
        failed = sum(one.call.outcome not in DECISIONS for one in of_one)
        yield Work(coder, len({one.decision for one in of_one}), len(of_one), failed, spent)


def _shares(store: Store, book: Codebook, runs: Sequence[str], found: Sequence[Coding]) -> Iterator[Share]:
    """Yield how often each code was found by each coder: in all decisions, then by the acts that occur."""
    by_coder = {
        coder: list(coded_runs(store, runs, coder, book.names, book.hash))
        for coder in sorted({one.coder for one in found})
    }
    plays = [one for of_coder in by_coder.values() for one in of_coder]
    acts = {act: None for one in plays for of_one in one.acts.values() for act in of_one if " " not in act}
    for code in book.names:
        for coder, coded in by_coder.items():
            for act in ("", *sorted(acts)):
                having = _found(coded, CodeMeasure(code, act))
                others = _found(coded, CodeMeasure(code, act, has_act=False)) if act else []
                if having:
                    yield Share(
                        *(code, coder, act, len(having), fmean(having)),
                        *(len(others), fmean(others) if others else None),
                    )


def _found(coded: Sequence[CodedRun], measure: CodeMeasure) -> list[float]:
    return [share for one in coded for share in one.found(measure)]
