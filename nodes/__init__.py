"""One turn of any world as LangGraph nodes: one file per phase, and the modules that the phases share."""
