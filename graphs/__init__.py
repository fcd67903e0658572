"""The turn as a LangGraph ring, and what is done with it: start, resume, replay."""
