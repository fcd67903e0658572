"""Small runs for tests."""

import asyncio
from typing import Any

from lab.playing import Request, begin, go_on
from lab.records import Records, Run


def mining(records: Records, **asked: Any) -> Run:
    """Play a small mining run to its end."""
    asked = {"agents": 3, "values": {"rounds": 4, "rows": 4, "cols": 4}, **asked}
    return played(records, Request("mining", **asked))


def played(records: Records, request: Request) -> Run:
    """Play a run to its end."""
    run = begin(records, request)
    asyncio.run(go_on(records, run, lambda _: None))
    return records.find(run.id)
