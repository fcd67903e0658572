"""Players answer for agents: a chat model, a scripted policy, a Python player, or a person.

All of them return text, which is read and validated in the same way.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from math import inf, nan
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from hobbes.engine.chance import RngStream
from hobbes.engine.names import alike
from hobbes.engine.policy import Policies, parameters_of, speak
from hobbes.engine.record import Drop, JsonObject, canonical
from hobbes.engine.telling import counted
from hobbes.engine.world import AnyWorld, Setting
from hobbes.nodes.breaker import Breaker
from hobbes.nodes.caps import Meter
from hobbes.nodes.human import HumanPlayer
from hobbes.nodes.journal import POLICY_MODEL, Address, PlayerKind, Prompt, Reply, is_program, without_rng
from hobbes.nodes.models import MAX_TEMPERATURE, NO_MODELS, Models, ModelSettings
from hobbes.nodes.prompt_set import PromptSet
from hobbes.nodes.prompting import ruling_schema, schema_of, system_text
from hobbes.nodes.python_player import PastTurns, PythonPlayer, no_past
from hobbes.nodes.rate_limits import RateLimiter
from hobbes.nodes.turn_cache import Made

if TYPE_CHECKING:
    from hobbes.nodes.chat import ChatPlayer

NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
"""The name that a models file gives to a model."""

RESPONSES = f"{PlayerKind.CHAT}-responses"
"""How the spec of a chat model begins that is asked by the Responses API."""

OF_CHAT: Mapping[str, type] = {"temperature": float, "max_tokens": int, "response_format": str}
"""The parameters that a spec may give a chat model, with their types; a models file has more."""

SPEC = re.compile(
    rf"openai(?P<responses>-responses)?:(?P<model>\S+?)(?P<parameters>([?&]({'|'.join(OF_CHAT)})=[\w.]+)*)"
    r"|(?P<person>human)"
    r"|policy:(?P<policy>[^?&\s]+)(?P<given>([?&]\w+=[\w.-]+)*)"
    r"|python:(?P<python>[^?&]+:\w+)(?P<settings>([?&](timeout|rng)=[\w.-]+)*)"
)
"""How people name a player."""

PYTHON_TIMEOUT = 120.0
"""How many seconds a Python player may take for an answer, unless its spec says otherwise."""

SHARES = ("noise", "tremble")
"""The parameters that every scripted policy has besides `rng`; each is a share from 0 to 1."""


class Player(Protocol):
    """Answers for one or more agents."""

    @property
    def at_once(self) -> bool:
        """Whether it replies without waiting. Such a player gets no follow-up question, and does not rule."""

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Return the prompt for a view. Nothing is sent."""

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Return the reply to a prompt.

        A failed call is a reply with its `failure` set. Raise HaltedError if the run has to stop.
        """

    def follow_up(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> Prompt | None:
        """Return the follow-up question about these rejections; None if this player is not asked twice."""


class Players(Protocol):
    """The players of a run, by their specs."""

    def named(self, spec: str) -> Player:
        """Return the player of a spec."""

    def stop_reason(self) -> str:
        """Return why a turn whose calls have all ended is not played; empty if it is."""

    def observing(self, spec: str) -> Player:
        """Return the player of a spec as the observer."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed player spec.

    It is `openai:NAME?temperature=0.5&max_tokens=800&response_format=json_schema`, or `openai-responses:` so,
    `policy:NAME?noise=0.1&tremble=0.2&rng=NAME` with the policy's own parameters,
    `python:FILE.py:NAME?timeout=60&rng=NAME` (nodes/python_player.py), `human`,
    or a name of a models file.
    """

    kind: PlayerKind
    name: str
    noise: float = 0.0
    """The probability that each part of a policy's answer is spoiled."""
    tremble: float = 0.0
    """The probability that each action of a policy is replaced by a random legal one."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """The parameters of the policy's own that are given, such as `greed=0.7`."""
    rng: str = ""
    """The name of a program's own random draws; empty for those that all runs of a seed share."""
    timeout: float = PYTHON_TIMEOUT
    """How many seconds a Python player may take for an answer."""
    settings: ModelSettings | None = None
    """The settings of a chat model, None for any other player."""

    def speak(self, policies: Policies, view: JsonObject, rng: RngStream) -> str:
        """Return the text that the scripted policy of this spec answers with."""
        return speak(
            policies, self.name, self.noise, view, rng, tremble=self.tremble, parameters=self.parameters
        )


