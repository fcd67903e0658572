"""Probes: recorded situations, asked several times with several prompts and models; nothing is played on.

A *situation* is what an agent was in: a recorded run, a turn and the agent, with its view, memory and
messages. A *column* is a way of asking about it. The column `recorded` has the prompt that the run itself
used, and all others are compared with it. A *cell* is a situation in a column, and holds so many answers.
Each answer is read and validated as in a game, and kept as it arrives, so a stopped probe goes on.
"""
