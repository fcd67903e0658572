"""The form of a seat, laid out for clicking: a map, a table of agents, buttons; the rest is written.

The world says what may be chosen (`engine.choices`). A field that it does not name is written as in any form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hobbes.engine.choices import Budget, Choice, Choices
from hobbes.engine.record import Json
from hobbes.engine.reflection import REPORTS, TEXTS
from hobbes.lab.play.answering import is_map
from hobbes.lab.play.forms import NAMED, Field, Form, Kind


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of the map: how it is written, its word, its owner or None, and which fields may take it."""

    name: str
    word: str
    owner: str | None
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeatForm:
    """The fields of an answer by the way in which they are filled in.

    `on_map` takes plots, `by_agent` has one value for each of several agents, `picked` is one of few values,
    `written` is everything else that decides. A text to all or to each of several agents is in both `written`
    and `by_agent`. `reports` and `texts` are what the agent says of others and of
    itself.
    """

    on_map: tuple[Field, ...]
    by_agent: tuple[Field, ...]
    picked: tuple[Field, ...]
    written: tuple[Field, ...]
    reports: tuple[Field, ...]
    texts: tuple[Field, ...]
    choices: Choices
    plots: tuple[tuple[Plot, ...], ...]

    def choice(self, field: Field) -> Choice:
        """Return what may be chosen for a field."""
        return self.choices.fields[field.path[-1]]

    def agents(self, fields: Sequence[Field]) -> tuple[str, ...]:
        """Return the names that some of these fields may take, in their order."""
        return tuple(dict.fromkeys(name for field in fields for name in self.choice(field).options))

    def prices(self, budget: Budget) -> Mapping[str, int]:
        """Return the price of one unit of each field, by the name of the field in the form."""
        fields = (*self.on_map, *self.by_agent, *self.picked, *self.written)
        return {
            field.name: budget.prices[field.path[-1]] for field in fields if field.path[-1] in budget.prices
        }


def seat_form(form: Form, choices: Choices, drawn_map: Json, owners: Mapping[str, str]) -> SeatForm:
    """Return the form of an agent's answer, laid out.

    `drawn_map` is the map of the view, None if it has none; `owners` has the agent behind each word on it.
    """
    rows = drawn_map if isinstance(drawn_map, list) and is_map(drawn_map) else []
    chosen = [field for field in form.fields if field.path[-1] in choices.fields]
    moves = [field for field in form.fields if field.path[-1] not in {*TEXTS, *REPORTS}]
    by_agent = [field for field in chosen if field.kind in NAMED]
    on_map = [field for field in chosen if field.kind is Kind.NUMBERS] if rows else []
    picked = [
        field for field in moves if field.kind is Kind.CHOICE or (field in chosen and field.kind is Kind.TEXT)
    ]
    laid_out = [*(field for field in by_agent if field.kind is Kind.PAIRS), *on_map, *picked]
    return SeatForm(
        tuple(on_map),
        tuple(field for field in by_agent if field in moves),
        tuple(picked),
        tuple(field for field in moves if field not in laid_out),
        tuple(field for field in by_agent if field not in moves),
        tuple(field for field in form.fields if field not in [*moves, *by_agent]),
        choices,
        tuple(
            tuple(
                Plot(name := f"{r} {c}", word, owners.get(word), _takers(name, on_map, choices))
                for c, word in enumerate(str(row).split())
            )
            for r, row in enumerate(rows)
        ),
    )


def _takers(plot: str, on_map: Sequence[Field], choices: Choices) -> tuple[str, ...]:
    """Return the names of the fields that may take a plot."""
    return tuple(field.name for field in on_map if plot in choices.fields[field.path[-1]].options)