def parse_spec(policies: Policies, spec: str, models: Models = NO_MODELS) -> Spec:
    """Parse a spec. Raise ValueError if it is malformed or names an unknown policy or model."""
    if spec in models:
        return Spec(PlayerKind.CHAT, spec, settings=models[spec])
    found = SPEC.fullmatch(spec)
    if found is None:
        raise ValueError(f"{spec!r} is not a model spec; {_what_to_write(policies, spec, models)}")
    if found["model"]:
        if "?" in found["model"] and not is_stand_in(spec):
            raise ValueError(f"{spec!r}: a chat model has no parameters but {', '.join(OF_CHAT)}")
        api = "responses" if found["responses"] else "chat"
        settings = _with_parameters(found["model"], api, found["parameters"])
        return Spec(PlayerKind.CHAT, found["model"], settings=settings)
    if found["person"]:
        return Spec(PlayerKind.HUMAN, PlayerKind.HUMAN)
    if found["python"]:
        given = _parameters(found["settings"])
        rng, timeout = _rng(spec, given), _number(given.get("timeout", f"{PYTHON_TIMEOUT}"))
        if not 0 < timeout < inf:
            raise ValueError(f"timeout in {spec!r} must be a number of seconds above 0")
        return Spec(PlayerKind.PYTHON, found["python"], rng=rng, timeout=timeout)
    policy = policies.named(found["policy"])
    given = _parameters(found["given"])
    rng = _rng(spec, given)
    shares = {name: _number(value) for name, value in given.items()}
    if wrong := [name for name, share in shares.items() if not 0 <= share <= 1]:
        raise ValueError(f"{wrong[0]} in {spec!r} must be a number from 0 to 1")
    names = (*SHARES, *parameters_of(policy))
    if unknown := shares.keys() - {*names}:
        raise ValueError(
            f"policy {found['policy']!r} has no parameter {min(unknown)!r}; "
            f"parameters: {', '.join((*names, 'rng'))}"
        )
    noise, tremble = (shares.pop(name, 0.0) for name in SHARES)
    return Spec(PlayerKind.POLICY, found["policy"], noise, tremble, shares, rng)


def _what_to_write(policies: Policies, text: str, models: Models) -> str:
    """Return what to write in place of a text that is not a player spec."""
    head = re.split("[:?]", text, maxsplit=1)[0]
    rest = text[len(head) :]
    kinds = {kind: kind for kind in (PlayerKind.CHAT, RESPONSES, PlayerKind.POLICY, PlayerKind.PYTHON)}
    if head not in {*PlayerKind, *kinds}:
        names = {name: f"{PlayerKind.POLICY}:{name}" for name in policies.by_name}
        names |= {name: name for name in (*models, PlayerKind.HUMAN)}
        heads = kinds if rest.startswith(":") else names
        for near in alike(head, heads)[:1]:
            return f"did you mean {heads[near] + rest!r}?"
        whole = f"{PlayerKind.PYTHON if '.py:' in text else PlayerKind.CHAT}:{text}"
        if SPEC.fullmatch(whole) and "://" not in text:
            known = f", or a name of the models file: {', '.join(models)}" if models else ""
            return f"did you mean {whole!r}{known}?"
    return "write openai:NAME, policy:NAME?noise=0.1, python:FILE.py:NAME, human or a name of the models file"


def _parameters(text: str) -> dict[str, str]:
    return dict(re.findall(r"[?&](\w+)=([\w.-]+)", text))


def _rng(spec: str, given: dict[str, str]) -> str:
    """Take the name of the random draws out of the parameters. Raise ValueError if it is no name."""
    rng = given.pop("rng", "")
    if not re.fullmatch(r"[\w-]*", rng):
        raise ValueError(f"rng in {spec!r} must be a name of letters, digits, _ and -")
    return rng


def _number(text: str) -> float:
    """Return the number in a text; NaN, which is in no range, if it is none."""
    try:
        return float(text)
    except ValueError:
        return nan


def is_stand_in(spec: str) -> bool:
    """Return whether a spec is that of a model of the stand-in server, which reads the view and no words."""
    return spec.startswith((f"{PlayerKind.CHAT}:{POLICY_MODEL}", f"{RESPONSES}:{POLICY_MODEL}"))


