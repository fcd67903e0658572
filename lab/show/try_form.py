"""`Try another prompt`: the form that edits the files of a prompt, and asks about one recorded decision.

It asks as `hobbes probe` does. The probe is about this one situation, and each version of the prompt that was
asked about is a column. What a person writes is saved in a folder when it is asked about, and not before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from threading import enumerate as enumerate_threads
from typing import NamedTuple

from hobbes.engine.record import canonical, sha256
from hobbes.engine.world import OBSERVER, AnyWorld
from hobbes.lab.errors import HaltedRunError, LabError, UsageError
from hobbes.lab.loop import play_out
from hobbes.lab.play.rendering import question_in_run
from hobbes.lab.probe.asking import as_kept, asking, columns_kept, kept_calls, missing
from hobbes.lab.probe.planning import Cost, Plan, cost
from hobbes.lab.probe.situations import Situation, with_options
from hobbes.lab.probe.telling import ProbeTold, tell
from hobbes.lab.probe.versions import plan_version
from hobbes.lab.proof.comparing import CHANGE, word_diff
from hobbes.lab.show.page_forms import (
    DO,
    Fields,
    check_model,
    decimal_cap,
    path_inside,
    whole_cap,
    whole_number,
)
from hobbes.lab.store.home import Store, open_store
from hobbes.lab.store.probes import keep_probe, kept_probe
from hobbes.lab.store.run import Run
from hobbes.lab.temporary import temporary
from hobbes.nodes.caps import Caps
from hobbes.nodes.players import parse_spec
from hobbes.nodes.prompting import (
    PromptError,
    folder_of,
    is_path,
    template_files,
    template_text,
    with_own_text,
)

CAPS = ("calls", "tokens", "usd")

TRY_FIELDS = ("turn", "agent", "opened", "folder", "name", "times", "model", *CAPS, DO)
"""The fields of the form beside the texts."""

TEXT = "text/"
"""The beginning of the name of a field with the text of a file, whose name follows."""

ASK = "ask"
"""The button that asks; any other shows what asking would cost."""

TIMES = "5"
"""How often each question is asked, unless somebody writes another number."""

MAX_NAME = 100
"""The most characters of the name that a probe has by default."""

ASKING = "asking "
"""The beginning of the name of a thread that asks a probe behind the pages."""

MAX_ASKED = 8
"""How many probes may be asked behind the pages at the same time."""

Pieces = Sequence[tuple[CHANGE, str]]


class Preview(NamedTuple):
    """What would be asked: the prompt beside that of the run, and what asking costs."""

    words: Pieces = ()
    """The lines that differ, word by word."""
    system: Pieces = ()
    turn: Pieces = ()
    cost: Cost | None = None
    problem: str = ""


# --- what the form begins with


def opened_form(store: Store, run: Run, turn: int, agent: str, name: str) -> Fields:
    """Return the fields of the form as it is opened: with the prompt of the run, or the last one tried.

    `name` is the probe, empty for the one of this decision. Raise UsageError for an observer, and if the
    agent does not act in the turn.
    """
    if agent == OBSERVER:
        raise UsageError("a probe asks agents; choose an agent")
    question = question_in_run(store, run, turn, agent)
    name = name or re.sub(r"[^\w-]+", "-", f"try-{run.name or run.id}-{turn}-{agent}")[:MAX_NAME]
    variant = _last_tried(store, run, turn, agent, name) or question.variant
    texts = texts_of(run.world, variant, question.lang)
    folder = _here(variant)
    if texts is None:  # its folder is gone: what the run was sent is in the run database
        prompts = run.at(turn).prompts
        texts = {f"system.{question.lang}.md": prompts.system, f"turn.{question.lang}.md": prompts.turn}
        folder = ""
    chats = parse_spec(run.world.policies, question.player, question.models).settings is not None
    return {
        **dict.fromkeys(TRY_FIELDS, ""),
        "turn": str(turn),
        "agent": agent,
        "opened": _hash(texts) if folder else "",
        "folder": folder,
        "name": name,
        "times": TIMES,
        "model": question.player if chats else "",
        **{f"{TEXT}{file}": text for file, text in texts.items()},
    }


def texts_of(world: AnyWorld, variant: str, lang: str) -> dict[str, str] | None:
    """Return the texts of a variant's files by their names, without that of the observer.

    Return None if they cannot be read.
    """
    try:
        files = [file for file in template_files(world, variant, lang) if file.name != f"observer.{lang}.md"]
        return {file.name: template_text(file) for file in files}
    except PromptError:
        return None


def _last_tried(store: Store, run: Run, turn: int, agent: str, name: str) -> str | None:
    """Return the folder that a probe was last asked about, if it is about this decision alone."""
    kept = kept_probe(store, name)
    if kept is None or not _is_about(kept.situations, run, turn, agent):
        return None
    return next((one.prompts for one in reversed(columns_kept(kept).values()) if one.prompts), None)


def _is_about(situations: list[dict[str, object]], run: Run, turn: int, agent: str) -> bool:
    return [Situation.model_validate(one).place for one in situations] == [(run.id, turn, agent)]


def _here(variant: str) -> str:
    """Return the folder of a variant as seen from the working directory, empty if it is not in there."""
    here = Path.cwd().resolve()
    inside = is_path(variant) and Path(variant).resolve().is_relative_to(here)
    return f"./{Path(variant).resolve().relative_to(here).as_posix()}" if inside else ""


def _hash(texts: Mapping[str, str]) -> str:
    return sha256(canonical(dict(texts)))


def told_of(store: Store, run: Run, fields: Fields) -> ProbeTold | None:
    """Return what the probe of the form says, None if it is about something else or not asked yet."""
    kept = kept_probe(store, fields["name"])
    about_this = kept and _is_about(kept.situations, run, int(fields["turn"]), fields["agent"])
    return tell(store, fields["name"]) if about_this else None


# --- what is posted


def preview(store: Store, run: Run, fields: Fields) -> Preview:
    """Return what would be asked, or what is wrong with it."""
    turn, agent = int(fields["turn"]), fields["agent"]
    shown = Preview()
    with TemporaryDirectory(dir=temporary()) as root:
        folder = Path(root) / "prompt"
        try:
            question = question_in_run(store, run, turn, agent, variant=str(folder))
            write_texts(run.world, folder, question.lang, _texts(fields, question.lang))
            was, now = question.render(run.at(turn).prompts), question.render(question.load_prompts())
            both = "\n\n".join(was), "\n\n".join(now)
            shown = Preview(
                word_diff(*both),
                word_diff(was.system, now.system, whole=True),
                word_diff(was.turn, now.turn, whole=True),
            )
            planned, _ = plan_try(store, run, fields, str(folder))
            expected = cost(store, planned, missing(planned, kept_calls(store, planned)))
            return shown._replace(cost=expected)
        except LabError as error:
            return shown._replace(problem=str(error).replace(f"{folder}/", ""))


def plan_try(store: Store, run: Run, fields: Fields, prompts: str) -> tuple[Plan, Caps]:
    """Return what a form asks about a folder of prompts. Raise UsageError if it cannot be asked."""
    check_model(fields["model"])
    caps = Caps(whole_cap(fields, "calls"), whole_cap(fields, "tokens"), decimal_cap(fields, "usd"))
    model = fields["model"].strip()
    given = {
        "prompts": [prompts],
        "model": [model] if model else [],
        "times": max(whole_number("times", fields["times"]), 1),
        "name": fields["name"].strip(),
    }
    situation = Situation(run=run.id, turn=int(fields["turn"]), agent=fields["agent"])
    return plan_version(store, with_options([], given, [situation]), caps), caps


def save(run: Run, fields: Fields) -> str:
    """Write the texts of a form into its folder, and return the folder as a variant is named.

    Raise UsageError if the folder is outside of the working directory, or has files that the form was not
    opened with.
    """
    before = run.at(int(fields["turn"])).prompts
    lang, world = before.lang, run.world
    texts = _texts(fields, lang)
    if not fields["folder"].strip():
        raise UsageError("folder: name the folder in which your prompt is saved, such as ./mine")
    folder = path_inside(fields["folder"].strip(), "folder")
    variant = f"./{folder.as_posix()}"
    there = texts_of(world, variant, lang)
    if there == texts:
        return variant
    if any(folder.glob(f"*.{lang}.md")) and (there is None or _hash(there) != fields["opened"]):
        raise UsageError(
            f"folder: {folder} has files that were not opened here; choose another one or open the page again"
        )
    for name in (*_own_files(lang), f"observer.{lang}.md"):
        path_inside(str(folder / name), "folder")  # it may be a link that leads elsewhere
    try:
        write_texts(world, folder, lang, texts)
        with suppress(PromptError):  # the files of the run are gone
            _keep_observer(world, before.variant, lang, folder)
    except OSError as error:
        raise UsageError(f"folder: cannot write {folder}: {error.strerror}; choose another folder") from error
    return variant


def write_texts(world: AnyWorld, folder: Path, lang: str, texts: Mapping[str, str]) -> None:
    """Write a variant. A file that others share stays as it is: its new text stands where it is included."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _own_files(lang):
        if name not in texts:
            raise UsageError(f"the form lacks the text of {name}; load the page again")
        (folder / name).write_text(with_own_text(world, folder, texts[name], texts), encoding="utf-8")


