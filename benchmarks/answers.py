"""What the worst answers cost: processor time and memory of one call, from its response to its card.

Each answer is as long as one may be, and made to be slow to parse, to search for keys, to read, to repair, to
record or to show. A process of its own is sent it in a game of one round, prints the card of the turn, and
makes its page. The bounds of docs/failures.md#long-answers keep all of them small.
"""

import io
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks._runs import apart, most_megabytes
from hobbes.cli import app
from hobbes.loop import play_out
from hobbes.nodes import call_failures
from hobbes.nodes.chat import MAX_BODY_BYTES, MAX_BODY_PARTS
from hobbes.nodes.reading import MAX_LENGTH, MAX_REPAIR_LENGTH
from hobbes.play.playthrough import go_on
from hobbes.play.start import RunOptions, begin
from hobbes.show.web.run_pages import RunPages
from hobbes.store.home import open_store
from hobbes.wire.recorder import environment, in_thread

MAX_SECONDS, MAX_MEGABYTES = 2.0, 100.0
"""What an answer may cost."""

KEY = "sk-benchmark-0123456789"
FULL = MAX_BODY_BYTES - 1_000
"""About as many bytes as a response may have."""


def _filled(unit: str, length: int = MAX_LENGTH, begin: str = "", end: str = "") -> str:
    """Return a text of about this length, most of which is a unit again and again."""
    return begin + unit * ((length - len(begin) - len(end)) // len(unit)) + end


def _completion(content: object = "{}", **message: object) -> bytes:
    """Return the response with a message; letters that are not ASCII are not escaped."""
    answer = {"role": "assistant", "content": content, **message}
    choice = {"message": answer, "finish_reason": "stop"}
    return json.dumps({"choices": [choice]}, ensure_ascii=False).encode()


ANSWERS: Mapping[str, Callable[[], bytes]] = {
    "a response of 3.3 million objects": lambda: _completion(tools=[{}] * (FULL // 4)),
    "a response of nearly as many objects as may be": lambda: _completion(tools=[{}] * (MAX_BODY_PARTS // 3)),
    "a response of ten million brackets": lambda: b"[" * FULL,
    "a response of ten million letters, one an emoji": lambda: _completion(_filled("x", FULL - 100) + "😀"),
    "a page of ten million letters": lambda: b"<p>" + b"x" * FULL,
    "an error of ten million letters": lambda: json.dumps(
        {"error": {"message": _filled("&#115;", FULL - 100), "code": 400}}
    ).encode(),
    "ten million bytes of tool calls": lambda: _completion(None, tool_calls=[_filled("\\", FULL // 2)]),
    "ten million bytes of percent escapes": lambda: _completion(_filled("%25%37%33", FULL)),
    "ten million bytes of entities, as a reasoning": lambda: _completion(reasoning=_filled("&#115;", FULL)),
    "the key in entities, as an answer and a reasoning": lambda: _completion(
        _filled("".join(f"&#{ord(letter)};" for letter in KEY)),
        reasoning=_filled("".join(f"%26#{ord(letter)};" for letter in KEY)),
    ),
    "ten million bytes of fences": lambda: _completion(_filled("```json\n{}\n```\n", FULL * 3 // 4)),
    "a million letters of claims": lambda: _completion(_filled("[0,0],", begin='{"claim":[', end="[0,0]]}")),
    "a million letters of objects": lambda: _completion(_filled('{"":0},', begin='{"a":[', end="{}]}")),
    "a million letters of huge numbers": lambda: _completion(_filled("1e99,", begin='{"a":[', end="1]}")),
    "a key said twice in each of 28 nested objects": lambda: _completion(
        _filled("{},", begin='{"a":1,"a":' * 28 + "[", end="{}]" + "}" * 28)
    ),
    "a million invisible letters": lambda: _completion(_filled("\u200b", begin='{"reasoning":"', end='"}')),
    "a million broken objects": lambda: _completion(_filled('{"a":[[],', begin="", end="")),
    "a thousand objects, the last one long": lambda: _completion(
        "{} " * 990 + _filled("{},", 990_000, '{"a":[')
    ),
    "quotation marks to repair": lambda: _completion(_filled('" ', MAX_REPAIR_LENGTH, '{"a":')),
    "words to repair": lambda: _completion(_filled("a b ", MAX_REPAIR_LENGTH, '{"a":[')),
    "a million line breaks, as an answer and a reasoning": lambda: _completion(
        _filled("x\n"), reasoning=_filled("x\n")
    ),
    "a reasoning that is cut off": lambda: _completion(_filled("\\n", begin='{"reasoning":"')),
}
"""The body of each answer, which is made where it is sent."""


class Cost(NamedTuple):
    """What an answer costs beyond a short one."""

    asked: float
    """Seconds of processor time until the turn has ended and is stored."""
    card: float
    """Those to print the card of its turn."""
    page: float
    """Those to make the page of it."""
    megabytes: float
    """The most memory meanwhile."""


def measure() -> list[tuple[str, str, str]]:
    """Return the rows of the table: seconds and megabytes of each answer, and the most of all."""
    rows, costs = [], []
    for name, body in ANSWERS.items():
        with _serving(body()) as base:
            cost = apart(_cost, base)
        seconds = f"{cost.asked:.2f} / {cost.card:.2f} / {cost.page:.2f}"
        rows.append((f"  {name}", f"{seconds} s, {cost.megabytes:.0f} MB", ""))
        costs.append(cost)
    slowest = max(max(cost.asked, cost.card, cost.page) for cost in costs)
    largest = max(cost.megabytes for cost in costs)
    return [
        ("worst answers: seconds to ask, to print the card, to make the page; memory", "", ""),
        *rows,
        ("  the slowest of these, seconds", f"{slowest:.2f}", f"<= {MAX_SECONDS:.0f}"),
        ("  the most memory, MB", f"{largest:.0f}", f"<= {MAX_MEGABYTES:.0f}"),
    ]


@contextmanager
def _serving(body: bytes) -> Iterator[str]:
    """Serve a body as the answer of every model but `short`, which answers `{}`; yield the base URL."""

    async def answer(request: Request) -> Response:
        is_short = json.loads(await request.body())["model"] == "short"
        return Response(_completion() if is_short else body, media_type="application/json")

    server = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])
    with in_thread(server) as base:
        yield base


async def _no_wait(_seconds: float) -> None:
    """Return at once."""


def _cost(base: str) -> Cost:
    """Return what the answer of a server costs, in a process that was sent a short one before."""
    call_failures.wait.set(_no_wait)
    with environment(OPENAI_BASE_URL=base, OPENAI_API_KEY=KEY, COLUMNS="100"):
        _seconds("short")
        before = most_megabytes()
        seconds = _seconds("long")
    return Cost(*seconds, most_megabytes() - before)


def _seconds(model: str) -> tuple[float, float, float]:
    """Return the processor time of a game of one round and one agent, of its card, and of its page."""
    times = [time.process_time()]
    options = RunOptions("mining", agents=1, models=f"openai:{model}", values={"rounds": 1})
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder)) as home:
        run = begin(home, options)
        play_out(go_on(home, run, lambda _: None))
        times.append(time.process_time())
        with redirect_stdout(io.StringIO()):
            app(["trace", "last", "0", "miner-01", "--home", folder], standalone_mode=False)
        times.append(time.process_time())
        RunPages(home, home.runs.find(run.id)).card(0, "miner-01")
        times.append(time.process_time())
    asked, card, page = (after - before for before, after in pairwise(times))
    return asked, card, page
