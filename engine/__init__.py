"""The rules of every world, as pure functions: no files, no network, no clock, no global randomness."""
