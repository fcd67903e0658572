"""The seats of people in a run: each has a link of its own, which shows nothing but what its agent may see.

A link ends in a token, which follows from the run, the agent and a secret of the home. So links stay the same
after a restart, and a copy of the run database does not hold them.
"""

import hashlib
import hmac
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from hobbes.engine.world import OBSERVER
from hobbes.lab.errors import LabError
from hobbes.lab.store.history import state_before
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import PersonQuestion, Run, observer_asked
from hobbes.nodes.journal import PlayerKind

KEY = "seats.key"
"""The file of the secret in a home. Only its owner can read it."""

KEY_BYTES = 32
"""The length of the secret."""

DIGITS = 32
"""How many hexadecimal digits a token has."""


def seats_of(run: Run) -> list[str]:
    """Return the agents for whom people answer, and the observer if it is a person."""
    seats = [agent for agent, spec in run.models.items() if spec == PlayerKind.HUMAN]
    observed = observer_asked(run.world, run.setting) == PlayerKind.HUMAN
    return [*seats, *([OBSERVER] if observed else [])]


def questions_at(store: Store, run: Run, seat: str) -> list[PersonQuestion]:
    """Return what the person at a seat is asked now: for its agent, and for those that the agent owns."""
    if not run.questions or seat == OBSERVER:
        return [one for one in run.questions if one.agent == seat]
    state = state_before(store, run, run.turns)
    agents = [one for one in run.questions if one.agent != OBSERVER]
    return [one for one in agents if run.world.owner(state, one.agent) == seat]


def path_of(home: Path, run: Run, seat: str) -> str:
    """Return the path of a seat's page. The first call in a home makes the secret."""
    parts = (run.id, seat, _token(_secret(home), run.id, seat))
    return "/seat/" + "/".join(quote(part, safe="") for part in parts)


def is_token(home: Path, run: str, seat: str, token: str) -> bool:
    """Return whether a token is that of a seat, in a time that tells nothing about the token."""
    secret = _read_secret(home / KEY)
    return secret is not None and secrets.compare_digest(token.encode(), _token(secret, run, seat).encode())


def _token(secret: bytes, run: str, seat: str) -> str:
    """Return the token of a seat."""
    return hmac.new(secret, f"{run}/{seat}".encode(), hashlib.sha256).hexdigest()[:DIGITS]


def _secret(home: Path) -> bytes:
    """Return the secret of a home; make it if there is none."""
    path = home / KEY
    if not os.path.lexists(path):
        _write(path, secrets.token_bytes(KEY_BYTES))
    secret = _read_secret(path)
    if secret is None:
        raise _no_key(path, "it is a link to a file that is not there")
    return secret


def _write(path: Path, secret: bytes) -> None:
    """Write a secret, so that a power cut leaves all of it or none; leave one that is there as it is."""
    new = path.with_name(f"{KEY}.{os.getpid()}.{secrets.token_hex(4)}")
    new.touch(mode=0o600)
    with new.open("wb") as file:
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):  # another process has just made one, which a rename would replace
        os.link(new, path)
    new.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _read_secret(path: Path) -> bytes | None:
    """Return the secret in a file, None if there is no file. Raise LabError for anything but a secret."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for a writer
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _no_key(path, str(error.strerror)) from error
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise _no_key(path, "it is not a regular file")
        secret = os.read(file, KEY_BYTES + 1)
    finally:
        os.close(file)
    if len(secret) != KEY_BYTES:
        raise _no_key(path, f"it does not have {KEY_BYTES} bytes")
    return secret


def _no_key(path: Path, problem: str) -> LabError:
    """Return the error for a key that cannot be used."""
    return LabError(
        f"{path} cannot be used as the key of seats: {problem}; delete it to get a new one, with new links"
    )
