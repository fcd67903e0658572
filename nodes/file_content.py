"""Safe reading of files that people name or edit."""

import io
import os
import stat
from pathlib import Path

MAX_BYTES = 64_000_000
"""The size above which a file is not read, unless a caller sets another."""


class FileError(ValueError):
    """A file cannot be read. The message says why, without the path."""


def content_of(path: Path, largest: int = MAX_BYTES) -> bytes:
    """Return the content of a file. Raise FileError if it cannot be read, or is larger than `largest` bytes.

    Pipes and devices are refused: to read one might never end.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise FileError(error.strerror or str(error)) from error
    except ValueError as error:  # a null character in the path
        raise FileError(str(error)) from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # open() says what is wrong with a folder
        raise FileError("it is a pipe or a device, not a file")
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise FileError(error.strerror or str(error)) from error
    if len(content) > largest:
        raise FileError(f"it is larger than {largest:,} bytes")
    return content


def text_of(path: Path, largest: int = MAX_BYTES) -> str:
    """Return the text of a UTF-8 file with newlines as line breaks, without its byte order mark.

    Raise FileError as `content_of` does, or if it is not UTF-8.
    """
    content = content_of(path, largest)
    try:
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig").read()
    except UnicodeDecodeError as error:
        raise FileError(f"not UTF-8 at byte {error.start}") from error


def real_path(path: Path) -> Path:
    """Return a path without symbolic links. Unlike Path.resolve in Python 3.11, accept a loop of links."""
    return Path(os.path.realpath(path))
