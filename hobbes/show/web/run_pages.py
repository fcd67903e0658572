"""The pages of one run: the run at one of its turns, its cards, and its diary."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from time import monotonic
from typing import Any, ClassVar

from markupsafe import Markup

from hobbes.engine.world import MAX_NAME, OBSERVER
from hobbes.errors import MissingError
from hobbes.nodes.journal import TURN_QUESTION, Call, no_prompts
from hobbes.play.people import requests
from hobbes.show import trace
from hobbes.show.aftermath import aftermath
from hobbes.show.boards import Cards, parts, svg
from hobbes.show.diary import Choice, choice_at, diary_page, of_turn
from hobbes.show.narrative import EVERYBODY, board_of_view, narrative_of
from hobbes.show.palette import Looks, looks_in, players_of
from hobbes.show.story import REFUSED, lines_near, story_of
from hobbes.show.timeline import timeline
from hobbes.show.web.page_templates import fill, link, reload_after
from hobbes.show.world_list import meaning_of_measure, of_anybody
from hobbes.store.history import reports, stored_turn
from hobbes.store.home import Store
from hobbes.store.notes import Place
from hobbes.store.recorded_run import Run

AT_REST = frozenset({"finished", "halted", "waiting"})
"""The statuses of a run that is not being played; its page need not reload."""

MAX_LINES = 120
"""How many lines of its story the page of a run has at most."""


def _prompt_of(calls: Iterable[Call]) -> str | None:
    """Return the prompt of the last call for a turn's own question; None if there is none."""
    return next((call.prompt.turn for call in reversed([*calls]) if call.question == TURN_QUESTION), None)


