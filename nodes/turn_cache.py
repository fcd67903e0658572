"""A cache of the current turn's values, so that nodes need not parse their JSON again and again.

Plain JSON flows between nodes, because that is what a checkpoint can hold. Within one process each value is
built from its JSON at most once: a node that returns JSON also leaves the value that the JSON was made from.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.memory import Memory
from hobbes.engine.turn import Judged, Turn, TurnRecord
from hobbes.engine.world import AnyWorld, PlayedTurn, Setting
from hobbes.nodes.state import TurnState, memories_from, setting_of

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

    def put(self, data: object, value: T) -> None:
        """Cache a value together with its JSON."""
        self._last = (data, value)


def answers_from(told: Mapping[str, Mapping[str, Any]]) -> dict[str, ParsedAnswer]:
    """Return parsed answers from their JSON."""
    return {agent: ParsedAnswer.from_json(data) for agent, data in told.items()}


class TurnCache:
    """The current turn as values of its world, each built from the graph state when it is needed."""

    def __init__(self, world: AnyWorld) -> None:
        self.world = world
        self._setting: Made[Setting[Any]] = Made(lambda run: setting_of(world, run))
        self._answers: Made[Mapping[str, ParsedAnswer]] = Made(answers_from)
        self._judged: Made[Judged[Any]] = Made(lambda data: Judged.from_json(world, data))
        self._record: Made[TurnRecord] = Made(TurnRecord.from_json)
        self._memories: Made[Mapping[str, Memory]] = Made(memories_from)
        self._played: Made[PlayedTurn[Any, Any] | None] = Made(lambda _: None)
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
        self._state.put(state["world"], loaded)
        return loaded

    def memories(self, state: TurnState) -> Mapping[str, Memory]:
        """Return everybody's memory at the start of the turn."""
        return self._memories.of(state["memories"])

    def answers(self, state: TurnState) -> Mapping[str, ParsedAnswer]:
        """Return the parsed answer of each agent."""
        return self._answers.of(state["answers"])

    def judged(self, state: TurnState) -> Judged[Any]:
        """Return the judged answers: intents, drops and mends."""
        return self._judged.of(state["judged"])

    def record(self, state: TurnState) -> TurnRecord:
        """Return the record of the turn, once it is resolved."""
        return self._record.of(state["resolved"]["record"])

    def played(self, state: TurnState) -> PlayedTurn[Any, Any] | None:
        """Return the resolved turn in the form that measures read; None if only its JSON is at hand."""
        return self._played.of(state["resolved"]["record"])

    def put_answers(self, answers: Mapping[str, ParsedAnswer]) -> dict[str, Any]:
        """Return the JSON of parsed answers, and cache the values."""
        data = {agent: answer.to_json() for agent, answer in answers.items()}
        self._answers.put(data, answers)
        return data

    def put_judged(self, judged: Judged[Any]) -> dict[str, Any]:
        """Return the JSON of judged answers, and cache the value."""
        data = judged.to_json()
        self._judged.put(data, judged)
        return data

    def put_turn(self, turn: Turn[Any, Any]) -> dict[str, Any]:
        """Return the JSON of the record of a resolved turn, with which the next one begins."""
        record = turn.record
        data = record.to_json()
        self._record.put(data, record)
        self._played.put(data, turn.played)
        self._state.put(data["state"], turn.resolved.state)
        self._memories.put(data["memories"], turn.memories)
        return data
