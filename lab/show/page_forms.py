"""The two forms on the pages of `hobbes view`: one plays a fork of a run, one writes turns as a test.

The fields of a form come from whoever can post it, so each of them is checked here.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from hobbes.engine.record import canonical, sha256
from hobbes.engine.world import OBSERVER
from hobbes.lab.errors import LabError, UsageError
from hobbes.lab.experiment.estimate import Estimate, estimate_of_fork
from hobbes.lab.files import check_path, key_and_value
from hobbes.lab.play.forking import ForkOptions, plan_of_fork
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
"""What somebody wrote in a form, by the names of its fields."""

CAPS = ("calls", "tokens", "usd", "seconds")

FORK_FIELDS = ("turn", "agent", "prompts", "lang", "model", "settings", "answer", "name", "times", *CAPS)
"""The fields of the form of a fork."""

CHANGES_THE_CALL = ("prompts", "lang", "model", "settings")
"""The fields of a fork that change what a player is asked, or who plays."""

TOKEN, SHOWN, DO = "token", "shown", "do"
"""The names of three fields: the token of the pages, the fingerprint of a form whose cost was shown, and the
button that was pressed."""

NOT_WRITTEN = (SHOWN, DO)
"""The fields that say what to do with what was written in the others."""
MAX_TIMES = 8
"""How many forks a form plays at most."""

PIN_FIELDS = ("turn", "turns", "agent", "name", "folder", "replace")
"""The fields of the form of a test."""

LANGS = ("en", "zh")
"""The languages of prompts."""

MAX_DIGITS = 15
"""How many digits a number in a form may have."""


class ForkPlan(NamedTuple):
    """A fork that a form asks for, how many times, and what all will cost."""

    options: ForkOptions
    times: int
    caps: Caps
    cost: Estimate


# --- a fork


def unchanged_fork(store: Store, run: Run, turn: int, agent: str) -> Fields:
    """Return the fields of a fork that changes nothing; for an agent, with the agent's recorded answer.

    Raise MissingError if the agent did not act in the turn.
    """
    caps = {
        name: f"{cap:.15f}".rstrip("0").rstrip(".") if isinstance(cap, float) else str(cap or "")
        for name, cap in asdict(run.caps).items()
    }
    answer = _as_posted(recorded_answer(store, run, turn, agent)) if agent else ""
    return {**dict.fromkeys(FORK_FIELDS, ""), "turn": str(turn), "agent": agent, "answer": answer, **caps}


def recorded_answer(store: Store, run: Run, turn: int, agent: str) -> str:
    """Return the agent's answer that counts, empty if there was none."""
    if agent == OBSERVER:
        raise UsageError("a fork cannot answer for the observer; choose an agent")
    return agent_card(store, run, turn, agent)["answer"] or ""


def plan_fork(store: Store, run: Run, fields: Fields) -> ForkPlan:
    """Return the fork that a form asks for, and what it will cost. Raise UsageError if a field is wrong."""
    turn = whole_number("turn", fields["turn"])
    check_model(fields["model"])
    prompts = fields["prompts"].strip()
    if is_path(prompts) and prompts not in available_prompts(store, run):
        path_inside(prompts, "prompts")
    options = ForkOptions(
        turn,
        fields["model"].strip() or None,
        prompts or None,
        fields["lang"] or None,
        _settings(fields),
        answers=_given_answers(store, run, turn, fields),
        name=fields["name"].strip() or None,
    )
    caps = Caps(
        calls=whole_cap(fields, "calls"),
        tokens=whole_cap(fields, "tokens"),
        usd=decimal_cap(fields, "usd"),
        seconds=decimal_cap(fields, "seconds"),
    )
    times = whole_number("times", fields["times"].strip() or "1")
    if not 1 <= times <= MAX_TIMES:
        raise UsageError(f"times: write a number from 1 to {MAX_TIMES}; `hobbes fork --times` plays more")
    cost = estimate_of_fork(store, plan_of_fork(store, run, options, caps), turn, times)
    return ForkPlan(options, times, caps, cost)


def _settings(fields: Fields) -> dict[str, Any]:
    """Return the settings that a form changes, one on a line. Raise UsageError if one is wrong."""
    try:
        read = [key_and_value(line) for line in fields["settings"].splitlines() if line.strip()]
    except UsageError as error:
        raise UsageError(f"settings: {error}") from error
    twice = [key for key, n in Counter(key for key, _ in read).items() if n > 1]
    if twice:
        raise UsageError(f"settings: {twice[0]} is set twice; set it once")
    return dict(read)


def without_old_answer(store: Store, run: Run, fields: Fields) -> Fields:
    """Return the fields of a fork without a recorded answer that is not given: its player is asked anew."""
    agent, text = fields["agent"], fields["answer"]
    if not agent or not text.strip() or not any(fields[name].strip() for name in CHANGES_THE_CALL):
        return fields
    recorded = _as_posted(recorded_answer(store, run, whole_number("turn", fields["turn"]), agent))
    return {**fields, "answer": "" if text == recorded else text}


def check_model(spec: str) -> None:
    """Raise UsageError for a Python player: it would execute any file of this machine."""
    if f"{PlayerKind.PYTHON}:" in spec:
        raise UsageError("model: a page takes no Python players; name them with `hobbes fork`")


