"""A cache of the current turn's values, so that nodes need not parse their JSON again and again.

Plain JSON flows between nodes, because that is what a checkpoint can hold. Within one process each value is
built from its JSON at most once: a node that returns JSON also leaves the value that the JSON was made from.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.memory import Memory
from hobbes.engine.turn import Judged, Turn, TurnRecord
from hobbes.engine.world import AnyWorld, Setting
from hobbes.nodes.turn_state import TurnState, memories_from, setting_of

T = TypeVar("T")


class Made(Generic[T]):
    """Caches the value of one JSON object, by the object's identity: channels are never changed in place."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._last: tuple[object, T] | None = None

    def of(self, data: object) -> T:
        """Return the value of a JSON object, from the cache if this very object was the last one."""
        if self._last is None or self._last[0] is not data:
            self._last = (data, self._make(data))
        return self._last[1]

    def put(self, data: Any, value: T) -> Any:  # noqa: ANN401  JSON
        """Cache a value together with its JSON, and return the JSON."""
        self._last = (data, value)
        return data


class TurnCache:
    """The current turn as values of its world, each built from the JSON of its channel when it is needed."""

    def __init__(self, world: AnyWorld) -> None:
        self.world = world
        self.setting: Made[Setting[Any]] = Made(lambda run: setting_of(world, run))
        self.memories: Made[Mapping[str, Memory]] = Made(memories_from)
        self.answers: Made[Mapping[str, ParsedAnswer]] = Made(
            lambda answers: {agent: ParsedAnswer.from_json(data) for agent, data in answers.items()}
        )
        self.judged: Made[Judged[Any]] = Made(lambda data: Judged.from_json(world, data))
        self.record: Made[TurnRecord] = Made(TurnRecord.from_json)
        self._state: Made[Any] = Made(lambda _: None)

    def state(self, state: TurnState) -> Any:  # noqa: ANN401  a world's own state
        """Return the world's state at the start of the turn, which is loaded with the setting."""
        here = self._state.of(state["world"])
        if here is None:
            here = self.world.state.load(self.setting.of(state["run"]), state["world"])
            self._state.put(state["world"], here)
        return here

    def put_turn(self, turn: Turn[Any, Any]) -> dict[str, Any]:
        """Return the JSON of the record of a resolved turn, with which the next one begins."""
        record = turn.record  # makes the JSON of the world's state
        data: dict[str, Any] = self.record.put(record.to_json(), record)
        self._state.put(data["state"], turn.resolved.state)
        self.memories.put(data["memories"], turn.memories)
        return data
