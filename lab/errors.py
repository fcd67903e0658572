"""Errors for people: one line, what is wrong and what to do. Everything else that raises is a bug."""


class LabError(Exception):
    """Something that a person asked for cannot be done: exit 1."""


class HaltedRunError(LabError):
    """A run stopped before its end, and can go on: exit 1."""


class UsageError(LabError):
    """Something was asked for wrongly: exit 2."""
