"""What models cost: a file that people can edit, and one of their own in the home folder."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from lab.errors import UsageError
from nodes.journal import POLICY_MODEL, PlayerKind

SHIPPED = Path(__file__).with_name("prices.toml")

Prices: TypeAlias = Mapping[str, tuple[float, float]]
"""By model: US dollars per million tokens, in and out."""

_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def prices_of(home: Path) -> Prices:
    """Read the shipped prices and those of a home, which stand above them."""
    found: dict[str, tuple[float, float]] = {}
    for path in (SHIPPED, home / "prices.toml"):
        if path.exists():
            found |= _read(path)
    return found


def _read(path: Path) -> dict[str, tuple[float, float]]:
    """Read one file; UsageError says what is wrong in it."""
    try:
        said: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    try:
        return {model: (_price(price["input"]), _price(price["output"])) for model, price in said.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f'{path}: write "MODEL" = {{ input = 0.25, output = 2.00 }}, dollars per million'
        ) from error


def _price(said: object) -> float:
    """Give a price; a boolean is none."""
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said < float("inf"):
        raise ValueError(said)
    return float(said)


def usd(prices: Prices, model: str, tokens_in: int | None, tokens_out: int | None) -> float | None:
    """Give what tokens cost; None: unknown. Rule-based stand-ins are free; dates in names do not count."""
    if model.startswith(POLICY_MODEL) or model == PlayerKind.HUMAN:
        return 0.0
    price = prices.get(model) or prices.get(_DATED.sub("", model))
    if price is None or tokens_in is None or tokens_out is None:
        return None
    return (tokens_in * price[0] + tokens_out * price[1]) / 1_000_000
