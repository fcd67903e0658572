"""Two runs side by side, as `hobbes compare` prints them and the page of both shows them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from hobbes.engine.answer import DECISIONS
from hobbes.engine.world import AnyWorld
from hobbes.nodes.journal import no_prompts
from hobbes.prove.record_difference import shortened
from hobbes.prove.run_comparison import COUNTED, SIDES, Comparison, beside, moves
from hobbes.show.palette import Looks
from hobbes.show.terminal import (
    columns_and_rows,
    cost_text,
    escape_invisible,
    matrix,
    percent,
    plain,
    players_texts,
    table,
    tokens_text,
    told_text,
)
from hobbes.worlds import WORLDS

MAX_LINES = 40
"""The number of lines of a diff that are printed; `--json` has all."""

MAX_NAMES = 3
"""How many of the agents with the same two players are named."""

MAX_LINE_LENGTH = 400
"""The number of characters of a line of a diff that are printed."""

MARKS = {" ": ("", "", ""), "-": ("[-", "-]", "red strike"), "+": ("{+", "+}", "bold green")}
"""How the pieces of a word diff are marked: before, after, and the style."""

TITLES = {"drops": ("rejections", "code"), "mends": ("corrections", "code")}
"""Titles of tables, and of their first columns, that differ from the JSON keys."""


def show(comparison: Comparison, looks: Looks) -> RenderableType:
    """Return a comparison as it is printed; `looks` are those of the agents of both runs."""
    told, deeds = [warning(comparison), draws_told(comparison)], comparison["deeds"]
    return Group(
        Text(f"two runs of {comparison['world']}", style="bold"),
        _printed(settings_table(comparison), looks),
        table("\nboth runs", ("", *SIDES), facts(comparison)),
        *(Text(f"\n{words}", style="bold red" * (words == told[0])) for words in filter(None, told)),
        *(_printed(one, looks) for one in results(comparison)),
        *(matrix(f"\n{title}", ratings, looks) for title, ratings in reports(comparison)),
        *(_first("deeds that differ", deeds, deeds["did"], looks) if deeds else ()),
        *_decision(comparison["decision"], WORLDS[comparison["world"]], looks),
        *_divergence(comparison, looks),
    )


def told(comparison: Comparison) -> dict[str, Any]:
    """Return what a page tells of two runs."""
    return {
        "settings": settings_table(comparison),
        "facts": list(facts(comparison)),
        "warning": warning(comparison),
        "divergence": divergence_told(comparison),
        "draws": draws_told(comparison),
        "tables": list(results(comparison)),
        "reports": reports(comparison),
    }


class Table(NamedTuple):
    """What both runs have of something."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


def results(comparison: Comparison) -> Iterator[Table]:
    """Yield the scores of both runs, what is counted in them, and their measures."""
    yield Table("scores", ("agent", *SIDES), [(name, *pair) for name, pair in comparison["scores"].items()])
    for name in COUNTED:
        title, first = TITLES.get(name, (name, name[:-1]))
        yield Table(title, (first, *SIDES), [(key, *pair) for key, pair in comparison[name].items()])
    measures = [(name, *one["values"], one["difference"]) for name, one in comparison["measures"].items()]
    yield Table("measures", ("measure", *SIDES, "B - A"), measures)


def reports(comparison: Comparison) -> Iterator[tuple[str, Mapping[str, Mapping[str, int]]]]:
    """Yield the final reports of each kind, rater by ratee, first of A and then of B, behind their titles."""
    for kind in dict.fromkeys(kind for of_run in comparison["reports"] for kind in of_run):
        for side, of_run in zip(SIDES, comparison["reports"], strict=True):
            if of_run.get(kind):
                yield f"{kind.replace('_', ' ')} at the end of {side}", of_run[kind]


def settings_table(comparison: Comparison) -> Table:
    """Return the settings of two runs that differ; not those of prompts, if one of the runs sent none."""
    unsent = any(no_prompts(run["models"]) for run in comparison["runs"])
    settings = comparison["settings"].items()
    left_out = {"prompts", "lang", "prompt_texts"} if unsent else set()
    shown = {name: pair for name, pair in settings if name not in left_out}
    sides = [{"setting": name, "A": a, "B": b} for name, (a, b) in settings_by_field(shown)]
    return Table("settings that differ", ("setting", *SIDES), columns_and_rows(sides)[1])


def facts(comparison: Comparison) -> Iterator[tuple[object, ...]]:
    """Yield the rows that describe both runs and their cost, without what stands among the settings."""
    runs = comparison["runs"]
    for name in ("run", "name", "status", "turns"):
        yield name, *(run[name] for run in runs)
    yield "digest", *(run["digest"][:12] for run in runs)
    yield "tainted", *("yes" if run["tainted"] else "no" for run in runs)
    yield "players", *("\n".join(players_texts(run["models"])) for run in runs)
    own = "own " if any(run["forked_at"] for run in runs) else ""  # a fork did not pay for its parent's
    yield f"{own}calls", *comparison["calls"]
    yield f"{own}tokens", *map(tokens_text, comparison["tokens"])
    yield f"{own}cost", *map(cost_text, comparison["usd"])


