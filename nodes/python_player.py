"""A Python player: a class or function in a person's own file or module, which answers for agents.

It runs in this process, and nothing keeps it from anything (docs/agents.md).
"""

import asyncio
import importlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from importlib.util import module_from_spec, spec_from_file_location
from inspect import iscoroutinefunction, signature
from pathlib import Path
from threading import Thread
from traceback import walk_tb
from types import ModuleType
from typing import Any, TypeAlias

from hobbes.engine.answer import Outcome
from hobbes.engine.chance import RngStream
from hobbes.engine.record import Drop, JsonObject, canonical
from hobbes.nodes.breaker import Breaker, TryFailedError
from hobbes.nodes.file_content import real_path
from hobbes.nodes.journal import PYTHON_MODEL, Address, Prompt, Reply
from hobbes.nodes.secrecy import safe_line, storable

Turns: TypeAlias = Iterable[tuple[JsonObject, JsonObject | None]]
"""What an agent was shown and answered in each turn, in order."""

PastTurns: TypeAlias = Callable[[str, int], Turns]
"""From an agent and a turn to what the agent was shown and answered in each turn before, in order.

An answer is as it was read; it is None for a failed call.
"""


def no_past(agent: str, turn: int) -> tuple[()]:  # noqa: ARG001  as PastTurns
    """Return the past turns of a run that keeps none."""
    return ()


def load(name: str) -> Callable[..., Any]:
    """Return the class or function of a name: FILE.py:NAME or MODULE:NAME, seen from the working directory.

    Raise ValueError, with one line, if it cannot be imported or cannot play.
    """
    try:
        return _begin(_find, name).result()  # type: ignore[no-any-return]
    except TryFailedError as failure:
        raise ValueError(str(failure)) from failure


def _find(name: str) -> Callable[..., Any]:
    """Return the class or function of a name. Raise TryFailedError."""
    source, _, wanted = name.rpartition(":")
    try:
        module = _module(source)
    except BaseException as error:
        raise TryFailedError(f"{source} cannot be imported: {_last_line(error)}") from error
    if not hasattr(module, wanted):
        raise TryFailedError(f"{source} has no {wanted}")
    found = getattr(module, wanted)
    act = getattr(found, "act", None) if isinstance(found, type) else None
    if not (_takes(found) if callable(act) else _takes(found, "view", "rng")):
        raise TryFailedError(
            f"{name} is neither a class with act(view), made without arguments, nor a function of (view, rng)"
        )
    if iscoroutinefunction(act or found):
        raise TryFailedError(f"{name} is async; await what it needs by asyncio.run in a plain function")
    return found  # type: ignore[no-any-return]


def _is_class(name: str) -> bool:
    return isinstance(_find(name), type)


