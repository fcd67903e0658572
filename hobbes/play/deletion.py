"""What `hobbes delete` does: a run goes with its checkpoints, unless something needs it."""

from hobbes.graphs.run import remove_thread
from hobbes.loop import play_out
from hobbes.play.playthrough import CHECKPOINTS
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.removal import check_it_can_go, remove_run


def delete(store: Store, run: Run) -> None:
    """Delete a run. Raise UsageError if something needs it, HobbesError if it is being played."""
    with store.playing(run.id):
        check_it_can_go(store, run)
        play_out(remove_thread(store.home / CHECKPOINTS, run.id))
        remove_run(store, run)
