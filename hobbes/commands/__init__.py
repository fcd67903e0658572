"""The commands of `hobbes`, one file per group; each only reads options and calls the room that does it."""
