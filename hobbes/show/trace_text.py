"""What `hobbes trace` prints: a run, a turn, a diary, one agent's turn, or the observer's."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from hobbes.engine.record import MESSAGE
from hobbes.engine.telling import quoted
from hobbes.show import diary, trace
from hobbes.show.aftermath import Aftermath, aftermath
from hobbes.show.diary import Entry, Message
from hobbes.show.narrative import EVERYBODY, NOTHING_DONE, Narrative, narrative_of
from hobbes.show.palette import Looks, looks_in, words_of
from hobbes.show.story import Story, story_of
from hobbes.show.terminal import (
    ERR,
    GAP,
    OUT,
    Trimmed,
    card,
    columns_and_rows,
    escape_invisible,
    json_lines,
    matrix,
    next_step,
    picture,
    plain,
    print_json,
    styled_name,
    table,
    told_text,
)
from hobbes.show.trace import REFUSED, refused_rows
from hobbes.store.history import state_before
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run


def trace_run(store: Store, run: Run, *, raw: bool, as_json: bool) -> None:
    """Print a run in short and turn by turn, then the number of its events and, if `raw`, all its figures."""
    if as_json:
        print_json(trace.overview(store, run))
        return
    show_headline(store, run)
    looks = looks_in(store, run)
    story = story_of(store, run, looks)
    show_sentences(story, looks)
    for line in story.lines:
        parts = [told_text(words, looks) for words in line.words or ("not finished",)]
        parts += [Text(line.failures, style="bold red")] if line.failed else []
        print_line(line.turns, Text(" · ").join(parts))
    if story.happened:
        print_line("all", Text(trace.counts(story.happened)))
    if raw:
        OUT.print(plain(json_lines(store.figures.result(run))))
        OUT.print(table("\nmeasures", ("measure", "value"), store.figures.measures(run.id).items()))


def trace_card(store: Store, run: Run, number: int, agent: str, *, raw: bool, as_json: bool) -> None:  # noqa: PLR0913  the words and flags of `trace`
    """Print everything about one agent in a turn; only if it is `raw`, people are shown all of it."""
    full = trace.full_turn(store, run, number)
    data = trace.agent_card(store, run, number, agent, full)
    if as_json:
        print_json(data)
        return
    looks, shown = looks_in(store, run), trace.for_people(data)
    OUT.print(_title(run, number).append(" (turns count from 0), ").append_text(styled_name(agent, looks)))
    narrative, after = narrative_of(run, full, shown), aftermath(store, run, full, agent)
    show_in_words(_in_words(shown, narrative, after), looks, whole=raw)
    if raw:
        OUT.print(card("", _raw_parts(shown, looks)))
    else:
        next_step(store.command("trace", run.label, number, agent, "--raw"))


def trace_turn(store: Store, run: Run, number: int, *, as_json: bool) -> None:
    """Print a turn agent by agent and the world after it."""
    full = trace.full_turn(store, run, number)
    turn = trace.turn_card(store, run, number, full)
    if as_json:
        print_json(turn)
        return
    title, looks, calls = _title(run, number), looks_in(store, run), columns_and_rows(trace.all_calls(turn))
    if full:
        OUT.print(title)
        show_entries(diary.diary(store, run, diary.Choice(), number, number), looks)
        OUT.print(table("\ncalls", *calls, looks))
        _show_figures(turn, looks)
    else:
        OUT.print(title.append(" has not finished; its calls so far:"))
        OUT.print(table("", *calls, looks))
    after = run.world.picture.rows(state_before(store, run, min(number + 1, run.turns)))
    OUT.print(picture(after, words_of(run, looks)), end="")


def trace_diary(store: Store, run: Run, agents: list[str], event: str | None, *, as_json: bool) -> None:
    """Print the diary of these agents, of all if there are none: what the event chooses of it."""
    looks = looks_in(store, run)
    named = diary.chosen(run, looks, agents)
    diary.check_event(run, event or "", "--event")
    entries = diary.diary(store, run, diary.Choice(named, event or ""))
    if as_json:
        print_json([entry.to_json() for entry in entries])
    else:
        show_entries(entries, looks)


def show_headline(store: Store, run: Run) -> None:
    """Print the first line about a run."""
    headline, name = trace.headline(store, run), f" ({run.name})" if run.name else ""
    parts = [
        f"run {run.id}{name}: {run.world.name}, {headline.state}",
        *([f"tokens {headline.tokens}"] if headline.tokens else []),
        ", ".join(words for *_, words in headline.went_wrong),
    ]
    OUT.print(Text(escape_invisible(" · ".join(parts)), style="bold"))


def show_sentences(story: Story, looks: Looks) -> None:
    """Print what happened in a run in a few sentences, and its key moments."""
    if story.sentences:
        OUT.print(told_text(" ".join(story.sentences), looks))
        moments = (f"turn {turn}: {', '.join(words)}" for turn, words in story.moments.items())
        OUT.print(told_text("; ".join(moments), looks))


def print_line(turn: int | str, text: Text) -> None:
    """Print what is said about a turn beside its number, without breaking words where that is possible."""
    line = Table.grid(padding=(0, 2))
    line.add_column(justify="right", min_width=4)
    line.add_column(overflow="fold")
    line.add_row(str(turn), text)
    OUT.print(Trimmed(line))


def show_entries(entries: Iterable[Entry], looks: Looks) -> None:
    """Print a diary, a line for each thing thought, said or done."""
    none = True
    for entry in entries:
        none = False
        for kind, text in _entry_lines(entry, looks):
            line = Text.assemble(styled_name(entry.agent, looks), "  ", (kind, "dim"), "  ", text)
            print_line(entry.turn, line)
    if none:
        ERR.print(Text("nothing found", style="dim"))


def _entry_lines(entry: Entry, looks: Looks) -> Iterator[tuple[str, Text]]:
    """Yield each thing that an entry tells, behind the word for its kind."""
    if entry.lost:
        yield "failed", Text(f"✗ {entry.outcome}: {entry.lost}", style="bold red")
    if entry.thought:
        yield "thought", plain(trace.beginning(entry.thought))
    for message in entry.said:
        to = styled_name(message.to or EVERYBODY, looks)
        yield "said", Text.assemble("to ", to, ": ", plain(quoted(message.text)))
    for deed in entry.done:
        did = ("by default", deed.words) if entry.lost else ("did", deed.after_did)
        yield did[0], told_text(did[1], looks)
        for last, others in deed.written.items():
            yield "", Text("  ").append_text(told_text(f"({_written_before(last, others)})", looks))
    for refused in entry.refused:
        kind, _, what = refused.partition(": ")
        yield kind, plain(what)


def _written_before(last: Message | None, others: Sequence[str]) -> str:
    """Return what an agent had written before to others to which it did something."""
    if last is None:
        return f"it had never written to {' or '.join(others)}"
    return f"in turn {last.turn}, it had written to {last.to or EVERYBODY}: {quoted(last.text)}"


def _title(run: Run, number: int) -> Text:
    return Text(escape_invisible(f"run {run.label}, turn {number}"), style="bold")


def _show_figures(turn: trace.Card, looks: Looks) -> None:
    """Print the draws of a turn, its arithmetic, and the ratings after it."""
    if draws := [_draw_row(draw) for draw in turn["draws"]]:
        OUT.print(table("\ndraws", ("event", "subject", "participants", "winner"), draws, looks))
    for agent, figures in turn["arithmetic"].items():
        OUT.print(Text("\n").append_text(styled_name(agent, looks)))
        OUT.print(table("", ("figure", "arithmetic"), list(figures.items())))
    for kind, ratings in turn["reports"].items():
        if ratings:
            OUT.print(matrix(f"\n{kind.replace('_', ' ')}", ratings, looks))


def _draw_row(draw: Mapping[str, Any]) -> list[Any]:
    subject = draw["subject"]
    named = subject if isinstance(subject, str) else json.dumps(subject, ensure_ascii=False)
    return [draw["event"], named, ", ".join(draw["participants"]), draw["winner"]]


ONLY_WHOLE = ("wanted", "heard", "gained")
"""The parts of a card that stand only on a whole one: reasoning, deeds and score tell most of them."""

MAX_CELLS = 180
"""How wide a text of a card is at most in a terminal, if the card is not whole."""

MORE_CELLS = {"why": 720, "did": 720, "and then": 360, "memory": 360}
"""The same of these parts."""

MAX_TEXTS = 5
"""How many texts a part of a card has at most if it is not whole; all that was done to an agent is told."""

AS_WRITTEN = ("why", "error", "asked", "ruled", "refused", "memory", "wrote down")
"""The parts of a card that are not words of ours, so that the names in them have no marks."""


def show_in_words(parts: Mapping[str, Sequence[str]], looks: Looks, *, whole: bool) -> None:
    """Print the parts of a card in words, each behind its name."""
    lines = Table.grid(padding=(0, GAP, 0, 0))
    lines.add_column(style="bold", no_wrap=True)
    lines.add_column(overflow="fold")
    for name, words in parts.items():
        if whole or name not in ONLY_WHOLE:
            texts = [plain(one) if name in AS_WRITTEN else told_text(one, looks) for one in words]
            for place, text in enumerate(texts if whole else _in_short(name, texts)):
                lines.add_row("" if place else name, text)
    OUT.print(Trimmed(lines))


def _in_short(name: str, texts: Sequence[Text]) -> Iterator[Text]:
    """Yield the beginnings of the first texts of a part of a card, and how many more there are."""
    most = len(texts) if name == "before" else MAX_TEXTS
    for text in texts[:most]:
        text.truncate(MORE_CELLS.get(name, MAX_CELLS), overflow="ellipsis")
        yield text
    if more := texts[most:]:
        yield Text(f"and {len(more)} more", style="dim")


def _in_words(data: Mapping[str, Any], narrative: Narrative, after: Aftermath) -> dict[str, Sequence[str]]:
    """Return what a card says in words, by the name of each part."""
    knew, last = narrative.knew, data["turn"] - 1
    source = f"({narrative.source}) " if narrative.source else ""
    own = [event for event in data.get("events", ()) if event["agent"] == data["agent"]]
    said = [event for event in own if event["type"] == MESSAGE]
    rulings = data.get("rulings", {})
    asked = data["view"]["requests"] if rulings else []
    befell = [f"{one.by} {one.words}" for one in knew.befell or ()]
    return {
        "why": [f"{source}{narrative.why or 'none'}"],
        "did": [narrative.sentence],
        "error": [data["error"]] if data["error"] else [],
        "said": [f"to {one.get('to', EVERYBODY)}: {quoted(one['text'])}" for one in said],
        "wanted": narrative.meant,
        "asked": [json.dumps(one, ensure_ascii=False) for one in asked],
        "ruled": [f"{unit}: {json.dumps(one, ensure_ascii=False)}" for unit, one in rulings.items()],
        "refused": narrative.refused,
        "heard": [
            f"{one.author} {'' if one.to else 'to all '}in turn {last}: {quoted(one.text)}"
            for one in knew.heard
        ],
        "before": befell if befell or knew.befell is None else [NOTHING_DONE],
        "gained": knew.account,
        "meanwhile": [f"{other} thought: {quoted(thought)}" for other, thought in after.thoughts],
        "and then": [f"turn {turn}: {words}" for turn, words in after.turns],
        "memory": [f"{about}: {words}" for about, words in narrative.noted],
        "wrote down": [f"{about}: {words}" for about, words in narrative.wrote],
    }


def _raw_parts(data: trace.Card, looks: Looks) -> list[tuple[str, RenderableType]]:
    """Return what is raw on a card: prompt, view, answer, and all records about them."""
    data_only, refused = trace.sent_to(data), refused_rows(data)
    parts: list[tuple[str, RenderableType]] = [
        *([] if data_only else [("system prompt", plain(data["system"] or "none"))]),
        (f"prompt ({data_only})" if data_only else "prompt", plain(data["prompt"])),
        *([("view", plain(json_lines(data["view"])))] if "view" in data else []),
        ("answer", plain(data["answer"])),
        ("outcome", plain(_outcome(data))),
        ("attempts", table("", *columns_and_rows(data["attempts"]), looks)),
        ("rejections and corrections", table("", REFUSED, refused) if refused else Text("none")),
    ]
    if "intent" in data:
        events = [f"{one['type']} {one['agent']} {trace.details(one, looks)}" for one in data["events"]]
        parts += [
            ("events", told_text("\n".join(events) or "none", looks)),
            ("arithmetic", table("", ("figure", "arithmetic"), list(data["arithmetic"].items()))),
        ]
    return parts


def _outcome(data: Mapping[str, Any]) -> str:
    """Return outcome, model, time and tokens of a call, and its error if it has one."""
    outcome = f"{data['outcome']}, found as {data['found_as']}, attempt {data['attempt']}, {data['model']}"
    cost = f"{data['milliseconds']} ms, {trace.usage_line(data)}"
    return f"{outcome}; {cost}\n{data['error']}".strip()
