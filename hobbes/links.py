"""In a checkout, hobbes/ links to folders at the top of the repository."""

from pathlib import Path


def missing_links() -> str | None:
    """Return what to do where the links are none; None where all is well.

    git writes a small text file for each link if `core.symlinks` is false, as it often is on Windows.
    """
    if (Path(__file__).parent / "engine").is_dir():
        return None
    return (
        "hobbes/engine is not a folder: the links in hobbes/ are missing. Clone again with `git clone -c "
        "core.symlinks=true`; on Windows, turn on Developer Mode first"
    )
