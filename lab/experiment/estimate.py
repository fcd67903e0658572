"""What the missing cells of an experiment will cost: what `hobbes experiment --dry-run` says."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from engine.turn import view_of
from lab.experiment.plan import Cell
from lab.play.playing import Beginning, observer_asked
from lab.store.database import Store
from lab.store.experiments import tokens_per_call
from lab.store.prices import prices_of, usd
from nodes.players import parse_spec
from nodes.prompting import approximate_tokens, system_text, turn_text

T = TypeVar("T", int, float)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Runs, and the calls to models, tokens and dollars that they will take about; None if unknown."""

    runs: int
    calls: int
    tokens_in: int
    tokens_out: int | None
    usd: float | None

    @property
    def may_cost(self) -> bool:
        """Whether the runs cost money, or nobody knows."""
        return self.usd != 0


def estimate(store: Store, cells: Sequence[Cell]) -> Estimate:
    """Return what cells will cost.

    Each agent, and an observer that is a model, is taken to be asked in each turn. Calls have the mean tokens
    of the recorded calls to the same model in the same world. Without any, the tokens in are those of the
    prompt of the first turn, and the tokens out are unknown. Scripted policies take no tokens.
    """
    prices = prices_of(store.home)
    recorded = tokens_per_call(store, cells[0].new.world.name) if cells else {}
    calls, tokens_in = 0, 0
    tokens_out: list[int | None] = []
    dollars: list[float | None] = []
    for cell in cells:
        new = cell.new
        asked = [*new.models.values(), *filter(None, [observer_asked(new.world, new.setting)])]
        for spec, players in Counter(asked).items():
            settings = parse_spec(new.world.policies, spec, new.model_settings).settings
            if settings is None:
                continue
            turns = players * new.setting.config.rounds
            each_in, each_out = recorded.get(spec) or (_tokens_of_first_prompt(new), None)
            into, out = round(turns * each_in), None if each_out is None else round(turns * each_out)
            calls += turns
            tokens_in += into
            tokens_out.append(out)
            dollars.append(usd(prices, settings.model, into, out, settings.price))
    return Estimate(len(cells), calls, tokens_in, _sum(tokens_out, 0), _sum(dollars, 0.0))


def _sum(parts: Sequence[T | None], zero: T) -> T | None:
    """Return the sum of parts, None if one of them is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known, zero) if len(known) == len(parts) else None


def _tokens_of_first_prompt(new: Beginning) -> int:
    """Return the approximate tokens that the first agent is sent in the first turn."""
    state = new.world.setup(new.setting.config, new.setting.agents, new.setting.seed)
    view = view_of(new.world, state, {}, new.world.actors(state)[0])
    texts = (system_text(new.prompts, new.setting), turn_text(new.prompts, view))
    return sum(approximate_tokens(text) for text in texts)
