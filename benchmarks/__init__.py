"""How fast it is, and where the time goes: `make bench`.

A module here measures one thing: its `measure()` gives rows of (what, figure, wanted), and `python -m
benchmarks` finds it by its file. Figures are the best of a few goes: whatever else a machine does only adds
time.
"""
