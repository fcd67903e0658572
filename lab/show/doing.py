"""What a reader does from the pages of `hobbes view`: play a fork of a run, and pin turns as a test.

The fields of a form come from whoever can post it, so each of them is checked here.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from hobbes.engine.record import canonical, sha256
from hobbes.engine.world import OBSERVER
from hobbes.lab.errors import LabError, UsageError
from hobbes.lab.experiment.estimate import Estimate, estimate_of_fork
from hobbes.lab.files import check_path
from hobbes.lab.play.forking import ForkOptions, planned
from hobbes.lab.proof.pinning import pin
from hobbes.lab.show.pinned import NAME, Files, files_of, text_of_test, write
from hobbes.lab.show.tracing import agent_card
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run
from hobbes.lab.wire.receiving import with_line_feeds
from hobbes.nodes.caps import Caps
from hobbes.nodes.journal import PlayerKind
from hobbes.nodes.prompting import is_path, variants

Fields: TypeAlias = Mapping[str, str]
"""What a form is filled in with, by the names of its fields."""

CAPS = ("calls", "tokens", "usd", "seconds")

FORK_FIELDS = ("turn", "agent", "prompts", "lang", "model", "answer", "name", *CAPS)
"""The fields of the form of a fork."""

ASKED_OTHERWISE = ("prompts", "lang", "model")
"""Those of them that change what a player is asked, or who plays."""

PIN_FIELDS = ("turn", "turns", "agent", "name", "folder", "replace")
"""The fields of the form of a test."""

LANGS = ("en", "zh")
"""The languages of prompts."""

MOST_DIGITS = 15
"""How many digits a cap has at most."""


class Forking(NamedTuple):
    """A fork that a form asks for."""

    options: ForkOptions
    caps: Caps
    cost: Estimate


# --- a fork


def unchanged(store: Store, run: Run, turn: int, agent: str) -> Fields:
    """Return the form of a fork that changes nothing; for an agent, it has the agent's recorded answer.

    Raise MissingError if the agent did not act in the turn.
    """
    caps = {
        name: f"{cap:.15f}".rstrip("0").rstrip(".") if isinstance(cap, float) else str(cap or "")
        for name, cap in asdict(run.caps).items()
    }
    answer = _in_a_field(recorded(store, run, turn, agent)) if agent else ""
    return {**dict.fromkeys(FORK_FIELDS, ""), "turn": str(turn), "agent": agent, "answer": answer, **caps}


def recorded(store: Store, run: Run, turn: int, agent: str) -> str:
    """Return the answer of an agent that counts, empty if there was none."""
    if agent == OBSERVER:
        raise UsageError("a fork cannot answer for the observer; choose an agent")
    return agent_card(store, run, turn, agent)["answer"] or ""


def forking(store: Store, run: Run, fields: Fields) -> Forking:
    """Return the fork that a form asks for, and what it will cost. Raise UsageError if a field is wrong."""
    turn = whole_number("turn", fields["turn"])
    if f"{PlayerKind.PYTHON}:" in fields["model"]:  # it would execute any file of this machine
        raise UsageError("model: a page takes no Python players; name them with `hobbes fork`")
    prompts = fields["prompts"].strip()
    if is_path(prompts) and prompts not in prompts_of(store, run):
        _inside(prompts, "prompts")
    options = ForkOptions(
        turn,
        fields["model"].strip() or None,
        prompts or None,
        fields["lang"] or None,
        answers=_given(store, run, turn, fields),
        name=fields["name"].strip() or None,
    )
    caps = Caps(
        _cap(fields, "calls", int), _cap(fields, "tokens", int), _cap(fields, "usd"), _cap(fields, "seconds")
    )
    return Forking(options, caps, estimate_of_fork(store, planned(store, run, options, caps), turn))


def _given(store: Store, run: Run, turn: int, fields: Fields) -> dict[str, str]:
    """Return the answer that a form gives to its agent, as it was recorded if nobody changed it; or none.

    Where what the player is asked, or who plays, changes and the answer does not, the player is asked anew.
    """
    agent, text = fields["agent"], fields["answer"]
    if not agent or not text.strip():
        return {}
    before = recorded(store, run, turn, agent)
    if text != _in_a_field(before):
        return {agent: text}
    return {} if any(fields[name] for name in ASKED_OTHERWISE) else {agent: before}


def _in_a_field(text: str) -> str:
    """Return a text as a browser posts it that shows it in a field: HTML has no null character."""
    return with_line_feeds(text).replace("\0", "\ufffd")


def fingerprint(fields: Fields) -> str:
    """Return what tells the form of a fork from one in which something was changed."""
    return sha256(canonical({name: fields[name] for name in FORK_FIELDS}))


def prompts_of(store: Store, run: Run) -> list[str]:
    """Return the prompts to choose from for a fork: those that are shipped, and those of other runs."""
    played = {row["prompts"] for row in store.figures.of_all_runs() if row["world"] == run.world.name}
    return sorted({*variants(run.world), *played})


def words_of_fork(store: Store, run: Run, fields: Fields, plan: Forking) -> str:
    """Return the command that plays the same fork. It takes an answer from a file, since it may be long."""
    words: list[object] = ["fork", run.id, "--turn", fields["turn"]]
    for name in ("prompts", "lang", "model", "name"):
        words += [f"--{name}", fields[name]] if fields[name] else []
    for agent in plan.options.answers:
        words += ["--answer", f"{agent}=@answer.json"]
    for name in CAPS:
        words += [f"--max-{name}", fields[name]] if fields[name] else []
    return store.command(*words)


def whole_number(name: str, text: str) -> int:
    """Return a whole number of a form."""
    if not re.fullmatch(rf"[0-9]{{1,{MOST_DIGITS}}}", text):
        raise UsageError(f"{name}: write a whole number")
    return int(text)


def _cap(fields: Fields, name: str, kind: type = float) -> Any:  # noqa: ANN401  a number or None
    """Return a cap of a form, None if it is left empty."""
    text = fields[name].strip()
    if not text:
        return None
    if kind is int:
        return max(whole_number(name, text), 1)
    if re.fullmatch(rf"[0-9]{{1,{MOST_DIGITS}}}(\.[0-9]{{1,{MOST_DIGITS}}})?", text):
        return float(text)
    raise UsageError(f"{name}: write a number that is not negative, or leave it empty")


# --- a test


def pin_fields(run: Run, turn: int, agent: str) -> Fields:
    """Return the form of a test of a turn as it is offered."""
    name = re.sub(r"[^\w-]+", "_", f"{run.name or run.id}_{turn}")[-100:]
    return {"turns": str(turn), "agent": agent, "name": name, "folder": "tests", "replace": ""}


def pinned(store: Store, run: Run, fields: Fields) -> Files:
    """Write the test that a form asks for, and return its files. Raise UsageError if a field is wrong."""
    first, to, last = fields["turns"].partition("-")
    turns = whole_number("turns", first.strip()), whole_number("turns", (last if to else first).strip())
    if not NAME.fullmatch(fields["name"]):
        raise UsageError("name: write letters, digits, - and _")
    files = files_of(fields["name"], _inside(fields["folder"].strip() or ".", "folder"))
    for path in files:
        _inside(str(path), "folder")  # it may be a link that leads elsewhere
        if check_path(path, "folder").exists() and not fields["replace"]:
            raise UsageError(
                f"{path} already exists; choose another name or folder, or tick that it may be replaced"
            )
    made = pin(store, run, turns, files.test.parent)
    agent = fields["agent"] or None
    if agent:
        made.check_agent(agent)
    write(made, files, text_of_test(made, files, agent))
    return files


def words_of_pin(store: Store, run: Run, fields: Fields) -> str:
    """Return the command that writes the same test."""
    only = ["--agent", fields["agent"]] if fields["agent"] else []
    words = ["--turns", fields["turns"], "--name", fields["name"], "--to", fields["folder"] or "."]
    return store.command("make-test", run.id, *words, *only)


def _inside(path: str, what: str) -> Path:
    """Return a path in the working directory. Raise UsageError if it leads out of it."""
    here = Path.cwd().resolve()
    checked = check_path(Path(path), what)
    try:
        is_inside = (here / checked).resolve().is_relative_to(here)
    except (OSError, RuntimeError) as error:  # a loop of links
        raise LabError(f"{what}: {path} cannot be used: {error}") from error
    if not is_inside:
        raise UsageError(f"{what}: {path} is not in the folder in which `hobbes view` runs; choose one in it")
    return checked


def filled_in(fields: Iterable[tuple[str, str]], known: Iterable[str]) -> dict[str, str]:
    """Return the fields that a form posted. Raise UsageError for one that it does not have, or has twice."""
    names, filled = list(known), dict[str, str]()
    for name, text in fields:
        if name not in names:
            raise UsageError(f"the form has no field {name[:60]!r}; it has: {', '.join(names)}")
        if name in filled:
            raise UsageError(f"{name}: write each only once")
        filled[name] = text
    return {**dict.fromkeys(names, ""), **filled}
