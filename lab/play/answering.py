"""`hobbes answer`: a person rules on what the agents of a waiting run ask for."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from lab.errors import UsageError
from lab.show.terminal import ERR, plain
from lab.store.database import Run

Request = Mapping[str, Any]
"""What one unit asks: at least `unit`, `amount` and `reason`."""


def waiting(run: Run) -> list[dict[str, Any]]:
    """Give the requests that a run waits for an answer to; UsageError: it waits for none."""
    if run.question is None:
        raise UsageError(f"run {run.id} waits for no answer, it is {run.status}")
    requests: list[dict[str, Any]] = json.loads(run.question["asked"])["requests"]
    return requests


def as_told(requests: Sequence[Request], grants: Sequence[str], reason: str) -> str:
    """Give the answer that options spell: UNIT=AMOUNT; who is not named is declined."""
    asked = {str(request["unit"]): int(request["amount"]) for request in requests}
    granted: dict[str, int] = {}
    for text in grants:
        unit, _, amount = text.partition("=")
        if unit not in asked or unit in granted or not re.fullmatch("[0-9]{1,18}", amount):
            raise UsageError(f"--grant {text!r}: write UNIT=AMOUNT, each once; these ask: {', '.join(asked)}")
        granted[unit] = int(amount)
        if granted[unit] > asked[unit]:
            raise UsageError(f"--grant {text!r}: {unit} asks for {asked[unit]}")
    return _rulings({unit: (granted.get(unit, 0), reason) for unit in asked})


def asked_in_terminal(requests: Sequence[Request]) -> str:
    """Ask for each request how much is granted, and why."""
    rulings = {}
    for request in requests:
        ERR.print(plain(f"{request['unit']} asks for {request['amount']}: {request['reason']}"))
        amount = -1
        while not 0 <= amount <= request["amount"]:
            amount = typer.prompt(f"grant, 0 to {request['amount']}", default=0, type=int, err=True)
        reason = typer.prompt("reason", default="", show_default=False, err=True)
        rulings[str(request["unit"])] = (amount, reason)
    return _rulings(rulings)


def _rulings(rulings: Mapping[str, tuple[int, str]]) -> str:
    """Spell rulings as the observer's answer."""
    if not all(reason.isprintable() for _, reason in rulings.values()):
        raise UsageError("a reason is text in UTF-8 on one line")
    said = {unit: {"grant": grant, "reason": reason} for unit, (grant, reason) in rulings.items()}
    return json.dumps({"rulings": said}, ensure_ascii=False)
