"""`hobbes doctor`: what is installed, what is seen of the environment, whether the server answers."""

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2

from nodes.secrecy import safe_line

PACKAGES = (
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langchain-openai",
    "openai",
    "pydantic",
    "sqlite-utils",
)


def examine(home: Path) -> dict[str, Any]:
    """Give what a person needs to know before a run with a model; no key is told, nor one in an address."""
    base = os.environ.get("OPENAI_BASE_URL", "")
    key = os.environ.get("OPENAI_API_KEY", "")
    return {
        "python": platform.python_version(),
        "packages": {package: version(package) for package in PACKAGES},
        "home": str(home),
        "home_writable": os.access(home if home.exists() else home.absolute().parent, os.W_OK),
        "OPENAI_API_KEY": "seen" if key else "not set",
        "OPENAI_BASE_URL": _shown(base) or "not set (api.openai.com)",
        "server": _ask(base, key) if base or key else "not asked: policies need none",
    }


def _shown(base: str) -> str:
    """Give an address without the parts in which a key may stand."""
    return safe_line(re.sub(r"\?.*", "?(hidden)", re.sub(r"//[^/]*@", "//(hidden)@", base)))


def _ask(base: str, key: str) -> str:
    """Ask the server for its models, and say what came back."""
    try:
        url = httpx2.URL(base or "https://api.openai.com/v1")
        url = url.copy_with(path=f"{url.path.rstrip('/')}/models")
        answer = httpx2.get(url, headers={"authorization": f"Bearer {key or 'none'}"}, timeout=10)
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
        return f"does not answer: {safe_line(str(error))}"
    if answer.status_code != httpx2.codes.OK:
        return f"answers {answer.status_code}"
    try:
        return f"answers; {len(answer.json()['data'])} models"
    except (ValueError, KeyError, TypeError):
        return "answers, but not as a server of chat completions does"
