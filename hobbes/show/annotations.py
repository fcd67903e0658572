"""Notes as people write and list them: in the terminal, on a page, in Python."""

from collections.abc import Collection, Iterable, Sequence

from hobbes.errors import HobbesError, MissingError
from hobbes.show.palette import Look, looks_of
from hobbes.show.terminal import OUT, table
from hobbes.show.trace import check_names
from hobbes.store.history import missing_turn, stored_turn
from hobbes.store.home import Store
from hobbes.store.notes import Note, Place
from hobbes.store.policy_games import with_turns


def place_of(store: Store, reference: str, turn: int | None, agent: str | None, event: int | None) -> Place:
    """Return a place that a note can be about. Raise MissingError if there is no such run, turn or agent."""
    run = store.runs.find(reference)
    if turn is not None and not 0 <= turn <= run.turns:
        raise missing_turn(run, turn)
    if agent is not None:
        check_names(run, {*run.setting.agents, *store.calls.first_asked(run.id)}, [agent])
    if event is not None:
        events = stored_turn(store, with_turns(store, run), turn or 0).record.events
        if not 0 <= event < len(events):
            raise MissingError(f"turn {turn} of run {run.label} has no event {event}; it has {len(events)}")
    return Place(run.id, turn, agent, event)


def change_note(
    store: Store, place: Place, text: str | None, tags: Collection[str], untag: Collection[str]
) -> Note:
    """Write a text into the note of a place, unless it is None; add tags, and take others away."""
    before = store.notes.at(place)
    kept = ({*before.tags} - {*untag}) | {*tags}
    return store.notes.keep(place, tags=kept, text=before.note if text is None else text)


def show(store: Store, notes: Sequence[Note]) -> None:
    """Print notes, one per row."""
    about = _runs(store, notes)
    rows = []
    looks: dict[str, Look] = {}
    for note in notes:
        name, agents = about[note.run]
        looks |= looks_of(agents)
        what = note.agent or ("" if note.event is None else f"event {note.event}")
        rows.append((name, note.turn, what, " ".join(note.tags), " ".join(note.note.split())))
    OUT.print(table("", ("run", "turn", "about", "tags", "note"), rows, looks))


def _runs(store: Store, notes: Iterable[Note]) -> dict[str, tuple[str, Sequence[str]]]:
    """Return the name and the agents of each run that has notes, by its id; the id of one that is gone."""
    about: dict[str, tuple[str, Sequence[str]]] = {}
    for run in {note.run for note in notes}:
        try:
            stored = store.runs.find(run)
            about[run] = stored.name or run, stored.setting.agents
        except HobbesError:  # it is damaged, or notes.db has been put beside other runs
            about[run] = run, ()
    return about
