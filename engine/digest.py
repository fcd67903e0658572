"""The digest of a run: the last link of a chain that hashes what is played and the record of every turn.

Same seed, same answers, same bytes: two runs with one digest are the same run.
"""

from typing import Any

from hobbes.engine.record import canonical, sha256
from hobbes.engine.turn import TurnRecord
from hobbes.engine.world import AnyWorld, Setting, hashed_settings


def first_digest(world: AnyWorld, setting: Setting[Any]) -> str:
    """Return the first link of a run's chain.

    It covers what is played: world, version of its rules, agents, seed and settings. How the run is carried
    out, for instance which model plays, is not part of it.
    """
    return sha256(
        canonical(
            {
                "world": world.name,
                "rules_version": world.rules_version,
                "agents": setting.agents,
                "seed": setting.seed,
                "settings": hashed_settings(setting.config),
            }
        )
    )


def settings_link(previous: str, before: Setting[Any], after: Setting[Any]) -> str:
    """Return the link of the chain between two turns that are played under these settings.

    It hashes the later settings, and is `previous` itself if no setting of the rules has changed.
    """
    if after is before:  # as in nearly every turn; to look at the settings takes longer than the hash
        return previous
    settings = hashed_settings(after.config)
    if settings == hashed_settings(before.config):
        return previous
    return sha256(previous + canonical({"settings": settings}))


def link(previous: str, record: TurnRecord) -> str:
    """Return the next link of the chain of digests: the hash of the previous link and the record."""
    return sha256(previous + record.text)
