"""Probes: recorded situations, asked several times with several prompts and models; nothing is played on.

A *situation* is what an agent was in: a recorded run, a turn and the agent, with its view, memory and
messages. A *column* is a way of asking about it. The column `recorded` has the prompt that the run itself
used, and all others are compared with it. A *cell* is a situation in a column, and holds so many answers.

- `situations` reads files of situations, and picks situations from runs.
- `probe_plan` makes the cells, and says what they will cost.
- `asker` asks what is missing, side by side, with one meter for all. Each answer is read and validated as
  in a game, and kept in the run database as it arrives (`hobbes.store.probe_tables`). So a probe that was
  stopped goes on.
- `table` counts in how many answers each act of the world occurs (`Telling.acts`), and what columns cost.
- `column_comparison` compares two columns: paired by situation, exact, corrected.
- `sentences` says what was found, and what each situation was.
"""
