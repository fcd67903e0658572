"""Take secrets out of what servers say, before it is kept or shown (docs/failures.md#secrets)."""

import os
import re
import sys
from array import array
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache, cached_property, lru_cache, partial
from urllib.parse import unquote, unquote_plus

from hobbes.engine.said import INVISIBLE
from hobbes.nodes.reading import MAX_LENGTH

MAX_LINE_LENGTH = 500
"""How many characters of an error text are kept."""

MAX_SEARCHED_LENGTH = 100 * MAX_LINE_LENGTH
"""How many characters of an error text are searched for secrets, and for what the error is about."""

MAX_STORED_LENGTH = MAX_LENGTH
"""How many characters are kept of an answer, or a reasoning, that is cut. No longer answer is read."""

MAX_SEARCHED_ANSWER = MAX_STORED_LENGTH + 10_000
"""How many characters of an answer or a reasoning are searched for secrets. A longer one is cut.

It is more than what is kept, because a part of a secret may stand at the end.
"""

SECRETS = ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID")
"""Environment variables whose values are removed: an error message may quote the wrong key."""

_read: set[str] = set()
"""Further variables whose values are removed: each from which a key was read."""

BASE_URL = "OPENAI_BASE_URL"
"""The environment variable whose value may contain secrets: http://user:secret@host/v1?key=secret."""

SCHEME = re.compile(r"^\s*(?:[A-Za-z][\w+.-]*:)?//")
"""The scheme of a URL, up to the place where a user name may begin."""

MIN_SECRET_LENGTH = 8
"""Shorter values are not secrets, such as the `none` that is set for servers without keys."""

MAX_LAYERS = 3
"""How often escapes are undone in the search for a secret: JSON within JSON, and within that an entity."""

KEY = re.compile(r"\bsk-[\w*.-]{8,}")
"""Text that looks like a key. Servers often quote a key in part, with asterisks."""


def key_in(variable: str) -> str:
    """Return the key in an environment variable, empty if it is not set. From now on it is a secret."""
    _read.add(variable)
    return os.environ.get(variable, "")


def safe_line(text: str) -> str:
    """Return a server's text as one short line that is safe to keep: no secrets, no control characters."""
    safe = KEY.sub("(a key)", without_secrets(_BLANK.sub(" ", text[:MAX_SEARCHED_LENGTH])))
    if len(text) > MAX_SEARCHED_LENGTH:
        safe = safe[: -2 * MAX_LINE_LENGTH]  # it may end with a part of a secret
    shown = "".join(character if character.isprintable() else " " for character in safe)
    line = without_secrets(" ".join(shown.split()))  # a blank may stand where something else hid a secret
    return line if len(line) <= MAX_LINE_LENGTH else line[:MAX_LINE_LENGTH] + "…"


def without_secrets(text: str) -> str:
    """Return the text with each secret replaced by the name of its variable.

    A secret is found plain or escaped, in any case, backwards, in base64 or hexadecimal digits, and with
    blanks or invisible characters between its own. docs/failures.md#secrets says what is not found.
    """
    disguises = _all_disguises(secrets())
    if not disguises:
        return text
    # One layer after the other, so that they are not all in memory; they often have the same places.
    places = {
        (*place, name): None
        for layer in _layers(text)
        for disguise, name in disguises.items()
        for place in layer.places(disguise)
    }
    pieces: list[str] = []
    end = 0
    for start, stop, name in sorted(places, key=lambda place: (place[0], -place[1])):
        if start >= end:
            pieces += text[end:start], f"({name})"
        end = max(end, stop)
    return "".join(pieces) + text[end:]


def storable(text: str) -> str:
    """Return the text without secrets, then without lone surrogates, which UTF-8 cannot encode.

    The other way round, the question marks in place of surrogates would hide a secret. A text of more than
    MAX_SEARCHED_ANSWER characters is cut. It ends with dots, so many that it remains too long to be read.
    """
    safe = without_secrets(text[:MAX_SEARCHED_ANSWER])
    if len(text) > MAX_SEARCHED_ANSWER:
        safe = safe[:MAX_STORED_LENGTH].ljust(MAX_STORED_LENGTH + 1, "…")
    return safe.encode("utf-8", "replace").decode()


