"""A place to listen at, for the servers among the commands."""

import errno
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
        other = (
            "--port"
            if error.errno in {errno.EADDRINUSE, errno.EACCES}
            else "--host, an IPv4 address of this machine"
        )
        raise LabError(f"cannot listen at {host}:{port}: {error.strerror}; choose another {other}") from error
    return listening