def _given_answers(store: Store, run: Run, turn: int, fields: Fields) -> dict[str, str]:
    """Return the answer that a form gives, by agent; empty if the player is to be asked anew.

    An answer that nobody changed in the form is given as it was recorded, unless a field in
    `CHANGES_THE_CALL` is filled in: then the player is asked anew.
    """
    agent, text = fields["agent"], fields["answer"]
    if not agent or not text.strip():
        return {}
    recorded = recorded_answer(store, run, turn, agent)
    if text != _as_posted(recorded):
        return {agent: text}
    return {} if any(fields[name].strip() for name in CHANGES_THE_CALL) else {agent: recorded}


def _as_posted(text: str) -> str:
    """Return a text as a browser posts it back from a field. HTML has no null character."""
    return with_line_feeds(text).replace("\0", "\ufffd")


def fingerprint(fields: Fields) -> str:
    """Return a hash of the fields of a form; it differs if any field was changed."""
    return sha256(canonical({name: text for name, text in fields.items() if name not in NOT_WRITTEN}))


def available_prompts(store: Store, run: Run) -> list[str]:
    """Return the prompts to choose from for a fork: those that are shipped, and those of other runs."""
    played = {row["prompts"] for row in store.figures.of_all_runs() if row["world"] == run.world.name}
    return sorted({*variants(run.world), *played})


def fork_command(store: Store, run: Run, fields: Fields, plan: ForkPlan) -> str:
    """Return the command that plays the same fork. It reads the answer from a file, since it may be long."""
    words: list[object] = ["fork", run.id, "--turn", fields["turn"]]
    for name in ("prompts", "lang", "model", "name"):
        words += [f"--{name}", fields[name]] if fields[name] else []
    for key, value in plan.options.values.items():
        words += [
            "--set",
            f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}",
        ]
    words += ["--times", plan.times] if plan.times > 1 else []
    for agent in plan.options.answers:
        words += ["--answer", f"{agent}=@answer.json"]
    for name in CAPS:
        words += [f"--max-{name}", fields[name]] if fields[name] else []
    return store.command(*words)


def whole_number(name: str, text: str) -> int:
    """Return a whole number of a form."""
    if not re.fullmatch(rf"[0-9]{{1,{MAX_DIGITS}}}", text):
        raise UsageError(f"{name}: write a whole number")
    return int(text)


def whole_cap(fields: Fields, name: str) -> int | None:
    """Return a cap of a form that is a whole number, None if it is left empty."""
    text = fields[name].strip()
    return max(whole_number(name, text), 1) if text else None


def decimal_cap(fields: Fields, name: str) -> float | None:
    """Return a cap of a form that may have decimals, None if it is left empty."""
    text = fields[name].strip()
    if not text:
        return None
    if re.fullmatch(rf"[0-9]{{1,{MAX_DIGITS}}}(\.[0-9]{{1,{MAX_DIGITS}}})?", text):
        return float(text)
    raise UsageError(f"{name}: write a number that is not negative, or leave it empty")


# --- a test


def default_test(run: Run, turn: int, agent: str) -> Fields:
    """Return the fields of a test of one turn, as the page offers them."""
    name = re.sub(r"[^\w-]+", "_", f"{run.name or run.id}_{turn}")[-100:]
    return {"turns": str(turn), "agent": agent, "name": name, "folder": "tests", "replace": ""}


def write_test(store: Store, run: Run, fields: Fields) -> Files:
    """Write the test that a form asks for, and return its files. Raise UsageError if a field is wrong."""
    first, dash, last = fields["turns"].partition("-")
    turns = whole_number("turns", first.strip()), whole_number("turns", (last if dash else first).strip())
    if not NAME.fullmatch(fields["name"]):
        raise UsageError("name: write letters, digits, - and _")
    files = files_of(fields["name"], path_inside(fields["folder"].strip() or ".", "folder"))
    for path in files:
        path_inside(str(path), "folder")  # it may be a link that leads elsewhere
        if check_path(path, "folder").exists() and not fields["replace"]:
            raise UsageError(
                f"{path} already exists; choose another name or folder, or tick that it may be replaced"
            )
    pinned = pin(store, run, turns, files.test.parent)
    agent = fields["agent"] or None
    if agent:
        pinned.check_agent(agent)
    write(pinned, files, text_of_test(pinned, files, agent))
    return files


def test_command(store: Store, run: Run, fields: Fields) -> str:
    """Return the command that writes the same test."""
    only = ["--agent", fields["agent"]] if fields["agent"] else []
    words = ["--turns", fields["turns"], "--name", fields["name"], "--to", fields["folder"] or "."]
    return store.command("make-test", run.id, *words, *only)


def path_inside(path: str, what: str) -> Path:
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


def parse_form(fields: Iterable[tuple[str, str]], known: Iterable[str]) -> dict[str, str]:
    """Return the text of each known field, empty if it was not posted.

    Raise UsageError for an unknown field, or one that was posted twice.
    """
    names, posted = list(known), dict[str, str]()
    for name, text in fields:
        if name not in names:
            raise UsageError(f"the form has no field {name[:60]!r}; it has: {', '.join(names)}")
        if name in posted:
            raise UsageError(f"{name}: write each only once")
        posted[name] = text
    return {**dict.fromkeys(names, ""), **posted}
