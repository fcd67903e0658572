"""The pages of `hobbes view` and `hobbes export --format html`: a run, one agent's turn, two runs.

`hobbes.show.web.page_templates` has the templates and what they may use. Without the script, too, all
that is on the pages can be read and reached.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from time import monotonic
from typing import Any

from markupsafe import Markup

from hobbes.engine.record import Event
from hobbes.engine.world import MAX_NAME, OBSERVER
from hobbes.errors import MissingError, UsageError
from hobbes.nodes.journal import TURN_QUESTION, Call, no_prompts
from hobbes.play.people import requests
from hobbes.probe.table import tell
from hobbes.prove.run_comparison import compare
from hobbes.prove.word_diff import whole_word_diff
from hobbes.show import both_runs, probe_reports, run_list, trace
from hobbes.show.annotations import notes_page
from hobbes.show.boards import Cards, board_svg, svg
from hobbes.show.diary import DiaryQuery, diary_page, of_turn, page_with, query_of
from hobbes.show.judgements import judgements
from hobbes.show.narrative import EVERYBODY, board_of_view, narrative_of
from hobbes.show.near_turns import marked_turns, near_turns
from hobbes.show.palette import Looks, looks_in, looks_now, looks_of, players_of, words_of
from hobbes.show.terminal import style_picture
from hobbes.show.text_search import search
from hobbes.show.timeline import map_of, marks_drawn, timeline
from hobbes.show.web.experiment_pages import experiment, experiments
from hobbes.show.web.live import Shown, now_in
from hobbes.show.web.page_templates import environment
from hobbes.show.world_list import meaning_of_measure, of_anybody
from hobbes.store.calls import Decision
from hobbes.store.experiment_tables import cells_so_far
from hobbes.store.history import state_before, stored_turn
from hobbes.store.home import Store
from hobbes.store.marked_turns import Marks
from hobbes.store.notes import Place
from hobbes.store.probe_tables import probes_listed
from hobbes.store.recorded_run import Run

AT_REST = frozenset({"finished", "halted", "waiting"})
"""The statuses of a run that is not being played; its page need not reload."""

MAX_TURNS = 50
"""How many turns the page of a run lists."""

MAX_WHOLE = 2_000
"""How many decisions a run has at most whose page comes whole; the rest of a larger one comes on demand."""


TURN = "turn"
"""What stands in an address in place of the number of a turn, until the script puts one there."""

MOMENTS = "moments"
"""The folder of an export with its turns at a glance, each as a script, which a page on disk can load."""


def reload_after(took: float) -> int:
    """Return after how many seconds a page reloads that took so many to make: at most a fifth of the time."""
    return max(2, ceil(4 * took))


def _prompt_of(calls: Iterable[Call]) -> str | None:
    """Return the prompt of the last call for a turn's own question; None if there is none."""
    return next((call.prompt.turn for call in reversed([*calls]) if call.question == TURN_QUESTION), None)


