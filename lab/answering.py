"""`hobbes answer`: a person rules on what the agents of a waiting run ask for."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from lab.errors import UsageError
from lab.records import Run
from lab.show import ERR, plain

Request = Mapping[str, Any]
"""What one unit asks: at least `unit`, `amount` and `reason`."""


def waiting(run: Run) -> list[dict[str, Any]]:
    """Give the requests that a run waits for an answer to; UsageError: it waits for none."""
    if run.question is None:
        raise UsageError(f"run {run.id} waits for no answer; it is {run.status}")
    requests: list[dict[str, Any]] = json.loads(run.question["asked"])["requests"]
    return requests


def as_told(requests: Sequence[Request], grants: Sequence[str], reason: str) -> str:
    """Give the answer that options spell: UNIT=AMOUNT; who is not named is declined."""
    amounts = dict.fromkeys((str(request["unit"]) for request in requests), 0)
    for text in grants:
        unit, _, amount = text.partition("=")
        if unit not in amounts or not amount.isdecimal():
            raise UsageError(f"--grant {text!r}: write UNIT=AMOUNT; these ask: {', '.join(amounts)}")
        amounts[unit] = int(amount)
    return _rulings({unit: (amount, reason) for unit, amount in amounts.items()})


def asked_in_terminal(requests: Sequence[Request]) -> str:
    """Ask for each request how much is granted, and why."""
    rulings = {}
    for request in requests:
        ERR.print(plain(f"{request['unit']} asks for {request['amount']}: {request['reason']}"))
        amount = typer.prompt("grant", default=0, type=int, err=True)
        rulings[str(request["unit"])] = (
            amount,
            typer.prompt("reason", default="", show_default=False, err=True),
        )
    return _rulings(rulings)


def _rulings(rulings: Mapping[str, tuple[int, str]]) -> str:
    """Spell rulings as the observer's answer."""
    said = {unit: {"grant": grant, "reason": reason} for unit, (grant, reason) in rulings.items()}
    return json.dumps({"rulings": said}, ensure_ascii=False)