def settings_by_field(settings: Mapping[str, list[Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the settings that differ with both values; of an object, each field that differs."""
    for name, (a, b) in settings.items():
        if name == "models":
            yield from _models(a, b)
        elif name == "prompt_texts":  # hashes say nothing
            yield from ((f"{part} prompt of this variant", ["one text", "another text"]) for part in a)
        elif isinstance(a, Mapping) and isinstance(b, Mapping):
            fields = beside(a, b, None).items()
            yield from ((f"{name}: {field}", values) for field, values in fields if values[0] != values[1])
        else:
            yield name, [a, b]


def _models(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[tuple[str, list[Any]]]:
    """Yield each pair of players once, with the agents for which they answer; None without such an agent."""
    agents: dict[tuple[str | None, str | None], list[str]] = {}
    for agent in beside(a, b, None):
        agents.setdefault((a.get(agent), b.get(agent)), []).append(agent)
    for pair, names in agents.items():
        more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        yield f"models: {', '.join(names[:MAX_NAMES])}{more}", list(pair)


def warning(comparison: Comparison) -> str:
    """Return a warning if there were failed calls."""
    if not any(failures["total"] for failures in comparison["failures"]):
        return ""
    shares = "; ".join(
        f"{side}: {percent(failures['share'])} of calls failed{', tainted' * run['tainted']}"
        for side, failures, run in zip(SIDES, comparison["failures"], comparison["runs"], strict=True)
    )
    return f"{shares}. Differences may come from the provider, not from the agents."


def draws_told(comparison: Comparison) -> str:
    """Return from which turn on random draws differ."""
    turn = comparison["draws"]
    return "" if turn is None else f"the random draws differ from turn {turn} on"


def divergence_told(comparison: Comparison) -> str:
    """Return the first divergence in words, or else which prompts differ first."""
    difference = comparison["divergence"] or comparison["prompt"]
    if difference is None:
        return "no divergence: all turns are equal"
    if difference["turn"] is None:
        return "the prompts differ, but scripted policies read none: all turns are equal"
    where = f"turn {difference['turn']}, {difference['agent'] or 'all'}"
    if comparison["divergence"]:
        return f"first divergence: {where}: {difference['layer']}"
    return f"the prompts differ, first in {where}; all turns are equal"


def _divergence(comparison: Comparison, looks: Looks) -> Iterator[Text]:
    """Yield the first divergence, or else the first prompts that differ, and the beginning of the diff."""
    yield Text("\n", style="bold").append_text(told_text(divergence_told(comparison), looks))
    difference = comparison["divergence"] or comparison["prompt"]
    if difference and difference["turn"] is not None:  # some agent was sent what differs
        lines = difference["diff"].splitlines()
        yield from _beginning([plain(shortened(line, MAX_LINE_LENGTH)) for line in lines])


def wanted(world: AnyWorld, decision: Mapping[str, Any]) -> list[str]:
    """Return what an agent wanted to do in each of two decisions: in words, or as JSON if these are alike."""
    intents, outcomes = decision["intents"], decision["outcomes"]
    told = ["; ".join(world.telling.meant(world.intent.from_json(intent))) or "nothing" for intent in intents]
    if told[0] == told[1]:
        told = [json.dumps(moves(intent), ensure_ascii=False) for intent in intents]
    failed = ["" if outcome in DECISIONS else f"✗ {outcome}, default action: " for outcome in outcomes]
    return [f"{failure}{words_of}" for failure, words_of in zip(failed, told, strict=True)]


def _first(what: str, difference: Mapping[str, Any], told: Sequence[str], looks: Looks) -> Iterator[Text]:
    """Yield what first differs, where, and what it is in both runs."""
    where = f"first {what}: turn {difference['turn']}, {difference['agent']}"
    yield Text("\n", style="bold").append_text(told_text(where, looks))
    for side, words_of in zip(SIDES, told, strict=True):
        yield told_text(f"{side}: {shortened(words_of, MAX_LINE_LENGTH)}", looks)


def _decision(divergence: Mapping[str, Any] | None, world: AnyWorld, looks: Looks) -> Iterator[Text]:
    """Yield the first decision that differs, with what the agent did in both runs."""
    if divergence is None:
        yield Text("\nno decision differs in the turns that both runs have", style="bold")
        return
    yield from _first("decision that differs", divergence, wanted(world, divergence), looks)
    for layer in ("prompt", "answer"):
        if divergence[layer]:
            yield Text(f"the {layer}, word by word ([-only in A-], {{+only in B+}}):", style="italic")
            yield from words(divergence[layer])


def words(pieces: Iterable[tuple[str, str]], all_of_it: str = "; --json prints all") -> Iterator[Text]:
    """Yield the beginning of a word diff, line by line. `all_of_it` says where the rest is."""
    text = word_diff_text((change, shortened(piece, MAX_LINE_LENGTH)) for change, piece in pieces)
    yield from _beginning([*text.split(allow_blank=False)], all_of_it)


def _beginning(lines: Sequence[Text], all_of_it: str = "; --json prints all") -> Iterator[Text]:
    """Yield the first lines of a diff, and how many more there are. `all_of_it` says where the rest is."""
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield Text(f"… and {len(lines) - MAX_LINES} more lines{all_of_it}", style="dim")


def word_diff_text(pieces: Iterable[tuple[str, str]], *, marks: bool = True) -> Text:
    """Return a word diff. Its marks can be read without colours; without `marks` it has colours alone."""
    text = Text()
    for change, words in pieces:
        before, after, style = MARKS[change] if marks else ("", "", MARKS[change][-1])
        text.append(f"{before}{escape_invisible(words)}{after}", style=style)
    return text


def _printed(shown: Table, looks: Looks) -> RenderableType:
    if not shown.rows:
        return Text(f"\n{shown.title}: none", style="italic")
    return table(f"\n{shown.title}", shown.columns, shown.rows, looks)
