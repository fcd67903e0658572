"""The listening socket of `hobbes serve` and `hobbes view`."""

import errno
import socket

from lab.errors import LabError


def listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 picks a free port.

    Raise LabError if the port is in use or the host is not an address of this machine.
    """
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # before the address is printed, so that clients can connect at once
    except OSError as error:
        listening.close()
        other = (
            "--port"
            if error.errno in {errno.EADDRINUSE, errno.EACCES}
            else "--host, an IPv4 address of this machine"
        )
        raise LabError(f"cannot listen on {host}:{port}: {error.strerror}; choose another {other}") from error
    return listening
