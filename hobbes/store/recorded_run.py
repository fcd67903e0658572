"""A run as it is stored: its setting, its players, its prompts, and how far it is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version
from typing import Annotated, Any

from pydantic import AfterValidator

from hobbes.engine.answer import DECISIONS
from hobbes.engine.digest import first_digest, settings_link
from hobbes.engine.turn import RECORD_VERSION
from hobbes.engine.world import AnyWorld, Setting
from hobbes.errors import HobbesError
from hobbes.nodes.caps import Caps
from hobbes.nodes.journal import Call
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.prompt_set import PromptSet
from hobbes.nodes.reading import deciding

HOBBES = version("hobbes")
"""The version of this hobbes."""

STATUSES = ("unfinished", "waiting", "halted", "finished")
"""What a run can be: being played, or stopped; waiting for a person; halted; played to its end."""


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of the record, the rules and hobbes that a run was recorded with."""

    record: int
    rules: int
    hobbes: str
    measures: int | None = None
    """The version of the formulas of its figures; None if it has none yet, or if it is not known."""

    def differences(self, world: AnyWorld, *, rules: bool = True) -> str:
        """Say which versions of the record and the rules are others today; empty if none is.

        Without `rules`, those may be of another version.
        """
        versions = {"record version": (self.record, RECORD_VERSION)}
        if rules:
            versions[f"{world.name} rules"] = (self.rules, world.rules_version)
        differing = {what: pair for what, pair in versions.items() if pair[0] != pair[1]}
        then, here = (
            " and ".join(f"{what} {pair[place]}" for what, pair in differing.items()) for place in (0, 1)
        )
        return f"it was recorded with {then}, and this hobbes has {here}" if differing else ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """How the turns before `until` were played, where a fork goes on in another way."""

    until: int
    setting: Setting[Any]
    models: dict[str, str]
    model_settings: dict[str, ModelSettings]
    prompts: PromptSet


def with_time_zone(time: str) -> str:
    """Return a time as ISO 8601 writes it. Raise ValueError if it is none, or has no time zone."""
    if datetime.fromisoformat(time).tzinfo is None:
        raise ValueError(f"the time {time!r} has no time zone")
    return time


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """A question to a person for whom a run waits."""

    address: str
    """The address of the call that will hold the answer."""
    asked: str
    """The view of the agent or, for an observer, the requests, as JSON."""
    since: Annotated[str, AfterValidator(with_time_zone)]
    """When it was asked, in UTC."""

    @property
    def agent(self) -> str:
        """The agent, or the observer, for whom the person answers."""
        return self.address.partition("/")[2].rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is stored in the run database; `Runs.find` reads it.

    Setting, players and prompts are those of the turns that are still to be played. `at` has those of others.
    """

    id: str
    name: str | None
    world: AnyWorld
    setting: Setting[Any]
    models: dict[str, str]
    model_settings: dict[str, ModelSettings]
    """The settings of the models that the run took from a models file, by name."""
    prompts: PromptSet
    status: str
    turns: int
    digest: str
    seconds: float
    caps: Caps
    questions: tuple[PersonQuestion, ...]
    """What people are asked, while the run waits for their answers."""
    versions: Versions
    parent: str | None = None
    """The run that this one was forked from."""
    forked_at: int = 0
    """The turn at which it was forked: the turns before it were played by the parent. 0 without a parent."""
    earlier: tuple[Stretch, ...] = ()
    """How the first turns were played, in their order, where not like the others."""

    @property
    def label(self) -> str:
        """By what people name it: its name, or its id if it has none."""
        return self.name or self.id

    def kept_calls(self, calls: Sequence[Call]) -> Sequence[Call]:
        """Return the calls to an agent in a turn, none if they failed and are made again: after a halt."""
        repeats = self.status == "halted" or self.setting.config.on_failure == "halt"
        counts = deciding(calls)
        return () if repeats and counts and counts.outcome not in DECISIONS else calls

    def at(self, turn: int) -> "Run":
        """Return the run with the setting, players and prompts of a turn."""
        for one in self.earlier:
            if turn < one.until:
                return replace(
                    self,
                    earlier=(),
                    setting=one.setting,
                    models=one.models,
                    model_settings=one.model_settings,
                    prompts=one.prompts,
                )
        return self

    def digest_before(self, turn: int, last: str) -> str:
        """Return the link of the chain with which a turn begins; `last` is the link of the turn before it."""
        if not turn:
            then = replace(self.world, rules_version=self.versions.rules)
            return first_digest(then, self.at(0).setting)
        return settings_link(last, self.at(turn - 1).setting, self.at(turn).setting)

    def check_versions(self, *, rules: bool = True) -> None:
        """Raise HobbesError if this hobbes can show the run, but not play, replay, verify or measure it.

        Without `rules`, those of the run may be of another version.
        """
        if differences := self.versions.differences(self.world, rules=rules):
            raise HobbesError(
                f"run {self.label} can be shown and exported, but not resumed, replayed, verified or "
                f"measured: {differences}"
            )


def observer_asked(world: AnyWorld, setting: Setting[Any]) -> str:
    """Return the spec of the observer, empty if a rule of the world observes."""
    state = world.setup(setting.config, setting.agents, setting.seed)
    return world.observer.asks(state) if world.observer else ""
