"""A place to listen at, for the servers among the commands."""

import socket

from lab.errors import LabError


def listener(host: str, port: int) -> socket.socket:
    """Listen at an address; port 0 takes a free one. LabError: somebody else does, or it is none."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # who is told the address may ask at once
    except OSError as error:
        listening.close()
        raise LabError(f"cannot listen at {host}:{port}: {error.strerror}; choose another --port") from error
    return listening
