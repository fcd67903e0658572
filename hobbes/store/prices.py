"""What models cost: the prices of a models file, those of `prices.toml` in the home, and genai-prices.

The list of genai-prices comes with the package of this name, and is imported when a price is first asked
for. It is never fetched: a newer list comes with a newer version of the package.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pydantic import ValidationError

from hobbes.errors import UsageError
from hobbes.files import read_toml
from hobbes.nodes.journal import PROGRAM_MODELS, WRITTEN_BY_PEOPLE, CallDetails, Reply
from hobbes.nodes.models import ModelSettings, Price

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

FILE = "prices.toml"
"""The own prices of a home."""

Prices: TypeAlias = Mapping[str, Price]
"""The own prices of a home, by the names of the models."""

_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


class KnownPrice(NamedTuple):
    """The price of a model, and where it stands."""

    price: Price
    source: str


def prices_of(home: Path) -> Prices:
    """Return the own prices of a home; raise UsageError if their file is wrong."""
    path = home / FILE
    if not path.exists():
        return {}
    try:
        return {model: Price.model_validate(price) for model, price in read_toml(path).items()}
    except ValidationError as error:
        raise UsageError(
            f'{path}: write "MODEL" = {{ input = 0.25, output = 2.00 }}, dollars per million'
        ) from error


def usd(
    prices: Prices, reply: Reply, settings: ModelSettings | None = None, at: datetime | None = None
) -> float | None:
    """Return what the tokens of a call cost in dollars, or None if that is unknown.

    `settings` are those of a model of a models file, and `at` is the time of the call, by default now. An own
    price comes first, then what the provider says that it charged, then the list. Without a price in the
    models file, programs and people cost nothing.
    """
    model, details = reply.model, reply.details
    free = model.startswith(PROGRAM_MODELS) or model in WRITTEN_BY_PEOPLE
    if free and not (settings and settings.price):
        return 0.0
    own = _own(prices, model, settings)
    if own is None and details.provider_usd is not None:
        return details.provider_usd
    into, out = reply.tokens_in, reply.tokens_out
    if into is None or out is None:
        return None
    # Each part is a part of the whole, whatever a server says.
    read = min(details.tokens_cached or 0, into)
    written = min(details.tokens_cache_written or 0, into - read)
    if own is None:
        return _list_price(model, settings, (into, read, written, out), details.service_tier, at)
    of_read = own.input if own.cache_read is None else own.cache_read
    of_written = own.input if own.cache_write is None else own.cache_write
    full = into - read - written
    return (full * own.input + read * of_read + written * of_written + out * own.output) / 1_000_000


def is_priced(prices: Prices, settings: ModelSettings) -> bool:
    """Return whether the price of a model is known before it is asked."""
    asked = Reply("", settings.model, tokens_in=0, tokens_out=0, details=CallDetails())
    return usd(prices, asked, settings) is not None


def _own(prices: Prices, model: str, settings: ModelSettings | None) -> Price | None:
    """Return a price of one's own; a date at the end of a model's name is ignored."""
    if settings and settings.price:
        return settings.price
    return prices.get(model) or prices.get(_DATED.sub("", model))


def _list_price(
    model: str,
    settings: ModelSettings | None,
    tokens: tuple[int, int, int, int],
    tier: str,
    at: datetime | None,
) -> float | None:
    """Return what tokens cost by the list: of the prompt, read from a cache, written to it, of the answer."""
    found = _find_listed_model(model, settings)
    if found is None:
        return None
    from genai_prices import Usage  # noqa: PLC0415  as below

    provider, info = found
    into, read, written, out = tokens
    usage = Usage(input_tokens=into, cache_read_tokens=read, cache_write_tokens=written, output_tokens=out)
    cost = info.calc_price(
        usage,
        provider,
        genai_request_timestamp=at,
        price_context={"service_tier": tier} if tier else None,
    )
    return float(cost.total_price)


def _find_listed_model(model: str, settings: ModelSettings | None) -> "tuple[Provider, ModelInfo] | None":
    """Return a model of the list, with its provider, which its server tells; None if it is not listed.

    Without a server of its own, a model is known by its name alone.
    """
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  slow to import; most runs need no price

    try:
        return get_snapshot().find_provider_model(model, None, None, settings.base_url if settings else None)
    except LookupError:
        return None


def known_price(prices: Prices, settings: ModelSettings) -> KnownPrice | None:
    """Return the price of a model of a models file, and where it stands; None if it is unknown.

    A price of the list is the one of today for a short prompt: some prices rise with the length.
    """
    if settings.price:
        return KnownPrice(settings.price, "the models file")
    if own := _own(prices, settings.model, None):
        return KnownPrice(own, FILE)
    found = _find_listed_model(settings.model, settings)
    if found is None:
        return None
    price = found[1].get_prices(datetime.now(UTC))
    rates = {
        field: float(getattr(rate, "base", rate))
        for field, name in _RATES.items()
        if (rate := getattr(price, name, None)) is not None
    }
    if not {"input", "output"} <= rates.keys():
        return None
    return KnownPrice(Price.model_validate(rates), f"genai-prices {version('genai-prices')}")


_RATES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}
"""The fields of a price, with the names that they have in the list."""
