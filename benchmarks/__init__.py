"""Speed, measured by hand: `python -m benchmarks`; no test asserts a time."""
