"""The rule for damage: whoever reads a damaged row gets one error.

A row is damaged if it is not as it was written: its hash, or its link in the chain of digests, does not fit.
The error names the run, the turn, the column and the command that lists all damage.
"""

from hobbes.errors import DamagedError


def damage_error(run: object, where: str, problem: str) -> DamagedError:
    """Return the error for a damaged row; `where` begins with a comma, or is empty for a whole run."""
    return DamagedError(
        f"run {run}{where}: {problem}; `hobbes verify {run}` lists what was changed; "
        "put back an earlier copy of runs.db, or play the run again"
    )
