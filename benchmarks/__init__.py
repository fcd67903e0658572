"""Benchmarks: how fast the laboratory is, and where the time goes. Run them with `make bench`.

Each module measures one thing. Its `measure()` returns rows of (what, figure, target), and `python -m
benchmarks` finds it by its file name. Most figures are the best of several repeats, because whatever else the
machine does can only add time. Decisions per second are medians, because the speed of their floor, which
needs two threads, is a matter of chance. Growth compares runs that are played side by side.
"""
