"""The nations graph by name, for `langgraph dev`: `{}` as input plays a small run of policies."""

from engine.nations.world import NATIONS
from graphs.studio import studio_graph

graph = studio_graph(NATIONS)
