"""A language model on this machine: a GGUF file, served by llama.cpp's own server (the extra `local`)."""

import os
import re
import threading
from importlib import import_module
from pathlib import Path

from hobbes.errors import HobbesError, UsageError, needs_extra
from hobbes.wire.listener import listener, url

PARALLEL, CONTEXT = 4, 8192
"""How many requests are answered at a time, and the tokens of each with its answer."""

THREADS = max(1, (os.cpu_count() or 2) // 2)
"""The threads of llama.cpp. They wait by spinning: with one for each processor, all else on it stalls."""


def serve_model(file: Path, host: str, port: int) -> None:
    """Serve a model until stopped; the first line on stdout is the base URL, the others say how to play.

    Raise UsageError if the file is no GGUF file, HobbesError if it cannot be served.
    """
    _check_gguf(file)
    with needs_extra("local", "local models"):
        llama = import_module("xllamacpp")
    with listener(host, port) as free:  # the same errors as of the stand-in server
        base, port = f"{url(host, free)}/v1", free.getsockname()[1]
    name = model_name(file)
    options = llama.CommonParams()
    options.model.path, options.model_alias = str(file), name
    options.hostnames, options.port = [host], port
    options.n_parallel, options.n_ctx = PARALLEL, PARALLEL * CONTEXT
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = THREADS
    options.verbosity = 1  # errors
    try:
        server = llama.Server(options)  # noqa: F841  it serves as long as it is kept
    except RuntimeError as error:
        raise HobbesError(f"{file}: llama.cpp cannot serve it, for the reason above") from error
    model = f"'openai:{name}?response_format=json_schema'"  # without it, a small model forgets its reasons
    play = f"  export OPENAI_BASE_URL={base}\n  hobbes run trust --rounds 3 --model {model}"
    print(f"{base}\nplay in another terminal:\n{play}", flush=True)  # noqa: T201  for people and scripts
    threading.Event().wait()


def model_name(file: Path) -> str:
    """Return the name of a file's model, in characters that `--model` takes."""
    return re.sub(r"[^\w.-]", "-", file.stem)


def _check_gguf(file: Path) -> None:
    """Raise UsageError if a file is not there, or does not begin as a GGUF file does."""
    try:
        with file.open("rb") as opened:
            magic = opened.read(4)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    if magic != b"GGUF":
        raise UsageError(f"{file}: this is not a GGUF file; other formats must be converted")
