"""What `hobbes trace` prints: a run, a turn, one agent's turn, or the observer's."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from hobbes.engine.answer import DECISIONS
from hobbes.engine.record import Event
from hobbes.engine.turn import TurnRecord
from hobbes.lab.show.palette import Looks
from hobbes.lab.show.terminal import ERR, OUT, Trimmed, card, json_text, matrix, plain, styled_name, table
from hobbes.lab.show.tracing import (
    TurnSoFar,
    all_calls,
    changed_in_memory,
    deeds,
    reasoning_title,
    short_reasoning,
    usage_line,
)

UNFINISHED = "not finished"
"""What is said of a turn that has not finished."""

MAX_DEEDS = 8
"""How many pairs of agents are listed for each type of event in a turn."""


def show_overview(turns: Iterable[TurnSoFar], looks: Looks, causes: Mapping[str, str]) -> None:
    """Print a run: for each turn who did what to whom, the number of other events, and failed calls."""
    for number, record, _, decisions in turns:
        parts = [Text(UNFINISHED)]
        if record:
            parts = [*_summarize_events(record.events, looks, causes), *_count_rejections(record)]
        failed = Counter(decision.outcome for decision in decisions if decision.failed)
        if failed:
            parts.append(Text(f"✗ {failed.total()} failed: {counts(failed)}", style="bold red"))
        _print_line(number, Text(" · ").join(parts) if parts else Text("nothing happened", style="dim"))


def _print_line(turn: int, text: Text) -> None:
    """Print what is said about a turn beside its number, without breaking words where that is possible."""
    line = Table.grid(padding=(0, 2))
    line.add_column(justify="right", min_width=4)
    line.add_column(overflow="fold")
    line.add_row(str(turn), text)
    OUT.print(Trimmed(line))


def _summarize_events(events: Sequence[Event], looks: Looks, causes: Mapping[str, str]) -> Iterator[Text]:
    """Yield what happened, type by type: who did it to whom, or how often if it was done to nobody."""
    all_deeds, alone = deeds(events, looks, causes)
    done: dict[str, dict[tuple[str, str], dict[tuple[str, str], int]]] = {}
    for deed, times in all_deeds.items():
        by = deed.agent, "←" if deed.role == "from" else "→"
        done.setdefault(deed.type, {}).setdefault(by, {})[deed.other, deed.result] = times
    for kind, of_kind in done.items():
        yield Text.assemble((kind, "bold"), " ", Text("; ").join(_deeds(of_kind, looks)))
    if alone:
        yield Text(counts(alone))


def _deeds(done: Mapping[tuple[str, str], Mapping[tuple[str, str], int]], looks: Looks) -> Iterator[Text]:
    """Yield, for each agent, those to whom it did something, with what came of it and how often."""
    left = MAX_DEEDS
    for (agent, arrow), others in done.items():
        to = [
            Text(" ").join(
                [styled_name(other, looks), *map(plain, filter(None, (words, f"{n} times" * (n > 1))))]
            )
            for (other, words), n in islice(others.items(), left)
        ]
        if to:
            yield Text.assemble(styled_name(agent, looks), f" {arrow} ", Text(", ").join(to))
        left -= len(to)
    if more := sum(map(len, done.values())) - (MAX_DEEDS - left):
        yield Text(f"and {more} more")


def _count_rejections(record: TurnRecord) -> Iterator[Text]:
    """Yield the numbers of rejections and corrections, if there are any."""
    for what, of in (("rejection", record.drops), ("correction", record.mends)):
        if of:
            yield Text(f"{len(of)} {what}{'s' * (len(of) != 1)}", style="dim")


def show_found(matches: Iterable[Mapping[str, Any]], pattern: re.Pattern[str] | None, looks: Looks) -> None:
    """Print what a search found, one line each, with what the pattern matches marked."""
    none = True
    for match in matches:
        none = False
        if "event" in match:
            event = match["event"]
            line = Text.assemble(
                (event["type"], "bold"),
                " ",
                styled_name(event["agent"], looks),
                "  ",
                details_text(event, looks),
            )
        else:
            text = plain(" ".join(match["text"].split()))
            where = f"{match['found_in']} ({match['source']})" if match["source"] else match["found_in"]
            line = Text.assemble((where, "bold"), " ", styled_name(match["agent"], looks), "  ", text)
        if pattern is not None:
            for part in pattern.finditer(line.plain):
                line.stylize("reverse", *part.span())
        _print_line(match["turn"], line)
    if none:
        ERR.print(Text("nothing found", style="dim"))


def counts(counted: Mapping[str, int]) -> str:
    """Return counts in one line."""
    return ", ".join(f"{name} {count}" for name, count in counted.items())


def show_turn(turn: dict[str, Any], looks: Looks) -> None:
    """Print a turn: its agents, events, calls, arithmetic and reports; only the calls before its end."""
    title = f"run {turn['run']}, turn {turn['turn']}"
    if turn["digest"] is None:
        OUT.print(Text(f"{title} has not finished; its calls so far:", style="bold"))
        OUT.print(_calls("", all_calls(turn), looks))
        return
    columns = ("agent", "outcome", "model", "rejections", "corrections", "reasoning", "source")
    OUT.print(table(title, columns, [_agent_row(agent) for agent in turn["agents"]], looks))
    events = [[event["type"], event["agent"], details_text(event, looks)] for event in turn["events"]]
    OUT.print(table("\nevents", ("type", "agent", "details"), events, looks))
    OUT.print(_calls("\ncalls", all_calls(turn), looks))
    if turn["observer"] and (turn["observer"]["drops"] or turn["observer"]["mends"]):
        title = "\nrejections and corrections of the observer's answer"
        OUT.print(Text(title, style="italic"), _rejections_and_corrections(turn["observer"]), sep="\n")
    for agent, figures in turn["arithmetic"].items():
        OUT.print(Text("\n").append_text(styled_name(agent, looks)))
        OUT.print(table("", ("figure", "arithmetic"), list(figures.items())))
    for kind, ratings in turn["reports"].items():
        if ratings:
            OUT.print(matrix(f"\n{kind.replace('_', ' ')}", ratings, looks))
    OUT.print(Text(f"digest {turn['digest']}", style="dim"))


def _agent_row(agent: Mapping[str, Any]) -> list[Any]:
    """Return an agent's row in the table of a turn."""
    found = [len(agent["drops"]), len(agent["mends"])]
    return [agent["agent"], agent["outcome"], agent["model"], *found, *short_reasoning(agent)]


