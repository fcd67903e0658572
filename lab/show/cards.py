"""What `hobbes trace` prints: a run, a turn, one agent's turn, the observer's."""

import json
from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from lab.show.terminal import OUT, card, json_text, matrix, plain, table
from lab.show.tracing import all_calls, changed_in_memory

NOT_ENDED = "not ended"


def show_overview(lines: list[dict[str, Any]]) -> None:
    """Show a run, a line a turn."""
    columns = ("turn", "outcomes", "failures", "drops", "mends", "events", "digest")
    rows = [
        [counts(line[c]) if isinstance(line[c], dict) else line[c] for c in columns[:-1]] for line in lines
    ]
    short = [[*row, (line["digest"] or NOT_ENDED)[:12]] for row, line in zip(rows, lines, strict=True)]
    OUT.print(table("", columns, short))


def counts(counted: Mapping[str, int]) -> str:
    """Give counts in a line."""
    return ", ".join(f"{name} {count}" for name, count in counted.items())


def show_turn(told: dict[str, Any]) -> None:
    """Show a turn: its agents, events, calls, sums and reports."""
    rows = [
        [
            one["agent"],
            one["outcome"],
            one["model"],
            counts({"drops": len(one["drops"]), "mends": len(one["mends"])}),
            one["intent"]["reflection"]["reasoning"] or one["reasoning"],
        ]
        for one in told["agents"]
    ]
    if told["digest"] is None:
        OUT.print(
            Text(f"run {told['run']}, turn {told['turn']} has not ended; its calls so far", style="bold")
        )
        OUT.print(_attempts("", all_calls(told)))
        return
    OUT.print(
        table(f"run {told['run']}, turn {told['turn']}", ("agent", "outcome", "model", "found", "why"), rows)
    )
    OUT.print(
        table(
            "\nevents",
            ("type", "agent", "event"),
            [[e["type"], e["agent"], details(e)] for e in told["events"]],
        )
    )
    OUT.print(_attempts("\ncalls", all_calls(told)))
    if told["observer"] and (told["observer"]["drops"] or told["observer"]["mends"]):
        OUT.print(Text("\nof the observer's answer", style="italic"), _found(told["observer"]), sep="\n")
    for agent, figures in told["arithmetic"].items():
        OUT.print(table(f"\n{agent}", ("figure", "arithmetic"), list(figures.items())))
    for kind, ratings in told["reports"].items():
        if ratings:
            OUT.print(matrix(f"\n{kind.replace('_', ' ')}", ratings))
    OUT.print(Text(f"digest {told['digest']}", style="dim"))


def details(event: Mapping[str, Any]) -> str:
    """Give what an event says beside its type and agent."""
    return ", ".join(
        f"{k} {json.dumps(v, ensure_ascii=False)}" for k, v in event.items() if k not in {"type", "agent"}
    )


def show_card(told: dict[str, Any]) -> None:
    """Show all that is known of one agent's turn, or of the observer's; of one that has not ended, less."""
    parts: list[tuple[str, RenderableType]] = [
        ("view", json_text(told["view"]) if "view" in told else Text("what stands in its prompt")),
        ("system prompt", plain(told["system"] or "none")),
        ("prompt", plain(told["prompt"])),
        ("answer", plain(told["answer"])),
        ("how the call ended", plain(_ending(told))),
        ("all attempts", _attempts("", told["attempts"])),
        ("reasoning", plain(_reasoning(told) or "none")),
        ("drops and mends", _found(told)),
    ]
    if "rulings" in told:
        parts.append(("rulings", json_text(told["rulings"])))
    if "intent" in told:
        changed = changed_in_memory(told)
        happened = "\n".join(f"{event['type']} {event['agent']} {details(event)}" for event in told["events"])
        parts += [
            ("intent", json_text(told["intent"])),
            ("what happened", plain(happened or "nothing")),
            ("arithmetic", table("", ("figure", "arithmetic"), list(told["arithmetic"].items()))),
            ("what changed in its memory", json_text(changed) if changed else Text("nothing")),
        ]
    OUT.print(card(f"run {told['run']}, turn {told['turn']}, {told['agent']}", parts))


def _reasoning(told: Mapping[str, Any]) -> str:
    """Give the reasoning of a call, or the one in its answer."""
    reasoning: str = told["reasoning"] or told.get("intent", {}).get("reflection", {}).get("reasoning", "")
    return reasoning


def _ending(told: Mapping[str, Any]) -> str:
    spent = f"{told['milliseconds']} ms, tokens in {told['tokens']['in']}, out {told['tokens']['out']}"
    ended = f"{told['outcome']}, found as {told['found_as']}, attempt {told['attempt']}, {told['model']}"
    return f"{ended}; {spent}\n{told['error']}".strip()


def _attempts(title: str, calls: list[dict[str, Any]]) -> RenderableType:
    """Show how calls ended, a line each."""
    return table(title, tuple(calls[0]), [list(call.values()) for call in calls])


def _found(told: Mapping[str, Any]) -> RenderableType:
    rows = [
        (part[:-1], one["stage"], one["code"], one["said"], one.get("kept"))
        for part in ("drops", "mends")
        for one in told[part]
    ]
    return table("", ("what", "stage", "code", "said", "kept"), rows) if rows else Text("none")
