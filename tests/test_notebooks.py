"""The notebooks run from the first cell to the last, and are kept without outputs."""

import os
import sys
from pathlib import Path

import pytest

from hobbes.show.palette import PALETTE
from tests.conftest import ROOT

NOTEBOOKS = {path.stem: path for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, nbformat = map(pytest.importorskip, ("nbclient", "nbformat"))  # the extra `notebooks`
    for scheme in ("http", "https"):  # the kernel is another process, which knows nothing of patches
        monkeypatch.setenv(f"{scheme}_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    stop = ["--InteractiveShell.system_raise_on_error=True"]  # at a command that fails, too
    folder = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, extra_arguments=stop, resources=folder).execute()
    three_jobs = NOTEBOOKS["three-jobs"].read_text(encoding="utf-8")
    assert all(colour in three_jobs for colour in PALETTE[:4]), "agents have these colours on pages"