def with_rng(spec: str, name: str) -> str:
    """Return a spec whose program draws random numbers of its own, under this name.

    The stand-in server's models are policies as well. Any other model is returned as it is: it samples anew.
    """
    if not (is_program(spec) or is_stand_in(spec)):
        return spec
    policy, *parameters = re.split(rf"(?=[?&](?:{'|'.join(OF_CHAT)})=)", spec, maxsplit=1)
    policy = without_rng(policy)
    return f"{policy}{'&' if '?' in policy else '?'}rng={name}{''.join(parameters)}"


def _with_parameters(model: str, api: str, text: str) -> ModelSettings:
    """Return the settings that a spec says. Raise ValueError if a parameter is malformed or out of range."""
    try:
        given = {name: OF_CHAT[name](value) for name, value in re.findall(r"[?&](\w+)=([\w.]+)", text)}
        return ModelSettings.model_validate({"model": model, "api": api, **given})
    except ValueError as error:
        raise ValueError(
            f"{text[1:]}: temperature must be a number from 0 to {MAX_TEMPERATURE}, "
            "max_tokens a whole number of at least 1, response_format json_object, json_schema or none"
        ) from error


def deal(world: AnyWorld, mix: str, agents: Iterable[str], models: Models = NO_MODELS) -> dict[str, str]:
    """Return each agent's player spec, from a mix such as `openai:gpt-6-luna*4,policy:random*6`.

    Specs are dealt to the agents in order. Specs without `*N` share the remaining agents evenly.
    Raise ValueError if the numbers do not add up, or a spec is wrong.
    """
    names = list(agents)
    parts = [re.fullmatch(r"(.+?)(?:\*(\d+))?", part.strip()) for part in mix.split(",")]
    counts = [(part[1], int(part[2]) if part[2] else None) for part in parts if part is not None]
    left = len(names) - sum(count or 0 for _, count in counts)
    open_ended = sum(count is None for _, count in counts)
    share, rest = divmod(left, open_ended) if open_ended else (0, left)
    if len(counts) != len(parts) or left < 0 or rest:
        raise ValueError(
            f"{mix!r} does not add up to {counted(len(names), 'agent')}; write SPEC*N,SPEC*N "
            "(entries without a number share the rest evenly)"
        )
    dealt = [spec for spec, count in counts for _ in range(share if count is None else count)]
    for spec in set(dealt):
        parse_spec(world.policies, spec, models)
    return dict(zip(names, dealt, strict=True))


@dataclass(frozen=True, slots=True)
class PolicyPlayer:
    """A scripted policy as a player. Its random draws are keyed by seed, turn, agent and event."""

    world: AnyWorld
    spec: Spec
    seed: int
    _views: Made[Mapping[str, Any]] = field(default_factory=lambda: Made(orjson.loads), init=False)
    """The view of the last prompt, so that it need not be read back from its text."""

    at_once = True

    def prompt(self, view: Mapping[str, Any]) -> Prompt:
        """Return the view as JSON; a policy reads no system text."""
        text = canonical(view)
        self._views.put(text, view)
        return Prompt("", text)

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Return what the policy answers to the view of the prompt."""
        return self.answer(address.turn, address.agent, self._views.of(prompt.turn))

    def answer(self, turn: int, agent: str, view: Mapping[str, Any]) -> Reply:
        """Return what the policy answers to a view."""
        text = self.spec.speak(self.world.policies, view, RngStream(self.seed, turn, agent, self.spec.rng))
        return Reply(text, POLICY_MODEL + self.spec.name, tokens_in=0, tokens_out=0)

    def follow_up(self, prompt: Prompt, answer: str, drops: Sequence[Drop]) -> None:
        """Return None: a policy would answer the same again."""


class Metered:
    """A player whose calls are counted, and stopped by the run's caps. Its replies say its spec."""

    def __init__(self, player: Player, spec: str, meter: Meter) -> None:
        self._player = player
        self._spec = spec
        self._meter = meter
        self.prompt = player.prompt
        self.follow_up = player.follow_up
        self.at_once = player.at_once

    async def reply(self, address: Address, prompt: Prompt) -> Reply:
        """Return the reply. Raise HaltedError if a cap does not allow another call."""
        with self._meter.call(address.agent):
            reply = (await self._player.reply(address, prompt))._replace(player=self._spec)
        self._meter.add_cost(reply)
        return reply