@dataclass(frozen=True)
class RunPages:
    """The pages of a run, which does not change meanwhile.

    `link` returns the address of a page from run, turn and agent, and from what the page is asked for by
    name. `live` pages are served: they link to the list of runs, reload while their run is being played, and
    list only a part of its turns.
    """

    store: Store
    run: Run
    link: ClassVar[Callable[..., str]] = staticmethod(link)
    live: ClassVar[bool] = True

    @cached_property
    def looks(self) -> Looks:
        """The look of everybody who was asked in the run."""
        return looks_in(self.store, self.run)

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

    def _command(self, *words: object) -> str | None:
        """Return the command that shows the same in a terminal; None on disk, where the home is not."""
        return self.store.command(*words) if self.live else None

    def _fill(self, name: str, *words: object, **values: object) -> str:
        """Return a page about the run, with the command that traces what the words name."""
        about = {"run": self.run, "looks": self.looks, "link": self.link, "live": self.live}
        command = self._command("trace", self.run.label, *words)
        return fill(name, **{**about, "command": command, "has_turn": lambda _: True, **values})

    def at_a_turn(self, turn: int | None = None, sheets: Sequence[str] = ()) -> str:
        """Return the page of the run at a turn, with its story, the timeline, and the rest.

        By default, it is the first key moment or, while the run is played, the last turn. In a file, the
        `sheets` of turns and cards stand below. Raise MissingError if there is no such turn.
        """
        began, run = monotonic(), self.run
        if turn is not None:
            stored_turn(self.store, run, turn)
        is_played = run.status not in AT_REST and self.store.is_played(run.id)
        reloads = self.live and turn is None and is_played
        rated = run.turns - 1 if turn is None else turn
        story = story_of(self.store, run, self.looks)
        first = run.turns - 1 if is_played else next(iter(story.moments), 0)
        shown = first if turn is None else turn
        return self._fill(
            "run.html",
            headline=trace.headline(self.store, run),
            row=self.store.runs.row(run.id),
            people={
                one.agent: self._command("answer", run.label, "--agent", one.agent) for one in run.questions
            },
            requests=[request for one in run.questions if one.agent == OBSERVER for request in requests(one)],
            story=story,
            story_lines=lines_near(story.lines, shown, MAX_LINES if self.live else run.turns),
            timeline=timeline(self.store, run, self.looks, story),
            rated=rated,
            ratings=reports(stored_turn(self.store, run, rated)) if run.turns else {},
            moment=Markup(self.moment(shown)) if run.turns else "",  # noqa: S704  a template's
            sheets=[Markup(sheet) for sheet in sheets],  # noqa: S704  a template's
            shown=shown,
            models=Counter(run.models.values()),
            **self._results(),
            reload=reload_after(monotonic() - began) if reloads else None,
            unfinished=self._unfinished() if turn is None else "",
            forks=self.store.runs.forks(run.id) if self.live else (),
            note=self.store.notes.at(Place(run.id)),
        )

    def _unfinished(self) -> Markup:
        """Return the turn that has begun and not ended; empty if there is none."""
        run = self.run
        has_calls = run.status != "finished" and self.store.calls.attempts(run.id, run.turns)
        return Markup(self.moment(run.turns) if has_calls else "")  # noqa: S704  a template's

    def _results(self) -> dict[str, Any]:
        """Return the results of the run that stand below its timeline, and its settings."""
        run = self.run
        counts = self.store.figures.counts
        formulas = run.world.measures.formulas  # not those of what an older version measured
        return {
            "refused": {what: counts(run.id, table, "code") for table, what in REFUSED.items()},
            "usd": self.store.figures.spent(run).usd,
            "config": run.setting.config.model_dump(mode="json"),
            "no_prompts": no_prompts(run.models.values()),
            "measures": [
                (name, value, meaning_of_measure(run.world, name) if of_anybody(name) in formulas else "")
                for name, value in self.store.figures.measures(run.id).items()
            ],
        }

    def moment(self, number: int) -> str:
        """Return a turn at a glance, as a part of a page: the board, and what each agent did and said."""
        run, full = self.run, self._full_turn(number)
        board = trace.board_in(run, full)
        record = full.turn.record if full else None
        notes = [note for note in self.store.notes.of(run.id) if note.turn == number]
        return self._fill(
            "moment.html",
            number,
            number=number,
            title=board.title if board else f"turn {number}",
            board=parts(board, self._cards(number, record.intents)) if board and record else None,
            entries=of_turn(self.store, run, full.turn) if full else {},
            is_finished=full is not None,
            asked=self._asked_in(number),
            calls=[] if full else trace.all_calls(trace.turn_card(self.store, run, number, None)),
            players=players_of(run.at(number), self.looks),
            drops=Counter(drop.agent for drop in record.drops) if record else {},
            commands=self._commands(number),
            note=self.store.notes.at(Place(run.id, number)),
            others=[one for one in notes if one.place != Place(run.id, number)],
        )

    def _cards(self, number: int, agents: Iterable[str]) -> Cards:
        """Return the addresses of the cards of these agents in a turn."""
        return tuple((agent, self.link(self.run.id, number, agent)) for agent in agents)

    def board(self, at: Mapping[str, Any]) -> str:
        """Return the SVG of a turn, or only its `plane`. Raise MissingError if it has not ended."""
        board = trace.board_in(self.run, self._full_turn(number := at["turn"]))
        if board is None:
            raise MissingError(
                f"there is no board of turn {number} of run {self.run.label}: it has not ended"
            )
        return parts(board).plane if at.get("part") == "plane" else svg(board)

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
        return self._fill(
            "agent.html",
            number,
            agent,
            card=card,
            narrative=narrative_of(run, full, card),
            aftermath=aftermath(self.store, run, full, agent),
            sent_to=trace.sent_to(card),
            board=Markup(svg(seen, self._cards(number, beside)) if seen else ""),  # noqa: S704  it escapes all texts
            before=before,
            after=after,
            above=beside[at - 1] if at else None,
            below=beside[at + 1] if at + 1 < len(beside) else None,
            columns=trace.REFUSED,
            refused=trace.refused_rows(card),
            now=now,
            sent=trace.new_words(was, now),
            other_calls=[call for call in calls if call.address.attempt != card["attempt"]],
            own_diary=self._diary(Choice((agent,)), number) if self.live and agent in self.looks else None,
            commands=self._commands(number, agent),
            note=self.store.notes.at(Place(run.id, number, agent)),
        )

    def diary(self, at: Mapping[str, Any]) -> str:
        """Return the page of a diary: of all, of an agent, or of two."""
        choice = choice_at(self.run, self.looks, at)
        return self._fill(
            "diary.html",
            *(choice.agents or (EVERYBODY,)),
            *(("--event", choice.event) if choice.event else ()),
            **diary_page(self.store, self.run, choice, at.get("first", 0)),
            address=self._diary,
            whole=Choice(choice.agents),
        )

    def _diary(self, choice: Choice, first: int = 0) -> str:
        """Return the URL of what is chosen of a diary, from a turn on."""
        return self.link(self.run.id, "diary", **choice.address(first))

    def _commands(self, number: int, agent: str | None = None) -> list[tuple[str, str]]:
        """Return what can be done from a turn: in words, and as a command."""
        run = self.run
        if not self.live or number >= run.turns:
            return []
        name = run.label
        test = re.sub(r"[^\w-]+", "_", f"{name}_{number}")[-MAX_NAME:]
        pinned = ["--turns", number, "--name", test, "--to", "tests"]
        return [
            ("fork from here", self.store.command("fork", name, "--turn", number)),
            ("pin as a test", self.store.command("make-test", name, *pinned)),
            ("write a note", self.store.command("note", name, number, agent or "all", "TEXT")),
            ("save as a page", self.store.command("export", name, "--format", "page")),
            ("save as a moving picture", self.store.command("export", name, "--format", "svg")),
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
