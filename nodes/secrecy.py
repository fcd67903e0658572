"""Take secrets out of what servers say, before it is kept or shown (docs/failures.md#secrets)."""

import os
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote, unquote_plus

LONGEST_LINE = 500
"""How many characters of an error text are kept."""

SECRETS = ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""Environment variables whose values are removed: an error message may quote the wrong key."""

_read: set[str] = set()
"""Further variables whose values are removed: each from which a key was read."""

ADDRESS = "OPENAI_BASE_URL"
"""The environment variable whose value may contain secrets: http://user:secret@host/v1?key=secret."""

SCHEME = re.compile(r"^\s*(?:[A-Za-z][\w+.-]*:)?//")
"""The scheme of a URL, up to the place where a user name may begin."""

SHORTEST_SECRET = 8
"""Shorter values are not secrets, such as the `none` that is set for servers without keys."""

KEY = re.compile(r"\bsk-[\w*.-]{8,}")
"""Text that looks like a key. Servers often quote a key in part, with asterisks."""


def key_in(variable: str) -> str:
    """Return the key in an environment variable, empty if it is not set. From now on it is a secret."""
    _read.add(variable)
    return os.environ.get(variable, "")


def safe_line(text: str) -> str:
    """Return a server's text as one short line that is safe to keep: no secrets, no control characters."""
    # The first cut only keeps the work small. It is generous, because blanks are squeezed afterwards.
    safe = KEY.sub("(a key)", without_secrets(text))[: 20 * LONGEST_LINE]
    shown = "".join(character if character.isprintable() else " " for character in safe)
    line = " ".join(shown.split())
    return line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "…"


def without_secrets(text: str) -> str:
    """Return the text with each secret replaced by the name of its variable.

    A secret is found plain or escaped, in any case, backwards, in base64 or hexadecimal digits, and with
    blanks or invisible characters between its own. docs/failures.md#secrets says what is not found.
    """
    if not text:
        return text
    # Comparing is much faster than searching with patterns, and enough where no character can be an escape.
    compact = _compact(text)
    escaped = any(mark in text for mark in "\\%&")
    for name, secret in secrets():
        for disguise, compact_disguise in _disguises(secret):
            if (escaped and disguise == secret) or compact_disguise in compact:
                text = _spellings(disguise).sub(f"({name})", text)
    return text


_BETWEEN = re.compile(
    "[\\s\xad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
"""What may stand between the characters of a secret without hiding it: blanks and invisible characters."""


def _compact(text: str) -> str:
    return _BETWEEN.sub("", text).lower()


@lru_cache(maxsize=64)
def _disguises(secret: str) -> tuple[tuple[str, str], ...]:
    """Return the texts that give a secret away to whoever knows the trick, each also in its compact form."""
    raw = secret.encode("utf-8", "surrogateescape")
    # In base64, what stands before a secret shifts it by up to two bytes, and its ends mix with the rest.
    shifted = (b64encode(bytes(shift) + raw).decode()[mixed:-4] for shift, mixed in enumerate((0, 2, 3)))
    encoded = [one for plain in shifted for one in (plain, plain.translate(_TO_URL_SAFE))]
    found = (secret, secret[::-1], raw.hex(), *encoded)
    return tuple((one, _compact(one)) for one in dict.fromkeys(found) if len(one) >= SHORTEST_SECRET)


_TO_URL_SAFE = str.maketrans("+/", "-_")


@lru_cache(maxsize=512)
def _spellings(secret: str) -> re.Pattern[str]:
    r"""Return a pattern for a secret whose characters may be escaped: an s as \u0073, \x73, \s, %73, &#115;.

    JSON uses the first form, and the third for a few characters; json-repair also reads the second. URLs use
    the fourth, and clients differ in which characters they escape; HTML uses the last. JSON inside JSON has
    more backslashes. Their number is bounded, so that a long row of backslashes does not make the search
    quadratic.
    """
    between = f"{_BETWEEN.pattern}{{0,9}}"
    return re.compile(between.join(_spellings_of(character) for character in secret))


def _spellings_of(character: str) -> str:
    """Return a pattern for one character in either case: plain, percent-encoded, or escaped."""
    return f"(?:{'|'.join(_spellings_of_one(one) for one in sorted({character.lower(), character.upper()}))})"


def _spellings_of_one(character: str) -> str:
    """Return a pattern for one character: plain, percent-encoded, an entity, or escaped with backslashes."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    by_bytes = "".join(f"%{_hex(f'{byte:02x}')}" for byte in character.encode("utf-8", "surrogateescape"))
    by_code = r"\\{1,4}".join("u" + _hex(units[at : at + 4]) for at in range(0, len(units), 4))
    single = len(character) == 1
    by_byte = f"|x{_hex(f'{ord(character):02x}')}" if single and ord(character) < 0x100 else ""  # noqa: PLR2004  two digits
    entity = f"|&#(?:0*{ord(character)}|[xX]0*{_hex(f'{ord(character):x}')});" if single else ""
    plain = re.escape(character)
    return rf"{plain}|{by_bytes}{entity}|\\{{0,3}}\\(?:{by_code}{by_byte}|{plain})"


def _hex(digits: str) -> str:
    """Return a pattern for hexadecimal digits in either case; re.IGNORECASE would make the search slow."""
    return "".join(digit if digit.isdigit() else f"[{digit}{digit.upper()}]" for digit in digits)


def secrets() -> tuple[tuple[str, str], ...]:
    """Return the secrets in the environment, each after the name of its variable."""
    variables = dict.fromkeys((*SECRETS, *sorted(_read)))
    return _among(tuple((name, os.environ.get(name, "")) for name in variables), os.environ.get(ADDRESS, ""))


@lru_cache(maxsize=8)
def _among(variables: tuple[tuple[str, str], ...], address: str) -> tuple[tuple[str, str], ...]:
    """Return the secrets among the values of variables, and in a base URL."""
    every = [*variables, *((ADDRESS, secret) for secret in _in_address(address))]
    # The longest comes first: one secret may be the beginning of another.
    every.sort(key=lambda pair: -len(pair[1]))
    return tuple((name, secret) for name, secret in every if len(secret) >= SHORTEST_SECRET)


def _in_address(address: str) -> Iterator[str]:
    """Yield the secrets in the base URL: user, password and query values, each plain and percent-decoded.

    The value need not be a valid URL, since an invalid one may contain a secret too. So it is taken apart by
    hand: without a scheme it begins with the host, the query begins at the first question mark, and the user
    ends at the last @ before it.
    """
    where, _, query = address.partition("?")
    who = SCHEME.sub("", where).rpartition("@")[0]
    values = (value or name for name, _, value in (said.partition("=") for said in re.split("[&#]", query)))
    for said in (who, *who.partition(":")[::2], *values):
        read = unquote_plus(said)
        yield from dict.fromkeys((said, unquote(said), read, read.replace(" ", "+")))
