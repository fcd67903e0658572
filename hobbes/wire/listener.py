"""The listening socket of `hobbes serve` and `hobbes view`, and the URL that leads to it."""

import errno
import ipaddress
import socket

from hobbes.errors import HobbesError, UsageError

HINTS = {
    errno.EADDRINUSE: "stop the server that has it, or choose another --port",
    errno.EACCES: "choose another --port",
}
"""What to do about an error of a port."""


def listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an IPv4 or IPv6 address; port 0 picks a free port.

    Raise UsageError if the host is empty, HobbesError if the port is in use or the host is not an address of
    this machine.
    """
    if not host.strip():  # the socket would listen on all addresses
        raise UsageError("--host is empty; write an address of this machine, such as 127.0.0.1")
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if listening.family == socket.AF_INET6:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # not the IPv4 addresses as well
    try:
        listening.bind((host, port))
        listening.listen()  # before the address is printed, so that clients can connect at once
    except OSError as error:
        listening.close()
        hint = HINTS.get(error.errno or 0, "choose another --host, an address of this machine")
        raise HobbesError(f"cannot listen on {in_url(host)}:{port}: {error.strerror}; {hint}") from error
    return listening


def in_url(host: str) -> str:
    """Return a host as it is written in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def url(host: str, listening: socket.socket) -> str:
    """Return the URL of a listening socket, without a path.

    If it listens on all addresses, this is the URL for programs on this machine.
    """
    address, port = listening.getsockname()[:2]
    if ipaddress.ip_address(address).is_unspecified:
        host = "::1" if listening.family == socket.AF_INET6 else "127.0.0.1"
    return f"http://{in_url(host)}:{port}"


def is_open(listening: socket.socket) -> bool:
    """Return whether other machines can reach a listening socket."""
    return not ipaddress.ip_address(listening.getsockname()[0]).is_loopback
