"""The contract suite holds the fishery as it holds the worlds of `engine`, once the fishery is among them."""

import subprocess
import sys

from tests.conftest import ROOT


def test_the_fishery_keeps_every_law_of_the_contract() -> None:
    """A process of its own, since the suite reads the list of worlds when it is imported.

    Only the golden digests are left out: they are kept of the worlds in `engine`.
    """
    added = ("-p", "no:cacheprovider", "-p", "tests.fishery.__main__")
    chosen = ("-k", "fishery", "tests/contract", "--ignore", "tests/contract/test_golden.py")
    command = [sys.executable, "-m", "pytest", *added, "-q", "-n", "0", *chosen]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
