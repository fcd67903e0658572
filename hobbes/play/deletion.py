"""What `hobbes delete` does: a run goes with its checkpoints, unless something needs it."""

from hobbes.graphs.run import open_checkpoints
from hobbes.play.playthrough import CHECKPOINTS
from hobbes.store.home import Store
from hobbes.store.recorded_run import Run
from hobbes.store.removal import check_it_can_go, remove_run


async def delete(store: Store, run: Run) -> None:
    """Delete a run. Raise UsageError if something needs it, HobbesError if it is being played."""
    with store.playing(run.id):
        check_it_can_go(store, run)
        async with open_checkpoints(store.home / CHECKPOINTS) as checkpoints:
            saver = checkpoints.saver()
            await saver.setup()
            await saver.adelete_thread(run.id)
        remove_run(store, run)
