"""The contract suite holds the fishery as it holds the worlds of `engine`, once the fishery is among them."""

import subprocess
import sys

from tests.conftest import ROOT


def test_the_fishery_keeps_every_law_of_the_contract() -> None:
    """A process of its own, since the suite reads the list of worlds when it is imported."""
    added = ("-p", "no:cacheprovider", "-p", "tests.fishery.__main__")
    command = [sys.executable, "-m", "pytest", *added, "-q", "-n", "0", "-k", "fishery", "tests/contract"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
