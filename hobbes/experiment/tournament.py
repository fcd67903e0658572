"""`hobbes tournament`: an experiment of all scripted policies of trust, whose games are not recorded."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hobbes.engine.record import Json
from hobbes.engine.world import Setting, won
from hobbes.errors import UsageError
from hobbes.experiment.experiment_file import ExperimentFile, parse
from hobbes.experiment.plan import models_at
from hobbes.experiment.processes import in_processes
from hobbes.experiment.ranking import Game, Seat
from hobbes.nodes.players import deal
from hobbes.play.start import RunOptions, settle_options
from hobbes.store.policy_games import pure_turns
from hobbes.store.recorded_run import observer_asked
from hobbes.worlds import WORLDS


def tournament_file(games: int, seed: int, settings: Mapping[str, Json]) -> ExperimentFile:
    """Return the experiment: each policy against each one, itself included, with the seeds from `seed` on.

    Raise UsageError, in one line, for settings with which it cannot be played.
    """
    policies = list(WORLDS["trust"].policies.by_name)
    try:
        observer = observer_asked(*settle_options(RunOptions("trust", seed=seed, values={**settings})))
        file = parse(
            {
                "name": "tournament",
                "world": "trust",
                "seeds": [*range(seed, seed + games)],
                "model": "policy:{one}*1,policy:{other}*1",
                "set": settings,
                "factors": {"design": "pairs", "one": policies, "other": policies},
            }
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    if observer:
        raise UsageError(
            f"a tournament cannot ask the observer {observer!r}; "
            "set it to never, always or sparing(BUDGET,PATIENCE)"
        )
    return file


def play_games(file: ExperimentFile) -> Iterator[Game]:
    """Play the games of a tournament in one process per core, and yield them."""
    return in_processes(_play, _settings_and_players(file), os.cpu_count() or 1)


def _settings_and_players(file: ExperimentFile) -> Iterator[tuple[Setting[Any], dict[str, str]]]:
    """Yield the setting and the players of each game, with the seeds and seats of the experiment's runs."""
    for arm in file.arms:
        options = file.options(arm)
        world, setting = settle_options(RunOptions(file.world, values={**options.settings}))
        players = deal(world, str(options.model), setting.agents)
        for place, seed in enumerate(file.seeds):
            yield replace(setting, seed=seed), models_at(players, place)


def _play(game: tuple[Setting[Any], dict[str, str]]) -> Game:
    """Play a game."""
    setting, players = game
    trust = WORLDS["trust"]
    *_, last = pure_turns(trust, setting, players)
    state = last.resolved.state
    scores, winning = trust.scores(state), won(trust, state)
    return setting.seed, [Seat(players[agent], scores[agent], winning[agent]) for agent in setting.agents]