def _keep_observer(world: AnyWorld, variant: str, lang: str, folder: Path) -> None:
    """Copy the text of the observer if the variant has one of its own."""
    file = folder_of(world.name, variant) / f"observer.{lang}.md"
    if world.observer is not None and file.exists() and not (folder / file.name).exists():
        (folder / file.name).write_text(template_text(file), encoding="utf-8")


def _own_files(lang: str) -> tuple[str, str]:
    """Return the names of the files that each variant has."""
    return f"system.{lang}.md", f"turn.{lang}.md"


def _texts(fields: Fields, lang: str) -> dict[str, str]:
    """Return the texts of a form by the names of their files."""
    known = re.compile(rf"[\w.-]+\.{re.escape(lang)}\.md")
    found = {name.removeprefix(TEXT): text for name, text in fields.items() if name.startswith(TEXT)}
    return {name: text for name, text in found.items() if known.fullmatch(name)}


# --- asking


def asked_now() -> Iterator[str]:
    """Yield the names of the probes that are asked behind the pages."""
    for thread in enumerate_threads():
        if thread.name.startswith(ASKING):
            yield thread.name.removeprefix(ASKING)


class BackgroundProbes:
    """The probes that are asked behind the pages, and why one of them stopped."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._problems: dict[str, str] = {}
        self._one_at_a_time = Lock()

    def ask(self, planned: Plan, caps: Caps) -> None:
        """Begin to ask. Raise LabError if the probe is being asked, or too many others."""
        with self._one_at_a_time:
            under_way = [*asked_now()]
            if planned.name in under_way:
                raise LabError(f"probe {planned.name} is being asked now; wait for its answers")
            if len(under_way) >= MAX_ASKED:
                raise LabError(f"{MAX_ASKED} probes are being asked behind the pages; wait for one to end")
            with open_store(self._home) as store:
                keep_probe(store, as_kept(planned))  # so that the next page is already about it
            self._problems.pop(planned.name, None)
            name = f"{ASKING}{planned.name}"
            Thread(target=self._ask, args=(planned, caps), name=name, daemon=True).start()

    def asking(self) -> dict[str, str]:
        """Return why each probe stopped, and an empty text for those that are being asked."""
        under_way = dict.fromkeys(asked_now(), "")  # first: one that stops meanwhile is told of next time
        return {**self._problems, **under_way}

    def _ask(self, planned: Plan, caps: Caps) -> None:
        try:
            with open_store(self._home) as store, asking(store, planned, caps) as asker:
                play_out(asker.ask_all(lambda: None))
        except HaltedRunError as error:
            self._problems[planned.name] = str(error.__cause__)
        except LabError as error:
            self._problems[planned.name] = str(error)
