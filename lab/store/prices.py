"""What models cost: the price list of hobbes, and a `prices.toml` in the home folder that overrides it."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

from hobbes.lab.errors import UsageError
from hobbes.lab.files import read_toml
from hobbes.nodes.journal import PROGRAM_MODELS, WRITTEN_BY_PEOPLE
from hobbes.nodes.models import Price

SHIPPED = Path(__file__).with_name("prices.toml")

Prices: TypeAlias = Mapping[str, tuple[float, float]]
"""For each model, US dollars per million input tokens and per million output tokens."""

_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def prices_of(home: Path) -> Prices:
    """Return all prices; those of the home folder override those of hobbes."""
    own = home / "prices.toml"
    return _shipped() | _read(own) if own.exists() else _shipped()


@cache
def _shipped() -> dict[str, tuple[float, float]]:
    """Return the price list of hobbes."""
    return _read(SHIPPED)


def _read(path: Path) -> dict[str, tuple[float, float]]:
    """Return the prices of one file; raise UsageError if the file is wrong."""
    listed = read_toml(path)
    try:
        return {model: (_price(price["input"]), _price(price["output"])) for model, price in listed.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f'{path}: write "MODEL" = {{ input = 0.25, output = 2.00 }}, dollars per million'
        ) from error


def _price(value: object) -> float:
    """Return a price as a float; raise ValueError for anything that is not a finite number from 0 up."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ValueError(value)
    return float(value)


def usd(
    prices: Prices, model: str, tokens_in: int | None, tokens_out: int | None, own: Price | None = None
) -> float | None:
    """Return what tokens cost in dollars, or None if that is unknown.

    `own` is the price that a models file gives. Without it, programs and people cost nothing, and a date at
    the end of a model's name is ignored.
    """
    if own is None and (model.startswith(PROGRAM_MODELS) or model in WRITTEN_BY_PEOPLE):
        return 0.0
    price = (own.input, own.output) if own else prices.get(model) or prices.get(_DATED.sub("", model))
    if price is None or tokens_in is None or tokens_out is None:
        return None
    return (tokens_in * price[0] + tokens_out * price[1]) / 1_000_000
