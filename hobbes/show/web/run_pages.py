"""The pages of one run: the run at one of its turns, its cards, and its diary."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from time import monotonic
from typing import Any

from markupsafe import Markup

from hobbes.engine.record import Event
from hobbes.engine.world import MAX_NAME, OBSERVER
from hobbes.errors import MissingError
from hobbes.nodes.journal import TURN_QUESTION, Call, no_prompts
from hobbes.play.people import requests
from hobbes.prove.word_diff import whole_word_diff
from hobbes.show import trace
from hobbes.show.boards import Cards, board_svg, svg
from hobbes.show.diary import DiaryQuery, diary_page, of_turn, page_with, query_of
from hobbes.show.judgements import judgements
from hobbes.show.narrative import EVERYBODY, board_of_view, narrative_of
from hobbes.show.palette import Looks, looks_in, players_of
from hobbes.show.timeline import marks_drawn, timeline
from hobbes.show.web.live import now_in
from hobbes.show.web.page_templates import Pages, cards, reload_after
from hobbes.show.world_list import meaning_of_measure, of_anybody
from hobbes.store.history import stored_turn
from hobbes.store.marked_turns import Marks
from hobbes.store.notes import Place
from hobbes.store.recorded_run import Run

AT_REST = frozenset({"finished", "halted", "waiting"})
"""The statuses of a run that is not being played; its page need not reload."""

MAX_TURNS = 50
"""How many turns the page of a run lists."""


def _prompt_of(calls: Iterable[Call]) -> str | None:
    """Return the prompt of the last call for a turn's own question; None if there is none."""
    return next((call.prompt.turn for call in reversed([*calls]) if call.question == TURN_QUESTION), None)


