"""An unknown name is met with the names that are like it."""

from hobbes.engine.names import did_you_mean


def test_names_that_are_alike_are_suggested_and_else_what_there_is() -> None:
    worlds = ["mining", "nations", "trust"]
    assert did_you_mean("minig", worlds, "worlds: …") == "; did you mean 'mining'?"
    assert did_you_mean("atlantis", worlds, "worlds: …") == "; worlds: …"
    assert did_you_mean("run-2", ["run-1", "run-3"]) == "; did you mean 'run-3' or 'run-1'?"
    assert not did_you_mean("atlantis", worlds)
    assert did_you_mean("Agentc", ["AgentD", "AgentC", "AgentB"]) == "; did you mean 'AgentC'?"
