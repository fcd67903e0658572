"""The rules of every world: pure functions, no file, no network, no clock, no global randomness."""
