"""Two runs side by side, for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from lab.proof.comparing import COUNTED, SIDES, Comparison, beside
from lab.show.terminal import matrix, percent, plain, table, tokens_told

MOST_LINES = 40
"""Lines of a diff, and turns with failures, that people are shown; `--json` has all."""

LONGEST_LINE = 400
"""Characters of a line of a diff that people are shown."""


def show(told: Comparison) -> RenderableType:
    """Give a comparison for people."""
    measures = [(name, *one["values"], one["difference"]) for name, one in told["measures"].items()]
    return Group(
        table(f"two runs of {told['world']}", ("", *SIDES), _facts(told)),
        _beside("set differently", "setting", dict(set_differently(told["settings"]))),
        *_warning(told),
        *_divergence(told["divergence"]),
        _beside("scores", "agent", told["scores"]),
        *(_beside(name, name[:-1], told[name]) for name in COUNTED),
        *_failures(told["failures"]),
        table("\nmeasures", ("measure", *SIDES, "B - A"), measures)
        if measures
        else Text("\nno measures yet"),
        *_reports(told["reports"]),
    )


def _facts(told: Comparison) -> Iterator[tuple[object, ...]]:
    """Give what each run is and what it took, a row each."""
    runs = told["runs"]
    for name in ("run", "name", "status", "turns"):
        yield name, *(run[name] for run in runs)
    yield "digest", *(run["digest"][:12] for run in runs)
    yield "tainted", *("yes" if run["tainted"] else "no" for run in runs)
    yield "models", *("\n".join(f"{spec} {n}" for spec, n in run["models"].items()) for run in runs)
    for name in ("prompts", "lang", "seed"):
        yield name, *(run[name] for run in runs)
    yield "calls", *told["calls"]
    yield "tokens", *(tokens_told(tokens) for tokens in told["tokens"])
    yield "dollars", *("unknown" if usd is None else f"{usd:.4f}" for usd in told["usd"])


def set_differently(settings: Mapping[str, list[Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Give what was set differently, an object's fields a row each."""
    for name, (a, b) in settings.items():
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            fields = beside(a, b, None).items()
            yield from ((f"{name}: {field}", values) for field, values in fields if values[0] != values[1])
        else:
            yield name, [a, b]


def _warning(told: Comparison) -> Iterator[Text]:
    """Warn where decisions were nobody's: the runs may differ by that alone."""
    if not any(failures["total"] for failures in told["failures"]):
        return
    shares = "; ".join(
        f"{side}: {percent(failures['share'])} of all decisions were nobody's{', tainted' * run['tainted']}"
        for side, failures, run in zip(SIDES, told["failures"], told["runs"], strict=True)
    )
    warning = f"\n{shares}. What differs may be the provider's and not the agents'."
    yield Text(warning, style="bold red")


def _divergence(found: Mapping[str, Any] | None) -> Iterator[Text]:
    """Say where the runs part, with the beginning of the diff."""
    if found is None:
        yield Text("\nthe turns of both, if there are any, are the same", style="bold")
        return
    yield Text(f"\nfirst divergence: turn {found['turn']}, ", style="bold").append_text(
        plain(f"{found['agent'] or 'all'}: {found['layer']}")
    )
    lines = found["diff"].splitlines()
    yield plain("\n".join(_cut(line) for line in lines[:MOST_LINES]))
    if len(lines) > MOST_LINES:
        yield Text(f"… and {len(lines) - MOST_LINES} lines more; --json has all", style="dim")


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "…"


def _beside(title: str, of: str, values: Mapping[Any, Sequence[Any]]) -> RenderableType:
    """Give a table of what both runs have."""
    if not values:
        return Text(f"\n{title}: none", style="italic")
    return table(f"\n{title}", (of, *SIDES), [(key, *pair) for key, pair in values.items()])


def _failures(failures: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Give the decisions that were nobody's by cause, agent and turn."""
    for by in ("cause", "agent", "turn"):
        a, b = (told[f"by_{by}"] for told in failures)
        counts = beside(a, b, 0)
        if by == "turn":
            counts = {turn: counts[turn] for turn in sorted(counts)}
        if counts:
            yield _beside(f"failures by {by}", by, dict(list(counts.items())[:MOST_LINES]))
        if len(counts) > MOST_LINES:
            yield Text(f"… and {len(counts) - MOST_LINES} more; --json has all", style="dim")


def _reports(reports: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Give the reports at the end, rater by ratee, of one run and then of the other."""
    for kind in dict.fromkeys(kind for told in reports for kind in told):
        for side, told in zip(SIDES, reports, strict=True):
            if told.get(kind):
                yield matrix(f"\n{kind.replace('_', ' ')} at the end of {side}", told[kind])
