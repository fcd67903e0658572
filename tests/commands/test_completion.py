"""What a shell offers: the names that somebody could type next."""

import pytest

from hobbes.worlds import WORLDS
from tests.conftest import Cli


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
