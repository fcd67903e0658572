"""What nobody may read, taken out of what servers say."""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote, unquote_plus

LONGEST_TOLD = 500
"""Characters of a failure's text that are kept."""

SECRETS = ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""Variables whose values are taken out of what servers say: an error may say whose key was wrong."""

ADDRESS = "OPENAI_BASE_URL"
"""The variable whose value may have a secret in it: http://user:secret@host/v1?key=secret."""

SCHEME = re.compile(r"^\s*(?:[A-Za-z][\w+.-]*:)?//")
"""How an address may begin before it says who asks."""

SHORTEST_SECRET = 8
"""Characters below which a value is none, such as the `none` for servers that ask for no key."""

KEY = re.compile(r"\bsk-[\w*.-]{8,}")
"""What looks like a key: servers say parts of it, too."""


def safe_line(text: str) -> str:
    """Make what a server said one bounded line that can be kept and shown: no secrets, no controls."""
    told = KEY.sub("(a key)", without_secrets(text))[: 20 * LONGEST_TOLD]
    shown = "".join(character if character.isprintable() else " " for character in told)
    line = " ".join(shown.split())
    return line if len(line) <= LONGEST_TOLD else line[:LONGEST_TOLD] + "…"


def without_secrets(text: str) -> str:
    """Put a secret's name where a server says the secret, plain or with codes that a reader undoes."""
    for name, secret in secrets():
        told = f"({name})"
        coded = "\\" in text or "%" in text
        text = _spellings(secret).sub(told, text) if coded else text.replace(secret, told)
    return text


@lru_cache(maxsize=64)
def _spellings(secret: str) -> re.Pattern[str]:
    r"""Find a secret of which any character may be written by a code: \u0073, \x73, \s and %73 are all an s.

    JSON has the first, and the third for a few characters; json-repair reads the second, too; addresses
    have the last, and clients differ in which characters need it. JSON inside JSON has more backslashes.
    An upper bound of them keeps a long row of backslashes from being read anew at each of them.
    """
    return re.compile("".join(_spellings_of(character) for character in secret))


def _spellings_of(character: str) -> str:
    """Find one character: as it is, by its bytes, or after backslashes as it is or by its code."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    by_bytes = "".join(f"%{_hex(f'{byte:02x}')}" for byte in character.encode("utf-8", "surrogateescape"))
    by_code = r"\\{1,4}".join("u" + _hex(units[at : at + 4]) for at in range(0, len(units), 4))
    by_byte = f"|x{_hex(f'{ord(character):02x}')}" if ord(character) < 0x100 else ""  # noqa: PLR2004  two digits
    plain = re.escape(character)
    return rf"(?:{plain}|{by_bytes}|\\{{0,3}}\\(?:{by_code}{by_byte}|{plain}))"


def _hex(digits: str) -> str:
    """Find a number in either case; a flag for that would make the search slow."""
    return "".join(digit if digit.isdigit() else f"[{digit}{digit.upper()}]" for digit in digits)


def secrets() -> Iterator[tuple[str, str]]:
    """Give what nobody may read, each with the name of its variable."""
    every = [*((name, os.environ.get(name, "")) for name in SECRETS), *((ADDRESS, s) for s in _in_address())]
    return ((name, secret) for name, secret in every if len(secret) >= SHORTEST_SECRET)


def _in_address() -> Iterator[str]:
    """Give what an address says beside where the server is: as it is typed, as it is read, as it is sent.

    The address need not be one: what is refused has secrets in it, too. What has no scheme begins with the
    host, a query with the first question mark, and a user ends at the last @ before that.
    """
    where, _, query = os.environ.get(ADDRESS, "").partition("?")
    who = SCHEME.sub("", where).rpartition("@")[0]
    values = (value or name for name, _, value in (said.partition("=") for said in re.split("[&#]", query)))
    for said in (who, *who.partition(":")[::2], *values):
        read = unquote_plus(said)
        yield from dict.fromkeys((said, unquote(said), read, read.replace(" ", "+")))