@dataclass(frozen=True)
class RunPages(Pages):
    """The pages of a run, which does not change meanwhile."""

    run: Run

    @cached_property
    def looks(self) -> Looks:
        """The look of everybody who was asked in the run."""
        return looks_in(self.store, self.run)

    @cached_property
    def marks(self) -> Marks:
        """What the timeline shows of the turns."""
        return marks_drawn(self.store, self.run)

    @cached_property
    def _turns(self) -> Mapping[str, list[int]]:
        """The turns in which each agent was asked, in their order."""
        by_agent = defaultdict(list)
        for decision in self.store.calls.decisions(self.run.id):
            by_agent[decision.agent].append(decision.turn)
        return by_agent

    @cached_property
    def _full_turn(self) -> Callable[[int], trace.FullTurn | None]:
        """Return a turn as `full_turn` does; the cards of a turn share it."""
        return lru_cache(1)(partial(trace.full_turn, self.store, self.run))

    def _of_run(self, name: str, *words: object, **values: object) -> str:
        """Return a page about the run, with the command that traces what the words name."""
        command = self.command("trace", self.run.id, *words)
        return self.fill(name, **{"run": self.run, "looks": self.looks, "command": command, **values})

    def at_a_turn(self, first: int | None = None, sheets: Sequence[str] = ()) -> str:
        """Return the page of the run: its last turn, or the `first` one listed, the timeline, and the rest.

        In a file, the `sheets` of turns and cards stand below. Raise MissingError if there is no such turn.
        """
        began, run = monotonic(), self.run
        if first is not None:
            stored_turn(self.store, run, first)
        is_played = run.status not in AT_REST and self.store.is_played(run.id)
        reloads = self.live and first is None and is_played
        shown = run.turns - 1 if first is None else first
        row = self.store.runs.row(run.id)
        return self._of_run(
            "run.html",
            headline=trace.headline(self.store, run),
            tainted=row["tainted"],
            error=row["error"],
            people={one.agent: self.command("answer", run.id, "--agent", one.agent) for one in run.questions},
            requests=[request for one in run.questions if one.agent == OBSERVER for request in requests(one)],
            timeline=timeline(self.store, run, self.looks, self.marks),
            moment=Markup(self.moment(shown)) if run.turns else "",  # noqa: S704  a template's
            sheets=[Markup(sheet) for sheet in sheets],  # noqa: S704  a template's
            shown=shown,
            models=Counter(run.models.values()),
            players=players_of(run, self.looks),
            **self._results(first),
            now=now_in(self.store, run) if reloads else None,
            reload=reload_after(monotonic() - began) if reloads else None,
            unfinished=self._unfinished() if first is None and not is_played else "",
            forks=self.store.runs.forks(run.id) if self.live else (),
            note=self.store.notes.at(Place(run.id)),
        )

    def _unfinished(self) -> Markup:
        """Return the turn in which the run has stopped; empty if it has stopped between two turns."""
        run = self.run
        has_calls = run.status != "finished" and self.store.calls.attempts(run.id, run.turns)
        return Markup(self.moment(run.turns) if has_calls else "")  # noqa: S704  a template's

    def _results(self, first: int | None) -> dict[str, Any]:
        """Return what stands below the timeline of the run: its results, turns, and measures.

        Live pages list the last MAX_TURNS turns, or as many from the first, and link to the others.
        """
        run = self.run
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
            "judged": judgements(self.store, run, self.looks, first) if run.turns else None,
            "of_two": lambda one, other: self._diary(DiaryQuery(one, other)),
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
                # Not if an older version measured something else.
                if of_anybody(name) in run.world.measures.formulas
            },
        }

    def moment(self, number: int) -> str:
        """Return a turn at a glance, as a part of a page: the board, and what each agent did and said."""
        run, full = self.run, self._full_turn(number)
        board = trace.board_in(run, full)
        record = full.turn.record if full else None
        notes = [note for note in self.store.notes.of(run.id) if note.turn == number]
        return self.fill(
            "moment.html",
            run=run,
            number=number,
            board=board_svg(board, self._cards(number, record.intents if record else ())),
            entries=of_turn(self.store, run, full.turn) if full else {},
            is_finished=full is not None,
            asked=self._asked_in(number),
            calls=[] if full else trace.all_calls(trace.turn_card(self.store, run, number, None)),
            players=players_of(run.at(number), self.looks),
            drops=Counter(drop.agent for drop in record.drops) if record else {},
            looks=self.looks,
            command=self.command("trace", run.id, number),
            commands=self._commands(number),
            note=self.store.notes.at(Place(run.id, number)),
            others=[one for one in notes if one.place != Place(run.id, number)],
        )

    def _cards(self, number: int, agents: Iterable[str]) -> Cards:
        """Return the addresses of the cards of these agents in a turn."""
        return cards(self.link, self.run, number, agents)

    def board(self, number: int) -> str:
        """Return the SVG of what happened in a turn. Raise MissingError if it has not ended."""
        board = trace.board_in(self.run, self._full_turn(number))
        if board is None:
            raise MissingError(f"there is no board of turn {number} of run {self.run.id}: it has not ended")
        return svg(board)

    def card(self, number: int, agent: str) -> str:
        """Return the page of one agent's turn, or of the observer's."""
        run, full = self.run, self._full_turn(number)
        card = trace.for_people(trace.agent_card(self.store, run, number, agent, full))
        before = max((turn for turn in self._turns[agent] if turn < number), default=None)
        after = min((turn for turn in self._turns[agent] if turn > number), default=None)
        calls = self._calls(number, agent)
        was = None if before is None else _prompt_of(self._calls(before, agent))
        now = _prompt_of(calls) or card["prompt"]
        beside = self._asked_in(number)
        at = beside.index(agent)
        seen = board_of_view(run, card["view"]) if "intent" in card else None
        return self._of_run(
            "agent.html",
            number,
            agent,
            card=card,
            narrative=narrative_of(run, full, card),
            reasoning_title=trace.reasoning_title(card),
            sent_to=trace.sent_to(card),
            board=board_svg(seen, self._cards(number, beside)),
            before=before,
            after=after,
            above=beside[at - 1] if at else None,
            below=beside[at + 1] if at + 1 < len(beside) else None,
            columns=trace.REFUSED,
            refused=trace.refused_rows(card["drops"], card["mends"]),
            now=now,
            prompt=whole_word_diff(was, now) if was is not None and card["system"] else [],
            memory=trace.memory_diffs(card) if "intent" in card else {},
            other_calls=[call for call in calls if call.address.attempt != card["attempt"]],
            with_whom=self._with_whom(card),
            own_diary=self._diary(DiaryQuery(agent), number) if self.live and agent in self.looks else None,
            commands=self._commands(number, agent),
            note=self.store.notes.at(Place(run.id, number, agent)),
        )

    def diary(self, at: Mapping[str, Any]) -> str:
        """Return the page of a diary: of all, of an agent, or of two."""
        query = query_of(self.run, self.looks, at)
        options = ["--mark", query.mark] if query.mark else []
        options += ["--grep", f"(?i){re.escape(query.words)}"] if query.words else []
        return self._of_run(
            "diary.html",
            *(filter(None, (query.agent, query.other)) if query.agent else (EVERYBODY,)),
            *options,
            **diary_page(self.store, self.run, query, self.marks, self.looks),
            address=self._diary,
        )

    def _diary(self, query: DiaryQuery, turn: int | None = None, **changed: object) -> str:
        """Return the URL of a diary; with a turn, of the page on which the turn is, at the turn."""
        if turn is None:
            return self.link(self.run.id, "diary", **query.address(**changed))
        unfiltered = DiaryQuery(query.agent, query.other)
        first = page_with(self.run, unfiltered, turn)
        return f"{self.link(self.run.id, 'diary', **unfiltered.address(first=first))}#turn-{turn}"

    def _with_whom(self, card: trace.Card) -> dict[str, str]:
        """Return with whom an agent had to do in a turn, and the URL of the diary of the two."""
        looks, agent = self.looks, card["agent"]
        if not self.live or agent not in looks:
            return {}
        events = [Event.from_json(event) for event in card.get("events", ())]
        named = {
            name for event in events for name in (event.agent, *dict(trace.named_by(event, looks)).values())
        }
        others = sorted(named & looks.keys() - {agent}, key=lambda name: looks[name].place)
        return {other: self._diary(DiaryQuery(agent, other), card["turn"]) for other in others}

    def _commands(self, number: int, agent: str | None = None) -> list[tuple[str, str]]:
        """Return what can be done from a turn: in words, and as a command."""
        run = self.run
        if not self.live or number >= run.turns:
            return []
        name, whose = run.name or run.id, ["--agent", agent] if agent else []
        test = re.sub(r"[^\w-]+", "_", f"{name}_{number}")[-MAX_NAME:]
        pinned = ["--turns", number, "--name", test, "--to", "tests", *whose]
        return [
            ("fork from here", self.store.command("fork", name, "--turn", number)),
            ("pin as a test", self.store.command("make-test", name, *pinned)),
            ("write a note", self.store.command("note", name, number, agent or "all", "TEXT")),
        ]

    def _calls(self, number: int, agent: str) -> list[Call]:
        """Return the calls of an agent's turn."""
        return self.store.calls.attempts(self.run.id, number, agent).get(agent, [])

    def _asked_in(self, number: int) -> list[str]:
        """Return who was asked in a turn, the observer last."""
        full = self._full_turn(number)
        if full and self.run.world.observer is None:
            return list(full.turn.record.intents)
        attempts = self.store.calls.attempts(self.run.id, number)
        return list(dict.fromkeys([*(full.turn.record.intents if full else ()), *attempts]))
