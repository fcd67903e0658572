"""Codings for people: what they say, in the terminal and on a page, and the queue of a person."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hobbes.engine.answer import FoundAs, Outcome
from hobbes.engine.board import join_names
from hobbes.engine.telling import counted
from hobbes.lab.coding.agreement import Agreement, Coder
from hobbes.lab.coding.questions import question
from hobbes.lab.coding.telling import CodesOfDecision, CodesTold, Share, Work
from hobbes.lab.errors import MissingError, UsageError
from hobbes.lab.show.findings import Section
from hobbes.lab.store.codings import Coding, Decision, Queue, codings, keep_coding, queues
from hobbes.lab.store.home import Store
from hobbes.nodes.journal import Address, Call, PlayerKind, Reply

MAX_LISTED = 50
"""How many disagreements are listed for people."""

YES, NO = "yes", "no"
"""What a person answers for a code."""

CODERS = ("coder", "decisions", "codings", "failed", "tokens", "dollars")
SHARES = ("code", "coder", "act", "with it", "n", "without it", "n")
AGREEMENTS = ("code", "coders", "decisions", "alike", "alpha", "95% interval")

OF_SHARES = (
    "Shares of the decisions in which a coder found the code: of those with the act, and of all others."
)

OF_AGREEMENT = (
    "Alpha is Krippendorff's: 1 where all agree, 0 where they agree as by chance. Its 95% interval is from "
    "bootstrap samples of the decisions; decisions of one run are alike, so in other runs alpha may differ "
    "more. A model that codes twice is two coders."
)


def title_of(told: CodesTold) -> str:
    """Return the title of what codings say."""
    return f"Codes of {len(told.runs)} runs" if len(told.runs) > 1 else f"Codes of run {told.runs[0]}"


def sections(told: CodesTold) -> Iterator[Section]:
    """Yield what codings say, but for the disagreements."""
    yield Section("Coders", (), CODERS, [_work(one) for one in told.work])
    yield Section("How often", [OF_SHARES], SHARES, [_share(one) for one in told.shares])
    rows = [_agreement(one) for one in told.agreements]
    texts = [OF_AGREEMENT] if rows else ["Only one coder has coded."]
    yield Section("Agreement", texts, AGREEMENTS if rows else (), rows)


def _work(one: Work) -> tuple[str, ...]:
    """Return the cells of what a coder has done."""
    tokens, usd = one.spent.tokens, one.spent.usd
    return (
        *(one.coder, str(one.decisions), str(one.codings), str(one.failed)),
        *("unknown" if tokens is None else f"{tokens:,}", "unknown" if usd is None else f"{usd:,.4f}"),
    )


def _share(one: Share) -> tuple[str, ...]:
    """Return the cells of a share."""
    with_it = "-" if one.share is None else f"{one.share:.0%}"
    without = "-" if one.share_of_others is None else f"{one.share_of_others:.0%}"
    return (
        *(one.code, one.coder, one.act or "(all decisions)", with_it, str(one.decisions)),
        *(without, str(one.others) if one.act else ""),
    )


def _agreement(one: Agreement) -> tuple[str, ...]:
    """Return the cells of an agreement."""
    interval = "-" if one.low is None or one.high is None else f"{one.low:.2f} to {one.high:.2f}"
    alpha = "-" if one.alpha is None else f"{one.alpha:.2f}"
    coders = ", ".join(map(str, one.coders))
    return one.code, coders, str(one.decisions), str(one.alike), alpha, interval


def said_by_coders(values: Mapping[Coder, bool]) -> str:
    """Return what each coder said, in one line."""
    return ", ".join(f"{coder}: {YES if value else NO}" for coder, value in values.items())


def of_card(codes: CodesOfDecision) -> list[tuple[str, str]]:
    """Return what a card says of codes, each behind the name of a code; nothing if there are none."""
    if codes.waiting_for:
        return [("hidden", f"{join_names(codes.waiting_for)} must code this decision first")]
    return [(code, said_by_coders(values)) for code, values in codes.codes.items()]


def disagreements(told: CodesTold) -> Section:
    """Return the disagreements, each with what follows `hobbes trace` to show the decision."""
    rows = [
        (one.code, " ".join(map(str, one.decision)), said_by_coders(one.values))
        for one in told.disagreements[:MAX_LISTED]
    ]
    texts = ["`hobbes trace RUN TURN AGENT` shows a decision."] if rows else ["There are none."]
    if more := len(told.disagreements) - len(rows):
        texts.append(f"{more} more are in --json.")
    return Section("Disagreements", texts, ("code", "run, turn, agent", "said") if rows else (), rows)


# --- the queue of a person


class QueueSoFar(NamedTuple):
    """The queue of a person, and what the person has coded of it."""

    queue: Queue
    coded: Mapping[Decision, Coding]

    @property
    def done(self) -> int:
        """How many decisions of the queue have been coded."""
        return sum(one in self.coded for one in self.queue.decisions)

    @property
    def next(self) -> int | None:
        """The number of the first decision that has not been coded, from 1; None if there is none."""
        places = enumerate(self.queue.decisions, start=1)
        return next((number for number, one in places if one not in self.coded), None)


def queues_so_far(store: Store) -> list[QueueSoFar]:
    """Return all queues."""
    return [
        QueueSoFar(
            queue,
            {one.decision: one for one in codings(store, codebook=queue.codebook.hash, coder=queue.coder)},
        )
        for queue in queues(store)
    ]


def queue_of(store: Store, coder: str) -> QueueSoFar:
    """Return the queue of a person that is not done, or else the newest. Raise MissingError without one."""
    found = [one for one in queues_so_far(store) if one.queue.coder == coder]
    if not found:
        raise MissingError(
            f"{coder!r} has no queue; `hobbes code RUN --codes codes.toml --as {coder}` makes one"
        )
    return next((one for one in found if one.next is not None), found[0])


def card(store: Store, so_far: QueueSoFar, number: int) -> dict[str, Any]:
    """Return what a person is shown of a decision of a queue: what a model is shown, and what was answered.

    Nothing says which run it is from, or what others found. Raise MissingError if there is none.
    """
    call = _call(store, so_far, number)
    before = so_far.coded.get(so_far.queue.decisions[number - 1])
    return {
        "number": number,
        "reasoning": call.reply.reasoning,
        "answer": call.reply.text,
        "system": call.prompt.system,
        "prompt": call.prompt.turn,
        "values": before.values if before else {},
    }


def _call(store: Store, so_far: QueueSoFar, number: int) -> Call:
    """Return the call of a decision of a queue."""
    if not 1 <= number <= len(so_far.queue.decisions):
        raise MissingError(
            f"the queue of {so_far.queue.coder} has {counted(len(so_far.queue.decisions), 'decision')}"
        )
    decision = so_far.queue.decisions[number - 1]
    (call,) = store.calls.of_turn(*decision)
    return call


def code_by_hand(store: Store, so_far: QueueSoFar, number: int, said: Mapping[str, str]) -> None:
    """Keep what a person answered about a decision. Raise UsageError unless each code has a yes or a no."""
    codebook = so_far.queue.codebook
    lacking = [name for name in codebook.names if said.get(name) not in {YES, NO}]
    if lacking:
        raise UsageError(f"say yes or no for each code; there is none for {', '.join(lacking)}")
    values: dict[str, bool | None] = {name: said[name] == YES for name in codebook.names}
    decision, prompt = so_far.queue.decisions[number - 1], question(codebook, _call(store, so_far, number))
    reply = Reply(json.dumps(values), PlayerKind.HUMAN, tokens_in=0, tokens_out=0, player=PlayerKind.HUMAN)
    call = Call(Address(decision.turn, decision.agent), prompt, reply, Outcome.ANSWERED, FoundAs.JSON)
    keep_coding(store, Coding(codebook.hash, so_far.queue.coder, decision.run, call, values))


def codes_page(told: CodesTold | None, so_far: Sequence[QueueSoFar]) -> dict[str, Any]:
    """Return what the page of codes shows."""
    return {
        "told": told,
        "title": title_of(told) if told else "Codes",
        "sections": list(sections(told)) if told else [],
        "disagreements": [(one, said_by_coders(one.values)) for one in told.disagreements[:MAX_LISTED]]
        if told
        else [],
        "more": max(0, len(told.disagreements) - MAX_LISTED) if told else 0,
        "queues": so_far,
    }
