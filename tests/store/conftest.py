"""A home that tests of the store read, damage and copy."""

from pathlib import Path

import pytest

from tests.damage import whole_home


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a row in every table."""
    home = tmp_path_factory.mktemp("columns") / "home"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("OPENAI_API_KEY", "none")
        whole_home(home)
    return home
