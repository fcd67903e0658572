"""The commands, a file a group. Each is a few lines over the module that does the work."""
