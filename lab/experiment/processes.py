"""Processes of this machine that play games of scripted policies, which keep a core busy."""

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from multiprocessing import Pipe, forkserver, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from hobbes.lab.errors import LabError
from hobbes.lab.temporary import temporary

T = TypeVar("T")
R = TypeVar("R")

CONTEXT = get_context("forkserver")

PLAYING = "hobbes.lab.experiment.playing"
"""The module that the processes need. It takes a second to import, so it is not imported here."""


def get_ready() -> None:
    """Start the process that the others are forks of, unless it runs. It ends with this one.

    It and its forks do not hear Ctrl-C, which is for this process: it ends the others.
    """
    temporary()  # where its socket will be
    CONTEXT.set_forkserver_preload([PLAYING])
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def in_processes(task: Callable[[T], R], arguments: Iterable[T], count: int) -> Iterator[R]:
    """Call a function with each argument, in so many processes, and yield what it returns.

    With one process, it is this one. The others end with it, whatever they do, also if it is killed. Raise
    the error of the function, or LabError if a process dies; what others have not returned yet is lost then.
    """
    if count <= 1:
        yield from map(task, arguments)
        return
    get_ready()
    lifeline, held = Pipe(duplex=False)
    started = [_started(task, lifeline) for _ in range(count)]
    free, busy, waiting = [connection for _, connection in started], set[Connection](), iter(arguments)
    try:
        while True:
            # They are no pool, whose semaphores would stay behind if all processes were killed at once.
            for argument in islice(waiting, len(free)):
                busy.add(free[-1])
                free.pop().send(argument)
            if not busy:
                return
            for connection in busy.intersection(wait([*busy])):
                yield _received(connection)
                busy.remove(connection)
                free.append(connection)
    finally:
        held.close()
        for process, connection in started:
            process.join()
            connection.close()
        lifeline.close()


def _started(task: Callable[[T], R], lifeline: Connection) -> tuple[BaseProcess, Connection]:
    """Start a process, and return it with the pipe through which it takes arguments and sends results."""
    ours, theirs = Pipe()
    process = CONTEXT.Process(target=_work, args=(task, theirs, lifeline, dict(os.environ)))
    process.start()
    theirs.close()
    return process, ours


def _received(connection: Any) -> Any:  # noqa: ANN401  a connection, and what was sent through it
    """Return what a process sends. Raise the error of its function, LabError if it died."""
    try:
        result, error = connection.recv()
    except (EOFError, OSError) as death:
        raise LabError(
            "a process that played runs died; see whether memory ran out, then play them again to go on"
        ) from death
    if error:
        raise error
    return result


def _work(task: Callable[[T], R], tasks: Connection, lifeline: Connection, variables: dict[str, str]) -> None:
    """Be a process: call a function with each argument that arrives, and send back what it returns.

    Its environment is that of its parent now, and not when the process was started that it is a fork of.
    """
    os.environ.clear()
    os.environ.update(variables)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    while True:
        argument = tasks.recv()
        try:
            tasks.send((task(argument), None))
        except Exception as error:  # noqa: BLE001  the parent raises it
            error.add_note(traceback.format_exc())  # which it would lose on its way
            tasks.send((None, error))


def _end_with_parent(lifeline: Connection) -> None:
    """End this process when the other end of a pipe, which only its parent holds, is closed."""
    lifeline.poll(None)
    os._exit(0)