@dataclass(slots=True)
class Kept:
    """What several pages of a run show, so that it is read once."""

    looks: Looks | None = None
    asked: dict[str, list[Decision]] = field(default_factory=dict)
    marked_turns: dict[str, frozenset[int]] = field(default_factory=dict)
    turn: tuple[int, trace.FullTurn | None] | None = None
    marks: Marks | None = None


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of the runs in a home folder.

    `link` returns the URL of a page from run, turn and agent, and from what the page is asked for by name;
    without arguments, it returns that of the list of runs.
    `live` pages are served: they link to the list of runs, reload while their run is being played, and list
    only a part of its turns. `script` is the URL of the script. `kept` is of one run, which
    does not change meanwhile.
    """

    store: Store
    link: Callable[..., str]
    live: bool
    script: str = "/static/hobbes.js"
    kept: Kept = field(default_factory=Kept)

    def _page(self, name: str, **values: object) -> str:
        """Return a template filled with values."""
        shown = {
            "command": None,
            "reload": None,
            "link": self.link,
            "live": self.live,
            "script": self.script,
            "looks": {},
            **values,
        }
        return environment().get_template(name).render(**shown)

    def _of_run(self, name: str, run: Run, *words: object, **values: object) -> str:
        """Return a page about a run, with the command that traces what the words name."""
        command = self._command("trace", run.id, *words)
        return self._page(name, **{"run": run, "looks": self._looks(run), "command": command, **values})

    def runs(self, at: Mapping[str, Any]) -> str:
        """Return the list of the runs that an address asks for."""
        return self._page("runs.html", **run_list.shown(self.store, at))

    def run(self, run: Run, first: int | None = None) -> str:
        """Return the page of a run: its last turn, or the `first` one listed, the timeline, and the rest.

        The rest of a large run is a page of its own, which the script puts below the timeline. Raise
        MissingError if there is no such turn.
        """
        began = monotonic()
        if first is not None:
            stored_turn(self.store, run, first)
        looks = self._looks(run)
        is_played = run.status not in AT_REST and self.store.is_played(run.id)
        reloads = self.live and first is None and is_played
        shown = run.turns - 1 if first is None else first
        row = self.store.runs.row(run.id)
        is_whole = not self.live or run.turns * len(run.setting.agents) <= MAX_WHOLE
        return self._of_run(
            "run.html",
            run,
            headline=trace.headline(self.store, run),
            tainted=row["tainted"],
            error=row["error"],
            people={
                one.agent: self._command("answer", run.id, "--agent", one.agent) for one in run.questions
            },
            requests=[request for one in run.questions if one.agent == OBSERVER for request in requests(one)],
            timeline=timeline(self.store, run, looks, self._marks(run)),
            moment=Markup(self.moment(run, shown)) if run.turns else "",  # noqa: S704  a template's
            moments=f"{self.link(run.id, TURN)}.html" if self.live else f"{MOMENTS}/{TURN}.js",
            picture=style_picture(
                words_of(run, looks), run.world.picture(state_before(self.store, run, run.turns))
            ),
            is_whole=is_whole,
            first=first,
            **self._at(run, first),
            **(self._rest(run, first) if is_whole else {}),
            now=Markup(self.now([run])[0] if reloads else ""),  # noqa: S704  a template's
            reload=reload_after(monotonic() - began) if reloads else None,
            unfinished=self._unfinished(run) if first is None and not is_played else "",
            forks=self.store.runs.forks(run.id) if self.live else (),
            note=self.store.notes.at(Place(run.id)),
        )

    def _unfinished(self, run: Run) -> Markup:
        """Return the turn in which a run has stopped; empty if it has stopped between two turns."""
        has_calls = run.status != "finished" and self.store.calls.attempts(run.id, run.turns)
        return Markup(self.moment(run, run.turns) if has_calls else "")  # noqa: S704  a template's

    def now(self, runs: Sequence[Run], *, named: bool = False) -> Shown:
        """Return what happens now in those of some runs that are being played, as a part of a page."""
        played = [run for run in runs if run.status not in AT_REST and self.store.is_played(run.id)]
        if not played:
            return "", ()
        shown = [now_in(self.store, run) for run in played]
        return self._page("now.html", runs=shown, runs_named=named), [(run.id, run.turns) for run in played]

    def now_in_experiment(self, name: str) -> Shown:
        """Return what happens now in the runs of an experiment, as a part of its page."""
        unfinished = [
            cell.run for cell in cells_so_far(self.store, name).values() if cell.status == "unfinished"
        ]
        return self.now([self.store.runs.find(run) for run in unfinished], named=True)

    def results(self, run: Run, first: int | None) -> str:
        """Return what stands below the timeline of a run, as a page of its own."""
        if first is not None:
            stored_turn(self.store, run, first)
        return self._of_run("results.html", run, **self._at(run, first), **self._rest(run, first))

    def _at(self, run: Run, first: int | None) -> dict[str, Any]:
        """Return which turn the page of a run shows, the last or the `first` listed, and who plays."""
        shown = run.turns - 1 if first is None else first
        players = players_of(run, self._looks(run))
        return {"shown": shown, "slot": TURN, "models": Counter(run.models.values()), "players": players}

    def _rest(self, run: Run, first: int | None) -> dict[str, Any]:
        """Return what stands below the timeline of a run: its map, results, turns, and measures.

        Live pages list the last MAX_TURNS turns, or as many from the first, and link to the others.
        """
        last_ones = max(run.turns - MAX_TURNS, 0) if self.live else 0
        turns = trace.overview(
            self.store,
            run,
            first=last_ones if first is None else first,
            most=None if first is None else MAX_TURNS,
        )
        measures = self.store.figures.measures_with_counts(run.id)
        kinds = {kind for turn in turns for kind in turn["events"]}
        return {
            "map": map_of(self.store, run, self._marks(run)),
            "judged": judgements(self.store, run, self._looks(run), first) if run.turns else None,
            "of_two": lambda one, other: self._diary(run, DiaryQuery(one, other)),
            "result": self.store.figures.result(run),
            "config": run.setting.config.model_dump(mode="json"),
            "turns": turns,
            "no_prompts": no_prompts(run.models.values()),
            "counted_twice": trace.counted_twice(run.world, kinds),
            "parts_of_turns": range(0, run.turns, MAX_TURNS) if self.live and run.turns > MAX_TURNS else (),
            "most_turns": MAX_TURNS,
            "measures": measures,
            "meanings": {
                name: meaning_of_measure(run.world, name)
                for name, *_ in measures
                if of_anybody(name) in run.world.formulas  # not if an older version measured something else
            },
        }

    def moment(self, run: Run, number: int) -> str:
        """Return a turn at a glance, as a part of a page: the board, and what each agent did and said."""
        full = self._full_turn(run, number)
        board = trace.board_in(run, full)
        record = full.turn.record if full else None
        if self.kept.looks is None and full:
            looks: Looks = looks_now(run, full.played.before)
        else:
            looks = self._looks(run)
        notes = [note for note in self.store.notes.of(run.id) if note.turn == number]
        return self._page(
            "moment.html",
            run=run,
            number=number,
            board=board_svg(board, self._cards(run, number, record.intents if record else ())),
            entries=of_turn(self.store, run, full.turn) if full else {},
            is_finished=full is not None,
            asked=self._asked_in(run, number),
            calls=[] if full else trace.all_calls(trace.turn_card(self.store, run, number, None)),
            players=players_of(run.at(number), looks),
            drops=Counter(drop.agent for drop in record.drops) if record else {},
            looks=looks,
            command=self._command("trace", run.id, number),
            commands=self._commands(run, number),
            note=self.store.notes.at(Place(run.id, number)),
            others=[one for one in notes if one.place != Place(run.id, number)],
        )

    def _cards(self, run: Run, number: int, agents: Iterable[str]) -> Cards:
        """Return the addresses of the cards of these agents in a turn."""
        return tuple((agent, self.link(run.id, number, agent)) for agent in agents)

    def board(self, run: Run, number: int) -> str:
        """Return the SVG of what happened in a turn. Raise MissingError if it has not ended."""
        board = trace.board_in(run, self._full_turn(run, number))
        if board is None:
            raise MissingError(f"there is no board of turn {number} of run {run.id}: it has not ended")
        return svg(board)

    def agent(self, run: Run, number: int, agent: str) -> str:
        """Return the page of one agent's turn, or of the observer's."""
        full = self._full_turn(run, number)
        card = trace.for_people(trace.agent_card(self.store, run, number, agent, full))
        decided = [decision.turn for decision in self._asked(run, agent)]
        near = near_turns(decided, number, self._marked_turns(run, agent))
        calls = self._calls(run, number, agent)
        was = None if near.before is None else _prompt_of(self._calls(run, near.before, agent))
        now = _prompt_of(calls) or card["prompt"]
        beside = self._asked_in(run, number)
        at = beside.index(agent)
        seen = board_of_view(run, card["view"]) if "intent" in card else None
        return self._of_run(
            "agent.html",
            run,
            number,
            agent,
            card=card,
            narrative=narrative_of(run, full, card),
            reasoning_title=trace.reasoning_title(card),
            sent_to=trace.sent_to(card),
            board=board_svg(seen, self._cards(run, number, beside)),
            near=near,
            above=beside[at - 1] if at else None,
            below=beside[at + 1] if at + 1 < len(beside) else None,
            columns=trace.REFUSED,
            refused=trace.refused_rows(card["drops"], card["mends"]),
            now=now,
            prompt=whole_word_diff(was, now) if was is not None and card["system"] else [],
            memory=trace.memory_diffs(card) if "intent" in card else {},
            other_calls=[call for call in calls if call.address.attempt != card["attempt"]],
            with_whom=self._with_whom(run, card),
            own_diary=self._diary(run, DiaryQuery(agent), number) if agent in self._looks(run) else None,
            commands=self._commands(run, number, agent),
            note=self.store.notes.at(Place(run.id, number, agent)),
        )

    def compare(self, a: Run, b: Run) -> str:
        """Return the page of two runs side by side. Raise UsageError for runs of different worlds."""
        comparison = compare(self.store, a, b)
        decision = comparison["decision"]
        turn = both_runs.turn_of_both(comparison)
        boards = trace.boards_at(self.store, (a, b), turn)
        asked = [[call.address.agent for call in self.store.calls.of_turn(run.id, turn)] for run in (a, b)]
        return self._page(
            "compare.html",
            runs=(a, b),
            boards=[
                board_svg(board, self._cards(run, turn, agents))
                for run, board, agents in zip((a, b), boards, asked, strict=True)
            ],
            comparison=comparison,
            **both_runs.told(comparison),
            wanted=both_runs.wanted(a.world, decision) if decision else (),
            looks=looks_of([*a.setting.agents, *b.setting.agents]),
            command=self._command("compare", a.id, b.id),
        )

    def notes(self, at: Mapping[str, Any]) -> str:
        """Return the page of all notes, or of those with the tag that an address asks for."""
        return self._page("notes.html", **notes_page(self.store, at))

    def search(self, at: Mapping[str, Any]) -> str:
        """Return the page of a search over all texts, which an address asks for."""
        return self._page("search.html", **search(self.store, at))

    def diary(self, run: Run, at: Mapping[str, Any]) -> str:
        """Return the page of a diary: of all, of an agent, or of two."""
        query = query_of(run, self._looks(run), at)
        options = ["--mark", query.mark] if query.mark else []
        options += ["--grep", f"(?i){re.escape(query.words)}"] if query.words else []
        return self._of_run(
            "diary.html",
            run,
            *(filter(None, (query.agent, query.other)) if query.agent else (EVERYBODY,)),
            *options,
            **diary_page(self.store, run, query, self._marks(run), self._looks(run)),
            address=partial(self._diary, run),
        )

    def _marks(self, run: Run) -> Marks:
        """Return what the timeline of a run shows of its turns."""
        if self.kept.marks is None:
            self.kept.marks = marks_drawn(self.store, run)
        return self.kept.marks

    def _diary(self, run: Run, query: DiaryQuery, turn: int | None = None, **changed: object) -> str:
        """Return the URL of a diary; with a turn, of the page on which the turn is, at the turn."""
        if turn is None:
            return self.link(run.id, "diary", **query.address(**changed))
        pair = DiaryQuery(query.agent, query.other)
        return f"{self.link(run.id, 'diary', **pair.address(first=page_with(run, pair, turn)))}#turn-{turn}"

    def _with_whom(self, run: Run, card: trace.Card) -> dict[str, str]:
        """Return with whom an agent had to do in a turn, and the URL of the diary of the two."""
        looks, agent = self._looks(run), card["agent"]
        if agent not in looks:
            return {}
        events = [Event.from_json(event) for event in card.get("events", ())]
        named = {
            name for event in events for name in (event.agent, *dict(trace.named_by(event, looks)).values())
        }
        others = sorted(named & looks.keys() - {agent}, key=lambda name: looks[name].place)
        return {other: self._diary(run, DiaryQuery(agent, other), card["turn"]) for other in others}

    def experiments(self) -> str:
        """Return the list of experiments."""
        began = monotonic()
        shown = experiments(self.store)
        return self._following("experiments.html", began, shown, self._command("experiments"))

    def experiment(self, name: str) -> str:
        """Return the page of an experiment: how far it is, its report, and its runs."""
        began = monotonic()
        shown = experiment(self.store, name, self.link)
        shown["now"] = Markup(self.now_in_experiment(name)[0] if shown["played"] else "")  # noqa: S704  a template's
        return self._following("experiment.html", began, shown, self._command("report", name))

    def probes(self) -> str:
        """Return the list of probes."""
        return self._page(
            "probes.html", probes=probes_listed(self.store), command=self._command("probe", "show")
        )

    def probe(self, name: str, situation: int | None, column: str, diff: str) -> str:
        """Return the page of a probe, of the answers of one of its cells, or of the words of a column."""
        told = tell(self.store, name)
        words: tuple[object, ...] = ()
        title, pieces = probe_reports.title_of(told), []
        sections = list(probe_reports.sections(told))
        if column:
            sections = list(probe_reports.answers(self.store, told, situation or 1, column, commands=True))
            title = f"{column}, {probe_reports.situation_in_words(told, situation or 1)}"
            words = (situation or 1, column)
        elif diff:
            sections, pieces = [], probe_reports.diff(told, diff)
            title, words = f"The words of {diff}", ("--diff", diff)
        elif situation is not None:
            raise UsageError("`situation` in the address needs a `column`")
        command = self._command("probe", "show", name, *words)
        shown = {"told": told, "title": title, "sections": sections, "pieces": pieces, "whole": not words}
        return self._page("probe.html", **shown, command=command)

    def _following(self, name: str, began: float, shown: Mapping[str, Any], command: str | None) -> str:
        """Return a page whose making began then, which reloads while a run that it tells of is played."""
        reload = reload_after(monotonic() - began) if shown["played"] else None
        return self._page(name, **shown, reload=reload, command=command)

    def _command(self, *words: object) -> str | None:
        """Return the command that shows the same in a terminal; None on disk, where the home is not."""
        return self.store.command(*words) if self.live else None

    def _commands(self, run: Run, number: int, agent: str | None = None) -> list[tuple[str, str, str]]:
        """Return what can be done from a turn: in words, the key that copies the command, and the command."""
        if not self.live or number >= run.turns:
            return []
        name, whose = run.name or run.id, ["--agent", agent] if agent else []
        test = re.sub(r"[^\w-]+", "_", f"{name}_{number}")[-MAX_NAME:]
        pinned = ["--turns", number, "--name", test, "--to", "tests", *whose]
        return [
            ("fork from here", "f", self.store.command("fork", name, "--turn", number)),
            ("pin as a test", "t", self.store.command("make-test", name, *pinned)),
            ("write a note", "w", self.store.command("note", name, number, agent or "all", "TEXT")),
        ]

    def _looks(self, run: Run) -> Looks:
        """Return the look of everybody who was asked in a run."""
        if self.kept.looks is None:
            self.kept.looks = looks_in(self.store, run)
        return self.kept.looks

    def _calls(self, run: Run, number: int, agent: str) -> list[Call]:
        return self.store.calls.attempts(run.id, number, agent).get(agent, [])

    def _asked(self, run: Run, agent: str) -> list[Decision]:
        """Return the decisions of an agent, in the order of turns."""
        if agent not in self.kept.asked:
            self.kept.asked[agent] = list(self.store.calls.decisions(run.id, agent))
        return self.kept.asked[agent]

    def _marked_turns(self, run: Run, agent: str) -> frozenset[int]:
        if agent not in self.kept.marked_turns:
            decisions, notes = self._asked(run, agent), self.store.notes.of(run.id)
            self.kept.marked_turns[agent] = marked_turns(agent, decisions, self._marks(run), notes)
        return self.kept.marked_turns[agent]

    def _asked_in(self, run: Run, number: int) -> list[str]:
        """Return who was asked in a turn, the observer last."""
        full = self._full_turn(run, number)
        if full and run.world.observer is None:
            return list(full.turn.record.intents)
        attempts = self.store.calls.attempts(run.id, number)
        return list(dict.fromkeys([*(full.turn.record.intents if full else ()), *attempts]))

    def _full_turn(self, run: Run, number: int) -> trace.FullTurn | None:
        if self.kept.turn is None or self.kept.turn[0] != number:
            self.kept.turn = number, trace.full_turn(self.store, run, number)
        return self.kept.turn[1]
