"""What is still to be played will cost: what `hobbes experiment --dry-run` says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hobbes.engine.turn import view_of
from hobbes.experiment.plan import Cell
from hobbes.nodes.journal import CallDetails, PlayerKind, Reply
from hobbes.nodes.players import parse_spec
from hobbes.nodes.prompting import approximate_tokens, system_text, turn_text
from hobbes.play.render import cacheable
from hobbes.play.start import Beginning
from hobbes.store.experiment_tables import tokens_per_call
from hobbes.store.home import Store
from hobbes.store.prices import expected_usd
from hobbes.store.recorded_run import observer_asked

T = TypeVar("T", int, float)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Runs, and the calls to models, tokens and dollars that they will take about; None if unknown."""

    runs: int
    calls: int
    tokens_in: int
    tokens_cached: int
    """How many of the tokens in a provider can read from its cache."""
    tokens_out: int | None
    usd: float | None

    @property
    def may_cost(self) -> bool:
        """Whether the runs cost money, or nobody knows."""
        return self.usd != 0


def estimate(store: Store, cells: Sequence[Cell]) -> Estimate:
    """Return what cells will cost. Each agent is taken to be asked in each turn that is not copied."""
    asked = []
    for cell in cells:
        new, fork = cell.new, cell.fork
        players = Counter((fork.asked if fork else new.models).values())
        if (observer := observer_asked(new.world, new.setting)) not in {"", PlayerKind.HUMAN}:
            players[observer] += 1
        rounds = new.setting.config.rounds - (fork.turn if fork else 0)
        asked.append((new, {spec: n * rounds for spec, n in players.items()}))
    return _cost(store, asked)


def _cost(store: Store, asked: Sequence[tuple[Beginning, Mapping[str, int]]]) -> Estimate:
    """Return what runs will cost, each with the number of calls to each player.

    Calls have the mean tokens of the recorded calls to the same model in the same world. Without any, the
    tokens in are those of the prompt of the first turn, its system text can be cached, and the tokens out
    are unknown. Scripted policies take no tokens.
    """
    recorded = tokens_per_call(store, asked[0][0].world.name) if asked else {}
    calls, tokens_in, tokens_cached = 0, 0, 0
    tokens_out: list[int | None] = []
    dollars: list[float | None] = []
    for new, players in asked:
        for spec, turns in players.items():
            settings = parse_spec(new.world.policies, spec, new.model_settings).settings
            if settings is None:
                continue
            each_in, each_out, each_cached = recorded.get(spec) or _tokens_of_first_prompt(new)
            calls += turns
            tokens_in += round(turns * each_in)
            tokens_cached += round(turns * each_cached)
            tokens_out.append(None if each_out is None else round(turns * each_out))
            one = Reply(
                "",
                settings.model,
                tokens_in=round(each_in),
                tokens_out=None if each_out is None else round(each_out),
                details=CallDetails(tokens_cached=round(each_cached)),
            )
            cost = expected_usd(one, settings)
            dollars.append(None if cost is None else turns * cost)
    return Estimate(len(asked), calls, tokens_in, tokens_cached, _sum(tokens_out, 0), _sum(dollars, 0.0))


def _sum(parts: Sequence[T | None], zero: T) -> T | None:
    """Return the sum of parts, None if one of them is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known, zero) if len(known) == len(parts) else None


def _tokens_of_first_prompt(new: Beginning) -> tuple[int, None, int]:
    """Return the approximate tokens that the first agent is sent in the first turn.

    Then an unknown number for the answer, and how many of them a provider can read from its cache: the system
    text is the same in each call.
    """
    state = new.world.setup(new.setting.config, new.setting.agents, new.setting.seed)
    view = view_of(new.world, state, {}, new.world.actors(state)[0])
    system, turn = (
        approximate_tokens(text)
        for text in (system_text(new.prompts, new.setting), turn_text(new.prompts, view))
    )
    return system + turn, None, cacheable(system)
