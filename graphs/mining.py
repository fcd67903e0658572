"""The mining graph by name, for `langgraph dev`: `{}` as input plays a small run of policies."""

from engine.mining.world import MINING
from graphs.studio import studio_graph

graph = studio_graph(MINING)
