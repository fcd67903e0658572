"""The wire: everything about HTTP, which is the stand-in server, its faults, cassettes and `doctor`."""
