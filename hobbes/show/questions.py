"""What a waiting run asks a person, in a terminal: the view or the requests, and the fields of the answer."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from rich.console import RenderableType

from hobbes.engine.record import Json
from hobbes.engine.world import OBSERVER
from hobbes.errors import UsageError
from hobbes.play.people import checked_answer, keep_answer, model_of_answer, requests, written_answer
from hobbes.play.start import check_it_goes_on
from hobbes.show.terminal import ERR, OUT, columns_and_rows, next_step, remark, table
from hobbes.show.world_list import fields_of
from hobbes.store.home import Store
from hobbes.store.recorded_run import PersonQuestion, Run


def answer_in_terminal(store: Store, run: Run, question: PersonQuestion) -> None:
    """Show a question, and ask until an answer is taken.

    Raise HobbesError if the run cannot go on now, if somebody else has answered, or if it is too late.
    """
    check_it_goes_on(run)
    remark("\n".join(in_lines(json.loads(question.asked))))
    ERR.print(_fields_table(run, question))
    while True:
        try:
            said = checked_answer(run, question, written_answer(_typed_words(question)))
            keep_answer(store, run, question, said)
        except UsageError as error:
            remark(f"hobbes: {error}")
        else:
            return


def _typed_words(question: PersonQuestion) -> list[str]:
    """Return the words of a line that a person types. Raise UsageError for a quote that does not end."""
    line: str = typer.prompt(f"{question.agent}, KEY=VALUE ... or @FILE.json", err=True)
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{error}; write it once more") from error


def show_questions(store: Store, run: Run) -> None:
    """Show whom a waiting run asks, and how to answer."""
    first, *others = run.questions
    if first.agent == OBSERVER:
        OUT.print(table(f"turn {run.turns}: a person is asked", *columns_and_rows(requests(first))))
    else:
        how = [(one.agent, store.command("answer", run.label, "--agent", one.agent)) for one in run.questions]
        OUT.print(table(f"turn {run.turns}: people are asked", ("agent", "answers with"), how))
    OUT.print(_fields_table(run, first))
    more = ("--agent", first.agent) if others else ()
    next_step(store.command("answer", run.label, *more))


def _fields_table(run: Run, question: PersonQuestion) -> RenderableType:
    """Return the fields of an answer as a table."""
    schema = model_of_answer(run, question).model_json_schema()
    rows = [(field["name"], field["values"], field["meaning"]) for field in fields_of(schema)]
    return table("\nwhat may be answered", ("KEY", "VALUE", ""), rows)


def in_lines(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Yield JSON as lines: what is in an object, and each line of a list of texts, stands below its name."""
    for name, one in value.items():
        if isinstance(one, Mapping) and one:
            yield f"{indent}{name}:"
            yield from in_lines(one, f"{indent}  ")
        elif isinstance(one, list) and one and not isinstance(one[0], int):
            yield "\n".join((f"{indent}{name}:", *(f"{indent}  {_in_words(part)}" for part in one)))
        else:
            yield f"{indent}{name}: {_in_words(one)}"


def _in_words(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
