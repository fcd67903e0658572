"""The wire: the stand-in server with its faults, cassettes, and how they are recorded."""
