"""What a shell offers: the names that somebody could type next."""

import pytest

from hobbes.engine.worlds import WORLDS
from hobbes.lab.store.home import Store
from tests.conftest import Cli
from tests.lab.play import mining


def offered(cli: Cli, typed: str) -> list[str]:
    """What bash offers for the last word of a line."""
    line = f"hobbes {typed}"
    env = {"_HOBBES_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    return cli(env=env).stdout.split()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("tra", ["trace"]),
        ("run ", list(WORLDS)),
        ("worlds n", ["nations"]),
        ("prompts list t", ["trust"]),
        ("prompts show mining ", ["guided", "seed", "unguided"]),
        ("run mining --prompts ", ["guided", "seed", "unguided"]),
        ("run --rounds 3 mining --model policy:tit", ["policy:tit-for-tat-raid"]),
        ("run --prompts ", []),
        ("trace ", []),
    ],
)
def test_worlds_prompts_and_policies_are_offered(cli: Cli, typed: str, words: list[str]) -> None:
    assert offered(cli, typed) == words


def test_runs_are_offered_by_name_and_id(opened: Store, cli: Cli) -> None:
    one, other = mining(opened, name="first"), mining(opened)
    assert offered(cli, "trace ") == ["last", other.id, "first", one.id]
    assert offered(cli, "compare fi") == ["first"]
    assert offered(cli, f"replay --home {opened.home.parent} ") == []
