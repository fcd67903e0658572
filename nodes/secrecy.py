"""What nobody may read, taken out of what servers say."""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import parse_qsl, quote, unquote

LONGEST_TOLD = 500
"""Characters of a failure's text that are kept."""

SECRETS = ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""Variables whose values are taken out of what servers say: an error may say whose key was wrong."""

ADDRESS = "OPENAI_BASE_URL"
"""The variable whose value may have a secret in it: http://user:secret@host/v1?key=secret."""

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
    """Put a secret's name where a server says the secret, plain or with escapes that a reader undoes."""
    for name, secret in secrets():
        told = f"({name})"
        text = _spellings(secret).sub(told, text) if "\\" in text else text.replace(secret, told)
    return text


@lru_cache(maxsize=64)
def _spellings(secret: str) -> re.Pattern[str]:
    r"""Find a secret of which any character may be written as an escape: \u0073, \x73 and \s are all an s.

    JSON has the first, and the last for a few characters; json-repair reads the second, too. JSON inside
    JSON has more backslashes. An upper bound of them keeps a long row of backslashes from being read anew
    at each of them.
    """
    return re.compile("".join(_spellings_of(character) for character in secret))


def _spellings_of(character: str) -> str:
    """Find one character: as it is, or after backslashes as it is or by its code."""
    units = character.encode("utf-16-be").hex()
    by_code = r"\\{1,4}".join("u" + _hex(units[at : at + 4]) for at in range(0, len(units), 4))
    by_byte = f"|x{_hex(f'{ord(character):02x}')}" if ord(character) < 0x100 else ""  # noqa: PLR2004  two digits
    plain = re.escape(character)
    return rf"(?:{plain}|\\{{0,3}}\\(?:{by_code}{by_byte}|{plain}))"


def _hex(digits: str) -> str:
    """Find a number in either case; a flag for that would make the search slow."""
    return "".join(digit if digit.isdigit() else f"[{digit}{digit.upper()}]" for digit in digits)


def secrets() -> Iterator[tuple[str, str]]:
    """Give what nobody may read, each with the name of its variable."""
    every = [*((name, os.environ.get(name, "")) for name in SECRETS), *((ADDRESS, s) for s in _in_address())]
    return ((name, secret) for name, secret in every if len(secret) >= SHORTEST_SECRET)


def _in_address() -> Iterator[str]:
    """Give what an address says beside where the server is, in each spelling."""
    who, _, rest = os.environ.get(ADDRESS, "").partition("://")[2].rpartition("@")
    user, _, password = who.partition(":")
    for said in (who, password or user):
        yield said
        yield unquote(said)
    for _, said in parse_qsl(rest.partition("?")[2]):
        yield said
        yield quote(said, safe="")
