"""agent_reason: every actor is asked at once, and each answer is written down the moment it arrives."""

import asyncio
from typing import Any

from nodes.journal import Address, Call, Journal
from nodes.minds import Mind, Minds
from nodes.reading import DECISIONS, read
from nodes.state import TurnState, Update


class HaltedError(RuntimeError):
    """A call gave no decision in a run whose `on_failure` is `halt`. What was answered is kept."""


async def agent_reason(minds: Minds, journal: Journal, state: TurnState) -> Update:
    """Ask every actor, or take the answer that the journal has, and read what was said."""
    halting = state["run"]["config"]["on_failure"] == "halt"
    asked = [
        ask(
            minds.named(state["models"][agent]), journal, Address(state["turn"], agent), view, halting=halting
        )
        for agent, view in state["views"].items()
    ]
    # One bug must not cost the other agents' paid answers: all are awaited, then the bug raises.
    answers = await asyncio.gather(*asked, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    given = dict(zip(state["views"], answers, strict=True))
    if halting:
        halt_on_failure(state["turn"], given)
    return {"answers": given}


async def ask(
    mind: Mind, journal: Journal, address: Address, view: dict[str, Any], *, halting: bool
) -> dict[str, Any]:
    """Get one answer. Where failures halt the run, a failed call is asked again, as a new attempt."""
    prompt = mind.prompt(view)
    known = journal.answered(address, prompt)
    if known is not None and halting and known.outcome not in DECISIONS:
        address = Address(address.turn, address.agent, known.address.attempt + 1)
        known = None
    reply = known.reply if known is not None else await mind.reply(address, prompt)
    reading = read(address.agent, reply)
    if known is None:
        journal.keep(Call(address, prompt, reply, reading.outcome, reading.stage))
    else:
        journal.read(known, reading.outcome, reading.stage)
    return {
        "outcome": reading.outcome,
        "error": reply.error,
        "said": reading.said,
        "drops": [drop.to_json() for drop in reading.drops],
        "mends": [mend.to_json() for mend in reading.mends],
    }


def halt_on_failure(turn: int, answers: dict[str, Any]) -> None:
    """Stop before a default action would be taken for anybody."""
    for agent, answer in answers.items():
        if answer["outcome"] not in DECISIONS:
            raise HaltedError(f"turn {turn}, {agent}: {answer['outcome']} {answer['error']}".rstrip())
