"""`hobbes doctor`: installed packages, environment variables, and whether the model server answers."""

import os
import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2

from hobbes.engine.telling import counted
from hobbes.nodes.call_failures import IS_IT_RUNNING, ask_for_v1
from hobbes.nodes.models import OPENAI, Models, ModelSettings
from hobbes.nodes.secrecy import BASE_URL, safe_line

PACKAGES = (
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langchain-openai",
    "openai",
    "pydantic",
    "sqlite-utils",
)

MOST_NAMED = 5
"""How many models of a server are named at most."""

PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
"""The variables that name a proxy, or the hosts that need none; each may be in small letters, too."""


def examine(home: Path, models: Models, left_out: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return what matters for a run with a chat model; it contains no key, not even one within a URL.

    Every model of the models file is asked for as well. `left_out` has what servers refused in recorded runs.
    """
    base = os.environ.get(BASE_URL, "")
    key = os.environ.get("OPENAI_API_KEY", "")
    return {
        "python": platform.python_version(),
        "packages": {package: version(package) for package in PACKAGES},
        "home": str(home),
        "home_writable": _writable(home),
        "openai_api_key": "set" if key else "not set",
        "openai_base_url": _shown(base),
        "proxies": _proxies(),
        "server": _ask(base or OPENAI, key)
        if base or key
        else "not called: scripted policies need no server",
        "models": {
            name: {**_of_model(settings), "left_out": "; ".join(left_out.get(name, ())) or "nothing"}
            for name, settings in models.items()
        },
    }


def _of_model(settings: ModelSettings) -> dict[str, str]:
    """Ask the server of a model, with its key, and return what there is to know about both."""
    variable = settings.key_variable
    base = settings.base_url or os.environ.get(BASE_URL, "")
    shown = _shown(base)
    try:
        key = settings.api_key()
    except ValueError as error:
        return {"model": settings.model, "base_url": shown, "key": str(error), "server": "not called"}
    return {
        "model": settings.model,
        "base_url": shown,
        "key": f"{variable} is {'set' if key else 'not set'}" if variable else "none is sent",
        "server": _ask(base or OPENAI, key, settings.model),
    }


def _writable(home: Path) -> bool:
    """Return whether runs can be stored in a folder, or in a new one where it would be created."""
    nearest = next(folder for folder in (home.absolute(), *home.absolute().parents) if folder.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _proxies() -> str:
    """Return the names of the variables that are set; a value may contain a password."""
    names = [name for variable in PROXIES for name in (variable, variable.lower()) if os.environ.get(name)]
    return ", ".join(names) or "none"


def _shown(base: str) -> str:
    """Return the address that is asked, without its query and credentials, which may contain a key."""
    if not base:
        return f"not set ({OPENAI})"
    return safe_line(re.sub(r"\?.*", "?(hidden)", re.sub(r"//[^/]*@", "//(hidden)@", base)))


def _ask(base: str, key: str, model: str | None = None) -> str:
    """Ask the server for its list of models, and return a line about its answer, and about the model."""
    try:
        url = httpx2.URL(base)
        url = url.copy_with(path=f"{url.path.rstrip('/')}/models")
        answer = httpx2.get(url, headers={"authorization": f"Bearer {key or 'none'}"}, timeout=10)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, OSError) as error:
        hint = f"; {IS_IT_RUNNING}" if isinstance(error, httpx2.ConnectError) else ""
        return f"does not answer: {safe_line(str(error))}{hint}"
    if answer.status_code != httpx2.codes.OK:
        return f"answers with status {answer.status_code}{ask_for_v1(answer.status_code, url.path)}"
    try:
        models = sorted({str(listed["id"]) for listed in answer.json()["data"]})
    except (ValueError, KeyError, TypeError):
        return "answers, but not like a chat-completions server"
    told = f"answers; it has {counted(len(models), 'model')}"
    if models and model not in models:
        more = ", …" if models[MOST_NAMED:] else ""
        told += f" ({', '.join(map(safe_line, models[:MOST_NAMED]))}{more})"
    return told if model is None or model in models else f"{told}, and {model} is not one of them"
