"""The command `hobbes` with the fishery added: one line, before the commands are imported."""

from hobbes.worlds import WORLDS
from tests.fishery.world import FISHERY

WORLDS[FISHERY.name] = FISHERY

from hobbes.cli import main  # noqa: E402  the commands list the worlds when they are imported

if __name__ == "__main__":
    main()
