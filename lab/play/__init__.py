"""What is played: starting, resuming, stepping and rendering runs, and tournaments."""
