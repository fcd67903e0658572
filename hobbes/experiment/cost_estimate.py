"""What calls to models that are still to be made will cost: what a dry run says."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hobbes.engine.turn import view_of
from hobbes.experiment.plan import Cell
from hobbes.nodes.caps import Spent
from hobbes.nodes.journal import CallDetails, PlayerKind, Reply
from hobbes.nodes.models import ModelSettings
from hobbes.nodes.players import parse_spec
from hobbes.nodes.prompting import approximate_tokens, system_text, turn_text
from hobbes.play.render import cacheable
from hobbes.play.start import Beginning
from hobbes.store.experiment_tables import tokens_per_call
from hobbes.store.home import Store
from hobbes.store.prices import expected_usd, is_priced
from hobbes.store.recorded_run import observer_asked


class Expected(NamedTuple):
    """Calls to a model, and about how many tokens each of them takes; None if unknown."""

    calls: int
    model: ModelSettings
    tokens_in: float
    tokens_out: float | None
    tokens_cached: float = 0


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
    usd_needs: tuple[str, ...] = ()
    """What a models file has to say before dollars are known, such as `price of NAME`."""

    @property
    def may_cost(self) -> bool:
        """Whether the calls cost money, or nobody knows."""
        return self.usd != 0


def total(expected: Iterable[Expected], runs: int = 0) -> Estimate:
    """Return what all calls will cost."""
    tokens_in, tokens_cached, spent, needs = 0, 0, Spent(), dict[str, None]()
    for calls, model, into, out, cached in expected:
        tokens_in += round(calls * into)
        tokens_cached += round(calls * cached)
        each_out, details = None if out is None else round(out), CallDetails(tokens_cached=round(cached))
        reply = Reply("", model.model, tokens_in=round(into), tokens_out=each_out, details=details)
        usd = expected_usd(reply, model)
        spent.calls += calls
        spent.add(None if out is None else round(calls * out), None if usd is None else calls * usd)
        if usd is None:
            is_known = {"price": is_priced(model), "max_tokens": out is not None}
            needs[f"{' and '.join(key for key in is_known if not is_known[key])} of {model.model}"] = None
    return Estimate(runs, spent.calls, tokens_in, tokens_cached, spent.tokens, spent.usd, tuple(needs))


def estimate(store: Store, cells: Sequence[Cell]) -> Estimate:
    """Return what cells will cost. Each agent is taken to be asked in each turn that is not copied."""
    return total(_calls(store, cells), len(cells))


def _calls(store: Store, cells: Sequence[Cell]) -> Iterator[Expected]:
    """Yield the calls of cells to each chat model.

    They have the mean tokens of the recorded calls to the same model in the same world. Without any, the
    tokens in are those of the prompt of the first turn, its system text can be cached, and the tokens out
    are the most that the model may write, unknown without such a bound.
    """
    recorded = tokens_per_call(store, cells[0].new.world.name) if cells else {}
    for cell in cells:
        new, fork = cell.new, cell.fork
        players = Counter((fork.asked if fork else new.models).values())
        if (observer := observer_asked(new.world, new.setting)) not in {"", PlayerKind.HUMAN}:
            players[observer] += 1
        rounds = new.setting.config.rounds - (fork.turn if fork else 0)
        for spec, n in players.items():
            if model := parse_spec(new.world.policies, spec, new.model_settings).settings:
                if spec in recorded:
                    yield Expected(n * rounds, model, *recorded[spec])
                else:
                    into, cached = _tokens_of_first_prompt(new)
                    yield Expected(n * rounds, model, into, model.max_tokens, cached)


def _tokens_of_first_prompt(new: Beginning) -> tuple[int, int]:
    """Return the approximate tokens that the first agent is sent in the first turn.

    Then how many of them a provider can read from its cache: the system text is the same in each call.
    """
    state = new.world.setup(new.setting.config, new.setting.agents, new.setting.seed)
    view = view_of(new.world, state, {}, new.world.actors(state)[0])
    system, turn = (
        approximate_tokens(text)
        for text in (system_text(new.prompts, new.setting), turn_text(new.prompts, view))
    )
    return system + turn, cacheable(system)
