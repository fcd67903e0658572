"""The nations graph for `langgraph dev`. The input `{}` plays a small run of scripted policies."""

from hobbes.engine.nations.world import NATIONS
from hobbes.graphs.studio import studio_graph

graph = studio_graph(NATIONS)
