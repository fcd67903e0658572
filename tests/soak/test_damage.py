"""Each column of each table, damaged in every way."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.lab.test_damage import STORED, Home, each_damage_is_named, small

__all__ = ["small"]

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("table", STORED)
def test_damage_of_any_column(  # noqa: PLR0913, PLR0917  fixtures
    table: str,
    small: Home,
    home: Path,
    tmp_path: Path,
    cli: Cli,
    tried: Callable[[str], None],
) -> None:
    tried(f"{each_damage_is_named(table, small, home, tmp_path / 'to', cli)} damaged values in {table}")
