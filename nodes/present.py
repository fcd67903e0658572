"""The values of the turn that is played, beside their JSON in the channels.

Between nodes flows plain JSON, since that is what a checkpoint holds. Within one process each value is made
from its JSON at most once: a node that returns JSON also leaves the value that it was made from.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from engine.memory import Memory
from engine.turn import Judged, Turn, TurnRecord
from engine.world import AnyWorld, Setting
from nodes.state import TurnState, memories_from, setting_of

T = TypeVar("T")


class Made(Generic[T]):
    """The last value that was made from a JSON object, for as long as it is that very object."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._last: tuple[object, T] | None = None

    def of(self, told: object) -> T:
        """Return the value of a JSON object."""
        if self._last is None or self._last[0] is not told:
            self._last = (told, self._make(told))
        return self._last[1]

    def leave(self, told: object, value: T) -> None:
        """Leave a value beside its JSON, so that nobody has to make it again."""
        self._last = (told, value)


class Present:
    """The turn that is played, as its world's own values."""

    def __init__(self, world: AnyWorld) -> None:
        self.world = world
        self._setting: Made[Setting[Any]] = Made(lambda run: setting_of(world, run))
        self._judged: Made[Judged[Any]] = Made(lambda told: Judged.from_json(world, told))
        self._record: Made[TurnRecord] = Made(TurnRecord.from_json)
        self._memories: Made[Mapping[str, Memory]] = Made(memories_from)
        self._state: Made[Any] = Made(lambda _: None)

    def setting(self, state: TurnState) -> Setting[Any]:
        """Return the setting of the run."""
        return self._setting.of(state["run"])

    def state(self, state: TurnState) -> Any:  # noqa: ANN401  a world's own state
        """Return the world's state at the start of the turn."""
        return self._state.of(state["world"]) or self._loaded(state)

    def _loaded(self, state: TurnState) -> Any:  # noqa: ANN401  a world's own state
        """Load the world's state from its JSON, which needs the setting."""
        loaded = self.world.load(self.setting(state), state["world"])
        self._state.leave(state["world"], loaded)
        return loaded

    def memories(self, state: TurnState) -> Mapping[str, Memory]:
        """Return everybody's memory at the start of the turn."""
        return self._memories.of(state["memories"])

    def judged(self, state: TurnState) -> Judged[Any]:
        """Return what became of the answers."""
        return self._judged.of(state["judged"])

    def record(self, state: TurnState) -> TurnRecord:
        """Return the record of the turn, once it is resolved."""
        return self._record.of(state["resolved"]["record"])

    def leave_judged(self, judged: Judged[Any]) -> dict[str, Any]:
        """Return the JSON of what became of the answers."""
        told = judged.to_json(self.world)
        self._judged.leave(told, judged)
        return told

    def leave_turn(self, turn: Turn[Any, Any]) -> dict[str, Any]:
        """Return the JSON of the record of a resolved turn, with which the next one begins."""
        record = turn.record
        self._record.leave(record.told, record)
        self._state.leave(record.told["state"], turn.resolved.state)
        self._memories.leave(record.told["memories"], turn.memories)
        return record.told
