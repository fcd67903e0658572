"""Speed, measured; no test asserts a time."""
