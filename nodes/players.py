"""Who answers: a chat model, or a policy in its place. Both give text that goes the same way."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from engine.chance import Luck
from engine.policy import Policies, speak
from engine.record import Drop, canonical
from engine.world import AnyWorld, Setting
from nodes.caps import Meter
from nodes.human import HumanPlayer
from nodes.journal import Address, PlayerKind, Prompt, Reply, policy_model
from nodes.prompting import PromptSet, system_text

if TYPE_CHECKING:
    from nodes.chat import ChatPlayer

SPEC = re.compile(
    r"openai:(?P<model>\S+?)(?P<parameters>([?&](temperature|max_tokens)=[0-9.]+)*)"
    r"|policy:(?P<policy>[^?\s]+)(\?noise=(?P<noise>[0-9.]+))?"
)

HOTTEST = 2
"""The highest temperature that the protocol knows."""


class Player(Protocol):
    """Somebody who answers for an agent."""

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Give the texts that this mind is asked with; nothing is sent."""

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Answer. A failed call is a Reply with its failure; bugs raise, and HaltedError: nobody is there."""

    def again(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> Prompt | None:
        """Give the second question, which shows what was refused; None: this mind would not change."""


class Players(Protocol):
    """Who answers for whom: gives the mind of a model's spec in a run."""

    def named(self, spec: str) -> Player:
        """Give the mind of this spec."""

    def closed(self) -> str:
        """Say who gives no answer any more; empty as long as all do."""

    def observing(self, spec: str) -> Player:
        """Give the mind of this spec as the observer."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A spec, taken apart: `openai:NAME?temperature=0.5&max_tokens=800`, or `policy:NAME?noise=0.1`."""

    kind: PlayerKind
    name: str
    noise: float = 0.0
    parameters: tuple[tuple[str, float], ...] = ()


def parse_spec(policies: Policies, spec: str) -> Spec:
    """Take a spec apart; ValueError says what it should look like, or which policies there are."""
    found = SPEC.fullmatch(spec)
    if found is None:
        raise ValueError(f"no model spec: {spec!r}; write openai:NAME or policy:NAME?noise=0.1")
    if found["model"]:
        return Spec(PlayerKind.CHAT, found["model"], parameters=_parameters(found["parameters"]))
    if found["policy"] not in policies.by_name:
        raise ValueError(f"there is no policy {found['policy']!r}; there are: {', '.join(policies.by_name)}")
    try:
        noise = float(found["noise"] or 0)
    except ValueError:
        noise = -1.0
    if not 0 <= noise <= 1:
        raise ValueError(f"noise in {spec!r} must be a number from 0 to 1")
    return Spec(PlayerKind.POLICY, found["policy"], noise)


def _parameters(said: str) -> tuple[tuple[str, float], ...]:
    """Read what is sent with each request: `temperature` from 0 to 2, `max_tokens` from 1."""
    given: dict[str, float] = {}
    for name, value in re.findall(r"[?&](\w+)=([0-9.]+)", said):
        try:
            given[name] = float(value) if name == "temperature" else int(value)
        except ValueError as error:
            raise ValueError(f"{name}={value}: a number, and a whole one of max_tokens") from error
    if not 0 <= given.get("temperature", 0) <= HOTTEST or given.get("max_tokens", 1) < 1:
        raise ValueError(f"{said[1:]}: take a temperature from 0 to {HOTTEST}, and max_tokens from 1")
    return tuple(given.items())


def deal(world: AnyWorld, mix: str, agents: Iterable[str]) -> dict[str, str]:
    """Give each agent its model's spec, from a mix such as `openai:gpt-5-mini*4,policy:random*6`.

    Agents are served in order. One part may go without its `*N`: it takes all agents that are left.
    """
    names = list(agents)
    parts = [re.fullmatch(r"(.+?)(?:\*(\d+))?", part.strip()) for part in mix.split(",")]
    counts = [(part[1], int(part[2]) if part[2] else None) for part in parts if part is not None]
    open_ended = [spec for spec, count in counts if count is None]
    left = len(names) - sum(count or 0 for _, count in counts)
    if len(counts) != len(parts) or len(open_ended) > 1 or left < 0 or (left > 0 and not open_ended):
        raise ValueError(f"model mix {mix!r} does not come to {len(names)} agents; write SPEC*N,SPEC*N")
    dealt = [spec for spec, count in counts for _ in range(left if count is None else count)]
    for spec in set(dealt):
        parse_spec(world.policies, spec)
    return dict(zip(names, dealt, strict=True))


