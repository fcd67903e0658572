"""A scan by Inspect Scout: it reads our log, asks a stand-in model, and is judged by the run's events.

docs/inspect.md shows the same; what it shows is run here.
"""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hobbes.play.start import RunOptions
from hobbes.show.exports import export
from hobbes.store.home import Store
from hobbes.wire.recorder import in_thread
from tests.conftest import ROOT
from tests.small_runs import played

# Only the process that scans imports them, which takes seconds.
pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("inspect_scout", "tiktoken"))), reason="pip install 'hobbes[inspect]'"
)

PAGE = (ROOT / "docs" / "inspect.md").read_text(encoding="utf-8")


def snippet(beginning: str) -> str:
    """Return the Python of the page that begins so."""
    found: list[str] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return next(code for code in found if code.startswith(beginning))


RAID = re.compile(r'\\*"raid\\*": \[\[')
"""A raid in an answer of a policy, also inside a text that is quoted."""


class Scanning:
    """A server whose model says yes if there is a raid in what it is shown. It notes the questions.

    The raids of one agent it overlooks.
    """

    def __init__(self, overlooked: str) -> None:
        self.asked: list[str] = []
        self.overlooked = overlooked
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._completion, methods=["POST"])])

    async def _completion(self, request: Request) -> Response:
        body = await request.json()
        asked = str(body["messages"][-1]["content"])
        self.asked.append(asked)
        said = "yes" if RAID.search(asked) and not _is_of(self.overlooked, asked) else "no"
        message = {"role": "assistant", "content": f"I looked for raids.\n\nANSWER: {said}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return JSONResponse({**head, "choices": [choice], "usage": usage})


def _is_of(agent: str, asked: str) -> bool:
    """Return whether a question shows the turns of an agent, whose view says who it is."""
    return f'"you":"{agent}"' in asked.replace("\\", "")


def test_scout_reads_a_log_and_is_judged_by_what_happened(
    opened: Store, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = "policy:raider*2,policy:greedy-mine*2"
    run = played(opened, RunOptions("mining", 4, 3, models, values={"rounds": 3}))
    raiders = {
        event.agent for turn in opened.turns.of(run) for event in turn.record.events if event.type == "raid"
    }
    wrong = min(raiders)
    (tmp_path / "logs").mkdir()
    export(opened, run, "inspect", tmp_path / "logs" / "run.eval")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOBBES_HOME", str(home))
    exec(snippet("import csv"), {})  # noqa: S102  the page's own
    (tmp_path / "scanning.py").write_text(snippet("from inspect_scout"), encoding="utf-8")
    model = Scanning(wrong)
    with in_thread(model.app) as url:
        known = {"SCANNER_BASE_URL": url, "SCANNER_API_KEY": "none", "PYTHONPATH": str(ROOT)}
        scan = (sys.executable, "-W", "ignore", "-m", "tests.scan")
        ended = subprocess.run(
            scan,
            env={**os.environ, **known, "XDG_DATA_HOME": str(tmp_path / "data")},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    found = {one["transcript_task_id"]: one for one in json.loads(ended.stdout.splitlines()[-1])}
    assert found.keys() == {*run.setting.agents}, "a transcript is an agent"
    assert {one["transcript_id"] for one in found.values()} == {f"{run.id}-{agent}" for agent in found}
    scores = opened.figures.result(run)["scores"]
    assert {agent: int(one["transcript_score"]) for agent, one in found.items()} == scores
    said_yes = {agent for agent, one in found.items() if str(one["value"]).lower() == "true"}
    assert said_yes == raiders - {wrong}
    right = {agent for agent, one in found.items() if str(one["validation_result"]).lower() == "true"}
    assert right == found.keys() - {wrong}
    assert len(model.asked) == len(found)
    (whole,) = (one.replace("\\", "") for one in model.asked if _is_of("miner-01", one))
    assert all(f'"turn":{turn}' in whole for turn in range(3)), "all turns are in it"
