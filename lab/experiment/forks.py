"""The process that workers are forks of: it imports what they need once, and early."""

import signal
from multiprocessing import forkserver, get_context

from hobbes.lab.temporary import temporary

CONTEXT = get_context("forkserver")

WORKERS = "hobbes.lab.experiment.workers"
"""The module that workers run. It takes a second to import, so it is not imported here."""


def get_ready() -> None:
    """Start the process, unless it runs. It ends with this one.

    It and its forks do not hear Ctrl-C, which is for this process: it ends the others.
    """
    temporary()  # where its socket will be
    CONTEXT.set_forkserver_preload([WORKERS])
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
