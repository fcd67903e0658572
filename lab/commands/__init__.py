"""The commands, one file per group. Each is a few lines over the module that does the work."""
