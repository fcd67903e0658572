"""The story of a run: what happened in a few sentences, its key moments, and a line for each turn.

All of it is computed from the records and measures of the run, in one pass over its turns. What only its
world can say stands in `World.telling`.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile

from hobbes.engine.record import MESSAGE, Event, JsonObject
from hobbes.engine.telling import counted, few, in_numbers, several
from hobbes.engine.world import AnyWorld
from hobbes.show.narrative import by
from hobbes.show.trace import CORRECTED, REJECTED, counts, named_in
from hobbes.store.history import first_of, load_state, played_turn, stored_turn
from hobbes.store.home import Store
from hobbes.store.marked_turns import (
    Marks,
    PlainRecord,
    landmarks_among,
    measures_by_turn,
    no_marks,
    plain_records,
    without_effects,
)
from hobbes.store.recorded_run import Run

AS_BEFORE, MUCH_AS_BEFORE = "as before", "much as before"
"""What is told of turns in which nothing new happened: the same, or the same in other numbers and places."""

MAX_DEEDS, MAX_DEEDS_OF_TURN = 250, 5
"""How many deeds are told of a run, about, and of a turn at most: a long run is told in less detail."""

MAX_SCORES, MAX_AGENTS = 4, 4
"""How many different scores are told; of more, the highest, and between what the others lie. Of how many
agents it is told what each did in a turn in which nobody did anything to another."""


@dataclass(frozen=True, slots=True)
class Line:
    """What happened in a turn, or in several turns of which the later ones brought nothing new.

    `failed` are its failed calls by outcome. A turn that has calls and has not ended has no words.
    """

    first: int
    last: int
    words: tuple[str, ...]
    failed: Mapping[str, int]

    @property
    def turns(self) -> str:
        """The numbers of its turns."""
        return f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"

    @property
    def failures(self) -> str:
        """Its failed calls in words, empty if there are none."""
        return f"✗ {sum(self.failed.values())} failed: {counts(self.failed)}" if self.failed else ""


@dataclass(frozen=True, slots=True)
class Story:
    """The story of a run as far as it is played, with what it was told from.

    `moments` has what a reader should look at, by turn. `marks`, `scores` and `failed` calls are those of
    each turn. `happened` has the number of events by type, an effect and its cause as one.
    """

    sentences: Sequence[str]
    moments: Mapping[int, Sequence[str]]
    lines: Sequence[Line]
    marks: Marks
    scores: Mapping[int, Mapping[str, int]]
    failed: Mapping[int, Mapping[str, int]]
    happened: Mapping[str, int]


def story_of(store: Store, run: Run, names: Collection[str]) -> Story:
    """Return the story of a run, in which `names` act. Raise DamagedError at a damaged turn."""
    world, marks, scores = run.world, no_marks(run.world), dict[int, Mapping[str, int]]()
    texts, happened = list[_TurnText](), Counter[str]()
    most = max(1, min(MAX_DEEDS_OF_TURN, MAX_DEEDS // max(run.turns, 1)))
    before: JsonObject = world.state.to_json(first_of(run))
    for turn, record in plain_records(store, run):
        landmarks = [*landmarks_among(world, record["events"])]
        marks.add(turn, record, landmarks)
        scores[turn] = world.scores(load_state(run, turn, record["state"]))
        causes = without_effects(world, record["events"])
        happened.update(event["type"] for event in causes)
        deeds = [event for event in causes if event["type"] != MESSAGE]
        first = [event for _, event in landmarks]
        first += [event for event in deeds if event not in first and any(named_in(event, names))]
        told = first or (deeds if len(run.setting.agents) <= MAX_AGENTS else ())
        texts.append(_turn_text(world, told, before, record, most))
        before = record["state"]
    failed = _failed(store, run)
    moments = _key_moments(store, run, names, marks, scores)
    return Story(
        _sentences(store, run, marks, happened, before) if run.turns else (),
        moments,
        [*_folded(texts, failed, moments), *(Line(k, k, (), failed[k]) for k in failed if k >= run.turns)],
        marks,
        scores,
        failed,
        happened,
    )


def _failed(store: Store, run: Run) -> dict[int, Counter[str]]:
    """Return the failed calls by turn and outcome, for all turns that have calls."""
    failed = defaultdict[int, Counter[str]](Counter)
    for decision in store.calls.decisions(run.id):
        of_turn = failed[decision.turn]
        if decision.failed:
            of_turn[decision.outcome] += 1
    return failed


def _sentences(
    store: Store, run: Run, marks: Marks, happened: Mapping[str, int], now: JsonObject
) -> list[str]:
    """Return what happened in a run: what its world says of it, or else its length, and the scores."""
    telling, state = run.world.telling, load_state(run, run.turns - 1, now)
    numbers = Counter({**happened, **{name: of_one.total() for name, of_one in marks.landmarks.items()}})
    if telling.in_short:
        first = played_turn(run, first_of(run), stored_turn(store, run, 0))
        sentences = telling.in_short(numbers, first, state)
    elif telling.landmarks:
        sentences = [in_numbers(numbers, {mark.name: mark.name for mark in telling.landmarks})]
    else:
        sentences = [f"{counted(run.turns, 'turn')} {'was' if run.turns == 1 else 'were'} played."]
    so_far = "" if run.status == "finished" else "So far: "
    scores = _scores_in_short(run.world.scores(state), run.world.measures.score)
    did = (*_who_did_most(run.world, marks), *_end_of_cooperation(store, run))
    return [f"{so_far}{sentences[0]}", *did, *sentences[1:], *scores]


def _who_did_most(world: AnyWorld, marks: Marks) -> Iterator[str]:
    """Yield who did more of the first landmark than any other agent, if that is more than a third of all."""
    for mark in world.telling.landmarks[:1]:
        by_agent = Counter(agent for (_, agent), n in marks.landmarks[mark.name].items() for _ in range(n))
        total = by_agent.total()
        (agent, most), (_, next_most) = [*by_agent.most_common(2), ("", 0), ("", 0)][:2]
        if total > 1 and most > next_most and 3 * most > total:
            all_or_some = "all" if most == total else f"{most} of {total:,}"
            yield f"{agent} made {all_or_some} {several(world.telling.name_of(mark.name))}."


def _end_of_cooperation(store: Store, run: Run) -> Iterator[str]:
    """Yield in which turn agents last cooperated, in each way in which it is measured."""
    for name, figures in measures_by_turn(store, run, [*(ways := run.world.measures.cooperation)]).items():
        last = max((turn for turn, share in figures.items() if share), default=None)
        when = "the last turn" if last == run.turns - 1 else f"turn {last}"
        yield f"There was no {ways[name]}." if last is None else f"The last {ways[name]} was in {when}."


def _scores_in_short(scores: Mapping[str, int], what: str) -> Iterator[str]:
    """Yield who has which score; of many, the highest, the least, and between what the others lie."""
    by_score = defaultdict[int, list[str]](list)
    for agent, score in scores.items():
        by_score[score].append(agent)
    (most, best), *others = sorted(by_score.items(), reverse=True) or [(0, [])]
    if not best:
        return
    has = "has" if len(best) == 1 else "have"
    amount = f"a score of {most}" if what == "score" else f"{most} {what}"
    if not others and len(scores) > 1:
        yield f"All have {amount}."
    elif len(others) < MAX_SCORES:
        yield f"{', '.join([f'{few(best)} {has} {amount}', *(f'{few(one)} {n}' for n, one in others)])}."
    else:
        least, last = others[-1]
        yield f"{few(best)} {has} {amount}, the others {least} ({few(last)}) to {others[0][0]}."


def _key_moments(
    store: Store, run: Run, names: Collection[str], marks: Marks, scores: Mapping[int, Mapping[str, int]]
) -> dict[int, list[str]]:
    """Return what a reader should look at, by turn."""
    if not run.turns:
        return {}
    moments = [*_firsts(run.world, names, marks), *_fall(store, run), *_lead(scores)]
    moments.append((run.turns - 1, "last turn" if run.status == "finished" else "last turn so far"))
    by_turn = defaultdict[int, list[str]](list)
    for turn, words in sorted(moments, key=lambda moment: moment[0]):
        by_turn[turn].append(words)
    return dict(by_turn)


def _firsts(world: AnyWorld, names: Collection[str], marks: Marks) -> Iterator[tuple[int, str]]:
    """Yield the first turn of each landmark, and the turn with most of the first one that occurs."""
    landmarks = [(world.telling.name_of(mark), places) for mark, places in marks.landmarks.items() if places]
    for name, places in landmarks:
        first = min(turn for turn, _ in places)
        yield first, f"first {name} by {few([agent for agent in names if (first, agent) in places])}"
    for name, places in landmarks[:1]:
        by_turn = Counter[int]()
        for (turn, _), n in places.items():
            by_turn[turn] += n
        [(turn, most)] = by_turn.most_common(1)
        if most > 1 and len(by_turn) > 1:
            yield turn, f"most {several(name)}: {most}"


def _fall(store: Store, run: Run) -> Iterator[tuple[int, str]]:
    """Yield the turns in which cooperation falls most and has ended, if it is measured and did so."""
    ways = run.world.measures.cooperation
    for name, figures in measures_by_turn(store, run, [*ways]).items():
        steps = pairwise(figures.items())
        falls = [(was - now, turn, was, now) for (_, was), (turn, now) in steps if now < was]
        if falls and name == next(iter(ways)):
            _, turn, was, now = max(falls, key=lambda fall: fall[0])
            yield turn, f"{name.replace('_', ' ')} falls most, from {was:.0%} to {now:.0%}"
        without = [turn for turn, _ in takewhile(lambda one: not one[1], reversed(figures.items()))]
        if 0 < len(without) < len(figures):
            yield without[-1], f"no {ways[name]} from here on"


def _lead(scores: Mapping[int, Mapping[str, int]]) -> Iterator[tuple[int, str]]:
    """Yield from when on those who lead at the end always lead: no turn of the first two, nor the last.

    If all have the same score, nobody leads.
    """
    leaders = _leaders(scores[len(scores) - 1])
    changes = (turn for turn in range(len(scores) - 1, 0, -1) if _leaders(scores[turn - 1]) != leaders)
    if leaders and 1 < (turn := next(changes, 0)) < len(scores) - 1:
        yield turn, f"{few(leaders)} {'leads' if len(leaders) == 1 else 'share the lead'} from here on"


def _leaders(scores: Mapping[str, int]) -> list[str]:
    best = [agent for agent, score in scores.items() if score == max(scores.values())]
    return best if len(best) < len(scores) else []


@dataclass(frozen=True, slots=True)
class _TurnText:
    """What is told of a turn. A turn with the `sign` of the one before has nothing new but its `messages`."""

    words: tuple[str, ...]
    sign: Hashable
    messages: frozenset[tuple[str, str]]


REFUSED = {"drops": REJECTED, "mends": CORRECTED}
"""What is refused of answers, by its name in the record."""


def _turn_text(
    world: AnyWorld, deeds: Sequence[PlainRecord], before: JsonObject, record: PlainRecord, most: int
) -> _TurnText:
    """Tell who did which of these deeds in a turn.

    Where there are none, events are counted by type. Then follow the agents whose holdings changed, and the
    number of rejections and corrections. Nothing is new if the same agents did the same to the same others
    with the same results, in whatever number, or if there are only events of the same types.
    """
    types = Counter(event["type"] for event in record["events"])
    sign = frozenset(tuple(fact for fact in deed.values() if isinstance(fact, str | bool)) for deed in deeds)
    refused = [counted(len(record[part]), what) for part, what in REFUSED.items() if record[part]]
    besides = (*_changes(world, before, record["state"]), *refused)
    words = "; ".join(_in_words(world, record["events"], deeds, most)) or counts(types)
    messages = frozenset((one["agent"], one["text"]) for one in record["events"] if one["type"] == MESSAGE)
    return _TurnText(tuple(filter(None, [words, *besides])), (sign or frozenset(types), besides), messages)


def _in_words(
    world: AnyWorld, events: Sequence[PlainRecord], deeds: Sequence[PlainRecord], most: int
) -> Iterator[str]:
    """Yield which of these deeds each agent did; of more than `most` agents, how many more did one."""
    chosen = {(event["agent"], event["type"]): None for event in deeds}
    agents = [*dict.fromkeys(agent for agent, _ in chosen)]
    of_turn = [Event.from_json(event) for event in events] if agents else []
    for agent in agents[:most]:
        for done in world.telling.deeds_told(by(of_turn, agent), of_turn):
            if (agent, done.type) in chosen:
                yield f"{agent} {done.words}"
    if len(agents) > most:
        yield f"and {len(agents) - most} more"


def _changes(world: AnyWorld, before: JsonObject, after: JsonObject) -> Iterator[str]:
    """Yield of which agents what they hold has changed in a turn: `territories A 5→10, C 5→0`."""
    for what, count in world.telling.held.items():
        was, now = count(before), count(after)
        if changed := [f"{agent} {was[agent]}→{n}" for agent, n in now.items() if n != was[agent]]:
            yield f"{what} {', '.join(changed)}"


def _folded(
    texts: Sequence[_TurnText], failed: Mapping[int, Mapping[str, int]], moments: Mapping[int, Sequence[str]]
) -> Iterator[Line]:
    """Yield a line for each turn; turns with nothing new, no failed calls and no key moments share one."""

    def is_new(turn: int) -> bool:
        is_moment = len(moments.get(turn, ())) > (turn == len(texts) - 1)  # that it is the last is not new
        is_told = not turn or texts[turn].sign != texts[turn - 1].sign or is_moment
        return bool(is_told or failed.get(turn) or failed.get(turn - 1))

    for is_own, turns in groupby(range(len(texts)), is_new):
        if is_own:
            for turn in turns:
                yield Line(turn, turn, texts[turn].words or ("nothing happened",), failed.get(turn, {}))
        else:
            first, *_, last = [*turns] * 2
            shown = texts[first - 1 : last + 1]
            words = AS_BEFORE if len({text.words for text in shown}) == 1 else MUCH_AS_BEFORE
            written = sum(len(text.messages - before.messages) for before, text in pairwise(shown))
            yield Line(first, last, (words, *([counted(written, "new message")] if written else [])), {})


def lines_near(lines: Sequence[Line], turn: int, most: int) -> Sequence[Line]:
    """Return the lines of turns that have ended: of more than `most`, those around a turn."""
    ended = [line for line in lines if line.words]
    at = next((place for place, line in enumerate(ended) if line.last >= turn), 0)
    first = max(0, min(at - most // 2, len(ended) - most))
    return ended[first : first + most]
