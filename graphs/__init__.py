"""The turn as a LangGraph graph, and how runs are played on it: start, resume, replay."""
