"""The trust graph for `langgraph dev`. The input `{}` plays a small run of scripted policies."""

from hobbes.engine.trust.world import TRUST
from hobbes.graphs.studio import studio_graph

graph = studio_graph(TRUST)
