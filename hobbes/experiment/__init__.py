"""Experiments: arms times seeds, played as ordinary runs, and their statistics."""
