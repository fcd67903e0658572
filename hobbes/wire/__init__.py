"""The wire: everything about HTTP, which is the stand-in server, cassettes and `doctor`."""