def _module(source: str) -> ModuleType:
    """Return the module of a file or of a dotted name. It is executed once, and may import its neighbours."""
    if not source.endswith(".py"):
        _import_from(Path.cwd())
        return importlib.import_module(source)
    path = real_path(Path(source))
    # Its own name could be that of another module, such as json.py.
    name = str(path)
    if name not in sys.modules:
        spec = spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError(name)
        _import_from(path.parent)
        sys.modules[name] = module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _import_from(folder: Path) -> None:
    """Let modules be imported from a folder, if there is none of that name anywhere else."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _takes(function: object, *arguments: str) -> bool:
    """Return whether a function, or a class, can be called with so many arguments."""
    try:
        signature(function).bind(*arguments)  # type: ignore[arg-type]
    except TypeError:
        return False
    except ValueError:  # a function in C need not have a signature
        return callable(function)
    return True


class PythonPlayer:
    """Asks a class, of which each agent has an object of its own, or a function.

    Their code runs in threads, so that whatever it raises there, only calls fail. `seconds` is how long an
    answer may take. `seed` and `rng` are those of a function's random draws. `past` has the turns that are
    replayed to an object that is made later than in the first turn. `breaker` stops a run whose code fails.
    """

    at_once = False

    def __init__(  # noqa: PLR0913, PLR0917  everything that a player depends on
        self, name: str, seconds: float, seed: int, rng: str, past: PastTurns, breaker: Breaker
    ) -> None:
        self._name = name
        self._seconds = seconds
        self._seed, self._rng = seed, rng
        self._past = past
        self.breaker = breaker
        self._objects: dict[str, tuple[int, Any]] = {}
        """The object of each agent, after the last turn in which it was asked."""
        self._free: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Return the view as JSON; a Python player gets no system text."""
        return Prompt("", canonical(view))

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Return what the object answers to the view. An exception or a time-out is a failed call.

        Raise HaltedError if the code has failed too often.
        """
        began, model = time.monotonic(), PYTHON_MODEL + self._name
        try:
            async with self.breaker.call():
                asking = asyncio.create_task(self._answer(address, json.loads(prompt.turn)))
                # Nothing can stop a thread: late code goes on, nobody sees it fail, and the next call waits.
                asking.add_done_callback(lambda late: late.cancelled() or late.exception())
                ended, _ = await asyncio.wait({asking}, timeout=self._seconds)
                if not ended:
                    error = f"no answer within {self._seconds:g} seconds"
                    raise TryFailedError(error, outcome=Outcome.TIMED_OUT)  # noqa: TRY301  a call fails so
                text = asking.result()
        except TryFailedError as failure:
            reply = Reply("", model, failure=failure.outcome, error=failure.message)
        else:
            reply = Reply(storable(text), model, tokens_in=0, tokens_out=0)
        return reply._replace(milliseconds=round((time.monotonic() - began) * 1000))

    def follow_up(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> None:
        """Return None: a program would answer the same again."""

    async def _answer(self, address: Address, view: JsonObject) -> str:
        async with self._free[address.agent]:
            return str(await _in_thread(self._act, address, view, await self._to_replay(address)))

    async def _to_replay(self, address: Address) -> Turns:
        """Return the turns that an agent's object is told before it is asked: none if it has seen them."""
        if self._is_new(address) and await _in_thread(_is_class, self._name):
            return [*self._past(address.agent, address.turn)]  # the run database belongs to this thread
        return []

    def _is_new(self, address: Address) -> bool:
        """Return whether an agent's object has to be made: in its first turn, or in one before its last.

        The run was then continued from an earlier checkpoint.
        """
        last, _ = self._objects.get(address.agent, (address.turn, None))
        return last >= address.turn

    def _act(self, address: Address, view: JsonObject, past: Turns) -> str:
        """Return what the object or the function answers to a view, as text."""
        found = _find(self._name)
        try:
            if isinstance(found, type):
                answer = self._object(found, address, past).act(view)
            else:
                answer = found(view, RngStream(self._seed, address.turn, address.agent, self._rng))
        except BaseException as error:
            place = _place(error, self._name)
            raise TryFailedError(f"the agent's code raised an error{place}: {_last_line(error)}") from error
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    def _object(self, kind: type, address: Address, past: Turns) -> Any:  # noqa: ANN401  a person's own class
        """Return the object of an agent. It is made when it is first needed, and told the turns before."""
        if self._is_new(address):
            there = kind()
            if replay := getattr(there, "replay", None):
                for view, answer in past:
                    replay(view, answer)
        else:
            _, there = self._objects[address.agent]
        self._objects[address.agent] = address.turn, there
        return there


def _last_line(error: BaseException) -> str:
    """Return the last line of a traceback, such as `ValueError: no such plot`."""
    return safe_line(f"{type(error).__name__}: {error}".removesuffix(": "))


def _place(error: BaseException, name: str) -> str:
    """Return where in the file of a class or function an exception was raised; empty if it was elsewhere."""
    file = _module(name.rpartition(":")[0]).__file__
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return f" ({Path(file).name}, line {lines[-1]})" if file and lines else ""


def _begin(function: Callable[..., Any], *arguments: object) -> Future[Any]:
    """Call a person's own function in a thread, which does not keep this process from ending.

    Whatever it raises, the future raises TryFailedError. Ctrl-C interrupts the main thread alone, so a
    KeyboardInterrupt of this one is the function's own.
    """
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def call() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:  # noqa: BLE001  raised where it is waited for
            told = isinstance(error, TryFailedError)
            future.set_exception(error if told else TryFailedError(_last_line(error)))

    Thread(target=call, daemon=True).start()
    return future


async def _in_thread(function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401  whatever it returns
    return await asyncio.wrap_future(_begin(function, *arguments))
