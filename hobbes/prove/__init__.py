"""Proving: replay and verification of a recorded run, and the comparison of two."""
