"""Every world against a server that does what real servers do: each call ends as what was done to it."""

from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from hobbes.engine.answer import DECISIONS
from hobbes.nodes.call_failures import TRIES
from hobbes.play.start import RunOptions
from hobbes.store.home import Store
from hobbes.worlds import WORLDS
from tests import faults
from tests.faults import ANSWER, FAULTS, draw_fault
from tests.small_runs import played
from tests.soak import times
from tests.wire.test_faults import OUTCOMES, log_of, served

pytestmark = pytest.mark.soak

ROUNDS, AGENTS, SHARE = times(100), 20, 0.3
SECONDS = 2.0
"""What a try may take; a stall takes 5 seconds."""


def name_a_model(store: Store, policy: str) -> None:
    """Write the models file of a home, with a model that has so little time."""
    (store.home / "models.toml").write_text(
        f'impatient = {{ model = "policy/{policy}", timeout = {SECONDS} }}'
    )


@pytest.mark.parametrize("world", WORLDS)
def test_every_call_of_a_long_run_is_recorded_as_what_the_server_did(
    world: str, opened: Store, tried: Callable[[str], None]
) -> None:
    name_a_model(opened, WORLDS[world].policies.default)
    with served(dict.fromkeys(FAULTS, SHARE / len(FAULTS))) as base:
        run = played(opened, RunOptions(world, AGENTS, models="impatient", values={"rounds": ROUNDS}))
        log = log_of(base)
    did = {entry["address"]: entry["did"] for entry in log}
    calls = [call for turn in range(run.turns) for call in opened.calls.of_turn(run.id, turn)]
    assert {str(call.address): call.outcome for call in calls} == {
        address: "answered" if done == ANSWER else OUTCOMES[done][0] for address, done in did.items()
    }
    tries = {str(call.address): call.reply.tries for call in calls}
    assert Counter(entry["address"] for entry in log) == tries
    met = Counter(entry["did"] for entry in log)
    outcomes = opened.figures.result(run)["outcomes"]
    decided = {outcome: outcomes.get(outcome, 0) for outcome in DECISIONS}
    assert opened.calls.failures(run.id)["total"] == len(calls) - sum(decided.values())
    tried(f"{len(calls)} calls, {len(log)} requests, {len(met)} kinds of fault")


HEALED = [
    name
    for name, (outcome, tries) in OUTCOMES.items()
    if (outcome == "answered" or tries > 1) and name not in {"think-tags", "thought-tags"}
]
"""The faults after which the same answer is there in the end; thoughts before it make it another text."""


LONG = {
    "stall",
    "overloaded-529",
    "flex-unavailable",
    "wait-seconds",
    "wait-fraction",
    "wait-milliseconds",
    "wait-date",
}
"""The faults for which a call has SECONDS in all, so that it may meet one of them, at its first try."""


def healed(shares: Mapping[str, float], address: str, time: int) -> str:
    """Draw a fault that passes: the fifth try is answered, and the one after a long fault."""
    fault = draw_fault(shares, address, time)
    if time == 1:
        return fault
    over = time >= TRIES or fault in LONG or draw_fault(shares, address, 1) in LONG
    return ANSWER if over else fault


@pytest.mark.parametrize("reask", [0, 1])
@pytest.mark.parametrize("world", WORLDS)
def test_where_every_fault_passes_a_long_run_is_as_if_there_had_been_none(
    world: str, reask: int, opened: Store, monkeypatch: pytest.MonkeyPatch, tried: Callable[[str], None]
) -> None:
    name_a_model(opened, f"{WORLDS[world].policies.default}?noise=0.2")
    request = RunOptions(world, AGENTS, models="impatient", values={"rounds": ROUNDS, "reask": reask})
    with served({}):
        whole = played(opened, request)
    monkeypatch.setattr(faults, "draw_fault", healed)
    with served(dict.fromkeys(HEALED, SHARE / len(HEALED))) as base:
        run = played(opened, request)
        log = log_of(base)
    assert opened.figures.result(run)["outcomes"] == opened.figures.result(whole)["outcomes"]
    assert run.digest == whole.digest
    met = Counter(entry["did"] for entry in log if entry["did"] != ANSWER)
    calls = opened.figures.result(run)["calls"]
    tried(f"{calls} calls, {len(log)} requests, {met.total()} faults of {len(met)} kinds")
