"""A scan by Inspect Scout: it reads our log, asks a stand-in model, and is judged by people's codes.

docs/inspect.md shows the same; what it shows is run here.
"""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hobbes.lab.coding.questions import decisions_of
from hobbes.lab.play.playing import RunOptions
from hobbes.lab.show.coding import code_by_hand, queue_of
from hobbes.lab.show.exporting import export
from hobbes.lab.store.codings import Code, Codebook, keep_codebook, keep_queue
from hobbes.lab.store.home import Store
from hobbes.lab.wire.recording import in_thread
from tests.conftest import ROOT
from tests.lab.play import played

scout = pytest.importorskip(
    "inspect_scout", reason="inspect_scout is not installed: pip install inspect_scout"
)
tiktoken = pytest.importorskip("tiktoken")

PAGE = (ROOT / "docs" / "inspect.md").read_text(encoding="utf-8")


def snippet(beginning: str) -> str:
    """Return the Python of the page that begins so."""
    found: list[str] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return next(code for code in found if code.startswith(beginning))


RAID = re.compile(r'\\*"raid\\*": \[\[')
"""A raid in an answer of a policy, also inside a text that is quoted."""


class Scanning:
    """A server whose model says yes if there is a raid in what it is shown. It notes the questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._completion, methods=["POST"])])

    async def _completion(self, request: Request) -> Response:
        body = await request.json()
        asked = str(body["messages"][-1]["content"])
        self.asked.append(asked)
        said = "yes" if RAID.search(asked) else "no"
        message = {"role": "assistant", "content": f"I looked for raids.\n\nANSWER: {said}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return JSONResponse({**head, "choices": [choice], "usage": usage})


@pytest.mark.filterwarnings("ignore")  # those of the libraries that Scout uses
def test_scout_reads_a_log_and_is_judged_by_what_people_coded(
    opened: Store, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = "policy:raider*2,policy:greedy-mine*2"
    run = played(opened, RunOptions("mining", 4, 3, models, values={"rounds": 3}))
    book = Codebook((Code("raids", "The agent raids."),))
    decisions = dict(decisions_of(opened, [run], None, (), None))
    keep_codebook(opened, book)
    keep_queue(opened, book, "ada", decisions)
    for number, decision in enumerate(queue_of(opened, "ada").queue.decisions, start=1):
        said = "yes" if RAID.search(decisions[decision].reply.text) else "no"
        code_by_hand(opened, queue_of(opened, "ada"), number, {"raids": said})
    (tmp_path / "logs").mkdir()
    export(opened, run, "inspect", tmp_path / "logs" / "run.eval")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOBBES_HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    # Scout counts the tokens of each question, with an encoding that is fetched from the internet.
    of_bytes = tiktoken.Encoding(
        "o200k_base", pat_str=".|\n", mergeable_ranks={bytes([k]): k for k in range(256)}, special_tokens={}
    )
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "o200k_base", of_bytes)
    exec(snippet("import hobbes"), {})  # noqa: S102  the page's own
    scanners: dict[str, Any] = {}
    exec(snippet("from inspect_scout"), scanners)  # noqa: S102  as above
    model = Scanning()
    with in_thread(model.app) as url:
        monkeypatch.setenv("CODER_BASE_URL", url)
        monkeypatch.setenv("CODER_API_KEY", "none")
        status = scout.scan(
            [scanners["raids"]()],
            transcripts=scout.transcripts_from("logs"),
            scans="scans",
            validation={"raids": scout.validation_set("raids.csv")},
            model="openai-api/coder/any",
            max_processes=1,
            display="none",
        )
    assert status.complete
    found = scout.scan_results_df(status.location).scanners["raids"].set_index("transcript_task_id")
    assert {*found.index} == {*run.setting.agents}, "a transcript is an agent"
    scores = opened.figures.result(run)["scores"]
    assert {agent: int(score) for agent, score in found["transcript_score"].items()} == scores
    raiders = {one.agent for one, call in decisions.items() if RAID.search(call.reply.text)}
    assert raiders
    assert {agent: bool(value) for agent, value in found["value"].items()} == {
        agent: agent in raiders for agent in run.setting.agents
    }
    assert pd.Series(found["validation_result"]).map(str).str.lower().eq("true").all()
    assert len(model.asked) == len(run.setting.agents)
    whole = next(asked for asked in model.asked if '"you":"miner-01"' in asked.replace('\\"', '"'))
    assert all(f'"turn":{turn}' in whole.replace('\\"', '"') for turn in range(3)), "all turns are in it"
