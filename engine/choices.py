"""What a person may choose for each field of an answer, and what it costs, so that choosing can be clicking.

It says what is worth showing. The rules of the world decide what is taken: an answer is validated as ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Choice:
    """What a field may be given: some of these `options`, each as it is written, such as `0 4` or an agent.

    `limit` is how often one option may be chosen, or up to which number; None if only the budget limits it.
    `values` are what each option may be given, such as the territories that may be ceded to an agent; none if
    that is a number or a text.
    """

    options: tuple[str, ...]
    limit: int | None = None
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Budget:
    """What choices are paid from: its name, its amount, and the price of one unit of each field.

    `note` says what else the amount depends on. Of a field with several amounts for each option, only those
    under the name of the budget are paid from it.
    """

    name: str
    amount: int
    prices: Mapping[str, int]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Choices:
    """What may be chosen, by the name of the field, and the budgets. A field that is missing is written."""

    fields: Mapping[str, Choice] = field(default_factory=dict)
    budgets: tuple[Budget, ...] = ()


NOTHING_TO_CHOOSE = Choices()
