"""Benchmarks: how fast the laboratory is, and where the time goes. Run them with `make bench`.

Each module measures one thing. Its `measure()` returns rows of (what, figure, target), and `python -m
benchmarks` finds it by its file name. A figure is the best of several repeats, because whatever else the
machine does can only add time. Only decisions per second are medians, because their floor needs two threads,
and is fast or slow by chance.
"""
