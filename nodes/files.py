"""Files that people name or edit: how each of them is read, whatever the path leads to."""

import io
import os
import stat
from pathlib import Path

LARGEST = 64_000_000
"""The most bytes that are read of a file unless somebody says otherwise."""


class FileError(ValueError):
    """A file cannot be read. The message says why, without the path."""


def content_of(path: Path, largest: int = LARGEST) -> bytes:
    """Return the content of a file. Raise FileError if it cannot be read, or is larger than `largest` bytes.

    Pipes and devices are refused: to read one might never end.
    """
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # to open a folder fails with a good message
            raise FileError("it is a pipe or a device, not a file")
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise FileError(error.strerror or str(error)) from error
    except ValueError as error:  # FileError, or a null character in the path
        raise FileError(str(error)) from error
    if len(content) > largest:
        raise FileError(f"it is larger than {largest:,} bytes")
    return content


def text_of(path: Path, largest: int = LARGEST) -> str:
    """Return the text of a file in UTF-8, each line break as a newline, without a byte order mark.

    Raise FileError as `content_of` does, or if it is not UTF-8.
    """
    content = content_of(path, largest)
    try:
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig").read()
    except UnicodeDecodeError as error:
        raise FileError(f"not UTF-8 at byte {error.start}") from error


def real_path(path: Path) -> Path:
    """Return the path of what a path leads to. A loop of symbolic links leads to itself."""
    return Path(os.path.realpath(path))
