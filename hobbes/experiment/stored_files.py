"""The files of the experiments of a home, as they are stored, and how much of each has been played."""

from typing import Any

from hobbes.errors import DamagedError
from hobbes.experiment.experiment_file import ExperimentFile, parse
from hobbes.store.experiment_tables import cells_of, damaged_file, experiment_file, experiment_names
from hobbes.store.home import Store
from hobbes.worlds import world_named


def overview(store: Store) -> list[dict[str, Any]]:
    """Return the experiments of a home, the newest first, each with how much of it has been played.

    Of one whose file is damaged, only the name and the damage are returned.
    """
    listed: list[dict[str, Any]] = []
    for name in experiment_names(store):
        try:
            file = stored_file(store, name)
        except DamagedError as error:
            listed.append({"experiment": name, "damage": str(error)})
            continue
        begun = cells_of(store, name)
        planned = [(name, s) for arm in file.all_arms for name in file.wordings(arm) for s in file.seeds]
        listed.append(
            {
                "experiment": name,
                "world": file.world,
                "arms": list(file.all_arms),
                "seeds": len(file.seeds),
                "runs": len(planned),
                "played": sum(begun[cell].finished for cell in planned if cell in begun),
            }
        )
    return listed


def stored_file(store: Store, name: str) -> ExperimentFile:
    """Return the stored file of an experiment; raise MissingError or DamagedError if there is none."""
    try:
        file = parse(experiment_file(store, name))
        world_named(file.world)
    except ValueError as error:
        raise damaged_file(name, f"the column experiments.file cannot be read: {error}") from error
    return file
