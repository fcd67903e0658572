"""Errors for people: one line that says what is wrong and what to do. Any other exception is a bug."""


class HobbesError(Exception):
    """The request is valid, but cannot be carried out: exit code 1."""


class HaltedRunError(HobbesError):
    """A run stopped before its end and can be resumed: exit code 1."""


class LateError(HobbesError):
    """The time for an answer of a person is over: exit code 1."""


class DamagedError(HobbesError):
    """Something in the run database is damaged and cannot be read: exit code 1."""


class UsageError(HobbesError):
    """The request itself is wrong: exit code 2."""


class MissingError(UsageError, LookupError):
    """There is no such home, run, turn, agent or table: exit code 2."""
