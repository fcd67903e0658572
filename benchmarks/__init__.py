"""Measurements that people run by hand: `python -m benchmarks.NAME`."""
