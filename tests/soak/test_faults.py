"""Every world against a server that does what real servers do: each call ends as what was done to it."""

from collections import Counter

import pytest

from engine.worlds import WORLDS
from lab.faults import ANSWER, parse_faults
from lab.playing import Request
from lab.records import Records
from nodes import chat
from tests.lab.play import played
from tests.lab.test_faults import OUTCOMES, log_of, served

pytestmark = pytest.mark.soak

ROUNDS, AGENTS, SHARE = 200, 6, "0.3"
SECONDS = 2.0
"""What a try may take; a stall takes 5 seconds."""


@pytest.mark.parametrize("world", WORLDS)
def test_every_call_of_a_long_run_is_recorded_as_what_the_server_did(
    world: str, opened: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat, "TIMEOUT", SECONDS)
    model = f"openai:policy/{WORLDS[world].policies.default}"
    with served(parse_faults(SHARE)) as base:
        run = played(opened, Request(world, AGENTS, models=model, values={"rounds": ROUNDS}))
        log = log_of(base)
    did = {entry["address"]: entry["did"] for entry in log}
    calls = [call for turn in range(run.turns) for call in opened.calls(run.id, turn)]
    assert {str(call.address): call.outcome for call in calls} == {
        address: "answered" if done == ANSWER else OUTCOMES[done][0] for address, done in did.items()
    }
    tries = {str(call.address): call.reply.tries for call in calls}
    assert Counter(entry["address"] for entry in log) == tries
    met = Counter(entry["did"] for entry in log)
    outcomes = opened.result(run)["outcomes"]
    print(f"\n{world}: {len(calls)} calls, {len(log)} requests, {len(met)} kinds of fault, {outcomes}")
