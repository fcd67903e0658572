"""What `hobbes trace` prints: a run, a turn, a diary, one agent's turn, or the observer's."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from hobbes.engine.telling import counted, quoted
from hobbes.show import boards, diary, trace
from hobbes.show.diary import Entry, First, Promised
from hobbes.show.narrative import EVERYBODY, NOTHING_DONE, Narrative, Noted, narrative_of
from hobbes.show.palette import Looks, looks_in, words_of
from hobbes.show.story import Story, story_of
from hobbes.show.terminal import (
    ERR,
    GAP,
    OUT,
    UNLIMITED,
    Trimmed,
    card,
    escape_invisible,
    json_text,
    matrix,
    next_step,
    picture,
    plain,
    styled_name,
    table,
    tokens_text,
    told_text,
)
from hobbes.show.trace import REFUSED, Headline, refused_rows
from hobbes.store.history import state_before
from hobbes.store.home import Store
from hobbes.store.marked_turns import marks_in
from hobbes.store.recorded_run import Run

UNFINISHED = "not finished"
"""What is said of a turn that has not finished."""


class Shown(NamedTuple):
    """What `hobbes trace` shows: as a JSON document, or printed for people."""

    document: Callable[[], object]
    show: Callable[[], None]


def trace_run(store: Store, run: Run) -> Shown:
    """Return a run turn by turn."""

    def show() -> None:
        show_headline(run, trace.headline(store, run))
        looks = looks_in(store, run)
        show_story(run, story_of(store, run, looks), looks)

    return Shown(lambda: trace.overview(store, run), show)


def trace_turn(store: Store, run: Run, number: int, agent: str | None = None) -> Shown:
    """Return a turn agent by agent and the world after it, or everything about one agent in it."""
    full = trace.full_turn(store, run, number)
    if agent is not None:
        card = trace.agent_card(store, run, number, agent, full)
        shown = trace.for_people(card)
        return Shown(
            lambda: card, lambda: show_card(shown, narrative_of(run, full, shown), looks_in(store, run))
        )
    turn = trace.turn_card(store, run, number, full)

    def show() -> None:
        looks, board = looks_in(store, run), trace.board_in(run, full)
        after = run.world.picture.rows(state_before(store, run, min(number + 1, run.turns)))
        entries = diary.diary(store, run, diary.Choice(), number, number) if full else ()
        show_turn(turn, entries, looks)
        OUT.print(picture(after, words_of(run, looks)), end="")
        OUT.print(plain("\n".join(boards.text(board)) if board else ""))

    return Shown(lambda: turn, show)


def trace_diary(  # noqa: PLR0913, PLR0917  what is asked for
    store: Store,
    run: Run,
    agents: list[str],
    events: Collection[str],
    grep: str | None,
    mark: str | None,
) -> Shown:
    """Return the diary of these agents, of all if there are none: what the filters choose of it."""
    looks = looks_in(store, run)
    named = diary.chosen(run, looks, agents)
    diary.check_events(run, events)
    diary.check_mark(run, mark or "", "--mark")
    words = diary.pattern_of(grep)
    entries = diary.diary(store, run, diary.Choice(named, mark or "", events, words))

    def show() -> None:
        if not events:
            show_firsts(diary.firsts(marks_in(store, run), looks, named), looks)
        found = list(entries) if events else entries
        show_entries(found, words, looks)
        replies = (diary.reply_to(store, run, entry) for entry in found)
        if reply := next(filter(None, replies), None):
            next_step(store.command("trace", run.name or run.id, *reply))

    return Shown(lambda: [entry.to_json() for entry in entries], show)


def show_headline(run: Run, headline: Headline) -> None:
    """Print the first line about a run."""
    name = f" ({run.name})" if run.name else ""
    parts = [
        f"run {run.id}{name}: {run.world.name}, {headline.state}",
        *([f"tokens {tokens_text(headline.tokens)}"] if headline.has_tokens else []),
        ", ".join(words for *_, words in headline.went_wrong),
    ]
    OUT.print(Text(escape_invisible(" · ".join(parts)), style="bold"))


def show_story(run: Run, story: Story, looks: Looks) -> None:
    """Print what happened in a run, its key moments, and a line for each turn.

    The last line has the number of all events.
    """
    if story.sentences:
        OUT.print(told_text(" ".join(story.sentences), looks))
        moments = (f"turn {turn}: {', '.join(words)}" for turn, words in story.moments.items())
        OUT.print(told_text("; ".join(moments), looks))
    for line in story.lines:
        parts = [told_text(words, looks) for words in line.words or (UNFINISHED,)]
        parts += [Text(line.failures, style="bold red")] if line.failed else []
        _print_line(line.turns, Text(" · ").join(parts))
    if story.happened:
        _print_line("all", Text(trace.counts(story.happened)))
        for sentence in trace.counted_twice(run.world, story.happened):
            OUT.print(plain(sentence))


def _print_line(turn: int | str, text: Text) -> None:
    """Print what is said about a turn beside its number, without breaking words where that is possible."""
    line = Table.grid(padding=(0, 2))
    line.add_column(justify="right", min_width=4)
    line.add_column(overflow="fold")
    line.add_row(str(turn), text)
    OUT.print(Trimmed(line))


def show_firsts(firsts: Iterable[First], looks: Looks) -> None:
    """Print where the first landmarks are."""
    for first in firsts:
        agents = [styled_name(agent, looks) for agent in first.agents]
        told = f"first {first.mark}: turn {first.turn}"
        if first.is_own:
            OUT.print(Text(" and ").join(Text.assemble(agent, "'s") for agent in agents).append(f" {told}"))
        else:
            OUT.print(Text(f"{told}, ").append_text(Text(", ").join(agents)))


def show_entries(entries: Iterable[Entry], words: re.Pattern[str] | None, looks: Looks) -> None:
    """Print a diary, a line for each thing thought, said or done; the words looked for are marked."""
    none = True
    for entry in entries:
        none = False
        for kind, text in _entry_lines(entry, looks):
            line = Text.assemble(styled_name(entry.agent, looks), "  ", (kind, "dim"), "  ", text)
            if words is not None:
                line.highlight_regex(words, "reverse")
            _print_line(entry.turn, line)
    if none:
        ERR.print(Text("nothing found", style="dim"))


def _entry_lines(entry: Entry, looks: Looks) -> Iterator[tuple[str, Text]]:
    """Yield each thing that an entry tells, behind the word for its kind."""
    if entry.lost:
        yield "failed", Text(f"✗ {entry.outcome}: {entry.lost}", style="bold red")
    if entry.thought:
        yield "thought", plain(trace.beginning(entry.thought))
    for message in entry.said:
        to = styled_name(message.to, looks) if message.to else EVERYBODY
        yield "said", Text.assemble("to ", to, ": ", plain(quoted(message.text)))
    for deed in entry.done:
        did = ("by default", deed.words) if entry.lost else ("did", deed.after_did)
        yield did[0], told_text(did[1], looks)
        for before in map(_written_before, deed.promised):
            yield "", Text("  ").append_text(told_text(f"({before})", looks))
    for refused in entry.refused:
        kind, _, what = refused.partition(": ")
        yield kind, plain(what)


def _written_before(promised: Promised) -> str:
    """Return what an agent had written before to another one to which it did something."""
    other, last = promised.to, promised.last
    if last is None:
        return f"it had never written to {other}"
    more = f"; {counted(promised.earlier, 'earlier message')} to {other} or all" if promised.earlier else ""
    return f"in turn {last.turn}, it had written to {last.to or EVERYBODY}: {quoted(last.text)}{more}"


def show_turn(turn: dict[str, Any], entries: Iterable[Entry], looks: Looks) -> None:
    """Print a turn: what each agent thought, said and did, its calls, draws, arithmetic, and ratings.

    Before the end of the turn, only its calls are printed.
    """
    title = f"run {turn['run']}, turn {turn['turn']}"
    if turn["digest"] is None:
        OUT.print(Text(f"{title} has not finished; its calls so far:", style="bold"))
        OUT.print(_calls("", trace.all_calls(turn), looks))
        return
    OUT.print(Text(title, style="bold"))
    show_entries(entries, None, looks)
    OUT.print(_calls("\ncalls", trace.all_calls(turn), looks))
    if draws := [_draw_row(draw) for draw in turn["draws"]]:
        OUT.print(table("\ndraws", ("event", "subject", "participants", "winner"), draws, looks))
    for agent, figures in turn["arithmetic"].items():
        OUT.print(Text("\n").append_text(styled_name(agent, looks)))
        OUT.print(table("", ("figure", "arithmetic"), list(figures.items())))
    for kind, ratings in turn["reports"].items():
        if ratings:
            OUT.print(matrix(f"\n{kind.replace('_', ' ')}", ratings, looks))
    OUT.print(Text(f"digest {turn['digest']}", style="dim"))


def _draw_row(draw: Mapping[str, Any]) -> list[Any]:
    subject = draw["subject"]
    named = subject if isinstance(subject, str) else json.dumps(subject, ensure_ascii=False)
    return [draw["event"], named, ", ".join(draw["participants"]), draw["winner"]]


def details_text(event: Mapping[str, Any], looks: Looks) -> Text:
    """Return what an event says besides its type and agent."""
    return told_text(trace.details(event, looks), looks)


MAX_LINES = {
    "": 3,
    "why": 4,
    "wanted": 3,
    "refused": 1,
    "heard": 4,
    "gained": 1,
    "noted": 3,
    "wrote down": 2,
}
"""How many lines each part of a card has in a terminal before what is raw.

