"""What people do with runs: play, prove, show and store them. `lab.cli` is the command line."""