@dataclass(frozen=True, slots=True)
class PolicyPlayer:
    """A comparator as a mind. It reads the view as JSON and draws its luck by run seed, turn and agent."""

    world: AnyWorld
    spec: Spec
    seed: int

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Give the view alone."""
        return Prompt("", canonical(view))

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Answer as the comparator does."""
        luck = Luck(self.seed, address.turn, address.agent)
        text = speak(self.world.policies, self.spec.name, self.spec.noise, json.loads(prompt.turn), luck)
        return Reply(text, policy_model(self.spec.name), tokens_in=0, tokens_out=0)

    def again(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> None:
        """A comparator would answer as before."""


class Metered:
    """A mind whose calls are counted."""

    def __init__(self, player: Player, meter: Meter) -> None:
        self._mind = player
        self._meter = meter
        self.prompt = player.prompt
        self.again = player.again

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Answer, if the run may cost another call; else HaltedError."""
        self._meter.begin()
        reply = await self._mind.reply(address, prompt)
        self._meter.ended(reply)
        return reply


class RunPlayers:
    """Who answers in one run. Each spec has one mind, for all the agents that it is dealt to.

    With a meter, every call is counted, and none is made that the run's caps do not allow. `answered` tells
    whether anybody has ever answered in the run: then a provider is given up less soon.
    """

    def __init__(
        self,
        world: AnyWorld,
        setting: Setting[Any],
        prompts: PromptSet,
        meter: Meter | None = None,
        *,
        answered: bool = False,
    ) -> None:
        self._world = world
        self._setting = setting
        self._prompts = prompts
        self._meter = meter
        self._answered = answered
        self._minds: dict[str, Player] = {}
        self._models: list[ChatPlayer] = []

    @cached_property
    def _system(self) -> str:
        """The system text, the same for all agents and turns."""
        return system_text(self._prompts, self._setting)

    def named(self, spec: str) -> Player:
        """Give the mind of this spec, made when it is first asked for."""
        if spec not in self._minds:
            parsed = parse_spec(self._world.policies, spec)
            self._minds[spec] = (
                PolicyPlayer(self._world, parsed, self._setting.seed)
                if parsed.kind is PlayerKind.POLICY
                else self._model(parsed, self._system, self._prompts)
            )
        return self._counted(self._minds[spec])

    def observing(self, spec: str) -> Player:
        """Give the observer's mind, made when it is first asked for: a person, or a model."""
        name = f"observer {spec}"
        if name not in self._minds:
            model = parse_spec(self._world.policies, spec) if spec != PlayerKind.HUMAN else None
            alone = replace(self._prompts, turn="{{ view }}")
            self._minds[name] = (
                HumanPlayer() if model is None else self._model(model, self._prompts.observer, alone)
            )
        return self._counted(self._minds[name])

    def _model(self, spec: Spec, system: str, prompts: PromptSet) -> Player:
        """Make a chat model. Its client is imported here: that takes as long as a run without models."""
        from nodes.chat import JSON_OBJECT, ChatPlayer  # noqa: PLC0415

        parameters = {**JSON_OBJECT, **dict(spec.parameters)}
        self._models.append(ChatPlayer(spec.name, system, prompts, parameters, answered=self._answered))
        return self._models[-1]

    def _counted(self, player: Player) -> Player:
        """Give a mind whose calls the run's meter counts; a person's answers cost nothing."""
        if self._meter is None or isinstance(player, HumanPlayer):
            return player
        return Metered(player, self._meter)

    def closed(self) -> str:
        """Say why nobody is asked any more: a cap is reached, or a model's provider gives no answer."""
        gone = (model.gone for model in self._models if model.gone)
        return (self._meter.told if self._meter else "") or next(gone, "")

    async def close(self) -> None:
        """Close the connections."""
        for model in self._models:
            await model.close()