def details(event: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the fields of an event other than its type and agent."""
    return [(key, value) for key, value in event.items() if key not in {"type", "agent"}]


def details_text(event: Mapping[str, Any], looks: Looks) -> Text:
    """Return these fields in one line."""
    return Text(", ").join(
        Text.assemble(
            f"{key} ",
            styled_name(value, looks)
            if isinstance(value, str) and value in looks
            else plain(json.dumps(value, ensure_ascii=False)),
        )
        for key, value in details(event)
    )


def show_card(data: dict[str, Any], looks: Looks) -> None:
    """Print everything about one agent's turn, or the observer's; only its calls before the turn's end."""
    parts: list[tuple[str, RenderableType]] = [
        ("view", json_text(data["view"]) if "view" in data else Text("see the prompt")),
        ("system prompt", plain(data["system"] or "none")),
        ("prompt", plain(data["prompt"])),
        ("answer", plain(data["answer"])),
        ("outcome", plain(_outcome(data))),
        ("attempts", _calls("", data["attempts"], looks)),
        (reasoning_title(data), plain(data["reasoning"] or "none")),
        ("rejections and corrections", _rejections_and_corrections(data)),
    ]
    if "rulings" in data:
        parts.append(("rulings", json_text(data["rulings"])))
    if "intent" in data:
        changed = changed_in_memory(data)
        events = [
            Text.assemble(
                event["type"], " ", styled_name(event["agent"], looks), " ", details_text(event, looks)
            )
            for event in data["events"]
        ]
        parts += [
            ("intent", json_text(data["intent"])),
            ("events", Text("\n").join(events) if events else Text("none")),
            ("arithmetic", table("", ("figure", "arithmetic"), list(data["arithmetic"].items()))),
            ("changes in memory", json_text(changed) if changed else Text("none")),
        ]
    title = Text(f"run {data['run']}, turn {data['turn']}, ").append_text(styled_name(data["agent"], looks))
    OUT.print(card(title, parts))


def asked_card_parts(data: Mapping[str, Any]) -> list[tuple[str, RenderableType]]:
    """Return the parts of the card of a question that was asked apart from any run, without its prompt."""
    failed = data["outcome"] not in DECISIONS
    decided, default = ("intent", "default action") if "intent" in data else ("rulings", "rulings by default")
    outcome = plain(f"✗ {_outcome(data)}" if failed else _outcome(data))
    outcome.style = "bold red" if failed else ""
    return [
        ("outcome", outcome),
        ("answer", plain(data["answer"] or "none")),
        (reasoning_title(data), plain(data["reasoning"] or "none")),
        ("rejections and corrections", _rejections_and_corrections(data)),
        (default if failed else decided, json_text(data[decided])),
    ]


def _outcome(data: Mapping[str, Any]) -> str:
    """Return outcome, model, time and tokens of a call, and its error if it has one."""
    outcome = f"{data['outcome']}, found as {data['found_as']}, attempt {data['attempt']}, {data['model']}"
    cost = f"{data['milliseconds']} ms, {usage_line(data)}"
    return f"{outcome}; {cost}\n{data['error']}".strip()


def _calls(title: str, calls: list[dict[str, Any]], looks: Looks) -> RenderableType:
    """Return a table of calls, one per row."""
    return table(title, tuple(calls[0] if calls else ()), [list(call.values()) for call in calls], looks)


def _rejections_and_corrections(data: Mapping[str, Any]) -> RenderableType:
    """Return a table of what was rejected and corrected in an answer."""
    rows = [
        (kind, one["stage"], one["code"], one["said"], one.get("kept"))
        for kind, part in (("rejection", "drops"), ("correction", "mends"))
        for one in data[part]
    ]
    return table("", ("kind", "stage", "code", "said", "kept"), rows) if rows else Text("none")