What the others do not need, what was done to the agent has, and then what it gained.
"""

MAX_TOLD = 25
"""How many lines of a card stand before what is raw, with its title."""


RAW = "── raw"
"""The title of all that is raw on a card."""

IN_FULL = "what is cut short above, in full"
"""The title of the parts in words that have more lines than there is room for."""


def show_card(data: dict[str, Any], narrative: Narrative, looks: Looks) -> None:
    """Print one agent's turn in words, and below a rule all that is raw; before the turn's end, its calls."""
    title = Text(f"run {data['run']}, turn {data['turn']} (turns count from 0), ").append_text(
        styled_name(data["agent"], looks)
    )
    title.stylize("bold")
    OUT.print(title)
    parts = _in_words(data, narrative, looks)
    width = OUT.width - max(map(len, parts)) - GAP
    most = MAX_TOLD - len(title.wrap(OUT, OUT.width))
    room = _room(parts, width, sum(one.harm for one in narrative.knew.befell or ()), most)
    OUT.print(Trimmed(_fitted_parts(parts, width, room)))
    cut = [name for name, texts in parts.items() if name != "why" and _lines(texts, width) > room[name]]
    in_full = [Text.assemble((f"{name}  ", "bold"), text) for name in cut for text in parts[name]]
    line = "" if OUT.width == UNLIMITED else f" {'─' * (OUT.width - len(RAW) - 1)}"
    whole = [(IN_FULL, Text("\n").join(in_full))] if in_full else []
    OUT.print(card(Text(RAW + line, style="dim"), [*whole, *_raw_parts(data, looks)]))


def _in_words(data: Mapping[str, Any], narrative: Narrative, looks: Looks) -> dict[str, Sequence[Text]]:
    """Return what a card says in words, by the name of each part."""
    why = Text.assemble(
        (f"({narrative.source}) ", "dim") if narrative.source else "", plain(narrative.why or "none")
    )
    written = f" in turn {data['turn'] - 1}: "
    heard = [
        Text.assemble(
            styled_name(one.author, looks), "" if one.to else " to all", written, plain(quoted(one.text))
        )
        for one in narrative.knew.heard
    ]
    befell = [
        Text.assemble(styled_name(one.by, looks), " ", told_text(one.words, looks))
        for one in narrative.knew.befell or ()
    ]
    if narrative.knew.befell is not None and not befell:
        befell = [Text(NOTHING_DONE)]
    return {
        "": [told_text(narrative.sentence, looks)],
        "why": [why],
        "wanted": [told_text("; ".join(narrative.meant), looks)] if narrative.meant else [],
        "refused": [plain("; ".join(narrative.refused))] if narrative.refused else [],
        "heard": heard,
        "done to it": befell,
        "gained": [told_text("; ".join(narrative.knew.account), looks)] if narrative.knew.account else [],
        "noted": [_noted_text(one) for one in narrative.noted],
        "wrote down": [Text(" · ").join(map(_noted_text, narrative.wrote))] if narrative.wrote else [],
    }


def _lines(texts: Sequence[Text], width: int) -> int:
    return sum(len(text.wrap(OUT, width)) for text in texts)


def _room(parts: Mapping[str, Sequence[Text]], width: int, harms: int, most: int) -> dict[str, int]:
    """Return how many lines each part of a card has, `most` together.

    The first `harms` of what was done to an agent were directed against it: for these, the longest of the
    other parts are cut short, down to a line.
    """
    done, needs = "done to it", {name: _lines(texts, width) for name, texts in parts.items()}
    room = {name: min(needs[name], MAX_LINES[name]) for name in parts if name != done}
    needed = _lines(parts[done][:harms], width) + (len(parts[done]) > harms)
    while most - sum(room.values()) < needed and max(room.values()) > 1:
        room[max(room, key=room.__getitem__)] -= 1
    for name in (done, "gained"):
        left = most - sum(room.values())
        room[name] = min(needs[name], room.get(name, 0) + left)
    return room


def _fitted_parts(parts: Mapping[str, Sequence[Text]], width: int, room: Mapping[str, int]) -> Table:
    """Return the parts of a card in words, each behind its name, in as many lines as there is room for."""
    lines = Table.grid(padding=(0, GAP, 0, 0))
    lines.add_column(style="bold")
    lines.add_column(no_wrap=True)
    for name, texts in parts.items():
        for place, line in enumerate(_fitted(texts, width, room[name])):
            lines.add_row("" if place else name, line)
    return lines


def _noted_text(noted: Noted) -> Text:
    about, words = noted
    return Text.assemble((f"{about}: ", "dim"), plain(words))


def _fitted(texts: Sequence[Text], width: int, most: int) -> list[Text]:
    """Return texts wrapped to a width, in at most so many lines; where something is cut, a line says so."""
    if len(texts) > most:
        more = Text(f"and {len(texts) - most + 1} more; they are below", style="dim")
        return [*_fitted(texts[: most - 1], width, most - 1), more]
    if _lines(texts, width) <= most:
        return [line for text in texts for line in text.wrap(OUT, width)]
    fitted: list[Text] = []
    for place, text in enumerate(texts):
        lines = text.wrap(OUT, width)
        room = (most - len(fitted)) // (len(texts) - place)
        if len(lines) > room:
            lines[room - 1].truncate(width - 1)
            lines[room - 1].append("…")
        fitted += lines[:room]
    return fitted


def _raw_parts(data: Mapping[str, Any], looks: Looks) -> list[tuple[str, RenderableType]]:
    """Return what is raw on a card: prompt, answer, view, intent, and all records about them."""
    data_only, refused = trace.sent_to(data), refused_rows(data["drops"], data["mends"])
    parts: list[tuple[str, RenderableType]] = [
        *([] if data_only else [("system prompt", plain(data["system"] or "none"))]),
        (f"prompt ({data_only})" if data_only else "prompt", plain(data["prompt"])),
        ("answer", plain(data["answer"])),
        ("outcome", plain(_outcome(data))),
        ("attempts", _calls("", data["attempts"], looks)),
        (trace.reasoning_title(data), plain(data["reasoning"] or "none")),
        ("rejections and corrections", table("", REFUSED, refused) if refused else Text("none")),
    ]
    if "view" in data:
        parts.append(("view", json_text(data["view"])))
    if "rulings" in data:
        parts.append(("rulings", json_text(data["rulings"])))
    if "intent" in data:
        changed = trace.changed_in_memory(data)
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
    return parts


def _outcome(data: Mapping[str, Any]) -> str:
    """Return outcome, model, time and tokens of a call, and its error if it has one."""
    outcome = f"{data['outcome']}, found as {data['found_as']}, attempt {data['attempt']}, {data['model']}"
    cost = f"{data['milliseconds']} ms, {trace.usage_line(data)}"
    return f"{outcome}; {cost}\n{data['error']}".strip()


def _calls(title: str, calls: list[dict[str, Any]], looks: Looks) -> RenderableType:
    return table(title, tuple(calls[0] if calls else ()), [list(call.values()) for call in calls], looks)
