"""What people do with runs: commands, the run database, the stand-in server."""