@lru_cache(maxsize=8)
def _all_disguises(named: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the texts that give a secret away, as layers have them, each with the name of its variable."""
    found: dict[str, str] = {}
    for name, secret in named:
        for layer in (layer for disguise in _disguises(secret) for layer in _layers(disguise)):
            if len(layer.text) >= MIN_SECRET_LENGTH:
                found.setdefault(layer.text, name)
    return found


def _disguises(secret: str) -> Iterator[str]:
    """Yield the secret, and the texts that give it away to whoever knows the trick."""
    raw = secret.encode("utf-8", "surrogateescape")
    yield from (secret, secret[::-1], raw.hex())
    # In base64, what stands before a secret shifts it by up to two bytes, and its ends mix with the rest.
    for shift, mixed in enumerate((0, 2, 3)):
        plain = b64encode(bytes(shift) + raw).decode()[mixed:-4]
        yield from (plain, plain.translate(_TO_URL_SAFE))


_TO_URL_SAFE = str.maketrans("+/", "-_")

_BLANK = re.compile(f"[\\s{INVISIBLE}]+")

_HIDING = re.compile(f"[\\s{INVISIBLE}\U00010000-\U0010ffff]+")
"""What may stand between the characters of a secret without hiding it: blanks, invisible characters, emoji.

Without the characters beyond U+FFFF, it does not matter that JSON escapes each of them as two.
"""


def _escapes(backslashes: str) -> re.Pattern[str]:
    r"""Return a pattern for one character in an escape of JSON, URLs or HTML, all in lower case.

    json-repair also reads \x73 as an s. `backslashes` is the pattern for what an escape of JSON begins with.
    """
    return re.compile(
        backslashes + r"(?:u(?P<four>[0-9a-f]{4})|x(?P<two>[0-9a-f]{2})|(?P<letter>[bfnrt])|(?P<itself>.)|$)"
        r"|(?P<percent>%[c-f][0-9a-f](?:%[89ab][0-9a-f])+|%[0-9a-f]{2})"
        r"|&#(?:x0*+(?P<hexadecimal>[0-9a-f]{1,6})|0*+(?P<decimal>[0-9]{1,7}));"
    )


class _Layer:
    """A text without blanks, invisible characters and capitals, read at some depth of escapes.

    `meaning` says what each match of `pattern` stands for. `below` is the layer that this one was read from,
    None if it was read from the text itself.
    """

    def __init__(
        self,
        source: str,
        pattern: re.Pattern[str],
        meaning: Callable[[str], str],
        below: "_Layer | None" = None,
    ) -> None:
        self._source, self._pattern, self._below = source, pattern, below
        self._meaning = cache(meaning)  # a text repeats few matches
        self.text = _lower(pattern.sub(lambda found: self._meaning(found[0]), source))

    def places(self, disguise: str) -> Iterator[tuple[int, int]]:
        """Yield where each occurrence in this layer begins and ends in the text itself."""
        start = self.text.find(disguise)
        while start != -1:
            stop = start + len(disguise)
            yield self.origin(start, stop)
            start = self.text.find(disguise, stop)

    def origin(self, start: int, stop: int) -> tuple[int, int]:
        """Return where a part of this layer begins and ends in the text itself."""
        first, last = self._place(start)[0], self._place(stop - 1)[1]
        return self._below.origin(first, last) if self._below else (first, last)

    def _place(self, character: int) -> tuple[int, int]:
        """Return where in its source a character of this layer begins, and where it ends."""
        here, begins, ends = self._matches
        before = bisect_right(here, character)
        place = character + (ends[before - 1] - here[before - 1] if before else 0)
        if before < len(here) and place >= begins[before]:
            return begins[before], ends[before]
        return place, place + 1

    @cached_property
    def _matches(self) -> tuple["array[int]", "array[int]", "array[int]"]:
        """Return where the meaning of each match ends here, and where in the source it begins and ends.

        There may be a match for each second character, so they are kept as bare numbers.
        """
        here, begins, ends, stop = array("L"), array("L"), array("L"), 0
        for found in self._pattern.finditer(self._source):
            begin, end = found.span()
            stop += begin - (ends[-1] if ends else 0) + len(self._meaning(found[0]))
            here.append(stop)
            begins.append(begin)
            ends.append(end)
        return here, begins, ends


def _layers(text: str) -> Iterator[_Layer]:
    """Yield a text as it is, then with its escapes undone again and again, by each of the readings."""
    plain = _Layer(text, _HIDING, lambda _: "")
    yield plain
    if not any(mark in plain.text for mark in "\\%&"):  # most texts have no escapes
        return
    for escapes, is_json in _READINGS:
        layer = plain
        for _ in range(MAX_LAYERS):
            deeper = _Layer(layer.text, escapes, partial(_meaning, escapes, is_json), layer)
            if deeper.text == layer.text:
                break
            yield deeper
            layer = deeper


def _meaning(escapes: re.Pattern[str], is_json: bool, escape: str) -> str:  # noqa: FBT001  of a reading
    """Return what an escape stands for, without what hides nothing.

    In JSON, an n after a backslash is a line break, which hides nothing; otherwise it is an n.
    """
    found = escapes.fullmatch(escape)
    kind = found.lastgroup if found else None
    if found is None or kind is None or (kind == "letter" and is_json):
        return ""
    meaning = found[kind]
    if kind == "percent":
        meaning = bytes.fromhex(meaning.replace("%", "")).decode("utf-8", "surrogateescape")
    elif kind in {"four", "two", "hexadecimal", "decimal"}:
        code = int(meaning, 10 if kind == "decimal" else 16)
        meaning = chr(code) if code <= sys.maxunicode else ""
    return _HIDING.sub("", meaning)


_READINGS = ((_escapes(r"\\"), True), (_escapes(r"\\++"), False))
"""Two readings: JSON's own, where two backslashes stand for one, and one that drops all backslashes."""


def _lower(text: str) -> str:
    """Return a text in lower case, as long as before: İ is the only letter that would become two."""
    return text.replace("İ", "i").lower()


def secrets() -> tuple[tuple[str, str], ...]:
    """Return the secrets in the environment, each after the name of its variable."""
    variables = dict.fromkeys((*SECRETS, *sorted(_read)))
    return _among(tuple((name, os.environ.get(name, "")) for name in variables), os.environ.get(BASE_URL, ""))


@lru_cache(maxsize=8)
def _among(variables: tuple[tuple[str, str], ...], address: str) -> tuple[tuple[str, str], ...]:
    """Return the secrets among the values of variables, and in a base URL."""
    every = [*variables, *((BASE_URL, secret) for secret in _in_address(address))]
    # The longest comes first: one secret may be the beginning of another.
    every.sort(key=lambda pair: -len(pair[1]))
    return tuple((name, secret) for name, secret in every if len(secret) >= MIN_SECRET_LENGTH)


def _in_address(address: str) -> Iterator[str]:
    """Yield the secrets in the base URL: user, password and query values, each plain and percent-decoded.

    The value need not be a valid URL, since an invalid one may contain a secret too. So it is taken apart by
    hand: without a scheme it begins with the host, the query begins at the first question mark, and the user
    ends at the last @ before it.
    """
    where, _, query = address.partition("?")
    who = SCHEME.sub("", where).rpartition("@")[0]
    values = (value or name for name, _, value in (part.partition("=") for part in re.split("[&#]", query)))
    for value in (who, *who.partition(":")[::2], *values):
        decoded = unquote_plus(value)
        yield from dict.fromkeys((value, unquote(value), decoded, decoded.replace(" ", "+")))
