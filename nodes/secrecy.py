"""What nobody may read, taken out of what servers say."""

import os
import re
from collections.abc import Iterator
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
    """Put a secret's name where a server says the secret itself."""
    for name, secret in secrets():
        text = text.replace(secret, f"({name})")
    return text


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