@dataclass(eq=False)
class RunPlayers:
    """The players of one run. Each spec has one player, for all the agents that it is dealt to.

    `close` ends their connections.
    """

    world: AnyWorld
    setting: Setting[Any]
    prompts: PromptSet | Callable[[], PromptSet]
    """The prompts, or what loads them when the first model is needed."""
    meter: Meter = field(default_factory=Meter)
    """Counts calls and enforces the run's caps."""
    _: KW_ONLY
    models: Models = field(default_factory=dict)
    """The settings of the models that the run took from a models file."""
    answered: Collection[str] = ()
    """The specs of the players that answered before the run was resumed. They are given up later."""
    late: Mapping[str, str] = field(default_factory=dict)
    """The calls that people did not answer in time (nodes/human.py)."""
    limiter: RateLimiter = field(default_factory=RateLimiter)
    """Counts the requests for the models' limits. Runs that are played side by side share one."""
    past: PastTurns = no_past
    """The turns of the run that Python players have not seen (nodes/python_player.py)."""
    _players: dict[str, Player] = field(default_factory=dict, init=False)
    _models: list["ChatPlayer"] = field(default_factory=list, init=False)
    _programs: list[PythonPlayer] = field(default_factory=list, init=False)

    @cached_property
    def _prompts(self) -> PromptSet:
        return self.prompts() if callable(self.prompts) else self.prompts

    @cached_property
    def _system(self) -> str:
        """The system text, which is the same for all agents and turns."""
        return system_text(self._prompts, self.setting)

    def named(self, spec: str) -> Player:
        """Return the player of a spec; it is made when it is first needed."""
        if spec not in self._players:
            self._players[spec] = self._made(spec)
        return self._players[spec]

    def _made(self, spec: str) -> Player:
        parsed = parse_spec(self.world.policies, spec, self.models)
        if parsed.settings is not None:
            return self._model(spec, parsed.settings, self._system, self._prompts)
        if parsed.kind is PlayerKind.HUMAN:
            return HumanPlayer(self.late, schema_of(self.world.action(self.setting)))
        if parsed.kind is PlayerKind.PYTHON:
            breaker = Breaker(spec, answered=spec in self.answered, few_at_first=False)
            player = PythonPlayer(
                parsed.name, parsed.timeout, self.setting.seed, parsed.rng, self.past, breaker
            )
            self._programs.append(player)
            return Metered(player, spec, self.meter)
        return Metered(PolicyPlayer(self.world, parsed, self.setting.seed), spec, self.meter)

    def observing(self, spec: str) -> Player:
        """Return the observer's player, a person or a model; it is made when it is first needed."""
        name = f"observer {spec}"
        if name not in self._players:
            settings = parse_spec(self.world.policies, spec, self.models).settings
            player: Player = HumanPlayer(self.late, ruling_schema(self.world))
            if settings:
                # An observer has no turn template; it gets the requests as JSON and nothing else.
                alone = replace(self._prompts, turn="{{ view }}")
                player = self._model(spec, settings, self._prompts.observer, alone)
            self._players[name] = player
        return self._players[name]

    def _model(self, spec: str, settings: ModelSettings, system: str, prompts: PromptSet) -> Player:
        # Imported late: the client takes longer to import than a small run of policies takes to play.
        from hobbes.nodes.chat import ChatPlayer  # noqa: PLC0415

        player = ChatPlayer(
            settings,
            system,
            prompts,
            name=spec if spec in self.models else f"{PlayerKind.CHAT}:{settings.model}",
            answered=spec in self.answered,
            limiter=self.limiter,
            meter=self.meter,
        )
        self._models.append(player)
        return Metered(player, spec, self.meter)

    def stop_reason(self) -> str:
        """Return which cap is reached or which provider is gone; empty if the turn can be played.

        All calls of the turn have ended. As long as no model has answered, one whose calls failed is gone;
        the same holds for Python players.
        """
        reasons = [self.meter.stop_reason]
        for players in (self._models, self._programs):
            breakers = [player.breaker for player in players]
            silent = not any(one.answered for one in breakers)
            reasons += [one.stop_reason or (one.failing if silent else "") for one in breakers]
        return next(filter(None, reasons), "")

    async def close(self) -> None:
        """Close the connections."""
        for model in self._models:
            await model.close()
