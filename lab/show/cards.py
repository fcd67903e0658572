"""What `hobbes trace` prints: a run, a turn, one agent's turn, or the observer's."""

import json
from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from lab.show.terminal import OUT, card, json_text, matrix, plain, table
from lab.show.tracing import all_calls, changed_in_memory, reasoning_of

UNFINISHED = "not finished"
"""What stands for the digest of a turn that has not finished."""


def show_overview(turns: list[dict[str, Any]]) -> None:
    """Print a run, one line per turn."""
    columns = ("turn", "outcomes", "failed", "rejections", "corrections", "events", "digest")
    rows = [
        (
            turn["turn"],
            counts(turn["outcomes"]),
            turn["failures"],
            *(counts(turn[part]) for part in ("drops", "mends", "events")),
            (turn["digest"] or UNFINISHED)[:12],
        )
        for turn in turns
    ]
    OUT.print(table("", columns, rows))


def counts(counted: Mapping[str, int]) -> str:
    """Return counts in one line."""
    return ", ".join(f"{name} {count}" for name, count in counted.items())


def show_turn(turn: dict[str, Any]) -> None:
    """Print a turn: its agents, events, calls, arithmetic and reports; only the calls before its end."""
    title = f"run {turn['run']}, turn {turn['turn']}"
    if turn["digest"] is None:
        OUT.print(Text(f"{title} has not finished; its calls so far:", style="bold"))
        OUT.print(_calls("", all_calls(turn)))
        return
    columns = ("agent", "outcome", "model", "rejections", "corrections", "reasoning")
    OUT.print(table(title, columns, [_agent_row(agent) for agent in turn["agents"]]))
    events = [[event["type"], event["agent"], details(event)] for event in turn["events"]]
    OUT.print(table("\nevents", ("type", "agent", "details"), events))
    OUT.print(_calls("\ncalls", all_calls(turn)))
    if turn["observer"] and (turn["observer"]["drops"] or turn["observer"]["mends"]):
        title = "\nrejections and corrections of the observer's answer"
        OUT.print(Text(title, style="italic"), _rejections_and_corrections(turn["observer"]), sep="\n")
    for agent, figures in turn["arithmetic"].items():
        OUT.print(table(f"\n{agent}", ("figure", "arithmetic"), list(figures.items())))
    for kind, ratings in turn["reports"].items():
        if ratings:
            OUT.print(matrix(f"\n{kind.replace('_', ' ')}", ratings))
    OUT.print(Text(f"digest {turn['digest']}", style="dim"))


def _agent_row(agent: Mapping[str, Any]) -> list[Any]:
    """Return an agent's row in the table of a turn."""
    found = [len(agent["drops"]), len(agent["mends"])]
    reasoning = agent["intent"]["reflection"]["reasoning"] or agent["reasoning"]
    return [agent["agent"], agent["outcome"], agent["model"], *found, reasoning]


def details(event: Mapping[str, Any]) -> str:
    """Return the fields of an event other than its type and agent, in one line."""
    return ", ".join(
        f"{k} {json.dumps(v, ensure_ascii=False)}" for k, v in event.items() if k not in {"type", "agent"}
    )


def show_card(data: dict[str, Any]) -> None:
    """Print everything about one agent's turn, or the observer's; only its calls before the turn's end."""
    parts: list[tuple[str, RenderableType]] = [
        ("view", json_text(data["view"]) if "view" in data else Text("see the prompt")),
        ("system prompt", plain(data["system"] or "none")),
        ("prompt", plain(data["prompt"])),
        ("answer", plain(data["answer"])),
        ("outcome", plain(_outcome(data))),
        ("attempts", _calls("", data["attempts"])),
        ("reasoning", plain(reasoning_of(data) or "none")),
        ("rejections and corrections", _rejections_and_corrections(data)),
    ]
    if "rulings" in data:
        parts.append(("rulings", json_text(data["rulings"])))
    if "intent" in data:
        changed = changed_in_memory(data)
        events = "\n".join(f"{event['type']} {event['agent']} {details(event)}" for event in data["events"])
        parts += [
            ("intent", json_text(data["intent"])),
            ("events", plain(events or "none")),
            ("arithmetic", table("", ("figure", "arithmetic"), list(data["arithmetic"].items()))),
            ("changes in memory", json_text(changed) if changed else Text("none")),
        ]
    OUT.print(card(f"run {data['run']}, turn {data['turn']}, {data['agent']}", parts))


def _outcome(data: Mapping[str, Any]) -> str:
    """Return outcome, model, time and tokens of a call, and its error if it has one."""
    outcome = f"{data['outcome']}, found as {data['found_as']}, attempt {data['attempt']}, {data['model']}"
    cost = f"{data['milliseconds']} ms, {data['tokens']['in']} tokens in, {data['tokens']['out']} tokens out"
    return f"{outcome}; {cost}\n{data['error']}".strip()


def _calls(title: str, calls: list[dict[str, Any]]) -> RenderableType:
    """Return a table of calls, one per row."""
    return table(title, tuple(calls[0]), [list(call.values()) for call in calls])


def _rejections_and_corrections(data: Mapping[str, Any]) -> RenderableType:
    """Return a table of what was rejected and corrected in an answer."""
    rows = [
        (kind, one["stage"], one["code"], one["said"], one.get("kept"))
        for kind, part in (("rejection", "drops"), ("correction", "mends"))
        for one in data[part]
    ]
    return table("", ("kind", "stage", "code", "said", "kept"), rows) if rows else Text("none")
