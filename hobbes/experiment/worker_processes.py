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

from hobbes.errors import HobbesError

T = TypeVar("T")
R = TypeVar("R")

CONTEXT = get_context("forkserver")

GAMES = "hobbes.experiment.games"
"""The module that the processes need. It takes a second to import, so it is not imported here."""


def get_ready() -> None:
    """Start the process that the others are forks of, unless it runs. It ends with this one.

    It and its forks do not hear Ctrl-C, which is for this process: it ends the others.
    """
    CONTEXT.set_forkserver_preload([GAMES])
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def in_processes(task: Callable[[T], R], arguments: Iterable[T], count: int) -> Iterator[R]:
    """Call a function with each argument, in so many processes, and yield what it returns.

    With one process, it is this one. The others end with it, whatever they do, also if it is killed. Raise
    the error of the function, or HobbesError if a process dies; what others have not returned yet is lost.
    """
    if count <= 1:
        yield from map(task, arguments)
        return
    get_ready()
    lifeline, held = Pipe(duplex=False)
    started = dict(_start(task, lifeline) for _ in range(count))
    free, busy, waiting = [*started], dict[Connection, T](), iter(arguments)
    try:
        while True:
            # They are no pool, whose semaphores would stay behind if all processes were killed at once.
            for argument in islice(waiting, len(free)):
                busy[free[-1]] = argument
                free.pop().send(argument)
            if not busy:
                return
            for connection in busy.keys() & wait([*busy]):
                argument = busy.pop(connection)
                try:
                    result, error = connection.recv()
                except (EOFError, OSError):
                    raise HobbesError(
                        f"run {argument}: the process that played it died; see whether memory ran out, then "
                        "play the experiment again to go on"
                    ) from None
                if error:
                    raise error
                yield result
                free.append(connection)
    finally:
        held.close()
        for connection, process in started.items():
            process.join()
            connection.close()
        lifeline.close()


def _start(task: Callable[[T], R], lifeline: Connection) -> tuple[Any, BaseProcess]:
    """Start a process. Return the pipe through which it takes arguments and sends results, and itself."""
    ours, theirs = Pipe()
    process = CONTEXT.Process(target=_work, args=(task, theirs, lifeline, dict(os.environ)))
    process.start()
    theirs.close()
    return ours, process


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
