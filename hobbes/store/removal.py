"""Remove a run from a home: what needs it, and all that the databases of the home have of it."""

from hobbes.errors import MissingError, UsageError
from hobbes.graphs.database import transaction
from hobbes.graphs.run import open_checkpoints
from hobbes.store.copies import tables_of_runs
from hobbes.store.experiment_tables import cells_of_runs, experiment_names
from hobbes.store.home import CHECKPOINTS, Store
from hobbes.store.probe_tables import probe_names
from hobbes.store.recorded_run import Run
from hobbes.store.text_index import NAME as INDEX

PROBES_OF_RUN = """
select name from probes where exists (
  select 1 from json_each(iif(json_valid(situations), situations, '[]')) where value ->> 'run' = ?
)
"""

REMOVE_UNUSED_TEXTS = """
delete from texts where hash in (
  select hash from texts
  except select system_template from runs
  except select turn_template from runs
  except select answer_schema from runs
  except select atom from runs, json_tree(iif(json_valid(earlier), earlier, '[]'))
  except select system from calls
  except select prompt from calls
  except select system from probe_answers
  except select prompt from probe_answers
)
"""


async def remove(store: Store, run: Run) -> None:
    """Remove a run with its rows, checkpoints and notes, and the texts that nothing else needs.

    Raise UsageError if something needs it, HobbesError if it is being played. The index of the search is
    removed, too; the next search makes it again.
    """
    with store.playing(run.id):
        check_it_can_go(store, run)
        async with open_checkpoints(store.home / CHECKPOINTS) as checkpoints:
            saver = checkpoints.saver()
            await saver.setup()
            await saver.adelete_thread(run.id)
        (store.folder / INDEX).unlink(missing_ok=True)
        store.notes.remove(run.id)
        _remove_rows(store, run)


def removable(store: Store, reference: str) -> Run:
    """Return a run that can be removed. Raise UsageError if something needs it, or for what is no run."""
    try:
        run = store.runs.find(reference)
    except MissingError as error:
        for kind, names in (("an experiment", experiment_names(store)), ("a probe", probe_names(store))):
            if reference in names:
                raise UsageError(f"{reference!r} is {kind}; only runs can be deleted") from error
        raise
    check_it_can_go(store, run)
    return run


def check_it_can_go(store: Store, run: Run) -> None:
    """Raise UsageError, which names them, if forks, an experiment or probes need a run."""
    needing = [f"fork {row['name'] or row['id']}" for row in store.runs.forks(run.id)]
    if cell := cells_of_runs(store).get(run.id):
        needing.append(f"experiment {cell[0]}")
    needing += [f"probe {name}" for (name,) in store.connection.execute(PROBES_OF_RUN, [run.id])]
    if needing:
        raise UsageError(f"run {run.label} stays as long as these need it: {', '.join(needing)}")


def _remove_rows(store: Store, run: Run) -> None:
    connection = store.connection
    tables = tables_of_runs(connection)
    with transaction(connection):
        for table in tables:
            connection.execute(f"delete from {table} where run = ?", [run.id])  # noqa: S608  names are ours
        connection.execute("delete from runs where id = ?", [run.id])
        connection.execute(REMOVE_UNUSED_TEXTS)
