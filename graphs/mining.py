"""The mining graph for `langgraph dev`. The input `{}` plays a small run of scripted policies."""

from hobbes.engine.mining.world import MINING
from hobbes.graphs.studio import studio_graph

graph = studio_graph(MINING)
