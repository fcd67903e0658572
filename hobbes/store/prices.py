"""What models cost: the prices of a models file, and those of genai-prices.

The list of genai-prices comes with the package of this name, and is imported when a price is first asked
for. It is never fetched: a newer list comes with a newer version of the package.
"""

from datetime import datetime

from hobbes.nodes.journal import PROGRAM_MODELS, WRITTEN_BY_PEOPLE, CallDetails, Reply
from hobbes.nodes.models import ModelSettings, server_address

THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
"""The hosts of servers that run here. A private address may be that of a relay which charges."""


def usd(reply: Reply, settings: ModelSettings | None = None, at: datetime | None = None) -> float | None:
    """Return what the tokens of a call cost in dollars, or None if that is unknown.

    `settings` are those of a model of a models file, and `at` is the time of the call, by default now. Their
    price comes first, then what the provider says that it charged, then the list. Without a price of their
    own, programs and people cost nothing.
    """
    model, details = reply.model, reply.details
    own = settings.price if settings else None
    if own is None and (model.startswith(PROGRAM_MODELS) or model in WRITTEN_BY_PEOPLE):
        return 0.0
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


def is_priced(settings: ModelSettings) -> bool:
    """Return whether the price of a model is known before it is asked."""
    asked = Reply("", settings.model, tokens_in=0, tokens_out=0, details=CallDetails())
    return usd(asked, settings) is not None


def expected_usd(reply: Reply, settings: ModelSettings) -> float | None:
    """Return what a call that is still to be made will cost, given what is expected to come back.

    Where no price is known, a server on this machine takes no money.
    """
    if is_priced(settings):
        return usd(reply, settings)
    try:
        return 0.0 if server_address(settings).host in THIS_MACHINE else None
    except ValueError:  # whoever asks it is told so
        return None


def _list_price(
    model: str, settings: ModelSettings | None, tokens: tuple[int, ...], tier: str, at: datetime | None
) -> float | None:
    """Return what tokens cost by the list: of the prompt, read from a cache, written to it, of the answer.

    The server of a model tells its provider; without one, it is known by its name alone.
    """
    from genai_prices import Usage  # noqa: PLC0415  slow to import; most runs need no price
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  as above

    try:
        server = settings.base_url if settings else None
        provider, info = get_snapshot().find_provider_model(model, None, None, server)
    except LookupError:
        return None
    into, read, written, out = tokens
    usage = Usage(input_tokens=into, cache_read_tokens=read, cache_write_tokens=written, output_tokens=out)
    context = {"service_tier": tier} if tier else None
    cost = info.calc_price(usage, provider, genai_request_timestamp=at, price_context=context)
    return float(cost.total_price)
