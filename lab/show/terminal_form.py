"""A person answers what a waiting run asks in the terminal, field by field."""

import json

import typer

from hobbes.engine.record import Json
from hobbes.engine.world import OBSERVER
from hobbes.lab.play import forms
from hobbes.lab.play.answering import columns_and_rows, in_lines, requests
from hobbes.lab.play.forms import Field, Form
from hobbes.lab.show.terminal import ERR, plain, remark, table
from hobbes.lab.store.run import PersonQuestion


def answer_from_terminal(question: PersonQuestion, form: Form) -> str:
    """Show the question, ask for each field until the whole answer is valid, and return the answer."""
    if question.agent == OBSERVER:
        ERR.print(table("", *columns_and_rows(requests(question))))
    else:
        remark("\n".join(in_lines(json.loads(question.asked))))
    while True:
        values: dict[forms.Path, Json] = {}
        for group in form.groups:
            if heading := ": ".join(filter(None, (group.title, group.description))):
                remark(heading)
            for field in group.fields:
                values |= _ask(field)
        try:
            return forms.answer_with(form, values)
        except ValueError as error:
            remark(f"{error}; once more")


def _ask(field: Field) -> dict[forms.Path, Json]:
    """Ask for one field until its value is valid. Return its value by its path, nothing if it is left out."""

    def read(text: str) -> dict[forms.Path, Json]:
        if not text and field.left_out:
            return {}
        try:
            return {field.path: forms.read(field, text)}
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    about = f" ({field.description})" if field.description else ""
    default = forms.text_of_value(field, field.default)
    value: dict[forms.Path, Json] = typer.prompt(
        plain(f"{field.title}{about}, {forms.hint(field)}").plain,
        default=None if field.required and not field.nullable else default,
        show_default=bool(default),
        value_proc=read,
        err=True,
    )
    return value
