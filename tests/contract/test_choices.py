"""What a person is offered to choose is taken: no rule of a world refuses it."""

from collections.abc import Iterator
from itertools import islice, product

import pytest

from hobbes.engine.choices import Choice, Choices
from hobbes.engine.turn import views
from hobbes.lab.play.answering import answer_from_form
from hobbes.lab.play.forms import NAMED, Field, Form, Kind, form_of, pair_field
from tests.contract.games import CASES, Case, game, heard

MOMENTS = 4
"""How many turns of each game are looked at, from its start and from its end."""

OPTIONS = 3
"""How many options of each field are tried in each view."""

UNKNOWN = {"nations/not-touching"}
"""What an agent cannot know if it sees nothing of others (`observability` is `own`)."""


def posted(form: Form, choices: Choices) -> Iterator[tuple[str, str]]:
    """Yield what the page posts if one option is chosen, or a text to all is written."""
    for field in form.fields:
        choice = choices.fields.get(field.path[-1])
        if field.kind is Kind.TEXT_OR_PAIRS:
            yield field.name, "peace?"
        if choice:
            for option in islice(choice.options, OPTIONS):
                yield from one(field, choice, option)


def required(form: Form) -> Iterator[list[tuple[str, str]]]:
    """Yield the values that the required fields may have."""
    fields = [field for field in form.fields if field.required]
    for values in product(*(field.choices for field in fields)):
        yield [(field.name, str(value)) for field, value in zip(fields, values, strict=True)]


def one(field: Field, choice: Choice, option: str) -> Iterator[tuple[str, str]]:
    """Yield what the page posts for an option, each of several amounts by itself."""
    assert field.kind is not Kind.JSON, "a person need not write JSON"
    if field.kind is Kind.NUMBERS:
        yield field.name, option + (" 1" if len(field.slots) > 1 else "")
    elif field.kind not in NAMED:
        yield field.name, option
    elif (of_option := pair_field(field, option)).kind is Kind.AMOUNTS:
        yield from ((pair_field(of_option, slot.key).name, "1") for slot in of_option.slots)
    else:
        yield of_option.name, str([*choice.values.get(option, ()), *field.choices, "1"][0])


@pytest.mark.parametrize("case", [case for case in CASES if case.world.name != "fishery"], ids=str)
def test_what_may_be_chosen_is_not_rejected(case: Case) -> None:
    world, moments = case.world, game(case)
    form = form_of(world.action(case.setting), terse=True)
    hidden = UNKNOWN if case.values.get("observability") == "own" else set()
    for moment in {*moments[:MOMENTS], *moments[-MOMENTS:]}:
        for agent, view in views(world, moment.state, moment.memories).items():
            choices = world.choices(case.setting.config, view)
            if any(budget.amount < 1 for budget in choices.budgets):
                continue
            for field, value in posted(form, choices):
                answers = (answer_from_form(form, [*needed, (field, value)]) for needed in required(form))
                drops = [world.validate(moment.state, agent, heard(agent, one).said).drops for one in answers]
                unforeseen = [[drop for drop in each if drop.code not in hidden] for each in drops]
                assert [] in unforeseen, (agent, field, value, drops)
