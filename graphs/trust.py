"""The trust graph by name, for `langgraph dev`: `{}` as input plays a small run of policies."""

from engine.trust.world import TRUST
from graphs.studio import studio_graph

graph = studio_graph(TRUST)
