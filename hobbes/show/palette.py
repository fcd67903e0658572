"""How an agent looks wherever it is shown: one colour and one mark, in the terminal, on pages and in charts.

They follow from the agent's place among the agents of its run, and are decided here alone.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from hobbes.engine.world import OBSERVER
from hobbes.store.checked_rows import damage_error

if TYPE_CHECKING:
    from hobbes.store.home import Store
    from hobbes.store.recorded_run import Run

# Eight colours by Okabe and Ito that colour-blind people can tell apart; grey stands in for their black.
PALETTE = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "currentColor")
"""The colours of arms and lines: those of PALETTE that can be seen on white paper, and that of texts."""

MARKS = "●■▲◆▼★◄►○□△◇▽☆◁▷"
"""The marks of agents: eight shapes, first filled and then empty."""


@dataclass(frozen=True, slots=True)
class Look:
    """The colour and the mark of the agent at this place, from 0.

    The first 8 agents differ in both. The first 16 differ in their marks, any two of the first 128 in the
    colour or the mark.
    """

    place: int

    @property
    def colour(self) -> int:
        """The index of the colour in PALETTE."""
        return self.place % len(PALETTE)

    @property
    def mark(self) -> str:
        """The mark, which stands before the agent's name."""
        return MARKS[(self.place + self.place // len(MARKS)) % len(MARKS)]

    @property
    def key(self) -> str:
        """Colour and mark, by which the script of the pages finds all that belongs to the agent."""
        return f"{self.colour}{self.mark}"


Looks: TypeAlias = Mapping[str, Look]
"""The look of each name."""


def looks_of(agents: Collection[str]) -> dict[str, Look]:
    """Return the look of each agent.

    Shorter names come first, so that an agent keeps its look if there are more agents: AgentB comes before
    AgentAA.
    """
    in_order = sorted(set(agents), key=lambda agent: (len(agent), agent))
    return {agent: Look(place) for place, agent in enumerate(in_order)}


def looks_in(store: "Store", run: "Run") -> dict[str, Look]:
    """Return the look of everybody who was asked in a run.

    An actor that is no agent of the run looks like the agent that owns it. Raise DamagedError for a call of
    somebody else.
    """
    from hobbes.store.history import state_before  # noqa: PLC0415  slow to import, and the terminal needs looks

    looks = looks_of(run.setting.agents)
    for name, turn in store.calls.first_asked(run.id).items():
        if name not in looks and name != OBSERVER:
            state = state_before(store, run, turn)
            if name not in run.world.actors(state):
                problem = f"the column calls.agent is damaged: {name!r} does not act in this turn"
                raise damage_error(run.id, f", turn {turn}", problem)
            looks[name] = looks[run.world.owner(state, name)]
    return looks


def looks_now(run: "Run", state: Any) -> dict[str, Look]:  # noqa: ANN401  a world's own state
    """Return the look of everybody who acts in a state of a run."""
    looks = looks_of(run.setting.agents)
    return looks | {actor: looks[run.world.owner(state, actor)] for actor in run.world.actors(state)}


def players_of(run: "Run", looks: Looks) -> dict[str, str]:
    """Return the player of everybody who has a look; a policy goes without its kind.

    An actor that is no agent of the run has that of the agent that owns it.
    """
    by_look = {looks[agent]: spec.removeprefix("policy:") for agent, spec in run.models.items()}
    return {name: by_look[look] for name, look in looks.items() if look in by_look}


def words_of(run: "Run", looks: Looks) -> dict[str, Look]:
    """Return the look of each word by which the picture of a run's world shows somebody."""
    shown = run.world.picture.in_picture(run.setting.agents)
    return {shown.get(name, name): look for name, look in looks.items()}


@lru_cache(maxsize=8)
def _names(names: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(“[^”]*”|(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-]))")


def with_names(words: str, names: Iterable[str]) -> list[str]:
    """Return words in pieces, so that each name in them is a piece of its own; none in a quotation is."""
    among = tuple(names)
    return [piece for piece in _names(among).split(words) if piece] if among else [words]
